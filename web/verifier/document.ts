/** Parts of JSON documents from strangers. Errors: `ZenError` (`file.json`). */

import * as bytes from "./bytes.ts";
import { ZenError } from "./errors.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

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
