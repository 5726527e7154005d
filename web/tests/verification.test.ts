import assert from "node:assert/strict";
import { test } from "node:test";
import { bls12_381 as bls } from "@noble/curves/bls12-381.js";
import { concat, toBigEndian } from "../verifier/bytes.ts";
import { GENERATOR_G1 } from "../verifier/curve.ts";
import { groth16 } from "../verifier/groth16/system.ts";
import { decodeG1, decodeG2, FIELD_MODULUS, SCALAR_MODULUS, type G1 } from "../verifier/points.ts";
import type { Claim, Flaw } from "../verifier/system.ts";
import { at } from "../verifier/lists.ts";
import { claimOf, SEGMENTS } from "./proofVectors.ts";

const KEY = groth16.readKey(SEGMENTS.verifying_key);
const HONEST = claimOf(at(SEGMENTS.cases, 0));
const CUT = claimOf(SEGMENTS.cases.find((each) => each.name === "cut short") ?? at(SEGMENTS.cases, 0));
const A = 18;
const B = A + 48;
const C = B + 96;
/** Where the points of G1 are in the proof, and what they are called. */
const PLACES = [
  [A, "a"],
  [C, "c"],
  [C + 48, "segment"],
  [C + 96, "segment"],
  [C + 144, "knowledge"],
  [C + 192, "knowledge"],
  [C + 240, "link"],
] as const;

function replaced(data: Uint8Array, start: number, part: Uint8Array): Uint8Array {
  return concat(data.subarray(0, start), part, data.subarray(start + part.length));
}

function pointAt(start: number): G1 {
  return decodeG1(HONEST.proof.subarray(start, start + 48));
}

function moved(start: number, by: G1): Claim {
  return { ...HONEST, proof: replaced(HONEST.proof, start, pointAt(start).add(by).toBytes()) };
}

function groups(...given: Claim[][]): (readonly [number, string, number | null] | null)[] {
  const short = ({ index, verdict }: Flaw) => [index, verdict.reason, verdict.index] as const;
  return groth16.verifyGroups(KEY, given).map((flaw) => flaw && short(flaw));
}

const WRONG = moved(C, GENERATOR_G1);

test("the first wrong claim of a group is found, wherever it is", () => {
  for (const place of [0, 3, 6]) {
    const group = Array.from({ length: 7 }, (_, index) => (index === place ? WRONG : HONEST));
    assert.deepEqual(groups(group), [[place, "pairing_mismatch", null]]);
  }
});

test("a group is judged by itself", () => {
  const found = groups([HONEST, HONEST], [HONEST, WRONG, HONEST], [], [HONEST, HONEST, CUT, WRONG], [HONEST]);
  assert.deepEqual(found, [null, [1, "pairing_mismatch", null], null, [2, "proof_length", null], null]);
});

test("faults of two claims, or of two equations, do not make up for each other", () => {
  const other = moved(C, GENERATOR_G1.negate());
  assert.deepEqual(groups([WRONG], [other]), [
    [0, "pairing_mismatch", null],
    [0, "pairing_mismatch", null],
  ]);
  assert.deepEqual(groups([HONEST, WRONG, other]), [[1, "pairing_mismatch", null]]);
  // Both are paired with the generator: their sum stays what it is.
  const [first, second] = [C + 144, C + 192];
  const knowledge = moved(first, GENERATOR_G1);
  const proof = replaced(
    knowledge.proof,
    second,
    moved(second, GENERATOR_G1.negate()).proof.subarray(second, C + 240),
  );
  assert.deepEqual(groups([{ ...knowledge, proof }]), [[0, "knowledge_mismatch", 0]]);
});

test("what is wrong has its place", () => {
  assert.deepEqual(groups([moved(C + 192, GENERATOR_G1)]), [[0, "knowledge_mismatch", 1]]);
  assert.deepEqual(groups([moved(C + 240, GENERATOR_G1)]), [[0, "link_mismatch", 0]]);
});

test("a point of small order added to any of a proof's is refused", () => {
  const small = bls.G1.Point.fromAffine({ x: 0n, y: 2n });
  const beside = (point: G1): Uint8Array => {
    const { x, y } = point.add(small).toAffine();
    const data = toBigEndian(x, 48);
    return data.with(0, at([...data], 0) | (y > FIELD_MODULUS / 2n ? 0xa0 : 0x80));
  };
  for (const [start, name] of PLACES) {
    const claim = { ...HONEST, proof: replaced(HONEST.proof, start, beside(pointAt(start))) };
    assert.deepEqual(groups([claim]), [[0, `${name}_not_in_subgroup`, null]]);
  }
  const commitments = [beside(decodeG1(at(HONEST.commitments, 0)))];
  assert.deepEqual(groups([{ ...HONEST, commitments }]), [[0, "commitment_not_in_subgroup", null]]);
});

test("a point outside G2 whose order divides the cofactor, added to B, is refused", () => {
  const { Fp2 } = bls.fields;
  const { Point } = bls.G2;
  // x = 2 is on the curve; r times the point has no part in G2.
  const x = Fp2.fromBigTuple([2n, 0n]);
  const outside = Point.fromAffine({ x, y: Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), Point.CURVE().b)) });
  const torsion = outside.multiplyUnsafe(SCALAR_MODULUS - 1n).add(outside);
  assert.ok(!torsion.is0());
  const { x: sum, y } = decodeG2(HONEST.proof.subarray(B, C)).add(torsion).toAffine();
  const data = concat(toBigEndian(sum.c1, 48), toBigEndian(sum.c0, 48));
  const claims = [0x80, 0xa0].map((flags) => {
    const proof = replaced(HONEST.proof, B, data.with(0, at([...data], 0) | flags));
    return { ...HONEST, proof };
  });
  assert.ok(y.c1 !== 0n);
  assert.deepEqual(groups(...claims.map((claim) => [claim])), [
    [0, "b_not_in_subgroup", null],
    [0, "b_not_in_subgroup", null],
  ]);
});
