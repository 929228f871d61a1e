// Answers that outgrow the KV cache give way to each other: everybody gets the tokens that they would
// have had, and nobody an error.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

import { post } from './support/http.mjs';
import { readMetrics, untilIdle } from './support/metrics.mjs';
import { ROOT } from './support/program.mjs';
import { ask, endless, mapAtOnce, readLines } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const REFERENCE = readLines('tests/golden/reference_ids.jsonl');
const LONG_TOKENS = 400; // two of those and two questions are more than 1024 cells

describe('a KV cache that is too small for all answers', () => {
  const holder = useServer({ args: ['--kv-cells', '1024', '--sequences', '8', '--kept-prefixes', '0'] });

  test('keeps every token of those who give way', async () => {
    const ended = new AbortController();
    let nLong = 0;
    const long = Array.from({ length: 3 }, async () => {
      while (!ended.signal.aborted) {
        const answer = await post(holder.server, endless(LONG_TOKENS));
        assert.equal(answer.status, 200, JSON.stringify(answer.json));
        assert.equal(answer.json.usage.completion_tokens, LONG_TOKENS);
        assert.equal(answer.json.choices[0].finish_reason, 'length');
        ++nLong;
      }
    });

    const answers = await mapAtOnce(REFERENCE, 8, async ({ image, question }) => {
      const picture = readFileSync(path.join(ROOT, image));
      return post(holder.server, ask(question, [picture]));
    });
    ended.abort();
    await Promise.all(long);

    answers.forEach((answer, i) => {
      const { image, question, text, ids } = REFERENCE[i];
      assert.equal(answer.status, 200, JSON.stringify(answer.json));
      assert.equal(answer.json.choices[0].message.content.trim(), text.trim(), `${image}: ${question}`);
      assert.equal(answer.json.usage.completion_tokens, ids.length);
    });
    assert.ok(nLong >= 3);
    const metrics = await readMetrics(holder.server);
    assert.ok(metrics.value('tessera_preemptions_total') > 0, 'somebody gave way');
    await untilIdle(holder.server);
    assert.equal((await readMetrics(holder.server)).value('tessera_set_aside_requests'), 0);
  });
});
