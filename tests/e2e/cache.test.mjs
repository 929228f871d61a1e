// Features that are computed once: what the second mention of an image costs, that answers do not
// change by it, and who can profit.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';

import { post } from './support/http.mjs';
import { readMetrics } from './support/metrics.mjs';
import { png } from './support/pictures.mjs';
import { ask, heldOutPicture, imagePart, textPart } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const QUESTIONS = ['How many circles are there?', 'What color is the square?', 'Is there a yellow triangle?'];
const SHAPES = heldOutPicture('images/000-shapes.png');
const ANNA = 'a-key-of-anna-0123456789';
const BEN = 'a-key-of-ben-01234567890';

describe('features of images', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tessera-cache-'));
  after(() => rmSync(folder, { recursive: true }));
  const keyFile = path.join(folder, 'keys');
  writeFileSync(keyFile, `anna: ${ANNA}\nben: ${BEN}\n`);
  const holder = useServer({ args: ['--api-key-file', keyFile] });

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
