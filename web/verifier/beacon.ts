/**
 * Public randomness that closes a ceremony: what it makes, everybody can compute (docs/ceremony.md).
 *
 * A beacon is a value that nobody knew before the last contributor was done, hashed so and so often. In the
 * second phase its contribution bears a name of its own, which says both.
 */

import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat, fromBigEndian, fromHex, toBigEndian } from "./bytes.ts";
import { ZenError } from "./errors.ts";
import { SCALAR_MODULUS } from "./points.ts";

/** Whoever verifies a key by its transcript hashes 2^rounds times. */
const MOST_ROUNDS = 16;
const WORD = "beacon";
const NAME = /^beacon 2\^(0|[1-9][0-9]?) ([0-9a-f]{64})$/;
const TAG = utf8ToBytes("zenserve beacon 1");

/** Whether a contribution of this name must be a beacon's: its first word says so. */
export function isReserved(name: string): boolean {
  return name.split(" ", 1)[0]?.toLowerCase() === WORD;
}

/** `name`: what its contribution is called. Its value, 32 public bytes, is hashed 2^0 to 2^16 times. */
export class Beacon {
  readonly name: string;
  readonly #value: Uint8Array;
  readonly #rounds: number;

  /** The beacon of a contribution whose name `isReserved`. Throws `ZenError` (`ceremony.beacon`). */
  constructor(name: string) {
    const [, rounds, value] = NAME.exec(name) ?? [];
    const bytes = fromHex(value ?? "");
    if (rounds === undefined || bytes === null) {
      throw new ZenError(
        "ceremony.beacon",
        `a name that begins with '${WORD}' must be a beacon's: '${WORD} 2^ROUNDS VALUE', in hex`,
        "name",
      );
    }
    if (Number(rounds) > MOST_ROUNDS) {
      throw new ZenError("ceremony.beacon", `a beacon is hashed 2^0 to 2^${MOST_ROUNDS} times`, "rounds");
    }
    this.name = name;
    this.#value = bytes;
    this.#rounds = Number(rounds);
  }

  /** What it contributes after the contribution whose hash is `previous`: scalars below r. */
  shares(previous: Uint8Array, count: number): bigint[] {
    const seed = concat(TAG, iterate(this.#value, this.#rounds), previous);
    return Array.from(
      { length: count },
      (_, index) => fromBigEndian(sha512(concat(seed, toBigEndian(index, 4)))) % SCALAR_MODULUS,
    );
  }
}

/** SHA-256 of it, of that, and so on: 2^rounds times, 32 bytes. */
function iterate(value: Uint8Array, rounds: number): Uint8Array {
  for (let round = 0; round < 2 ** rounds; round++) value = sha256(value);
  return value;
}
