/** Shapes of numbers that strangers say: of those alone that make proofs sound, hiding and of bounded size. */

import { ZenError } from "../errors.ts";
import type { Code } from "./code.ts";
import { TWO_ADICITY } from "./field.ts";
import { bits, LEAST_BITS, terms } from "./ledger.ts";
import { bitLength, Shape } from "./shape.ts";
import type { Sizes } from "./shape.ts";

/** Of the witness's polynomial: what is larger fits no machine. */
const MOST_VARIABLES = 36;
/** Rows are as long only where there are as many variables: a verifier has tables of a row's places. */
export const MOST_LOG_DEGREE = 16;

/**
 * The shape of proofs of a constraint system, whose linked segments are commitments with rows of this `tail`. Throws
 * `ZenError`: `statement.soundness` where a commitment's columns would tell its values, or a false statement passes
 * with a probability above 2^-128; `statement.too_large` where there is no such code, or the witness fits nowhere.
 */
export function shapeOf(sizes: Sizes, code: Code, tail: number): Shape {
  if (!(code.logDegree >= 0 && code.logLength <= TWO_ADICITY) || code.queries > code.radius) {
    throw new ZenError("statement.too_large", "the field has no such code, or it decodes nothing", "code");
  }
  const isLinked = sizes.segments.some(([, linked]) => linked);
  if (isLinked && !(code.queries <= tail && tail < code.degree)) {
    throw new ZenError(
      "statement.soundness",
      `a commitment has ${tail} random places a row: ${code.queries} to ${code.degree - 1} hide what proofs ` +
        "show of it",
      "commitments",
    );
  }
  const segments = sizes.segments.map(([size, linked]) => ({ size, tail: linked ? tail : null }));
  const logRows = Math.max(1, bitLength(sizes.rows - 1));
  const tooLarge = new ZenError(
    "statement.too_large",
    "the witness has no room in rows of this code",
    "code",
  );
  const variables = segments.reduce((sum, { size }) => sum + size, 1 + sizes.public + sizes.challenges);
  const most = Math.max(MOST_LOG_DEGREE, bitLength(variables + sizes.private - 1));
  if (code.queries >= code.degree || code.logDegree > most) throw tooLarge;
  const linked = segments.filter(({ tail: own }) => own !== null).length;
  const shape = new Shape(code.ofProofs(linked), sizes, segments, logRows);
  if (Math.max(logRows, shape.variables) > MOST_VARIABLES) throw tooLarge;
  requireSure(terms(shape));
  return shape;
}

/** Throws `ZenError` (`statement.soundness`). */
export function requireSure(terms: readonly number[]): void {
  const found = bits(terms);
  if (found < LEAST_BITS) {
    throw new ZenError(
      "statement.soundness",
      `proofs of this shape have ${found.toFixed(1)} bits of soundness, and the least are ${LEAST_BITS}`,
      "code",
    );
  }
}
