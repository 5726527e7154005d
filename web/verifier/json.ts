/**
 * JSON from strangers with one reading, and its canonical text (RFC 8785).
 *
 * `JSON.parse` will not do: of a field given twice it takes the last, it rounds integers beyond 2^53 - 1, and
 * 3.0 it takes for 3. Here an integer is a `number`, at most 2^53 - 1 in size; a larger one, which no document
 * has, is a `bigint`; what is written with a point or an exponent is a `Real`, which is no integer however it
 * looks. Objects have no prototype: `__proto__` is a name like any other.
 */

import { ZenError } from "./errors.ts";

export class Real {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

export type Json = null | boolean | number | bigint | string | Real | Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** Of nests, as Python's reader has it: an empty list or object may be one deeper. */
const MOST_LEVELS = 200;
/** Of an integer, or of a number's digits before the point. */
const MOST_DIGITS = 4300;

/** The text between fields and values, up to what is next. */
const SPACE = /[ \t\n\r]*/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const HEX = /[0-9a-fA-F]{4}/y;
const WORDS = new Map([
  ["t", { text: "true", value: true }],
  ["f", { text: "false", value: false }],
  ["n", { text: "null", value: null }],
]);
const ESCAPES = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/** JSON: its text, as bytes in UTF-8 or as a string, or what `JSON.parse` made of it. */
export type JsonSource = Uint8Array | string | Readonly<Record<string, unknown>> | readonly unknown[];

/**
 * What a source says. Throws `ZenError` (`file.json`) as `parse`, and for values that `JSON.parse` makes of no text.
 *
 * Of values that are parsed already, what the text was is lost: a field given twice, and whether an integer was
 * written with a point. They are copied once, so that nobody changes them afterwards.
 */
export function readJson(source: JsonSource): Json {
  return typeof source === "string" || isBytes(source) ? parse(source) : copied(source, 0);
}

/** A `Uint8Array`, of whatever realm. */
export function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === "[object Uint8Array]" && ArrayBuffer.isView(value);
}

function copied(value: unknown, level: number): Json {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return /\p{Surrogate}/u.test(value) ? notJson("half a surrogate") : value;
  if (typeof value === "number") return Number.isFinite(value) ? numberOf(value) : notJson(String(value));
  if (typeof value !== "object") return notJson(`a value of the type ${typeof value}`);
  if (level === MOST_LEVELS) return notJson("lists or objects that are nested too deeply");
  if (Array.isArray(value)) return Array.from(value, (each) => copied(each, level + 1));
  // Of another realm, as a frame's, the prototype is another one, and as bare.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return notJson("an object of a class");
  const fields = emptyObject<Json>();
  for (const [name, each] of Object.entries(value)) {
    if (/\p{Surrogate}/u.test(name)) notJson("half a surrogate");
    fields[name] = copied(each, level + 1);
  }
  return fields;
}

/** An integer beyond 2^53 - 1 may have been rounded: it is none here. Nor is -0, which keeps its sign. */
function numberOf(value: number): number | Real {
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : new Real(value);
}

function notJson(what: string): never {
  throw new ZenError("file.json", `this is neither JSON nor what JSON.parse makes of it: there is ${what}`);
}

/**
 * What JSON text, in UTF-8, says. Throws `ZenError` (`file.json`) for what is no JSON (NaN, Infinity and a byte
 * order mark are not), for a field given twice, numbers beyond a double, halves of surrogates and nests of more
 * than some 200 levels.
 */
export function parse(data: Uint8Array | string): Json {
  return new Parser(typeof data === "string" ? whole(data) : decoded(data)).document();
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Real);
}

/** An object without a prototype, in which every name is an ordinary one. */
export function emptyObject<T>(): Record<string, T> {
  const empty: Record<string, T> = Object.create(null);
  return empty;
}

/**
 * The one JSON text of JSON-able data, as RFC 8785 has it, so that programs in any language hash the same bytes.
 * Throws `ZenError` (`file.json`) for what that does not have: integers beyond 2^53 - 1, numbers that are not
 * finite, halves of surrogates.
 */
