/**
 * Reads the files that come as lines of base64, and answers in lines with their arrays, `{name: [kind, shape, values]}`
 * (`""` for the one in a `.npy` file), or with the reason why they are not read.
 */

import { createInterface } from "node:readline";
import { readArrays } from "../verifier/arrays.ts";
import type { NumberArray } from "../verifier/arrays.ts";
import { hex } from "../verifier/bytes.ts";
import { ZenError } from "../verifier/errors.ts";
import { product } from "../verifier/lists.ts";

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(Buffer.from(line, "base64"))));
}

async function answer(data: Uint8Array): Promise<unknown> {
  try {
    const arrays = await readArrays(data, "input");
    const named = "shape" in arrays ? [["", arrays] as const] : [...arrays];
    return named.map(([name, array]) => [name, array.kind, array.shape, values(array)]);
  } catch (error) {
    if (!(error instanceof ZenError)) throw error;
    return error.message.replace(/^.*JSON array: /, "");
  }
}

function values({ kind, shape, at }: NumberArray): string[] {
  const indices = kind === "others" ? [] : Array.from({ length: product(shape) }, (_, index) => index);
  return indices.map((index) => (kind === "integers" ? String(at(index)) : digits(Number(at(index)))));
}

/** A double to the bit, but for which of those it is that are no number. */
function digits(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return Number.isNaN(value) ? "nan" : hex(new Uint8Array(view.buffer));
}
