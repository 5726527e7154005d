/**
 * Readers of parsed JSON: each takes a value and its place, and answers with what it is, or refuses it.
 *
 * They are exact, as Python's are: nothing is converted, nothing is ignored, and what is left out is only what may
 * be. A value that is not there is `undefined`. Errors are `ZenError` (`file.json`), and name the place.
 */

import { ZenError } from "./errors.ts";
import { emptyObject, isObject, Real } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";

export type Reader<T> = (value: Json | undefined, place: string) => T;
/** What a reader answers with. */
export type Read<R> = R extends Reader<infer T> ? T : never;

type Fields = Readonly<Record<string, Reader<unknown>>>;
type ReadFields<F extends Fields> = { readonly [Name in keyof F]: Read<F[Name]> };

/** `place`: of the value at fault, "" for the whole; `why`: a sentence without its stop. */
export function fault(place: string, why: string): never {
  throw new ZenError("file.json", `${place || "the file"}: ${why}`, place || null);
}

function within(place: string, name: string | number): string {
  return place === "" ? String(name) : `${place}.${name}`;
}

function unlike(value: Json | undefined, place: string, what: string): never {
  fault(place, value === undefined ? "this field is missing" : `this must be ${what}`);
}

export const text: Reader<string> = (value, place) =>
  typeof value === "string" ? value : unlike(value, place, "a text");

/** A text that `fits`. */
export function textThat(fits: (text: string) => boolean, what: string): Reader<string> {
  return (value, place) => (typeof value === "string" && fits(value) ? value : unlike(value, place, what));
}

/** One of these texts. */
export function oneOf<Word extends string>(...words: readonly Word[]): Reader<Word> {
  return (value, place) => words.find((word) => word === value) ?? unlike(value, place, words.join(" or "));
}

export function integer(least: number, most: number): Reader<number> {
  return (value, place) =>
    typeof value === "number" && least <= value && value <= most
      ? value
      : unlike(value, place, `an integer from ${least} to ${most}`);
}

/** Of any size. */
export const anyInteger: Reader<bigint> = (value, place) =>
  typeof value === "number" || typeof value === "bigint" ? BigInt(value) : unlike(value, place, "an integer");

/** A number that is an integer or has a point. */
export const real: Reader<number> = (value, place) => {
  if (value instanceof Real) return value.value;
  return typeof value === "number" || typeof value === "bigint"
    ? Number(value)
    : unlike(value, place, "a number");
};

/** Of what is either true or left out. */
export const onlyTrue: Reader<true> = (value, place) =>
  value === true ? value : unlike(value, place, "true");

export const anyObject: Reader<JsonObject> = (value, place) =>
  isObject(value) ? value : unlike(value, place, "an object");

export function nullable<T>(reader: Reader<T>): Reader<T | null> {
  return (value, place) => (value === null ? null : reader(value, place));
}

/** What may be left out: then it is `otherwise`, or not there at all where that is `undefined`. */
export function optional<T, Otherwise>(reader: Reader<T>, otherwise: Otherwise): Reader<T | Otherwise> {
  return (value, place) => (value === undefined ? otherwise : reader(value, place));
}

export function list<T>(item: Reader<T>, least = 0, most = Infinity): Reader<readonly T[]> {
  return (value, place) => {
    if (!Array.isArray(value)) unlike(value, place, "a list");
    if (value.length < least) fault(place, `it has ${value.length} items, and must have ${least} at least`);
    if (value.length > most) fault(place, `it has ${value.length} items, and must have ${most} at most`);
    return value.map((each, index) => item(each, within(place, index)));
  };
}

/** An object of values by names, of which there are `most` at most. */
export function named<T>(
  name: Reader<string>,
  item: Reader<T>,
  most: number,
): Reader<Readonly<Record<string, T>>> {
  return (value, place) => {
    const given = Object.entries(anyObject(value, place));
    if (given.length > most) fault(place, `it has ${given.length} fields, and must have ${most} at most`);
    const fields = emptyObject<T>();
    for (const [key, each] of given) {
      fields[name(key, within(within(place, key), "[key]"))] = item(each, within(place, key));
    }
    return fields;
  };
}

/** An object of these fields. */
export function object<F extends Fields>(fields: F): Reader<ReadFields<F>> {
  const known = openObject(fields);
  return (value, place) => {
    const read = known(value, place);
    for (const name of Object.keys(anyObject(value, place))) {
      if (!Object.hasOwn(fields, name)) fault(within(place, name), "there is no such field");
    }
    return read;
  };
}

/** An object of these fields, and any others, which are left out. */
export function openObject<F extends Fields>(fields: F): Reader<ReadFields<F>> {
  return (value, place) => {
    const given = anyObject(value, place);
    const read = Object.entries(fields).map(([name, reader]) => [
      name,
      reader(given[name], within(place, name)),
    ]);
    // The entries are those of `fields`, each read by its own reader.
    return Object.fromEntries(read.filter(([, field]) => field !== undefined)) as ReadFields<F>;
  };
}

/** What `check`, which throws at a `fault`, has nothing to say against. */
export function checked<T>(reader: Reader<T>, check: (value: T, place: string) => void): Reader<T> {
  return (value, place) => {
    const read = reader(value, place);
    check(read, place);
    return read;
  };
}
