/**
 * Reads the files that come as lines of JSON, `{input, type}` or `{dataset, labels, types, batch, classes, target}`, and
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
  types,
  batch,
  classes,
  target,
}: ReturnType<typeof JSON.parse>): Promise<unknown> {
  if (input !== undefined) return datasets.quantise(await datasets.loadArray(readFileSync(input)), type);
  const second = labels === null ? undefined : readFileSync(labels);
  const [only, inputs] = types.length === 1 ? [types[0], null] : [null, types];
  const circuit = { quantisation: { input: only, inputs, outputs: null }, targets: target };
  const data = (await datasets.load(readFileSync(dataset), second, circuit)).inOrder(types.map(nameOf));
  const shards = [...data.shardValues(types, batch, classes, target)];
  return { size: data.size, sha256: hex(data.sha256), shards };
}

function nameOf({ name }: ReturnType<typeof JSON.parse>): string | null {
  return name ?? null;
}

function code(error: unknown): { code: string; field: string | null } {
  if (!(error instanceof ZenError)) throw error;
  return { code: error.code, field: error.field };
}
