/**
 * That two commitments are to the same values: one whose openings are nearly spent hands on to one with fresh random
 * numbers (docs/spartan.md, "Renewals"); and chains of such renewals, from a commitment as it was registered to the one
 * that a proof opens.
 */

import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat, equal } from "../bytes.ts";
import { at, zip } from "../lists.ts";
import { readU32, u64 } from "../preamble.ts";
import { OK } from "../verdict.ts";
import { QUERY_BITS } from "./code.ts";
import type { Rows } from "./commitment.ts";
import { dot, eq, fromBytes, reduce } from "./field.ts";
import { columnsAt, judge } from "./folding.ts";
import { MOST_LINKS } from "./ledger.ts";
import { DIGEST_BYTES, openedRoot } from "./merkle.ts";
import { MalformedError, Reader } from "./proof.ts";
import { bitLength, Folding, rowsFor } from "./shape.ts";
import { Transcript } from "./transcript.ts";

const LENGTH_BYTES = 4;

/** `proof`: that `root` is a commitment to the values of the one before. */
export interface Link {
  readonly root: Uint8Array;
  readonly proof: Uint8Array;
}

/** So many chains, and what follows. Throws `MalformedError`. */
export function split(data: Uint8Array, count: number): { chains: Link[][]; proof: Uint8Array } {
  let place = 0;
  const take = (length: number): Uint8Array => {
    place += length;
    if (place > data.length) throw new MalformedError("the proof is shorter than its chains of renewals");
    return data.subarray(place - length, place);
  };
  const chains = Array.from({ length: count }, () => {
    const links = at([...take(1)], 0);
    if (links > MOST_LINKS) {
      throw new MalformedError(`a commitment was renewed more than ${MOST_LINKS} times`);
    }
    return Array.from({ length: links }, () => ({
      root: take(DIGEST_BYTES),
      proof: take(readU32(take(LENGTH_BYTES), 0)),
    }));
  });
  return { chains, proof: data.subarray(place) };
}

/** The root at the end of the chain that begins with `root`, null where a link does not hold. */
export function end(rows: Rows, size: number, root: Uint8Array, chain: readonly Link[]): Uint8Array | null {
  let last = root;
  for (const link of chain) {
    if (!isRenewed(rows, size, last, link)) return null;
    last = link.root;
  }
  return last;
}

/** Whether `old` and the link's root are commitments to the same `size` values. Never throws for bad data. */
function isRenewed(rows: Rows, size: number, old: Uint8Array, link: Link): boolean {
  try {
    return holds(rows, size, old, link);
  } catch (error) {
    if (error instanceof MalformedError) return false;
    throw error;
  }
}

function holds(rows: Rows, size: number, old: Uint8Array, link: Link): boolean {
  const { code, tail } = rows;
  const [width, reader] = [code.degree - tail, new Reader(link.proof)];
  const count = rowsFor(size, width);
  const maskRoot = at(reader.digests(1), 0);
  const product = reader.element();
  const folding = new Folding(code, code.logDegree + 1);
  const row = reader.folded(folding);
  const transcript = begin(rows, size, old, link.root);
  transcript.absorb("mask", maskRoot);
  const r = transcript.challenges("rows", Math.max(0, bitLength(count - 1)));
  const s = transcript.challenges("columns", code.logDegree);
  transcript.say("product", [product]);
  const factor = transcript.challenge("mask");
  transcript.absorb("row", at(row.messages, 0));
  const places = transcript.places("places", code.queries, code.logLength);
  const openings = reader.openings([count, count, 2], places, code.logLength, [true, true, true]);
  const roots = [
    { root: old, values: size, tail },
    { root: link.root, values: size, tail },
    { root: maskRoot, values: 2 * code.degree, tail: 0 },
  ];
  const areOpened = zip(roots, openings).every(([expected, opening]) =>
    equal(openedRoot(code, expected.values, expected.tail, places, opening), expected.root),
  );
  if (!areOpened) return false;
  const [byRow, byColumn] = [eq(r), eq(s).slice(0, width)];
  const values = [0, 1].flatMap((which) => {
    const [masks, columns] = [at(openings, 2).columns, at(openings, which).columns];
    return zip(masks, columns).map(
      ([mask, column]) => at(fromBytes(mask), which) + factor * dot(byRow, fromBytes(column)),
    );
  });
  const weights = transcript.challenges("weights", values.length);
  const claim = {
    claim: product + dot(weights, values),
    // The first variable chooses the row.
    weights: ([which = 0n, ...point]: readonly bigint[]) => {
      const [before, after] = [weights.slice(0, places.length), weights.slice(places.length)];
      const both = zip(before, after).map(([one, other]) => reduce(one + which * (other - one)));
      return (1n - 2n * which) * dot(byColumn, eq(point)) + columnsAt(code, places, both, point);
    },
  };
  const isRight = judge(folding, row, claim, transcript, reader) === OK;
  reader.finish();
  return isRight;
}

/** What both have seen of commitments to `size` values. */
function begin({ code, tail }: Rows, size: number, old: Uint8Array, renewed: Uint8Array): Transcript {
  const numbers = u64(code.logDegree, code.logLength, QUERY_BITS, tail, size);
  const transcript = new Transcript(concat(utf8ToBytes("renewal"), numbers));
  transcript.absorb("old", old);
  transcript.absorb("new", renewed);
  return transcript;
}
