// Prompts that begin alike are prefilled once: what the second question about an image costs, that
// answers do not change by it, and who can profit.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';

import { post } from './support/http.mjs';
import { readMetrics, untilIdle } from './support/metrics.mjs';
import { ROOT } from './support/program.mjs';
import { ask, heldOutPicture, mapAtOnce, readLines } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const REFERENCE = readLines('tests/golden/reference_ids.jsonl');
const SHAPES = heldOutPicture('images/000-shapes.png');
const ANNA = 'a-key-of-anna-0123456789';
const BEN = 'a-key-of-ben-01234567890';

const cachedTokens = (answer) => answer.usage.prompt_tokens_details.cached_tokens;

describe('the beginning of a prompt', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tessera-prefix-'));
  after(() => rmSync(folder, { recursive: true }));
  const keyFile = path.join(folder, 'keys');
  writeFileSync(keyFile, `anna: ${ANNA}\nben: ${BEN}\n`);
  const holder = useServer({ args: ['--api-key-file', keyFile] });

  const chat = async (key, body, headers = {}) => {
    const answer = await post(holder.server, body, {
      Authorization: `Bearer ${key}`,
      'X-Tessera-Trace': '1',
      ...headers,
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.json));
    return answer.json;
  };

  test('is prefilled for the first question about an image and for no later one', async () => {
    const first = await chat(ANNA, ask('How many circles are there?', [SHAPES]));
    const later = await chat(ANNA, ask('What color is the square?', [SHAPES]));

    assert.equal(cachedTokens(first), 0);
    assert.ok(first.tessera.stages_seconds.prefill_visual > 0);
    assert.ok(cachedTokens(later) > later.tessera.n_visual_tokens);
    assert.equal(later.tessera.stages_seconds.prefill_visual, 0);
  });

  test('is nobody else\'s, and no request\'s that shares with nobody', async () => {
    const body = ask('Is there a yellow triangle?', [SHAPES]);
    await chat(ANNA, body);
    assert.ok(cachedTokens(await chat(ANNA, body)) > 0);
    assert.equal(cachedTokens(await chat(ANNA, body, { 'Cache-Control': 'no-store' })), 0);
    assert.equal(cachedTokens(await chat(BEN, body)), 0);
  });

  test('is prefilled once for questions that come together, and for choices', async () => {
    const picture = heldOutPicture('images/003-shapes.png');
    const questions = ['How many?', 'What color?', 'Which shape?', 'Where is it?'];
    const answers = await mapAtOnce(questions, questions.length, (question) =>
      chat(ANNA, ask(question, [picture], { n: 2, temperature: 1, seed: 3 })));

    const computed = answers.filter((answer) => cachedTokens(answer) < answer.tessera.n_visual_tokens);
    assert.equal(computed.length, 1);
  });

  test('frees its KV cells for what runs, and only those', async () => {
    await untilIdle(holder.server);
    const metrics = await readMetrics(holder.server);
    const kept = metrics.value('tessera_kv_cells_kept');
    assert.ok(kept > 0);
    assert.ok(kept <= metrics.value('tessera_kv_cells_capacity') / 2);
  });
});

describe('answers of llama-mtmd-cli, each asked twice', () => {
  const holder = useServer();

  test('are the same with a prefix that is kept', async () => {
    const asked = async ({ image, question }) => {
      const body = ask(question, [readFileSync(path.join(ROOT, image))], { logprobs: true });
      return (await post(holder.server, body)).json;
    };
    let nCached = 0;
    for (let round = 0; round < 2; ++round) {
      const answers = await mapAtOnce(REFERENCE, 8, asked);
      for (const [i, answer] of answers.entries()) {
        const { image, question, text, ids } = REFERENCE[i];
        const which = `${image}: ${question}`;
        assert.equal(answer.choices[0].message.content.trim(), text.trim(), which);
        assert.equal(answer.usage.completion_tokens, ids.length, which);
        if (cachedTokens(answer) > 0) ++nCached;
      }
    }
    assert.ok(nCached > REFERENCE.length / 4, `${nCached} of ${2 * REFERENCE.length}`);
  });
});
