/** Verification that asks no service: for who need not believe the one that made the proof. */

import type { JsonSource } from "../verifier/json.ts";
import { verify, type Given } from "../verifier/verify.ts";

/**
 * Your own verdict, here and now, on a document, under a key file that you trust. `known`: what else you
 * know or hold, as `verify` of `zenserve-client/verifier` takes it. Raises `ZenError` for what is no proof or no key.
 */
export function verifyLocally(
  document: JsonSource,
  key: JsonSource,
  known: Omit<Given, "document" | "key"> = {},
): ReturnType<typeof verify> {
  return verify({ ...known, document, key });
}
