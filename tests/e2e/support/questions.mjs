// Chat requests that tests share: questions about pictures, and answers of a known length.
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { bands, dataUri } from './pictures.mjs';
import { ROOT } from './program.mjs';

const HELD_OUT = path.join(ROOT, 'models/tessera-tiny/heldout');

export const MODEL = 'tessera-tiny';

export const textPart = (text) => ({ type: 'text', text });

export const imagePart = (url) => ({ type: 'image_url', image_url: { url } });

/** @param pictures  PNG files in memory */
export function ask(question, pictures = [], more = {}) {
  const parts = pictures.map((bytes) => imagePart(dataUri(bytes)));
  return {
    model: MODEL,
    messages: [{ role: 'user', content: [...parts, textPart(question)] }],
    temperature: 0,
    max_tokens: 64,
    ...more,
  };
}

/** @param name  as in items.jsonl: "images/000-shapes.png" */
export function heldOutPicture(name) {
  return readFileSync(path.join(HELD_OUT, name));
}

/** [{image, question, answer, category}] */
export function heldOutItems() {
  return readLines('models/tessera-tiny/heldout/items.jsonl');
}

/** The values of a file with one JSON value a line. */
export function readLines(name) {
  const text = readFileSync(path.join(ROOT, name), 'utf8').trim();
  return text.split('\n').map((line) => JSON.parse(line));
}

/** Runs `work(item, index)` on all items, `nAtOnce` at a time; results in the items' order. */
export async function mapAtOnce(items, nAtOnce, work) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index], index);
    }
  };
  await Promise.all(Array.from({ length: nAtOnce }, worker));
  return results;
}

/** An answer that obeys this has at least 60 × 60 elements: longer than any max_tokens here. */
const ENDLESS_SCHEMA = {
  type: 'array',
  minItems: 60,
  items: { type: 'array', minItems: 60, items: { type: 'boolean' } },
};

/** A request whose answer ends only at `maxTokens`. */
export function endless(maxTokens, more = {}) {
  return ask('x', [], {
    max_tokens: maxTokens,
    response_format: { type: 'json_schema', json_schema: { name: 'rows', schema: ENDLESS_SCHEMA } },
    ...more,
  });
}

/** The same without a grammar, with an image. */
export function endlessAboutPicture(maxTokens, more = {}) {
  return ask('List the shapes from left to right.', [bands()], { max_tokens: maxTokens, ...more });
}
