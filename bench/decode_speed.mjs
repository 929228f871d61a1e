// Text-only decode, tokens/s: `tessera serve` and llama-server answer the same prompt in turn, each
// streaming, greedy, with the same threads, on the bundled model; alone, eight of them at once, and
// while a second client asks one question after the other about pictures. Both servers are up the whole time and only one
// is asked, so that whatever else the machine does meets both alike. The figure of a run is
// (tokens − 1) / (last − first token), as the client sees them, over all streams.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

import { readWords, start } from "./support.mjs";

const MODEL = "models/tessera-tiny/tessera-tiny-f16.gguf";
const MMPROJ = "models/tessera-tiny/mmproj-tessera-tiny-f16.gguf";
const PICTURES = "models/tessera-tiny/heldout/images";
const STREAMS = 8; // of "beside streams"
const PROMPT = "List the shapes from left to right.";

function readOptions(words) {
  const options = {
    runs: "21",
    tokens: "512",
    threads: [...new Set([1, availableParallelism()])].join(","),
    beside: "nothing,streams,images",
    model: "", // another than the bundled one; only alone and in streams
    program: "build/release/bin/tessera",
    peer: "build/llama/bin/llama-server",
  };
  return readWords(options, words);
}

/// The bundled model ends its answers after a few words. The copy takes another end token that it
/// was never taught, so that every answer has the length that is asked for. Same bytes otherwise.
function writeEndlessModel(path) {
  const bytes = readFileSync(MODEL);
  const tokens = { now: Buffer.from("<|im_end|>"), then: Buffer.from("<|im_fin|>") };
  for (let at = bytes.indexOf(tokens.now); at >= 0; at = bytes.indexOf(tokens.now, at)) {
    tokens.then.copy(bytes, at);
  }
  const key = "tokenizer.ggml.eos_token_id"; // then its type (uint32) and the id
  const value = bytes.indexOf(key) + key.length + 4;
  bytes.writeUInt32LE(0, value);
  writeFileSync(path, bytes);
}

async function ask(server, content, more) {
  const answer = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      messages: [{ role: "user", content }],
      temperature: 0,
      ...more,
    }),
  });
  if (!answer.ok) throw new Error(`${server.name}: ${answer.status} ${await answer.text()}`);
  return answer;
}

/// Asks about picture after picture until it is told to stop; gives their number a second. Bytes
/// behind a picture's end make it new to every cache.
function askAboutPictures(server) {
  let going = true;
  let n = 0;
  const began = performance.now();
  const all = readdirSync(PICTURES).map((name) => readFileSync(join(PICTURES, name)));
  const done = (async () => {
    while (going) {
      const bytes = Buffer.concat([all[n++ % all.length], randomBytes(8)]);
      const url = `data:image/png;base64,${bytes.toString("base64")}`;
      const content = [{ type: "image_url", image_url: { url } }, { type: "text", text: PROMPT }];
      await (await ask(server, content, { max_tokens: 1 })).json();
    }
    return (n * 1000) / (performance.now() - began);
  })();
  return () => ((going = false), done);
}

async function stream(server, tokens) {
  const answer = await ask(server, PROMPT, {
    max_tokens: tokens,
    stream: true,
    stream_options: { include_usage: true },
  });
  // Read now, understood later: this client shares the machine with the server.
  const arrivals = [];
  for await (const bytes of answer.body) arrivals.push({ time: performance.now(), bytes });
  let first, last, nTokens, rest = "";
  const decoder = new TextDecoder();
  for (const { time, bytes } of arrivals) {
    rest += decoder.decode(bytes, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (!event.startsWith("data: {")) continue;
      const data = JSON.parse(event.slice(6));
      if (data.error) throw new Error(`${server.name}: ${JSON.stringify(data.error)}`);
      if (data.choices?.[0]?.delta?.content) {
        first ??= time;
        last = time;
      }
      nTokens = data.usage?.completion_tokens ?? nTokens;
    }
  }
  if (nTokens !== tokens) throw new Error(`${server.name}: ${nTokens} tokens instead of ${tokens}`);
  return { first, last };
}

async function run(server, tokens, nStreams) {
  const streams = await Promise.all(
    Array.from({ length: nStreams }, () => stream(server, tokens)),
  );
  const began = Math.min(...streams.map(({ first }) => first));
  const ended = Math.max(...streams.map(({ last }) => last));
  return { speed: ((tokens - 1) * nStreams * 1000) / (ended - began) };
}

