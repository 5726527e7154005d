/**
 * `verdict.ts` as the judges get it where this module is loaded before them: each place where they refuse is seen, and
 * one of them may be disabled.
 */

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { Refusal } from "../verifier/verdict.ts";

export * from "../verifier/verdict.ts";

const JUDGES = ["judging.ts", "receipts.ts"].map(
  (name) => new URL(`../verifier/${name}`, import.meta.url).href,
);

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "./verdict.ts" && JUDGES.includes(context.parentURL ?? "")
      ? { url: import.meta.url, shortCircuit: true }
      : next(specifier, context),
});

/** The text of each refusal, by its file and line. */
export const TEXTS: ReadonlyMap<string, string> = new Map(
  JUDGES.flatMap((judge) => {
    const lines = readFileSync(new URL(judge), "utf8").split("\n");
    const calls = lines.flatMap((line, index) => (/\brefuse\(/.test(line) ? [index] : []));
    return calls.map((index) => [`${judge}:${index + 1}`, lines.slice(index, index + 3).join(" ")] as const);
  }),
);

/** Those that refused since it was last cleared. */
export const reached = new Set<string>();
/** The place that does nothing. */
export const disabled: { place: string | null } = { place: null };

export function refuse(reason: string, detail = "", remedy: string | null = null): void {
  const caller = new Error().stack?.split("\n")[2] ?? "";
  const place = /(file:.*?:[0-9]+):[0-9]+\)?$/.exec(caller)?.[1] ?? caller;
  if (place === disabled.place) return;
  reached.add(place);
  throw new Refusal(reason, detail, remedy);
}
