// Starts `tessera serve` and llama-server for the benches, each on a free port.
import { spawn } from "node:child_process";
import { createServer } from "node:net";

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
