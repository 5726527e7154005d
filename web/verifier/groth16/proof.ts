/** Proofs: three group elements, and what shows that the segments were committed to and linked. */

import { ZenError } from "../errors.ts";
import { decodeG1, decodeG2, G1_BYTES, G2_BYTES, PointError, type G1, type G2 } from "../points.ts";
import { checkPreamble, MAGIC, PREAMBLE_BYTES, PROOF, startsWith } from "../preamble.ts";
import type { Verdict } from "../verdict.ts";
import { verdictOf, type Element } from "./verdict.ts";

/** A proof counts its segments in one byte. */
export const MOST_SEGMENTS = 255;
const PLAIN_BYTES = 2 * G1_BYTES + G2_BYTES;

/** What earns this verdict. */
export class Refused extends Error {
  readonly verdict: Verdict;

  constructor(reason: string, detail?: string) {
    super(reason);
    this.verdict = verdictOf(reason, detail);
  }
}

/** A proof's points, each in its subgroup and finite. */
export interface Points {
  readonly a: G1;
  readonly b: G2;
  readonly c: G1;
  readonly segments: readonly G1[];
  readonly knowledge: readonly G1[];
  readonly links: readonly G1[];
}

/**
 * A (48 bytes), B (96 bytes) and C (48 bytes), each compressed as ZCash and the IETF do.
 *
 * Beside them 48 bytes each: the commitments D to the `segments`, σD as proof of `knowledge` of their openings,
 * and a proof for each of the `links` between a segment and a commitment from outside.
 */
export interface Proof {
  readonly a: Uint8Array;
  readonly b: Uint8Array;
  readonly c: Uint8Array;
  readonly segments: readonly Uint8Array[];
  readonly knowledge: readonly Uint8Array[];
  readonly links: readonly Uint8Array[];
}

/**
 * The elements in `data`, undecoded: without segments A | B | C, 192 bytes as everywhere; with them the file
 * form of docs/formats.md. Throws `Refused`: `proof_length`, `proof_format`.
 */
export function split(data: Uint8Array): Proof {
  if (data.length === PLAIN_BYTES) return cut(data, 0, 0);
  const segments = data[PREAMBLE_BYTES];
  const links = data[PREAMBLE_BYTES + 1];
  if (segments === undefined || links === undefined || !startsWith(data, MAGIC)) {
    throw new Refused("proof_length");
  }
  try {
    checkPreamble(data, PROOF);
  } catch (error) {
    throw error instanceof ZenError ? new Refused("proof_format") : error;
  }
  const body = data.subarray(PREAMBLE_BYTES + 2);
  const announced = PLAIN_BYTES + G1_BYTES * (2 * segments + links);
  if (segments === 0 || links > segments || body.length !== announced) throw new Refused("proof_length");
  return cut(body, segments, links);
}

/** The points, checked. Throws `Refused`. */
export function decode(proof: Proof): Points {
  return {
    a: decoded(decodeG1, proof.a, "a"),
    b: decoded(decodeG2, proof.b, "b"),
    c: decoded(decodeG1, proof.c, "c"),
    segments: proof.segments.map((data) => decoded(decodeG1, data, "segment")),
    knowledge: proof.knowledge.map((data) => decoded(decodeG1, data, "knowledge")),
    links: proof.links.map((data) => decoded(decodeG1, data, "link")),
  };
}

/** The point of `data`. Throws `Refused` with the reason `{name}_{fault}`. */
export function decoded<P>(decode: (data: Uint8Array) => P, data: Uint8Array, name: Element): P {
  try {
    return decode(data);
  } catch (error) {
    throw error instanceof PointError ? new Refused(`${name}_${error.fault}`) : error;
  }
}

function cut(body: Uint8Array, segments: number, links: number): Proof {
  const b = G1_BYTES;
  const c = b + G2_BYTES;
  const rest = Array.from({ length: 2 * segments + links }, (_, index) => {
    const start = PLAIN_BYTES + index * G1_BYTES;
    return body.subarray(start, start + G1_BYTES);
  });
  return {
    a: body.subarray(0, b),
    b: body.subarray(b, c),
    c: body.subarray(c, PLAIN_BYTES),
    segments: rest.slice(0, segments),
    knowledge: rest.slice(segments, 2 * segments),
    links: rest.slice(2 * segments),
  };
}
