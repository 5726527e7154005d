/** Bytes, as hex digits, as integers, and one after the other. */

import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js";

export const hex = bytesToHex;

/** The bytes of lower-case hex digits, null where it is none: each value has one spelling. */
export function fromHex(text: string): Uint8Array | null {
  return /^(?:[0-9a-f]{2})*$/.test(text) ? hexToBytes(text) : null;
}

/** The bytes of hex digits that a reader of documents has seen. */
export function bytesOf(digits: string): Uint8Array {
  const bytes = fromHex(digits);
  if (bytes === null) throw new RangeError("these are no hex digits");
  return bytes;
}

/** `value`, not negative and less than 256^`length`. */
export function toBigEndian(value: bigint | number, length: number): Uint8Array {
  return hexToBytes(value.toString(16).padStart(2 * length, "0"));
}

export function fromBigEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x0${hex(bytes)}`);
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return concatBytes(...parts);
}

export function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
