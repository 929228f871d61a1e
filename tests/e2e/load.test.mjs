// Many clients at once, and clients that misbehave: nobody is forgotten, and nobody is in the way.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import {
  chatBytes, chatHead, connect, finishReasons, post, postStream, readToEnd, readUntil,
  streamedText,
} from './support/http.mjs';
import { grown, untilIdle, untilMetrics } from './support/metrics.mjs';
import { png } from './support/pictures.mjs';
import { ask, endless, heldOutItems, heldOutPicture } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const N_STREAMS = 100;

const QUESTION = ask('Is there a red star?');

/** @param reason  of the error that requests ended with, as in /metrics */
const ended = (reason) => [`tessera_requests_total`, `reason="${reason}"`];

/** Requests that came since then. One that a client takes back before it is read was never one. */
const nRead = (atFirst, metrics) =>
  grown(atFirst, metrics, 'tessera_requests_total') + metrics.value('tessera_requests_in_flight');

async function assertAnswers(server) {
  const answer = await post(server, QUESTION);
  assert.equal(answer.status, 200, answer.text);
}

describe('a hundred streams at once', () => {
  const holder = useServer();

  test('each ends exactly once, with the answer that it gets alone', async () => {
    const { server } = holder;
    // Every fourth is about an image; ten different questions in all.
    const items = heldOutItems().slice(0, 10);
    const bodies = items.map(({ image, question }, i) =>
      ask(question, i % 4 === 0 ? [heldOutPicture(image)] : []),
    );
    const alone = [];
    for (const body of bodies) alone.push(await postStream(server, body));
    const atFirst = await untilIdle(server);

    const streams = await Promise.all(
      Array.from({ length: N_STREAMS }, (_, i) => postStream(server, bodies[i % bodies.length])),
    );

    streams.forEach(({ events, done, tail }, i) => {
      assert.equal(finishReasons(events).length, 1);
      assert.equal(done, 1);
      assert.equal(tail, '\n\n');
      assert.ok(events.every((event) => !('error' in event)));
      assert.equal(streamedText(events), streamedText(alone[i % bodies.length].events));
    });
    await untilMetrics(server, 'the end of every request', (metrics) => {
      return grown(atFirst, metrics, 'tessera_requests_total', 'outcome="ok"') === N_STREAMS;
    });
    await untilIdle(server);
  });

  test('more requests than places: each gets an answer or a 429, none is forgotten', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    const answers = await Promise.all(
      Array.from({ length: 3 * N_STREAMS }, () => post(server, endless(32))),
    );

    const answered = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    assert.equal(answered.length + refused.length, answers.length);
    assert.ok(answered.length >= 128, 'fewer than limits.requests_max were answered');
    for (const { json } of answered) assert.equal(json.choices[0].finish_reason, 'length');
    for (const { json, headers } of refused) {
      assert.equal(json.error.code, 'server_busy');
      assert.match(headers.get('retry-after'), /^[1-9]\d*$/);
    }
    await untilMetrics(server, 'the end of every answered request', (metrics) => {
      return grown(atFirst, metrics, 'tessera_requests_total', 'outcome="ok"') === answered.length;
    });
  });
});

describe('a client that stops reading', () => {
  const holder = useServer();

  test('holds up nobody and is dropped', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    // Some 10 MB of events: more than the buffers of both sockets.
    const body = endless(1800, { stream: true, n: 4, logprobs: true, top_logprobs: 20 });
    const socket = await connect(server);
    socket.write(chatBytes(body));
    await readUntil(socket, 'data: '); // and from here on nothing more

    await assertAnswers(server);
    // Its sequences go to their end or are freed; they do not wait for the client.
    await untilMetrics(server, 'no running sequence', (metrics) => {
      return metrics.value('tessera_running_sequences') === 0;
    });
    await untilMetrics(server, 'the slow client dropped', (metrics) => {
      return grown(atFirst, metrics, ...ended('client_disconnected')) === 1;
    });
    await untilIdle(server);
    await assertAnswers(server);
    socket.destroy();
  });
});

