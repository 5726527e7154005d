/** What the reader knows from elsewhere: entered on the page, and in a policy (`verifier/policy.py`). */

import { ZenError } from "../verifier/errors.ts";
import { isObject, parse } from "../verifier/json.ts";

/** Texts by the fields of `Expected`, and `issuer`. Whether they are of their form, the verifier says. */
export type Pins = Readonly<Record<string, string>>;

const OF_BOTH = ["network", "model", "after", "before"];
const FIELDS = {
  proof: [...OF_BOTH, "key", "require", "input", "reference", "challenge"],
  receipt: [...OF_BOTH, "issuer"],
};
const KNOWN = new Set([...FIELDS.proof, ...FIELDS.receipt]);

/** `idle`: the names of those that a document of this kind is not compared with. */
export interface Applying {
  readonly pins: Pins;
  readonly idle: readonly string[];
}

export function applying(pins: Pins, kind: "proof" | "receipt"): Applying {
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
  const pins: Record<string, string> = {};
  for (const [name, value] of Object.entries(policy)) {
    if (name === "format" || name === "version" || value === null) continue;
    if (["key_file", "registration", "registration_key"].includes(name)) {
      fail(
        "request.invalid",
        `it names a file, ${name}: pin the key's id, or give the policy to zenserve-verify`,
      );
    }
    if (!KNOWN.has(name) || typeof value !== "string") fail("file.json", `there is no such field, ${name}`);
    pins[name] = value;
  }
  if (Object.keys(pins).length === 0) fail("file.json", "it compares nothing");
  return pins;
}

/** Both. Throws `ZenError` (`request.invalid`) where they differ. */
export function agreed(policy: Pins, entered: Pins): Pins {
  for (const [name, value] of Object.entries(entered)) {
    if ((policy[name] ?? value) !== value)
      throw new ZenError("request.invalid", `The policy has another ${name}.`, name, name);
  }
  return { ...policy, ...entered };
}

function fail(code: string, message: string): never {
  throw new ZenError(code, `The policy cannot be used: ${message}.`, null, "policy");
}
