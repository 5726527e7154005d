/**
 * The documents that are handed on: statements, proofs, keys, openings and receipts.
 *
 * What a reader here answers with is the document as JSON, with what may be left out filled in: its canonical
 * text is what hashes and signatures are of. Since version 3 each names the proof system that it is of, which says
 * how long its commitments are and what opens them. Documents of before name none: they are of the first system.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { fromBigEndian, fromHex, hex } from "./bytes.ts";
import { isPrintable } from "./document.ts";
import { ZenError } from "./errors.ts";
import {
  anyInteger,
  anyObject,
  checked,
  fault,
  integer,
  list,
  named,
  nullable,
  object,
  oneOf,
  onlyTrue,
  openObject,
  optional,
  real,
  text,
  textThat,
} from "./fields.ts";
import type { Read, Reader } from "./fields.ts";
import { canonical, isObject, readJson, Real } from "./json.ts";
import type { Json, JsonObject, JsonSource } from "./json.ts";
import { at, product } from "./lists.ts";
import { countsOf, MEASURES, MOST_STEP, takesTargets } from "./measures.ts";
import type { Count, Measurement } from "./measures.ts";
import { SCALAR_MODULUS } from "./points.ts";
import { FIRST, SYSTEMS } from "./registry.ts";
import type { CommitmentScheme, VerifyingSystem } from "./system.ts";

export const MOST_INTEGER = Number.MAX_SAFE_INTEGER;
const MOST_SHARDS = 1 << 16;
/** Hex digits: 64 bytes a shard. */
const MOST_SUM_OPENING = 1 << 23;
/** Of outputs that words say: times any integer of a document it is a finite number. */
const MOST_SCALE = 1e290;
/** Values of an input or a shard: none of more has a circuit that anybody could prove. */
const MOST_COMMITTED = 1 << 24;
const MOST_AXES = 16;
const MOST_CHALLENGE = 200;
/** Of values, and of commitments, in one statement. */
const MOST_NAMES = 16;
/** That a statement does not say. */
const MOST_SENTENCES = 32;
/** The version since which documents name their proof system. */
const NAMING = 3;
/** The version of receipts that list twins. */
const LISTING = 4;
/** Of a receipt. */
const MOST_TWINS = 64;

const hexText = textThat((digits) => fromHex(digits) !== null, "lower-case hex digits, two for each byte");
export const digest = textThat((digits) => /^[0-9a-f]{64}$/.test(digits), "64 lower-case hex digits");
const signature = textThat((digits) => /^[0-9a-f]{128}$/.test(digits), "128 lower-case hex digits");
export const commitment = textThat(
  (digits) => /^([0-9a-f]{2}){32,64}$/.test(digits),
  "the lower-case hex digits of 32 to 64 bytes",
);
/** Of several inputs and outputs, each has its own name behind the slash. */
const name = textThat(
  (each) => /^[a-z_]{1,40}(\/[A-Za-z0-9_.-]{1,64})?$/.test(each),
  "a name of 1 to 40 of a to z and _, and of several, its own behind a slash",
);
const ownName = textThat((each) => /^[A-Za-z0-9_.-]{1,64}$/.test(each), "a name of 1 to 64 characters");
export const moment = textThat(isMoment, "a moment that there is, in UTC, as 2026-11-22T10:00:00Z");
export const challenge = textThat(
  // A character has two units at most. Of megabytes, no list is made.
  (words) =>
    0 < words.length &&
    words.length <= 2 * MOST_CHALLENGE &&
    [...words].length <= MOST_CHALLENGE &&
    isPrintable(words),
  `1 to ${MOST_CHALLENGE} characters that can be printed`,
);
export const size = integer(1, MOST_INTEGER);
const number = integer(-MOST_INTEGER, MOST_INTEGER);
export const numbers = list(number);
const value: Reader<number | readonly number[]> = (each, place) =>
  Array.isArray(each) ? numbers(each, place) : number(each, place);
const systemId = textThat(
  (id) => SYSTEMS.has(id),
  `one of the proof systems that are known here, ${[...SYSTEMS.keys()].join(", ")}: a newer program may know it`,
);

/** Months end at 12, and February at 28 or 29. */
function isMoment(words: string): boolean {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/.test(words) || words.startsWith("0000")) {
    return false;
  }
  const found = new Date(words);
  return !Number.isNaN(found.getTime()) && found.toISOString() === words.replace("Z", ".000Z");
}

/** What a document of a proof system has: of a version before `NAMING`, no system. */
interface OfSystem {
  readonly version: number;
  readonly system: string | undefined;
  readonly commitment_scheme: string | undefined;
}

