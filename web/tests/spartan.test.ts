import assert from "node:assert/strict";
import { test } from "node:test";
import { concat, hex } from "../verifier/bytes.ts";
import { ZenError } from "../verifier/errors.ts";
import { spartan } from "../verifier/spartan/system.ts";
import type { Verdict } from "../verifier/verdict.ts";
import { bytes, TRANSPARENT } from "./proofVectors.ts";
import type { TransparentCase, TransparentProofs } from "./proofVectors.ts";

const { verifying_key, key_digest, circuit, circuits, keys, openings, sums, long, renewed } = TRANSPARENT;
const seen = new Set<string>();

function expect(verdict: Verdict, reason: string, name: string): void {
  assert.equal(verdict.reason, reason, name);
  assert.equal(verdict.valid, reason === "ok", name);
  seen.add(reason);
}

function proofOf({ proofs, links }: TransparentProofs, each: TransparentCase): Uint8Array {
  const { chains, proof, keep, change, more } = each;
  const parts = chains.map((part) => bytes(part.startsWith("@") ? (links[part.slice(1)] ?? "") : part));
  const data = concat(...parts, bytes(proofs[proof] ?? "")).slice(0, keep ?? undefined);
  for (const [place, bits] of Object.entries(change)) {
    data[Number(place)] = (data[Number(place)] ?? 0) ^ parseInt(bits, 16);
  }
  return concat(data, bytes(more));
}

function verdictOn(recorded: TransparentProofs, each: TransparentCase): Verdict {
  const claim = {
    publicInputs: each.public_inputs.map(BigInt),
    commitments: each.commitments.map(bytes),
    proof: proofOf(recorded, each),
  };
  const [flaw] = spartan.verifyGroups(spartan.readKey(recorded.verifying_key), [[claim]]);
  return flaw?.verdict ?? { valid: true, reason: "ok", detail: "", index: null };
}

test("a key names a circuit, which whoever verifies has", () => {
  assert.equal(hex(spartan.readKey(verifying_key).digest), key_digest);
  const [each] = TRANSPARENT.cases;
  if (each !== undefined) expect(verdictOn(TRANSPARENT, each), "circuit_unknown", each.name);
});

for (const [name, recorded] of Object.entries({ short: TRANSPARENT, long, renewed })) {
  test(`verdicts on proofs of ${name} rows`, () => {
    spartan.takeCircuit(bytes(recorded.circuit));
    for (const each of recorded.cases) expect(verdictOn(recorded, each), each.reason, each.name);
  });
}

test("circuits that are refused, and another circuit", () => {
  for (const { name, circuit, code } of circuits) {
    const take = (): void => spartan.takeCircuit(bytes(circuit));
    if (code === "circuit_unknown") take();
    else assert.throws(take, (error) => error instanceof ZenError && error.code === code, name);
  }
});

test("keys that are refused", () => {
  for (const { name, key, code } of keys) {
    assert.throws(
      () => spartan.readKey(key),
      (error) => error instanceof ZenError && error.code === code,
      name,
    );
  }
});

test("a key of other sizes than its circuit's is of another", () => {
  const key = spartan.readKey({ ...verifying_key, rows: 5 });
  const [flaw] = spartan.verifyGroups(key, [
    [{ publicInputs: [], commitments: [], proof: new Uint8Array() }],
  ]);
  assert.equal(flaw?.verdict.reason, "circuit_unknown");
});

test("verdicts on openings and sums", () => {
  const { commitments } = spartan;
  for (const { name, basis, commitment, values, opening, reason } of openings) {
    const integers = values.map(BigInt);
    expect(commitments.checkOpening(bytes(basis), bytes(commitment), integers, opening), reason, name);
  }
  for (const { name, basis, commitments: roots, totals, opening, reason } of sums) {
    const verdict = commitments.checkSum(bytes(basis), roots.map(bytes), totals.map(BigInt), bytes(opening));
    expect(verdict, reason, name);
  }
});

test("each byte of a circuit's file counts", () => {
  const file = bytes(circuit);
  for (let place = 0; place < file.length; place += 7) {
    const changed = file.slice();
    changed[place] = (changed[place] ?? 0) ^ 1;
    assert.throws(() => spartan.takeCircuit(changed), ZenError, String(place));
  }
});

test("every reason occurs", () => {
  assert.deepEqual([...seen].sort(), Object.keys(spartan.reasons).sort());
});
