/** Values drawn from a seed: the same each time. */

import { Real, emptyObject } from "../verifier/json.ts";
import type { Json } from "../verifier/json.ts";

const CHARACTERS = [
  "a",
  "Z",
  "_",
  "0",
  " ",
  '"',
  "\\",
  "/",
  "\n",
  "\u0000",
  "\u007f",
  "é",
  "€",
  "😀",
  "\u2028",
  "\ufb33",
];

export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 to `bound` - 1, which is at most 2^31 - 2 (Park and Miller's generator). */
  below(bound: number): number {
    this.#state = (this.#state * 48271) % 2147483647;
    return this.#state % bound;
  }

  text(): string {
    return Array.from({ length: this.below(6) }, () => CHARACTERS[this.below(CHARACTERS.length)]).join("");
  }

  number(): Json {
    const digits = this.below(2 ** 30) * 2 ** 23 + this.below(2 ** 23);
    const signed = this.below(2) === 0 ? digits : 0 - digits;
    return this.below(2) === 0 ? signed : new Real(signed * 10 ** (this.below(600) - 320));
  }

  json(levels: number): Json {
    const kind = this.below(levels > 0 ? 6 : 4);
    if (kind === 0) return this.number();
    if (kind === 1) return this.text();
    if (kind === 2) return this.below(2) === 0;
    if (kind === 3) return null;
    const items = Array.from({ length: this.below(4) }, () => this.json(levels - 1));
    if (kind === 4) return items;
    const fields = emptyObject<Json>();
    for (const item of items) fields[this.text()] = item;
    return fields;
  }
}
