/** Openings of Merkle trees at many places at once: paths that meet are given once. */

import { blake3 } from "@noble/hashes/blake3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat } from "../bytes.ts";
import { at, zip } from "../lists.ts";
import { u64 } from "../preamble.ts";
import type { Code } from "./code.ts";

/** Of a tree, at the drawn places, ascending: salts, columns as bytes, and the siblings' hashes. */
export interface Opening {
  readonly salts: readonly Uint8Array[];
  readonly columns: readonly Uint8Array[];
  readonly path: readonly Uint8Array[];
}

export const DIGEST_BYTES = 32;
const LEAF_KEY = blake3(utf8ToBytes("zenserve spartan 1: leaf"));
const NODE_KEY = blake3(utf8ToBytes("zenserve spartan 1: node"));
const ROOT_KEY = blake3(utf8ToBytes("zenserve spartan 1: root"));

/** The hash of one column: `salt` (32 bytes, or none), then its entries, canonical. */
export function leaf(salt: Uint8Array, column: Uint8Array): Uint8Array {
  return blake3.create({ key: LEAF_KEY }).update(salt).update(column).digest();
}

/** The hash of two children. */
export function node(left: Uint8Array, right: Uint8Array): Uint8Array {
  return blake3.create({ key: NODE_KEY }).update(left).update(right).digest();
}

/** What a tree is committed to by: its node 1, and the shape of the matrix over whose columns it is. */
export function root(top: Uint8Array, values: number, tail: number, code: Code): Uint8Array {
  return blake3(concat(top, u64(values, tail, code.logDegree, code.logLength)), { key: ROOT_KEY });
}

/** How many nodes an opening of the leaves `places`, ascending, gives. */
export function siblingCount(places: readonly number[], logLeaves: number): number {
  let [known, count] = [places.map((place) => 2 ** logLeaves + place), 0];
  for (let level = 0; level < logLeaves; level += 1) {
    const present = new Set(known);
    count += known.filter((each) => !present.has(each ^ 1)).length;
    known = [...new Set(known.map((each) => each >>> 1))];
  }
  return count;
}

/** Node 1, by the leaves at `places`, ascending, and the hashes of their siblings, exactly as many. */
export function top(
  places: readonly number[],
  leaves: readonly Uint8Array[],
  logLeaves: number,
  path: readonly Uint8Array[],
): Uint8Array {
  let level = new Map(zip(places, leaves).map(([place, digest]) => [2 ** logLeaves + place, digest]));
  let given = 0;
  for (let height = 0; height < logLeaves; height += 1) {
    const above = new Map<number, Uint8Array>();
    for (const [place, digest] of level) {
      if (above.has(place >>> 1)) continue;
      const sibling = level.get(place ^ 1) ?? at(path, given++);
      above.set(place >>> 1, place % 2 === 0 ? node(digest, sibling) : node(sibling, digest));
    }
    level = above;
  }
  const found = level.get(1);
  if (found === undefined) throw new RangeError("there are no leaves");
  return found;
}

/** The root of a tree by what is opened of it. */
export function openedRoot(
  code: Code,
  values: number,
  tail: number,
  places: readonly number[],
  { salts, columns, path }: Opening,
): Uint8Array {
  const leaves = zip(salts, columns).map(([salt, column]) => leaf(salt, column));
  return root(top(places, leaves, code.logLength, path), values, tail, code);
}
