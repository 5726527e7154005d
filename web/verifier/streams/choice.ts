/** Which model is enough: models of the same classes, and what each answered to samples that were profiled. */

import { at } from "../lists.ts";
import { cautious, filtered, framesOf, prior, shares } from "./skew.ts";
import type { Counts } from "./skew.ts";

/** `bit`: 256 times the steps that double the odds; `outputs`: of each profiled sample, without a prior. */
export interface Candidate {
  readonly bit: number;
  readonly margin: number;
  readonly outputs: readonly (readonly number[])[];
}

/** `candidates`: each cheaper than the one before; `labels`: of the profiled samples. */
interface Bank {
  readonly classes: number;
  readonly labels: readonly number[];
  readonly candidates: readonly Candidate[];
}

interface Chosen {
  readonly model: number;
  readonly prior: readonly number[];
}

export class Choice {
  readonly classes: number;
  readonly models: number;
  readonly #bank: Bank;
  readonly #caution: number;
  /** Of each model and label, of how many samples of which class the model says it. */
  readonly #tables: readonly ReadonlyMap<number, Counts>[];

  constructor(bank: Bank, caution: number) {
    this.classes = bank.classes;
    this.models = bank.candidates.length;
    this.#bank = bank;
    this.#caution = caution;
    this.#tables = bank.candidates.map(({ outputs }) => tableOf(bank, outputs));
  }

  /** The place of the cheapest that is as accurate as the full model without a prior, or with its own if that
   * is less, by halving; its prior. */
  choose(seen: readonly Counts[]): Chosen {
    const said = seen.flatMap((counts, model) =>
      [...counts].map(([label, count]) => ({
        count,
        samples: at(this.#tables, model).get(label) ?? new Map<number, number>(),
      })),
    );
    const found = shares(said, this.classes);
    const likely = cautious(found, framesOf(said), this.#caution);
    const priors = this.#bank.candidates.map(({ bit, margin }) => prior(likely, bit, margin));
    const full = at(this.#tables, 0);
    const right = found.map((share, label) => share * BigInt(full.get(label)?.get(label) ?? 0));
    const without = right.reduce((sum, each) => sum + each, 0n);
    const withOwn = this.#correct(0, found, at(priors, 0));
    const target = withOwn < without ? withOwn : without;
    let [low, high] = [0, this.models - 1];
    while (low < high) {
      const middle = 1 + Math.floor((low + high) / 2);
      if (this.#correct(middle, found, at(priors, middle)) < target) high = middle - 1;
      else low = middle;
    }
    return { model: low, prior: at(priors, low) };
  }

  /** The shares of the samples that a model labels rightly. */
  #correct(place: number, found: readonly bigint[], added: readonly number[]): bigint {
    const { outputs } = at(this.#bank.candidates, place);
    let sum = 0n;
    for (const [sample, label] of this.#bank.labels.entries()) {
      if (filtered(at(outputs, sample), added) === label) sum += at(found, label);
    }
    return sum;
  }
}

function tableOf({ classes, labels }: Bank, outputs: Candidate["outputs"]): ReadonlyMap<number, Counts> {
  const none = noneOf(classes);
  const table = new Map<number, Map<number, number>>();
  for (const [sample, own] of labels.entries()) {
    const label = filtered(at(outputs, sample), none);
    const samples = table.get(label) ?? new Map<number, number>();
    table.set(label, samples.set(own, (samples.get(own) ?? 0) + 1));
  }
  return table;
}

export function noneOf(classes: number): number[] {
  return new Array<number>(classes).fill(0);
}
