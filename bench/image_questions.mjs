// What the benches about images share: a picture that is new to both servers, questions about it at
// once, and what Tessera counted.
import { randomBytes } from "node:crypto";

import { png } from "../tests/e2e/support/pictures.mjs";

/// Makes data URLs of one picture; bytes behind its end make each of them new to every cache.
export function pictureMaker(side) {
  const picture = png(side, side, (x, y) => [(x * 7 + y) % 256, (y * 3) % 256, (x ^ y) % 256]);
  return () =>
    `data:image/png;base64,${Buffer.concat([picture, randomBytes(8)]).toString("base64")}`;
}

/// @return  seconds until the last answer is there
export async function askAll(server, url, { nQuestions, nTokens }) {
  const began = performance.now();
  await Promise.all(
    Array.from({ length: nQuestions }, async (_, i) => {
      const content = [
        { type: "image_url", image_url: { url } },
        { type: "text", text: `Question ${i}: how many circles are there?` },
      ];
      const answer = await fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          messages: [{ role: "user", content }],
          temperature: 0,
          max_tokens: nTokens,
        }),
      });
      if (!answer.ok) throw new Error(`${server.name}: ${answer.status} ${await answer.text()}`);
      await answer.json();
    }),
  );
  return (performance.now() - began) / 1000;
}

/// Tiles that this Tessera has encoded since it started.
export async function countEncodes(server) {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^tessera_encode_seconds_count (\S+)$/m.exec(text)[1]);
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
