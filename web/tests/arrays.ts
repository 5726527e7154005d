/**
 * Reads the files that come as lines of JSON, `{input, type}` or `{dataset, labels, type, batch, classes, target}`, and
 * answers in lines with what is in them, or with the code of the error.
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
  target,
}: ReturnType<typeof JSON.parse>): Promise<unknown> {
  if (input !== undefined) return datasets.quantise(await datasets.loadArray(readFileSync(input)), type);
  const second = labels === null ? undefined : readFileSync(labels);
  const data = await datasets.load(readFileSync(dataset), second, target !== null);
  const shards = [...data.shardValues(type, batch, classes, target)];
  return { size: data.size, sha256: hex(data.sha256), shards };
}

function code(error: unknown): { code: string; field: string | null } {
  if (!(error instanceof ZenError)) throw error;
  return { code: error.code, field: error.field };
}
