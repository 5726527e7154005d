/** Spartan over Fr, to a verifier: a proof system without a setup (docs/spartan.md). */

import { equal, hex } from "../bytes.ts";
import { ZenError } from "../errors.ts";
import { at, zip } from "../lists.ts";
import { TRANSPARENT } from "../system.ts";
import type { Claim, CommitmentScheme, Flaw, VerifyingSystem } from "../system.ts";
import { LINK_MISMATCH, OK, SUM_MISMATCH } from "../verdict.ts";
import type { Verdict } from "../verdict.ts";
import { shapeOf } from "./admission.ts";
import type { Circuit } from "./circuit.ts";
import { totals } from "./circuit.ts";
import { readCircuit } from "./circuitFile.ts";
import { commit, Rows, seedOf } from "./commitment.ts";
import { reduce } from "./field.ts";
import { SpartanKey } from "./key.ts";
import { MalformedError } from "./proof.ts";
import { end, split } from "./renewal.ts";
import type { Sizes } from "./shape.ts";
import { REASONS, verdictOf, verify } from "./verification.ts";

/** Circuits that it judges by, those it was last given. */
const KEPT = 64;
const circuits = new Map<string, Circuit>();

/** Merkle trees over the columns of Reed-Solomon code words. */
const rowsOverFr: CommitmentScheme = {
  id: "reed-solomon-blake3-bls12-381",
  commitmentBytes: 32,

  checkForm: seedOf,

  checkOpening(basis, commitment, values, opening) {
    const found = commit(Rows.fromIdentity(basis), values.map(reduce), seedOf(opening));
    return verdictOf(equal(found, commitment) ? OK : "opening_mismatch");
  },

  /** `opening`: a proof, over the code of `basis`. */
  checkSum(basis, commitments, claimed, opening) {
    if (commitments.length === 0) return verdictOf(SUM_MISMATCH);
    const [{ code, tail }, circuit] = [Rows.fromIdentity(basis), totals(commitments.length, claimed.length)];
    const shape = shapeOf(circuit.sizes, code, tail);
    const { valid } = verify(shape, circuit, claimed.map(reduce), commitments, opening);
    return verdictOf(valid ? OK : SUM_MISMATCH);
  },
};

/** It judges by the circuits that it was given: a key only names its own. */
export const spartan: VerifyingSystem<SpartanKey> = {
  id: "spartan-bls12-381",
  commitments: rowsOverFr,
  setups: {
    [TRANSPARENT]:
      "That BLAKE3 is as good as a random oracle: the proof rests on that, and on nobody's secret.",
  },
  reasons: REASONS,
  mostProofBytes: 1 << 26,

  readKey: (document) => new SpartanKey(document),

  checkTranscript() {
    throw new ZenError("file.transcript", "nobody contributes to a key without secrets");
  },

  takeCircuit(file) {
    const circuit = readCircuit(file);
    circuits.delete(hex(circuit.digest));
    circuits.set(hex(circuit.digest), circuit);
    const [oldest] = circuits.keys();
    if (circuits.size > KEPT && oldest !== undefined) circuits.delete(oldest);
  },

  verifyGroups(key, groups) {
    const found = circuits.get(hex(key.circuit));
    // By other sizes the prover could choose what the circuit draws.
    const circuit = found !== undefined && areSame(found.sizes, key.sizes) ? found : null;
    return groups.map((claims) => firstWrong(key, circuit, claims));
  },
};

function areSame(one: Sizes, other: Sizes): boolean {
  return (
    one.public === other.public &&
    one.challenges === other.challenges &&
    one.private === other.private &&
    one.rows === other.rows &&
    one.segments.flat().join() === other.segments.flat().join()
  );
}

function firstWrong(key: SpartanKey, circuit: Circuit | null, claims: readonly Claim[]): Flaw | null {
  for (const [index, claim] of claims.entries()) {
    const verdict = circuit === null ? verdictOf("circuit_unknown") : judged(key, circuit, claim);
    if (!verdict.valid) return { index, verdict };
  }
  return null;
}

function judged(key: SpartanKey, circuit: Circuit, claim: Claim): Verdict {
  try {
    const { chains, proof } = split(claim.proof, key.linkedSizes.length);
    if (claim.commitments.length !== chains.length) return verdictOf("malformed");
    const roots: Uint8Array[] = [];
    for (const [index, [size, chain]] of zip(key.linkedSizes, chains).entries()) {
      const root = key.rows && end(key.rows, size, at(claim.commitments, index), chain);
      if (root === null) return verdictOf(LINK_MISMATCH, index);
      roots.push(root);
    }
    return verify(key.shape, circuit, claim.publicInputs, roots, proof);
  } catch (error) {
    if (error instanceof MalformedError) return verdictOf("malformed");
    throw error;
  }
}
