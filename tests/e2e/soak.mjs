// An hour of mixed load (support/soak.mjs). Fails when a request does not end once, or when memory
// grows by more than two in a hundred.
//   node tests/e2e/soak.mjs [MINUTES] [SEED]
import { SOAK_ARGS, soak } from './support/soak.mjs';
import { Server } from './support/server.mjs';

const GROWN_MAX = 0.02;

const [minutes = '60', seed = '1'] = process.argv.slice(2);
if (!(Number(minutes) > 0)) throw new Error(`minutes: a number above 0, not "${minutes}"`);
console.log(`mixed load for ${minutes} minutes, seed ${seed}`);
const server = await Server.start({ args: SOAK_ARGS });
const report = await soak(server, { seconds: Number(minutes) * 60, seed: Number(seed) });
await server.stop();
const percent = (part) => `${(part * 100).toFixed(1)} %`;
console.log(`${report.nRequests} requests, each ended once; ${report.nKilled} processes killed; ` +
  `${report.residentMib.toFixed(0)} MiB resident, ${percent(report.grown)} more in the last quarter ` +
  `than in the second; the engine ${percent(report.engineGrown)}`);
if (Math.max(report.grown, report.engineGrown) > GROWN_MAX) {
  console.error(`soak: memory grew by more than ${GROWN_MAX * 100} %`);
  process.exitCode = 1;
}
