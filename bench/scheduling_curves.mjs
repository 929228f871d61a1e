// Draws docs/scheduling.svg: what `tessera simulate` says for growing loads, by tokens and by count.
//   node bench/scheduling_curves.mjs [--requests N] [--seed N] [--program FILE] [--picture FILE]
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

import { readWords } from "./support.mjs";

const options = readWords({
  requests: "4000",
  seed: "1",
  program: "build/release/bin/tessera",
  picture: "docs/scheduling.svg",
}, process.argv.slice(2));

const LOADS = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]; // requests a second
const POLICIES = { tokens: "#1a6fb5", count: "#c2571a" };
const PANELS = [
  { title: "short text: time to first token, s", of: (r) => r.kinds.short_text.time_to_first_token_seconds },
  { title: "time between two tokens, s", of: (r) => r.inter_token_seconds },
];
const LINES = { p50: "", p99: "6 4" }; // and how the line is dashed

function simulate(policy, load) {
  return JSON.parse(execFileSync(options.program, [
    "simulate", "--json", "--policy", policy, "--load", String(load),
    "--requests", options.requests, "--seed", options.seed,
  ]));
}

const WIDTH = 440, HEIGHT = 300, LEFT = 62, RIGHT = 16, TOP = 44, BOTTOM = 48;

/// Both axes of one panel; y is a logarithm.
function panel({ title, of }, results, place) {
  const values = Object.values(results).flat().flatMap((r) => Object.keys(LINES).map((q) => of(r)[q]))
    .filter((v) => v > 0);
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.ceil(Math.log10(Math.max(...values)));
  const x = (load) => LEFT + (load / LOADS.at(-1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM -
    ((Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const out = [`<g transform="translate(${place * WIDTH} 0)">`,
    `<text x="${LEFT}" y="24" font-weight="600">${title}</text>`];
  for (let power = low; power <= high; ++power) {
    const at = y(10 ** power).toFixed(1);
    out.push(`<path d="M${LEFT} ${at}H${WIDTH - RIGHT}" stroke="#ddd"/>`,
      `<text x="${LEFT - 8}" y="${Number(at) + 4}" text-anchor="end">${Number((10 ** power).toPrecision(1))}</text>`);
  }
  for (const load of LOADS.filter((_, i) => i % 2)) {
    out.push(`<text x="${x(load).toFixed(1)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${load}</text>`);
  }
  out.push(`<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 10}" text-anchor="middle">requests a second</text>`);
  for (const [policy, color] of Object.entries(POLICIES)) {
    for (const [quantile, dash] of Object.entries(LINES)) {
      const points = results[policy].map((r, i) =>
        `${x(LOADS[i]).toFixed(1)},${y(of(r)[quantile]).toFixed(1)}`);
      out.push(`<polyline points="${points.join(" ")}" fill="none" stroke="${color}" ` +
        `stroke-width="2" stroke-dasharray="${dash}"/>`);
    }
  }
  out.push("</g>");
  return out.join("\n");
}

function legend() {
  const out = [];
  let left = LEFT;
  for (const [policy, color] of Object.entries(POLICIES)) {
    for (const [quantile, dash] of Object.entries(LINES)) {
      out.push(`<path d="M${left} ${HEIGHT + 12}h28" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>`,
        `<text x="${left + 34}" y="${HEIGHT + 16}">by ${policy}, ${quantile}</text>`);
      left += 150;
    }
  }
  return out.join("\n");
}

const results = {};
for (const policy of Object.keys(POLICIES)) {
  results[policy] = LOADS.map((load) => simulate(policy, load));
}
const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * WIDTH} ${HEIGHT + 30}" ` +
  `font-family="sans-serif" font-size="12" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
${PANELS.map((p, i) => panel(p, results, i)).join("\n")}
${legend()}
</svg>
`;
writeFileSync(options.picture, picture);

console.log("| requests/s | policy | first token p50 | p99 | between tokens p50 | p99 | refused |");
console.log("|---|---|---|---|---|---|---|");
for (const [i, load] of LOADS.entries()) {
  for (const policy of Object.keys(POLICIES)) {
    const result = results[policy][i];
    const cells = [
      ...["p50", "p99"].map((q) => PANELS[0].of(result)[q]),
      ...["p50", "p99"].map((q) => PANELS[1].of(result)[q]),
    ].map((seconds) => (seconds < 1 ? `${(seconds * 1000).toFixed(0)} ms` : `${seconds.toFixed(1)} s`));
    console.log(`| ${load} | ${policy} | ${cells.join(" | ")} | ${result.refused} |`);
  }
}
