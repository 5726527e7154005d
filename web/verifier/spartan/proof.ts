/**
 * Proofs as bytes. Every number has its place by the statement's shape; how many hashes open a tree follows from the
 * places that were drawn.
 */

import { SCALAR_MODULUS } from "../points.ts";
import { at, zip } from "../lists.ts";
import type { Said } from "./claims.ts";
import { ELEMENT_BYTES, fromBytes } from "./field.ts";
import { DIGEST_BYTES, siblingCount } from "./merkle.ts";
import type { Opening } from "./merkle.ts";
import type { Folding, Shape } from "./shape.ts";

/** These bytes are no proof of this shape. */
export class MalformedError extends Error {}

const SALT_BYTES = 32;

/**
 * Of each level the root and its rounds' coefficients of X^0 and X^2, and behind them `rest`, what the vector is folded
 * to, as bytes, with its own rounds.
 */
export interface Folded {
  readonly messages: readonly Uint8Array[];
  readonly rounds: readonly (readonly (readonly bigint[])[])[];
}

/**
 * All of a proof but the openings. `roots`: of the segments, of the private variables and the mask, of the pads.
 * `row`: the rows combined, with their mask, as it is folded, and `product` its inner product; `padRow`: the pads with
 * theirs, as bytes; `padMask`: the inner product of the pads' mask.
 */
export interface Body {
  readonly roots: readonly Uint8Array[];
  readonly said: Said;
  readonly product: bigint;
  readonly row: Folded;
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
    const roots = this.digests(shape.parts.length + 1);
    const outer = this.#rounds(shape.logRows, 2);
    const claims = this.elements(3);
    const inner = this.#rounds(shape.variables, 2);
    const mask = this.element();
    const product = this.element();
    const row = this.folded(shape.folding);
    const opened = this.elements(2);
    const padMask = this.element();
    const padRow = this.canonical(shape.pads.code.degree);
    return { roots, said: { outer, claims, inner, mask, opened }, product, row, padMask, padRow };
  }

  folded({ levels, rest }: Folding): Folded {
    const found = levels.map(({ rounds }) => [this.#take(DIGEST_BYTES), this.#rounds(rounds, 2)] as const);
    found.push([this.canonical(2 ** rest), this.#rounds(rest, 2)]);
    return { messages: found.map(([message]) => message), rounds: found.map(([, rounds]) => rounds) };
  }

  /** Those of matrices of so many rows, at the same places. `salted`: which ones have salts. */
  openings(
    rows: readonly number[],
    places: readonly number[],
    logLeaves: number,
    salted: readonly boolean[],
  ): Opening[] {
    const hashes = siblingCount(places, logLeaves);
    const kinds = zip(rows, salted).map(([each, salts]) => [each, salts ? SALT_BYTES : 0] as const);
    const columns = kinds.reduce((sum, [each, salt]) => sum + salt + ELEMENT_BYTES * each, 0);
    this.#require(places.length * columns + DIGEST_BYTES * hashes * rows.length);
    return kinds.map(([each, salt]) => this.#opening(each, places.length, hashes, salt));
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

  #rounds(count: number, degree: number): bigint[][] {
    return Array.from({ length: count }, () => this.elements(degree));
  }

  #opening(rows: number, places: number, hashes: number, saltBytes: number): Opening {
    const [salts, columns]: Uint8Array[][] = [[], []];
    for (let place = 0; place < places; place += 1) {
      salts?.push(this.#take(saltBytes));
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