const SYSTEM_FIELDS = { system: optional(systemId, undefined), commitment_scheme: optional(text, undefined) };

/** One of those that are read. */
function version(read: readonly number[], otherwise: number): Reader<number> {
  return optional((found, place) => {
    const known = read.find((each) => each === found);
    if (known === undefined) {
      fault(place, `this program reads versions ${read.slice(0, -1).join(", ")} and ${read.at(-1)}`);
    }
    return known;
  }, otherwise);
}

function namesItsSystem(document: OfSystem, place: string): void {
  const count = [document.system, document.commitment_scheme].filter((each) => each !== undefined).length;
  if (count !== (document.version >= NAMING ? 2 : 0)) {
    fault(place, "documents from version 3 on alone name their system and commitment_scheme");
  }
  const system = systemOf(document);
  if (count > 0 && document.commitment_scheme !== system.commitments.id) {
    fault(place, `${system.id} has the commitment_scheme ${system.commitments.id}`);
  }
}

/** The proof system that the document is of. */
export function systemOf(document: { readonly system: string | undefined }): VerifyingSystem {
  return document.system === undefined
    ? FIRST
    : (SYSTEMS.get(document.system) ?? fault("system", "it is not known"));
}

function requireLength(place: string, part: string, digits: string | null, scheme: CommitmentScheme): void {
  if (digits !== null && digits.length !== 2 * scheme.commitmentBytes) {
    fault(place, `${part}: a commitment of ${scheme.id} has ${scheme.commitmentBytes} bytes, in hex`);
  }
}

/** That all these, by their places, are as the document's commitment scheme has them. */
function requireForm(
  document: OfSystem,
  place: string,
  commitments: readonly (readonly [string, string | null])[],
  openings: readonly (readonly [string, JsonObject | null])[],
): void {
  const scheme = systemOf(document).commitments;
  for (const [part, digits] of commitments) {
    requireLength(place, part, digits, scheme);
  }
  for (const [part, opening] of openings) {
    try {
      if (opening !== null) scheme.checkForm(opening);
    } catch (error) {
      if (!(error instanceof ZenError)) throw error;
      fault(place, `${part}: not an opening of ${scheme.id}: ${error.message}`);
    }
  }
}

const keyReference = object({ id: digest, setup: text });
/** Which verification key a proof is for. `id` covers the key and what it means (`keyId`). */
export type KeyReference = Read<typeof keyReference>;

const shard = object({
  size,
  dataset: commitment,
  correct: commitment,
  opening: optional(nullable(anyObject), null),
});

const dataset = checked(
  object({
    sha256: nullable(digest),
    size,
    picked_for: nullable(commitment),
    shards: list(shard, 1, MOST_SHARDS),
    blinding: checked(hexText, (digits, place) => {
      if (digits.length > MOST_SUM_OPENING) fault(place, `it has more than ${MOST_SUM_OPENING} hex digits`);
    }),
  }),
  ({ shards, sha256: hash }, place) => {
    if (shards.some((each) => (each.opening === null) !== (hash === null))) {
      fault(place, "the shards of a public dataset, and no others, have openings");
    }
  },
);
/** What an accuracy is about. `sha256`: its content (`datasets.ts`), null where it is private. */
export type Dataset = Read<typeof dataset>;

const SCHEMES = ["registration", "inference", "recognition", "accuracy", "robustness"] as const;

const statement = checked(
  object({
    version: version([1, NAMING], NAMING),
    ...SYSTEM_FIELDS,
    format: optional(oneOf("zenserve statement"), "zenserve statement"),
    scheme: oneOf(...SCHEMES),
    claim: text,
    network: digest,
    values: named(name, value, MOST_NAMES),
    commitments: named(name, commitment, MOST_NAMES),
    dataset: nullable(dataset),
    parent: nullable(commitment),
    verification_key: keyReference,
    challenge: nullable(challenge),
    made_at: moment,
    saturates: optional(onlyTrue, undefined),
    does_not_say: list(text, 0, MOST_SENTENCES),
  }),
  (said, place) => {
    namesItsSystem(said, place);
    if ((said.dataset === null) === (said.scheme === "accuracy")) {
      fault(place, "dataset is for the scheme accuracy, and only for it");
    }
    if (said.parent !== null && said.scheme !== "registration") {
      fault(place, "parent is for the scheme registration only");
    }
    if (said.saturates && said.scheme === "registration") {
      fault(place, "saturates is for schemes that take numbers, and a registration takes none");
    }
    const shards = [...(said.dataset?.shards ?? []).entries()].map(([index, each]) => ({
      place: `dataset.shards.${index}`,
      each,
    }));
    requireForm(
      said,
      place,
      [
        ...Object.entries(said.commitments).map(([part, each]) => [`commitments.${part}`, each] as const),
        ...shards.flatMap((part) =>
          (["dataset", "correct"] as const).map(
            (kind) => [`${part.place}.${kind}`, part.each[kind]] as const,
          ),
        ),
        ["parent", said.parent],
        ["dataset.picked_for", said.dataset?.picked_for ?? null],
      ],
      shards.map((part) => [`${part.place}.opening`, part.each.opening]),
    );
  },
);
/** What a proof says; its hash, a public input of the proof, covers the system that proves it, too. */
export type Statement = Read<typeof statement>;
/** The public values by name; lists are flat, row-major. */
export type Values = Statement["values"];