describe('memory for images', () => {
  // One image of 448×448 as floats takes 2.4 MB, its features 0.3.
  const holder = useServer({
    args: ['--limits-vision-bytes-max', '3MiB', '--limits-tenant-vision-bytes-max', '3MiB'],
  });
  const pictureOf = (n, side = 448) => png(side, side, (x) => [n, x % 256, 128]);

  test('is waited for by those who come together; all get their answers', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => post(server, ask('How many circles?', [pictureOf(i)]))),
    );
    for (const { status, text } of answers) assert.equal(status, 200, text);

    const atLast = await untilIdle(server);
    assert.equal(grown(atFirst, atLast, 'tessera_encode_seconds_count'), 12);
    assert.equal(atLast.value('tessera_vision_bytes'), 0);
  });

  test('is not waited for by a request that needs more than there is', async () => {
    const { server } = holder;
    const refused = await post(server, ask('How many circles?', [pictureOf(20), pictureOf(21)]));
    assert.equal(refused.status, 413);
    assert.equal(refused.json.error.code, 'vision_bytes_exceeded');
    assert.match(refused.json.error.message, /limits\.vision_bytes_max is 3145728/);
    await assertAnswers(server);
  });

  test('is given back by those who leave', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    const sockets = await Promise.all(Array.from({ length: 6 }, () => connect(server)));
    sockets.forEach((socket, i) =>
      socket.write(chatBytes(ask('How many circles?', [pictureOf(30 + i)]))));
    await untilMetrics(server, 'all of them', (metrics) =>
      nRead(atFirst, metrics) === sockets.length);
    for (const socket of sockets) socket.destroy();

    const atLast = await untilIdle(server);
    assert.equal(atLast.value('tessera_vision_bytes'), 0);
    await assertAnswers(server);
  });
});

describe('a client that disappears', () => {
  const holder = useServer();

  test('before its body ends is let go at once', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    const beginnings = [
      '',
      '{"messages":[',
      '{"messages":[{"role":"user","content":[{"type":"image_url","image_url":'
        + '{"url":"data:image/png;base64,iVBORw0KGgoAAAAN',
    ];
    for (const sent of beginnings) {
      const socket = await connect(server);
      const closed = readToEnd(socket);
      socket.end(chatHead({ 'Content-Length': 1000 }) + sent);
      assert.equal(await closed, '');
    }

    await untilMetrics(server, 'the end of all', (metrics) => {
      return grown(atFirst, metrics, ...ended('client_disconnected')) === beginnings.length;
    });
    await untilIdle(server);
    await assertAnswers(server);
  });

  test('before its images are encoded has them encoded no further', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    const pictures = new Array(16).fill(png(448, 448));
    const socket = await connect(server);
    socket.write(chatBytes(ask('What shape is red?', pictures)));
    await untilMetrics(server, 'an image of it decoded', (metrics) => {
      return grown(atFirst, metrics, 'tessera_media_decodes_total') > 0;
    });
    socket.destroy();

    const atLast = await untilMetrics(server, 'its end', (metrics) => {
      return grown(atFirst, metrics, ...ended('client_disconnected')) === 1;
    });
    assert.ok(grown(atFirst, atLast, 'tessera_encode_seconds_count') < pictures.length);
    await untilIdle(server);
    await assertAnswers(server);
  });

  test('in prefill or right after it frees its sequence', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    const socket = await connect(server);
    socket.write(chatBytes(endless(4000, { messages: [{ role: 'user', content: 'a b '.repeat(900) }] })));
    await untilMetrics(server, 'its sequence', (metrics) => {
      return metrics.value('tessera_running_sequences') === 1;
    });
    socket.destroy();

    await untilMetrics(server, 'its end', (metrics) => {
      return grown(atFirst, metrics, ...ended('client_disconnected')) === 1;
    });
    await untilIdle(server);
    await assertAnswers(server);
  });

  test('in mid-stream frees its sequence, whether it closes or resets', async () => {
    const { server } = holder;
    for (const leave of ['destroy', 'resetAndDestroy', 'end']) {
      const atFirst = await untilIdle(server);
      const socket = await connect(server);
      socket.write(chatBytes(endless(4000, { stream: true })));
      await readUntil(socket, '"content":"[');
      socket[leave]();

      await untilMetrics(server, `its end after ${leave}`, (metrics) => {
        return grown(atFirst, metrics, ...ended('client_disconnected')) === 1;
      });
      await untilIdle(server);
      socket.destroy();
    }
    await assertAnswers(server);
  });

  test('fifty times at once leaves room for the next', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    const sockets = await Promise.all(Array.from({ length: 50 }, () => connect(server)));
    for (const socket of sockets) socket.write(chatBytes(endless(1000, { stream: true })));
    await Promise.all(sockets.slice(0, 5).map((socket) => readUntil(socket, 'data: ')));
    await untilMetrics(server, 'all fifty', (metrics) =>
      nRead(atFirst, metrics) === sockets.length);
    for (const socket of sockets) socket.destroy();

    const atLast = await untilMetrics(server, 'the end of all', (metrics) => {
      return grown(atFirst, metrics, 'tessera_requests_total') === sockets.length;
    });
    assert.ok(grown(atFirst, atLast, ...ended('client_disconnected')) > 0);
    await untilIdle(server);
    await assertAnswers(server);
  });
});
