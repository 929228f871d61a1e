// SIGTERM while every stage has work: the program leaves with 0 in two seconds, and no client waits
// for an answer that never comes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { chatBytes, chatHead, connect, readToEnd, readUntil } from './support/http.mjs';
import { untilMetrics } from './support/metrics.mjs';
import { png } from './support/pictures.mjs';
import { ask, endless } from './support/questions.mjs';
import { Server } from './support/server.mjs';

const STOP_MS_MAX = 2000;

/** Opens a connection that sends a request and collects whatever comes until it is closed. */
async function open(server, bytes) {
  const socket = await connect(server);
  socket.write(bytes);
  return { socket, received: readToEnd(socket) };
}

/** Ends the server; gives the milliseconds that took. */
async function stopTime(server) {
  const began = performance.now();
  await server.stop(); // asserts exit code 0
  return performance.now() - began;
}

/** How often a connection's text says that an answer ended, and how. */
function terminalEvents(text) {
  const finished = (text.match(/"finish_reason":"/g) ?? []).length;
  const done = (text.match(/^data: \[DONE\]$/gm) ?? []).length;
  const errors = (text.match(/^data: \{"error":/gm) ?? []).length;
  return { finished, done, errors };
}

describe('SIGTERM', () => {
  test('ends an idle server at once', async () => {
    const server = await Server.start();
    const idle = await connect(server);
    const closed = new Promise((resolve) => idle.once('close', resolve).resume());

    assert.ok((await stopTime(server)) < STOP_MS_MAX);
    await closed;
    assert.match(server.stdout, /tessera: stopping/);
  });

  test('lets a short answer end and refuses new connections', async () => {
    const server = await Server.start();
    const running = await open(server, chatBytes(endless(24, { stream: true })));
    const stopped = stopTime(server);

    const text = await running.received;
    assert.ok((await stopped) < STOP_MS_MAX);
    const { finished, done, errors } = terminalEvents(text);
    if (text !== '') assert.deepEqual([finished + errors, done + errors], [1, 1], text.slice(-300));
    await assert.rejects(fetch(`${server.origin}/healthz`));
  });

  test('ends running streams with a terminal event', async () => {
    const server = await Server.start();
    const streams = [];
    for (let i = 0; i < 4; ++i) {
      const socket = await connect(server);
      socket.write(chatBytes(endless(4000, { stream: true })));
      const seen = await readUntil(socket, '"content":"[');
      const rest = readToEnd(socket);
      socket.resume();
      streams.push({ seen, rest });
    }

    assert.ok((await stopTime(server)) < STOP_MS_MAX);
    for (const { seen, rest } of streams) {
      const { finished, done, errors } = terminalEvents(seen + (await rest));
      assert.equal(finished + errors, 1, 'neither a finish reason nor an error');
      assert.equal(done, finished);
    }
  });

  test('ends within two seconds with every stage busy', async () => {
    const server = await Server.start({ args: ['--sequences', '2'] });
    // Reading: a body that does not end.
    const halfSent = await open(server, `${chatHead({ 'Content-Length': 1000 })}{"messages":`);
    // Decoding, and waiting for a sequence.
    const answering = [];
    for (let i = 0; i < 6; ++i) {
      answering.push(await open(server, chatBytes(endless(2000, { stream: true }))));
    }
    // Media decoding, encoding, and waiting for both: the encoder takes many seconds for each.
    const large = png(2000, 2000);
    const seeing = [];
    for (let i = 0; i < 12; ++i) {
      const body = ask('What shape is red?', [large], { stream: i % 2 === 0 });
      seeing.push(await open(server, chatBytes(body)));
    }
    await untilMetrics(server, 'work in every stage', (metrics) => {
      return (
        metrics.value('tessera_running_sequences') > 0 &&
        metrics.value('tessera_queue_depth', 'queue="engine"') > 0 &&
        metrics.value('tessera_queue_depth', 'queue="encode"') > 2 &&
        metrics.value('tessera_queue_depth', 'queue="media"') > 0
      );
    });

    const took = await stopTime(server);

    for (const { received } of [halfSent, ...answering, ...seeing]) {
      const { finished, done, errors } = terminalEvents(await received);
      assert.ok(finished + errors <= 1, 'more than one terminal event');
      assert.equal(done, finished);
    }
    assert.ok(took < STOP_MS_MAX, `it took ${Math.round(took)} ms`);
  });

  test('sent twice ends at once', async () => {
    const server = await Server.start();
    const running = await open(server, chatBytes(endless(4000, { stream: true })));
    await untilMetrics(server, 'a running sequence', (metrics) => {
      return metrics.value('tessera_running_sequences') === 1;
    });
    server.child.kill('SIGTERM');
    await new Promise((resolve) => server.child.stdout.once('data', resolve)); // "stopping"
    server.child.kill('SIGTERM');

    const exit = await server.exited;
    assert.equal(exit.signal, null);
    await running.received;
  });
});
