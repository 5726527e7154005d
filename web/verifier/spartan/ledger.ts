/**
 * How sure a proof is: every way in which a false statement can pass, each as -log2 of its probability
 * (docs/spartan.md derives them).
 */

import { SCALAR_MODULUS } from "../points.ts";
import { Code } from "./code.ts";
import { bitLength, Folding } from "./shape.ts";
import type { Shape } from "./shape.ts";

export const LEAST_BITS = 128;
/** Of a chain of renewals, from a commitment as it was registered to the one that a proof opens. */
export const MOST_LINKS = 4;
const FIELD_BITS = Math.log2(Number(SCALAR_MODULUS));

/** Of one proof, but for what the statement's own challenges can miss. */
export function terms(shape: Shape): number[] {
  const { code, pads, folding } = shape;
  return [
    overField(shape.logRows),
    overField(2 * shape.logRows),
    overField(1), // matrices combined
    overField(2 * shape.variables),
    ...[1, 1, 1, 1].map(overField), // the rows' mask, the product of two pads, the pads' equations, their mask
    overField((shape.rowVariables + 1) * code.length),
    overField(pads.code.length),
    code.missedBits,
    pads.code.missedBits,
    ...ofFolding(folding),
  ];
}

function ofFolding({ variables, levels }: Folding): number[] {
  const far = levels.reduce((sum, { rounds, code }) => sum + rounds * code.length, 0);
  return [
    overField(levels.length + 1), // claims of columns, weighted
    overField(2 * variables),
    overField(far),
    ...levels.map(({ code }) => code.missedBits),
  ];
}

/** `numerator` / r; none at all, infinitely many bits, of 0. */
function overField(numerator: number): number {
  return FIELD_BITS - Math.log2(numerator);
}

/** Of as many renewals as the commitments that a proof is about can have had, together. */
export function ofChains(shape: Shape): number[] {
  const code = new Code(shape.code.logDegree, shape.code.logLength);
  const linked = shape.parts.filter((part) => part.linked);
  const links = MOST_LINKS * linked.length;
  if (links === 0) return [];
  const logRows = Math.max(0, bitLength(Math.max(...linked.map(({ rows }) => rows)) - 1));
  const renewal = [
    overField(logRows + code.logDegree),
    overField(1),
    overField(2 * (logRows + 1) * code.length),
    code.missedBits,
    ...ofFolding(new Folding(code, code.logDegree + 1)),
  ];
  return renewal.map((bits) => bits - Math.log2(links));
}

/** -log2 of the sum of all terms. */
export function bits(terms: readonly number[]): number {
  return -Math.log2(terms.reduce((sum, term) => sum + 2 ** -term, 0));
}
