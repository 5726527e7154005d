/** Every vector gets its verdict, and whatever the judges refuse is refused by one of them. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { canonical } from "../verifier/json.ts";
import { hex } from "../verifier/bytes.ts";
import type { Case, Outcome } from "./vectors.ts";
import { disabled, reached, TEXTS } from "./refusals.ts";

// Only now: `refusals.ts` is to be there before the judges are.
const { CASES, givenOf, judged, outcomeOf, verified } = await import("./vectors.ts");
const { ZenError } = await import("../verifier/errors.ts");
const { groth16 } = await import("../verifier/groth16/system.ts");

/** Refusals, by a part of their text, that no file alone brings about, and why. */
const UNREACHED = new Map([
  ["The input given is not of the network's shape.", "what reads inputs refuses it first"],
  ["The network has no ${", "what reads inputs refuses it first"],
]);
/**
 * What comes next refuses it under the same name: links hold over one basis, but for roots of polynomials, and systems
 * have commitments of other lengths.
 */
const TWICE_REFUSED = [
  "The registration's commitment is over another basis.",
  "The registration is of another proof system.",
  "The opening given is of another commitment scheme.",
];

/** Of the vectors one of each reason for each kind, and no refusals disabled. */
const SAMPLED = Boolean(process.env["ONE_OF_EACH"]);
const ASKED = SAMPLED ? CASES.filter(isFirst) : CASES;

function isFirst(each: Case, index: number): boolean {
  const sort = ({ name, reason }: Case): string => `${name.split("/")[0]} ${reason}`;
  return !CASES.slice(0, index).some((one) => sort(one) === sort(each));
}

/** The equations, asked once: they are the same whatever is disabled. */
function remember(): void {
  const { verifyGroups, checkTranscript } = groth16;
  const answers = new Map<string, ReturnType<typeof verifyGroups>>();
  mock.method(groth16, "verifyGroups", (...[key, groups]: Parameters<typeof verifyGroups>) => {
    const claims = groups.map((group) =>
      group.map(({ publicInputs, proof, commitments }) => [
        publicInputs.map(String),
        hex(proof),
        commitments.map(hex),
      ]),
    );
    const asked = hex(key.digest) + canonical(claims);
    const answer = answers.get(asked) ?? verifyGroups(key, groups);
    answers.set(asked, answer);
    return answer;
  });
  const shown = new Set<string>();
  mock.method(groth16, "checkTranscript", (...[document, key]: Parameters<typeof checkTranscript>) => {
    const asked = hex(key.digest) + canonical(document);
    if (!shown.has(asked)) checkTranscript(document, key);
    shown.add(asked);
  });
}

async function judgedBy(each: Case): Promise<Outcome> {
  return judged(givenOf(each));
}

remember();
const caught = new Map<string, Case[]>();

test("every vector gets its verdict", async (context) => {
  for (const each of ASKED) {
    await context.test(each.name, async () => {
      reached.clear();
      assert.deepEqual(await judgedBy(each), outcomeOf(each));
      for (const place of reached) caught.set(place, [...(caught.get(place) ?? []), each]);
      if (each.exit < 2) assert.deepEqual(await verified(each), outcomeOf(each));
      else await assert.rejects(verified(each), ZenError);
    });
  }
});

test("each refusal that is disabled is noticed by a vector", { skip: SAMPLED }, async () => {
  const missing = [...TEXTS].flatMap(([place, text]) => (caught.has(place) ? [] : [text]));
  assert.equal(missing.length, UNREACHED.size, missing.join("\n"));
  assert.ok(missing.every((text) => [...UNREACHED.keys()].some((part) => text.includes(part))));
  const unnoticed: string[] = [];
  for (const [place, cases] of caught) {
    disabled.place = place;
    if (!(await isNoticed(cases))) unnoticed.push(TEXTS.get(place) ?? place);
  }
  disabled.place = null;
  assert.equal(unnoticed.length, TWICE_REFUSED.length, unnoticed.join("\n"));
  assert.ok(TWICE_REFUSED.every((part) => unnoticed.some((text) => text.includes(part))));
});

/** By more than its detail. */
async function isNoticed(cases: readonly Case[]): Promise<boolean> {
  for (const each of cases) {
    try {
      assert.deepEqual({ ...(await judgedBy(each)), detail: null }, { ...outcomeOf(each), detail: null });
    } catch {
      return true;
    }
  }
  return false;
}
