/** Labelled datasets as verifiers hold them: their content hash, and what their commitments are to. */

import { sha256 } from "@noble/hashes/sha2.js";
import { readArrays } from "./arrays.ts";
import type { NumberArray } from "./arrays.ts";
import { same, typeLimbs } from "./documents.ts";
import type { Description, InputType } from "./documents.ts";
import { ZenError } from "./errors.ts";
import { isBytes } from "./json.ts";
import type * as judging from "./judging.ts";
import { canonical } from "./json.ts";
import type { JsonSource } from "./json.ts";
import { at, product, rounded } from "./lists.ts";
import type { Targets } from "./measures.ts";
import { MAGIC as NPY, startsWith } from "./npy.ts";
import { MAGIC as NPZ } from "./npz.ts";
import { entriesOf } from "./table.ts";
import type { Table } from "./table.ts";

const TAG = "zenserve dataset 1\n";
const TARGETS_TAG = "zenserve dataset 2\n";
const SEVERAL_TAG = "zenserve dataset 3\n";
const MOST_LABEL = (1n << 63n) - 1n;
const NUMBER_BYTES = 8;

/** Finite numbers, row-major. */
interface Numbers {
  readonly shape: readonly number[];
  readonly values: Float64Array;
}

/** Samples of the only input, or of each of several by its name. */
type Samples = NumberArray | ReadonlyMap<string, NumberArray>;

/**
 * `inputs`: of each input samples of shape [n, …], as they were before quantisation, by its name; null names an only
 * one. `labels`: n of them, from 0 to 2^63 - 1, or `targets`: as many of each sample, as they were, and all labels 0.
 */
export class LabelledData implements judging.LabelledData {
  readonly inputs: ReadonlyMap<string | null, Numbers>;
  readonly labels: readonly bigint[];
  readonly targets: Numbers | null;
  #sha256: Uint8Array | null = null;

  private constructor(
    inputs: ReadonlyMap<string | null, Numbers>,
    labels: readonly bigint[],
    targets: Numbers | null,
  ) {
    this.inputs = inputs;
    this.labels = labels;
    this.targets = targets;
  }

  /**
   * Throws `ZenError`: `input.shape`, `input.not_numeric`, `input.not_finite`, `input.empty`. Labels must be integers
   * that are not negative.
   */
  static of(samples: Samples, labels: NumberArray): LabelledData {
    const inputs = byInput(samples);
    requireOneEach(inputs, labels.shape, "labels", "[n]");
    const integers = labels.kind === "integers";
    const own = integers
      ? Array.from({ length: at(labels.shape, 0) }, (_, index) => BigInt(labels.at(index)))
      : [];
    if (!integers || own.some((label) => label < 0n || label > MOST_LABEL)) {
      throw new ZenError("input.not_numeric", "labels must be integers from 0 on", "labels");
    }
    return new LabelledData(inputs, own, null);
  }

  /** Of each sample one target, or as many as the network has outputs. Throws `ZenError` as `of`. */
  static withTargets(samples: Samples, targets: NumberArray): LabelledData {
    const inputs = byInput(samples);
    const { shape, values } = numbers(targets, "targets");
    requireOneEach(inputs, shape, "targets", "[n, …]");
    const count = at(shape, 0);
    const own = { shape: [count, values.length / count], values };
    return new LabelledData(inputs, Array<bigint>(count).fill(0n), own);
  }

  get size(): number {
    return this.labels.length;
  }

  /**
   * The same of these inputs alone, in the network's order, which the hash is of. Throws `ZenError` (`input.names`)
   * where one is missing.
   */
  inOrder(names: readonly (string | null)[]): LabelledData {
    const inputs = new Map<string | null, Numbers>();
    for (const name of names) {
      const own = this.inputs.get(name);
      if (own !== undefined) inputs.set(name, own);
    }
    if (inputs.size < names.length) {
      const known = names.length > 1 ? `arrays by the names ${names.join(", ")}` : "one array";
      throw new ZenError("input.names", `the samples must be ${known}`, "samples");
    }
    return new LabelledData(inputs, this.labels, this.targets);
  }

  /**
   * The content's hash, 32 bytes: the tag, a line with the samples' shape as JSON, then the samples as float64 and the
   * labels as int64, little-endian, row-major. With targets, another tag, both shapes in two lines, then both as
   * float64. Of several inputs, a third tag, and a line that has all names and shapes (docs/formats.md).
   */
  get sha256(): Uint8Array {
    this.#sha256 ??= this.#hash();
    return this.#sha256;
  }

