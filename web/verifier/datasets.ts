/** Labelled datasets as verifiers hold them: their content hash, and what their commitments are to. */

import { sha256 } from "@noble/hashes/sha2.js";
import { readArrays } from "./arrays.ts";
import type { NumberArray } from "./arrays.ts";
import { limbs, same } from "./documents.ts";
import type { InputType } from "./documents.ts";
import { ZenError } from "./errors.ts";
import { isBytes } from "./json.ts";
import type * as judging from "./judging.ts";
import type { JsonSource } from "./json.ts";
import { at, product, rounded } from "./lists.ts";
import type { Targets } from "./measures.ts";
import { MAGIC as NPY, startsWith } from "./npy.ts";
import { MAGIC as NPZ } from "./npz.ts";
import { entriesOf } from "./table.ts";
import type { Table } from "./table.ts";

const TAG = "zenserve dataset 1\n";
const TARGETS_TAG = "zenserve dataset 2\n";
const MOST_LABEL = (1n << 63n) - 1n;
const NUMBER_BYTES = 8;

/** Finite numbers, row-major. */
interface Numbers {
  readonly shape: readonly number[];
  readonly values: Float64Array;
}

/**
 * `samples`: of shape [n, …], as they were before quantisation; `labels`: n of them, from 0 to 2^63 - 1, or `targets`:
 * as many of each sample, as they were, and all labels 0.
 */
export class LabelledData implements judging.LabelledData {
  readonly samples: Numbers;
  readonly labels: readonly bigint[];
  readonly targets: Numbers | null;
  #sha256: Uint8Array | null = null;

  /**
   * Throws `ZenError`: `input.shape`, `input.not_numeric`, `input.not_finite`, `input.empty`. Labels must be integers
   * that are not negative; with `measured`, they are targets in place of that.
   */
  constructor(samples: NumberArray, labels: NumberArray, measured = false) {
    this.samples = numbers(samples, "samples");
    if (measured) {
      this.targets = targetsOf(samples, labels);
      this.labels = Array<bigint>(at(this.targets.shape, 0)).fill(0n);
      return;
    }
    this.targets = null;
    const [count, ...rest] = labels.shape;
    if (count === undefined || rest.length > 0 || samples.shape.length < 2 || count !== samples.shape[0]) {
      throw new ZenError(
        "input.shape",
        `samples are ${written(samples.shape)} and labels ${written(labels.shape)}; they must be [n, …] and [n]`,
        "labels",
      );
    }
    if (count === 0) throw new ZenError("input.empty", "the dataset has no samples", "samples");
    const integers = labels.kind === "integers";
    this.labels = integers ? Array.from({ length: count }, (_, index) => BigInt(labels.at(index))) : [];
    if (!integers || this.labels.some((label) => label < 0n || label > MOST_LABEL)) {
      throw new ZenError("input.not_numeric", "labels must be integers from 0 on", "labels");
    }
  }

  get size(): number {
    return this.labels.length;
  }

  /**
   * The content's hash, 32 bytes: the tag, a line with the samples' shape as JSON, then the samples as float64 and the
   * labels as int64, little-endian, row-major. With targets, another tag, both shapes in two lines, then both as
   * float64.
   */
  get sha256(): Uint8Array {
    this.#sha256 ??= this.#hash();
    return this.#sha256;
  }

