/**
 * What a verifier would draw: hashes of everything that was fixed before them (Fiat and Shamir).
 *
 * Left out of the hash, any part of what is proven could be changed once the challenge is known.
 */

import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat, fromBigEndian, toBigEndian } from "../bytes.ts";
import { at } from "../lists.ts";
import { SCALAR_MODULUS, uncompressed, type G1 } from "../points.ts";
import { OLD_VERIFYING_KEY } from "../preamble.ts";
import type { VerifyingKey } from "./verifyingKey.ts";

const TAG = utf8ToBytes("zenserve challenge 2");
const OLD_TAG = utf8ToBytes("zenserve challenge 1");
const OPENING_TAG = utf8ToBytes("zenserve opening 1");
export const SCALAR_BYTES = 32;

/**
 * The challenges that `key` counts, canonical integers (docs/formats.md, "Challenges"). Where it folds public inputs,
 * the last one is their fold at the first one.
 *
 * `publicInputs`: canonical integers, challenges not among them; `segments`: the proof's commitments to its
 * segments; `commitments`: those from outside that it is linked to.
 */
export function challenges(
  key: VerifyingKey,
  publicInputs: readonly bigint[],
  segments: readonly G1[],
  commitments: readonly G1[],
): bigint[] {
  if (key.challenges === 0) return [];
  const drawn = key.challenges - (key.folded > 0 ? 1 : 0);
  const old = key.kind === OLD_VERIFYING_KEY;
  const encode = old ? (point: G1): Uint8Array => point.toBytes(true) : uncompressed;
  const points = [segments, commitments].flatMap((part) => [
    toBigEndian(part.length, 4),
    ...part.map(encode),
  ]);
  const inputs = concat(toBigEndian(publicInputs.length, 4), joined(publicInputs));
  const message = concat(old ? OLD_TAG : TAG, key.digest, inputs, ...points);
  const wide = old ? sha512 : twoSha256;
  const found = Array.from({ length: drawn }, (_, index) =>
    moduloR(wide(concat(message, toBigEndian(index, 4)))),
  );
  return key.folded > 0 ? [...found, fold(publicInputs.slice(-key.folded), at(found, 0))] : found;
}

/** Σ values[i] z^i modulo r. */
function fold(values: readonly bigint[], z: bigint): bigint {
  return values.reduceRight((sum, value) => (sum * z + value) % SCALAR_MODULUS, 0n);
}

/**
 * The z at which a commitment that is opened in public is evaluated (docs/formats.md).
 *
 * `identity`: U_1 of the basis, and `commitment`, 48 bytes each; `blinding`: 32 bytes; `values`: canonical
 * integers.
 */
export function openingPoint(
  identity: Uint8Array,
  commitment: Uint8Array,
  blinding: Uint8Array,
  values: readonly bigint[],
): bigint {
  const head = concat(OPENING_TAG, identity, commitment, blinding, toBigEndian(values.length, 8));
  return moduloR(sha512.create().update(head).update(joined(values)).digest());
}

/** 512 bits: SHA-256 of the message and a byte 0, then of the message and a byte 1. */
function twoSha256(message: Uint8Array): Uint8Array {
  return concat(...[0, 1].map((half) => sha256(concat(message, Uint8Array.of(half)))));
}

/** `SCALAR_BYTES` of each, big-endian. */
function joined(scalars: readonly bigint[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(SCALAR_BYTES * scalars.length));
  scalars.forEach((scalar, index) => {
    // Most are small, and all there is before them is zero.
    for (let end = SCALAR_BYTES * (index + 1), rest = scalar; rest > 0n; end -= 8, rest >>= 64n) {
      view.setBigUint64(end - 8, rest);
    }
  });
  return new Uint8Array(view.buffer);
}

/** 512 bits modulo a prime of 255: the bias is below 2^-256. */
function moduloR(digest: Uint8Array): bigint {
  return fromBigEndian(digest) % SCALAR_MODULUS;
}
