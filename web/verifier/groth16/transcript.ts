/**
 * What a verifier would draw: hashes of everything that was fixed before them (Fiat and Shamir).
 *
 * Left out of the hash, any part of what is proven could be changed once the challenge is known.
 */

import { sha512 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat, fromBigEndian, toBigEndian } from "../bytes.ts";
import { SCALAR_MODULUS } from "../points.ts";

const TAG = utf8ToBytes("zenserve challenge 1");
const OPENING_TAG = utf8ToBytes("zenserve opening 1");
export const SCALAR_BYTES = 32;

/**
 * `count` canonical integers, challenge j being SHA-512(transcript | j) modulo r (docs/formats.md).
 *
 * `publicInputs`: canonical integers, challenges not among them; `segments`: the proof's commitments to its
 * segments; `commitments`: those from outside that it is linked to; 48 bytes each.
 */
export function challenges(
  verifyingKeyDigest: Uint8Array,
  publicInputs: readonly bigint[],
  segments: readonly Uint8Array[],
  commitments: readonly Uint8Array[],
  count: number,
): bigint[] {
  const hasher = sha512.create().update(TAG).update(verifyingKeyDigest);
  hasher.update(toBigEndian(publicInputs.length, 4)).update(joined(publicInputs));
  for (const part of [segments, commitments]) hasher.update(concat(toBigEndian(part.length, 4), ...part));
  return Array.from({ length: count }, (_, index) =>
    moduloR(hasher.clone().update(toBigEndian(index, 4)).digest()),
  );
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