  #hash(): Uint8Array {
    const { shape, values } = this.samples;
    const hash = sha256.create();
    if (this.targets !== null) {
      const shapes = `${written(shape)}\n${written(this.targets.shape)}\n`;
      return hash
        .update(new TextEncoder().encode(`${TARGETS_TAG}${shapes}`))
        .update(asFloats(values))
        .update(asFloats(this.targets.values))
        .digest();
    }
    const integers = new DataView(new ArrayBuffer(NUMBER_BYTES * this.size));
    this.labels.forEach((each, index) => integers.setBigInt64(NUMBER_BYTES * index, each, true));
    return hash
      .update(new TextEncoder().encode(`${TAG}${written(shape)}\n`))
      .update(asFloats(values))
      .update(new Uint8Array(integers.buffer))
      .digest();
  }

  /**
   * What the shards' commitments are to: the samples' type (`limbs`), the integers of `batch` samples, of their
   * targets where errors are measured (`target`), then their labels. The last shard is filled up with samples of zeros
   * and the label `classes`, which no network gives, or with targets that are the least and the label 1. Throws
   * `ZenError` (`input.shape`, `input.out_of_range`).
   */
  *shardValues(kind: InputType, batch: number, classes: number, target: Targets | null): Generator<number[]> {
    const targets = target === null ? null : this.#quantised(target, classes);
    if (target === null && this.targets !== null) {
      throw new ZenError("input.shape", "this is measured by labels, not by targets", "targets");
    }
    const filler = target === null ? classes : 1;
    if (this.labels.some((label) => label >= filler)) {
      throw new ZenError("input.out_of_range", `labels must lie in [0, ${classes - 1}]`, "labels");
    }
    const [, ...shape] = this.samples.shape;
    requireShape(shape, kind);
    const length = product(shape);
    for (let start = 0; start < this.size; start += batch) {
      const labels = this.labels.slice(start, start + batch).map(Number);
      const samples = this.samples.values.subarray(length * start, length * (start + labels.length));
      const missing = batch - labels.length;
      const padding = Array<number>(missing * length).fill(0);
      yield [
        ...limbs(kind),
        ...integers(samples, kind),
        ...padding,
        ...(targets?.slice(classes * start, classes * (start + labels.length)) ?? []),
        ...Array<number>(target === null ? 0 : missing * classes).fill(target?.minimum ?? 0),
        ...labels,
        ...Array<number>(missing).fill(filler),
      ];
    }
  }

  #quantised(kind: Targets, outputs: number): number[] {
    if (this.targets === null) {
      throw new ZenError("input.shape", "errors are measured by targets, not by labels", "labels");
    }
    const [, own] = this.targets.shape;
    if (own !== outputs) {
      const reason = `a sample has ${own} targets, and the network ${outputs} outputs`;
      throw new ZenError("input.shape", reason, "targets");
    }
    return quantiseTargets(this.targets.values, kind);
  }
}

/** The integers of one input, row-major, as the circuit takes them. Throws `ZenError` (`input.*`). */
export function quantise(array: NumberArray, kind: InputType): number[] {
  const { shape, values } = numbers(array, "input");
  requireShape(shape, kind);
  return integers(values, kind);
}

/** The integers of targets: the nearest. None is clipped, which would hide an error. Throws `ZenError`. */
function quantiseTargets(targets: Float64Array, kind: Targets): number[] {
  const nearest = Array.from(targets, (x) => rounded(x / kind.scale) + kind.zero_point + 0);
  if (nearest.some((each) => each < kind.minimum || each > kind.maximum)) {
    const [low, high] = [kind.minimum, kind.maximum].map((end) => (end - kind.zero_point) * kind.scale);
    const reason = `targets lie too far from all that the network can say: take those from ${low} to ${high}`;
    throw new ZenError("input.out_of_range", reason, "targets");
  }
  return nearest;
}

/**
 * The dataset in a `.npz` file with `samples` and `labels`, or with `targets` where it is `measured` by these, or in two
 * files. Throws `ZenError` (`input.*`).
 */
export async function load(
  file: JsonSource,
  labels: JsonSource | undefined,
  measured: boolean,
): Promise<LabelledData> {
  if (labels !== undefined) return new LabelledData(await loadArray(file), await loadArray(labels), measured);
  const arrays = await readArrays(file, "input");
  const name = measured ? "targets" : "labels";
  const parts = arrays instanceof Map ? ["samples", name].map((each) => arrays.get(each)) : [];
  const [samples, own] = parts;
  if (samples === undefined || own === undefined) {
    throw new ZenError("input.unreadable", `this is no .npz file with samples and ${name}`, "samples");
  }
  return new LabelledData(samples, own, measured);
}

/** The array in a `.npy` file (never a pickle) or in JSON. Throws `ZenError` (`input.unreadable`). */
export async function loadArray(file: JsonSource): Promise<NumberArray> {
  const array = await readArrays(file, "input");
  if ("shape" in array) return array;
  throw new ZenError("input.unreadable", "the file holds several arrays", "input");
}

/**
 * The integers of inputs of these `types`, by what statements call them: of several, those that a `.npz` file, or
 * JSON, has by their own names. A CSV file has one input in one row, by the names of columns where the table is
 * `described`. Throws `ZenError` (`input.*`).
 */
