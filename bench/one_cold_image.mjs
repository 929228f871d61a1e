// Questions at once about one image that nobody has seen: `tessera serve` encodes each tile once for
// all of them, llama-server once for each. In turn, same build, weights and threads. Then one that was
// served before: one question about a new image, and after its answer as many other questions at once.
// Tessera must not encode it again. The model has the shape of SmolVLM-256M and random weights: a
// 1024 × 1024 image is 16 tiles and an overview.
//   node bench/one_cold_image.mjs [--rounds N] [--questions N] [--side PIXELS] [--encodes N]
//                                 [--threads N] [--tokens N] [--model M.gguf --mmproj P.gguf]
// Fails when a cold round of Tessera's is not --encodes tiles, or a served one any.
import { availableParallelism } from "node:os";

import { askAll, countEncodes, median, pictureMaker } from "./image_questions.mjs";
import { readWords, start } from "./support.mjs";

const options = readWords({
  model: "build/random-models/smolvlm-256m.gguf",
  mmproj: "build/random-models/mmproj-smolvlm-256m.gguf",
  rounds: "3",
  questions: "4",
  side: "1024",
  encodes: "17",
  tokens: "8",
  threads: String(availableParallelism()),
  context: "8192",  // of all questions together; 17 × 64 visual tokens each, and text
  program: "build/release/bin/tessera",
  peer: "build/llama/bin/llama-server",
}, process.argv.slice(2));
const nQuestions = Number(options.questions);
const asking = { nQuestions, nTokens: Number(options.tokens) };
const newPicture = pictureMaker(Number(options.side));

const tessera = await start("tessera", options.program, (port) => [
  "serve", "--port", port, "--model", options.model, "--mmproj", options.mmproj,
  "--threads", options.threads, "--kv-cells", options.context, "--log-level", "error",
]);
const peer = await start("llama-server", options.peer, (port) => [
  "--port", port, "-m", options.model, "--mmproj", options.mmproj, "-t", options.threads,
  "-np", options.questions, "-c", options.context, "--no-webui",
]).catch((error) => tessera.stop().then(() => Promise.reject(error)));

const seconds = { cold: {}, served: {} };
for (const times of Object.values(seconds)) Object.assign(times, { tessera: [], "llama-server": [] });
const encodes = { cold: [], served: [] };

async function measure(kind, server, url, questions) {
  const before = server === tessera ? await countEncodes(server) : 0;
  seconds[kind][server.name].push(await askAll(server, url, questions));
  if (server === tessera) encodes[kind].push((await countEncodes(server)) - before);
}

const spread = (values, digits) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–` +
  `${Math.max(...values).toFixed(digits)})`;

function report(kind, title, goal) {
  console.log(title);
  for (const [name, times] of Object.entries(seconds[kind])) {
    console.log(`  ${name}: ${spread(times.map((time) => nQuestions / time), 3)} requests/s, ` +
      `last answer after ${spread(times, 2)} s`);
  }
  const ratios = seconds[kind]["llama-server"].map((time, i) => time / seconds[kind].tessera[i]);
  console.log(`  tessera's throughput is ${spread(ratios, 1)} times llama-server's (goal: ${goal}); ` +
    `tiles encoded a round: ${encodes[kind]}`);
}

try {
  for (let round = 0; round < Number(options.rounds); ++round) {
    for (const server of round % 2 === 0 ? [tessera, peer] : [peer, tessera]) {
      await measure("cold", server, newPicture(), asking);
      const served = newPicture();
      await askAll(server, served, { ...asking, nQuestions: 1 });
      await measure("served", server, served, { ...asking, first: 1 });
    }
  }
  const size = `${options.side}×${options.side}`;
  console.log(`${options.threads} threads, ${options.rounds} rounds; median (least–most)`);
  report("cold", `${nQuestions} questions at once about one new ${size} image`, 4);
  report("served", `${nQuestions} other questions at once about one that was served before`, 20);
  const asPlanned = encodes.cold.every((n) => n === Number(options.encodes)) &&
    encodes.served.every((n) => n === 0);
  if (!asPlanned) {
    console.error(`one_cold_image: not ${options.encodes} encodes in every cold round and 0 after`);
    process.exitCode = 1;
  }
} finally {
  await Promise.all([tessera.stop(), peer.stop()]);
}
