/** What callers gave, checked before anything is sent: programs without types hand in what no type would let pass. */

import { ArgumentError } from "./errors.ts";
import type { Bytes } from "./routes.ts";

/** The error of an argument that is not what is `wanted`. Its value is not quoted: it may be secret. */
export function wrongType(name: string, wanted: string, given: unknown): ArgumentError {
  return new ArgumentError(name, `${name}: give ${wanted}, not ${kindOf(given)}`);
}

function kindOf(given: unknown): string {
  if (given === null || given === undefined) return String(given);
  if (typeof given !== "object") return `a ${typeof given}`;
  return `an object of type ${given.constructor?.name ?? "Object"}`;
}

/** Raises `ArgumentError` for what has no fields by name. */
export function requireFields(name: string, given: unknown): void {
  const isPlain =
    typeof given === "object" && given !== null && !Array.isArray(given) && !ArrayBuffer.isView(given);
  if (!isPlain) throw wrongType(name, "an object with fields by name", given);
}

/** Raises `ArgumentError` for what is no file's content. */
export function requireBytes(name: string, given: unknown): void {
  if (!(given instanceof Uint8Array)) throw wrongType(name, "the file's bytes as a Uint8Array", given);
}

/** Raises `ArgumentError` for what is no file's content. */
export function requireFile(name: string, given: unknown): void {
  if (!isFile(given)) throw wrongType(name, "the file's bytes as a Uint8Array or a Blob", given);
}

export function isFile(given: unknown): given is Blob | Bytes {
  return given instanceof Blob || given instanceof Uint8Array;
}

/** Raises `ArgumentError` for what no call answered with, such as the job's id. */
export function requireJob(given: unknown): void {
  const id = typeof given === "object" && given !== null && "id" in given ? given.id : undefined;
  if (typeof id !== "string") throw wrongType("job", "the job as a call answered with it", given);
}

/** Raises `ArgumentError` for what is no number of seconds. */
export function requireSeconds(name: string, given: unknown): void {
  const isTime = typeof given === "number" && given >= 0;
  if (!isTime) throw wrongType(name, "a number of seconds, 0 or more", given);
}

/**
 * A value as addresses, headers and forms have it. Raises `ArgumentError` for an object, which would be sent as
 * `[object Object]`.
 */
export function asText(name: string, given: unknown): string {
  if (typeof given === "object" || typeof given === "function" || typeof given === "symbol") {
    throw wrongType(name, "a text, a number or true or false, or a list of these", given);
  }
  return String(given);
}

/** A body as JSON, arrays of numbers as lists. Raises `ArgumentError` for what JSON has not. */
export function asJson(body: unknown): string {
  requireFields("body", body);
  const fields = Object.entries(body as object).flatMap(([name, value]) => {
    if (value === undefined) return [];
    try {
      return [`${JSON.stringify(name)}:${JSON.stringify(value, listed)}`];
    } catch {
      throw wrongType(name, "what JSON has, or an array of numbers", value);
    }
  });
  return `{${fields.join(",")}}`;
}

function listed(_: string, value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError();
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? Array.from(value as unknown as ArrayLike<number>)
    : value;
}
