// Images that a request names by URL: nothing by default, nothing internal ever, and one folder of
// the operator's.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { post } from './support/http.mjs';
import { readMetrics } from './support/metrics.mjs';
import { dataUri } from './support/pictures.mjs';
import { run } from './support/program.mjs';
import { ask, heldOutPicture, imagePart, textPart } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const QUESTION = 'How many circles are there?';
const SHAPES = heldOutPicture('images/000-shapes.png');
const FIELD = (i) => `messages[0].content[${i}].image_url.url`;

const about = (...urls) => ({
  ...ask(QUESTION),
  messages: [{ role: 'user', content: [...urls.map(imagePart), textPart(QUESTION)] }],
});

const folder = mkdtempSync(path.join(tmpdir(), 'tessera-remote-'));
after(() => rmSync(folder, { recursive: true }));

describe('a server as it comes', () => {
  const holder = useServer();

  test('fetches nothing and reads nothing', async () => {
    const refused = {
      'http://127.0.0.1/a.png': [400, 'remote_media_disabled'],
      'https://example.com/a.png': [400, 'remote_media_disabled'],
      'HTTPS://example.com/a.png': [400, 'remote_media_disabled'],
      'file:///etc/passwd': [400, 'invalid_image_url'],
      'ftp://example.com/a.png': [400, 'invalid_image_url'],
      '/etc/passwd': [400, 'invalid_image_url'],
      'tessera-file:1': [404, 'upload_not_found'],
    };
    for (const [url, expected] of Object.entries(refused)) {
      const { status, json } = await post(holder.server, about(url));
      assert.deepEqual([status, json.error.code, json.error.param], [...expected, FIELD(0)], url);
    }
  });
});

describe('a server that may fetch from the public internet', () => {
  const holder = useServer({ args: ['--allow-remote-media', '--remote-media-http'] });
  let web;
  let nSeen = 0;
  before(async () => {
    web = http.createServer((request, response) => {
      ++nSeen;
      response.end(SHAPES);
    });
    web.listen(0, '127.0.0.1');
    await once(web, 'listening');
  });
  after(() => web.close());

  test('refuses every way to say "this machine" in the same words, and connects to none', async () => {
    const { port } = web.address();
    const inward = [
      `http://127.0.0.1:${port}/a.png`, `http://127.0.0.1/`, 'https://127.0.0.1/',
      'http://localhost/', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/', 'http://2130706433/',
      'http://0x7f.1/', 'http://127.1/', 'http://0/', 'http://169.254.169.254/latest/meta-data/',
      'http://10.0.0.1/', 'http://192.168.1.1/', 'http://user@127.0.0.1/',
      'http://example.com\\@127.0.0.1/', 'https://',
    ];
    for (const url of inward) {
      const { status, json } = await post(holder.server, about(url));
      assert.equal(status, 400, url);
      assert.deepEqual(json.error, {
        message: 'media URL 1 cannot be used',
        type: 'invalid_request_error',
        param: FIELD(0),
        code: 'media_url_unavailable',
      }, url);
    }
    assert.equal(nSeen, 0);
    const metrics = await readMetrics(holder.server);
    const count = (outcome) =>
      metrics.value('tessera_media_fetches_total', `outcome="${outcome}"`);
    assert.ok(count('address_refused') > 0);
    assert.ok(count('url_refused') > 0);
  });

  test('says which of several URLs it was', async () => {
    const { json } = await post(holder.server, about(dataUri(SHAPES), 'http://127.0.0.1/'));

    assert.equal(json.error.param, FIELD(1));
  });

  test('refuses more URLs than a request may have', async () => {
    const { status, json } = await post(
      holder.server, about(...new Array(9).fill('https://127.0.0.1/')),
    );

    assert.deepEqual([status, json.error.code], [413, 'too_many_media_urls']);
  });

  test('a stream that cannot begin is a plain refusal', async () => {
    const body = { ...about('http://127.0.0.1/'), stream: true };

    const { status, json } = await post(holder.server, body);

    assert.deepEqual([status, json.error.code], [400, 'media_url_unavailable']);
  });
});

describe('a server with a list of domains', () => {
  const holder = useServer({
    args: ['--allow-remote-media', '--remote-media-domains', 'cdn.example.com, *.example.org'],
  });

  test('refuses other hosts, and http, without a connection', async () => {
    for (const url of ['https://example.com/', 'https://example.org/', 'http://cdn.example.com/']) {
      const { json } = await post(holder.server, about(url));
      assert.equal(json.error.code, 'media_url_unavailable', url);
    }
    const metrics = await readMetrics(holder.server);
    assert.equal(metrics.value('tessera_media_fetches_total', 'outcome="domain_refused"'), 2);
    assert.equal(metrics.value('tessera_media_fetches_total', 'outcome="url_refused"'), 1);
  });
});

describe('a server with a media root', () => {
  const root = path.join(folder, 'root');
  mkdirSync(path.join(root, 'folder'), { recursive: true });
  writeFileSync(path.join(root, 'shapes.png'), SHAPES);
  writeFileSync(path.join(root, 'folder/shapes one.png'), SHAPES);
  writeFileSync(path.join(folder, 'outside.png'), SHAPES);
  symlinkSync(path.join(folder, 'outside.png'), path.join(root, 'link.png'));
  symlinkSync('shapes.png', path.join(root, 'inner.png'));
  const holder = useServer({ args: ['--media-root', root] });

  test('answers about files below it as about data URIs', async () => {
    const expected = await post(holder.server, ask(QUESTION, [SHAPES]));
    for (const url of ['file:///shapes.png', 'file:///folder/shapes%20one.png']) {
      const answer = await post(holder.server, about(url));
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.json.choices, expected.json.choices);
    }
  });

  test('its time is a stage of its own', async () => {
    const answer = await post(holder.server, about('file:///shapes.png'), { 'X-Tessera-Trace': '1' });

    assert.ok(answer.json.tessera.stages_seconds.fetch > 0);
  });

  test('nothing else can be named', async () => {
    const messages = new Set();
    for (const url of [
      'file:///../etc/passwd', 'file:///../outside.png', 'file:///folder/../../outside.png',
      'file:///%2e%2e/outside.png', `file://${folder}/outside.png`, 'file:///etc/passwd',
      'file:///link.png', 'file:///inner.png', 'file:///folder', 'file:///', 'file:shapes.png',
      'file://localhost/shapes.png', 'file:///missing.png', 'file:///shapes.png%00',
    ]) {
      const { status, json } = await post(holder.server, about(url));
      assert.equal(status, 400, url);
      assert.equal(json.error.code, 'media_url_unavailable', url);
      assert.equal(json.error.param, FIELD(0), url);
      messages.add(json.error.message);
    }
    assert.deepEqual([...messages], ['media URL 1 cannot be used']);
  });

  test('it does not allow http', async () => {
    const { json } = await post(holder.server, about('https://example.com/'));

    assert.equal(json.error.code, 'remote_media_disabled');
  });
});

describe('what cannot work is said at start', () => {
  const refused = {
    'a media root that is not there': [['--media-root', path.join(folder, 'none')], /folder for file: URLs/],
    'a media root that is a file': [['--media-root', path.join(folder, 'outside.png')], /folder for file: URLs/],
    'a domain that is none': [
      ['--allow-remote-media', '--remote-media-domains', 'https://example.com/'], /domain/i,
    ],
  };
  for (const [name, [args, says]] of Object.entries(refused)) {
    test(name, async () => {
      const { code, stderr } = await run(['serve', '--port', '0', ...args]);

      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
    });
  }
});
