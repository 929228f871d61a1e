// What people send stays between them and the model: random words are planted in everything that a
// request can carry, requests succeed and fail in every way, and none of the words may turn up in
// logs, metrics, what the kernel shows of our processes, or files that are left behind.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';

import { connect, chatBytes, post, readUntil } from './support/http.mjs';
import { dataUri, png } from './support/pictures.mjs';
import { run } from './support/program.mjs';
import { ask, endless, textPart, imagePart } from './support/questions.mjs';
import { Server } from './support/server.mjs';

/** One word for each place, so that a leak says where it came from. */
class Canaries {
  words = new Map();

  at(place) {
    if (!this.words.has(place)) this.words.set(place, randomBytes(16).toString('hex'));
    return this.words.get(place);
  }

  /** The word as it is, encoded, and in part. */
  *forms(word) {
    for (let i = 0; i + 16 <= word.length; ++i) yield word.slice(i, i + 16);
    yield Buffer.from(word).toString('hex');
    for (let phase = 0; phase < 3; ++phase) {
      // Inside a longer text, base64 looks like one of three; its ends depend on the neighbours.
      const encoded = Buffer.from('x'.repeat(phase) + word).toString('base64');
      yield encoded.slice(4, -4);
    }
  }

  /** The places whose words are in `text`. */
  found(text) {
    const places = [];
    for (const [place, word] of this.words) {
      for (const form of this.forms(word)) {
        if (!text.includes(form)) continue;
        places.push(place);
        break;
      }
    }
    return places;
  }
}

/** A PNG that carries words in its text chunk and behind its end. */
function pictureWith(inText, behind) {
  const picture = png(56, 56, (x, y) => (x > y ? [255, 0, 0] : [255, 255, 255]));
  const end = picture.subarray(-12); // IEND
  const data = Buffer.from(`tEXtComment\0${inText}`);
  const chunk = Buffer.alloc(data.length + 8);
  chunk.writeUInt32BE(data.length - 4, 0);
  data.copy(chunk, 4);
  // A wrong checksum of an ancillary chunk is skipped with a warning: one more text of a library.
  return Buffer.concat([picture.subarray(0, -12), chunk, end, Buffer.from(behind)]);
}

/** What the kernel shows of a process and of all that it started. */
function shownOf(pid) {
  let text = '';
  const read = (name) => {
    try {
      text += readFileSync(`/proc/${pid}/${name}`, 'latin1');
    } catch {
      // Gone, or not ours to read; then nobody else reads it either.
    }
  };
  for (const name of ['cmdline', 'environ', 'comm', 'maps']) read(name);
  let tasks = [];
  try {
    tasks = readdirSync(`/proc/${pid}/task`);
  } catch {
    return text;
  }
  for (const task of tasks) {
    let children = '';
    try {
      children = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8');
    } catch {
      continue;
    }
    for (const child of children.split(' ').filter(Boolean)) text += shownOf(child);
  }
  return text;
}

const KEY_OF_OTHERS = 'a-key-that-nobody-else-has-0123';

/** Requests that carry words everywhere, and end in every way. */
function requests(canaries, key) {
  const word = (place) => canaries.at(place);
  const auth = { Authorization: `Bearer ${key}`, 'X-Word': word('header') };
  const picture = pictureWith(word('image text'), word('image bytes'));
  const withPicture = (bytes, more = {}) => ({
    ...ask('', [], more),
    messages: [
      { role: 'system', content: word('system') },
      {
        role: 'user',
        content: [textPart(word('prompt')), imagePart(dataUri(bytes))],
        name: word('name'),
      },
    ],
    user: word('user'),
    metadata: { [word('metadata key')]: word('metadata') },
  });
  const url = `https://${word('userinfo')}@example.invalid/${word('path')}?${word('query')}#f`;
  const send = (body, headers = auth) => [body, headers];
  return {
    'an answer': send(withPicture(picture)),
    'a stream': send(withPicture(picture, { stream: true, max_tokens: 4 })),
    'an answer with a trace': send(withPicture(picture), { ...auth, 'X-Tessera-Trace': '1' }),
    'a truncated image': send(withPicture(picture.subarray(0, 90))),
    'text as an image': send(withPicture(Buffer.from(word('no image').repeat(4)))),
    'wrong base64': send(
      JSON.stringify(withPicture(picture)).replace('base64,', `base64,*${word('base64')}`),
    ),
    'a URL': send({ ...ask(''), messages: [{ role: 'user', content: [imagePart(url)] }] }),
    'a file URL': send({
      ...ask(''),
      messages: [{ role: 'user', content: [imagePart(`file:///${word('file name')}`)] }],
    }),
    'broken JSON': send(`{"messages": "${word('broken')}`),
    'a wrong type': send({ ...ask(word('typed')), temperature: word('type') }),
    'an unknown model': send({ ...ask(word('prompt')), model: word('model') }),
    'an unknown role': send({ ...ask(''), messages: [{ role: word('role'), content: 'x' }] }),
    'a schema': send({
      ...ask(word('prompt')),
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'x', schema: { type: word('schema') } },
      },
    }),
    'an overflow': send(ask(`${word('prompt')} `.repeat(3000))),
    'a wrong key': send(ask('x'), { Authorization: `Bearer ${word('wrong key')}` }),
    'a key in a wrong place': send(ask('x'), { 'X-Api-Key': word('lost key') }),
  };
}

