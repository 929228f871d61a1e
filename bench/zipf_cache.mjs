// Whether the feature cache keeps what a model of its policy says it keeps: requests of four tenants
// about generated images whose popularity follows Zipf's law, one after the other, against a server
// whose memory tier has room for few of them. Prints the hit rate that was measured beside that of
// GreedyDual-Size (src/cache/feature_cache.h) and of plain LRU, both simulated on the same sequence,
// and the server's memory over the run. Everything but the time that encoding takes comes from --seed.
//   node bench/zipf_cache.mjs [--requests N] [--images N] [--tenants N] [--exponent S] [--room IMAGES]
//                             [--seed N] [--points P] [--model M.gguf --mmproj P.gguf] [--side PIXELS]
// Fails when the rates are more than --points apart, or memory grows by more than the tier and
// kSlackBytes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { png } from "../tests/e2e/support/pictures.mjs";
import { makeRandom, readWords, start } from "./support.mjs";

// Beside the tier: records of files, and what the allocator keeps of requests that have ended.
const kSlackBytes = 24 * 2 ** 20;

const options = readWords({
  requests: "10000",
  images: "200",
  tenants: "4",
  exponent: "1.0",
  room: "64",
  seed: "1",
  points: "3",
  side: "112",
  model: "models/tessera-tiny/tessera-tiny-f16.gguf",
  mmproj: "models/tessera-tiny/mmproj-tessera-tiny-f16.gguf",
  program: "build/release/bin/tessera",
}, process.argv.slice(2));
const nRequests = Number(options.requests);
const nImages = Number(options.images);
const nTenants = Number(options.tenants);
const room = Number(options.room);
const side = Number(options.side);

/// Ranks 0 … n - 1, of which rank r comes in proportion to 1 / (r + 1) ^ exponent.
function makeZipf(n, exponent, random) {
  const sums = [];
  let sum = 0;
  for (let rank = 0; rank < n; ++rank) sums.push((sum += (rank + 1) ** -exponent));
  return () => {
    const at = random() * sum;
    return sums.findIndex((upTo) => at < upTo);
  };
}

/// Blocks of colours that no other number gives.
function pictureOf(number) {
  const random = makeRandom(number + 1);
  const colors = Array.from({ length: 64 }, () => [random() * 256, random() * 256, random() * 256]);
  const block = Math.ceil(side / 8);
  const bytes = png(side, side, (x, y) => colors[Math.floor(y / block) * 8 + Math.floor(x / block)]);
  return `data:image/png;base64,${bytes.toString("base64")}`;
}

/// What is worth least goes first: costs of computing per size, all sizes being equal, over the worth
/// of what went last; of what is worth the same, what was used longest ago. With equal costs: LRU.
/// @param costOf  what computing takes, asked at each miss
function simulate(sequence, costOf) {
  const entries = new Map();  // by key: {cost, worth, use}
  let age = 0;
  let nHits = 0;
  sequence.forEach((key, use) => {
    const known = entries.get(key);
    if (known) ++nHits;
    const cost = known ? known.cost : costOf();
    if (!known && entries.size === room) {
      let least = null;
      for (const [name, entry] of entries) {
        const isLess = !least || entry.worth < least.worth ||
          (entry.worth === least.worth && entry.use < least.use);
        if (isLess) least = { name, ...entry };
      }
      age = least.worth;
      entries.delete(least.name);
    }
    entries.set(key, { cost, worth: age + cost, use });
  });
  return nHits / sequence.length;
}

function residentBytes(pid) {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;
}

async function readMetric(server, name) {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^${name}\\{tier="memory"\\} (\\S+)$`, "m").exec(text)[1]);
}

/// @return  seconds of encoding; 0 = the features were there
async function ask(server, tenant, url) {
  const content = [{ type: "image_url", image_url: { url } }, { type: "text", text: "How many?" }];
  const answer = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${keyOf(tenant)}`,
      "x-tessera-trace": "1",
    },
    body: JSON.stringify({ messages: [{ role: "user", content }], temperature: 0, max_tokens: 1 }),
  });
  const json = await answer.json();
  if (!answer.ok) throw new Error(`tessera: ${answer.status} ${JSON.stringify(json)}`);
  return json.tessera.n_cached_tiles > 0 ? 0 : json.tessera.stages_seconds.encode;
}

