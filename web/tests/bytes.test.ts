import assert from "node:assert/strict";
import { test } from "node:test";
import { concat, equal, fromBigEndian, fromHex, hex, toBigEndian } from "../verifier/bytes.ts";

test("hex has one spelling", () => {
  const bytes = Uint8Array.of(0, 10, 255);
  assert.equal(hex(bytes), "000aff");
  assert.deepEqual(fromHex("000aff"), bytes);
  assert.deepEqual(fromHex(""), new Uint8Array());
  for (const text of ["000AFF", "000af", "0x0a", " 0a", "0a\n", "0g"])
    assert.equal(fromHex(text), null, text);
});

test("integers are big-endian", () => {
  assert.equal(hex(toBigEndian(258n, 4)), "00000102");
  assert.equal(hex(toBigEndian(7, 1)), "07");
  assert.equal(fromBigEndian(Uint8Array.of(1, 0, 2)), 65538n);
  assert.equal(fromBigEndian(new Uint8Array()), 0n);
});

test("equal bytes are as long", () => {
  assert.ok(equal(concat(Uint8Array.of(1), Uint8Array.of(2, 3)), Uint8Array.of(1, 2, 3)));
  assert.ok(!equal(Uint8Array.of(1), Uint8Array.of(1, 0)));
  assert.ok(!equal(Uint8Array.of(1), Uint8Array.of(2)));
});
