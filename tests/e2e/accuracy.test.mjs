// The bundled model's whole held-out set through the HTTP API: as accurate as the reference says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { ROOT } from './support/program.mjs';
import { ask, heldOutItems, heldOutPicture, mapAtOnce } from './support/questions.mjs';
import { useServer } from './support/server.mjs';

const N_IN_FLIGHT = 8;

// Another build may flip an answer whose two best tokens are within rounding of each other.
const FEWER_MAX = 1;

const ITEMS = heldOutItems();
const REFERENCE = JSON.parse(
  readFileSync(path.join(ROOT, 'models/tessera-tiny/heldout/reference.json'), 'utf8'),
);

describe('accuracy on the held-out set', () => {
  const holder = useServer();
  let answers;
  before(async () => {
    const client = holder.server.client();
    answers = await mapAtOnce(ITEMS, N_IN_FLIGHT, async ({ image, question }) => {
      const answer = await client.chat.completions.create(ask(question, [heldOutPicture(image)]));
      return answer.choices[0].message.content.trim();
    });
  });

  test('the set is complete', () => {
    assert.equal(ITEMS.length, 390);
    const categories = new Set(ITEMS.map(({ category }) => category));
    assert.deepEqual([...categories].sort(), Object.keys(REFERENCE).sort());
  });

  for (const [category, percent] of Object.entries(REFERENCE)) {
    test(`${category}: at most ${FEWER_MAX} right answer fewer than the reference`, () => {
      const mine = ITEMS.map((item, i) => ({ ...item, given: answers[i] })).filter(
        (item) => item.category === category,
      );
      const nRight = mine.filter(({ answer, given }) => given === answer).length;
      const nExpected = Math.round((percent * mine.length) / 100);

      assert.ok(
        nRight >= nExpected - FEWER_MAX,
        `${nRight} of ${mine.length} right, the reference has ${nExpected}`,
      );
    });
  }
});
