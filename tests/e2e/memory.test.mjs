// Refusals happen before memory is spent: the server's peak stays where it was, whatever is sent.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { chatHead, connect, parseResponse, post, readToEnd } from './support/http.mjs';
import { bands, dataUri, greyJpeg, pngHeaderOnly, TINY_GIF } from './support/pictures.mjs';
import { ask } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const QUESTION = 'How many circles are there?';
const MIB = 1024 * 1024;
const GROWTH_MAX = 5 * MIB;

/** Sets the peak to what is resident now, and gives it. */
function resetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return peak(pid);
}

function peak(pid) {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kib) * 1024;
}

/** A body that is written piece by piece until the server answers or `nBytes` are sent. */
async function stream(server, head, nBytes) {
  const piece = Buffer.from(`${(64 * 1024).toString(16)}\r\n${'A'.repeat(64 * 1024)}\r\n`);
  const socket = await connect(server);
  const answer = readToEnd(socket);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(head);
  const opening = `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,`;
  socket.write(`${opening.length.toString(16)}\r\n${opening}\r\n`);
  for (let sent = 0; sent < nBytes && !socket.destroyed; sent += 64 * 1024) {
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain').catch(() => {}), closed]);
  }
  return parseResponse(await answer);
}

/** The size that a file says, in a file of some bytes. */
function gifOfSize(width, height) {
  const gif = Buffer.from(TINY_GIF);
  gif.writeUInt16LE(width, 6);
  gif.writeUInt16LE(height, 8);
  return gif;
}

function jpegOfSize(width, height) {
  const jpeg = greyJpeg(16, 16);
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
  jpeg.writeUInt16BE(height, frame + 5);
  jpeg.writeUInt16BE(width, frame + 7);
  return jpeg;
}

describe('what is refused costs the server no memory', () => {
  const holder = useServer();

  async function assertCheap(what) {
    const { pid } = holder.server.child;
    // Everything that an image request needs once is there before.
    await post(holder.server, ask(QUESTION, [dataUri(bands())]));
    const before = resetPeak(pid);
    await what();
    const grown = peak(pid) - before;
    assert.ok(grown < GROWTH_MAX, `the peak grew by ${(grown / MIB).toFixed(1)} MiB`);
  }

  test('150 MB of base64 in chunks', () =>
    assertCheap(async () => {
      const head = chatHead({ 'Transfer-Encoding': 'chunked' });
      const answer = await stream(holder.server, head, 150_000_000);
      assert.equal(answer.status, 413, answer.body);
    }));

  test('150 MB that are announced', () =>
    assertCheap(async () => {
      const socket = await connect(holder.server);
      const answer = readToEnd(socket);
      socket.write(chatHead({ 'Content-Length': 150_000_000 }));
      assert.equal(parseResponse(await answer).status, 413);
    }));

  for (const [name, bytes] of [
    ['a PNG of 50000×50000', pngHeaderOnly(50_000, 50_000)],
    ['a PNG of 20000×20000', pngHeaderOnly(20_000, 20_000)],
    ['a GIF of 65535×65535', gifOfSize(65_535, 65_535)],
    ['a JPEG of 65500×65500', jpegOfSize(65_500, 65_500)],
    ['a JPEG of 6000×6000 that ends after a few blocks', jpegOfSize(6000, 6000)],
  ]) {
    test(name, () =>
      assertCheap(async () => {
        const answer = await post(holder.server, ask(QUESTION, [dataUri(bytes)]));
        assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
      }));
  }
});
