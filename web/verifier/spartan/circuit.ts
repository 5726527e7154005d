/** A constraint system as whoever verifies has it: every coefficient, found by its digest. */

import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { at } from "../lists.ts";
import { u64 } from "../preamble.ts";
import { eq, reduce, toBytes } from "./field.ts";
import type { Shape, Sizes } from "./shape.ts";
import type { Matrices } from "./verification.ts";

/**
 * Compressed rows: row i has the entries `offsets[i]` to `offsets[i + 1]`; `columns` are variables, `coefficients`
 * places in `pool`, whose integers are canonical.
 */
export interface Matrix {
  readonly offsets: Float64Array;
  readonly columns: Uint32Array;
  readonly coefficients: Uint32Array;
  readonly pool: readonly bigint[];
}

export type Block = readonly [Matrix, Matrix, Matrix];

export function rowsOf(matrix: Matrix): number {
  return matrix.offsets.length - 1;
}

/**
 * Blocks of rows of A, B and C over the variables `1 | public | challenges | segments | private`, each segment with one
 * variable more, which no row reads.
 */
export class Circuit implements Matrices {
  readonly sizes: Sizes;
  readonly digest: Uint8Array;
  readonly #blocks: readonly Block[];

  constructor(sizes: Omit<Sizes, "rows">, blocks: readonly Block[]) {
    const rows = blocks.reduce((sum, [a]) => sum + rowsOf(a), 0);
    this.sizes = { ...sizes, rows };
    this.#blocks = blocks;
    this.digest = this.#hash();
  }

  /** As `Matrices` has it. */
  evaluate(
    shape: Shape,
    rows: readonly bigint[],
    places: readonly bigint[],
    weights: readonly bigint[],
  ): bigint {
    const byRow = eq(rows);
    const columns = weightsOf(shape, places);
    let [total, start] = [0n, 0];
    for (const block of this.#blocks) {
      const here = byRow.slice(start, start + rowsOf(block[0]));
      start += here.length;
      for (const [index, matrix] of block.entries())
        total += at(weights, index) * valueOf(matrix, here, columns);
    }
    return reduce(total);
  }

  /** SHA-256 over the sizes and every coefficient (docs/formats.md), 32 bytes. */
  #hash(): Uint8Array {
    const { public: shown, challenges, private: hidden, segments } = this.sizes;
    const hasher = sha256.create().update(utf8ToBytes("zenserve r1cs 2"));
    const sizes = [shown, challenges, hidden, segments.length, this.#blocks.length];
    for (const [size, linked] of segments) sizes.push(size, Number(linked));
    hasher.update(u64(sizes.length, ...sizes));
    for (const { offsets, columns, coefficients, pool } of this.#blocks.flat()) {
      hasher.update(u64(offsets.length)).update(new Uint8Array(BigUint64Array.from(offsets, BigInt).buffer));
      hasher.update(u64(columns.length)).update(bytesOf(columns));
      hasher.update(u64(coefficients.length)).update(bytesOf(coefficients));
      const constants = toBytes(pool);
      hasher.update(u64(constants.length)).update(constants);
    }
    return hasher.digest();
  }
}

/** Whatever runs JavaScript keeps numbers little-endian, as they are hashed. */
function bytesOf(numbers: Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

/** The sum of all entries, each times its row's and its column's weight. */
function valueOf(
  { offsets, columns, coefficients, pool }: Matrix,
  rows: readonly bigint[],
  weights: readonly bigint[],
): bigint {
  let [total, entry] = [0n, 0];
  for (const [row, weight] of rows.entries()) {
    const end = offsets[row + 1] ?? 0;
    let inner = 0n;
    for (; entry < end; entry += 1) {
      inner += at(pool, coefficients[entry] ?? 0) * at(weights, columns[entry] ?? 0);
    }
    total += weight * reduce(inner);
  }
  return reduce(total);
}

/** eq(places, ·) at each variable's place; those that no row reads have any. */
function weightsOf(shape: Shape, places: readonly bigint[]): bigint[] {
  const { parts, known, rowVariables } = shape;
  const [high, low] = [eq(places.slice(0, rowVariables)), eq(places.slice(rowVariables))];
  const { degree } = shape.code;
  const found: bigint[] = [];
  const add = (first: number, size: number, columns: number): void => {
    for (let i = 0; i < size; i += 1) {
      found.push(reduce(at(high, first + Math.floor(i / columns)) * at(low, i % columns)));
    }
  };
  add(0, known, degree);
  for (const [index, { size, tail, first }] of parts.entries()) {
    add(first, size, degree - tail);
    if (index < parts.length - 1) found.push(0n);
  }
  return found;
}

/** That so many vectors add up, value by value, to the public inputs. */
export function totals(commitments: number, values: number): Circuit {
  const first = 2 + values; // behind the constant one, the totals and a challenge that no row reads
  const columns = Array.from({ length: values * commitments }, (_, entry) => {
    const [value, vector] = [Math.floor(entry / commitments), entry % commitments];
    return first + vector * (values + 1) + value;
  });
  const ones = Array.from({ length: values }, () => 0);
  const claimed = ones.map((_, value) => 1 + value);
  const segments = Array.from({ length: commitments }, () => [values, true] as const);
  const block = [ofRows(columns, commitments), ofRows(ones, 1), ofRows(claimed, 1)] as const;
  return new Circuit({ public: values, challenges: 1, segments, private: 0 }, [block]);
}

/** Rows of so many entries, each 1. */
function ofRows(columns: readonly number[], entries: number): Matrix {
  return {
    offsets: Float64Array.from({ length: columns.length / entries + 1 }, (_, row) => row * entries),
    columns: Uint32Array.from(columns),
    coefficients: new Uint32Array(columns.length),
    pool: [1n],
  };
}
