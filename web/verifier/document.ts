/** Parts of JSON documents from strangers. Errors: `ZenError` (`file.json`). */

import * as bytes from "./bytes.ts";
import { ZenError } from "./errors.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

/**
 * Controls, what only directs text, spaces but one, surrogates, private use, and what is no character: what
 * Unicode assigns later is printable before and after, whichever version a reader has (docs/formats.md).
 */
const UNPRINTABLE = new RegExp(
  "[" +
    String.raw`\u{0}-\u{1f}\u{7f}-\u{a0}\u{ad}\u{600}-\u{605}\u{61c}\u{6dd}\u{70f}\u{890}-\u{891}\u{8e2}` +
    String.raw`\u{1680}\u{180e}\u{2000}-\u{200f}\u{2028}-\u{202f}\u{205f}-\u{206f}\u{3000}\u{d800}-\u{f8ff}` +
    String.raw`\u{fdd0}-\u{fdef}\u{feff}\u{fff0}-\u{fffb}\u{fffe}-\u{ffff}\u{110bd}\u{110cd}` +
    String.raw`\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{1fffe}-\u{1ffff}` +
    String.raw`\u{2fffe}-\u{2ffff}\u{3fffe}-\u{3ffff}\u{4fffe}-\u{4ffff}\u{5fffe}-\u{5ffff}` +
    String.raw`\u{6fffe}-\u{6ffff}\u{7fffe}-\u{7ffff}\u{8fffe}-\u{8ffff}\u{9fffe}-\u{9ffff}` +
    String.raw`\u{afffe}-\u{affff}\u{bfffe}-\u{bffff}\u{cfffe}-\u{cffff}\u{dfffe}-\u{e00ff}` +
    String.raw`\u{e01f0}-\u{e0fff}\u{efffe}-\u{10ffff}` +
    "]",
  "u",
);

export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text);
}

/** Whether `document` is an object whose fields have the values `expected`. */
export function checkHeader(
  document: Json,
  what: string,
  expected: Readonly<Record<string, string | number>>,
): asserts document is JsonObject {
  if (!isObject(document)) throw new ZenError("file.json", `${what} must be a JSON object`);
  for (const [name, value] of Object.entries(expected)) {
    if (document[name] !== value) {
      const quoted = typeof value === "string" ? `'${value}'` : value;
      throw new ZenError("file.json", `${name} must be ${quoted}`, name);
    }
  }
}

/** The bytes of lower-case hex digits: each value has one spelling. */
export function fromHex(text: Json | undefined, field: string): Uint8Array {
  const data = typeof text === "string" ? bytes.fromHex(text) : null;
  if (data === null) {
    throw new ZenError("file.json", `${field} must be a string of lower-case hex digits`, field);
  }
  return data;
}

export function hexList(value: Json | undefined, field: string): Uint8Array[] {
  return asList(value, field).map((text, index) => fromHex(text, `${field}[${index}]`));
}

export function asList(value: Json | undefined, field: string): readonly Json[] {
  if (!Array.isArray(value)) throw new ZenError("file.json", `${field} must be a list`, field);
  return value;
}

/** An integer from 0 to 2^32 - 1. */
export function natural(value: Json | undefined, field: string): number {
  if (typeof value !== "number" || value < 0 || value >= 2 ** 32) {
    throw new ZenError("file.json", `${field} must be an integer from 0 to 2^32 - 1`, field);
  }
  return value;
}
