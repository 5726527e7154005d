/** The course of a stream: the model of the next frames, and what is added to its outputs, by what was seen before. */

import { at } from "../lists.ts";
import { noneOf } from "./choice.ts";
import type { Choice } from "./choice.ts";
import { Detector } from "./detector.ts";
import type { Detection } from "./detector.ts";
import type { Counts } from "./skew.ts";

/** `model`: its place in the bank; `prior`: zeros while the full model waits. */
export interface Plan {
  readonly model: number;
  readonly prior: readonly number[];
}

/** The state of a stream between two proofs. */
export class Course {
  readonly #choice: Choice;
  readonly #detector: Detector;
  readonly #patience: number;
  readonly #waiting: Plan;
  readonly #seen: { readonly model: number; readonly label: number }[] = [];
  #due: number;
  plan: Plan;

  constructor(choice: Choice, detection: Detection, patience: number) {
    this.#choice = choice;
    this.#detector = new Detector(detection);
    this.#patience = this.#due = patience;
    this.plan = this.#waiting = { model: 0, prior: noneOf(choice.classes) };
  }

  /** Takes what was seen in the frames that `plan` was for, in order. At which of them, from 0, the classes changed. */
  observe(labels: readonly number[]): number[] {
    const { model } = this.plan;
    this.#seen.push(...labels.map((label) => ({ model, label })));
    const changed = [...labels.keys()].filter((place) => this.#detector.observe(at(labels, place)));
    const length = this.#seen.length - this.#detector.run.start;
    if (changed.length > 0) {
      this.plan = this.#waiting;
      this.#due = this.#patience;
    }
    if (length >= this.#due) {
      this.plan = this.#choice.choose(this.#counts());
      this.#due = 2 * length;
    }
    return changed;
  }

  /** Of each model, how often it said which label in the run. */
  #counts(): Counts[] {
    const counts = Array.from({ length: this.#choice.models }, () => new Map<number, number>());
    for (const { model, label } of this.#seen.slice(this.#detector.run.start)) {
      const said = at(counts, model);
      said.set(label, (said.get(label) ?? 0) + 1);
    }
    return counts;
  }
}
