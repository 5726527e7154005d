/** Judges the cases that come as lines of JSON (docs/vectors.md: `document`, `key`, `told`), and answers in lines. */

import { createInterface } from "node:readline";
import { givenOf, judged } from "./vectors.ts";

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await judged(givenOf(JSON.parse(line)))));
}