const keyOf = (tenant) => `a-key-of-tenant-number-${tenant}`;
const folder = mkdtempSync(path.join(tmpdir(), "tessera-zipf-"));
const keyFile = path.join(folder, "keys");
writeFileSync(keyFile, Array.from({ length: nTenants }, (_, i) => `t${i}: ${keyOf(i)}\n`).join(""));

const startServer = (...more) =>
  start("tessera", options.program, (port) => [
    "serve", "--port", port, "--model", options.model, "--mmproj", options.mmproj,
    "--api-key-file", keyFile, "--log-level", "error", ...more,
  ]);

/// Bytes that the features of one image take in memory.
async function measureEntry(url) {
  const server = await startServer();
  try {
    await ask(server, 0, url);
    return await readMetric(server, "tessera_feature_cache_bytes");
  } finally {
    await server.stop();
  }
}

async function run(server, sequence, pictures) {
  const costs = [];
  const memory = { atStart: 0, warm: 0, most: 0 };
  let nHits = 0;
  let mostTier = 0;
  memory.atStart = residentBytes(server.pid);
  for (const [i, { tenant, image }] of sequence.entries()) {
    const seconds = await ask(server, tenant, pictures[image]);
    if (seconds === 0) ++nHits;
    else costs.push(seconds);
    if (i === Math.floor(nRequests / 20)) memory.warm = residentBytes(server.pid);
    if (i % 100 === 99) {
      memory.most = Math.max(memory.most, residentBytes(server.pid));
      mostTier = Math.max(mostTier, await readMetric(server, "tessera_feature_cache_bytes"));
    }
  }
  return { costs, memory, mostTier, rate: nHits / sequence.length };
}

const percent = (rate) => `${(100 * rate).toFixed(1)} %`;
const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

try {
  const random = makeRandom(Number(options.seed));
  const zipf = makeZipf(nImages, Number(options.exponent), random);
  const sequence = Array.from({ length: nRequests }, () => ({
    tenant: Math.floor(random() * nTenants),
    image: zipf(),
  }));
  const pictures = Array.from({ length: nImages }, (_, i) => pictureOf(i));
  const entryBytes = await measureEntry(pictures[0]);
  const tierBytes = room * entryBytes;
  const server = await startServer("--feature-cache-bytes", String(tierBytes));
  let measured;
  try {
    measured = await run(server, sequence, pictures);
  } finally {
    await server.stop();
  }

  const keys = sequence.map(({ tenant, image }) => `${tenant} ${image}`);
  // The model knows how costs are spread, not which tile had which.
  const pick = makeRandom(Number(options.seed) + 1);
  const { costs, memory } = measured;
  const predicted = simulate(keys, () => costs[Math.floor(pick() * costs.length)]);
  const lru = simulate(keys, () => 1);
  const difference = 100 * Math.abs(measured.rate - predicted);
  const growth = memory.most - memory.warm;
  const budget = tierBytes + kSlackBytes;
  const agrees = difference <= Number(options.points);
  const fits = growth <= budget && measured.mostTier <= tierBytes;

  console.log(`${nRequests} requests about ${nImages} images, Zipf ${options.exponent}, ${nTenants} tenants ` +
    `(${new Set(keys).size} different pairs), room for ${room}, seed ${options.seed}`);
  console.log(`  hit rate: measured ${percent(measured.rate)}`);
  console.log(`            GreedyDual-Size, simulated ${percent(predicted)}: ${difference.toFixed(1)} points apart, ` +
    `${agrees ? "within" : "NOT within"} ${options.points}`);
  console.log(`            LRU, simulated ${percent(lru)}`);
  console.log(`  memory tier: ${mib(measured.mostTier)} at most, of ${mib(tierBytes)}`);
  console.log(`  resident memory: ${mib(memory.atStart)} at the start, ${mib(memory.warm)} after a twentieth of ` +
    `the requests, ${mib(memory.most)} at most: grew by ${mib(growth)}, ` +
    `${fits ? "within" : "NOT within"} ${mib(budget)}`);
  if (!agrees || !fits) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
