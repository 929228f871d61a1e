// Reads /metrics, and waits for what it says.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

// 60 s with the pauses: a bound against hanging, not an expectation.
const POLLS_MAX = 6000;
const POLL_MS = 10;

class Metrics {
  constructor(text) {
    this.samples = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
        return { name, labels, value: Number(value) };
      });
  }

  /** The sum of all samples of that name whose labels contain each of `labels`. */
  value(name, ...labels) {
    const found = this.samples.filter(
      (sample) => sample.name === name && labels.every((label) => sample.labels.includes(label)),
    );
    return found.reduce((sum, sample) => sum + sample.value, 0);
  }
}

export async function readMetrics(server) {
  const response = await fetch(`${server.origin}/metrics`);
  assert.equal(response.status, 200);
  return new Metrics(await response.text());
}

/** Polls /metrics until `holds(metrics)`; gives those metrics. */
export async function untilMetrics(server, what, holds) {
  for (let i = 0; i < POLLS_MAX; ++i) {
    const metrics = await readMetrics(server);
    if (holds(metrics)) return metrics;
    await pause(POLL_MS);
  }
  return assert.fail(`never seen in /metrics: ${what}`);
}

/** Waits until the server holds nothing of any request. */
export function untilIdle(server) {
  const gauges = ['tessera_requests_in_flight', 'tessera_running_sequences', 'tessera_kv_cells_used'];
  return untilMetrics(server, 'no request, no sequence, no KV cell', (metrics) =>
    gauges.every((gauge) => metrics.value(gauge) === 0),
  );
}

/** How much a counter grew between two readings. */
export function grown(atFirst, atLast, name, ...labels) {
  return atLast.value(name, ...labels) - atFirst.value(name, ...labels);
}
