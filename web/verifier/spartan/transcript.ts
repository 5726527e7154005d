/** Challenges from all that was said before them: BLAKE3, each message with its label and its length. */

import { blake3 } from "@noble/hashes/blake3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat } from "../bytes.ts";
import { at } from "../lists.ts";
import { SCALAR_MODULUS } from "../points.ts";
import { readU32, u64 } from "../preamble.ts";
import { ELEMENT_BYTES, fromBytes, toBytes } from "./field.ts";

const START = utf8ToBytes("zenserve spartan 2: transcript");
const ABSORB = utf8ToBytes("zenserve spartan 1: absorb");
const CHALLENGE = utf8ToBytes("zenserve spartan 1: challenge");
const PLACE_BYTES = 4;

/** What prover and verifier have both seen. A challenge is a function of it, and becomes a part of it. */
export class Transcript {
  #state: Uint8Array;

  constructor(statement: Uint8Array) {
    const field = concat(u64(ELEMENT_BYTES), toBytes([SCALAR_MODULUS]));
    this.#state = blake3(concat(field, statement), { context: START });
  }

  /** Absorb elements of the field. */
  say(label: string, values: readonly bigint[]): void {
    this.absorb(label, toBytes(values));
  }

  absorb(label: string, data: Uint8Array): void {
    const said = utf8ToBytes(label);
    const message = concat(this.#state, Uint8Array.of(said.length), said, u64(data.length), data);
    this.#state = blake3(message, { context: ABSORB });
  }

  /** Elements of the field: 64 bytes modulo a prime of 255 bits are as good as uniform. */
  challenges(label: string, count: number): bigint[] {
    const words = fromBytes(this.#stream(label, 2 * ELEMENT_BYTES * count));
    return Array.from({ length: count }, (_, index) => {
      const high = at(words, 2 * index + 1) << BigInt(8 * ELEMENT_BYTES);
      return (at(words, 2 * index) | high) % SCALAR_MODULUS;
    });
  }

  challenge(label: string): bigint {
    return at(this.challenges(label, 1), 0);
  }

  /** `count` different numbers below 2^`logSize`, ascending: the first that the stream has. */
  places(label: string, count: number, logSize: number): number[] {
    let length = 2 * PLACE_BYTES * count;
    let stream = this.#stream(label, length);
    for (;;) {
      const found = new Set<number>();
      for (let place = 0; place < length && found.size < count; place += PLACE_BYTES) {
        found.add(readU32(stream, place) % 2 ** logSize);
      }
      if (found.size === count) return [...found].sort((one, other) => one - other);
      length *= 2;
      stream = this.#again(length);
    }
  }

  /** Bytes that follow from all that was said, and from this label. */
  #stream(label: string, length: number): Uint8Array {
    this.absorb("challenge", utf8ToBytes(label));
    return this.#again(length);
  }

  #again(length: number): Uint8Array {
    return length === 0 ? new Uint8Array() : blake3(this.#state, { context: CHALLENGE, dkLen: length });
  }
}
