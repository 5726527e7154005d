/**
 * When the classes of a stream change: online change points over run lengths (docs/streams.md).
 *
 * Weights are integers of any size, rounded down: the same in every language.
 */

import { at } from "../lists.ts";

const UNIT = 1n << 64n;
/** Bits below which the heaviest weight is shifted up to `HIGH`. */
const LOW = 48;
const HIGH = 64;

/** The numbers that a detector goes by. */
export interface Detection {
  readonly classes: number;
  readonly hazard: number;
  readonly noise: number;
  readonly runs: number;
  readonly young: number;
  readonly dominance: number;
}

/** A guess: that the classes have been the same since `start`, with the counts of the labels since then. */
export interface Run {
  readonly start: number;
  weight: bigint;
  readonly counts: Map<number, number>;
}

export class Detector {
  readonly #detection: Detection;
  #runs: Run[] = [];
  #frame = 0;
  /** The one that is believed. */
  run: Run = { start: 0, weight: 0n, counts: new Map() };

  constructor(detection: Detection) {
    this.#detection = detection;
  }

  /** Whether the classes changed: a later run, at most half as long, is believed from this frame on. */
  observe(label: number): boolean {
    const { classes, hazard } = this.#detection;
    const total = this.#runs.length ? this.#runs.reduce((sum, { weight }) => sum + weight, 0n) : UNIT;
    this.#grow(label);
    const counts = new Map([[label, 1]]);
    this.#runs.push({ start: this.#frame, weight: total / (BigInt(hazard) * BigInt(classes)), counts });
    this.#frame += 1;
    this.#prune();
    return this.#believe();
  }

  #grow(label: number): void {
    const [classes, noise, hazard] = [
      this.#detection.classes,
      this.#detection.noise,
      this.#detection.hazard,
    ].map(BigInt) as [bigint, bigint, bigint];
    for (const run of this.#runs) {
      const seen = run.counts.get(label) ?? 0;
      const rest = BigInt(this.#frame - run.start + 1);
      const likely = (noise - 1n) * (classes * BigInt(seen) + 1n) + rest;
      run.weight = (run.weight * (hazard - 1n) * likely) / (hazard * classes * noise * rest);
      run.counts.set(label, seen + 1);
    }
  }

  /** The heaviest are kept, and the earlier of two that weigh the same. */
  #prune(): void {
    const { runs, young } = this.#detection;
    if (this.#runs.length > runs) {
      let lightest = 0;
      for (let place = 1; place < this.#runs.length - young; place++) {
        if (at(this.#runs, place).weight <= at(this.#runs, lightest).weight) lightest = place;
      }
      this.#runs.splice(lightest, 1);
    }
    const bits = bitsOf(heaviest(this.#runs).weight);
    if (bits < LOW) for (const run of this.#runs) run.weight <<= BigInt(HIGH - bits);
  }

  #believe(): boolean {
    const before = this.run;
    const likeliest = heaviest(this.#runs);
    const later = likeliest.start > before.start;
    const needed = BigInt(this.#detection.dominance) * before.weight;
    if (later && this.#runs.includes(before) && likeliest.weight < needed) return false;
    this.run = likeliest;
    return later && 2 * (this.#frame - likeliest.start) <= this.#frame - before.start;
  }
}

/** Of several the earliest. */
function heaviest(runs: readonly Run[]): Run {
  return runs.reduce((most, run) => (run.weight > most.weight ? run : most));
}

function bitsOf(weight: bigint): number {
  return weight === 0n ? 0 : weight.toString(2).length;
}
