/**
 * Arrays of numbers from files: `.npy`, `.npz` and JSON, taken as numpy takes them.
 *
 * Of `.npy` files: integers, and floats of 16, 32 and 64 bits, in either order of bytes, by rows or by columns.
 * Numpy's longer floats are one kind of processor's own, and are not read. What a header says of its size is
 * believed as far as bytes are there.
 */

import { ZenError } from "./errors.ts";
import { isObject, parse, Real } from "./json.ts";
import type { Json } from "./json.ts";
import { product } from "./lists.ts";
import { unzipped } from "./zip.ts";

/** `kind`: `others` are no numbers; `at`: the number at the row-major index. */
export interface NumberArray {
  readonly shape: readonly number[];
  readonly kind: "integers" | "reals" | "others";
  readonly at: (index: number) => number | bigint;
}

const NPY = "\x93NUMPY";
const MOST_DIMENSIONS = 64;
const MOST_HEADER = 10_000;

/**
 * The array in a file, or those of a `.npz` file, or of a JSON object, by their names. Throws `ZenError` (`input.unreadable`), about
 * the `field`.
 */
export async function readArrays(
  data: Uint8Array,
  field: string,
): Promise<NumberArray | ReadonlyMap<string, NumberArray>> {
  try {
    if (startsWith(data, "PK")) {
      const files = await unzipped(data);
      return new Map([...files].map(([name, file]) => [name.replace(/\.npy$/, ""), npy(file)]));
    }
    if (startsWith(data, NPY)) return npy(data);
    const value = parse(data);
    if (!isObject(value)) return listed(value);
    return new Map(Object.entries(value).map(([name, each]) => [name, listed(each)]));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const what = `this is neither a .npy or .npz file nor a JSON array: ${why}`;
    throw new ZenError("input.unreadable", what, field);
  }
}

function startsWith(data: Uint8Array, text: string): boolean {
  return latin1(data.subarray(0, text.length)) === text;
}

/** Bytes as characters of the same numbers. */
function latin1(data: Uint8Array): string {
  return String.fromCharCode(...data);
}

/** Nested lists of one shape. */
function listed(value: Json): NumberArray {
  const shape: number[] = [];
  for (let first: Json | undefined = value; Array.isArray(first); first = first[0]) shape.push(first.length);
  if (shape.length > MOST_DIMENSIONS) throw new RangeError(`it has more than ${MOST_DIMENSIONS} dimensions`);
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

/** As numpy has it: true among numbers is 1, and an integer that 64 bits have no place for is none. */
function kindOf(items: readonly Json[]): NumberArray["kind"] {
  let [reals, numbers, negative, large] = [items.length === 0, items.length === 0, false, false];
  for (const item of items) {
    if (!isNumeric(item)) return "others";
    reals ||= item instanceof Real;
    numbers ||= typeof item !== "boolean";
    negative ||= typeof item !== "object" && Number(item) < 0;
    large ||= typeof item === "bigint" && item >= 2n ** 63n;
  }
  if (!numbers) return "others";
  return reals || (negative && large) ? "reals" : "integers";
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
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const [major, minor] = data.subarray(NPY.length);
  if (!startsWith(data, NPY) || major === undefined || major < 1 || major > 3 || minor !== 0) {
    throw new RangeError("it is no .npy file of a version that numpy writes");
  }
  const begin = NPY.length + (major === 1 ? 4 : 6);
  if (data.length < begin) throw new RangeError("its header is cut short");
  const length = major === 1 ? view.getUint16(begin - 2, true) : view.getUint32(begin - 4, true);
  if (length > MOST_HEADER || data.length < begin + length) throw new RangeError("its header is too long");
  const { type, byColumns, shape } = header(latin1(data.subarray(begin, begin + length)));
  // Truth values, complex numbers, texts, times and structures.
  if (/^[<>|=]?[bcSUVmM]/.test(type)) return { shape, kind: "others", at: () => NaN };
  const [, letter, width] = /^[<>|=]?([iuf])([1248])$/.exec(type) ?? [];
  const item = NUMBERS.get(`${letter}${width}`);
  if (item === undefined) throw new RangeError(`arrays of ${type} are not read here`);
  const bytes = Number(width);
  if (product(shape) * bytes !== data.length - begin - length) {
    throw new RangeError("the header says another size than the file has");
  }
  const little = !type.startsWith(">");
  const place = byColumns ? inColumns(shape) : (index: number) => index;
  return {
    shape,
    kind: letter === "f" ? "reals" : "integers",
    at: (index) => item(view, begin + length + bytes * place(index), little),
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

/** A field of the header, a dictionary as Python writes it. */
const FIELD =
  /\s*'(descr|fortran_order|shape)'\s*:\s*(?:'([^']*)'|(True|False)|\(([0-9,\s]*)\)|(\[.*\]))\s*,?/y;

function header(text: string): { type: string; byColumns: boolean; shape: number[] } {
  const inside = /^\{(.*)\}\s*$/s.exec(text)?.[1] ?? "";
  const fields = new Map<string, RegExpExecArray>();
  FIELD.lastIndex = 0;
  for (let found = FIELD.exec(inside); found !== null; found = FIELD.exec(inside)) {
    fields.set(found[1] ?? "", found);
    if (FIELD.lastIndex === inside.length) break;
  }
  const [type, order, sides] = ["descr", "fortran_order", "shape"].map((name) => fields.get(name));
  const shape = sides?.[4]?.split(",").map((side) => side.trim());
  // Of one side there is a comma behind it, of none nothing at all.
  if (shape !== undefined && shape.at(-1) === "") shape.pop();
  const byColumns = order?.[3];
  const named = type?.[2] ?? (type?.[5] === undefined ? undefined : "V");
  if (named === undefined || byColumns === undefined || !shape?.every((side) => /^[0-9]+$/.test(side))) {
    throw new RangeError("its header is not as numpy writes it");
  }
  return { type: named, byColumns: byColumns === "True", shape: shape.map(Number) };
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
