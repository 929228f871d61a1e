// What the benches about images share: a picture that is new to both servers, questions about it at
// once, and what Tessera counted.
import { randomBytes } from "node:crypto";
import { request } from "node:http";

import { png } from "../tests/e2e/support/pictures.mjs";

/// Makes data URLs of one picture; bytes behind its end make each of them new to every cache.
export function pictureMaker(side) {
  const picture = png(side, side, (x, y) => [(x * 7 + y) % 256, (y * 3) % 256, (x ^ y) % 256]);
  return () =>
    `data:image/png;base64,${Buffer.concat([picture, randomBytes(8)]).toString("base64")}`;
}

/// Waits as long as it takes: fetch() gives up after five minutes.
export function post(url, body) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    request(url, { method: "POST", headers }, async (answer) => {
      let text = "";
      for await (const part of answer) text += part;
      if (answer.statusCode === 200) resolve(text);
      else reject(new Error(`${answer.statusCode} ${text}`));
    }).on("error", reject).end(body);
  });
}

/// @param first  number of the first question; questions with other numbers are other questions
/// @return       seconds until the last answer is there
export async function askAll(server, url, { nQuestions, nTokens, first = 0 }) {
  const began = performance.now();
  await Promise.all(
    Array.from({ length: nQuestions }, async (_, i) => {
      const content = [
        { type: "image_url", image_url: { url } },
        { type: "text", text: `Question ${first + i}: how many circles are there?` },
      ];
      await post(`${server.url}/v1/chat/completions`, JSON.stringify({
        messages: [{ role: "user", content }],
        temperature: 0,
        max_tokens: nTokens,
      }));
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
