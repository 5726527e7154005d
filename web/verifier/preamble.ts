/** The 16 bytes that open every file of ZenServe: magic, version, kind. */

import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat, equal } from "./bytes.ts";
import { ZenError } from "./errors.ts";

/** What a file holds: a code of 4 bytes, and the one version of that kind that this program reads. */
export interface Kind {
  readonly code: string;
  readonly version: number;
}

export const MAGIC = utf8ToBytes("ZENSERVE");
export const VERIFYING_KEY: Kind = { code: "vkey", version: 3 };
/** Its challenges are by SHA-512 (docs/formats.md, "Challenges"). No such key is made any more. */
export const OLD_VERIFYING_KEY: Kind = { code: "vkey", version: 2 };
/** Version 3 with public inputs that are folded (docs/formats.md, "Verifying key"). */
export const FOLDING_VERIFYING_KEY: Kind = { code: "vkey", version: 4 };
export const PROOF: Kind = { code: "prof", version: 1 };
export const STATEMENT: Kind = { code: "stmt", version: 2 };

export const PREAMBLE_BYTES = 16;

/** Magic (8 bytes), version (u32, little-endian) and the kind's code (4 bytes). */
export function preamble(kind: Kind): Uint8Array {
  return concat(MAGIC, u32(kind.version), utf8ToBytes(kind.code));
}

/** Throws `ZenError`: `file.length`, `file.magic`, `file.kind`, `file.version`. */
export function checkPreamble(data: Uint8Array, kind: Kind): void {
  if (data.length < PREAMBLE_BYTES) {
    throw new ZenError("file.length", `${data.length} bytes are too few for any ZenServe file`);
  }
  const version = readU32(data, MAGIC.length);
  if (!startsWith(data, MAGIC)) throw new ZenError("file.magic", "this is not a ZenServe file");
  if (!equal(data.subarray(12, 16), utf8ToBytes(kind.code))) {
    throw new ZenError("file.kind", `the file holds no ${kind.code}`);
  }
  if (version !== kind.version) {
    throw new ZenError(
      "file.version",
      `the file has version ${version} of its kind, this program reads ${kind.version}`,
    );
  }
}

export function startsWith(data: Uint8Array, start: Uint8Array): boolean {
  return equal(data.subarray(0, start.length), start);
}

/** Little-endian, as in all of ZenServe's files. */
export function u32(...values: readonly number[]): Uint8Array {
  const data = new DataView(new ArrayBuffer(4 * values.length));
  values.forEach((value, index) => data.setUint32(4 * index, value, true));
  return new Uint8Array(data.buffer);
}

export function u64(...values: readonly number[]): Uint8Array {
  const data = new DataView(new ArrayBuffer(8 * values.length));
  values.forEach((value, index) => data.setBigUint64(8 * index, BigInt(value), true));
  return new Uint8Array(data.buffer);
}

export function readU32(data: Uint8Array, offset: number): number {
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(offset, true);
}
