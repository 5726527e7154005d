/** Groth16 over BLS12-381 with committed segments, and commitments over powers of tau, to a verifier. */

import { utf8ToBytes } from "@noble/hashes/utils.js";
import { ZenError } from "../errors.ts";
import { canonical, parse, type Json, type JsonObject } from "../json.ts";
import { G1_BYTES, G2_BYTES } from "../points.ts";
import { CEREMONY, type CommitmentScheme, type VerifyingSystem } from "../system.ts";
import * as opening from "./opening.ts";
import * as setupTranscript from "./setupTranscript.ts";
import { SCALAR_BYTES } from "./transcript.ts";
import { REASONS } from "./verdict.ts";
import { verifyGroups } from "./verification.ts";
import { DEVELOPMENT, IMPORTED, VerifyingKey } from "./verifyingKey.ts";

/** cm = Σ w_i [τ^i]_1 + ρ H, opened in public as Kate, Zaverucha and Goldberg do (docs/groth16.md). */
const pedersenOverPowersOfTau: CommitmentScheme = {
  id: "pedersen-tau-bls12-381",
  commitmentBytes: G1_BYTES,

  checkForm(document) {
    const revealed = opening.fromJson(document);
    const { blinding, quotient, tauG2 } = revealed;
    const right =
      blinding.length === SCALAR_BYTES && quotient.length === G1_BYTES && tauG2.length === G2_BYTES;
    if (!right || canonical(opening.toJson(revealed)) !== canonical(document)) {
      throw new ZenError("file.json", "opening: a field is unknown, missing or too long");
    }
  },

  checkOpening(basis, commitment, values, document) {
    return opening.checkOpening(basis, commitment, values, opening.fromJson(document));
  },

  checkSum(basis, commitments, totals, opened) {
    const [total] = totals;
    return totals.length === 1 && total !== undefined
      ? opening.checkSum(commitments, total, opened)
      : opening.checkSums(basis, commitments, totals, opening.fromBytes(opened));
  },
};

export const groth16: VerifyingSystem<VerifyingKey> = {
  id: "groth16-bls12-381",
  commitments: pedersenOverPowersOfTau,
  setups: {
    [DEVELOPMENT]:
      "Anything, to someone who distrusts whoever made the keys: this is a development setup by a single " +
      "party, and a party that kept its secret numbers can forge proofs.",
    [CEREMONY]:
      "Anything, if all contributors to one phase of the key's ceremony kept their secret numbers: they " +
      "together can forge proofs. The key names their contributions.",
    [IMPORTED]:
      "Anything, to someone who does not know how the key was made: another program made it, and whoever " +
      "kept its secret numbers can forge proofs.",
  },
  reasons: REASONS,
  mostProofBytes: 2048,

  readKey(document) {
    const key = VerifyingKey.fromJson(reread(document));
    if (canonical(key.toJson()) !== canonical(document)) {
      throw new ZenError("file.json", "the key has fields that mean nothing, or lacks one", "key");
    }
    return key;
  },

  checkTranscript(document, key) {
    setupTranscript.check(reread(document), key);
  },

  takeCircuit() {
    throw new ZenError("file.system", `keys of ${groth16.id} take no file of a circuit`, "circuit");
  },

  verifyGroups,
};

/** What its canonical text says, in which 2.0 is the integer 2: hashes are of that. */
function reread(document: JsonObject): Json {
  return parse(utf8ToBytes(canonical(document)));
}