/** Of the canonical text, 32 bytes. */
export function statementHash(said: Statement): Uint8Array {
  return hashOf(said);
}

/** The public input `statement`: the hash's first 31 bytes, big-endian, below the group order. */
export function statementScalar(said: Statement): bigint {
  return fromBigEndian(statementHash(said).slice(0, 31));
}

/** SHA-256 of the canonical text of a document or its like, 32 bytes. */
export function hashOf(value: unknown): Uint8Array {
  return sha256(new TextEncoder().encode(canonical(value)));
}

/** A proof to hand on. With the key file it names, it is all that a verifier needs. */
export const proofDocument = checked(
  object({
    version: version([2, NAMING], NAMING),
    format: optional(oneOf("zenserve proof"), "zenserve proof"),
    statement,
    statement_sha256: digest,
    proofs: list(hexText, 1, MOST_SHARDS),
  }),
  (document, place) => {
    const system = systemOf(document.statement);
    if (document.proofs.some((proof) => proof.length > 2 * system.mostProofBytes)) {
      fault("proofs", `a proof of ${system.id} has ${system.mostProofBytes} bytes at most, in hex`);
    }
    if ((document.version === NAMING) !== (document.statement.version === NAMING)) {
      fault(place, "the statement is of another version than the document");
    }
  },
);
export type ProofDocument = Read<typeof proofDocument>;

/** What a verification key is, and what it means: `key` as its system writes it, `circuit` as described. */
export const keyFile = checked(
  object({
    version: version([2, NAMING], 2),
    ...SYSTEM_FIELDS,
    id: digest,
    setup: text,
    key: anyObject,
    circuit: anyObject,
    transcript: optional(nullable(anyObject), null),
  }),
  namesItsSystem,
);
export type KeyFile = Read<typeof keyFile>;

const PINNED = {
  model: optional(nullable(commitment), null),
  network: optional(nullable(digest), null),
  after: optional(nullable(moment), null),
  before: optional(nullable(moment), null),
};

interface Times {
  readonly after: string | null;
  readonly before: string | null;
}

function isNotEmpty({ after, before }: Times): void {
  if (after !== null && before !== null && before < after) {
    fault("before", "this is earlier than after: no time is in between");
  }
}

/** Whether the moment is neither before `after` nor after `before`. */
export function spans({ after, before }: Times, at: string): boolean {
  return (after ?? at) <= at && at <= (before ?? at);
}

const end = checked(real, (each, place) => {
  if (!Number.isFinite(each)) fault(place, "this must be a finite number");
});
const endsByName = named(ownName, end, MOST_NAMES);
/** What outputs reach, or stay below: of the only one, or by their names. */
const ends: Reader<number | Readonly<Record<string, number>>> = (each, place) =>
  isObject(each) ? endsByName(each, place) : end(each, place);

/** What a verifier of a proof knows from elsewhere: each is null where nothing is. */
export const expected = checked(
  object({
    ...PINNED,
    key: optional(nullable(digest), null),
    require: optional(nullable(oneOf("ceremony")), null),
    input: optional(nullable(commitment), null),
    inputs: optional(nullable(named(ownName, commitment, MOST_NAMES)), null),
    output: optional(nullable(commitment), null),
    outputs: optional(nullable(named(ownName, commitment, MOST_NAMES)), null),
    reference: optional(nullable(commitment), null),
    challenge: optional(nullable(challenge), null),
    at_least: optional(nullable(ends), null),
    at_most: optional(nullable(ends), null),
  }),
  isNotEmpty,
);
export type Expected = Read<typeof expected>;

