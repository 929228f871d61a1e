// Where the built program and the bundled model are, and how to run a command to its end.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');

export const BINARY = path.resolve(
  process.env.TESSERA_BIN ?? path.join(ROOT, 'build/release/bin/tessera'),
);

/** Our environment without settings of the program but the number of threads, plus `more`. */
export function cleanEnvironment(more = {}) {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('TESSERA_') || name === 'TESSERA_THREADS',
  );
  return { ...Object.fromEntries(kept), ...more };
}

/**
 * Runs `tessera ARGS` and gives how it ended and what it printed.
 * @param onStdout  called with each piece of standard output and the child
 */
export async function run(args, { env = {}, cwd, onStdout } = {}) {
  const child = spawn(BINARY, args, {
    cwd,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const result = { stdout: '', stderr: '' };
  child.stderr.setEncoding('utf8').on('data', (text) => (result.stderr += text));
  child.stdout.setEncoding('utf8').on('data', (text) => {
    result.stdout += text;
    onStdout?.(text, child);
  });
  const [code, signal] = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...exit) => resolve(exit));
  });
  return { ...result, code, signal };
}
