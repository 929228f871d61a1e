// Does somebody else's image stand in the way of tokens? A text answer streams; then a request with
// several large new images comes, and in the middle of it a short text request. `tessera serve` and
// llama-server in turn, same build, weights and threads. Figures, as the clients see them: gaps
// between two tokens of the stream, alone and from the image request's start to its end; and how
// long the short request took. The model has the shape of SmolVLM-256M and random weights: each
// 1536 × 1536 image is 16 tiles and an overview.
//   node bench/text_beside_images.mjs [--rounds N] [--images N] [--side PIXELS] [--threads N]
//                                     [--servers tessera,llama-server]
//                                     [--model M.gguf --mmproj P.gguf]
import { availableParallelism } from "node:os";

import { median, pictureMaker, post } from "./image_questions.mjs";
import { readWords, start } from "./support.mjs";

const ALONE_TOKENS = 150; // of a stream by itself: enough for a median
const STREAM_TOKENS = 2000; // then the next stream begins; with its prompt, a part of the context
const SHORT_TOKENS = 16;

const options = readWords({
  model: "build/random-models/smolvlm-256m.gguf",
  mmproj: "build/random-models/mmproj-smolvlm-256m.gguf",
  rounds: "1",
  images: "4",
  side: "1536",
  threads: String(availableParallelism()),
  context: "32768", // of four requests: the images' one has 4 × 17 × 64 visual tokens
  servers: "tessera,llama-server",
  program: "build/release/bin/tessera",
  peer: "build/llama/bin/llama-server",
}, process.argv.slice(2));
const newPicture = pictureMaker(Number(options.side));

function ask(content, maxTokens, more = {}) {
  return JSON.stringify({
    messages: [{ role: "user", content }],
    temperature: 0,
    max_tokens: maxTokens,
    ...more,
  });
}

/// Streams one answer after the other until it is told to stop. Arrivals are times of tokens; a new
/// answer begins a new list.
function stream(server, nTokens) {
  const abort = new AbortController();
  const answers = [];
  let n = 0;
  const done = (async () => {
    do {
      const arrivals = [];
      answers.push(arrivals);
      const body = ask(`Story ${++n}: tell it at length.`, nTokens, { stream: true });
      const answer = await fetch(`${server.url}/v1/chat/completions`, {
        method: "POST", headers: { "content-type": "application/json" }, body, signal: abort.signal,
      });
      if (!answer.ok) throw new Error(`${server.name}: ${answer.status} ${await answer.text()}`);
      const decoder = new TextDecoder();
      for await (const bytes of answer.body) {
        const now = performance.now();
        const text = decoder.decode(bytes, { stream: true });
        for (const _ of text.matchAll(/^data: \{.*"delta":\{[^}]*"content":"/gm)) arrivals.push(now);
      }
    } while (nTokens === STREAM_TOKENS);
  })().catch((error) => {
    if (!abort.signal.aborted) throw error;
  });
  return { answers, done, stop: () => (abort.abort(), done) };
}

function gaps(answers, from, to) {
  const found = [];
  for (const arrivals of answers) {
    for (let i = 1; i < arrivals.length; ++i) {
      if (arrivals[i] >= from && arrivals[i - 1] <= to) found.push(arrivals[i] - arrivals[i - 1]);
    }
  }
  return found;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function measure(server) {
  const chat = `${server.url}/v1/chat/completions`;
  const alone = stream(server, ALONE_TOKENS);
  await alone.done;
  const aloneGaps = gaps(alone.answers, 0, Infinity);

  // Before the stream: while pictures are painted here, nobody reads its tokens.
  const content = Array.from({ length: Number(options.images) }, () => (
    { type: "image_url", image_url: { url: newPicture() } }));
  const body = ask([...content, { type: "text", text: "How many circles are there?" }], 8);
  const beside = stream(server, STREAM_TOKENS);
  while (gaps(beside.answers, 0, Infinity).length < 20) await sleep(20);
  const began = performance.now();
  const images = post(chat, body).then(() => performance.now());
  await sleep(2000); // both have read the images and are at work on them
  const shortBegan = performance.now();
  await post(chat, ask("What is a tessera?", SHORT_TOKENS));
  const shortSeconds = (performance.now() - shortBegan) / 1000;
  const ended = await images;
  await beside.stop();

  const besideGaps = gaps(beside.answers, began, ended);
  return {
    aloneMs: median(aloneGaps),
    aloneLargestMs: Math.max(...aloneGaps),
    besideMs: median(besideGaps),
    p99Ms: besideGaps.sort((a, b) => a - b)[Math.floor(besideGaps.length * 0.99)] ?? 0,
    largestMs: Math.max(...besideGaps, 0),
    shortSeconds,
    imagesSeconds: (ended - began) / 1000,
  };
}

const launches = {
  tessera: () => start("tessera", options.program, (port) => [
    "serve", "--port", port, "--model", options.model, "--mmproj", options.mmproj,
    "--threads", options.threads, "--kv-cells", options.context, "--log-level", "error",
  ]),
  "llama-server": () => start("llama-server", options.peer, (port) => [
    "--port", port, "-m", options.model, "--mmproj", options.mmproj, "-t", options.threads,
    "-np", "4", "-c", options.context, "--no-webui",
  ]),
};

const results = {};
for (let round = 0; round < Number(options.rounds); ++round) {
  for (const name of options.servers.split(",")) {
    const server = await launches[name]();
    try {
      (results[name] ??= []).push(await measure(server));
    } finally {
      await server.stop();
    }
  }
}

const columns = {
  "token alone, ms": ["aloneMs", 1],
  "largest gap alone, ms": ["aloneLargestMs", 0], // what the machine itself does to a token
  "beside images, ms": ["besideMs", 1],
  "99 of 100, ms": ["p99Ms", 0],
  "largest gap, ms": ["largestMs", 0],
  "short request, s": ["shortSeconds", 2],
  "image request, s": ["imagesSeconds", 1],
};
console.log(`A text answer streams, a request with ${options.images} new ` +
  `${options.side}×${options.side} images comes, then a short one; ${options.threads} threads, ` +
  `${options.rounds} round(s), median (least–most)\n`);
console.log(`| server | ${Object.keys(columns).join(" | ")} |`);
console.log(`|---|${"---|".repeat(Object.keys(columns).length)}`);
const middle = {};
for (const [name, runs] of Object.entries(results)) {
  const cells = Object.values(columns).map(([key, digits]) => {
    const values = runs.map((run) => run[key]);
    (middle[name] ??= {})[key] = median(values);
    const [least, most] = [Math.min(...values), Math.max(...values)].map((v) => v.toFixed(digits));
    return `${median(values).toFixed(digits)} (${least}–${most})`;
  });
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}
const { tessera, "llama-server": peer } = middle;
if (tessera) {
  console.log(`\ntessera's largest gap is ${(tessera.largestMs / tessera.besideMs).toFixed(1)} times ` +
    "its median beside images (goal: at most 3)");
}
if (tessera && peer) {
  console.log(`and 1/${(peer.largestMs / tessera.largestMs).toFixed(0)} of llama-server's (goal: ` +
    `1/20); the short request takes 1/${(peer.shortSeconds / tessera.shortSeconds).toFixed(0)} ` +
    "(goal: 1/10)");
}