/** What a verifier of a receipt knows from elsewhere. `issuer`: an Ed25519 public key, in hex. */
export const expectedReceipt = checked(
  object({ ...PINNED, issuer: optional(nullable(digest), null) }),
  isNotEmpty,
);
export type ExpectedReceipt = Read<typeof expectedReceipt>;

/** What a verifier of a stream knows from elsewhere. `head`, `link`: its chain's first link, and the last. */
export const expectedStream = object({
  head: optional(nullable(digest), null),
  link: optional(nullable(digest), null),
  challenge: optional(nullable(challenge), null),
  require: optional(nullable(oneOf("ceremony")), null),
});
export type ExpectedStream = Read<typeof expectedStream>;

const group = openObject({
  name: text,
  first: anyInteger,
  count: size,
  shape: list(anyInteger),
  minimum: optional(anyInteger, 0n),
  maximum: optional(anyInteger, SCALAR_MODULUS - 1n),
  scale: optional(nullable(real), null),
  zero_point: optional(anyInteger, 0n),
});
/** Public inputs of one name: `count` of them from `first`; a plain number where `shape` is []. */
export type Group = Read<typeof group>;
/** What is asked of a value that stands for public inputs. */
type Form = Pick<Group, "name" | "count" | "shape" | "minimum" | "maximum">;

/** Whether `reals` are finite, and the same in any language: a double above 0 times an exact integer. */
function canBeSaid({ scale, zero_point: zero }: Group): boolean {
  return (
    scale === null || (scale > 0 && scale <= MOST_SCALE && zero >= -MOST_INTEGER && zero <= MOST_INTEGER)
  );
}

/** What its integers stand for, `scale (q - zero_point)`; null where no scale is known. */
export function reals(
  { scale, zero_point: zero }: Pick<Group, "scale" | "zero_point">,
  integers: readonly number[],
): number[] | null {
  return scale === null ? null : integers.map((q) => scale * (q - Number(zero)));
}

/** A statement's value, which may be a plain number. */
export function listOf(given: Values[string] = []): readonly number[] {
  return typeof given === "number" ? [given] : given;
}

/** The value as a list. Throws `RangeError` where they are not of its count and range. */
export function numbersOf(each: Form, given: Values[string]): readonly number[] {
  const listed = Array.isArray(given);
  if (listed !== each.shape.length > 0) {
    throw new RangeError(`values.${each.name} must be ${listed ? "a number" : "a list"}`);
  }
  const found = listOf(given);
  if (found.length !== each.count) {
    throw new RangeError(`values.${each.name} must have ${each.count} numbers, not ${found.length}`);
  }
  if (found.some((one) => one < each.minimum || one > each.maximum)) {
    throw new RangeError(`values.${each.name} must lie in [${each.minimum}, ${each.maximum}]`);
  }
  if (
    kindOf(each.name) === "bounds" &&
    found.some((one, index) => index > 0 && one <= at(found, index - 1))
  ) {
    throw new RangeError(`values.${each.name} must increase`);
  }
  return found;
}

export const inputType = openObject({
  name: optional(nullable(ownName), null),
  shape: list(size, 0, MOST_AXES),
  scale: checked(real, (scale, place) => {
    if (!(scale > 0)) fault(place, "this must be above 0");
  }),
  zero_point: number,
  bits: integer(1, 32),
});
/** How a network's input, or a committed output, is quantised: `real = scale (q - zero_point)`, 0 <= q < 2^bits. */
export type InputType = Read<typeof inputType>;

/** Whether these are integers of the type, row-major. */
export function holds(kind: InputType, values: readonly number[]): boolean {
  return values.length === inputSize(kind) && values.every((each) => each >= 0 && each < 2 ** kind.bits);
}

/** Of an output that is committed to: its type, which has no name, and what statements call it. */
const outputType = openObject({
  name: textThat(
    (each) => /^output(\/[A-Za-z0-9_.-]{1,64})?$/.test(each),
    "output, or output/NAME of several",
  ),
  type: checked(inputType, ({ name: own, scale }, place) => {
    if (own !== null)
      fault(place, "the type of an output has no name: whatever takes it may call it otherwise");
    if (scale > MOST_SCALE) fault(place, "the scale must be above 0 and at most 1e+290");
  }),
});

/**
 * What a commitment to values of this type begins with: the SHA-256 of the type's canonical text as five integers
 * of 52 bits, lowest first.
 */
export function limbs(kind: InputType): number[] {
  const { name: own, ...unnamed } = kind;
  const scale = new Real(kind.scale);
  return limbsOf(own === null ? { ...unnamed, scale } : { ...kind, scale });
}
const LIMBS = 5;

