// The process that runs the model dies: the server goes on, and who has no token yet learns nothing
// of it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { chatBytes, connect, post, readUntil } from './support/http.mjs';
import { grown, readMetrics, untilIdle, untilMetrics } from './support/metrics.mjs';
import { bands } from './support/pictures.mjs';
import { engineOf, kill } from './support/processes.mjs';
import { ask, endless, heldOutItems, heldOutPicture, mapAtOnce } from './support/questions.mjs';
import { Server, useServer } from './support/server.mjs';

// What an engine's death may cost beyond reading the model, which is a fraction of it here.
const BACK_MS_MAX = 5000;

const ITEMS = heldOutItems().slice(0, 12);
const question = (item, more = {}) => ask(item.question, [heldOutPicture(item.image)], more);
const textOf = ({ text }) => JSON.parse(text).choices[0].message.content;

async function untilDeaths(server, n) {
  await untilMetrics(server, `${n} deaths of the engine`, (metrics) =>
    metrics.value('tessera_engine_deaths_total') >= n);
}

/** Kills the engine once all of them are on their way. */
async function killAmid(server, nRequests) {
  const before = await readMetrics(server);
  await untilMetrics(server, `${nRequests} requests`, (metrics) =>
    metrics.value('tessera_requests_in_flight') >= nRequests);
  kill(engineOf(server));
  await untilDeaths(server, before.value('tessera_engine_deaths_total') + 1);
}

describe('the engine is killed', () => {
  const holder = useServer({ args: ['--log-level', 'error'] });

  test('a stream that has begun ends with an error that says to send it again', async () => {
    const { server } = holder;
    const socket = await connect(server);
    socket.write(chatBytes(endless(4000, { stream: true })));
    const begun = await readUntil(socket, '"content":');
    kill(engineOf(server));

    const rest = await readUntil(socket.resume(), '"error":');
    assert.match(begun, /^HTTP\/1.1 200 /);
    assert.match(rest, /"code":"engine_lost"/);
    assert.doesNotMatch(rest, /"finish_reason":"|\[DONE\]/);
    socket.destroy();
    await untilDeaths(server, 1);
  });

  test('the next request is answered as if nothing had been', async () => {
    const { server } = holder;
    const expected = textOf(await post(server, question(ITEMS[0])));
    const began = performance.now();
    kill(engineOf(server));
    await untilDeaths(server, 2);

    const again = await post(server, question(ITEMS[0]));

    assert.equal(again.status, 200);
    assert.equal(textOf(again), expected);
    assert.ok(performance.now() - began < BACK_MS_MAX);
  });

  test('requests without a token are done again, and answered as ever', async () => {
    const { server } = holder;
    const bodies = ITEMS.map((item) => question(item));
    const expected = await mapAtOnce(bodies, 4, async (body) => textOf(await post(server, body)));
    const fresh = ITEMS.map((item) => ({ ...question(item), tessera: { cache: { scope: 'none' } } }));

    const answers = Promise.all(fresh.map((body) => post(server, body)));
    await killAmid(server, 4);

    let nLost = 0;
    for (const [i, answer] of (await answers).entries()) {
      if (answer.status === 200) {
        assert.equal(textOf(answer), expected[i]);
      } else {
        ++nLost; // it had a token
        assert.equal(answer.status, 503);
        assert.equal(JSON.parse(answer.text).error.code, 'engine_lost');
      }
    }
    assert.ok(nLost < fresh.length / 2, `${nLost} of ${fresh.length} were lost`);
    await untilIdle(server);
  });

  test('the features that were computed are still there', async () => {
    const { server } = holder;
    const body = ask('What colour is it?', [bands()]);
    await post(server, body);
    const before = await readMetrics(server);
    kill(engineOf(server));
    await untilDeaths(server, before.value('tessera_engine_deaths_total') + 1);

    assert.equal((await post(server, body)).status, 200);

    const after = await readMetrics(server);
    assert.equal(grown(before, after, 'tessera_encode_patches_total'), 0);
  });

  test('an abort of the library is the same as a kill', async () => {
    const { server } = holder;
    const before = await readMetrics(server);
    kill(engineOf(server), 'SIGABRT');
    await untilDeaths(server, before.value('tessera_engine_deaths_total') + 1);

    assert.equal((await post(server, question(ITEMS[1]))).status, 200);
  });

  test('signals that are meant for the server do not end it', async () => {
    const engine = engineOf(holder.server);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) kill(engine, signal);

    assert.equal((await post(holder.server, question(ITEMS[1]))).status, 200);
    assert.equal(engineOf(holder.server), engine);
  });

  test('health and metrics answer while there is no engine', async () => {
    const { server } = holder;
    for (let i = 0; i < 5; ++i) {
      const engine = engineOf(server);
      if (engine) kill(engine);
      assert.equal((await fetch(`${server.origin}/healthz`)).status, 200);
      await readMetrics(server);
      assert.equal((await fetch(`${server.origin}/v1/models`)).status, 200);
    }
    assert.equal((await post(server, question(ITEMS[2]))).status, 200);
  });
});

test('the engine ends with its server, however that ends', async () => {
  const server = await Server.start();
  const engine = engineOf(server);
  assert.ok(engine);

  server.child.kill('SIGKILL');
  await server.exited;

  for (let i = 0; i < 1000 && kill(engine, 0); ++i) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(kill(engine, 0), false);
});
