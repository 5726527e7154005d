/** JSON has one reading, and one canonical text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ZenError } from "../verifier/errors.ts";
import { Real, canonical, isObject, parse } from "../verifier/json.ts";
import type { Json } from "../verifier/json.ts";
import { Draw } from "./drawing.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const said = (text: string): Json => parse(bytes(text));

function assertRefused(data: string | Uint8Array, why: RegExp): void {
  const file = typeof data === "string" ? bytes(data) : data;
  const text = JSON.stringify(data).slice(0, 80);
  assert.throws(
    () => parse(file),
    (error) => error instanceof ZenError && error.code === "file.json" && why.test(error.message),
    text,
  );
}

test("numbers keep how they were written", () => {
  assert.deepEqual(said("[3, -0, 3.0, 3e0, -0.0]"), [3, 0, new Real(3), new Real(3), new Real(-0)]);
  assert.ok(Object.is(said("-0"), 0));
  assert.deepEqual(said("[9007199254740991, 9007199254740992]"), [9007199254740991, 9007199254740992n]);
  assert.deepEqual(said("[1e308, 1e-400]"), [new Real(1e308), new Real(0)]);
  assert.equal(said("1".repeat(4300)), BigInt("1".repeat(4300)));
  for (const text of ["1e309", "-1e999", `0.1e${"9".repeat(30)}`]) assertRefused(text, /beyond the range/);
  assertRefused("1".repeat(4301), /too long/);
  for (const text of ["01", "-", "+1", ".5", "1.", "1e", "0x1", "NaN", "-Infinity", "Infinity", "1 2"]) {
    assertRefused(text, /is expected|follows/);
  }
});

test("texts are of whole characters", () => {
  assert.equal(
    said('"\\ud83d\\ude00 \\u00e9 \\/ \\" \\\\ \\b\\f\\n\\r\\t \u007f"'),
    '😀 é / " \\ \b\f\n\r\t \u007f',
  );
  for (const text of ["\\ud800", "\\ude00\\ud83d", "\\ud800\\u0041", "a\\udfff"]) {
    assertRefused(`"${text}"`, /half a surrogate/);
  }
  for (const text of ['"a', '"\n"', '"\u0000"']) assertRefused(text, /does not end, or has a control/);
  for (const text of ["\\x", "\\u12", "\\u12g4"]) assertRefused(`"${text}"`, /no such escape/);
  for (const raw of [[0xff], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
    assertRefused(Uint8Array.of(0x22, ...raw, 0x22), /UTF-8/);
  }
  assertRefused("\ufeff{}", /a value is expected/);
});

test("objects have each field once, whatever it is called", () => {
  const value = said('{"__proto__": 1, "constructor": {"toString": null}, "": []}');
  assert.ok(isObject(value));
  assert.deepEqual(Object.keys(value), ["__proto__", "constructor", ""]);
  assert.equal(value["__proto__"], 1);
  assert.equal(value["hasOwnProperty"], undefined);
  for (const text of ['{"a":1,"a":2}', '{"a":1,"\\u0061":1}', '{"__proto__":1,"__proto__":1}']) {
    assertRefused(text, /a field twice/);
  }
  for (const text of [
    "{,}",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    "[1,]",
    "[1 2]",
    "{1:2}",
    "[",
    "{",
    "",
    " ",
    "[}",
    "nul",
  ]) {
    assertRefused(text, /is expected/);
  }
  for (const text of ["{}{}", "[]]", "null,", "\u00a0{}", "1\u0000", "/**/1"]) {
    assertRefused(text, /follows|is expected/);
  }
});

test("nests are bounded", () => {
  for (const [open, close] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    const nest = (levels: number): string => open.repeat(levels) + "1" + close.repeat(levels);
    said(nest(200));
    assertRefused(nest(201), /nested too deeply/);
    assertRefused(open.repeat(1_000_000), /nested too deeply/);
  }
  said("[".repeat(201) + "]".repeat(201));
});

test("faults are at their line and column", () => {
  assertRefused('{"a": 1,\n "é😀": x}', /a value is expected at line 2, column 9$/);
});

test("numbers' canonical texts are those of RFC 8785's appendix", () => {
  const texts: Record<string, string> = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    ffefffffffffffff: "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    c340000000000000: "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    becbf647612f3696: "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
  };
  for (const [bits, text] of Object.entries(texts)) {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, BigInt(`0x${bits}`));
    assert.equal(canonical(new Real(view.getFloat64(0))), text, bits);
  }
});

test("canonical texts have their names in order and their escapes in one spelling", () => {
  // The example of RFC 8785, 3.2.3.
  const names = said(
    '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",' +
      '"\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}',
  );
  assert.deepEqual(
    canonical(names)
      .match(/"[^"]*":/g)
      ?.map((name) => name.codePointAt(1)),
    [0x5c, 0x31, 0x80, 0xf6, 0x20ac, 0x1f600, 0xfb33],
  );
  assert.equal(
    canonical(said('"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/\\u007f\\u2028"')),
    '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\u007f\u2028"',
  );
  for (const value of [
    undefined,
    2 ** 53,
    1.5,
    NaN,
    1n,
    new Real(Infinity),
    "\ud800",
    { "\udfff": 1 },
    [() => 1],
  ]) {
    assert.throws(() => canonical(value), ZenError);
  }
});

test("what is written canonically is read as it was", () => {
  const draw = new Draw(1);
  for (let round = 0; round < 500; round += 1) {
    const value = draw.json(4);
    const text = canonical(value);
    assert.equal(canonical(said(text)), text);
    assert.equal(JSON.stringify(JSON.parse(text)), JSON.stringify(JSON.parse(canonical(said(` ${text}\n`)))));
  }
});
