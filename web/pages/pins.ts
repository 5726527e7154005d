/** What the reader knows from elsewhere: entered on the page, and in a policy (`verifier/policy.py`). */

import { ZenError } from "../verifier/errors.ts";
import { canonical, isObject, parse, Real } from "../verifier/json.ts";
import type { Json } from "../verifier/json.ts";

/** A text or a number; or of several inputs or outputs such, by their names. */
export type Pin = string | number | Readonly<Record<string, string | number>>;
/** By the fields of `Expected`, and `issuer`. Whether they are of their form, the verifier says. */
export type Pins = Readonly<Record<string, Pin>>;

const OF_BOTH = ["network", "model", "after", "before"];
const FIELDS = {
  proof: [
    ...OF_BOTH,
    "key",
    "require",
    "input",
    "inputs",
    "output",
    "outputs",
    "reference",
    "challenge",
    "at_least",
    "at_most",
  ],
  receipt: [...OF_BOTH, "issuer"],
  stream: ["head", "link", "challenge", "require"],
};
/** What documents are compared in ways of their own. */
export type DocumentKind = keyof typeof FIELDS;
const KNOWN = new Set(Object.values(FIELDS).flat());

/** `idle`: the names of those that a document of this kind is not compared with. */
export interface Applying {
  readonly pins: Pins;
  readonly idle: readonly string[];
}

export function applying(pins: Pins, kind: DocumentKind): Applying {
  const all = Object.entries(pins);
  const isOf = (name: string): boolean => FIELDS[kind].includes(name);
  return {
    pins: Object.fromEntries(all.filter(([name]) => isOf(name))),
    idle: all.map(([name]) => name).filter((name) => !isOf(name)),
  };
}

/**
 * What a policy says. Throws `ZenError`: `file.json` where it is none, `request.invalid` where it names files,
 * for a page opens none by their names.
 */
export function readPolicy(data: Uint8Array): Pins {
  const policy = parse(data);
  if (!isObject(policy) || policy["version"] !== 1)
    fail("file.json", "this page reads policies of version 1");
  const pins: Record<string, Pin> = {};
  for (const [name, value] of Object.entries(policy)) {
    if (name === "format" || name === "version" || value === null) continue;
    if (["key_file", "registration", "registration_key"].includes(name)) {
      fail(
        "request.invalid",
        `it names a file, ${name}: pin the key's id, or give the policy to zenserve-verify`,
      );
    }
    const pin = pinOf(value);
    if (!KNOWN.has(name) || pin === null) fail("file.json", `there is no such field, ${name}`);
    pins[name] = pin;
  }
  if (Object.keys(pins).length === 0) fail("file.json", "it compares nothing");
  return pins;
}

/** Null where it is none. */
function pinOf(value: Json | undefined): Pin | null {
  if (value instanceof Real) return value.value;
  if (typeof value === "string" || typeof value === "number") return value;
  if (!isObject(value)) return null;
  const named: Record<string, string | number> = {};
  for (const [name, each] of Object.entries(value)) {
    const pin = pinOf(each);
    if (pin === null || typeof pin === "object") return null;
    named[name] = pin;
  }
  return named;
}

/** Of `TEXT`, or by names of `NAME=TEXT,NAME=TEXT`. */
export function byName<T extends string | number>(
  words: string,
  read: (text: string) => T,
): T | Record<string, T> {
  if (!words.includes("=")) return read(words.trim());
  const pairs = words.split(",").map((part) => {
    const end = part.indexOf("=");
    return [part.slice(0, end).trim(), read(part.slice(end + 1).trim())] as const;
  });
  return Object.fromEntries(pairs);
}

/** Both. Throws `ZenError` (`request.invalid`) where they differ. */
export function agreed(policy: Pins, entered: Pins): Pins {
  for (const [name, value] of Object.entries(entered)) {
    if (canonical(policy[name] ?? value) !== canonical(value))
      throw new ZenError("request.invalid", `The policy has another ${name}.`, name, name);
  }
  return { ...policy, ...entered };
}

function fail(code: string, message: string): never {
  throw new ZenError(code, `The policy cannot be used: ${message}.`, null, "policy");
}
