// What the second mention of an image costs: N questions at once about a picture that is new to both
// servers, then the same questions again. `tessera serve` and llama-server in turn, same weights, same
// threads; the figure is the time until the last answer is there. Both are up the whole time and only
// one is asked, so that whatever else the machine does meets both alike.
//   node bench/repeated_images.mjs [--model M.gguf --mmproj P.gguf] [--rounds N] [--questions N]
//                                  [--side PIXELS] [--threads N] [--tokens N]
import { availableParallelism } from "node:os";

import { askAll, countEncodes, median, pictureMaker } from "./image_questions.mjs";
import { readWords, start } from "./support.mjs";

function readOptions(words) {
  const options = {
    model: "models/tessera-tiny/tessera-tiny-f16.gguf",
    mmproj: "models/tessera-tiny/mmproj-tessera-tiny-f16.gguf",
    rounds: "5",
    questions: "4",
    side: "1024",
    tokens: "8",
    threads: String(availableParallelism()),
    context: "0",
    program: "build/release/bin/tessera",
    peer: "build/llama/bin/llama-server",
  };
  return readWords(options, words);
}

const options = readOptions(process.argv.slice(2));
const nQuestions = Number(options.questions);
const side = Number(options.side);
const asking = { nQuestions, nTokens: Number(options.tokens) };
const newPicture = pictureMaker(side);

const spread = (values) =>
  `${median(values).toFixed(3)} s (${Math.min(...values).toFixed(3)}–${Math.max(...values).toFixed(3)})`;

const context = Number(options.context) > 0 ? [options.context] : [];
const tessera = await start("tessera", options.program, (port) => [
  "serve", "--port", port, "--model", options.model, "--mmproj", options.mmproj,
  "--threads", options.threads, "--log-level", "error",
  ...context.flatMap((n) => ["--context-length", n, "--kv-cells", String(n * nQuestions)]),
]);
const peer = await start("llama-server", options.peer, (port) => [
  "--port", port, "-m", options.model, "--mmproj", options.mmproj, "-t", options.threads,
  "-np", options.questions, "--no-webui",
  ...context.flatMap((n) => ["-c", String(n * nQuestions)]),
]);
try {
  const times = { tessera: { cold: [], warm: [] }, "llama-server": { cold: [], warm: [] } };
  let nEncodes = { cold: 0, warm: 0 };
  for (let round = 0; round < Number(options.rounds); ++round) {
    for (const server of round % 2 === 0 ? [tessera, peer] : [peer, tessera]) {
      const url = newPicture();
      for (const kind of ["cold", "warm"]) {
        const before = server === tessera ? await countEncodes(server) : 0;
        times[server.name][kind].push(await askAll(server, url, asking));
        if (server === tessera) nEncodes[kind] += (await countEncodes(server)) - before;
      }
    }
  }
  console.log(`${nQuestions} questions at once about one ${side}×${side} picture, ${options.threads} threads,`);
  console.log(`${options.rounds} rounds; median (least–most) of the time until the last answer`);
  for (const kind of ["cold", "warm"]) {
    const ours = times.tessera[kind];
    const theirs = times["llama-server"][kind];
    const ratios = theirs.map((time, i) => time / ours[i]);
    console.log(`  ${kind}: tessera ${spread(ours)}, llama-server ${spread(theirs)}, ` +
      `${median(ratios).toFixed(1)} times (${Math.min(...ratios).toFixed(1)}–${Math.max(...ratios).toFixed(1)}); ` +
      `${nEncodes[kind] / Number(options.rounds)} encodes a round`);
  }
} finally {
  await Promise.all([tessera.stop(), peer.stop()]);
}
