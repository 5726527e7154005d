import assert from "node:assert/strict";
import { test } from "node:test";
import { hex } from "../verifier/bytes.ts";
import { ZenError } from "../verifier/errors.ts";
import { secondGenerator } from "../verifier/groth16/opening.ts";
import { groth16 } from "../verifier/groth16/system.ts";
import { split } from "../verifier/groth16/proof.ts";
import { challenges, openingPoint } from "../verifier/groth16/transcript.ts";
import { VerifyingKey } from "../verifier/groth16/verifyingKey.ts";
import { decodeG1, SCALAR_MODULUS } from "../verifier/points.ts";
import type { Verdict } from "../verifier/verdict.ts";
import { bytes, claimOf, OPENINGS, PLAIN, SEGMENTS } from "./proofVectors.ts";

const seen = new Set<string>();

function expect(verdict: Verdict, reason: string, name: string): void {
  assert.equal(verdict.reason, reason, name);
  assert.equal(verdict.valid, reason === "ok", name);
  assert.ok(verdict.reason in groth16.reasons && verdict.detail, name);
  seen.add(reason);
}

for (const [file, vectors] of Object.entries({ PLAIN, SEGMENTS })) {
  test(`verdicts on proofs: ${file}`, () => {
    const key = groth16.readKey(vectors.verifying_key);
    const flaws = groth16.verifyGroups(
      key,
      vectors.cases.map((each) => [claimOf(each)]),
    );
    const ok: Verdict = { valid: true, reason: "ok", detail: groth16.reasons["ok"] ?? "", index: null };
    for (const [index, each] of vectors.cases.entries()) {
      expect(flaws[index]?.verdict ?? ok, each.reason, each.name);
    }
  });

  test(`the key in bytes is the key in JSON: ${file}`, () => {
    const key = groth16.readKey(vectors.verifying_key);
    assert.equal(hex(key.toBytes()), vectors.verifying_key_bytes);
    assert.equal(hex(key.digest), vectors.verifying_key["digest"]);
    assert.deepEqual(VerifyingKey.fromBytes(key.toBytes()).toJson(), key.toJson());
  });
}

test("keys that are refused", () => {
  for (const { name, key, code } of SEGMENTS.keys) {
    assert.throws(
      () => VerifyingKey.fromBytes(bytes(key)),
      (error) => error instanceof ZenError && error.code === code,
      name,
    );
  }
});

test("verdicts on openings", () => {
  for (const { name, identity, commitment, values, opening, reason } of OPENINGS.openings) {
    const { commitments } = groth16;
    const verdict = commitments.checkOpening(bytes(identity), bytes(commitment), values.map(BigInt), opening);
    expect(verdict, reason, name);
  }
});

test("verdicts on sums", () => {
  for (const { name, commitments, total, blinding, reason } of OPENINGS.sums) {
    const verdict = groth16.commitments.checkSum(
      new Uint8Array(),
      commitments.map(bytes),
      [BigInt(total)],
      bytes(blinding),
    );
    expect(verdict, reason, name);
  }
});

test("every reason occurred, but for those of types", () => {
  const types = ["proof_type", "public_input_type", "commitment_type", "opening_type", "opening_values"];
  assert.deepEqual([...seen, ...types].sort(), Object.keys(groth16.reasons).sort());
});

test("challenges, points of evaluation and H are those of the vectors", () => {
  const [honest] = SEGMENTS.cases;
  assert.ok(honest);
  const { publicInputs, proof, commitments } = claimOf(honest);
  const key = groth16.readKey(SEGMENTS.verifying_key);
  const segments = split(proof).segments.map(decodeG1);
  assert.deepEqual(challenges(key, publicInputs, segments, commitments.map(decodeG1)), [
    BigInt(SEGMENTS.challenge),
  ]);
  const [opening] = OPENINGS.openings;
  assert.ok(opening);
  const values = opening.values.map((value) => (BigInt(value) + SCALAR_MODULUS) % SCALAR_MODULUS);
  const z = openingPoint(
    bytes(opening.identity),
    bytes(opening.commitment),
    bytes(opening.opening.blinding),
    values,
  );
  assert.equal(z, BigInt(OPENINGS.point));
  assert.equal(secondGenerator().toHex(), SEGMENTS.commitment.h);
});