  #hash(): Uint8Array {
    const hash = sha256.create().update(new TextEncoder().encode(this.#header()));
    for (const { values } of this.inputs.values()) hash.update(asFloats(values));
    if (this.targets !== null) return hash.update(asFloats(this.targets.values)).digest();
    const integers = new DataView(new ArrayBuffer(NUMBER_BYTES * this.size));
    this.labels.forEach((each, index) => integers.setBigInt64(NUMBER_BYTES * index, each, true));
    return hash.update(new Uint8Array(integers.buffer)).digest();
  }

  /** What is hashed before the numbers. */
  #header(): string {
    const only = this.inputs.get(null);
    if (only !== undefined) {
      if (this.targets === null) return `${TAG}${written(only.shape)}\n`;
      return `${TARGETS_TAG}${written(only.shape)}\n${written(this.targets.shape)}\n`;
    }
    const inputs = [...this.inputs].map(([name, { shape }]) => ({ name, shape }));
    const second = this.targets === null ? { labels: [this.size] } : { targets: this.targets.shape };
    return `${SEVERAL_TAG}${canonical({ inputs, ...second })}\n`;
  }

  /**
   * What the shards' commitments are to: the inputs' types (`typeLimbs`), the integers of `batch` samples, of one input
   * after the other, of their targets where errors are measured (`target`), then their labels. The last shard is filled
   * up with samples of zeros and the label `classes`, which no network gives, or with targets that are the least and
   * the label 1. Throws `ZenError` (`input.shape`, `input.out_of_range`).
   */
  *shardValues(
    kinds: readonly InputType[],
    batch: number,
    classes: number,
    target: Targets | null,
  ): Generator<number[]> {
    const targets = target === null ? null : this.#quantised(target, classes);
    if (target === null && this.targets !== null) {
      throw new ZenError("input.shape", "this is measured by labels, not by targets", "targets");
    }
    const filler = target === null ? classes : 1;
    if (this.labels.some((label) => label >= filler)) {
      throw new ZenError("input.out_of_range", `labels must lie in [0, ${classes - 1}]`, "labels");
    }
    const inputs = [...this.inputs.values()].map(({ shape: [, ...shape], values }, index) => {
      const kind = at(kinds, index);
      requireShape(shape, kind);
      return { kind, values, length: product(shape) };
    });
    for (let start = 0; start < this.size; start += batch) {
      const labels = this.labels.slice(start, start + batch).map(Number);
      const [end, missing] = [start + labels.length, batch - labels.length];
      const samples = inputs.flatMap(({ kind, values, length }) => [
        ...integers(values.subarray(length * start, length * end), kind),
        ...Array<number>(missing * length).fill(0),
      ]);
      yield [
        ...typeLimbs(kinds),
        ...samples,
        ...(targets?.slice(classes * start, classes * end) ?? []),
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
 * The dataset in a `.npz` file with `samples` and `labels`, or with `targets` where the circuit measures by these, or in
 * two files. Of several inputs the file has an array each, by its name, in place of `samples`. Throws `ZenError`
 * (`input.*`).
 */
export async function load(
  file: JsonSource,
  labels: JsonSource | undefined,
  circuit: Pick<Description, "quantisation" | "targets">,
): Promise<LabelledData> {
  const [made, beside] =
    circuit.targets === null
      ? ([LabelledData.of, "labels"] as const)
      : ([LabelledData.withTargets, "targets"] as const);
  const isOfOne = circuit.quantisation.input !== null;
  if (isOfOne && labels !== undefined) return made(await loadArray(file), await loadArray(labels));
  const names = circuit.quantisation.inputs?.map((kind) => kind.name ?? "") ?? ["samples"];
  const read = await readArrays(file, "input");
  const arrays: ReadonlyMap<string, NumberArray> = "shape" in read ? new Map() : read;
  const inputs = new Map([...arrays].filter(([name]) => names.includes(name)));
  const own = names.includes(beside) ? undefined : arrays.get(beside);
  const truth = labels === undefined ? own : await loadArray(labels);
  if (truth === undefined || inputs.size < names.length) {
    const wanted = `${names.join(", ")}${labels === undefined ? ` and ${beside}` : ""}`;
    throw new ZenError("input.unreadable", `this is no .npz file with ${wanted}`, "samples");
  }
  return made(isOfOne ? at([...inputs.values()], 0) : inputs, truth);
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

function byInput(samples: Samples): Map<string | null, Numbers> {
  if ("shape" in samples) return new Map([[null, numbers(samples, "samples")]]);
  return new Map([...samples].map(([name, array]) => [name, numbers(array, `samples.${name}`)]));
}

/** That each input has one for each label or target. Of one of several inputs a sample may be a plain number. */
function requireOneEach(
  inputs: ReadonlyMap<string | null, Numbers>,
  truth: readonly number[],
  field: string,
  axes: "[n]" | "[n, …]",
): void {
  const [count, ...rest] = truth;
  const right = count !== undefined && (axes === "[n, …]" || rest.length === 0);
  for (const [name, { shape }] of inputs) {
    if (!right || shape.length < (name === null ? 2 : 1) || shape[0] !== count) {
      const called = name === null ? "samples" : `samples.${name}`;
      throw new ZenError(
        "input.shape",
        `${called} are ${written(shape)} and ${field} ${written(truth)}; they must be [n, …] and ${axes}`,
        field,
      );
    }
  }
  if (count === 0) throw new ZenError("input.empty", "the dataset has no samples", "samples");
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
