// The feature cache in an operator's hands: what is in it, and forgetting a tenant, of a running
// server over /admin, by the command line, and in the folder of a server that has stopped.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { post } from './support/http.mjs';
import { untilMetrics } from './support/metrics.mjs';
import { png } from './support/pictures.mjs';
import { run } from './support/program.mjs';
import { ask } from './support/questions.mjs';
import { Server } from './support/server.mjs';

const ANNA = 'a-key-of-anna-0123456789';
const BEN = 'a-key-of-ben-01234567890';
const ADMIN = 'an-operators-key-0123456789';

const OK = 0;
const FAILED = 1;
const USAGE = 2;
const REFUSED = 3;

const QUESTION = 'How many circles are there?';
const pictureOf = (n) => png(112, 112, (x) => [n, x % 256, 128]);

/** Keys, an admin key and a place for features. */
function useFolder() {
  const holder = {};
  before(() => {
    holder.folder = mkdtempSync(path.join(tmpdir(), 'tessera-cache-admin-'));
    holder.keys = path.join(holder.folder, 'keys');
    holder.admin = path.join(holder.folder, 'admin-key');
    holder.cacheDir = path.join(holder.folder, 'features');
    writeFileSync(holder.keys, `anna: ${ANNA}\nben: ${BEN}\n`);
    writeFileSync(holder.admin, `# the operator's\n${ADMIN}\n`);
  });
  after(() => rmSync(holder.folder, { recursive: true }));
  return holder;
}

const start = (folder, ...more) =>
  Server.start({
    args: ['--api-key-file', folder.keys, '--admin-key-file', folder.admin,
      '--cache-dir', folder.cacheDir, ...more],
  });

/** Asks about one picture; whether its features were there. */
async function isCached(server, key, n, more = {}) {
  const answer = await post(server, ask(QUESTION, [pictureOf(n)], more), {
    Authorization: `Bearer ${key}`,
    'X-Tessera-Trace': '1',
  });
  assert.equal(answer.status, 200, answer.text);
  const { n_cached_tiles: nTiles, n_cached_tokens: nTokens, n_visual_tokens: nVisual } = answer.json.tessera;
  if (nTiles === 0) assert.ok(nTokens < nVisual, 'its KV cells went with its features');
  return nTiles > 0;
}

async function admin(server, method, query = '', key = ADMIN) {
  const response = await fetch(`${server.origin}/admin/cache${query}`, {
    method,
    headers: key ? { Authorization: `Bearer ${key}` } : {},
  });
  return { status: response.status, json: await response.json() };
}

/** {memory: {anna: 1}, disk: {…}}: entries of each tenant. */
const entriesOf = ({ json }) =>
  Object.fromEntries(json.tiers.map(({ tier, tenants }) =>
    [tier, Object.fromEntries(tenants.map((use) => [use.tenant, use.n_entries]))]));

const nOnDisk = (metrics) => metrics.value('tessera_feature_cache_entries', 'tier="disk"');
const untilOnDisk = (server, n) => untilMetrics(server, `${n} on disk`, (metrics) => nOnDisk(metrics) === n);

describe('a tenant that is forgotten', () => {
  const folder = useFolder();

  test('misses at once, in every tier and after a restart, and nobody else does', async () => {
    let server = await start(folder);
    try {
      for (const key of [ANNA, BEN]) assert.equal(await isCached(server, key, 1), false);
      await untilOnDisk(server, 2);
      for (const key of [ANNA, BEN]) assert.equal(await isCached(server, key, 1), true);

      const purge = await admin(server, 'DELETE', '?tenant=anna');
      assert.deepEqual(purge, { status: 200, json: { object: 'cache.purge', n_memory: 1, n_disk: 1 } });
      assert.deepEqual(entriesOf(await admin(server, 'GET')), { memory: { ben: 1 }, disk: { ben: 1 } });
      server.child.kill('SIGKILL'); // before anything could be tidied up
      await server.exited;

      server = await start(folder);
      assert.equal(await isCached(server, ANNA, 1), false);
      assert.equal(await isCached(server, BEN, 1), true, 'from disk');
      await untilOnDisk(server, 2);
      assert.equal(await isCached(server, ANNA, 1), true, 'anna may come again');
      await admin(server, 'DELETE', '?tenant=anna');
      assert.equal(await isCached(server, ANNA, 1), false, 'at once, without a restart');
      assert.equal(await isCached(server, BEN, 1), true);
    } finally {
      server.child.kill('SIGKILL');
      await server.exited;
    }
  });

  test('need not have asked since the start, nor be in the key file any more', async () => {
    let server = await start(folder);
    await isCached(server, ANNA, 2);
    await isCached(server, BEN, 2);
    await untilMetrics(server, 'written', (metrics) => nOnDisk(metrics) >= 3);
    await server.stop();

    writeFileSync(folder.keys, `ben: ${BEN}\n`);
    server = await start(folder);
    const [label] = Object.keys(entriesOf(await admin(server, 'GET')).disk).filter((name) => name !== 'ben');
    assert.match(label, /^folder:t-[0-9a-f]{32}$/);
    assert.equal((await admin(server, 'DELETE', '?tenant=annna')).status, 404, 'a typing error is no success');
    const purge = await admin(server, 'DELETE', '?tenant=anna');
    assert.equal(purge.status, 200);
    assert.ok(purge.json.n_disk >= 1);
    await server.stop();

    writeFileSync(folder.keys, `ben: ${BEN}\nanna: ${ANNA}\n`);
    server = await start(folder);
    assert.equal(await isCached(server, ANNA, 2), false);
    assert.equal(await isCached(server, BEN, 2), true);
    await server.stop();
  });
});

