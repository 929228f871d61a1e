// Chat completions through the official SDK: answers, streams, and what shapes an answer.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { ask, endless, endlessAboutPicture, MODEL } from './support/questions.mjs';
import { grown, untilIdle, untilMetrics } from './support/metrics.mjs';
import { useServer } from './support/server.mjs';

const QUESTION = ask('List the shapes from left to right.');

/** Reads an SDK stream to its end. */
async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
  const reasons = chunks.flatMap((chunk) => chunk.choices.map((c) => c.finish_reason).filter(Boolean));
  return { chunks, text, reasons };
}

describe('chat through the OpenAI SDK', () => {
  const holder = useServer();
  let client;
  before(() => {
    client = holder.server.client();
  });
  const create = (body, options) => client.chat.completions.create(body, options);

  test('the model list names the served model', async () => {
    const models = await client.models.list();

    assert.deepEqual(models.data.map((model) => model.id), [MODEL]);
    assert.equal((await client.models.retrieve(MODEL)).object, 'model');
  });

  test('an answer has the shape that OpenAI documents', async () => {
    const answer = await create(QUESTION);

    assert.match(answer.id, /^chatcmpl-/);
    assert.equal(answer.object, 'chat.completion');
    assert.equal(answer.model, MODEL);
    assert.ok(Math.abs(answer.created - Date.now() / 1000) < 3600);
    assert.equal(answer.choices.length, 1);
    const [choice] = answer.choices;
    assert.equal(choice.index, 0);
    assert.equal(choice.message.role, 'assistant');
    assert.notEqual(choice.message.content, '');
    assert.equal(choice.message.refusal, null);
    assert.equal(choice.logprobs, null);
    assert.equal(choice.finish_reason, 'stop');
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage;
    assert.ok(prompt_tokens > 0 && completion_tokens > 0);
    assert.equal(total_tokens, prompt_tokens + completion_tokens);
    assert.ok(!('tessera' in answer), 'stages are only told when asked for');
  });

  test('a greedy answer is the same each time', async () => {
    const first = await create(QUESTION);
    const second = await create(QUESTION);

    assert.equal(second.choices[0].message.content, first.choices[0].message.content);
    assert.notEqual(second.id, first.id);
  });

  test('the deltas of a stream join to the answer that is not streamed', async () => {
    const whole = await create(QUESTION);
    const { chunks, text, reasons } = await collect(await create({ ...QUESTION, stream: true }));

    assert.equal(text, whole.choices[0].message.content);
    assert.deepEqual(reasons, ['stop']);
    assert.equal(chunks[0].choices[0].delta.role, 'assistant');
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    for (const chunk of chunks) {
      assert.equal(chunk.object, 'chat.completion.chunk');
      assert.ok(!('usage' in chunk), 'usage is only told when asked for');
    }
  });

  test('include_usage adds one last chunk with the usage of the whole answer', async () => {
    const whole = await create(QUESTION);
    const streamed = { ...QUESTION, stream: true, stream_options: { include_usage: true } };
    const { chunks } = await collect(await create(streamed));

    const last = chunks.pop();
    assert.deepEqual(last.choices, []);
    assert.deepEqual(last.usage, whole.usage);
    assert.ok(chunks.every((chunk) => chunk.usage === null));
  });

  test('the SDK assembles a stream into a completion', async () => {
    const whole = await create(QUESTION);
    const runner = client.chat.completions.stream(QUESTION);
    const assembled = await runner.finalChatCompletion();

    assert.equal(assembled.choices[0].message.content, whole.choices[0].message.content);
    assert.equal(assembled.choices[0].finish_reason, 'stop');
  });

  test('a system message changes the prompt, and "developer" is another word for it', async () => {
    const withRole = (role) =>
      create({ ...QUESTION, messages: [{ role, content: 'Answer: yes.' }, ...QUESTION.messages] });
    const plain = await create(QUESTION);
    const system = await withRole('system');
    const developer = await withRole('developer');

    assert.notEqual(system.usage.prompt_tokens, plain.usage.prompt_tokens);
    assert.equal(developer.usage.prompt_tokens, system.usage.prompt_tokens);
    assert.equal(developer.choices[0].message.content, system.choices[0].message.content);
  });

  test('turns of a conversation are all in the prompt', async () => {
    const user = (content) => ({ role: 'user', content });
    const first = await create({ ...QUESTION, messages: [user('Is there a red star?')] });
    const turns = [user('Is there a red star?'), first.choices[0].message, user('And a blue one?')];
    const second = await create({ ...QUESTION, messages: turns });

    assert.ok(second.usage.prompt_tokens > first.usage.prompt_tokens + 5);
    assert.equal(second.choices[0].message.role, 'assistant');
  });

  test('content as a string and content as one text part are the same prompt', async () => {
    const text = 'Is there a red star?';
    const string = await create({ ...QUESTION, messages: [{ role: 'user', content: text }] });
    const part = await create(ask(text));

    assert.deepEqual(part.usage, string.usage);
    assert.equal(part.choices[0].message.content, string.choices[0].message.content);
  });

  test('max_tokens ends an answer with finish_reason length', async () => {
    for (const limit of ['max_tokens', 'max_completion_tokens']) {
      const answer = await create({ ...endless(), max_tokens: undefined, [limit]: 7 });

      assert.equal(answer.choices[0].finish_reason, 'length');
      assert.equal(answer.usage.completion_tokens, 7);
    }
    const { reasons } = await collect(await create({ ...endless(7), stream: true }));
    assert.deepEqual(reasons, ['length']);
  });

  test('n=2 gives two choices of the one prompt, streamed as well', async () => {
    const one = await create(QUESTION);
    const two = await create({ ...QUESTION, n: 2 });
    const { chunks } = await collect(await create({ ...QUESTION, n: 2, stream: true }));

    const text = one.choices[0].message.content;
    assert.deepEqual(two.choices.map((choice) => choice.index), [0, 1]);
    for (const choice of two.choices) {
      assert.equal(choice.message.content, text); // both greedy
      assert.equal(choice.finish_reason, 'stop');
    }
    assert.equal(two.usage.prompt_tokens, one.usage.prompt_tokens);
    assert.equal(two.usage.completion_tokens, 2 * one.usage.completion_tokens);
    for (const index of [0, 1]) {
      const mine = chunks.flatMap((chunk) => chunk.choices).filter((c) => c.index === index);
      assert.equal(mine.map((choice) => choice.delta.content ?? '').join(''), text);
      assert.deepEqual(mine.map((c) => c.finish_reason).filter(Boolean), ['stop']);
    }
  });

  test('sampled choices of one request differ from each other', async () => {
    const answer = await create({ ...endlessAboutPicture(24), temperature: 1.5, seed: 1, n: 4 });

    assert.ok(new Set(answer.choices.map((choice) => choice.message.content)).size > 1);
  });

  test('a seed repeats a sampled answer at temperature 1, another seed gives another', async () => {
    const sampled = (seed) => create({ ...endlessAboutPicture(48), temperature: 1, seed });
    const answers = await Promise.all([1, 1, 2, 3, 4].map(sampled));
    const [first, again, ...others] = answers.map((answer) => answer.choices[0].message.content);

    assert.equal(again, first);
    assert.ok(others.some((other) => other !== first));
  });

  test('top_k 1 and a tiny top_p are both greedy at any temperature', async () => {
    const greedy = await create(endlessAboutPicture(32));
    for (const narrow of [{ top_k: 1 }, { top_p: 0.0001 }]) {
      const answer = await create({ ...endlessAboutPicture(32), temperature: 2, seed: 5, ...narrow });
      assert.equal(answer.choices[0].message.content, greedy.choices[0].message.content);
    }
  });

  test('abort in mid-stream frees the sequence at once', async () => {
    const { server } = holder;
    const atFirst = await untilIdle(server);
    const stream = await create({ ...endless(4000), stream: true });
    for await (const chunk of stream) {
      if (chunk.choices[0].delta.content) break; // leaving the loop aborts the request
    }
    assert.ok(stream.controller.signal.aborted);

    const atLast = await untilMetrics(server, 'the end of the aborted request', (metrics) => {
      return grown(atFirst, metrics, 'tessera_requests_total', 'outcome="cancelled"') === 1;
    });
    assert.equal(grown(atFirst, atLast, 'tessera_requests_total', 'reason="client_disconnected"'), 1);
    assert.ok(grown(atFirst, atLast, 'tessera_output_tokens_total') < 4000, 'it went on to its end');
    await untilIdle(server);
    assert.equal((await create(QUESTION)).choices[0].finish_reason, 'stop');
  });

  test('abort of an answer that is not streamed frees the sequence as well', async () => {
    const { server } = holder;
    const controller = new AbortController();
    const answer = create(endless(4000), { signal: controller.signal });
    await untilMetrics(server, 'a running sequence', (metrics) => {
      return metrics.value('tessera_running_sequences') === 1;
    });
    controller.abort();

    await assert.rejects(answer, { name: 'Error', message: 'Request was aborted.' });
    await untilIdle(server);
  });
});

