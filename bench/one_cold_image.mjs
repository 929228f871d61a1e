// Questions at once about one image that nobody has seen: `tessera serve` encodes each tile once for
// all of them, llama-server once for each. In turn, same build, weights and threads; then Tessera is
// asked again about the same image, which it must not encode. The model has the shape of
// SmolVLM-256M and random weights: a 1024 × 1024 image is 16 tiles and an overview.
//   node bench/one_cold_image.mjs [--rounds N] [--questions N] [--side PIXELS] [--encodes N]
//                                 [--threads N] [--tokens N] [--model M.gguf --mmproj P.gguf]
// Fails when a cold round of Tessera's is not --encodes tiles, or a warm one any.
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

const cold = { tessera: [], "llama-server": [] };
const warm = [];
const encodes = { cold: [], warm: [] };

async function askTessera(kind, url, seconds) {
  const before = await countEncodes(tessera);
  seconds.push(await askAll(tessera, url, asking));
  encodes[kind].push((await countEncodes(tessera)) - before);
}

const rates = (seconds) => seconds.map((time) => nQuestions / time);
const spread = (values, digits) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–` +
  `${Math.max(...values).toFixed(digits)})`;

try {
  for (let round = 0; round < Number(options.rounds); ++round) {
    for (const server of round % 2 === 0 ? [tessera, peer] : [peer, tessera]) {
      const url = newPicture();
      if (server === peer) {
        cold[peer.name].push(await askAll(peer, url, asking));
      } else {
        await askTessera("cold", url, cold.tessera);
        await askTessera("warm", url, warm);
      }
    }
  }
  const ratios = cold["llama-server"].map((time, i) => time / cold.tessera[i]);
  console.log(`${nQuestions} questions at once about one new ${options.side}×${options.side} image,`);
  console.log(`${options.threads} threads, ${options.rounds} rounds; median (least–most)`);
  for (const name of Object.keys(cold)) {
    console.log(`  ${name}: ${spread(rates(cold[name]), 3)} requests/s, last answer after ` +
      `${spread(cold[name], 2)} s`);
  }
  console.log(`  tessera's throughput is ${spread(ratios, 1)} times llama-server's (goal: 4)`);
  console.log(`  tessera, image served before: ${spread(rates(warm), 2)} requests/s`);
  console.log(`  tiles encoded a round: cold ${encodes.cold}, served before ${encodes.warm}`);
  const asPlanned = encodes.cold.every((n) => n === Number(options.encodes)) &&
    encodes.warm.every((n) => n === 0);
  if (!asPlanned) {
    console.error(`one_cold_image: not ${options.encodes} encodes in every cold round and 0 after`);
    process.exitCode = 1;
  }
} finally {
  await Promise.all([tessera.stop(), peer.stop()]);
}
