// Stage accounting: what X-Tessera-Trace returns, and that /metrics tells the same story.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { grown, untilIdle, untilMetrics } from './support/metrics.mjs';
import { post, postStream } from './support/http.mjs';
import { png } from './support/pictures.mjs';
import { ask, heldOutPicture } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

// Each request pays for its image, whatever the one before left.
const TRACE = { 'X-Tessera-Trace': '1', 'Cache-Control': 'no-store' };
const SHAPES = heldOutPicture('images/000-shapes.png');
const QUESTION = 'How many circles are there?';

const STAGES = [
  'read', 'fetch_wait', 'fetch', 'media_wait', 'media_decode', 'plan', 'resize', 'encode_wait',
  'encode', 'schedule_wait', 'prefill_visual', 'prefill_text', 'decode', 'emit',
];
const VISUAL_STAGES = ['media_decode', 'resize', 'encode', 'prefill_visual'];

const sum = (values) => values.reduce((total, value) => total + value, 0);

function assertWithin(value, expected, share) {
  assert.ok(Math.abs(value - expected) <= expected * share, `${value} is not ${expected} ± ${share}`);
}

function assertSumsToTotal(trace) {
  assert.deepEqual(Object.keys(trace.stages_seconds), STAGES);
  assertWithin(sum(Object.values(trace.stages_seconds)), trace.total_seconds, 0.02);
}

describe('the trace of a request', () => {
  const holder = useServer();

  test('is only told when asked for', async () => {
    const plain = await post(holder.server, ask(QUESTION, [SHAPES]));
    const off = await post(holder.server, ask(QUESTION, [SHAPES]), { 'X-Tessera-Trace': '0' });

    assert.ok(!('tessera' in plain.json));
    assert.ok(!('tessera' in off.json));
  });

  test('comes through the SDK as an extra field', async () => {
    const answer = await holder.server
      .client()
      .chat.completions.create(ask(QUESTION, [SHAPES]), { headers: TRACE });

    assertSumsToTotal(answer.tessera);
  });

  test('has stages that sum to the total within 2 %, with and without images', async () => {
    for (const pictures of [[], [SHAPES], [SHAPES, png(280, 280)]]) {
      const began = performance.now();
      const { json } = await post(holder.server, ask(QUESTION, pictures), TRACE);
      const wallSeconds = (performance.now() - began) / 1000;

      assertSumsToTotal(json.tessera);
      assert.ok(json.tessera.total_seconds > 0);
      assert.ok(json.tessera.total_seconds <= wallSeconds, 'the server saw more time than passed');
      assert.ok(json.tessera.ttft_seconds > 0);
      assert.ok(json.tessera.ttft_seconds <= json.tessera.total_seconds);
    }
  });

  test('shows each stage of an image, and none of them for text', async () => {
    const { tessera: visual } = (await post(holder.server, ask(QUESTION, [SHAPES]), TRACE)).json;
    const { tessera: text } = (await post(holder.server, ask(QUESTION), TRACE)).json;

    for (const stage of VISUAL_STAGES) {
      assert.ok(visual.stages_seconds[stage] > 0, stage);
      assert.equal(text.stages_seconds[stage], 0, stage);
    }
    for (const stage of ['read', 'plan', 'prefill_text', 'decode']) {
      assert.ok(visual.stages_seconds[stage] > 0, stage);
      assert.ok(text.stages_seconds[stage] > 0, stage);
    }
  });

  test('counts images, tiles and tokens as usage does', async () => {
    const pictures = [SHAPES, png(280, 280)];
    const { tessera, usage } = (await post(holder.server, ask(QUESTION, pictures), TRACE)).json;

    assert.equal(tessera.n_images, 2);
    assert.equal(tessera.n_tiles, 2); // this model takes an image whole
    assert.equal(tessera.n_visual_tokens, 6 * 6 + 10 * 10); // 28×28 pixels each
    assert.equal(tessera.n_visual_tokens, usage.prompt_tokens_details.image_tokens);
    assert.equal(tessera.n_text_tokens, usage.prompt_tokens_details.text_tokens);
    assert.equal(tessera.n_cached_tokens, usage.prompt_tokens_details.cached_tokens);
    assert.equal(tessera.n_output_tokens, usage.completion_tokens);
  });

  test('of a stream comes with the last event, after which only [DONE] comes', async () => {
    const whole = (await post(holder.server, ask(QUESTION, [SHAPES]), TRACE)).json;
    const { events, done } = await postStream(holder.server, ask(QUESTION, [SHAPES]), TRACE);

    const { tessera, choices } = events.pop();
    assert.deepEqual(choices, []);
    assertSumsToTotal(tessera);
    assert.equal(tessera.n_visual_tokens, whole.tessera.n_visual_tokens);
    assert.equal(tessera.n_text_tokens, whole.tessera.n_text_tokens);
    assert.equal(tessera.n_output_tokens, whole.tessera.n_output_tokens);
    assert.ok(events.every((event) => !('tessera' in event)));
    assert.equal(done, 1);
  });

  test('stays true under concurrency', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        post(holder.server, ask(QUESTION, i % 3 === 0 ? [] : [SHAPES]), TRACE),
      ),
    );

    for (const { json } of answers) assertSumsToTotal(json.tessera);
  });

});

describe('traces of all requests', () => {
  const holder = useServer(); // that nobody else asks

  test('are in /metrics: their stages sum to their seconds', async () => {
    const atFirst = await untilIdle(holder.server);
    assert.ok(atFirst.value('tessera_kv_cells_capacity') > 0, 'before any request');
    const bodies = [ask(QUESTION), ask(QUESTION, [SHAPES]), ask(QUESTION, [SHAPES, SHAPES])];
    const answers = await Promise.all(bodies.map((body) => post(holder.server, body, TRACE)));
    const atLast = await untilMetrics(holder.server, 'the end of three requests', (metrics) => {
      return grown(atFirst, metrics, 'tessera_request_seconds_count') === 3;
    });

    const count = (name, ...labels) => grown(atFirst, atLast, name, ...labels);
    assert.equal(count('tessera_requests_total', 'outcome="ok"'), 3);
    assert.equal(count('tessera_images_total'), 3);
    assert.equal(count('tessera_visual_tokens_total'), 3 * 36);
    const traces = answers.map(({ json }) => json.tessera);
    assert.equal(count('tessera_text_tokens_total'), sum(traces.map((t) => t.n_text_tokens)));
    assert.equal(count('tessera_output_tokens_total'), sum(traces.map((t) => t.n_output_tokens)));
    assertWithin(count('tessera_stage_seconds_sum'), count('tessera_request_seconds_sum'), 0.02);
    assert.equal(count('tessera_stage_seconds_count', 'stage="encode"'), 2);
  });
});
