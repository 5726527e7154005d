/** Arrays of numbers from files: `.npy`, `.npz` and JSON, taken as numpy takes them. */

import { ZenError } from "./errors.ts";
import { isBytes, isObject, readJson, Real } from "./json.ts";
import type { Json, JsonSource } from "./json.ts";
import { product } from "./lists.ts";
import { MAX_DIMENSIONS, MAGIC as NPY, readHeader, startsWith } from "./npy.ts";
import { MAGIC as NPZ, readMembers } from "./npz.ts";

/** `kind`: `others` are no numbers; `at`: the number at the row-major index. */
export interface NumberArray {
  readonly shape: readonly number[];
  readonly kind: "integers" | "reals" | "others";
  readonly at: (index: number) => number | bigint;
}

/**
 * The array in a file, or those of a `.npz` file, or of a JSON object, by their names. Throws `ZenError` (`input.unreadable`), about
 * the `field`.
 */
export async function readArrays(
  data: JsonSource,
  field: string,
): Promise<NumberArray | ReadonlyMap<string, NumberArray>> {
  try {
    if (isBytes(data) && startsWith(data, NPZ)) {
      const files = await readMembers(data);
      return new Map([...files].map(([name, file]) => [name, npy(file)]));
    }
    if (isBytes(data) && startsWith(data, NPY)) return npy(data);
    const value = readJson(data);
    if (!isObject(value)) return listed(value);
    return new Map(Object.entries(value).map(([name, each]) => [name, listed(each)]));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const what = `this is neither a .npy or .npz file nor a JSON array: ${why}`;
    throw new ZenError("input.unreadable", what, field);
  }
}

/** Nested lists of one shape. */
function listed(value: Json): NumberArray {
  const shape: number[] = [];
  for (let first: Json | undefined = value; Array.isArray(first); first = first[0]) shape.push(first.length);
  if (shape.length > MAX_DIMENSIONS) throw new RangeError(`it has more than ${MAX_DIMENSIONS} dimensions`);
  const items: Json[] = [];
  const gather = (part: Json, dimension: number): void => {
    const length = Array.isArray(part) ? part.length : undefined;
    if (length !== shape[dimension]) throw new RangeError("its lists have different lengths");
    if (Array.isArray(part)) for (const each of part) gather(each, dimension + 1);
    else items.push(part);
  };
  gather(value, 0);
  return { shape, kind: kindOf(items), at: (index) => numeric(items[index]) };
}

/** As numpy has it: true among numbers is 1; integers from 2^63 on, with smaller ones beside them, are doubles. */
function kindOf(items: readonly Json[]): NumberArray["kind"] {
  let [reals, small, large] = [items.length === 0, false, false];
  for (const item of items) {
    if (!isNumeric(item)) return "others";
    reals ||= item instanceof Real;
    large ||= typeof item === "bigint" && item >= 2n ** 63n;
    small ||= typeof item === "number" || (typeof item === "bigint" && item < 2n ** 63n);
  }
  if (!reals && !small && !large) return "others";
  return reals || (small && large) ? "reals" : "integers";
}

function isNumeric(item: Json): boolean {
  if (typeof item === "bigint") return -(2n ** 63n) <= item && item < 2n ** 64n;
  return typeof item === "number" || typeof item === "boolean" || item instanceof Real;
}

function numeric(item: Json | undefined): number | bigint {
  if (typeof item === "bigint") return item;
  return item instanceof Real ? item.value : Number(item);
}

/** The array in the bytes of a `.npy` file, never a pickle. Throws `RangeError`. */
function npy(data: Uint8Array): NumberArray {
  const { letter, width, little, byColumns, shape, start } = readHeader(data);
  // A truth value is no number, as in numpy.
  if (letter === "b") return { shape, kind: "others", at: () => NaN };
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const item = NUMBERS.get(`${letter}${width}`);
  if (item === undefined) throw new RangeError("its numbers are not read here");
  const place = byColumns ? inColumns(shape) : (index: number) => index;
  return {
    shape,
    kind: letter === "f" ? "reals" : "integers",
    at: (index) => item(view, start + width * place(index), little),
  };
}

type ReadNumber = (view: DataView, at: number, little: boolean) => number | bigint;
const NUMBERS = new Map<string, ReadNumber>([
  ["i1", (view, at) => view.getInt8(at)],
  ["i2", (view, at, little) => view.getInt16(at, little)],
  ["i4", (view, at, little) => view.getInt32(at, little)],
  ["i8", (view, at, little) => view.getBigInt64(at, little)],
  ["u1", (view, at) => view.getUint8(at)],
  ["u2", (view, at, little) => view.getUint16(at, little)],
  ["u4", (view, at, little) => view.getUint32(at, little)],
  ["u8", (view, at, little) => view.getBigUint64(at, little)],
  ["f2", (view, at, little) => float16(view.getUint16(at, little))],
  ["f4", (view, at, little) => view.getFloat32(at, little)],
  ["f8", (view, at, little) => view.getFloat64(at, little)],
]);

function float16(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

/** Where the number of a row-major index is, if columns come first. */
function inColumns(shape: readonly number[]): (index: number) => number {
  const strides = shape.map((_, axis) => product(shape.slice(0, axis)));
  return (index) => {
    let [rest, place] = [index, 0];
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      const side = shape[axis] ?? 1;
      place += (rest % side) * (strides[axis] ?? 1);
      rest = Math.floor(rest / side);
    }
    return place;
  };
}