/** Uploads that carry words where a form can: name: {body, type}. */
function uploads(canaries) {
  const word = (place) => canaries.at(place);
  const picture = pictureWith(word('upload text'), word('upload bytes'));
  const part = (head, body) => [Buffer.from(`${head}\r\n\r\n`), Buffer.from(body), Buffer.from('\r\n')];
  const field = (name, value) => part(`Content-Disposition: form-data; name="${name}"`, value);
  const file = (body) =>
    part(
      `Content-Disposition: form-data; name="file"; filename="${word('upload name')}.png"\r\n` +
        `Content-Type: image/${word('upload type')}\r\nX-Part: ${word('part header')}`,
      body,
    );
  const form = (...parts) => {
    const boundary = word('boundary');
    const pieces = parts.flatMap((each) => [Buffer.from(`--${boundary}\r\n`), ...each]);
    const body = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
    return { body, type: `multipart/form-data; boundary=${boundary}` };
  };
  const vision = field('purpose', 'vision');
  return {
    'an upload': form(vision, field(word('field name'), word('field')), file(picture)),
    'an upload without an image': form(vision, file(word('no upload image').repeat(3))),
    'an upload for something else': form(field('purpose', word('purpose')), file(picture)),
    'an empty upload': form(vision, file('')),
    'a form without a file': form(vision, field(word('field name'), word('field'))),
    'a broken form': { ...form(vision), body: Buffer.from(word('broken form').repeat(4)) },
    'a form of another type': { body: picture, type: `multipart/${word('form type')}; boundary=x` },
  };
}

/** Sends uploads, and asks about what was taken. */
async function sendUploads(server, canaries, key) {
  const auth = { Authorization: `Bearer ${key}`, 'X-Word': canaries.at('header') };
  for (const [name, { body, type }] of Object.entries(uploads(canaries))) {
    const response = await fetch(`${server.origin}/v1/files`, {
      method: 'POST',
      body,
      headers: { ...auth, 'Content-Type': type },
    });
    const text = await response.text();
    assert.ok(response.status < 500, `${name}: ${response.status} ${text}`);
    assert.deepEqual(canaries.found(text), [], `${name}: ${text}`);
    if (response.status !== 200) continue;
    const { id } = JSON.parse(text);
    const asked = imagePart(`tessera-file:${id}`);
    await post(server, { ...ask(''), messages: [{ role: 'user', content: [asked] }] }, auth);
  }
  const unknown = `${server.origin}/v1/files/${canaries.at('file id')}`;
  for (const method of ['GET', 'DELETE']) {
    const text = await (await fetch(unknown, { method, headers: auth })).text();
    assert.deepEqual(canaries.found(text), [], text);
  }
}

/** URLs that a server which fetches looks at, and must not tell anybody about. */
function urls(canaries) {
  const word = (place) => canaries.at(place);
  const secret = `${word('path')}?${word('query')}#${word('fragment')}`;
  return [
    `http://127.0.0.1/${secret}`, `https://127.0.0.1:4443/${secret}`, `https://[::1]/${secret}`,
    `https://${word('userinfo')}@127.0.0.1/${secret}`, `https://${word('host')}.invalid/${secret}`,
    `file:///${word('file name')}.png`, `file:///../${word('file name')}`,
    `tessera-file:${word('file id')}`,
  ];
}

const folder = mkdtempSync(path.join(tmpdir(), 'tessera-privacy-'));
after(() => rmSync(folder, { recursive: true }));

for (const level of ['error', 'warning', 'info', 'debug']) {
  for (const format of ['text', 'json']) {
    describe(`log level ${level}, ${format}`, () => {
      test('no word that was sent can be found', () => assertPrivate(level, format, []));
    });
  }
}

describe('with media by URL', () => {
  for (const format of ['text', 'json']) {
    test(`no word that was sent can be found, ${format}`, () =>
      assertPrivate('debug', format, [
        '--allow-remote-media', '--remote-media-http', '--media-root', folder,
      ]));
  }
});

