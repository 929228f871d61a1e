// Whether one tenant can tell from time what another has asked about. Anna asks about a picture, so
// that its record, features and KV cells are kept for her; then Ben asks the same about that picture
// and about one that nobody has seen, in random order. His times for the two are compared in pairs:
// by the area under the ROC curve (0.5 = no difference) and by a test that flips signs. To say what
// the test can see, the same is done after a part of what a hit saves was taken off his times for
// Anna's pictures; its power is how often a resampled run then shows a difference.
//   node bench/cache_isolation.mjs [--pairs N] [--side PIXELS] [--seed N] [--part FRACTION]
// Fails when a difference is shown, or when the test would not have seen one.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { median, pictureMaker } from "./image_questions.mjs";
import { makeRandom, readWords, start } from "./support.mjs";

const options = readWords({
  model: "models/tessera-tiny/tessera-tiny-f16.gguf",
  mmproj: "models/tessera-tiny/mmproj-tessera-tiny-f16.gguf",
  pairs: "150",
  side: "224",
  part: "0.25",
  seed: "20261130",
  program: "build/release/bin/tessera",
}, process.argv.slice(2));

/// False alarms of one run.
const LEVEL = 0.001;
const FLIPS = 2000;
const RESAMPLES = 200;
const POWER_MIN = 0.9;
const KEYS = { anna: "a-key-of-anna-0123456789", ben: "a-key-of-ben-01234567890" };

/// Seeded, so that a run can be looked at again.
const random = makeRandom(Number(options.seed));

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/// How often a value of `one` lies above one of `other`.
function areaUnderCurve(one, other) {
  let above = 0;
  for (const a of one) for (const b of other) above += a > b ? 1 : a === b ? 0.5 : 0;
  return above / (one.length * other.length);
}

/// Chance of a mean difference as large as this one, if the order in a pair meant nothing. Each
/// difference counts by its rank, so that a hiccup of the machine is one among many.
function signFlipChance(differences) {
  const order = differences.map((_, i) => i)
    .sort((a, b) => Math.abs(differences[a]) - Math.abs(differences[b]));
  const ranked = new Array(differences.length);
  order.forEach((at, rank) => (ranked[at] = Math.sign(differences[at]) * (rank + 1)));
  const observed = Math.abs(mean(ranked));
  let n = 0;
  for (let i = 0; i < FLIPS; ++i) {
    if (Math.abs(mean(ranked.map((d) => (random() < 0.5 ? d : -d)))) >= observed) ++n;
  }
  return (n + 1) / (FLIPS + 1);
}

const folder = mkdtempSync(join(tmpdir(), "tessera-isolation-"));
const keyFile = join(folder, "keys");
writeFileSync(keyFile, Object.entries(KEYS).map(([name, key]) => `${name}: ${key}\n`).join(""));
const server = await start("tessera", options.program, (port) => [
  "serve", "--port", port, "--model", options.model, "--mmproj", options.mmproj,
  "--api-key-file", keyFile, "--log-level", "error",
]);

/// @return  seconds until the answer is there, and what came beside its text
async function ask(who, url) {
  const body = JSON.stringify({
    messages: [{ role: "user", content: [
      { type: "image_url", image_url: { url } },
      { type: "text", text: "How many circles are there?" },
    ] }],
    temperature: 0,
    max_tokens: 1,
  });
  const began = performance.now();
  const answer = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${KEYS[who]}` },
    body,
  });
  const json = await answer.json();
  const seconds = (performance.now() - began) / 1000;
  if (!answer.ok) throw new Error(`${answer.status} ${JSON.stringify(json)}`);
  const told = { headers: [...answer.headers.keys()].sort(), usage: json.usage };
  return { seconds, told: JSON.stringify(told) };
}

async function measure() {
  const newPicture = pictureMaker(Number(options.side));
  const times = { annas: [], news: [], misses: [], hits: [] };
  const told = new Set();
  for (let i = -5; i < Number(options.pairs); ++i) {
    const annas = newPicture();
    const miss = await ask("anna", annas);
    const hit = await ask("anna", annas);
    const news = newPicture();
    const pair = random() < 0.5 ? [["annas", annas], ["news", news]] : [["news", news], ["annas", annas]];
    for (const [name, url] of pair) {
      const { seconds, told: text } = await ask("ben", url);
      if (i < 0) continue; // the first requests of a server are slower
      times[name].push(seconds);
      told.add(text);
    }
    if (i < 0) continue;
    times.misses.push(miss.seconds);
    times.hits.push(hit.seconds);
  }
  return { times, told };
}

try {
  const { times, told } = await measure();
  const differences = times.annas.map((seconds, i) => seconds - times.news[i]);
  const saved = median(times.misses) - median(times.hits);
  const shift = Number(options.part) * saved;
  const chance = signFlipChance(differences);
  let seen = 0;
  for (let i = 0; i < RESAMPLES; ++i) {
    const resampled = differences.map(
      () => differences[Math.floor(random() * differences.length)] - shift);
    if (signFlipChance(resampled) <= LEVEL) ++seen;
  }
  const power = seen / RESAMPLES;
  const ms = (seconds) => `${(seconds * 1000).toFixed(2)} ms`;
  console.log(`${options.pairs} pairs, ${options.side}×${options.side} pictures, seed ${options.seed}`);
  console.log(`  Anna: new ${ms(median(times.misses))}, again ${ms(median(times.hits))}: a hit saves ${ms(saved)}`);
  console.log(`  Ben: Anna's picture ${ms(median(times.annas))}, nobody's ${ms(median(times.news))}`);
  console.log(`  area under the ROC curve ${areaUnderCurve(times.annas, times.news).toFixed(3)}, ` +
    `chance of such a difference without a reason ${chance.toFixed(3)}`);
  console.log(`  power for ${options.part} of what a hit saves, at level ${LEVEL}: ${power.toFixed(2)}`);
  console.log(`  headers and usage that Ben saw: ${told.size} kind${told.size === 1 ? "" : "s"}`);
  if (chance <= LEVEL || told.size !== 1) {
    console.error("cache_isolation: Ben can tell Anna's pictures from new ones");
    process.exitCode = 1;
  } else if (power < POWER_MIN) {
    console.error("cache_isolation: the machine is too noisy to say; more --pairs");
    process.exitCode = 2;
  }
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}
