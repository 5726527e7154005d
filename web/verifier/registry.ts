/** The proof systems that are installed, by the ids that documents name them by. */

import { groth16 } from "./groth16/system.ts";
import { spartan } from "./spartan/system.ts";
import type { VerifyingSystem } from "./system.ts";

/** What documents are of that name no system: those from before there were others. */
export const FIRST: VerifyingSystem = groth16;
export const SYSTEMS: ReadonlyMap<string, VerifyingSystem> = new Map(
  [FIRST, spartan].map((system) => [system.id, system]),
);
