// Asks llama-mtmd-cli every held-out question and keeps, of each category, the first ones whose
// answer does not hang on rounding: in every step the best token is clearly above the second.
// Usage: node make_reference.mjs PROGRAM COMMIT, from the root of the repository.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MODEL = "models/tessera-tiny";
const OUTPUT = "tests/golden/reference_ids.jsonl";
// CPUs differ in the order of their sums; scores of this model move by less than 0.1 for it.
const MARGIN_MIN = 0.5;
const PER_CATEGORY = 8;

const [program, commit] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "tessera-reference-"));

function ask(item) {
  const image = `${MODEL}/heldout/${item.image}`;
  const options = [
    ...["-m", `${MODEL}/tessera-tiny-f16.gguf`],
    ...["--mmproj", `${MODEL}/mmproj-tessera-tiny-f16.gguf`],
    ...["--image", image, "-p", item.question, "--temp", "0", "-n", "64", "-t", "1"],
  ];
  const recorded = join(folder, "ids");
  execFileSync(program, options, {
    env: { ...process.env, TESSERA_REFERENCE_IDS: recorded },
    stdio: "ignore",
  });
  const lines = readFileSync(recorded, "utf8").trimEnd().split("\n");
  const steps = lines.map((line) => line.split(" "));
  const shown = options.map((word) => (/[ ?]/.test(word) ? `'${word}'` : word)).join(" ");
  return {
    image,
    question: item.question,
    category: item.category,
    text: Buffer.from(steps.map(([, , hex]) => hex ?? "").join(""), "hex").toString(),
    ids: steps.map(([id]) => Number(id)),
    margin: Math.min(...steps.map(([, margin]) => Number(margin))),
    command: `llama-mtmd-cli ${shown}`,
    llama_cpp_commit: commit,
  };
}

const lines = readFileSync(`${MODEL}/heldout/items.jsonl`, "utf8").trim().split("\n");
const items = lines.map(JSON.parse);
const kept = [];
items.forEach((item, i) => {
  const n_kept = kept.filter((answer) => answer.category === item.category).length;
  if (n_kept < PER_CATEGORY) {
    const answer = ask(item);
    if (answer.margin >= MARGIN_MIN) kept.push(answer);
  }
  if ((i + 1) % 30 === 0) {
    console.error(`    ${i + 1} of ${items.length} questions, ${kept.length} kept`);
  }
});
rmSync(folder, { recursive: true });
writeFileSync(OUTPUT, kept.map((answer) => JSON.stringify(answer) + "\n").join(""));
console.error(`${kept.length} answers in ${OUTPUT}`);