describe('with a content log', () => {
  test('texts of chats are in its file and nowhere else, and nothing else is there', async () => {
    const file = path.join(folder, 'content.jsonl');
    const { canaries, said } = await assertPrivate('debug', 'json', [
      '--content-log', file, '--content-log-consent', 'i-log-what-users-send',
    ]);

    const text = readFileSync(file, 'utf8');
    const lines = text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    // Of images, text chunks, URLs, names, headers, keys and refused bodies: no word.
    assert.deepEqual(canaries.found(text).sort(), ['left', 'prompt', 'system']);
    assert.ok(said.length > 0);
    for (const answer of said) assert.ok(lines.some((line) => line.answers[0] === answer), answer);
    assert.ok(lines.some((line) => line.n_images === 1 && line.error === null));
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  test('one of its two settings is not enough', async () => {
    const file = path.join(folder, 'refused.jsonl');
    for (const args of [
      ['--content-log', file],
      ['--content-log', file, '--content-log-consent', 'yes'],
      ['--content-log-consent', 'i-log-what-users-send'],
    ]) {
      const { code, stderr } = await run(['serve', '--port', '0', ...args]);
      assert.equal(code, 2);
      assert.match(stderr, /content_log/);
    }
    assert.ok(!existsSync(file));
  });
});

/** @returns the words, and what the model said in whole answers */
async function assertPrivate(level, format, args) {
  const canaries = new Canaries();
  const key = canaries.at('key');
  const keyFile = path.join(folder, 'keys');
  const scratch = mkdtempSync(path.join(folder, 'tmp-'));
  writeFileSync(keyFile, `anna: ${key}\nben: ${KEY_OF_OTHERS}\n`);
  const server = await Server.start({
    args: ['--log-level', level, '--log-format', format, '--api-key-file', keyFile, ...args],
    env: { TMPDIR: scratch },
  });
  const all = requests(canaries, key);
  for (const [i, url] of urls(canaries).entries()) {
    const body = { ...ask(''), messages: [{ role: 'user', content: [imagePart(url)] }] };
    all[`URL ${i + 1}`] = [body, { Authorization: `Bearer ${key}` }];
  }
  const said = [];
  let shown = '';
  for (const [name, [body, headers]] of Object.entries(all)) {
    const answer = post(server, body, headers);
    shown += shownOf(server.child.pid);
    const { status, text } = await answer;
    assert.ok(status < 500, `${name}: ${status} ${text}`);
    // An answer may hold what the model says; a refusal holds nothing of what was sent.
    if (status >= 400) assert.deepEqual(canaries.found(text), [], `${name}: ${text}`);
    if (name === 'an answer') said.push(JSON.parse(text).choices[0].message.content);
  }
  await sendUploads(server, canaries, key);
  await leaveDuringAnAnswer(server, canaries, key);
  shown += shownOf(server.child.pid);

  const metrics = await (await fetch(`${server.origin}/metrics`)).text();
  const health = await (await fetch(`${server.origin}/healthz`)).text();
  const others = await post(server, ask('x'), { Authorization: `Bearer ${KEY_OF_OTHERS}` });
  const othersFiles = await fetch(`${server.origin}/v1/files`, {
    headers: { Authorization: `Bearer ${KEY_OF_OTHERS}` },
  }).then((response) => response.json());
  await server.stop();

  assert.deepEqual(canaries.found(server.stdout + server.stderr), [], server.stderr);
  assert.deepEqual(canaries.found(metrics), []);
  assert.deepEqual(canaries.found(health), []);
  assert.deepEqual(canaries.found(others.text), []);
  assert.deepEqual(othersFiles.data, []);
  assert.deepEqual(canaries.found(shown), []);
  assert.deepEqual(readdirSync(scratch), []);
  if (format === 'json') server.stderr.split('\n').filter(Boolean).forEach(JSON.parse);
  return { canaries, said };
}

async function leaveDuringAnAnswer(server, canaries, key) {
  const body = endless(200, { stream: true });
  body.messages.unshift({ role: 'system', content: canaries.at('left') });
  const socket = await connect(server);
  socket.write(chatBytes(body, { Authorization: `Bearer ${key}` }));
  await readUntil(socket, 'data: ');
  socket.destroy();
}

test('a word that is logged would be found in every form', () => {
  const canaries = new Canaries();
  const word = canaries.at('here');
  const base64 = (before) => Buffer.from(`${before}${word} and more`).toString('base64');
  for (const text of [word, word.slice(3, 20), Buffer.from(word).toString('hex'), base64(''), base64('a'), base64('ab')]) {
    assert.deepEqual(canaries.found(`before ${text} behind`), ['here'], text);
  }
  assert.deepEqual(canaries.found('nothing'), []);
});
