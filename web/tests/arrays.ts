/**
 * Reads the files that come as lines of JSON, `{input, type}` or `{dataset, labels, type, batch, classes}`, and answers
 * in lines with what is in them, or with the code of the error.
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { hex } from "../verifier/bytes.ts";
import * as datasets from "../verifier/datasets.ts";
import { ZenError } from "../verifier/errors.ts";

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line)).catch(code)));
}

async function answer({
  input,
  dataset,
  labels,
  type,
  batch,
  classes,
}: ReturnType<typeof JSON.parse>): Promise<unknown> {
  if (input !== undefined) return datasets.quantise(await datasets.loadArray(readFileSync(input)), type);
  const data = await datasets.load(readFileSync(dataset), labels === null ? undefined : readFileSync(labels));
  return { size: data.size, sha256: hex(data.sha256), shards: [...data.shardValues(type, batch, classes)] };
}

function code(error: unknown): { code: string; field: string | null } {
  if (!(error instanceof ZenError)) throw error;
  return { code: error.code, field: error.field };
}
