/** Ed25519 as OpenSSL, and so Python's verifier, has it: one equation, without the cofactor. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { bytesOf, concat, fromBigEndian, hex, toBigEndian } from "../verifier/bytes.ts";
import { read, receipt } from "../verifier/documents.ts";
import type { Receipt } from "../verifier/documents.ts";
import { isSafe, isSigned, judge, signedBytes } from "../verifier/receipts.ts";
import { fileOf } from "./vectors.ts";

const { Point } = ed25519;
const ORDER = Point.Fn.ORDER;
/** Of order 8. */
const TORSION = Point.fromHex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05");
const SECRET = 12345n;
const NONCE = 67890n;
const HONEST = read(receipt, fileOf("receipt/valid.json"));

const little = (bytes: Uint8Array): bigint => fromBigEndian(bytes.toReversed());
const encoded = (value: bigint): Uint8Array => toBigEndian(value, 32).toReversed();

/** A receipt called so, with the equation's R and A moved by these points, and s by so much. */
function forged(name: string, r = Point.ZERO, a = Point.ZERO, more = 0n): { receipt: Receipt; k: bigint } {
  const key = Point.BASE.multiply(SECRET).add(a).toBytes();
  const point = Point.BASE.multiply(NONCE).add(r).toBytes();
  const unsigned = { ...HONEST, name, issuer: hex(key) };
  const k = little(sha512(concat(point, key, signedBytes(unsigned)))) % ORDER;
  const s = encoded(((NONCE + k * SECRET) % ORDER) + more);
  return { receipt: { ...unsigned, signature: hex(concat(point, s)) }, k };
}

test("a signature has one equation and one spelling", () => {
  assert.ok(isSigned(forged("honest").receipt));
  assert.ok(!isSigned({ ...forged("honest").receipt, name: "another" }));
  assert.ok(!isSigned(forged("the order more", Point.ZERO, Point.ZERO, ORDER).receipt));
  assert.ok(TORSION.isSmallOrder());
  const moved = forged("moved by a point of order 8", TORSION).receipt;
  assert.ok(!isSigned(moved));
  // The library's own equation has the cofactor, in which such a point is nothing.
  assert.ok(
    ed25519.verify(bytesOf(moved.signature), signedBytes(moved), bytesOf(moved.issuer), { zip215: false }),
  );
});

test("under a key moved by a point of order 8, signatures are those whose k it is nothing to", () => {
  const signed = Array.from({ length: 32 }, (_, index) => forged(`${index}`, Point.ZERO, TORSION));
  assert.ok(new Set(signed.map(({ k }) => k % 8n)).has(0n));
  for (const { receipt, k } of signed) assert.equal(isSigned(receipt), k % 8n === 0n);
});

test("keys of small order and of another spelling are not safe", () => {
  const orders = Array.from({ length: 8 }, (_, index) => TORSION.multiplyUnsafe(BigInt(index)).toBytes());
  assert.equal(new Set(orders.map(hex)).size, 8);
  for (const key of orders) {
    assert.ok(!isSafe(hex(key)));
    assert.equal(judge({ ...HONEST, issuer: hex(key) }).reason, "issuer_unsafe");
  }
  const field = Point.Fp.ORDER;
  for (const y of [field, field + 1n, 2n ** 255n - 1n]) assert.ok(!isSafe(hex(encoded(y))));
  assert.ok(isSafe(HONEST.issuer));
  // There is no point of this y: under it nothing is signed.
  const none = hex(encoded(2n));
  assert.throws(() => Point.fromHex(none));
  assert.equal(judge({ ...HONEST, issuer: none }).reason, "signature_mismatch");
});
