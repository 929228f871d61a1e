// The short form of ./x soak.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { SOAK_ARGS, soak } from './support/soak.mjs';
import { useServer } from './support/server.mjs';

const SECONDS = 20;

// An hour is measured to two in a hundred. After seconds an allocator still finds its size.
const GROWN_MAX = 0.1;

describe('a mixed load with clients that leave and processes that die', () => {
  const holder = useServer({ args: SOAK_ARGS });

  test('every request ends once, and memory stays where it is', async () => {
    const report = await soak(holder.server, { seconds: SECONDS });

    assert.ok(report.nRequests > 50, `${report.nRequests} requests`);
    assert.ok(report.nKilled > 0);
    for (const grown of [report.grown, report.engineGrown]) {
      assert.ok(grown < GROWN_MAX, `memory grew by ${(grown * 100).toFixed(1)} %`);
    }
  });
});
