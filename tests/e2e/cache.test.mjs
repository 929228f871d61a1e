// Features that are computed once: what the second mention of an image costs, that answers do not
// change by it, and who can profit.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';

import { post } from './support/http.mjs';
import { readMetrics, untilMetrics } from './support/metrics.mjs';
import { png } from './support/pictures.mjs';
import { ask, heldOutPicture, imagePart, textPart } from './support/questions.mjs';
import { Server, useServer } from './support/server.mjs';

const QUESTIONS = ['How many circles are there?', 'What color is the square?', 'Is there a yellow triangle?'];
const SHAPES = heldOutPicture('images/000-shapes.png');
const ANNA = 'a-key-of-anna-0123456789';
const BEN = 'a-key-of-ben-01234567890';

describe('features of images', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tessera-cache-'));
  after(() => rmSync(folder, { recursive: true }));
  const keyFile = path.join(folder, 'keys');
  writeFileSync(keyFile, `anna: ${ANNA}\nben: ${BEN}\n`);
  // Without kept prefixes, so that every answer is computed from features.
  const holder = useServer({ args: ['--api-key-file', keyFile, '--kept-prefixes', '0'] });

  const chat = async (key, body, headers = {}) => {
    const answer = await post(holder.server, { ...body, logprobs: true, top_logprobs: 5 }, {
      Authorization: `Bearer ${key}`,
      'X-Tessera-Trace': '1',
      ...headers,
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.json));
    return answer.json;
  };
  const isComputed = ({ tessera }) => tessera.stages_seconds.encode > 0;
  /** Another picture each time, so that tests do not meet. */
  const pictureOf = (n) => png(112, 112, (x) => [n, x % 256, 128]);

  test('are computed for the first question about an image and for no later one', async () => {
    const first = await chat(ANNA, ask(QUESTIONS[0], [SHAPES]));
    const later = [];
    for (const question of QUESTIONS) later.push(await chat(ANNA, ask(question, [SHAPES])));

    assert.ok(isComputed(first));
    for (const answer of later) {
      assert.equal(answer.tessera.n_cached_tiles, 1);
      for (const stage of ['resize', 'encode_wait', 'encode']) {
        assert.equal(answer.tessera.stages_seconds[stage], 0, stage);
      }
    }
  });

  test('give the same answer, to the last bit of its scores, whether cached or not', async () => {
    const bodies = [...QUESTIONS.map((question) => ask(question, [SHAPES])),
      ask(QUESTIONS[0], [pictureOf(1), SHAPES, pictureOf(1)])];
    for (const body of bodies) {
      const alone = await chat(ANNA, body, { 'Cache-Control': 'no-store' });
      await chat(ANNA, body);
      const cached = await chat(ANNA, body);

      assert.ok(isComputed(alone));
      assert.ok(!isComputed(cached));
      assert.deepEqual(cached.choices, alone.choices);
      assert.deepEqual(cached.usage, alone.usage);
    }
  });

  test('are found by content, whatever way the image comes', async () => {
    const bytes = pictureOf(2);
    await chat(ANNA, ask(QUESTIONS[0], [bytes]));
    const client = holder.server.client({ apiKey: ANNA });
    const file = await client.files.create({
      file: new File([bytes], 'another name.png', { type: 'image/png' }),
      purpose: 'vision',
    });
    const body = ask(QUESTIONS[1]);
    body.messages[0].content = [imagePart(`tessera-file:${file.id}`), textPart(QUESTIONS[1])];

    assert.ok(!isComputed(await chat(ANNA, body)));
  });

  test('are not found by another key, nor by a request that shares with none', async () => {
    const body = ask(QUESTIONS[0], [pictureOf(3)]);
    await chat(ANNA, body);

    assert.ok(isComputed(await chat(BEN, body)));
    assert.ok(isComputed(await chat(ANNA, body, { 'Cache-Control': 'max-age=5, no-store' })));
    assert.ok(isComputed(await chat(ANNA, { ...body, tessera: { cache: { scope: 'request' } } })));
    assert.ok(!isComputed(await chat(ANNA, body)));
  });

  test('are not left by a request that shares with none', async () => {
    const body = ask(QUESTIONS[0], [pictureOf(4)]);
    await chat(ANNA, body, { 'Cache-Control': 'no-store' });

    assert.ok(isComputed(await chat(ANNA, body)));
  });

  test('are computed once for many who ask at the same time', async () => {
    const before = (await readMetrics(holder.server)).value('tessera_encode_seconds_count');
    const body = ask(QUESTIONS[0], [pictureOf(5)]);
    const answers = await Promise.all(Array.from({ length: 16 }, () => chat(ANNA, body)));

    // Scores differ in their last digits by who shares a step.
    for (const { choices } of answers) {
      assert.equal(choices[0].message.content, answers[0].choices[0].message.content);
    }
    assert.equal((await readMetrics(holder.server)).value('tessera_encode_seconds_count'), before + 1);
    assert.ok((await readMetrics(holder.server)).value('tessera_feature_cache_bytes') > 0);
  });
});

