/**
 * Openings in public: whoever knows the values checks that a commitment is to them, without the basis.
 *
 * With ρ shown, cm - ρ H commits to the polynomial v(X) = Σ v_i X^i as Kate, Zaverucha and Goldberg do
 * (ASIACRYPT 2010). One point π proves its value at a z that is a hash of all the rest:
 *
 *     π = [(v(τ) - v(z)) / (τ - z)]_1
 *     e(cm - ρ H - v(z) G + z π, [1]_2) = e(π, [τ]_2)       where e(U_1, [1]_2) = e(G, [τ]_2)
 *
 * docs/groth16.md, "Openings in public", has the argument.
 */

import { bls12_381 as bls } from "@noble/curves/bls12-381.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { fromBigEndian, hex } from "../bytes.ts";
import { GENERATOR_G1, GENERATOR_G2, INFINITY_G1, productsAgree, weightedSum } from "../curve.ts";
import { checkHeader, fromHex } from "../document.ts";
import type { Json, JsonObject } from "../json.ts";
import { at } from "../lists.ts";
import { decodeG1, decodeG2, G1_BYTES, PointError, SCALAR_MODULUS, type G1, type G2 } from "../points.ts";
import { OK, SUM_MISMATCH, type Verdict } from "../verdict.ts";
import { decoded, Refused } from "./proof.ts";
import { openingPoint, SCALAR_BYTES } from "./transcript.ts";
import { verdictOf } from "./verdict.ts";

const H_MESSAGE = utf8ToBytes("H");
const H_DOMAIN = "ZENSERVE-V1-COMMITMENT_BLS12381G1_XMD:SHA-256_SSWU_RO_";
const JSON_HEADER = { format: "zenserve opening", version: 1, curve: "bls12381" } as const;
/** So many values are weighted before their sum is reduced. */
const BLOCK = 256;

/**
 * What `checkOpening` takes beside a commitment and its values, for which guesses can then be tested.
 *
 * `blinding`: ρ, 32 bytes, big-endian, below r; `quotient`: π, 48 bytes; `tauG2`: [τ]_2, 96 bytes.
 */
export interface Revealed {
  readonly blinding: Uint8Array;
  readonly quotient: Uint8Array;
  readonly tauG2: Uint8Array;
}

/** A JSON-able form: bytes in lower-case hex. */
export function toJson({ blinding, quotient, tauG2 }: Revealed): JsonObject {
  return { ...JSON_HEADER, blinding: hex(blinding), quotient: hex(quotient), tau_g2: hex(tauG2) };
}

/** The inverse of `toJson`, blind to other fields; the bytes are for `checkOpening` to judge. Throws `ZenError`. */
export function fromJson(document: Json): Revealed {
  checkHeader(document, "an opening", JSON_HEADER);
  return {
    blinding: fromHex(document["blinding"], "blinding"),
    quotient: fromHex(document["quotient"], "quotient"),
    tauG2: fromHex(document["tau_g2"], "tau_g2"),
  };
}

/**
 * Whether `commitment` (48 bytes) is to `values`, integers, taken modulo r.
 *
 * `identity`: U_1 of a basis that the caller trusts, the `basis` of a verifying key. Values that differ by zeros
 * at the end have the same commitments: the caller knows how many there must be. Never throws for bad data: the
 * verdict names the first thing that is wrong.
 */
export function checkOpening(
  identity: Uint8Array,
  commitment: Uint8Array,
  values: readonly bigint[],
  revealed: Revealed,
): Verdict {
  return judged("The commitment is to these values.", () => {
    const blinding = blindingValue(revealed.blinding);
    const cm = decoded(decodeG1, commitment, "commitment");
    const { tau, isOfBasis } = powersOf(identity, revealed.tauG2);
    const quotient = decoded(decodeQuotient, revealed.quotient, "quotient");
    if (!isOfBasis) throw new Refused("opening_basis");
    // One spelling for each value: v and v + r are the same, and must lead to the same z.
    const scalars = values.map(modulo);
    const z = openingPoint(identity, commitment, revealed.blinding, scalars);
    const left = weightedSum(
      [cm, secondGenerator(), GENERATOR_G1, quotient],
      [1n, SCALAR_MODULUS - blinding, SCALAR_MODULUS - evaluate(scalars, z), z],
    );
    if (!productsAgree([[left, GENERATOR_G2]], [[quotient, tau]])) throw new Refused("opening_mismatch");
  });
}

/**
 * Whether `commitments`, each to a single value, add up to one to `total` with the ρ `blinding`.
 *
 * `total`: from 0 to r - 1; `blinding`: 32 bytes, big-endian. That no commitment is counted twice, and that the
 * values are too small to wrap around r, is for the caller to see. Never throws for bad data.
 */
