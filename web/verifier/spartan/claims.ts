/**
 * What must hold between the pads of a proof, so that its messages, less the pads, make two good sum-checks.
 *
 * Every number that a prover says of its witness is one-time padded: what was said is the truth and a pad. What a
 * verifier would check is then a linear form in the pads, but for one product, of the claims a and b; the pads of both
 * are multiplied beforehand, and the product shown to be right by a random triple (Beaver 1991).
 */

import { at, zip } from "../lists.ts";
import { reduce } from "./field.ts";
import type { Pads } from "./shape.ts";

/** How many forms must be zero. */
export const FORMS = 5;

/** `constant` and, by their places, the coefficients of pads. */
export class Form {
  readonly constant: bigint;
  readonly pads: ReadonlyMap<number, bigint>;

  constructor(constant: bigint, pads: ReadonlyMap<number, bigint> = new Map()) {
    this.constant = constant;
    this.pads = pads;
  }

  plus(other: Form): Form {
    const pads = new Map(this.pads);
    for (const [place, coefficient] of other.pads) {
      pads.set(place, reduce((pads.get(place) ?? 0n) + coefficient));
    }
    return new Form(reduce(this.constant + other.constant), pads);
  }

  minus(other: Form): Form {
    return this.plus(other.times(-1n));
  }

  times(factor: bigint): Form {
    const pads = [...this.pads].map(([place, each]) => [place, reduce(each * factor)] as const);
    return new Form(reduce(this.constant * factor), new Map(pads));
  }
}

/**
 * What the prover said, padded: the coefficients of X and X^2 of the first sum-check's rounds, the claims a, b
 * and c, the coefficients of X^0 and X^2 of the second one's, the mask's inner product, and the openings of the triple.
 */
export interface Said {
  readonly outer: readonly (readonly bigint[])[];
  readonly claims: readonly bigint[];
  readonly inner: readonly (readonly bigint[])[];
  readonly mask: bigint;
  readonly opened: readonly bigint[];
}

/**
 * The challenges: `zero` the point at which the constraints' polynomial is to vanish, `outer` and `inner` the points of
 * the sum-checks, `matrices` what A, B and C are combined by, `mask` what the rows are multiplied by beside the mask,
 * `triple` what the product is checked at.
 */
export interface Drawn {
  readonly zero: readonly bigint[];
  readonly outer: readonly bigint[];
  readonly matrices: readonly bigint[];
  readonly inner: readonly bigint[];
  readonly mask: bigint;
  readonly triple: bigint;
}

/**
 * What the verifier computes: the combined matrices at both points, the known variables' part of the witness at the
 * second one, and the inner product of the combined row there.
 */
export interface Known {
  readonly matrices: bigint;
  readonly witness: bigint;
  readonly row: bigint;
}

/** What must be zero. */
export function forms(pads: Pads, said: Said, drawn: Drawn, known: Known): Form[] {
  const number = (value: bigint): Form => new Form(reduce(value));
  const pad = (place: number): Form => new Form(0n, new Map([[place, 1n]]));
  const told = (value: bigint, place: number): Form => number(value).minus(pad(place));
  const truths = (rounds: readonly (readonly bigint[])[], place: number): (readonly [Form, Form])[] =>
    rounds.map((coefficients, index) => [
      told(at(coefficients, 0), place + 2 * index),
      told(at(coefficients, 1), place + 2 * index + 1),
    ]);

  // Rounds without eq(zero, ·) (Gruen, ePrint 2024/108): of constant + linear X + square X^2 the last two are given, and
  // the claim before is constant + w (linear + square), w the coordinate.
  const outer = zip(truths(said.outer, 0), zip(drawn.zero, drawn.outer)).reduce(
    (claim, [[linear, square], [w, r]]) => claim.plus(linear.times(r - w)).plus(square.times(r * r - w)),
    number(0n),
  );
  const claims = said.claims.map((value, i) => told(value, pads.claims + i));
  const [a, c] = [at(claims, 0), at(claims, 2)];
  const [saidA, saidB] = [at(said.claims, 0), at(said.claims, 1)];
  // (A - p)(B - q) = A B - A q - B p + p q, A and B what was said, p and q the pads.
  const product = a
    .times(saidB)
    .minus(pad(pads.claims + 1).times(saidA))
    .plus(pad(pads.product));
  const first = outer.minus(product.minus(c));

  const start = zip(claims, drawn.matrices).reduce((sum, [each, r]) => sum.plus(each.times(r)), number(0n));
  const inner = zip(truths(said.inner, pads.inner), drawn.inner).reduce(
    (claim, [coefficients, r]) => nextClaim(claim, coefficients, r),
    start,
  );
  // The combined row's inner product is the mask's, and that of the witness's rows times the challenge.
  const witness = number(known.row).minus(told(said.mask, pads.mask));
  const second = inner
    .minus(number(known.matrices * known.witness))
    .times(drawn.mask)
    .minus(witness.times(known.matrices));

  const [x, y, xy] = [pad(pads.triple), pad(pads.triple + 1), pad(pads.triple + 2)];
  const [left, right] = [at(said.opened, 0), at(said.opened, 1)];
  return [
    first,
    second,
    number(left).minus(pad(pads.claims).times(drawn.triple)).minus(x),
    number(right)
      .minus(pad(pads.claims + 1))
      .minus(y),
    // (left - x)(right - y) is the product of the pads, times the challenge.
    number(left * right)
      .minus(y.times(left))
      .minus(x.times(right))
      .plus(xy)
      .minus(pad(pads.product).times(drawn.triple)),
  ];
}

/**
 * A round polynomial at `r`: of its coefficients those of 1 and X^2 are given, and its values at 0 and 1 add up to
 * `claim`.
 */
function nextClaim(claim: Form, [constant, square]: readonly [Form, Form], r: bigint): Form {
  const linear = claim.minus(constant.times(2n)).minus(square);
  return constant.plus(linear.times(r)).plus(square.times(r * r));
}

/** One equation for all: the coefficients of `count` pads, and what their sum must be. */
export function combined(
  equations: readonly Form[],
  weights: readonly bigint[],
  count: number,
): { readonly functional: bigint[]; readonly value: bigint } {
  const total = zip(equations, weights).reduce(
    (sum, [form, weight]) => sum.plus(form.times(weight)),
    new Form(0n),
  );
  const functional = Array.from({ length: count }, (_, place) => total.pads.get(place) ?? 0n);
  return { functional, value: reduce(-total.constant) };
}