describe('/admin', () => {
  const folder = useFolder();

  test('is open to the admin key alone, and says so', async () => {
    const server = await start(folder);
    try {
      await isCached(server, BEN, 3);
      for (const [method, query] of [['GET', ''], ['DELETE', '?tenant=ben'], ['DELETE', '?all=true']]) {
        const tenant = await admin(server, method, query, ANNA);
        assert.equal(tenant.status, 403);
        assert.equal(tenant.json.error.code, 'not_an_admin_key');
        const nobody = await admin(server, method, query, null);
        assert.equal(nobody.status, 401);
        assert.equal(nobody.json.error.code, 'missing_admin_key');
      }
      assert.equal(await isCached(server, BEN, 3), true, 'nothing was forgotten');
      const models = await fetch(`${server.origin}/v1/models`, { headers: { Authorization: `Bearer ${ADMIN}` } });
      assert.equal(models.status, 401, 'an operator is no tenant');
      const { json } = await admin(server, 'DELETE');
      assert.equal(json.error.code, 'missing_field');
    } finally {
      await server.stop();
    }
  });

  test('is not there without an admin key, and one key opens one door', async () => {
    const server = await Server.start({ args: ['--api-key-file', folder.keys] });
    const { status, json } = await admin(server, 'GET');
    assert.equal(status, 404);
    assert.equal(json.error.code, 'admin_disabled');
    assert.match(json.error.message, /admin_key_file/);
    await server.stop();

    const both = path.join(folder.folder, 'both');
    writeFileSync(both, `${ANNA}\n`);
    await assert.rejects(
      Server.start({ args: ['--api-key-file', folder.keys, '--admin-key-file', both] }),
      /a key of the admin key file is in the API key file as well/,
    );
  });

  test('shows figures and names, and no key, digest or content', async () => {
    const server = await start(folder);
    try {
      await isCached(server, ANNA, 4);
      await isCached(server, ANNA, 4);
      const { json } = await admin(server, 'GET');
      const memory = json.tiers.find(({ tier }) => tier === 'memory');
      assert.equal(memory.on, true);
      const [use] = memory.tenants.filter(({ tenant }) => tenant === 'anna');
      assert.ok(use.n_entries >= 1 && use.n_bytes > 0 && use.n_hits >= 1);
      assert.ok(use.last_use_seconds <= use.oldest_use_seconds);
      assert.deepEqual(Object.keys(use).sort(), ['last_use_seconds', 'n_bytes', 'n_entries', 'n_hits',
        'oldest_use_seconds', 'tenant']);
      assert.doesNotMatch(JSON.stringify(json), /[0-9a-f]{33}/);
    } finally {
      await server.stop();
    }
  });
});

describe('an operator\'s rules', () => {
  const folder = useFolder();

  test('are defaults and ceilings of every request, by tenant where the key file says so', async () => {
    writeFileSync(folder.keys, `anna: ${ANNA}\nanna: cache tier_max=memory\nben: ${BEN}\n`);
    const server = await start(folder, '--cache-rules', 'ttl_seconds_max=600');
    try {
      const refused = await post(server, ask(QUESTION, [pictureOf(5)], { tessera: { cache: { ttl_seconds: 601 } } }),
        { Authorization: `Bearer ${BEN}` });
      assert.equal(refused.status, 400);
      assert.equal(refused.json.error.code, 'limit_not_lower');
      assert.match(refused.json.error.message, /601 exceeds the 600/);

      assert.equal(await isCached(server, ANNA, 5), false);
      assert.equal(await isCached(server, BEN, 5, { tessera: { cache: { ttl_seconds: 600 } } }), false);
      await untilOnDisk(server, 1);
      assert.deepEqual(entriesOf(await admin(server, 'GET')), { memory: { anna: 1, ben: 1 }, disk: { ben: 1 } });
    } finally {
      await server.stop();
    }
    await assert.rejects(
      Server.start({ args: ['--cache-rules', 'tier=disk'] }), /cache_rules: tier must be memory or all/);
  });
});

