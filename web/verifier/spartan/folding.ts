/**
 * Inner products with a vector that is too long to be sent (docs/spartan.md, "Folding"): it is committed to as a matrix,
 * a sum-check over its rows folds them into one, and so on until the rest is short enough. What a column that is opened
 * says of the next vector is one more inner product, of the next level's sum-check.
 */

import { equal } from "../bytes.ts";
import { at } from "../lists.ts";
import { OK } from "../verdict.ts";
import type { Code } from "./code.ts";
import { dot, eq, fromBytes, power, powersAt, reduce, rootOfUnity } from "./field.ts";
import { openedRoot } from "./merkle.ts";
import type { Folded, Reader } from "./proof.ts";
import type { Folding } from "./shape.ts";
import type { Transcript } from "./transcript.ts";

/** That the vector's inner product is `claim`, with the weights whose multilinear extension `weights` evaluates. */
export interface Claim {
  readonly claim: bigint;
  readonly weights: (point: readonly bigint[]) => bigint;
}

/**
 * OK, or why the claim does not hold. The first message is absorbed already, and all that the claim depends on. Throws
 * `MalformedError`.
 */
export function judge(
  { levels, rest }: Folding,
  { messages, rounds }: Folded,
  { claim, weights }: Claim,
  transcript: Transcript,
  reader: Reader,
): string {
  let total = claim;
  const point: bigint[] = [];
  const round = ([constant = 0n, square = 0n]: readonly bigint[]): void => {
    transcript.say("round", [constant, square]);
    const r = transcript.challenge("round");
    total = reduce(constant + r * (total - 2n * constant - square + r * square));
    point.push(r);
  };
  const opened: Claim["weights"][] = [];
  for (const [index, { rounds: count, code }] of levels.entries()) {
    at(rounds, index).forEach(round);
    transcript.absorb("row", at(messages, index + 1));
    const places = transcript.places("places", code.queries, code.logLength);
    const factors = transcript.challenges("weights", places.length);
    const opening = at(reader.openings([2 ** count], places, code.logLength, [false]), 0);
    const root = openedRoot(code, 2 ** count * code.degree, 0, places, opening);
    if (!equal(root, at(messages, index))) return "opening";
    const byRow = eq(point.slice(-count));
    total += dot(
      factors,
      opening.columns.map((column) => dot(byRow, fromBytes(column))),
    );
    opened.push((point) => columnsAt(code, places, factors, point));
  }
  at(rounds, levels.length).forEach(round);
  const value = dot(eq(point.slice(-rest)), fromBytes(at(messages, levels.length)));
  const weight = opened.reduce((sum, each) => sum + each(point), weights(point));
  return reduce(total - value * weight) === 0n ? OK : "proximity";
}

/** The extension of the sum of the places' weights times 1, x, x^2, …, x the place's root of unity. */
export function columnsAt(
  { logDegree, logLength }: Code,
  places: readonly number[],
  weights: readonly bigint[],
  point: readonly bigint[],
): bigint {
  const [root, here] = [rootOfUnity(logLength), point.slice(point.length - logDegree)];
  return dot(
    weights,
    places.map((place) => powersAt(power(root, BigInt(place)), here)),
  );
}
