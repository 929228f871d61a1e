// Files that are uploaded once and named in later requests: the official SDK's way, and what nobody
// should be able to do with them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { connect, parseResponse, post, readToEnd } from './support/http.mjs';
import { dataUri, png } from './support/pictures.mjs';
import { ask, heldOutPicture, imagePart, textPart } from './support/questions.mjs';
import { Server, useServer } from './support/server.mjs';

const QUESTION = 'How many circles are there?';
const SHAPES = heldOutPicture('images/000-shapes.png');

const about = (...urls) => ({
  ...ask(QUESTION),
  messages: [{ role: 'user', content: [...urls.map(imagePart), textPart(QUESTION)] }],
});
const urlOf = (file) => `tessera-file:${file.id}`;

const upload = (client, bytes = SHAPES, purpose = 'vision') =>
  client.files.create({ file: new File([bytes], 'shapes.png', { type: 'image/png' }), purpose });

/** The error of a request that must fail. */
async function errorOf(promise) {
  const error = await promise.then(
    () => assert.fail('it was answered'),
    (reason) => reason,
  );
  return { status: error.status, code: error.code, message: error.error?.message, param: error.param };
}

describe('files through the OpenAI SDK', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tessera-files-'));
  after(() => rmSync(folder, { recursive: true }));
  const keyFile = path.join(folder, 'keys');
  writeFileSync(keyFile, 'anna: a-key-of-anna-0123456789\nben: a-key-of-ben-01234567890\n');
  // Scores are compared to the last bit: each prompt is computed in one piece.
  const holder = useServer({ args: ['--api-key-file', keyFile, '--kept-prefixes', '0'] });
  let anna;
  let ben;
  before(() => {
    anna = holder.server.client({ apiKey: 'a-key-of-anna-0123456789' });
    ben = holder.server.client({ apiKey: 'a-key-of-ben-01234567890' });
  });
  const answerOf = async (client, body) =>
    (await client.chat.completions.create(body)).choices[0].message.content;

  test('a question about an uploaded file is answered as about a data URI', async () => {
    const file = await upload(anna);

    assert.match(file.id, /^tessera-file-[0-9a-f]{32}$/);
    assert.equal(file.object, 'file');
    assert.equal(file.bytes, SHAPES.length);
    assert.equal(file.purpose, 'vision');
    assert.ok(Math.abs(file.created_at - Date.now() / 1000) < 60);
    assert.equal(file.expires_at - file.created_at, 3600);
    const expected = await answerOf(anna, ask(QUESTION, [SHAPES]));
    assert.equal(await answerOf(anna, about(urlOf(file))), expected);
    assert.equal(await answerOf(anna, about(urlOf(file))), expected); // it can be asked about again
  });

  test('uploaded and sent images stand in one request in their order', async () => {
    const other = png(56, 56, (x) => (x > 28 ? [255, 0, 0] : [0, 0, 255]));
    const file = await upload(anna);
    // Log probabilities tell orders apart where the words happen to be the same.
    const scores = async (body) => {
      const answer = await anna.chat.completions.create({ ...body, logprobs: true });
      return answer.choices[0].logprobs.content.map((token) => token.logprob);
    };

    const mixed = await scores(about(dataUri(other), urlOf(file)));

    assert.deepEqual(mixed, await scores(ask(QUESTION, [other, SHAPES])));
    assert.notDeepEqual(mixed, await scores(ask(QUESTION, [SHAPES, other])));
  });

  test('files can be listed, looked up and removed; their bytes do not come back', async () => {
    const file = await upload(anna, SHAPES, 'user_data');

    const listed = [];
    for await (const each of anna.files.list()) listed.push(each.id);
    assert.ok(listed.includes(file.id));
    assert.equal((await anna.files.retrieve(file.id)).bytes, SHAPES.length);
    assert.equal((await errorOf(anna.files.content(file.id))).status, 404);
    assert.deepEqual(await anna.files.delete(file.id), { id: file.id, object: 'file', deleted: true });
    assert.equal((await errorOf(anna.files.retrieve(file.id))).code, 'upload_not_found');
    const gone = await errorOf(anna.chat.completions.create(about(urlOf(file))));
    assert.equal(gone.status, 404);
    assert.equal(gone.code, 'upload_not_found');
    assert.equal(gone.param, 'messages[0].content[0].image_url.url');
  });

  test("another key's file is as unknown as one that never was", async () => {
    const file = await upload(anna);
    const never = { id: `tessera-file-${'0'.repeat(32)}` };

    const ways = [
      ({ id }) => ben.files.retrieve(id),
      ({ id }) => ben.files.delete(id),
      (it) => ben.chat.completions.create(about(urlOf(it))),
    ];
    for (const way of ways) {
      const theirs = await errorOf(way(file));
      assert.equal(theirs.status, 404);
      assert.deepEqual(theirs, await errorOf(way(never)));
    }
    for await (const each of ben.files.list()) assert.notEqual(each.id, file.id);
    assert.equal((await anna.files.retrieve(file.id)).id, file.id);
  });

  test('a purpose that this server has no use for is refused by name', async () => {
    const error = await errorOf(upload(anna, SHAPES, 'fine-tune'));

    assert.deepEqual([error.status, error.code, error.param], [400, 'invalid_value', 'purpose']);
  });

  test('without a key nothing is taken', async () => {
    assert.equal((await errorOf(upload(holder.server.client()))).status, 401);
  });

  test('what is no image is only found out when it is asked about', async () => {
    const file = await upload(anna, Buffer.from('This is a text and no image at all.'));

    const error = await errorOf(anna.chat.completions.create(about(urlOf(file))));

    assert.equal(error.code, 'image_format_unsupported');
  });

  test('a form that a web page sends is refused', async () => {
    const form = new FormData();
    form.append('purpose', 'vision');
    form.append('file', new File([SHAPES], 'a.png'));
    const response = await fetch(`${holder.server.origin}/v1/files`, {
      method: 'POST',
      body: form,
      headers: { Origin: 'https://example.com', Authorization: 'Bearer a-key-of-anna-0123456789' },
    });

    assert.equal(response.status, 400);
    assert.equal((await response.json()).error.code, 'origin_not_allowed');
  });
});

