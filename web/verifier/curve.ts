/** What verification asks of BLS12-381 beside its points. All of it is public: nothing is secret in timing. */

import { mulAddUnsafe, normalizeZ } from "@noble/curves/abstract/curve.js";
import { bls12_381 as bls } from "@noble/curves/bls12-381.js";
import { zip } from "./lists.ts";
import { SCALAR_MODULUS, type G1, type G2 } from "./points.ts";

export const GENERATOR_G1: G1 = bls.G1.Point.BASE;
export const GENERATOR_G2: G2 = bls.G2.Point.BASE;
export const INFINITY_G1: G1 = bls.G1.Point.ZERO;
export const INFINITY_G2: G2 = bls.G2.Point.ZERO;

export type Pair = readonly [G1, G2];
type Line = Parameters<typeof bls.millerLoopBatch>[0][number];

/** Σ weights[i] · points[i]; weights are not negative, and taken modulo r. */
export function weightedSum(points: readonly G1[], weights: readonly bigint[]): G1 {
  const scalars = weights.map((weight) => weight % SCALAR_MODULUS);
  return mulAddUnsafe(bls.G1.Point, [...points], scalars);
}

/** The x coordinates of finite points: what P and −P share. */
export function affineX(points: readonly G1[]): bigint[] {
  return normalizeZ(bls.G1.Point, [...points]).map((point) => point.X);
}

/** Whether the pairings on both sides have the same product. */
export function productsAgree(left: readonly Pair[], right: readonly Pair[]): boolean {
  const moved = right.map(([p, q]): Pair => [p.negate(), q]);
  // A pair with a point at infinity is one, which the library leaves to its callers.
  const pairs = [...left, ...moved].filter(([p, q]) => !p.is0() && !q.is0());
  const points = normalizeZ(
    bls.G1.Point,
    pairs.map(([p]) => p),
  );
  const lines = zip(points, pairs).map(([p, [, q]]): Line => [bls.utils.calcPairingPrecomputes(q), p.X, p.Y]);
  const { Fp12 } = bls.fields;
  return Fp12.eql(Fp12.finalExponentiate(bls.millerLoopBatch(lines)), Fp12.ONE);
}
