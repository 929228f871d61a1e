// Videos: their frames are images to the model; what is refused, and by which limit.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { dataUri, png } from './support/pictures.mjs';
import { BINARY, run } from './support/program.mjs';
import { imagePart, MODEL, textPart } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

// 112×112 pixels: four times four visual tokens of the bundled model, as in images.test.mjs.
const FRAME_TOKENS = 16;
const N_FRAMES = 40;

let folder;
let clip;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'tessera-video-'));
  clip = path.join(folder, 'clip.mp4');
  const maker = path.join(path.dirname(BINARY), 'testing', 'tessera-test-clip');
  execFileSync(maker, [clip, '112x112', String(N_FRAMES), '10']);
});
after(() => rmSync(folder, { recursive: true }));

const videoPart = (more = {}) => ({
  type: 'video_url',
  video_url: { url: dataUri(readFileSync(clip), 'video/mp4'), ...more },
});

const question = (parts, more = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content: [...parts, textPart('What happens?')] }],
  temperature: 0,
  max_tokens: 4,
  ...more,
});

describe('videos', () => {
  const holder = useServer();
  const create = (body, options) => holder.server.client().chat.completions.create(body, options);
  const tokensOf = async (parts) =>
    (await create(question(parts))).usage.prompt_tokens_details.image_tokens;

  const refusalOf = async (body) => {
    const error = await create(body).then(() => null, (e) => e);
    assert.ok(error, 'it was accepted');
    return error;
  };

  test('eight frames are shown, or as many as the request asks for', async () => {
    assert.equal(await tokensOf([videoPart()]), 8 * FRAME_TOKENS);
    assert.equal(await tokensOf([videoPart({ frames: 4 })]), 4 * FRAME_TOKENS);
    assert.equal(await tokensOf([videoPart({ frames: 1 })]), FRAME_TOKENS);
  });

  test('an image part with a video in it means the same', async () => {
    const { video_url } = videoPart({ frames: 4 });
    const part = { type: 'image_url', image_url: video_url };

    assert.equal(await tokensOf([part]), 4 * FRAME_TOKENS);
  });

  test('videos and images keep their order and each take their tokens', async () => {
    const image = imagePart(dataUri(png(112, 112)));

    assert.equal(await tokensOf([image, videoPart({ frames: 2 }), image]), 4 * FRAME_TOKENS);
  });

  test('the trace counts every frame', async () => {
    const headers = { 'X-Tessera-Trace': '1' };
    const answer = await create(question([videoPart({ frames: 5 })]), { headers });

    assert.equal(answer.tessera.n_images, 5);
  });

  test('more frames than the limit are refused, and the field is named', async () => {
    const error = await refusalOf(question([videoPart({ frames: 17 })]));

    assert.equal(error.code, 'too_many_frames');
    assert.equal(error.param, 'messages[0].content[0].video_url.url');
  });

  test('a request may lower the limits of videos', async () => {
    const codeWith = async (limits) =>
      (await refusalOf(question([videoPart()], { tessera: { limits } }))).code;

    assert.equal(await codeWith({ video_frames_max: N_FRAMES - 1 }), 'video_frames_too_many');
    assert.equal(await codeWith({ video_seconds_max: 3 }), 'video_too_long');
    assert.equal(await codeWith({ video_pixels_max: 112 * 112 }), 'video_pixels_too_many');
    assert.equal(await codeWith({ videos_max: 0 }), 'too_many_videos');
    assert.equal(await codeWith({ video_bytes_max: 100 }), 'video_bytes_too_large');
  });

  test('a cut video is the error of its request and of no other', async () => {
    const cut = readFileSync(clip).subarray(0, 400);
    const part = { type: 'video_url', video_url: { url: dataUri(cut, 'video/mp4') } };

    assert.equal((await refusalOf(question([part]))).code, 'video_invalid');
    assert.equal(await tokensOf([videoPart({ frames: 1 })]), FRAME_TOKENS);
  });

  test('HEIC is refused by the name of its setting', async () => {
    const heic = Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1');
    const error = await refusalOf(question([imagePart(dataUri(heic, 'image/heic'))]));

    assert.equal(error.code, 'heic_disabled');
    assert.match(error.message, /allow_heic/);
  });

  test('the command line takes a video as it takes an image', async () => {
    const asked = await run(['ask', '--json', '--frames', '3', clip, 'What happens?']);
    const planned = await run(['plan', '--json', clip]);

    assert.equal(asked.code, 0, asked.stderr);
    assert.equal(JSON.parse(asked.stdout).tessera.n_visual_tokens, 3 * FRAME_TOKENS);
    assert.equal(planned.code, 0, planned.stderr);
  });
});

describe('a server without video', () => {
  const holder = useServer({ args: ['--allow-video=false'] });

  test('says which setting is off', async () => {
    const error = await holder.server
      .client()
      .chat.completions.create(question([videoPart()]))
      .then(() => null, (e) => e);

    assert.equal(error?.status, 415);
    assert.equal(error.code, 'video_disabled');
    assert.match(error.message, /allow_video/);
  });
});
