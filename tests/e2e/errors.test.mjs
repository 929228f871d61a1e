// The SDK's error classes, and the bodies that they carry.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';

import { untilIdle } from './support/metrics.mjs';
import { ask, endless, MODEL } from './support/questions.mjs';
import { Server, useServer } from './support/server.mjs';

const QUESTION = ask('Is there a red star?');

/** Asserts the class and gives the error for more questions. */
async function rejection(promise, type) {
  const error = await promise.then(
    () => assert.fail('it was answered'),
    (thrown) => thrown,
  );
  assert.equal(error.constructor, type, `${error}`);
  return error;
}

describe('error classes of the OpenAI SDK', () => {
  const holder = useServer();
  const create = (body) => holder.server.client().chat.completions.create(body);

  test('BadRequestError names the field of a wrong value', async () => {
    const error = await rejection(create({ ...QUESTION, temperature: 3 }), OpenAI.BadRequestError);

    assert.equal(error.status, 400);
    assert.equal(error.type, 'invalid_request_error');
    assert.equal(error.param, 'temperature');
    assert.equal(error.code, 'invalid_value');
    assert.match(error.message, /between 0 and 2/);
  });

  test('BadRequestError names the field of a wrong type, however deep', async () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 7 }] }];
    const error = await rejection(create({ ...QUESTION, messages }), OpenAI.BadRequestError);

    assert.equal(error.param, 'messages[0].content[0].text');
    assert.equal(error.code, 'invalid_type');
    assert.match(error.message, /must be a string/);
  });

  test('NotFoundError for a model that is not served', async () => {
    const error = await rejection(create({ ...QUESTION, model: 'gpt-4o' }), OpenAI.NotFoundError);

    assert.equal(error.status, 404);
    assert.equal(error.param, 'model');
    assert.equal(error.code, 'model_not_found');
    const models = holder.server.client().models;
    await rejection(models.retrieve('gpt-4o'), OpenAI.NotFoundError);
  });

  test('an error before the first token of a stream is an HTTP error, too', async () => {
    const body = { ...QUESTION, stream: true, max_tokens: -1 };
    const error = await rejection(create(body), OpenAI.BadRequestError);

    assert.equal(error.param, 'max_tokens');
  });

  test('each answer, good or bad, has a request id that the SDK shows', async () => {
    const good = await create(QUESTION);
    const bad = await rejection(create({ ...QUESTION, n: 0 }), OpenAI.BadRequestError);

    assert.match(good._request_id, /^req_/);
    assert.match(bad.requestID, /^req_/);
    assert.notEqual(good._request_id, bad.requestID);
  });
});

describe('API keys', () => {
  const KEY = 'sk-a-key-of-the-end-to-end-tests';
  let folder;
  let server;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tessera-e2e-'));
    const file = path.join(folder, 'keys');
    await writeFile(file, `# keys\ntests: ${KEY}\n`);
    server = await Server.start({ args: ['--api-key-file', file] });
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  test('AuthenticationError for a wrong key', async () => {
    const chat = server.client({ apiKey: 'sk-another-key-of-nobody' }).chat.completions;
    const error = await rejection(chat.create(QUESTION), OpenAI.AuthenticationError);

    assert.equal(error.status, 401);
    assert.equal(error.code, 'invalid_api_key');
    assert.equal(error.type, 'invalid_request_error');
    assert.equal(error.headers.get('www-authenticate'), 'Bearer');
  });

  test('a missing key is refused before the body is read', async () => {
    const response = await fetch(`${server.origin}/v1/chat/completions`, { method: 'POST', body: '{' });

    assert.equal(response.status, 401);
    assert.equal((await response.json()).error.code, 'missing_api_key');
  });

  test('a known key is answered', async () => {
    const client = server.client({ apiKey: KEY });

    assert.equal((await client.chat.completions.create(QUESTION)).choices.length, 1);
    assert.equal((await client.models.list()).data[0].id, MODEL);
  });

  test('health and metrics need no key', async () => {
    for (const route of ['healthz', 'readyz', 'metrics']) {
      assert.equal((await fetch(`${server.origin}/${route}`)).status, 200, route);
    }
  });

  test('the log never shows a key', () => {
    assert.ok(!server.stderr.includes(KEY));
    assert.ok(!server.stderr.includes('sk-another'));
  });
});

describe('a server with one place', () => {
  const holder = useServer({ env: { TESSERA_LIMITS_REQUESTS_MAX: '1' } });

  /** Takes the only place with a stream; gives it back at `release()`. */
  async function takePlace() {
    const stream = await holder.server
      .client()
      .chat.completions.create({ ...endless(4000), stream: true });
    const events = stream[Symbol.asyncIterator]();
    await events.next();
    return { release: () => events.return() };
  }

  test('RateLimitError says when to try again', async () => {
    const place = await takePlace();
    const chat = holder.server.client().chat.completions;
    const error = await rejection(chat.create(QUESTION), OpenAI.RateLimitError);
    await place.release();

    assert.equal(error.status, 429);
    assert.equal(error.type, 'rate_limit_error');
    assert.equal(error.code, 'server_busy');
    assert.match(error.message, /\b1 requests?\b.*limit.*\b1\b/);
    assert.match(error.headers.get('retry-after'), /^[1-9]\d*$/);
  });

  test('the place is free again when its client is gone', async () => {
    await untilIdle(holder.server);

    const answer = await holder.server.client().chat.completions.create(QUESTION);
    assert.equal(answer.choices[0].finish_reason, 'stop');
  });

  test('the SDK waits as told and then gets its answer', async () => {
    const place = await takePlace();
    const waiting = holder.server.client({ maxRetries: 5 }).chat.completions.create(QUESTION);
    await place.release();

    assert.equal((await waiting).choices[0].finish_reason, 'stop');
  });
});
