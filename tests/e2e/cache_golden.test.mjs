// The whole golden set with the feature cache off, cold, warm from memory, and warm from disk after
// a restart: the cache must not change one token.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';

import { readMetrics } from './support/metrics.mjs';
import { ROOT } from './support/program.mjs';
import { ask, mapAtOnce, readLines } from './support/questions.mjs';
import { Server } from './support/server.mjs';

const REFERENCE = readLines('tests/golden/reference_ids.jsonl');
const N_IMAGES = new Set(REFERENCE.map(({ image }) => image)).size;

/** Every token of every answer, by its bytes, one question after the other. */
async function answersOf(server) {
  const client = server.client();
  return mapAtOnce(REFERENCE, 1, async ({ image, question }) => {
    const picture = readFileSync(path.join(ROOT, image));
    const answer = await client.chat.completions.create(ask(question, [picture], { logprobs: true }));
    const [choice] = answer.choices;
    return {
      text: choice.message.content.trim(),
      tokens: choice.logprobs.content.map(({ bytes }) => bytes),
      logprobs: choice.logprobs.content.map(({ logprob }) => logprob),
      nTokens: answer.usage.completion_tokens,
    };
  });
}

/** Without kept prefixes, so that each answer is computed from features, to the last bit. */
async function withServer(args, use) {
  const server = await Server.start({ args: ['--kept-prefixes', '0', ...args] });
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

const nEncodes = async (server) => (await readMetrics(server)).value('tessera_encode_seconds_count');

describe(`the golden set, ${REFERENCE.length} questions about ${N_IMAGES} images`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tessera-cache-golden-'));
  after(() => rmSync(folder, { recursive: true }));
  const onDisk = ['--cache-dir', path.join(folder, 'features')];

  test('has the same token ids with the cache off, cold, warm, and warm from disk', async () => {
    const off = await withServer(['--feature-cache-bytes', '0'], async (server) => {
      const answers = await answersOf(server);
      assert.equal(await nEncodes(server), REFERENCE.length, 'every question is encoded');
      return answers;
    });
    const [cold, warm] = await withServer(onDisk, async (server) => {
      const first = await answersOf(server);
      const nCold = await nEncodes(server);
      assert.ok(nCold >= N_IMAGES && nCold < 2 * N_IMAGES, `${nCold} encodes`);
      const second = await answersOf(server);
      assert.equal(await nEncodes(server), nCold, 'nothing is encoded again');
      return [first, second];
    });
    const restarted = await withServer(onDisk, async (server) => {
      const answers = await answersOf(server);
      assert.equal(await nEncodes(server), 0, 'everything comes from the disk');
      return answers;
    });

    REFERENCE.forEach(({ image, question, text, ids }, i) => {
      const which = `${image}: ${question}`;
      assert.equal(off[i].text, text.trim(), which);
      assert.equal(off[i].nTokens, ids.length, which);
      for (const answers of [cold, warm, restarted]) assert.deepEqual(answers[i], off[i], which);
    });
  });
});
