// The answers of the pinned llama-mtmd-cli, through HTTP and all stages, all at once: neither other
// requests in the batch nor slices of a prompt may change a token.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { ROOT } from './support/program.mjs';
import { ask, mapAtOnce, readLines } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const REFERENCE = readLines('tests/golden/reference_ids.jsonl');

/** Asks one question as the reference was asked: the image first, then the text. */
async function answerOf(client, { image, question }) {
  const picture = readFileSync(path.join(ROOT, image));
  const answer = await client.chat.completions.create(ask(question, [picture], { logprobs: true }));
  const [choice] = answer.choices;
  const bytes = choice.logprobs.content.flatMap((token) => token.bytes);
  return {
    text: choice.message.content,
    tokensText: Buffer.from(bytes).toString('utf8'),
    nTokens: answer.usage.completion_tokens,
  };
}

function assertIsReference(answer, { image, question, text, ids }) {
  const which = `${image}: ${question}`;
  assert.equal(answer.text.trim(), text.trim(), which);
  assert.equal(answer.tokensText, answer.text, which);
  assert.equal(answer.nTokens, ids.length, which); // the end-of-answer token is counted in both
}

for (const [name, args, nAtOnce] of [
  ['alone', [], 1],
  ['all at once', [], REFERENCE.length],
  ['all at once in slices of 7 rows', ['--step-rows', '7'], 16],
]) {
  describe(`answers of llama-mtmd-cli, ${name}`, () => {
    const holder = useServer({ args });

    test(`${REFERENCE.length} questions, token for token`, async () => {
      assert.ok(REFERENCE.length >= 40);
      const client = holder.server.client();
      const answers = await mapAtOnce(REFERENCE, nAtOnce, (item) => answerOf(client, item));

      answers.forEach((answer, i) => assertIsReference(answer, REFERENCE[i]));
    });
  });
}