/** What a commitment to samples begins with: `limbs` of the only input, or the same of the list of several types. */
export function typeLimbs(kinds: readonly InputType[]): number[] {
  if (kinds.length === 1) return limbs(at(kinds, 0));
  return limbsOf(kinds.map((kind) => ({ ...kind, scale: new Real(kind.scale) })));
}

function limbsOf(described: unknown): number[] {
  const whole = fromBigEndian(hashOf(described));
  return [0n, 52n, 104n, 156n, 208n].map((shift) => Number(BigInt.asUintN(52, whole >> shift)));
}

/** What a radius is of: of the largest difference of an entry, or of all differences, squared and added up. */
const NORMS = ["inf", "2"] as const;

/** How a network's outputs and the targets of samples are quantised (`measures.ts`). */
const targets = openObject({
  scale: checked(real, (scale, place) => {
    if (!(scale > 0 && scale <= MOST_STEP)) fault(place, "this must be above 0, and at most 1e+140");
  }),
  zero_point: number,
  minimum: number,
  maximum: number,
  error: number,
});

/** The public bounds, in increasing order, and of how many of them each value is at least that. */
const BOUNDED = [
  ["threshold", "reached"],
  ["bounds", "interval"],
];
/** Of each scheme what can be committed to, in order, and what it may show beside an input and a reference. */
const PARTS: Readonly<Record<(typeof SCHEMES)[number], { outside: string[]; shown: string[][] }>> = {
  registration: { outside: ["model"], shown: [[]] },
  inference: {
    outside: ["model", "input", "output"],
    shown: [["label"], ["label", "logits"], ["top"], ["values"], ...BOUNDED],
  },
  recognition: { outside: ["model", "input", "reference"], shown: [["threshold", "match"]] },
  accuracy: { outside: ["model", "dataset", "correct"], shown: [["size"], ["size", "radius"]] },
  robustness: { outside: ["model", "input"], shown: [["radius", "label"]] },
};
/** Groups of which words are made as of one number. */
const SINGLE = ["statement", "label", "threshold", "match", "size", "radius"];
/** Groups whose integers words have as real numbers. */
const SAID = ["values", "threshold", "bounds", "radius"];

const described = openObject({
  scheme: oneOf(...SCHEMES),
  meaning: text,
  network: digest,
  commitments: list(text),
  public_inputs: list(group, 1),
  quantisation: checked(
    openObject({
      input: optional(nullable(inputType), null),
      inputs: optional(nullable(list(inputType, 2, MOST_NAMES)), null),
      outputs: optional(nullable(list(outputType, 1, MOST_NAMES)), null),
    }),
    ({ input, inputs, outputs }, place) => {
      const own = (inputs ?? []).map((each) => each.name);
      const apart = new Set(own).size === own.length && !own.includes(null);
      if ((input === null) === (inputs === null) || (input !== null && input.name !== null) || !apart) {
        fault(place, "there is one input without a name, or several with a name each");
      }
      const results = (outputs ?? []).map((each) => each.name);
      if (new Set(results).size < results.length || (results.includes("output") && results.length > 1)) {
        fault(place, "outputs: there is one without a name, or several with a name each");
      }
    },
  ),
  batch: optional(nullable(size), null),
  classes: optional(nullable(size), null),
  measure: optional(oneOf(...MEASURES), MEASURES[0]),
  top: optional(size, 1),
  targets: optional(nullable(targets), null),
  norm: optional(oneOf(...NORMS), NORMS[0]),
});
/** What verification reads of a circuit's description; the rest is for people. */
export type Description = Read<typeof described>;
export const description = checked(described, fits);