export function checkSum(commitments: readonly Uint8Array[], total: bigint, blinding: Uint8Array): Verdict {
  return judged("The commitments add up to this total.", () => {
    if (total < 0n || total >= SCALAR_MODULUS) throw new Refused("sum_total");
    const expected = weightedSum([GENERATOR_G1, secondGenerator()], [total, blindingValue(blinding)]);
    if (!sumOf(commitments).equals(expected)) throw new Refused(SUM_MISMATCH);
  });
}

/**
 * Whether `commitments`, each to as many values as there are `totals`, add up to one to these: their sum is opened as
 * any commitment (`checkOpening`). What the caller sees to is as of `checkSum`; values may be below 0.
 */
export function checkSums(
  identity: Uint8Array,
  commitments: readonly Uint8Array[],
  totals: readonly bigint[],
  revealed: Revealed,
): Verdict {
  return judged("The commitments add up to these totals.", () => {
    const found = sumOf(commitments).toBytes();
    const verdict = checkOpening(identity, found, totals, revealed);
    if (verdict.reason === "opening_mismatch") throw new Refused(SUM_MISMATCH);
    if (!verdict.valid) throw new Refused(verdict.reason);
  });
}

/** The inverse of the parts one after the other, of any bytes: `checkOpening` judges them. */
export function fromBytes(data: Uint8Array): Revealed {
  const end = SCALAR_BYTES + G1_BYTES;
  return {
    blinding: data.subarray(0, SCALAR_BYTES),
    quotient: data.subarray(SCALAR_BYTES, end),
    tauG2: data.subarray(end),
  };
}

function sumOf(commitments: readonly Uint8Array[]): G1 {
  const points = commitments.map((data) => decoded(decodeG1, data, "commitment"));
  return points.reduce((sum, point) => sum.add(point), INFINITY_G1);
}

interface Powers {
  readonly name: string;
  readonly tau: G2;
  readonly isOfBasis: boolean;
}

/** All openings of an accuracy come with the same: what was found of the last is kept. */
let last: Powers | undefined;

/** [τ]_2, and whether it belongs to this basis. Throws `Refused`. */
function powersOf(identity: Uint8Array, tauG2: Uint8Array): Powers {
  const name = `${hex(identity)} ${hex(tauG2)}`;
  if (last?.name !== name) {
    const first = decoded(decodeG1, identity, "basis");
    const tau = decoded(decodeG2, tauG2, "tau");
    last = { name, tau, isOfBasis: productsAgree([[first, GENERATOR_G2]], [[GENERATOR_G1, tau]]) };
  }
  return last;
}

let h: G1 | undefined;

/** H, hashed to the curve: nobody knows its logarithm. */
export function secondGenerator(): G1 {
  h ??= bls.G1.hashToCurve(H_MESSAGE, { DST: H_DOMAIN });
  return h;
}

/** Σ scalars[i] z^i modulo r. */
function evaluate(scalars: readonly bigint[], z: bigint): bigint {
  // Horner's rule over blocks, in which sums of products are reduced once.
  const powers = [1n];
  while (powers.length < BLOCK) powers.push((at(powers, powers.length - 1) * z) % SCALAR_MODULUS);
  const step = (at(powers, BLOCK - 1) * z) % SCALAR_MODULUS;
  let value = 0n;
  for (let start = scalars.length - 1 - ((scalars.length - 1) % BLOCK); start >= 0; start -= BLOCK) {
    const block = scalars.slice(start, start + BLOCK);
    const sum = block.reduce((sum, scalar, index) => sum + scalar * at(powers, index), 0n);
    value = (value * step + sum) % SCALAR_MODULUS;
  }
  return value;
}

function judged(holds: string, check: () => void): Verdict {
  try {
    check();
    return verdictOf(OK, holds);
  } catch (error) {
    if (error instanceof Refused) return error.verdict;
    throw error;
  }
}

/** The integer below r in 32 bytes, big-endian. Throws `Refused` (`opening_blinding`). */
function blindingValue(data: Uint8Array): bigint {
  const value = fromBigEndian(data);
  if (data.length !== SCALAR_BYTES || value >= SCALAR_MODULUS) throw new Refused("opening_blinding");
  return value;
}

function modulo(value: bigint): bigint {
  const rest = value % SCALAR_MODULUS;
  return rest < 0n ? rest + SCALAR_MODULUS : rest;
}

/** A vector whose values after the first are zero is a constant polynomial: its quotient is zero. */
function decodeQuotient(data: Uint8Array): G1 {
  try {
    return decodeG1(data);
  } catch (error) {
    if (error instanceof PointError && error.fault === "at_infinity") return INFINITY_G1;
    throw error;
  }
}
