/** Commitments to vectors of Fr: roots over code words, and how they are opened in public. */

import { blake3 } from "@noble/hashes/blake3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { hex } from "../bytes.ts";
import { checkHeader, fromHex } from "../document.ts";
import { ZenError } from "../errors.ts";
import { canonical } from "../json.ts";
import type { JsonObject } from "../json.ts";
import { at } from "../lists.ts";
import { SCALAR_MODULUS } from "../points.ts";
import { u64 } from "../preamble.ts";
import { MOST_LOG_DEGREE } from "./admission.ts";
import { Code, LOG_BLOWUP } from "./code.ts";
import { ELEMENT_BYTES, encode, fromBytes, toBytes } from "./field.ts";
import { leaf, node, root } from "./merkle.ts";

const SEED_BYTES = 32;
const TAILS = utf8ToBytes("zenserve spartan 1: tails");
const SALTS = utf8ToBytes("zenserve spartan 1: salts");
const WORD = (1n << BigInt(SCALAR_MODULUS.toString(2).length)) - 1n;
const HEADER = { format: "zenserve opening", version: 1, system: "spartan" };

/** What commitments of one kind have in common: the code, and how many random places a row has. */
export class Rows {
  readonly code: Code;
  readonly tail: number;

  constructor(code: Code, tail: number) {
    this.code = code;
    this.tail = tail;
  }

  /** These numbers, 16 bytes: there is no key to know. */
  get identity(): Uint8Array {
    return u64(this.code.logDegree, this.tail);
  }

  /** The inverse of `identity`. Throws `ZenError` (`file.json`) for numbers of no code. */
  static fromIdentity(identity: Uint8Array): Rows {
    const view = new DataView(identity.buffer, identity.byteOffset, identity.byteLength);
    const parts = identity.length === 16 ? [0, 8].map((place) => Number(view.getBigUint64(place, true))) : [];
    const [logDegree, tail] = parts;
    if (logDegree === undefined || tail === undefined || logDegree > MOST_LOG_DEGREE) {
      throw new ZenError("file.json", "basis: no such code", "basis");
    }
    const rows = new Rows(new Code(logDegree, logDegree + LOG_BLOWUP), tail);
    if (!(rows.code.queries <= tail && tail < rows.code.degree)) {
      throw new ZenError("file.json", "basis: rows without room for values", "basis");
    }
    return rows;
  }
}

/** The seed in an opening, in its one spelling. Throws `ZenError` (`file.json`). */
export function seedOf(document: JsonObject): Uint8Array {
  checkHeader(document, "an opening", HEADER);
  const seed = fromHex(document["blinding"], "blinding");
  if (canonical({ ...HEADER, blinding: hex(seed) }) !== canonical(document) || seed.length !== SEED_BYTES) {
    throw new ZenError("file.json", "opening: a field is unknown, missing or too long");
  }
  return seed;
}

/** The root of a commitment to `values`, canonical. */
export function commit({ code, tail }: Rows, values: readonly bigint[], seed: Uint8Array): Uint8Array {
  // The seed of these values alone: two vectors that are committed to under one seed share nothing.
  const own = blake3(toBytes(values), { key: seed });
  const width = code.degree - tail;
  const count = Math.ceil(values.length / width);
  const tails = elements(own, tail * count);
  const words = Array.from({ length: count }, (_, row) => {
    const part = values.slice(row * width, (row + 1) * width);
    const padding = new Array<bigint>(width - part.length).fill(0n);
    return encode([...part, ...padding, ...tails.slice(row * tail, (row + 1) * tail)], code.logLength);
  });
  const salts = stream(own, SALTS, code.length * SEED_BYTES);
  let level = Array.from({ length: code.length }, (_, place) => {
    const salt = salts.subarray(place * SEED_BYTES, (place + 1) * SEED_BYTES);
    return leaf(salt, toBytes(words.map((word) => at(word, place))));
  });
  while (level.length > 1) {
    const below = level;
    level = Array.from({ length: below.length / 2 }, (_, i) => node(at(below, 2 * i), at(below, 2 * i + 1)));
  }
  return root(at(level, 0), values.length, tail, code);
}

function stream(seed: Uint8Array, what: Uint8Array, length: number): Uint8Array {
  return blake3(seed, { context: what, dkLen: length });
}

/** The first `count` of the stream's words of 255 bits that are below the modulus. */
function elements(seed: Uint8Array, count: number): bigint[] {
  for (let wanted = count; wanted > 0; wanted = 2 * wanted + 1) {
    const words = fromBytes(stream(seed, TAILS, ELEMENT_BYTES * wanted)).map((word) => word & WORD);
    const found = words.filter((word) => word < SCALAR_MODULUS);
    if (found.length >= count) return found.slice(0, count);
  }
  return [];
}
