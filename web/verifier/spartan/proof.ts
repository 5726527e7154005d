/**
 * Proofs as bytes. Every number has its place by the statement's shape; how many hashes open a tree follows from the
 * places that were drawn.
 */

import { SCALAR_MODULUS } from "../points.ts";
import { at } from "../lists.ts";
import type { Said } from "./claims.ts";
import { ELEMENT_BYTES, fromBytes } from "./field.ts";
import { DIGEST_BYTES, siblingCount } from "./merkle.ts";
import type { Shape } from "./shape.ts";

/** These bytes are no proof of this shape. */
export class MalformedError extends Error {}

/** Of a tree, at the drawn places, ascending: salts, columns as bytes, and the siblings' hashes. */
export interface Opening {
  readonly salts: readonly Uint8Array[];
  readonly columns: readonly Uint8Array[];
  readonly path: readonly Uint8Array[];
}

/**
 * All of a proof but the openings. `roots`: of the segments, of the private variables and the mask, of the pads.
 * `row`, `padRow`: the rows combined, with their masks, as bytes; `padMask`: the inner product of the pads' mask.
 */
export interface Body {
  readonly roots: readonly Uint8Array[];
  readonly said: Said;
  readonly row: Uint8Array;
  readonly padMask: bigint;
  readonly padRow: Uint8Array;
}

/** Takes a proof apart. Throws `MalformedError` for wrong lengths and numbers that are no elements. */
export class Reader {
  readonly #data: Uint8Array;
  #place = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  body(shape: Shape): Body {
    const rounds = (count: number, degree: number): bigint[][] =>
      Array.from({ length: count }, () => this.elements(degree));
    const roots = this.digests(shape.parts.length + 1);
    const outer = rounds(shape.logRows, 3);
    const claims = this.elements(3);
    const inner = rounds(shape.variables, 2);
    const mask = this.element();
    const row = this.canonical(shape.code.degree);
    const opened = this.elements(2);
    const padMask = this.element();
    const padRow = this.canonical(shape.pads.code.degree);
    return { roots, said: { outer, claims, inner, mask, opened }, row, padMask, padRow };
  }

  /** Those of matrices of so many rows, at the same places. */
  openings(rows: readonly number[], places: readonly number[], logLeaves: number): Opening[] {
    const hashes = siblingCount(places, logLeaves);
    const columns = rows.reduce((sum, each) => sum + DIGEST_BYTES + ELEMENT_BYTES * each, 0);
    this.#require(places.length * columns + DIGEST_BYTES * hashes * rows.length);
    return rows.map((each) => this.#opening(each, places.length, hashes));
  }

  finish(): void {
    if (this.#place !== this.#data.length)
      throw new MalformedError("the proof is longer than its statement's are");
  }

  digests(count: number): Uint8Array[] {
    return Array.from({ length: count }, () => this.#take(DIGEST_BYTES));
  }

  element(): bigint {
    return at(this.elements(1), 0);
  }

  elements(count: number): bigint[] {
    return fromBytes(this.canonical(count));
  }

  /** The bytes of `count` elements, each in its one spelling. */
  canonical(count: number): Uint8Array {
    const data = this.#take(count * ELEMENT_BYTES);
    if (fromBytes(data).some((value) => value >= SCALAR_MODULUS)) {
      throw new MalformedError("a number of the proof is not below the modulus");
    }
    return data;
  }

  #opening(rows: number, places: number, hashes: number): Opening {
    const [salts, columns]: Uint8Array[][] = [[], []];
    for (let place = 0; place < places; place += 1) {
      salts?.push(this.#take(DIGEST_BYTES));
      columns?.push(this.canonical(rows));
    }
    return { salts: salts ?? [], columns: columns ?? [], path: this.digests(hashes) };
  }

  #take(length: number): Uint8Array {
    this.#require(length);
    this.#place += length;
    return this.#data.subarray(this.#place - length, this.#place);
  }

  #require(length: number): void {
    if (this.#place + length > this.#data.length) {
      throw new MalformedError("the proof is shorter than its statement's are");
    }
  }
}
