/**
 * Compressed points of BLS12-381 from untrusted bytes, decoded with every check.
 *
 * The encoding is that of ZCash and the IETF: x big-endian (G2: c1 before c0), three flag bits on top of the
 * first byte. Flags and range are checked here, not by the pairing library's decoder, which reads infinity and
 * uncompressed points, too; and each fault has its name.
 */

import type { IField } from "@noble/curves/abstract/modular.js";
import type { Fp2 } from "@noble/curves/abstract/tower.js";
import type { WeierstrassPoint, WeierstrassPointCons } from "@noble/curves/abstract/weierstrass.js";
import { bls12_381 as bls } from "@noble/curves/bls12-381.js";
import { concat, fromBigEndian, toBigEndian } from "./bytes.ts";

export type G1 = WeierstrassPoint<bigint>;
export type G2 = WeierstrassPoint<Fp2>;

export const FIELD_MODULUS = bls.fields.Fp.ORDER;
export const SCALAR_MODULUS = bls.fields.Fr.ORDER;

export const G1_BYTES = 48;
export const G2_BYTES = 96;

const COORDINATE_BYTES = 64;

const COMPRESSED = 0x80;
const INFINITY = 0x40;
const SIGN = 0x20;

/** Why bytes of the right length are no acceptable point. */
export const FAULTS = [
  "encoding",
  "not_canonical",
  "not_on_curve",
  "not_in_subgroup",
  "at_infinity",
] as const;
export type Fault = (typeof FAULTS)[number];

/** Thrown by the decoders below; callers turn it into their own error or verdict. */
export class PointError extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault);
    this.fault = fault;
  }
}

/** 128 bytes: x, then y, each big-endian in 64 bytes, as EIP-2537 has them. */
export function uncompressed(point: G1): Uint8Array {
  const { x, y } = point.toAffine();
  return concat(toBigEndian(x, COORDINATE_BYTES), toBigEndian(y, COORDINATE_BYTES));
}

/** A finite point of the prime-order subgroup of G1 from 48 bytes. Throws `PointError`. */
export function decodeG1(data: Uint8Array): G1 {
  const [x] = coordinates(data, G1_BYTES);
  return solved(bls.G1.Point, x, (y) => y > FIELD_MODULUS / 2n, hasSign(data));
}

/** A finite point of the prime-order subgroup of G2 from 96 bytes. Throws `PointError`. */
export function decodeG2(data: Uint8Array): G2 {
  const [c1, c0] = coordinates(data, G2_BYTES);
  const isLarger = (y: Fp2): boolean => (y.c1 === 0n ? y.c0 : y.c1) > FIELD_MODULUS / 2n;
  return solved(bls.G2.Point, bls.fields.Fp2.fromBigTuple([c0, c1]), isLarger, hasSign(data));
}

/** The x coordinate of a compressed point: what P and −P share. */
export function withoutSign(point: Uint8Array): Uint8Array {
  return concat(Uint8Array.of((point[0] ?? 0) & ~(COMPRESSED | INFINITY | SIGN)), point.subarray(1));
}

/** What follows the flags, each half below the field modulus. For G1 the second half is empty: zero. */
function coordinates(data: Uint8Array, length: number): [bigint, bigint] {
  const flags = data[0];
  if (data.length !== length || flags === undefined || !(flags & COMPRESSED))
    throw new PointError("encoding");
  const plain = withoutSign(data);
  const first = fromBigEndian(plain.subarray(0, G1_BYTES));
  const second = fromBigEndian(plain.subarray(G1_BYTES));
  if (flags & INFINITY) {
    throw new PointError(flags & SIGN || first || second ? "encoding" : "at_infinity");
  }
  if (first >= FIELD_MODULUS || second >= FIELD_MODULUS) throw new PointError("not_canonical");
  return [first, second];
}

function hasSign(data: Uint8Array): boolean {
  return ((data[0] ?? 0) & SIGN) !== 0;
}

/** The point with this x, and of the two y the larger one or not. */
function solved<T>(
  point: WeierstrassPointCons<T>,
  x: T,
  isLarger: (y: T) => boolean,
  larger: boolean,
): WeierstrassPoint<T> {
  const field = point.Fp;
  const root = squareRoot(field, field.add(field.mul(field.sqr(x), x), point.CURVE().b));
  const y = isLarger(root) === larger ? root : field.neg(root);
  const found = point.fromAffine({ x, y });
  if (!found.isTorsionFree()) throw new PointError("not_in_subgroup");
  return found;
}

function squareRoot<T>(field: IField<T>, square: T): T {
  let root: T;
  try {
    root = field.sqrt(square);
  } catch {
    throw new PointError("not_on_curve");
  }
  if (!field.eql(field.sqr(root), square)) throw new PointError("not_on_curve");
  return root;
}
