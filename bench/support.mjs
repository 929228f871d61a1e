// What the benches share: their command line, and `tessera serve` and llama-server on free ports.
import { spawn } from "node:child_process";
import { createServer } from "node:net";

/// "--name value" pairs over the defaults; a name without a default is an error.
export function readWords(options, words) {
  for (let i = 0; i < words.length; i += 2) {
    const name = words[i].replace(/^--/, "");
    if (!(name in options) || words[i + 1] === undefined) {
      throw new Error(`unknown option ${words[i]}`);
    }
    options[name] = words[i + 1];
  }
  return options;
}

/// Numbers in [0, 1) that a seed repeats (mulberry32).
export function makeRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/// @param makeArguments  from the port
export async function start(name, program, makeArguments) {
  const port = await freePort();
  const child = spawn(program, makeArguments(port), { stdio: ["ignore", "ignore", "pipe"] });
  let messages = "";
  child.stderr.on("data", (data) => (messages = (messages + data).slice(-4000)));
  const ended = new Promise((resolve) => child.on("exit", resolve).on("error", resolve));
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 600; ++tries) {
    if (child.exitCode !== null || child.pid === undefined) break;
    const path = name === "tessera" ? "readyz" : "health";
    const ready = await fetch(`${url}/${path}`).then((answer) => answer.ok, () => false);
    if (ready) return { name, url, pid: child.pid, stop: () => (child.kill(), ended) };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill();
  throw new Error(`${name} did not start:\n${messages}`);
}
