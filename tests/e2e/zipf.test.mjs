// The short form of bench/zipf_cache.mjs: the cache keeps about what a model of its policy keeps.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

import { BINARY, ROOT, cleanEnvironment } from './support/program.mjs';

test('hit rates of Zipf-like requests are those of the policy', () => {
  // 300 requests: chance alone moves the rate by some points.
  const words = ['--requests', '300', '--images', '20', '--room', '16', '--points', '8'];
  const bench = spawnSync(process.execPath, ['bench/zipf_cache.mjs', '--program', BINARY, ...words], {
    cwd: ROOT,
    env: cleanEnvironment(),
    encoding: 'utf8',
  });

  assert.equal(bench.status, 0, bench.stdout + bench.stderr);
  assert.match(bench.stdout, /measured \d+\.\d %/);
  assert.match(bench.stdout, /points apart, within 8/);
  assert.match(bench.stdout, /resident memory: .* within /);
});
