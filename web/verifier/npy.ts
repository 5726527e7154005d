/**
 * Headers of `.npy` files, by a grammar that has one reading (docs/formats.md, "Arrays of numbers"). verifier/npy.py refuses
 * the same files with the same words.
 */

import { product } from "./lists.ts";

/** `letter`: of the kind, `i`, `u`, `f` or `b`. The numbers lie from `start` to the end. */
export interface Header {
  readonly letter: string;
  readonly width: number;
  readonly little: boolean;
  readonly byColumns: boolean;
  readonly shape: readonly number[];
  readonly start: number;
}

export const MAGIC = "\x93NUMPY";
const MAX_VERSION = 3;
const MAX_HEADER = 10_000;
export const MAX_DIMENSIONS = 64;

const FIELD = String.raw`'([a-z_]+)' *: *('[^'\\]*'|True|False|\([0-9, ]*\))`;
const HEADER = new RegExp(String.raw`^\{ *${FIELD} *, *${FIELD} *, *${FIELD} *(?:, *)?\} *\n?$`);
const SIDE = "(?:0|[1-9][0-9]{0,15})";
const SHAPE = new RegExp(String.raw`^\( *(?:${SIDE} *, *(?:${SIDE} *, *)*(?:${SIDE} *)?)?\)$`);
const NUMBERS = /^'(?:([<>])([iu][248]|f[248])|[<>|]([iub]1))'$/;

/** The header of a `.npy` file whose size it states. Throws `RangeError`. */
export function readHeader(data: Uint8Array): Header {
  const [major, minor] = data.subarray(MAGIC.length);
  if (!startsWith(data, MAGIC) || major === undefined || major < 1 || major > MAX_VERSION || minor !== 0) {
    throw new RangeError("it is no .npy file of a version that numpy writes");
  }
  const begin = MAGIC.length + (major === 1 ? 4 : 6);
  if (data.length < begin) throw new RangeError("its header is cut short");
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const length = major === 1 ? view.getUint16(begin - 2, true) : view.getUint32(begin - 4, true);
  const start = begin + length;
  if (length > MAX_HEADER || start > data.length) throw new RangeError("its header is too long");
  const header = parsed(latin1(data.subarray(begin, start)), start);
  const { letter, width, shape } = header;
  // Sides beside a 0 are bounded too: numpy multiplies them.
  const bounded = Number.isSafeInteger(width * product(shape.filter((side) => side > 0)));
  if (!bounded || width * product(shape) !== data.length - start) {
    throw new RangeError("the header says another size than the file has");
  }
  if (letter === "b" && data.subarray(start).some((truth) => truth > 1)) {
    throw new RangeError("a truth value in it is neither 0 nor 1");
  }
  return header;
}

function parsed(text: string, start: number): Header {
  const [, ...found] = HEADER.exec(text) ?? [];
  const fields = new Map([0, 2, 4].map((index) => [found[index], found[index + 1] ?? ""]));
  const [kind = "", order = "", shape = ""] = ["descr", "fortran_order", "shape"].map((name) =>
    fields.get(name),
  );
  if (!kind.startsWith("'") || !["True", "False"].includes(order) || !SHAPE.test(shape)) {
    throw new RangeError("its header is not as numpy writes it for numbers");
  }
  const [, byteOrder, wide, narrow] = NUMBERS.exec(kind) ?? [];
  const type = wide ?? narrow;
  if (type === undefined) {
    throw new RangeError("it holds no integers, floats of 16 to 64 bits or truth values");
  }
  const sides = (shape.match(/[0-9]+/g) ?? []).map(Number);
  if (sides.length > MAX_DIMENSIONS) throw new RangeError(`it has more than ${MAX_DIMENSIONS} dimensions`);
  return {
    letter: type.charAt(0),
    width: Number(type.charAt(1)),
    little: byteOrder !== ">",
    byColumns: order === "True",
    shape: sides,
    start,
  };
}

export function startsWith(data: Uint8Array, text: string): boolean {
  return latin1(data.subarray(0, text.length)) === text;
}

/** Bytes as characters of the same numbers. */
function latin1(data: Uint8Array): string {
  return String.fromCharCode(...data);
}
