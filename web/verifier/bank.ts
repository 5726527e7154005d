/** What the key of a bank's model is of: a network that adds its prior to what it sees. */

import { inputType, numbers, readParsed } from "./documents.ts";
import { ZenError } from "./errors.ts";
import { anyObject, list, named, nullable, openObject, optional, text } from "./fields.ts";
import type { Read } from "./fields.ts";
import type { JsonObject } from "./json.ts";
import { product } from "./lists.ts";

/** What a bank's models call the public input that is added to their outputs: of each class `margin + p`. */
export const PRIOR = "prior";
/** What they call the output without it: the course follows its label, from which no prior hides a change. */
export const SEEN = "seen";
/** What they call the sum, whose label is the answer. */
export const ANSWER = "answer";

const layer = openObject({
  name: text,
  operator: text,
  reads: list(text),
  shape: numbers,
  factors: optional(numbers, []),
});
type Layer = Read<typeof layer>;

/** Of a circuit's description. */
const network = openObject({
  architecture: list(layer),
  outputs: named(text, text, Infinity),
  quantisation: openObject({
    inputs: list(inputType),
    layers: list(openObject({ name: text, rescale: optional(nullable(anyObject), null) })),
  }),
});

/**
 * Whether `answer` is `seen` and the prior, in the same steps and not rounded, both with a number for each class;
 * the prior's integers are `margin + p`; and `seen` is computed without it.
 */
export function addsPrior(described: JsonObject, classes: number, margin: number): boolean {
  const found = readOrNull(described);
  if (found === null) return false;
  const { architecture, outputs, quantisation } = found;
  const layers = new Map(architecture.map((each) => [each.name, each]));
  const prior = quantisation.inputs.find(({ name }) => name === PRIOR);
  const twice = quantisation.inputs.some(({ name }) => name !== null && layers.has(name));
  if (layers.size < architecture.length || twice) return false; // a name has two meanings
  const { [SEEN]: seen = "", [ANSWER]: answer = "" } = outputs;
  const added = layers.get(answer);
  if (!layers.has(seen) || added === undefined || prior === undefined) return false;
  const exact = !quantisation.layers.some(({ name, rescale }) => name === answer && rescale !== null);
  const { operator, reads, factors, shape } = added;
  const sums = operator === "Add" && reads.length === 2 && reads.includes(seen) && reads.includes(PRIOR);
  const alike = factors.length === 2 && factors.every((factor) => factor === 1);
  const sized = product(shape) === classes && product(prior.shape) === classes;
  return exact && sums && alike && sized && prior.zero_point === margin && !behind(seen, layers).has(PRIOR);
}

function readOrNull(described: JsonObject): Read<typeof network> | null {
  try {
    return readParsed(network, described);
  } catch (error) {
    if (error instanceof ZenError) return null;
    throw error;
  }
}

/** What this is computed from, and itself. */
function behind(name: string, layers: ReadonlyMap<string, Layer>): Set<string> {
  const found = new Set([name]);
  // A set takes more while it is walked.
  for (const here of found) for (const each of layers.get(here)?.reads ?? []) found.add(each);
  return found;
}
