import assert from "node:assert/strict";
import { test } from "node:test";
import { mulAddUnsafe } from "@noble/curves/abstract/curve.js";
import { bls12_381 as bls } from "@noble/curves/bls12-381.js";
import { concat, hex, toBigEndian } from "../verifier/bytes.ts";
import {
  affineX,
  GENERATOR_G1,
  GENERATOR_G2,
  INFINITY_G1,
  INFINITY_G2,
  productsAgree,
  weightedSum,
} from "../verifier/curve.ts";
import {
  decodeG1,
  decodeG2,
  FAULTS,
  FIELD_MODULUS,
  PointError,
  SCALAR_MODULUS,
  type Fault,
} from "../verifier/points.ts";

const GROUPS = [
  { decode: decodeG1, good: GENERATOR_G1.toBytes() },
  { decode: decodeG2, good: GENERATOR_G2.toBytes() },
] as const;

function flip(data: Uint8Array, index: number, mask: number): Uint8Array {
  return data.with(index, (data[index] ?? 0) ^ mask);
}

function fault(decode: (data: Uint8Array) => unknown, data: Uint8Array): Fault | "none" {
  try {
    decode(data);
    return "none";
  } catch (error) {
    assert.ok(error instanceof PointError, String(error));
    return error.fault;
  }
}

test("points survive their bytes, with either sign", () => {
  for (const { decode, good } of GROUPS) {
    assert.deepEqual(decode(good).toBytes(), good);
    const negated = flip(good, 0, 0x20);
    assert.deepEqual(decode(negated).toBytes(), negated);
    assert.notDeepEqual(decode(negated).y, decode(good).y);
  }
});

test("each fault has its name", () => {
  for (const { decode, good } of GROUPS) {
    const { length } = good;
    const infinity = flip(new Uint8Array(length), 0, 0xc0);
    const top = toBigEndian(FIELD_MODULUS, 48);
    const rest = good.subarray(48);
    const bad: Record<Fault, Uint8Array[]> = {
      encoding: [
        ...[0x80, 0x40, 0xc0].map((mask) => flip(good, 0, mask)),
        ...[new Uint8Array(), new Uint8Array(length), good.subarray(1), concat(good, Uint8Array.of(0))],
        ...[0x20, 0x80, 0x01].map((mask) => flip(infinity, 0, mask)),
        flip(infinity, length - 1, 0x01),
        flip(infinity, length / 2, 0x10),
      ],
      not_canonical: [
        concat(flip(top, 0, 0x80), rest),
        concat(flip(new Uint8Array(48).fill(0xff), 0, 0x40), rest),
        ...(rest.length
          ? [concat(good.subarray(0, 48), top), concat(good.subarray(0, 48), flip(rest, 0, 0x80))]
          : []),
      ],
      not_on_curve: [],
      not_in_subgroup: [],
      at_infinity: [infinity],
    };
    // No x as small as these is of a point in the subgroup.
    for (let x = 0; x < 20; x++) {
      const data = flip(toBigEndian(x, length), 0, 0x80);
      const found = fault(decode, data);
      assert.ok(found === "not_on_curve" || found === "not_in_subgroup", hex(data));
      bad[found].push(data);
    }
    for (const name of FAULTS) {
      assert.notEqual(bad[name].length, 0);
      for (const data of bad[name]) assert.equal(fault(decode, data), name, hex(data));
    }
  }
});

test("whether an x is on the curve is for Euler to say", () => {
  for (let x = 0n; x < 20n; x++) {
    const isSquare = bls.fields.Fp.pow(x ** 3n + 4n, (FIELD_MODULUS - 1n) / 2n) === 1n;
    const found = fault(decodeG1, flip(toBigEndian(x, 48), 0, 0x80));
    assert.equal(found === "not_in_subgroup", isSquare);
  }
});

test("points of small order beside one of the subgroup are noticed", () => {
  // (0, 2) is of order three.
  const small = bls.G1.Point.fromAffine({ x: 0n, y: 2n });
  assert.ok(small.add(small).add(small).is0());
  for (const torsion of [small, small.negate()]) {
    const { x, y } = GENERATOR_G1.add(torsion).toAffine();
    const flags = y > FIELD_MODULUS / 2n ? 0xa0 : 0x80;
    assert.equal(fault(decodeG1, flip(toBigEndian(x, 48), 0, flags)), "not_in_subgroup");
  }
});

test("sums with weights at the edges", () => {
  const [p, q] = [GENERATOR_G1, GENERATOR_G1.double()];
  const last = SCALAR_MODULUS - 1n;
  assert.ok(weightedSum([p], [0n]).is0());
  assert.ok(weightedSum([p], [SCALAR_MODULUS]).is0());
  assert.ok(weightedSum([p], [1n]).equals(p));
  assert.ok(weightedSum([p], [last]).equals(p.negate()));
  assert.ok(weightedSum([p, q], [2n, last]).is0());
  assert.ok(weightedSum([p, INFINITY_G1, q], [3n, 5n, SCALAR_MODULUS + 4n]).equals(p.multiply(11n)));
  assert.ok(weightedSum([p, p, q], [last, 1n, 1n]).equals(mulAddUnsafe(bls.G1.Point, [q], [1n])));
  assert.deepEqual(affineX([p, q, p.negate()]), [p.x, q.x, p.x]);
});

test("products of pairings agree or not, with points at infinity, too", () => {
  const [p, q] = [GENERATOR_G1, GENERATOR_G2];
  const [five, seven] = [p.multiply(5n), q.multiply(7n)];
  assert.ok(productsAgree([[five, seven]], [[p.multiply(35n), q]]));
  assert.ok(!productsAgree([[five, seven]], [[p.multiply(34n), q]]));
  assert.ok(productsAgree([[five, q], [p, seven]], [[p.multiply(12n), q]])); // prettier-ignore
  assert.ok(productsAgree([], []));
  assert.ok(productsAgree([[INFINITY_G1, q]], [[p, INFINITY_G2]]));
  assert.ok(!productsAgree([[INFINITY_G1, q]], [[p, q]]));
});
