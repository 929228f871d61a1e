// A mixed load on one server for as long as one likes: answers of every kind, clients that go away,
// deadlines, bad input, decoders that are killed, and in the first quarter the engine. Whatever
// happens, every request ends once, and the memory of the server and of its engine stays where it is
// once their caches are full.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import { chatBytes, connect, finishReasons, parseEvents, post, readUntil } from './http.mjs';
import { grown, readMetrics, untilIdle } from './metrics.mjs';
import { png } from './pictures.mjs';
import { childrenOf, engineOf, kill, residentKib, zygotesOf } from './processes.mjs';
import { ask, endless, heldOutItems, heldOutPicture } from './questions.mjs';

// Few, so that whoever is killed beside them is not most of the load.
const N_WORKERS = 8;

// Deaths of decoders a minute: a tenant whose files end five of them loses media for a while.
const KILL_MS = 20_000;

const SAMPLE_MS = 250;

/** By what part the median of the last quarter is above that of the second. */
function growth(samples) {
  const quarter = Math.floor(samples.length / 4);
  const second = median(samples.slice(quarter, 2 * quarter));
  return (median(samples.slice(3 * quarter)) - second) / second;
}

/** The arguments of a server whose caches are full after seconds, so that what grows shows. */
export const SOAK_ARGS = ['--feature-cache-bytes', String(1 << 20), '--log-level', 'error'];

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
function makeRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const ITEMS = heldOutItems().slice(0, 40);
const PICTURE = png(168, 168, (x, y) => [x, y, (x * y) % 256]);
const newPicture = () => Buffer.concat([PICTURE, randomBytes(8)]);

/** Ends of a request that a client may see while decoders are killed and others are in the way. */
const STATUSES = new Set([200, 422, 429, 503]);
const LATE = new Set([...STATUSES, 504]);

async function answer(server, body, statuses = STATUSES) {
  const { status, text } = await post(server, body);
  assert.ok(statuses.has(status), `${status} ${text}`);
}

async function stream(server, body, statuses = STATUSES) {
  const { status, text } = await post(server, { ...body, stream: true });
  assert.ok(statuses.has(status), `${status} ${text}`);
  if (status !== 200) return;
  const { events, done } = parseEvents(text);
  const nErrors = events.filter((event) => 'error' in event).length;
  assert.equal(finishReasons(events).length + nErrors, 1, text);
  assert.equal(done, 1 - nErrors, text);
}

/** Goes away in the middle of the answer. */
async function leave(server) {
  const socket = await connect(server);
  socket.write(chatBytes(endless(512, { stream: true })));
  await readUntil(socket, '"content":').catch(() => {});
  socket.destroy();
}

// What comes, and how often in a hundred.
const KINDS = [
  [30, (server, item) => stream(server, ask(item.question))],
  [20, (server, item) => stream(server, ask(item.question, [heldOutPicture(item.image)]))],
  [10, (server, item) => answer(server, ask(item.question, [newPicture(), newPicture()]))],
  [10, (server, item) => answer(server, ask(item.question, [], { n: 3, temperature: 1 }))],
  [10, (server) => leave(server)],
  [4, (server) => answer(server, endless(2000, { tessera: { deadline_ms: 100 } }), LATE)],
  [4, (server) => stream(server, endless(2000, { tessera: { deadline_ms: 100 } }), LATE)],
  [6, (server, item) => answer(server,
    ask(item.question, [heldOutPicture(item.image).subarray(0, 300)]), new Set([400, 422, 429, 503]))],
  [6, (server) => answer(server, '{"messages": [', new Set([400]))],
];

function choose(random) {
  let place = random() * 100;
  for (const [share, act] of KINDS) {
    if ((place -= share) < 0) return act;
  }
  return KINDS[0][1];
}

/** The engine, or a decoder, or the process that makes them. */
function killOne(server, random, withEngine) {
  const zygotes = zygotesOf(server);
  const decoders = zygotes.flatMap(childrenOf);
  const engine = withEngine ? engineOf(server) : undefined;
  const from = engine ? [engine] : decoders.length > 0 && random() < 0.7 ? decoders : zygotes;
  return from.length > 0 && kill(from[Math.floor(random() * from.length)]);
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/**
 * Fails when a request does not end, ends twice or as it may not, or the server is left with any.
 * @return  {nRequests, nKilled, residentMib, grown, engineGrown}: the last two are by what part the
 *          memory of the server and of its engine grew from the second quarter to the last
 */
export async function soak(server, { seconds, seed = 1 }) {
  const random = makeRandom(seed);
  const atFirst = await readMetrics(server);
  const ends = performance.now() + seconds * 1000;
  const runs = () => performance.now() < ends;
  let nRequests = 0;
  let nKilled = 0;
  const work = async () => {
    while (runs()) {
      const act = choose(random);
      ++nRequests;
      await act(server, ITEMS[Math.floor(random() * ITEMS.length)]);
    }
  };
  const secondQuarter = performance.now() + seconds * 250;
  const killSome = async () => {
    let next = performance.now() + Math.min(KILL_MS / 4, seconds * 125);
    for (; runs(); await pause(SAMPLE_MS)) {
      if (performance.now() < next) continue;
      if (killOne(server, random, performance.now() < secondQuarter)) ++nKilled;
      next += KILL_MS;
    }
  };
  const resident = [];
  const engineResident = [];
  const watch = async () => {
    for (; runs(); await pause(SAMPLE_MS)) {
      resident.push(residentKib(server.child.pid));
      const engine = engineOf(server);
      engineResident.push(engine ? residentKib(engine) : 0);
    }
  };
  await Promise.all([killSome(), watch(), ...Array.from({ length: N_WORKERS }, work)]);

  await untilIdle(server);
  const atLast = await readMetrics(server);
  assert.equal(grown(atFirst, atLast, 'tessera_requests_total'), nRequests);
  assert.equal(atLast.value('tessera_bugs_total'), 0);
  assert.equal(atLast.value('tessera_engine_deaths_total') > 0, nKilled > 0);
  return {
    nRequests,
    nKilled,
    grown: growth(resident),
    engineGrown: growth(engineResident),
    residentMib: resident.at(-1) / 1024,
  };
}
