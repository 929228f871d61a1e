// The processes of a running server, as /proc shows them.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';

export function childrenOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
        .split(' ')
        .filter(Boolean)
        .map(Number),
    );
  } catch {
    return []; // ended meanwhile
  }
}

const isEngine = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'tessera-engine\n';
  } catch {
    return false; // ended meanwhile
  }
};

/** The process in which the model runs; undefined while there is none. */
export function engineOf(server) {
  return childrenOf(server.child.pid).find(isEngine);
}

/** The processes that make decoders, and the fetcher. */
export function zygotesOf(server) {
  return childrenOf(server.child.pid).filter((pid) => !isEngine(pid));
}

/** False when it has ended by itself meanwhile. */
export function kill(pid, signal = 'SIGKILL') {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    assert.equal(error.code, 'ESRCH');
    return false;
  }
}

/** 0 for one that has ended. */
export function residentKib(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
