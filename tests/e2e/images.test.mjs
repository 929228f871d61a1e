// Images in chat completions: formats, several at once, several turns, and JSON answers about them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { bands, dataUri, greyJpeg, png, movingGif, TINY_GIF, TINY_WEBP } from './support/pictures.mjs';
import { ask, heldOutPicture, imagePart, MODEL, textPart } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

// The bundled model makes one visual token of 28×28 pixels.
const PIXELS_PER_TOKEN = 28 * 28;

// 168×168 pixels: a black square, a yellow triangle, three circles …
const SHAPES = heldOutPicture('images/000-shapes.png');
const SHAPES_TOKENS = (168 * 168) / PIXELS_PER_TOKEN;

const imageTokens = (answer) => answer.usage.prompt_tokens_details.image_tokens;
const textTokens = (answer) => answer.usage.prompt_tokens_details.text_tokens;

describe('images through the OpenAI SDK', () => {
  const holder = useServer();
  const create = (body, options) => holder.server.client().chat.completions.create(body, options);
  const contentOf = async (body) => (await create(body)).choices[0].message.content;

  test('a question about one image is answered rightly', async () => {
    assert.equal(await contentOf(ask('How many circles are there?', [SHAPES])), '3');
    assert.equal(await contentOf(ask('What color is the square?', [SHAPES])), 'black');
    assert.equal(await contentOf(ask('Is there a yellow triangle?', [SHAPES])), 'yes');
  });

  test('a streamed answer about an image is the one that is not streamed', async () => {
    const body = ask('List the shapes from left to right.', [SHAPES]);
    let text = '';
    for await (const chunk of await create({ ...body, stream: true })) {
      text += chunk.choices[0].delta.content ?? '';
    }

    assert.equal(text, await contentOf(body));
  });

  test('visual tokens follow from the size in pixels', async () => {
    for (const [width, height] of [[112, 112], [168, 112], [112, 1120], [560, 280]]) {
      const answer = await create(ask('What shape is red?', [png(width, height)]));
      assert.equal(imageTokens(answer), (width * height) / PIXELS_PER_TOKEN, `${width}×${height}`);
    }
  });

  test('several images of one message each take their tokens', async () => {
    const one = await create(ask('How many circles are there?', [SHAPES]));
    const three = await create(ask('How many circles are there?', [SHAPES, png(112, 112), SHAPES]));

    assert.equal(imageTokens(one), SHAPES_TOKENS);
    assert.equal(imageTokens(three), 2 * SHAPES_TOKENS + (112 * 112) / PIXELS_PER_TOKEN);
  });

  test('frames of a moving image are images, the first one unless more are asked for', async () => {
    const tokensOf = async (frames) => {
      const body = ask('How many circles are there?');
      const image_url = { url: dataUri(movingGif(9), 'image/gif'), frames };
      body.messages[0].content = [{ type: 'image_url', image_url }, textPart('What is this?')];
      return imageTokens(await create(body));
    };
    const one = await tokensOf(undefined);

    assert.ok(one > 0);
    assert.equal(await tokensOf(4), 4 * one);
    assert.equal(await tokensOf(16), 9 * one, 'there are no more');
    await assert.rejects(tokensOf(17), { status: 413, code: 'too_many_frames' });
  });

  test('each image stands where its part stands', async () => {
    const [red, blue] = [[255, 0, 0], [0, 0, 255]].map((color) => png(112, 112, () => color));
    const question = 'What color is the square?';
    const inOrder = (...parts) => ({ ...ask(question), messages: [{ role: 'user', content: parts }] });
    const logprobs = async (body) =>
      (await create({ ...body, logprobs: true })).choices[0].logprobs.content[0].logprob;
    const part = (bytes) => imagePart(dataUri(bytes));

    const values = [
      await logprobs(inOrder(part(red), part(blue), textPart(question))),
      await logprobs(inOrder(part(blue), part(red), textPart(question))),
      await logprobs(inOrder(part(red), textPart(question), part(blue))),
    ];
    assert.equal(new Set(values).size, 3, `${values}`);
  });

  test('images may come in several turns', async () => {
    const turns = [
      { role: 'user', content: [imagePart(dataUri(SHAPES)), textPart('What shape is yellow?')] },
      { role: 'assistant', content: 'triangle' },
      { role: 'user', content: [imagePart(dataUri(bands())), textPart('What color is it?')] },
    ];
    const answer = await create({ ...ask(''), messages: turns });

    assert.equal(imageTokens(answer), SHAPES_TOKENS + (112 * 1120) / PIXELS_PER_TOKEN);
    assert.notEqual(answer.choices[0].message.content, '');
  });

  test('a later question about an image of an earlier turn is answered', async () => {
    const turns = [
      { role: 'user', content: [imagePart(dataUri(SHAPES)), textPart('What shape is yellow?')] },
      { role: 'assistant', content: 'triangle' },
      { role: 'user', content: 'How many circles are there?' },
    ];

    assert.equal(await contentOf({ ...ask(''), messages: turns }), '3');
  });

  test('every format is told by its bytes, not by the type that the URI claims', async () => {
    for (const [bytes, type] of [
      [greyJpeg(112, 112), 'image/jpeg'],
      [greyJpeg(112, 112), 'image/png'],
      [png(112, 112), 'image/jpeg'],
      [TINY_GIF, 'image/gif'],
      [TINY_WEBP, 'image/webp'],
      [SHAPES, 'application/octet-stream'],
    ]) {
      const content = [imagePart(dataUri(bytes, type)), textPart('What shape is red?')];
      const answer = await create({ ...ask(''), messages: [{ role: 'user', content }] });
      assert.ok(imageTokens(answer) > 0, type);
    }
  });

  test('detail is accepted in all its words', async () => {
    for (const detail of ['auto', 'low', 'high']) {
      const image = { type: 'image_url', image_url: { url: dataUri(SHAPES), detail } };
      const content = [image, textPart('How many circles are there?')];
      const answer = await create({ ...ask(''), messages: [{ role: 'user', content }] });
      assert.ok(imageTokens(answer) > 0);
    }
  });

  test('usage tells image, text and cached tokens apart, and they sum', async () => {
    const withImage = await create(ask('How many circles are there?', [SHAPES]));
    const without = await create(ask('How many circles are there?'));

    for (const answer of [withImage, without]) {
      const { image_tokens, text_tokens, cached_tokens } = answer.usage.prompt_tokens_details;
      assert.equal(image_tokens + text_tokens, answer.usage.prompt_tokens);
      assert.ok(cached_tokens >= 0 && cached_tokens <= answer.usage.prompt_tokens);
    }
    assert.equal(imageTokens(without), 0);
    // The image's begin and end marks are text to the model.
    assert.equal(textTokens(withImage), textTokens(without) + 2);
  });

  test('text that spells a media marker or a special token stays text', async () => {
    const plain = await create(ask('What shape is red?'));
    for (const word of ['<__media__>', '<|image_pad|>', '<|vision_start|>', '<|im_end|>']) {
      const answer = await create(ask(`What shape is red? ${word}`));
      assert.equal(imageTokens(answer), 0, word);
      // A special token would be one; spelled out it takes several.
      assert.ok(textTokens(answer) > textTokens(plain) + 2, word);

      const beside = await create(ask(`How many circles are there? ${word}`, [SHAPES]));
      assert.equal(imageTokens(beside), SHAPES_TOKENS, word);
    }
  });
});

