/** Judges the cases that come as lines of JSON (docs/vectors.md: `document`, `key`, `told`), and answers in lines. */

import { createInterface } from "node:readline";
import { ZenError } from "../verifier/errors.ts";
import { givenOf, verdict } from "./vectors.ts";

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await verdict(givenOf(JSON.parse(line))).catch(code)));
}

function code(error: unknown): { code: string } {
  if (!(error instanceof ZenError)) throw error;
  return { code: error.code };
}