/** Of its scheme, so that there are words for it, and a value for each public input. */
function fits(circuit: Description, place: string): void {
  const inferences = circuit.scheme === "inference" ? circuit.batch : null;
  let first = 0n;
  for (const each of circuit.public_inputs) {
    if (each.first !== first) {
      fault(place, `public_inputs: ${each.name} begins at ${each.first}, not ${first}`);
    }
    first += BigInt(each.count);
    const isOfBatch = inferences !== null && kindOf(each.name) === "label";
    if (each.shape.length > 0 && SINGLE.includes(kindOf(each.name)) && !isOfBatch) {
      fault(place, `public_inputs: ${each.name} is one number, no list`);
    }
    if (SAID.includes(kindOf(each.name)) && !canBeSaid(each)) {
      fault(place, "public_inputs: the scale must be above 0 and at most 1e+290");
    }
  }
  const [bound, ...groups] = circuit.public_inputs;
  if (bound?.name !== "statement" || bound.count !== 1) {
    fault(place, "public_inputs: the first must be the statement");
  }
  const inputs = [...inputTypes(circuit).keys()];
  const isOfOne = ["recognition", "robustness"].includes(circuit.scheme) || circuit.measure === "certified";
  if (inputs.length > 1 && isOfOne) {
    fault(place, "quantisation: recognitions and certificates are of one input");
  }
  const outputs = [...outputTypes(circuit).keys()];
  const several = new Map([
    ["input", inputs],
    ["output", outputs],
  ]);
  const outside = PARTS[circuit.scheme].outside.flatMap((each) => several.get(each) ?? [each]);
  const names = groups.map((each) => each.name);
  const given = outside.filter(
    (each) => names.includes(each) && ["input", "reference"].includes(kindOf(each)),
  );
  if (!same(given, names.slice(0, given.length)) || !isShown(circuit, names.slice(given.length))) {
    fault(place, `public_inputs: the scheme ${circuit.scheme} does not show ${names.join(", ")}`);
  }
  const distances = circuit.public_inputs.filter((each) => kindOf(each.name) === "radius");
  const kinds = [...inputTypes(circuit).values()];
  if (circuit.norm !== "inf" && distances.length === 0) {
    fault(place, "norm: it is of a radius, and there is none");
  }
  if (!distances.every((each) => kinds.every((kind) => measures(kind, each, circuit.norm)))) {
    fault(place, "public_inputs: radius must be in steps of the input, and no further than it goes");
  }
  for (const [bounds, found] of bounded(circuit)) {
    if (found.minimum < 0n || found.maximum > BigInt(bounds.count)) {
      fault(place, `public_inputs: ${found.name} must lie in [0, ${bounds.count}]`);
    }
  }
  const committed: readonly string[] = circuit.commitments;
  if (
    !same(
      committed,
      outside.filter((each) => committed.includes(each)),
    )
  ) {
    fault(place, `commitments: the scheme ${circuit.scheme} has ${outside.join(", ")}, in this order`);
  }
  if (!outputs.every((each) => committed.includes(each))) {
    fault(place, "quantisation: outputs are those that are committed to");
  }
  const both = given.find((each) => committed.includes(each));
  if (both !== undefined) fault(place, `commitments: ${both} is public, too`);
  if (circuit.commitments.some((each) => (committedValues(circuit, each) ?? 0) > MOST_COMMITTED)) {
    fault(place, `commitments: one is to more than ${MOST_COMMITTED} values`);
  }
  const counted = committed.includes("dataset") && committed.includes("correct");
  if (circuit.scheme === "accuracy" && (circuit.batch === null || circuit.classes === null || !counted)) {
    fault(place, "an accuracy has batch, classes, a dataset and a count");
  }
  const shown = groups.slice(given.length);
  const lists = shown.every(
    ({ name, shape, count }) =>
      kindOf(name) === "label" && same(shape, [BigInt(count)]) && count === inferences,
  );
  const hidden = committed.every((each) => each === "model");
  if (inferences !== null && !(inferences > 1 && lists && hidden)) {
    fault(place, "batch: of two inferences or more, with so many labels of each output");
  }
  if (takesTargets(circuit.measure) !== (circuit.targets !== null)) {
    fault(place, "targets: measures of errors have them, and no others");
  }
  if ((circuit.measure === "certified") !== (circuit.scheme === "accuracy" && names.includes("radius"))) {
    fault(place, "measure: what is certified, and nothing else, has a radius");
  }
}

/** Of each output that is shown to lie somewhere its bounds, and of how many of them it is at least that. */
export function bounded({ public_inputs: groups }: Description): (readonly [Group, Group])[] {
  const pairs = groups.slice(1).map((found, index) => [at(groups, index), found] as const);
  return pairs.filter((pair) =>
    BOUNDED.some((names) =>
      same(
        names,
        pair.map(({ name: own }) => kindOf(own)),
      ),
    ),
  );
}

/**
 * Between what the values of an output, "" of an only one, are shown to lie, in its own units. Empty where nothing is
 * shown, or no scale is known.
 */