describe('log probabilities', () => {
  const holder = useServer();
  const create = (body) => holder.server.client().chat.completions.create(body);
  const asked = { ...QUESTION, logprobs: true, top_logprobs: 5 };

  test('tokens join to the answer, byte by byte', async () => {
    const { message, logprobs } = (await create(asked)).choices[0];

    const bytes = logprobs.content.flatMap((token) => token.bytes);
    assert.equal(Buffer.from(bytes).toString('utf8'), message.content);
    assert.equal(logprobs.content.map((token) => token.token).join(''), message.content);
  });

  test('they are logarithms of a distribution, best first', async () => {
    const { logprobs } = (await create(asked)).choices[0];

    for (const token of logprobs.content) {
      assert.ok(token.logprob <= 0);
      assert.equal(token.top_logprobs.length, 5);
      const values = token.top_logprobs.map((top) => top.logprob);
      assert.deepEqual(values, [...values].sort((a, b) => b - a));
      assert.ok(values.reduce((sum, value) => sum + Math.exp(value), 0) < 1.0001);
      assert.deepEqual(token.bytes, token.top_logprobs[0].bytes); // greedy takes the best
      assert.equal(token.logprob, token.top_logprobs[0].logprob);
    }
  });

  test('without top_logprobs only the chosen tokens are told', async () => {
    const { logprobs } = (await create({ ...QUESTION, logprobs: true })).choices[0];

    assert.ok(logprobs.content.length > 0);
    for (const token of logprobs.content) assert.deepEqual(token.top_logprobs, []);
  });

  test('a stream tells the same ones', async () => {
    const whole = await create(asked);
    const { chunks } = await collect(await create({ ...asked, stream: true }));

    const streamed = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.content ?? []);
    assert.deepEqual(streamed, whole.choices[0].logprobs.content);
  });
});