describe('tessera cache', () => {
  const folder = useFolder();
  const key = () => ['--admin-key-file', folder.admin];

  test('asks a running server', async () => {
    const server = await start(folder);
    const cache = (...words) => run(['cache', ...words, '--url', server.origin, ...key()]);
    try {
      await isCached(server, ANNA, 6);
      await isCached(server, BEN, 6);
      await untilOnDisk(server, 2);

      const stats = await cache('stats');
      assert.equal(stats.code, OK, stats.stderr);
      assert.match(stats.stdout, /memory +disk\n/);
      assert.match(stats.stdout, /entries +2 +2\n/);
      const list = await cache('list');
      assert.match(list.stdout, /anna +memory +1 /);
      assert.match(list.stdout, /ben +disk +1 /);
      const json = JSON.parse((await cache('list', '--json', '--tenant', 'ben')).stdout);
      assert.deepEqual(json.tiers.map(({ tenants }) => tenants.map(({ tenant }) => tenant)), [['ben'], ['ben']]);

      const purge = await cache('purge', '--tenant', 'anna');
      assert.equal(purge.stdout, 'anna: purged 1 in memory and 1 on disk\n');
      assert.equal(await isCached(server, BEN, 6), true);
      assert.equal(await isCached(server, ANNA, 6), false);
      const again = await cache('purge', '--tenant', 'nobody');
      assert.equal(again.code, REFUSED);
      assert.equal(again.stderr,
        'tessera: there is no such tenant, neither in the key file nor in the cache\n');
      assert.equal((await cache('purge')).code, USAGE);
      assert.match((await cache('purge', '--all', '--json')).stdout, /"object":"cache.purge"/);
      assert.equal((await cache('list')).stdout, '  nothing is in the cache\n');
    } finally {
      await server.stop();
    }
  });

  test('takes the key from the environment, and refuses another', async () => {
    const server = await start(folder);
    try {
      const words = ['cache', 'stats', '--url', server.origin];
      assert.equal((await run(words, { env: { TESSERA_ADMIN_KEY: ADMIN } })).code, OK);
      const wrong = await run(words, { env: { TESSERA_ADMIN_KEY: ANNA } });
      assert.equal(wrong.code, FAILED);
      assert.equal(wrong.stderr, 'tessera: this is no admin key of this server\n');
      const none = await run(words);
      assert.equal(none.code, USAGE);
      assert.match(none.stderr, /no admin key/);
    } finally {
      await server.stop();
    }
    const nobody = await run(['cache', 'stats', '--url', server.origin, ...key()]);
    assert.equal(nobody.code, FAILED);
    assert.match(nobody.stderr, /no server answers at http:/);
  });

  test('works on the folder of a server that has stopped, or was killed', async () => {
    const server = await start(folder);
    await isCached(server, ANNA, 7);
    await isCached(server, BEN, 7);
    await untilMetrics(server, 'written', (metrics) => nOnDisk(metrics) >= 2);
    const cache = (...words) => run(['cache', ...words, '--cache-dir', folder.cacheDir, '--api-key-file', folder.keys]);
    const busy = await cache('purge', '--all');
    assert.equal(busy.code, FAILED);
    assert.match(busy.stderr, /in use by another process; ask the server that has it/);
    server.child.kill('SIGKILL');
    await server.exited;

    const stats = await cache('stats');
    assert.equal(stats.code, OK, stats.stderr);
    assert.doesNotMatch(stats.stdout, /memory|hits/);
    assert.match((await cache('list')).stdout, /anna +disk +\d/);
    const purge = await cache('purge', '--tenant', 'anna');
    assert.match(purge.stdout, /^anna: purged 0 in memory and \d+ on disk\n$/);
    assert.doesNotMatch((await cache('list')).stdout, /anna/);

    const again = await start(folder);
    assert.equal(await isCached(again, ANNA, 7), false);
    assert.equal(await isCached(again, BEN, 7), true);
    await again.stop();
    assert.match((await cache('purge', '--all')).stdout, /^everybody: purged/);
    const missing = await run(['cache', 'stats', '--cache-dir', path.join(folder.folder, 'none')]);
    assert.equal(missing.code, USAGE);
    assert.match(missing.stderr, /no server has kept features in that folder/);
  });
});