export function endsOf(circuit: Description, given: Values, output: string): (readonly [number, number])[] {
  const own = circuit.public_inputs.find(
    ({ name: each }) => kindOf(each) === "values" && ownerOf(each) === output,
  );
  if (own !== undefined) {
    return (reals(own, numbersOf(own, given[own.name] ?? [])) ?? []).map((each) => [each, each] as const);
  }
  const [bounds, found] = bounded(circuit).find(([, each]) => ownerOf(each.name) === output) ?? [];
  if (bounds === undefined || found === undefined) return [];
  const integers = numbersOf(bounds, given[bounds.name] ?? []);
  const above = reals(bounds, integers);
  const below = reals(
    bounds,
    integers.map((each) => each - 1),
  );
  if (above === null || below === null) return [];
  const [lows, highs] = [
    [-Infinity, ...above],
    [...below, Infinity],
  ];
  return numbersOf(found, given[found.name] ?? []).map(
    (place) => [at(lows, place), at(highs, place)] as const,
  );
}

/** What an accuracy measures. */
export function measurementOf({ measure, top, classes, targets }: Description): Measurement {
  return { measure, top, outputs: classes ?? 0, targets };
}

/**
 * Whether the scheme may show this: of each output what goes together, the outputs one by one; and nothing of those
 * that are committed to.
 */
function isShown(circuit: Description, names: readonly string[]): boolean {
  const { shown } = PARTS[circuit.scheme];
  const hidden = [...outputTypes(circuit).keys()].map(ownerOf);
  if (!names.some((each) => each.includes("/"))) {
    return hidden.length > 0 ? names.length === 0 : shown.some((each) => same(each, names));
  }
  const outputs = new Map<string, string[]>();
  for (const each of names) {
    const kinds = outputs.get(ownerOf(each)) ?? [];
    kinds.push(kindOf(each));
    outputs.set(ownerOf(each), kinds);
  }
  const inOrder = [...outputs].flatMap(([output, kinds]) => kinds.map((kind) => `${kind}/${output}`));
  const known = [...outputs.values()].every((kinds) => shown.some((each) => same(each, kinds)));
  const apart = hidden.every((output) => output !== "" && !outputs.has(output));
  return circuit.scheme === "inference" && known && apart && same(inOrder, names);
}

/** What a group is, whichever of several inputs or outputs it is of. */
export function kindOf(group: string): string {
  return group.split("/")[0] ?? "";
}

/** Of which of several inputs or outputs a group is; "" of an only one. */
export function ownerOf(group: string): string {
  return group.split("/").slice(1).join("/");
}

/** The inputs' types by what statements call them. */
export function inputTypes({ quantisation: { input, inputs } }: Description): Map<string, InputType> {
  const several = (inputs ?? []).map((each) => [`input/${each.name ?? ""}`, each] as const);
  return new Map(input === null ? several : [["input", input]]);
}

/** Those of the outputs that are committed to, in the same way. */
export function outputTypes({ quantisation: { outputs } }: Description): Map<string, InputType> {
  return new Map((outputs ?? []).map((each) => [each.name, each.type] as const));
}

export function same<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

/** Whether the group's numbers are distances of such inputs. */
function measures(kind: InputType, distance: Group, norm: Description["norm"]): boolean {
  const { minimum, maximum, scale, zero_point: zero } = distance;
  return minimum === 0n && maximum === furthest(kind, norm) && scale === kind.scale && zero === 0n;
}

/** The largest radius around an input: no input lies further away. */
function furthest({ shape, bits }: InputType, norm: Description["norm"]): bigint {
  const entries = norm === "2" ? shape.reduce((count, size) => count * BigInt(size), 1n) : 1n;
  let more = 0n;
  while (1n << (2n * more) < entries) more += 1n;
  return (1n << (BigInt(bits) + more)) - 1n;
}

/** How many values an input has. */
export function inputSize(kind: InputType): number {
  return product(kind.shape);
}

/** How many values the commitment is to; null where the description does not say. */
export function committedValues(circuit: Description, part: string): number | null {
  if (part === "correct") {
    return countsOf(measurementOf(circuit)).reduce((sum, count) => sum + (count.size ?? 1), 0);
  }
  const types = inputTypes(circuit);
  if (part === "dataset") {
    const sample = [...types.values()].reduce((sum, each) => sum + inputSize(each), 0);
    const targets = circuit.targets === null ? 0 : (circuit.classes ?? 0);
    return LIMBS + (circuit.batch ?? 0) * (sample + targets + 1);
  }
  const kind = types.get(part) ?? outputTypes(circuit).get(part);
  return kind === undefined ? null : LIMBS + inputSize(kind);
}

/** A total over all shards; which there can be is for who knows the samples' number to see. */
function counted({ name, size: count, least }: Count): Form {
  const most = (1n << 63n) - 1n;
  const shape = count === null ? [] : [BigInt(count)];
  return { name, count: count ?? 1, shape, minimum: least < 0 ? -most : 0n, maximum: most };
}

const SIZE: Count = { name: "size", size: null, least: 0, most: 1 };