/// Median and quartiles: a shared machine has runs at half its speed, and they say nothing.
function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part) => {
    const place = part * (sorted.length - 1);
    const below = sorted[Math.floor(place)];
    return below + (place % 1) * (sorted[Math.ceil(place)] - below);
  };
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

/// The processes that a process has started, and that still run.
function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean));
}

/// User and system time so far of a process and of those that it has started, in milliseconds.
function cpuTime(pid) {
  const ticks = [pid, ...childrenOf(pid)].map((process) => {
    const afterName = readFileSync(`/proc/${process}/stat`, "utf8").split(") ").at(-1).split(" ");
    return Number(afterName[11]) + Number(afterName[12]);
  });
  return ticks.reduce((sum, n) => sum + n) * 10; // USER_HZ is 100 on every Linux that Node runs on
}

/// llama-server's threads spin for a while after their last token. Waits until no server computes.
async function settle(servers) {
  const times = () => servers.map(({ pid }) => cpuTime(pid)).join();
  for (let before = ""; before !== times(); ) {
    before = times();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function measure(server, tokens, beside) {
  const stop = beside === "images" ? askAboutPictures(server) : async () => 0;
  const result = await run(server, tokens, beside === "streams" ? STREAMS : 1);
  return { ...result, picturesPerSecond: await stop() };
}

async function compare(options, threads, beside, model) {
  const vision = beside === "images" ? ["--mmproj", MMPROJ] : [];
  const servers = [
    await start("tessera", options.program, (port) => [
      ...["serve", "--model", model, ...vision],
      ...["--port", port, "--threads", threads, "--log-level", "error"],
    ]),
    await start("llama-server", options.peer, (port) => [
      ...["-m", model, ...vision, "--port", port, "-t", threads, "-tb", threads],
      ...["-c", "8192", "--log-disable"],
      ...(beside === "streams" ? ["-np", String(STREAMS)] : []),
    ]),
  ];
  const results = [[], []];
  const cpuMs = [0, 0];
  try {
    for (const server of servers) await measure(server, Number(options.tokens), beside);
    for (let i = 0; i < Number(options.runs); ++i) {
      // Who goes first changes from run to run.
      for (const which of i % 2 ? [1, 0] : [0, 1]) {
        await settle(servers);
        const before = cpuTime(servers[which].pid);
        results[which].push(await measure(servers[which], Number(options.tokens), beside));
        cpuMs[which] += cpuTime(servers[which].pid) - before;
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
  results.forEach((runs, i) => {
    const cell = (values, digits) => {
      const { median, low, high } = summary(values);
      return `${median.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
    };
    // Run by run, because both of a pair met the same machine.
    const ratios = runs.map(({ speed }, pair) => speed / results[1][pair].speed);
    const nStreams = beside === "streams" ? STREAMS : 1;
    const cpu = cpuMs[i] / (Number(options.tokens) * nStreams * runs.length);
    const pictures = summary(runs.map((r) => r.picturesPerSecond)).median.toFixed(1);
    const words = [threads, beside, servers[i].name, cell(runs.map((r) => r.speed), 0)];
    words.push(i === 0 ? cell(ratios, 2) : "1", cpu.toFixed(2), beside === "images" ? pictures : "");
    console.log(`| ${words.join(" | ")} |`);
  });
}

const options = readOptions(process.argv.slice(2));
const folder = mkdtempSync(join(tmpdir(), "tessera-bench-"));
try {
  const model = options.model || join(folder, "endless.gguf");
  if (!options.model) writeEndlessModel(model);
  console.log(`${options.runs} runs each, ${options.tokens} tokens a run, in turn\n`);
  console.log("Median (quartiles); the ratio is taken run by run.\n");
  const measured = ["tokens/s", "ratio", "CPU ms/token", "pictures/s"];
  const columns = ["threads", "beside", "server", ...measured];
  console.log(`| ${columns.join(" | ")} |\n|${"---|".repeat(columns.length)}`);
  for (const beside of options.beside.split(",")) {
    for (const threads of options.threads.split(",")) {
      await compare(options, threads, beside, model);
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