export async function loadInputs(
  file: JsonSource,
  types: ReadonlyMap<string, InputType>,
  described: Table | null = null,
): Promise<Map<string, number[]>> {
  const only = types.get("input");
  const csv = only === undefined ? null : csvOf(file);
  if (only !== undefined && csv !== null) return new Map([["input", quantisedRow(csv, only, described)]]);
  if (only !== undefined) return new Map([["input", quantise(await loadArray(file), only)]]);
  const arrays = await readArrays(file, "input");
  const named = [...("shape" in arrays ? [] : arrays)].map(([name, array]) => {
    const kind = types.get(`input/${name}`);
    if (kind === undefined) throw unnamed(types);
    return { name: `input/${name}`, kind, array };
  });
  if (named.length === 0) throw unnamed(types);
  return new Map(named.map(({ name, kind, array }) => [name, quantise(array, kind)]));
}

/** The text of a CSV file: of what is neither `.npy` nor `.npz`, nor a JSON list or object; else null. */
function csvOf(file: JsonSource): string | null {
  if (typeof file !== "string" && !isBytes(file)) return null;
  if (isBytes(file) && (startsWith(file, NPZ) || startsWith(file, NPY))) return null;
  const head = typeof file === "string" ? file : new TextDecoder("latin1").decode(file.subarray(0, 4096));
  if (/^[ \t\n\r]*[[{]/.test(head)) return null;
  if (typeof file === "string") return file.replace(/^\uFEFF/, "");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file);
  } catch {
    throw new ZenError(
      "input.unreadable",
      "this is neither a .npy or .npz file, JSON nor CSV: no text",
      "input",
    );
  }
}

function quantisedRow(csv: string, kind: InputType, described: Table | null): number[] {
  const entries = entriesOf(csv, described);
  if (entries.length !== product(kind.shape)) {
    const why = `input: the row becomes ${entries.length} numbers; the network takes ${written(kind.shape)}`;
    const more = (described?.columns.length ?? 0) > 0 ? "" : ": a model of a table needs its table.json";
    throw new ZenError("input.shape", why + more, "input");
  }
  return integers(new Float64Array(entries), kind);
}

function unnamed(types: ReadonlyMap<string, InputType>): ZenError {
  const names = [...types.keys()].map((name) => name.replace("input/", "")).join(", ");
  return new ZenError("input.names", `the file must have arrays by the names ${names}`, "input");
}

/** One target of each sample, or as many as the network has outputs: [n, outputs]. */
function targetsOf(samples: NumberArray, targets: NumberArray): Numbers {
  const { shape, values } = numbers(targets, "targets");
  const [count] = shape;
  if (count === undefined || samples.shape.length < 2 || count !== samples.shape[0]) {
    throw new ZenError(
      "input.shape",
      `samples are ${written(samples.shape)} and targets ${written(shape)}; they must be [n, …] and [n, …]`,
      "targets",
    );
  }
  if (count === 0) throw new ZenError("input.empty", "the dataset has no samples", "samples");
  return { shape: [count, values.length / count], values };
}

function asFloats(values: Float64Array): Uint8Array {
  const floats = new DataView(new ArrayBuffer(NUMBER_BYTES * values.length));
  values.forEach((each, index) => floats.setFloat64(NUMBER_BYTES * index, each, true));
  return new Uint8Array(floats.buffer);
}

function numbers(array: NumberArray, field: string): Numbers {
  if (array.kind === "others") {
    throw new ZenError("input.not_numeric", `${field} must be an array of numbers`, field);
  }
  const values = new Float64Array(product(array.shape));
  for (let index = 0; index < values.length; index += 1) values[index] = Number(array.at(index));
  if (!values.every(Number.isFinite)) {
    throw new ZenError("input.not_finite", `${field} must be finite`, field);
  }
  return { shape: array.shape, values };
}

/** A lone input comes as it is, or as a batch of one. */
function requireShape(given: readonly number[], { shape }: InputType): void {
  if (!same(given, shape) && !same([1, ...given], shape) && !same(given, [1, ...shape])) {
    throw new ZenError(
      "input.shape",
      `an input has shape ${written(given)}; the network takes ${written(shape)}`,
      "input",
    );
  }
}

/** As JSON and Python write a list of numbers. */
function written(shape: readonly number[]): string {
  return `[${shape.join(", ")}]`;
}

function integers(values: Float64Array, { scale, zero_point, bits }: InputType): number[] {
  const most = 2 ** bits - 1;
  return Array.from(values, (x) => Math.max(0, Math.min(most, rounded(x / scale) + zero_point)) + 0);
}