describe('JSON answers', () => {
  const holder = useServer();
  const create = (body, options) => holder.server.client().chat.completions.create(body, options);
  const withFormat = (format, more) => ({
    ...ask('How many circles are there?', [SHAPES]),
    model: MODEL,
    max_tokens: 400,
    response_format: format,
    ...more,
  });
  const SCHEMA = {
    type: 'object',
    properties: {
      count: { type: 'integer', minimum: 0, maximum: 9 },
      color: { enum: ['red', 'blue', 'black'] },
      tags: { type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 3 },
    },
    required: ['count', 'color', 'tags'],
    additionalProperties: false,
  };
  const JSON_SCHEMA = { type: 'json_schema', json_schema: { name: 'seen', strict: true, schema: SCHEMA } };

  function assertObeysSchema(content) {
    const value = JSON.parse(content);
    assert.deepEqual(Object.keys(value).sort(), ['color', 'count', 'tags']);
    assert.ok(Number.isInteger(value.count) && value.count >= 0 && value.count <= 9);
    assert.ok(['red', 'blue', 'black'].includes(value.color));
    assert.ok(value.tags.length >= 2 && value.tags.length <= 3);
    assert.ok(value.tags.every((tag) => typeof tag === 'boolean'));
  }

  test('a json_schema answer parses and obeys its schema', async () => {
    const answer = await create(withFormat(JSON_SCHEMA));

    assert.equal(answer.choices[0].finish_reason, 'stop');
    assertObeysSchema(answer.choices[0].message.content);
  });

  test('it obeys at any temperature and in every choice', async () => {
    const seeds = [1, 2, 3];
    const answers = await Promise.all(
      seeds.map((seed) => create(withFormat(JSON_SCHEMA, { temperature: 2, seed, n: 2 }))),
    );

    // Blanks between values may use up max_tokens; such an answer is cut, not wrong.
    const choices = answers.flatMap((answer) => answer.choices);
    const ended = choices.filter((choice) => choice.finish_reason === 'stop');
    assert.ok(ended.length > 0);
    for (const choice of ended) assertObeysSchema(choice.message.content);
  });

  test('the SDK parses it', async () => {
    const answer = await holder.server.client().chat.completions.parse(withFormat(JSON_SCHEMA));

    assertObeysSchema(JSON.stringify(answer.choices[0].message.parsed));
  });

  test('json_object gives one JSON object', async () => {
    const more = [{}, ...[1, 2, 3].map((seed) => ({ temperature: 1, seed }))];
    const answers = await Promise.all(
      more.map((options) => create(withFormat({ type: 'json_object' }, options))),
    );

    const choices = answers.map((answer) => answer.choices[0]);
    const ended = choices.filter((choice) => choice.finish_reason === 'stop');
    assert.ok(ended.length > 0);
    for (const { message } of ended) {
      const value = JSON.parse(message.content);
      assert.ok(value !== null && typeof value === 'object' && !Array.isArray(value));
    }
  });

  test('a schema that cannot be obeyed is refused by name', async () => {
    const bad = { type: 'json_schema', json_schema: { name: 'x', schema: { $ref: '#/nowhere' } } };

    await assert.rejects(create(withFormat(bad)), (error) => {
      assert.equal(error.status, 400);
      assert.equal(error.code, 'json_schema_not_supported');
      assert.match(error.param, /^response_format/);
      return true;
    });
  });
});
