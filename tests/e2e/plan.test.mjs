// Visual tokens that a request asks for: what is planned is what is computed, the plan costs nothing,
// and small budgets, many images and both spellings agree.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { post, postTo } from './support/http.mjs';
import { readMetrics } from './support/metrics.mjs';
import { png } from './support/pictures.mjs';
import { ask, heldOutPicture } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const QUESTION = 'How many circles are there?';
const SHAPES = heldOutPicture('images/000-shapes.png');
const TRACE = { 'X-Tessera-Trace': '1' };

describe('visual tokens', () => {
  const holder = useServer();
  const plan = (body) => postTo(holder.server, '/v1/visual/plan', body);
  /** The same request, with more in each image's part. */
  const withImages = (body, more) => {
    const parts = body.messages.at(-1).content.map((part) =>
      (part.type === 'image_url' ? { ...part, image_url: { ...part.image_url, ...more } } : part));
    return { ...body, messages: [...body.messages.slice(0, -1), { role: 'user', content: parts }] };
  };
  const withBudget = (body, max) => ({ ...body, tessera: { visual_tokens: { max } } });

  test('are planned as they are computed', async () => {
    const big = png(560, 280);
    const bodies = [
      ask(QUESTION, [SHAPES]),
      ask(QUESTION, [SHAPES, big]),
      withImages(ask(QUESTION, [big]), { visual_tokens: 50 }),
      withImages(ask(QUESTION, [png(1120, 840)]), { detail: 'low' }),
      withBudget(ask(QUESTION, [SHAPES, big, big]), 100),
    ];
    for (const body of bodies) {
      const planned = await plan(body);
      const answered = await post(holder.server, body, TRACE);

      assert.equal(planned.status, 200, JSON.stringify(planned.json));
      assert.equal(answered.status, 200, JSON.stringify(answered.json));
      assert.equal(planned.json.n_visual_tokens, answered.json.usage.prompt_tokens_details.image_tokens);
      assert.equal(planned.json.n_text_tokens, answered.json.usage.prompt_tokens_details.text_tokens);
      const shape = ({ source, planned: size, n_tiles, n_visual_tokens, budget }) =>
        ({ source, size, n_tiles, n_visual_tokens, budget });
      assert.deepEqual(planned.json.images.map(shape), answered.json.tessera.images.map(shape));
    }
  });

  test('stay inside what was asked for, as closely as the model can', async () => {
    const { json } = await plan(withBudget(ask(QUESTION, [png(1400, 700)]), 200));
    const [image] = json.images;

    assert.ok(image.n_visual_tokens <= 200 && image.n_visual_tokens > 150, image.summary);
    assert.equal(image.budget, 200);
    assert.equal(image.planned.width, 2 * image.planned.height);
    assert.match(image.summary, /^1400×700 → \d+×\d+, \d+ tokens, budget 200$/);
  });

  test('shrink the largest images first', async () => {
    const { json } = await plan(withBudget(ask(QUESTION, [SHAPES, png(1120, 1120)]), 150));

    assert.equal(json.images[0].budget, null);
    assert.ok(json.images[1].n_visual_tokens <= 150 - json.images[0].n_visual_tokens);
  });

  test('that no size of an image has are refused with the numbers', async () => {
    const many = Array.from({ length: 5 }, () => SHAPES);
    for (const answer of [await plan(withBudget(ask(QUESTION, many), 3)),
      await post(holder.server, withBudget(ask(QUESTION, many), 3))]) {
      assert.equal(answer.status, 413);
      assert.equal(answer.json.error.code, 'visual_tokens_exceeded');
      assert.match(answer.json.error.message, /0 are left for this one/);
    }
    for (const bad of [0, -1, 1.5, '9', []]) {
      const answer = await plan(withBudget(ask(QUESTION, [SHAPES]), bad));
      assert.equal(answer.status, 400, String(bad));
    }
  });

  test('are planned without a decode, an encode or a token, and say what is cached', async () => {
    const picture = png(168, 168, (x, y) => [x % 256, y % 256, 7]);
    const before = await readMetrics(holder.server);
    const fresh = await plan(ask(QUESTION, [picture]));
    const middle = await readMetrics(holder.server);
    await post(holder.server, ask(QUESTION, [picture]));
    const cached = await plan(ask('Is there a square?', [picture]));

    for (const name of ['tessera_media_decodes_total', 'tessera_encode_seconds_count']) {
      assert.equal(middle.value(name), before.value(name), name);
    }
    assert.equal(fresh.json.images[0].n_cached_tiles, 0);
    assert.equal(cached.json.images[0].n_cached_tiles, 1);
    assert.equal(cached.json.estimated_seconds.encode, 0);
    assert.ok(cached.json.estimated_seconds.prefill > 0);
  });
});
