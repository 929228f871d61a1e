// Runs `tessera serve` for a test file: starts it on a free port, collects what it prints, and
// ends it with SIGTERM, which must make it leave with 0.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { after, before } from 'node:test';
import OpenAI from 'openai';

import { BINARY, cleanEnvironment } from './program.mjs';
import { readMetrics } from './metrics.mjs';

// A cold start reads 11 MB and compiles nothing; the rest is room for a busy machine.
const START_MS_MAX = 30_000;

// Long past the two seconds that shutdown.test.mjs asserts: here a hang must only become an error.
const STOP_MS_MAX = 20_000;

const LISTENS = /^tessera: (\S+) at (http:\/\/(\S+):(\d+))\/v1$/m;

export class Server {
  /** Starts the program and waits until it says where it listens. */
  static async start({ args = [], env = {} } = {}) {
    await access(BINARY);
    const server = new Server();
    server.child = spawn(BINARY, ['serve', '--port', '0', ...args], {
      env: cleanEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    server.stdout = '';
    server.stderr = '';
    server.child.stderr.setEncoding('utf8').on('data', (text) => (server.stderr += text));
    server.exited = new Promise((resolve) => {
      server.child.once('close', (code, signal) => resolve({ code, signal }));
    });
    await server.#waitUntilItListens();
    return server;
  }

  async #waitUntilItListens() {
    const listens = new Promise((resolve) => {
      this.child.stdout.setEncoding('utf8').on('data', (text) => {
        this.stdout += text;
        if (LISTENS.test(this.stdout)) resolve(true);
      });
    });
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, START_MS_MAX, false)));
    const ready = await Promise.race([listens, late, this.exited.then(() => false)]);
    clearTimeout(timer);
    if (!ready) {
      this.child.kill('SIGKILL');
      assert.fail(`the server did not start:\n${this.stdout}${this.stderr}`);
    }
    const [, model, origin, host, port] = LISTENS.exec(this.stdout);
    Object.assign(this, { model, origin, host, port: Number(port) });
  }

  /** The official SDK. It does not retry unless a test asks for it. */
  client(options = {}) {
    return new OpenAI({
      apiKey: 'unused',
      baseURL: `${this.origin}/v1`,
      maxRetries: 0,
      timeout: 120_000,
      ...options,
    });
  }

  /** Ends the server and checks that it went well. */
  async stop() {
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS_MAX);
    const exit = await this.exited;
    clearTimeout(timer);
    assert.deepEqual(exit, { code: 0, signal: null }, `the server ended badly:\n${this.stderr}`);
  }
}

/** One server for all tests of a `describe`. The returned object is filled before the first. */
export function useServer(options) {
  const holder = {};
  before(async () => {
    holder.server = await Server.start(options);
  });
  after(async () => {
    const metrics = await readMetrics(holder.server);
    await holder.server.stop();
    assert.equal(metrics.value('tessera_bugs_total'), 0, 'the server met a survivable surprise');
  });
  return holder;
}