/**
 * The public inputs after `statement`, canonical, in order. Of an accuracy those that come after `size`, of which each
 * shard has its own. Throws `RangeError` where `values` has other names or numbers than the circuit: -1 and r - 1 are one field
 * element, and one of them only is what the circuit means.
 */
export function publicValues(circuit: Description, values: Values): bigint[] {
  const totals: readonly Form[] =
    circuit.scheme === "accuracy" ? [...countsOf(measurementOf(circuit)), SIZE].map(counted) : [];
  const own = circuit.public_inputs
    .slice(1)
    .filter((each) => !totals.some((total) => total.name === each.name));
  const shown = [...totals, ...own];
  const names = shown.map((each) => each.name);
  if (!same([...names].sort(), Object.keys(values).sort())) {
    throw new RangeError(`values must be ${names.join(", ") || "empty"}`);
  }
  const numbers = shown.map((each) => numbersOf(each, values[each.name] ?? []));
  return numbers
    .slice(totals.length)
    .flat()
    .map((each) => (BigInt(each) + SCALAR_MODULUS) % SCALAR_MODULUS);
}

/**
 * What opens a committed input or reference, or a private dataset, shard by shard, to who knows it; or committed
 * outputs, with their integers as `values`, to whoever reads it.
 */
export const openingFile = checked(
  object({
    version: version([1, NAMING], NAMING),
    ...SYSTEM_FIELDS,
    format: optional(oneOf("zenserve openings"), "zenserve openings"),
    kind: oneOf("input", "reference", "dataset", "output"),
    parts: list(
      object({ commitment, opening: anyObject, values: optional(nullable(numbers), null) }),
      1,
      MOST_SHARDS,
    ),
  }),
  (document, place) => {
    namesItsSystem(document, place);
    const parts = [...document.parts.entries()];
    requireForm(
      document,
      place,
      parts.map(([index, part]) => [`parts.${index}.commitment`, part.commitment]),
      parts.map(([index, part]) => [`parts.${index}.opening`, part.opening]),
    );
    if (document.parts.some((part) => (part.values === null) === (document.kind === "output"))) {
      fault(place, "the parts of an opening of outputs, and no others, have values");
    }
  },
);
export type OpeningFile = Read<typeof openingFile>;
export type OpeningPart = OpeningFile["parts"][number];

/** The same network as another model's, under another proof system. */
const twin = checked(
  object({ system: systemId, model_id: text, commitment: nullable(commitment) }),
  (found, place) => requireLength(place, "commitment", found.commitment, systemOf(found).commitments),
);
export type Twin = Read<typeof twin>;

/** Signed by the service: this model was registered with it then (`receipts.ts`). */
export const receipt = checked(
  object({
    version: version([1, NAMING, LISTING], NAMING),
    ...SYSTEM_FIELDS,
    format: optional(oneOf("zenserve receipt"), "zenserve receipt"),
    model_id: text,
    name: text,
    commitment: nullable(commitment),
    network: digest,
    parent: nullable(object({ model_id: text, commitment: nullable(commitment) })),
    registration: nullable(digest),
    registered_at: moment,
    twins: optional(list(twin, 1, MOST_TWINS), undefined),
    saturates: optional(onlyTrue, undefined),
    issuer: digest,
    signature,
  }),
  (document, place) => {
    namesItsSystem(document, place);
    requireForm(
      document,
      place,
      [
        ["commitment", document.commitment],
        ["parent.commitment", document.parent?.commitment ?? null],
      ],
      [],
    );
    if ((document.version === LISTING) !== (document.twins !== undefined)) {
      fault(place, `receipts of version ${LISTING}, and no others, have twins`);
    }
  },
);
export type Receipt = Read<typeof receipt>;

/**
 * The id of a verification key, 64 hex digits: it covers the key, the description of what it proves, and its
 * system, so that keys of two never share one. Those of the first have the ids from when there was no other.
 */
export function keyId(system: VerifyingSystem, keyDigest: Uint8Array, circuit: JsonObject): string {
  const named = system === FIRST ? {} : { system: system.id };
  return hex(hashOf({ key: hex(keyDigest), circuit, ...named }));
}

/** A document from JSON text. Throws `ZenError` (`file.json`), which names the field. */
export function read<T>(kind: Reader<T>, source: JsonSource): T {
  return readParsed(kind, readJson(source));
}

/** A document from parsed JSON. Throws `ZenError` (`file.json`), which names the field. */
export function readParsed<T>(kind: Reader<T>, value: Json): T {
  return kind(value, "");
}