describe('features on disk', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tessera-cache-disk-'));
  after(() => rmSync(folder, { recursive: true }));
  const cacheDir = path.join(folder, 'features');
  const keyFile = path.join(folder, 'keys');
  const writeKeys = (...lines) => writeFileSync(keyFile, `${lines.join('\n')}\n`);

  /** Runs a server for as long as `use` does. */
  const withServer = async (use, ...args) => {
    const server = await Server.start({ args: ['--api-key-file', keyFile, '--cache-dir', cacheDir, ...args] });
    try {
      return await use(server);
    } finally {
      await server.stop();
    }
  };
  const chat = async (server, key, body) => {
    const answer = await post(server, { ...body, logprobs: true, top_logprobs: 5, temperature: 0 }, {
      Authorization: `Bearer ${key}`,
      'X-Tessera-Trace': '1',
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.json));
    return answer.json;
  };
  const ids = (answer) => answer.choices.map((choice) => choice.logprobs.content);

  test('are found after a restart, with the same answer, whoever else came into the key file', async () => {
    writeKeys(`anna: ${ANNA}`, `ben: ${BEN}`);
    const bodies = QUESTIONS.map((question) => ask(question, [SHAPES]));
    const yesterday = await withServer(async (server) => {
      const answers = [];
      for (const body of bodies) answers.push(await chat(server, ANNA, body));
      return answers;
    });
    assert.equal(yesterday[0].tessera.n_cached_tiles, 0);

    writeKeys('carl: a-key-of-carl-0123456789', `ben: ${BEN}`, `anna: ${ANNA}`);
    await withServer(async (server) => {
      assert.equal((await chat(server, BEN, bodies[0])).tessera.n_cached_tiles, 0, 'not for ben');
      for (const [i, body] of bodies.entries()) {
        const today = await chat(server, ANNA, body);
        assert.ok(today.tessera.n_cached_tiles > 0);
        assert.equal(today.tessera.stages_seconds.encode, 0);
        assert.deepEqual(ids(today), ids(yesterday[i]));
        assert.equal(today.choices[0].message.content, yesterday[i].choices[0].message.content);
      }
      const metrics = await readMetrics(server);
      assert.equal(metrics.value('tessera_feature_cache_hits_total', 'tier="disk"'), 1, 'then memory has it');
      assert.equal(metrics.value('tessera_feature_cache_errors_total'), 0);
    });
  });

  test('are found after the server was killed', async () => {
    writeKeys(`anna: ${ANNA}`);
    const body = ask(QUESTIONS[0], [png(112, 112, (x) => [7, x % 256, 128])]);
    const server = await Server.start({ args: ['--api-key-file', keyFile, '--cache-dir', cacheDir] });
    const nEntries = (metrics) => metrics.value('tessera_feature_cache_entries', 'tier="disk"');
    const nAtFirst = nEntries(await readMetrics(server));
    const before = await chat(server, ANNA, body);
    await untilMetrics(server, 'the entry is written', (metrics) => nEntries(metrics) > nAtFirst);
    server.child.kill('SIGKILL');
    await server.exited;

    await withServer(async (again) => {
      const found = await chat(again, ANNA, body);
      assert.ok(found.tessera.n_cached_tiles > 0);
      assert.deepEqual(ids(found), ids(before));
    });
  });

  test('are not read or left by a request that wants memory only', async () => {
    writeKeys(`anna: ${ANNA}`);
    const body = { ...ask(QUESTIONS[0], [png(112, 112, (x) => [8, x % 256, 128])]),
      tessera: { cache: { tier: 'memory' } } };
    for (let i = 0; i < 2; ++i) {
      await withServer(async (server) => {
        assert.equal((await chat(server, ANNA, body)).tessera.n_cached_tiles, 0);
        assert.equal((await chat(server, ANNA, body)).tessera.n_cached_tiles, 1);
      });
    }
  });

  test('are not found in another precision', async () => {
    writeKeys(`anna: ${ANNA}`);
    const body = ask(QUESTIONS[0], [SHAPES]);
    await withServer(async (server) => {
      assert.equal((await chat(server, ANNA, body)).tessera.n_cached_tiles, 0);
    }, '--feature-cache-f32');
  });

  test('belong to one server at a time, which says so', async () => {
    writeKeys(`anna: ${ANNA}`);
    await withServer(async () => {
      await assert.rejects(
        Server.start({ args: ['--api-key-file', keyFile, '--cache-dir', cacheDir] }),
        /in use by another process/,
      );
    });
  });
});
