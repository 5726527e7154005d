/** The scalars of BLS12-381 as integers in [0, r), and vectors of them: all that transparent proofs compute with. */

import { at } from "../lists.ts";
import { SCALAR_MODULUS } from "../points.ts";

/** The scalars whose 2^32-th roots of unity are there. */
export const TWO_ADICITY = 32;
export const ELEMENT_BYTES = 32;
/** It has no square root. */
const GENERATOR = 5n;
const WORD_BYTES = 8;
const WORDS = ELEMENT_BYTES / WORD_BYTES;

/** Of any integer. */
export function reduce(value: bigint): bigint {
  const rest = value % SCALAR_MODULUS;
  return rest < 0n ? rest + SCALAR_MODULUS : rest;
}

/** `base` to the power of a natural number. */
export function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = reduce(result * square);
    square = reduce(square * square);
  }
  return result;
}

/** The generator of the subgroup of order 2^`logSize`. */
export function rootOfUnity(logSize: number): bigint {
  return power(GENERATOR, (SCALAR_MODULUS - 1n) >> BigInt(logSize));
}

/** The values of eq(point, x) for x in {0, 1}^v, the first variable the index's highest bit. */
export function eq(point: readonly bigint[]): bigint[] {
  let table = [1n];
  for (const r of point) {
    table = table.flatMap((value) => {
      const high = reduce(value * r);
      return [reduce(value - high), high];
    });
  }
  return table;
}

/** The multilinear extension of the vector 1, x, x^2, … at the point. */
export function powersAt(x: bigint, point: readonly bigint[]): bigint {
  let [value, square] = [1n, x];
  for (const r of [...point].reverse()) {
    value = reduce(value * (1n - r + r * square));
    square = reduce(square * square);
  }
  return value;
}

/** eq(point, other). */
export function eqAt(point: readonly bigint[], other: readonly bigint[]): bigint {
  return point.reduce((result, a, index) => {
    const b = at(other, index);
    return reduce(result * (1n - a - b + 2n * a * b));
  }, 1n);
}

/** The sum of the products, over the shorter of both. */
export function dot(a: readonly bigint[], b: readonly bigint[]): bigint {
  const length = Math.min(a.length, b.length);
  let total = 0n;
  for (let i = 0; i < length; i += 1) total += at(a, i) * at(b, i);
  return reduce(total);
}

/** The polynomial's values at the 2^`logLength`-th roots of unity, in the order of their exponents. */
export function encode(coefficients: readonly bigint[], logLength: number): bigint[] {
  const length = 1 << logLength;
  const values = new Array<bigint>(length).fill(0n);
  for (const [index, value] of coefficients.entries()) values[reversed(index, logLength)] = value;
  for (let half = 1, log = 1; half < length; half *= 2, log += 1) {
    const roots = powers(rootOfUnity(log), half);
    for (let start = 0; start < length; start += 2 * half) {
      for (let i = 0; i < half; i += 1) {
        const [one, other] = [at(values, start + i), reduce(at(roots, i) * at(values, start + half + i))];
        const [sum, difference] = [one + other, one - other];
        values[start + i] = sum < SCALAR_MODULUS ? sum : sum - SCALAR_MODULUS;
        values[start + half + i] = difference < 0n ? difference + SCALAR_MODULUS : difference;
      }
    }
  }
  return values;
}

function powers(base: bigint, count: number): bigint[] {
  const found = [1n];
  while (found.length < count) found.push(reduce(at(found, found.length - 1) * base));
  return found;
}

function reversed(index: number, bits: number): number {
  let [rest, result] = [index, 0];
  for (let bit = 0; bit < bits; bit += 1, rest >>= 1) result = 2 * result + (rest & 1);
  return result;
}

/** `ELEMENT_BYTES` of each, little-endian. */
export function toBytes(values: readonly bigint[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(ELEMENT_BYTES * values.length));
  for (const [index, value] of values.entries()) {
    let rest = value;
    for (let word = 0; word < WORDS; word += 1, rest >>= 64n) {
      view.setBigUint64(ELEMENT_BYTES * index + WORD_BYTES * word, rest, true);
    }
  }
  return new Uint8Array(view.buffer);
}

/** The integers that stand there, whether they are below the modulus or not. */
export function fromBytes(data: Uint8Array): bigint[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const values: bigint[] = [];
  for (let place = 0; place < data.length; place += ELEMENT_BYTES) {
    let value = 0n;
    for (let word = WORDS - 1; word >= 0; word -= 1) {
      value = (value << 64n) | view.getBigUint64(place + WORD_BYTES * word, true);
    }
    values.push(value);
  }
  return values;
}
