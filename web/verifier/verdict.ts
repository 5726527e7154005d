/** The answer of a proof system to a verifier: whether a proof holds, and a stable name for why not. */

export const OK = "ok";
/** A commitment is not to what was proven about: `index` says which. */
export const LINK_MISMATCH = "link_mismatch";
/** Commitments do not add up to the total. */
export const SUM_MISMATCH = "sum_mismatch";

/**
 * `reason`: one of the `reasons` of the proof system that answers; `detail`: a sentence; `index`: the part of
 * the proof that the reason is about, for a `link_mismatch` the place among the commitments that were given.
 */
export interface Verdict {
  readonly valid: boolean;
  readonly reason: string;
  readonly detail: string;
  readonly index: number | null;
}

/**
 * Ends a judgement: `reason` is a stable name, `detail` a sentence, "" for the reason's own; `remedy` says what to do
 * about it, where that is more than to distrust the document.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: string;
  readonly detail: string;
  readonly remedy: string | null;

  constructor(reason: string, detail: string, remedy: string | null) {
    super(reason);
    this.reason = reason;
    this.detail = detail;
    this.remedy = remedy;
  }
}

export function refuse(reason: string, detail = "", remedy: string | null = null): never {
  throw new Refusal(reason, detail, remedy);
}
