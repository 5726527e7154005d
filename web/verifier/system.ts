/** What a proof system is to a verifier: an object that documents and keys name, and that everybody asks. */

import type { JsonObject } from "./json.ts";
import type { Verdict } from "./verdict.ts";

/** Each phase had contributors, as the transcripts show; the secrets are gone if one in each was honest. */
export const CEREMONY = "ceremony";
/** Nobody drew secrets: everybody can make the key. */
export const TRANSPARENT = "transparent";

/**
 * One proof, as its system writes it, and what it is held against. `publicInputs`: canonical, in the key's
 * order; `commitments`: one for each linked segment.
 */
export interface Claim {
  readonly publicInputs: readonly bigint[];
  readonly proof: Uint8Array;
  readonly commitments: readonly Uint8Array[];
}

/** The claim at `index` is wrong. */
export interface Flaw {
  readonly index: number;
  readonly verdict: Verdict;
}

/** A key of any system, found to be one. */
export interface VerifyingKey {
  readonly setup: string;
  /** 32 bytes, of all that verification reads of it. */
  readonly digest: Uint8Array;
  /** How many public inputs there are. */
  readonly public: number;
  /** How many values each linked segment has, in order. */
  readonly linkedSizes: readonly number[];
  /** The identity of the commitment key that segments are linked over, null where none is. */
  readonly basis: Uint8Array | null;
}

/** How vectors are committed to, for any circuit. */
export interface CommitmentScheme {
  readonly id: string;
  readonly commitmentBytes: number;

  /** Throws `ZenError` (`file.json`) where it is no opening in its one spelling. */
  checkForm(opening: JsonObject): void;

  /**
   * Whether `commitment` is to `values`, under the commitment key of this identity, which the caller trusts.
   * How many values there must be, the caller knows. Never throws for data of this form.
   */
  checkOpening(
    basis: Uint8Array,
    commitment: Uint8Array,
    values: readonly bigint[],
    opening: JsonObject,
  ): Verdict;

  /**
   * Whether `commitments`, each to as many values as there are `totals`, add up to these, value by value, under the
   * commitment key `basis`. Never throws.
   */
  checkSum(
    basis: Uint8Array,
    commitments: readonly Uint8Array[],
    totals: readonly bigint[],
    opening: Uint8Array,
  ): Verdict;
}

/**
 * The verifier's half of a proof system. `setups`: who can have made its keys, and of each what a proof does
 * not say for that; `reasons`: each that a verdict can have, with a sentence.
 */
export interface VerifyingSystem<Key extends VerifyingKey = VerifyingKey> {
  readonly id: string;
  readonly commitments: CommitmentScheme;
  readonly setups: Readonly<Record<string, string>>;
  readonly reasons: Readonly<Record<string, string>>;
  readonly mostProofBytes: number;

  /** The key in a document, with every check, that of its one spelling, too. Throws `ZenError`. */
  readKey(document: JsonObject): Key;

  /** That this shows how `key` came to its secrets. Throws `ZenError`. */
  checkTranscript(document: JsonObject, key: Key): void;

  /**
   * Have the circuit that this is the file of, to judge by, where keys only name theirs. Throws `ZenError`:
   * `file.system` where keys say all.
   */
  takeCircuit(file: Uint8Array): void;

  /** Of each group the first claim that is wrong, null where all hold. Never throws for bad claims. */
  verifyGroups(key: Key, groups: readonly (readonly Claim[])[]): (Flaw | null)[];
}