describe('stop strings', () => {
  const holder = useServer();
  const create = (body) => holder.server.client().chat.completions.create(body);
  const BASE = endless(40);

  /** The answer's text and tokens without a stop string. */
  async function unstopped() {
    const [choice] = (await create({ ...BASE, logprobs: true })).choices;
    return { text: choice.message.content, tokens: choice.logprobs.content.map((t) => t.token) };
  }

  async function assertStopsAt(stop, text) {
    const whole = await create({ ...BASE, stop });
    const { text: streamed, reasons } = await collect(await create({ ...BASE, stop, stream: true }));

    assert.equal(whole.choices[0].message.content, text);
    assert.equal(whole.choices[0].finish_reason, 'stop');
    assert.equal(streamed, text);
    assert.deepEqual(reasons, ['stop']);
  }

  test('end an answer before their first appearance', async () => {
    const { text } = await unstopped();

    await assertStopsAt(',', text.slice(0, text.indexOf(',')));
  });

  test('are found across the borders of tokens', async () => {
    const { text, tokens } = await unstopped();
    // From the middle of the answer: the end of one token, a whole one, the start of the next.
    const at = 6;
    const stop = tokens[at].slice(-1) + tokens[at + 1] + tokens[at + 2].slice(0, 1);
    assert.ok(!tokens.some((token) => token.includes(stop)));

    await assertStopsAt(stop, text.slice(0, text.indexOf(stop)));
  });

  test('the earliest of several wins', async () => {
    const { text } = await unstopped();

    await assertStopsAt(['never there', ',', '['], text.slice(0, text.indexOf('[')));
  });

  test('whose beginning appears without the rest hold nothing back for good', async () => {
    const { text } = await unstopped();
    const almost = `${text.slice(-3)}never there`;
    const { text: streamed, reasons } = await collect(
      await create({ ...BASE, stop: almost, stream: true }),
    );

    assert.equal(streamed, text);
    assert.deepEqual(reasons, ['length']);
  });
});
