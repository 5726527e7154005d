/** Every answer that verification can give: a stable name and a sentence. */

import { FAULTS, type Fault } from "../points.ts";
import { LINK_MISMATCH, OK, SUM_MISMATCH, type Verdict } from "../verdict.ts";

const ELEMENTS = {
  a: "A",
  b: "B",
  c: "C",
  segment: "The proof's commitment to a segment",
  knowledge: "The proof of knowledge for a segment",
  link: "The proof of a link",
  commitment: "A commitment",
  basis: "U_1 of the basis that an opening is checked against",
  tau: "The opening's [τ]_2",
  quotient: "The opening's quotient",
} as const;

export type Element = keyof typeof ELEMENTS;

const SENTENCES: Readonly<Record<Fault, string>> = {
  encoding: "does not have the length and flag bits of a compressed point",
  not_canonical: "has a coordinate that is not below the field modulus",
  not_on_curve: "is not on the curve",
  not_in_subgroup: "is on the curve, but outside the subgroup of prime order",
  at_infinity: "is the point at infinity",
};

function ofElement([name, element]: [string, string]): [string, string][] {
  // A quotient at infinity is what a single value has.
  const faults = FAULTS.filter((fault) => name !== "quotient" || fault !== "at_infinity");
  return faults.map((fault) => [`${name}_${fault}`, `${element} ${SENTENCES[fault]}.`]);
}

export const REASONS: Readonly<Record<string, string>> = {
  [OK]: "The proof is valid for these public inputs and commitments.",
  proof_type: "The proof is neither bytes nor a Proof.",
  proof_length: "The proof has neither 192 bytes nor the length that its header announces.",
  proof_format: "The proof's header is of another kind or version than this program reads.",
  proof_shape: "The proof has other segments or links than the key asks for.",
  public_input_count: "There are more or fewer public inputs than the key takes.",
  public_input_type: "A public input is not an integer.",
  public_input_not_canonical: "A public input is negative, or not below the group order r.",
  commitment_count: "There are more or fewer commitments than the key links to.",
  commitment_type: "A commitment is not bytes.",
  ...Object.fromEntries(Object.entries(ELEMENTS).flatMap(ofElement)),
  pairing_mismatch:
    "The proof is well-formed, but it does not prove this statement for these public inputs and commitments.",
  knowledge_mismatch:
    "Under this key, the proof's commitment to a segment and its proof of knowledge do not belong together.",
  [LINK_MISMATCH]: "The proof does not show that one of the commitments is to the values of its segment.",
  opening_type: "U_1 of the basis is not bytes, or the opening is none.",
  opening_values: "The values are not a sequence of integers.",
  opening_blinding: "The blinding factor is not 32 bytes of an integer below the group order r.",
  opening_basis: "The opening's [τ]_2 belongs to another basis.",
  opening_mismatch: "The opening is well-formed, but the commitment is to other values.",
  sum_total: "The total is not an integer from 0 to r - 1.",
  [SUM_MISMATCH]: "The commitments do not add up to one to this total with this blinding factor.",
};

/** `index`: the segment that has a `knowledge_mismatch`, or as `Verdict` has it. */
export function verdictOf(reason: string, detail?: string, index: number | null = null): Verdict {
  return { valid: reason === OK, reason, detail: detail ?? REASONS[reason] ?? reason, index };
}
