// Who sends files that take long to refuse, or asks for long answers, keeps nobody else waiting:
// tenants are decoded in turn, and none takes the last places.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import zlib from 'node:zlib';

import { post } from './support/http.mjs';
import { untilMetrics } from './support/metrics.mjs';
import { png } from './support/pictures.mjs';
import { ask, endless } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const N_SLOW = 30;
const SIDE = 1400; // some 200 ms of a core each: together far longer than one small question
const ANNA = 'a-key-of-anna-0123456789';
const BEN = 'a-key-of-ben-01234567890';

// [first column, first row, column step, row step] of the seven passes of an interlaced PNG
const PASSES = [
  [0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2],
];

function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  }
  return (value ^ 0xffffffff) >>> 0;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, crc]);
}

/** Interlaced, 16 bits a sample, every row with the slowest filter: all of it has to be unpacked. */
function slowPixels(side) {
  const passes = PASSES.map(([x, y, stepX, stepY]) => {
    const rowBytes = 1 + 6 * Math.ceil((side - x) / stepX);
    const pass = Buffer.alloc(rowBytes * Math.ceil((side - y) / stepY));
    for (let at = 0; at < pass.length; at += rowBytes) pass[at] = 4; // Paeth
    return pass;
  });
  return zlib.deflateSync(Buffer.concat(passes), { level: 9 });
}

const HEADER = Buffer.alloc(13);
HEADER.writeUInt32BE(SIDE, 0);
HEADER.writeUInt32BE(SIDE, 4);
HEADER.set([16, 2, 0, 0, 1], 8); // bits, RGB, …, interlaced
const HEAD = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', HEADER)]);
const PIXELS = chunk('IDAT', slowPixels(SIDE));

/** Another file each time, so that nothing is known of it. Its end is missing. */
function slowAndDamaged(n) {
  return Buffer.concat([HEAD, chunk('tEXt', Buffer.from(`n\0${n}`)), PIXELS]);
}

describe('a key whose files are slow to refuse', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tessera-fairness-'));
  after(() => rmSync(folder, { recursive: true }));
  const keyFile = path.join(folder, 'keys');
  writeFileSync(keyFile, `anna: ${ANNA}\nben: ${BEN}\n`);
  const holder = useServer({ args: ['--api-key-file', keyFile] });

  const send = (key, picture) =>
    post(holder.server, ask('What shape is red?', [picture], { max_tokens: 4 }), {
      Authorization: `Bearer ${key}`,
    });

  test('does not keep another key waiting', async () => {
    // What a server does once in its life is done before.
    const picture = (n) => png(56, 56, (x, y) => [n, x, y]);
    assert.equal((await send(BEN, picture(0))).status, 200);

    let nRefused = 0;
    const slow = Array.from({ length: N_SLOW }, async (_, n) => {
      const answer = await send(ANNA, slowAndDamaged(n));
      ++nRefused;
      return answer;
    });
    await untilMetrics(holder.server, 'all of the slow ones', (metrics) => {
      return metrics.value('tessera_requests_in_flight') + nRefused >= N_SLOW;
    });
    const answer = await send(BEN, picture(1));
    const nRefusedBefore = nRefused;

    assert.equal(answer.status, 200, answer.text);
    assert.ok(
      nRefusedBefore <= N_SLOW / 2,
      `${nRefusedBefore} of ${N_SLOW} slow ones were refused before the other key had its answer`,
    );
    for (const refused of await Promise.all(slow)) {
      assert.equal(refused.status, 400, refused.text);
      assert.equal(refused.json.error.code, 'image_invalid');
    }
    assert.equal(nRefused, N_SLOW);
  });
});

describe('a key whose answers fill the server', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tessera-fairness-'));
  after(() => rmSync(folder, { recursive: true }));
  const keyFile = path.join(folder, 'keys');
  writeFileSync(keyFile, `anna: ${ANNA}\nben: ${BEN}\n`);
  const holder = useServer({ args: ['--api-key-file', keyFile] });
  const send = (key, body) => post(holder.server, body, { Authorization: `Bearer ${key}` });

  test('does not keep another key waiting until one of them ends', async () => {
    let nEnded = 0;
    const long = Array.from({ length: 30 }, async () => {
      const answer = await send(ANNA, endless(400));
      ++nEnded;
      return answer;
    });
    await untilMetrics(holder.server, 'as many as run at once', (metrics) =>
      metrics.value('tessera_running_sequences') >= 5 && metrics.value('tessera_queue_depth', 'engine') > 0);

    const short = await send(BEN, endless(2));

    assert.equal(short.status, 200);
    assert.equal(nEnded, 0);
    for (const answer of await Promise.all(long)) assert.equal(answer.status, 200);
  });
});