describe('limits of uploads', () => {
  const holder = useServer({
    args: [
      '--limits-upload-bytes-max', '64KiB', '--limits-upload-tenant-files-max', '2',
      '--limits-upload-time-to-live', '1s',
    ],
  });

  test('a file that is too large is refused while it arrives', async () => {
    const client = holder.server.client();

    const error = await errorOf(upload(client, Buffer.alloc(100 * 1024, 1)));

    assert.deepEqual([error.status, error.code], [413, 'upload_too_large']);
    assert.match(error.message, /65536 bytes/);
  });

  test('a form that says that it is too large is refused before it arrives', async () => {
    const socket = await connect(holder.server);
    const answer = readToEnd(socket);
    socket.write(
      'POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n' +
        'Content-Length: 1000000000\r\n\r\n',
    );

    const { status, body } = parseResponse(await answer);
    assert.equal(status, 413);
    assert.match(body, /"code":"body_too_large"/);
  });

  test('files expire, and give their room back', async () => {
    const client = holder.server.client();
    const small = png(8, 8);
    const first = await upload(client, small);
    await upload(client, small);

    let again;
    do again = await upload(client, small).catch((error) => error);
    while (again.code === 'upload_space_exhausted'); // until the first one makes room

    assert.equal(again.object, 'file');
    const gone = await errorOf(client.files.retrieve(first.id));
    assert.deepEqual([gone.status, gone.code], [404, 'upload_not_found']);
    const late = await post(holder.server, about(urlOf(first)));
    assert.deepEqual([late.status, late.json.error.code], [404, 'upload_not_found']);
  });
});

test('a server that takes no uploads has no such path and no such URL', async () => {
  const server = await Server.start({ args: ['--uploads=false'] });

  const error = await errorOf(upload(server.client()));
  const asked = await post(server, about('tessera-file:tessera-file-1'));
  await server.stop();

  assert.deepEqual([error.status, error.code], [404, 'unknown_path']);
  assert.deepEqual([asked.status, asked.json.error.code], [400, 'invalid_image_url']);
});