export function canonical(value: unknown): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  if (value instanceof Real && Number.isFinite(value.value)) return String(value.value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && !(value instanceof Real)) {
    // Names in the order of their UTF-16 units, which is that of JavaScript's comparison.
    const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${fields.map(([name, field]) => `${quoted(name)}:${canonical(field)}`).join(",")}}`;
  }
  throw new ZenError("file.json", "there is a value that canonical JSON has not");
}

function quoted(text: string): string {
  if (/\p{Surrogate}/u.test(text)) throw new ZenError("file.json", "there is half a surrogate in a text");
  // ECMAScript's own escapes are those of RFC 8785.
  return JSON.stringify(text);
}

function decoded(data: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new ZenError("file.json", "the file is not JSON: it is not in UTF-8");
  }
}

/** Text of whole characters, as all is that UTF-8 can encode. */
function whole(text: string): string {
  if (/\p{Surrogate}/u.test(text))
    throw new ZenError("file.json", "the file is not JSON: it has half a surrogate");
  return text;
}

class Parser {
  readonly #text: string;
  #at = 0;
  #level = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json {
    const value = this.#value();
    this.#space();
    if (this.#at < this.#text.length) this.#fail("something follows it");
    return value;
  }

  #value(): Json {
    this.#space();
    const first = this.#text[this.#at];
    if (first === "{") return this.#object();
    if (first === "[") return this.#list();
    if (first === '"') return this.#string();
    const word = WORDS.get(first ?? "");
    if (word === undefined) return this.#number();
    if (!this.#text.startsWith(word.text, this.#at)) this.#fail("a value is expected");
    this.#at += word.text.length;
    return word.value;
  }

  #object(): JsonObject {
    const fields = emptyObject<Json>();
    this.#items("}", () => {
      if (this.#text[this.#at] !== '"') this.#fail("a field's name is expected");
      const name = this.#string();
      if (name in fields) this.#fail("an object has a field twice");
      this.#space();
      if (this.#text[this.#at] !== ":") this.#fail("a colon is expected");
      this.#at += 1;
      fields[name] = this.#value();
    });
    return fields;
  }

  #list(): Json[] {
    const items: Json[] = [];
    this.#items("]", () => items.push(this.#value()));
    return items;
  }

  /** What is between an opening bracket, which is next, and the `closing` one. */
  #items(closing: string, item: () => void): void {
    this.#at += 1;
    this.#level += 1;
    this.#space();
    if (this.#text[this.#at] !== closing) {
      if (this.#level > MOST_LEVELS) this.#fail("it is nested too deeply");
      item();
      for (this.#space(); this.#text[this.#at] === ","; this.#space()) {
        this.#at += 1;
        this.#space();
        item();
      }
    }
    if (this.#text[this.#at] !== closing) this.#fail(`a comma or ${closing} is expected`);
    this.#at += 1;
    this.#level -= 1;
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    const parts = [this.#take(PLAIN)];
    while (this.#text[this.#at] === "\\") parts.push(this.#escaped(), this.#take(PLAIN));
    if (this.#text[this.#at] !== '"') this.#fail("a text does not end, or has a control character");
    this.#at += 1;
    const text = parts.join("");
    if (parts.length > 1 && /\p{Surrogate}/u.test(text)) {
      this.#at = start;
      this.#fail("half a surrogate is no character");
    }
    return text;
  }

  #escaped(): string {
    const code = this.#text[this.#at + 1] ?? "";
    this.#at += 2;
    if (code === "u") {
      const digits = this.#take(HEX);
      if (digits !== "") return String.fromCharCode(parseInt(digits, 16));
    }
    return ESCAPES.get(code) ?? this.#fail("there is no such escape");
  }

  #number(): Json {
    NUMBER.lastIndex = this.#at;
    const [text, integer = "", fraction, exponent] =
      NUMBER.exec(this.#text) ?? this.#fail("a value is expected");
    if (integer.length > MOST_DIGITS + Number(integer.startsWith("-"))) this.#fail("a number is too long");
    const value = Number(text);
    if (fraction === undefined && exponent === undefined) {
      this.#at += text.length;
      // There is no -0 among the integers.
      return Number.isSafeInteger(value) ? value + 0 : BigInt(text);
    }
    if (!Number.isFinite(value)) this.#fail("a number is beyond the range of a double");
    this.#at += text.length;
    return new Real(value);
  }

  #space(): void {
    this.#take(SPACE);
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [""];
    this.#at += found.length;
    return found;
  }

  #fail(why: string): never {
    const before = this.#text.slice(0, this.#at);
    const line = before.split("\n").length;
    const column = this.#at - before.lastIndexOf("\n");
    throw new ZenError("file.json", `the file is not JSON: ${why} at line ${line}, column ${column}`);
  }
}
