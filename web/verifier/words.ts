/** What a statement says, in words: verifiers make them again, and never take them from a document. */

import {
  bounded,
  inputTypes,
  kindOf,
  listOf,
  measurementOf,
  numbersOf,
  outputTypes,
  ownerOf,
  reals,
  systemOf,
} from "./documents.ts";
import type { Dataset, Description, Group, InputType, Statement, Values } from "./documents.ts";
import { canonical, Real } from "./json.ts";
import { at } from "./lists.ts";
import * as measures from "./measures.ts";
import { CEREMONY } from "./system.ts";
import type { VerifyingSystem } from "./system.ts";
import { cellsInWords, className, sizeOf } from "./table.ts";
import type { Table } from "./table.ts";

const NAMES_UNPROVEN =
  "That columns, categories and classes have the names that the table's file gives them: have it from whom" +
  " you trust.";
const ALWAYS_UNSAID = [
  "That the network is accurate beyond what is claimed, fair or fit for a purpose.",
  "Who made the proof, or when: made_at is the word of whoever made it.",
];
const COMMITTED_MODEL_UNSAID =
  "That the committed weights are of their types: the proof of the model's registration says that.";
const INPUT_UNSAID = {
  public: "Where the input came from, or who chose it.",
  private: "Which input it was: only that the prover knows one with this result.",
  committed: "What the committed input is (its opening says it), where it came from, or who chose it.",
};
const OUTPUT_UNSAID =
  "What the committed output is: the commitment alone says nothing about it, and only its opening shows it.";
const REFERENCE_UNSAID = "Whose the committed reference is, or what it was made from.";
const AWAY = { inf: "any one entry", "2": "all entries together" };
const furtherUnsaid = ({ norm }: Description): string =>
  `Anything of inputs further away in ${AWAY[norm]}, or changed otherwise, as a picture that is turned; or of numbers` +
  " between the steps, which are rounded before the network sees them.";
const CERTIFIED_UNSAID =
  "That the other samples are labelled wrongly, or can be: it is not certified that they cannot. Nor which samples" +
  " are certified.";
const REGISTRATION_UNSAID = "What the network's weights are, or who trained it.";
const PARENT_UNSAID = "That the model was made from its parent: it names it, and that is all.";
const ORDER_UNSAID =
  "That the samples were picked after the model was committed to: picked_for is the service's word.";
const PRIVATE_DATASET_UNSAID =
  "What the samples are, or that they are different ones: only who knows the dataset can check this.";
const TARGETS_UNSAID =
  "The errors against targets as they were: each was rounded to the nearest of the outputs' steps. Nor the error" +
  " of any one sample.";

const SATURATED_UNSAID =
  "That no number given to the network lay beyond the range of its calibration: such numbers count as the range's ends.";
const NETWORK_UNSEEN =
  "That the network is the one you mean: compare its SHA-256, network, with one that you know.";
const DATASET_UNSEEN =
  "That the samples are those of the dataset with this SHA-256: give the dataset to compare.";
const REPEATED =
  "That no sample is counted twice: samples may repeat within a shard, and shards of the same samples can have" +
  " different commitments. Give the dataset to compare, a private one with its opening.";
const REPLAY =
  "That the proof was made for you, or lately: without a challenge of yours, it may be an old one.";
const KEY_UNSEEN = "That the key is for this circuit: have its file from whom you trust, not with the proof.";
const KEY_TOLD = "That the key is for this circuit: whoever told you its id answers for that.";
const REGISTRATION_UNSEEN = "That the model's registration is valid: it was not given to be verified, too.";
const REGISTRATION_KEY_UNSEEN =
  "That the registration's key is for its circuit: have its file, too, from whom you trust.";
const ENDS_SEEN = "What is shown of the output is within the ends that you expected.";
const ROUNDED = "rounded and clipped to the circuit's integers";
const CEREMONY_SHOWN =
  "The secrets that the second phase of the key's ceremony drew are those of the contributions that it names:" +
  " whoever made one knew its shares.";
const CEREMONY_START_UNSEEN =
  "That the key's ceremony began with this circuit, and with powers of tau that somebody contributed to: who has" +
  " people contribute to another start can forge proofs. Nor who its contributors are. zenserve audit compares" +
  " with its files, and you the hashes with those published.";
const CEREMONY_UNSEEN =
  "That the key is of a ceremony: it says so, and its file has no transcript that shows it.";

const MOST_OUTPUTS = 16;
/** So many are said where there are more than that: the statement's values have them all. */
const FIRST_OUTPUTS = 8;

/** The statement of the model's registration, and whether its key's file has a ceremony's transcript. */
export interface Registered {
  readonly statement: Statement;
  readonly showsCeremony: boolean;
}

/**
 * What a verifier had beside a valid proof, all of it found to fit. `expected`: what they knew and compared, of
 * `documents.Expected`; `given`: of the inputs and `dataset`, what they brought; `opened`: what commitments are to that
 * they had shown, by name; `showsCeremony`: whether the key's file has its ceremony's transcript.
 */
export interface Seen {
  readonly expected: ReadonlySet<string>;
  readonly given: ReadonlySet<string>;
  readonly opened: ReadonlyMap<string, string>;
  readonly showsCeremony: boolean;
  readonly registration: Registered | null;
  /** What columns and classes are called. */
  readonly table: Table | null;
}

/** What is claimed: the values that a reader asks for, then how they come about. */
export function claim(circuit: Description, values: Values): string {
  const facts =
    circuit.scheme === "accuracy"
      ? [measured(circuit, values)]
      : Object.entries(FACTS).flatMap(([name, words]) => (name in values ? [words(values)] : []));
  const bounds = new Map(bounded(circuit).map(([each, found]) => [found.name, each]));
  const outputs = circuit.public_inputs.flatMap((group) => {
    const [fact, output] = [said(group, values, bounds.get(group.name)), ownerOf(group.name)];
    return fact === "" ? [] : [output === "" ? fact : `Of the output ${output}: ${fact}`];
  });
  return [...facts, ...outputs, circuit.meaning].join(" ");
}

/** Of a group of outputs what its values are in words; "" of others, and of what the facts say. */
function said(group: Group, values: Values, bounds: Group | undefined): string {
  const [kind, given] = [kindOf(group.name), values[group.name] ?? []];
  if (kind === "values") return saidOutputs(group, numbersOf(group, given));
  if (kind === "radius") {
    const { numbers, steps } = saidReals(group, numbersOf(group, given));
    return `The radius is ${at(numbers, 0)}, ${steps}.`;
  }
  if (bounds !== undefined) {
    return saidPlaces(bounds, numbersOf(bounds, values[bounds.name] ?? []), numbersOf(group, given));
  }
  const words = OF_OUTPUTS.includes(kind) && ownerOf(group.name) !== "" ? FACTS[kind] : undefined;
  return words === undefined ? "" : words({ [kind]: given });
}

/** What a reader might take the claim to say, and would be wrong. `setup`: the key's label. */
export function doesNotSay(
  system: VerifyingSystem,
  circuit: Description,
  setup: string,
  dataset: Dataset | null,
  parent: string | null,
  saturates: boolean,
): string[] {
  const { scheme, commitments } = circuit;
  return [
    ...when(scheme === "registration", REGISTRATION_UNSAID),
    ...when(parent !== null, PARENT_UNSAID),
    ...when(scheme !== "registration" && commitments.includes("model"), COMMITTED_MODEL_UNSAID),
    ...(["inference", "recognition", "robustness"].includes(scheme) ? inputsUnsaid(circuit) : []),
    ...when(scheme === "robustness", `${furtherUnsaid(circuit)} Nor that the label is right.`),
    ...when(circuit.measure === "certified", furtherUnsaid(circuit)),
    ...when(circuit.measure === "certified", CERTIFIED_UNSAID),
    ...when(outputTypes(circuit).size > 0, OUTPUT_UNSAID),
    ...when(commitments.includes("reference"), REFERENCE_UNSAID),
    ...when(dataset !== null, ORDER_UNSAID),
    ...when(dataset !== null && dataset.sha256 === null, PRIVATE_DATASET_UNSAID),
    ...when(circuit.targets !== null, TARGETS_UNSAID),
    ...when(saturates, SATURATED_UNSAID),
    ...ALWAYS_UNSAID,
    system.setups[setup] ?? "",
  ];
}

function inputsUnsaid(circuit: Description): string[] {
  return [...inputTypes(circuit).keys()].map((name) => {
    const unsaid = INPUT_UNSAID[privacy(circuit, name)];
    return name === "input" ? unsaid : `Of the ${inWords(name)}: ${unsaid}`;
  });
}

/** One of several inputs: `input image`. */
function inWords(name: string): string {
  return name.replace("/", " ");
}

/** What the verifier of a valid proof may rely on. */
export function verified(statement: Statement, seen: Seen): string[] {
  const { verification_key: key, dataset } = statement;
  const { expected, given, opened, registration } = seen;
  const known = (name: string): string => (expected.has(name) ? ", as you expected" : "");
  return [
    statement.claim,
    `It is proven by ${systemOf(statement).id}, under the key ${key.id}${known("key")}.`,
    ...when(expected.has("require"), `The key's setup is ${key.setup}, as you required.`),
    ...when(seen.showsCeremony, CEREMONY_SHOWN),
    ...when(
      expected.has("network"),
      `The network, or the architecture of hidden weights, has the SHA-256 ${statement.network}, as you expected.`,
    ),
    ...Object.keys(statement.commitments)
      .sort()
      .map(
        (name) => `The commitment to the ${inWords(name)} is ${statement.commitments[name]}${known(name)}.`,
      ),
    ...when(expected.has("challenge"), `The statement answers your challenge, ${statement.challenge}.`),
    ...when(expected.has("at_least") || expected.has("at_most"), ENDS_SEEN),
    ...when(
      expected.has("after") || expected.has("before"),
      `The statement says that it was made at ${statement.made_at}, within the time that you expected.`,
    ),
    ...[...given]
      .filter((name) => name !== "dataset")
      .sort()
      .map((name) => `The ${inWords(name)} is the one that you gave, ${ROUNDED}.`),
    ...[...opened.keys()]
      .sort()
      .map((name) => `The ${inWords(name)} is what its opening shows: ${opened.get(name) ?? ""}`),
    ...(dataset === null ? [] : [shards(dataset, given.has("dataset"))]),
    ...(registration === null ? [] : [registered(registration.statement)]),
  ];
}

/** What they may not rely on. */
export function notVerified(statement: Statement, seen: Seen): string[] {
  const { expected, given, opened, registration, table } = seen;
  const { commitments, dataset, does_not_say: unsaid } = statement;
  const unseen = Object.keys(commitments)
    .sort()
    .filter((name) => !expected.has(name) && !given.has(name) && !opened.has(name));
  return [
    ...unseen.map(
      (name) =>
        `That the committed ${inWords(name)} is the one you mean: compare the commitment with one that you know.`,
    ),
    ...when(!("model" in commitments) && !expected.has("network"), NETWORK_UNSEEN),
    ...when(dataset !== null && dataset.sha256 !== null && !given.has("dataset"), DATASET_UNSEEN),
    ...when(dataset !== null && !given.has("dataset"), REPEATED),
    ...when(!expected.has("challenge"), REPLAY),
    ...when(table !== null, NAMES_UNPROVEN),
    ...(table?.unproven ? [`By the table's description: ${table.unproven}.`] : []),
    expected.has("key") ? KEY_TOLD : KEY_UNSEEN,
    ...ceremonyUnseen(statement, seen.showsCeremony),
    ...(registration === null ? [] : unsaidOf(registration, statement)),
    ...when(registration === null && unsaid.includes(COMMITTED_MODEL_UNSAID), REGISTRATION_UNSEEN),
    ...unsaid.filter((sentence) => registration === null || sentence !== COMMITTED_MODEL_UNSAID),
  ];
}

/** What is shown, by the names that the table has for labels and columns. Nothing proves the names. */
export function called(circuit: Description, values: Values, table: Table): string[] {
  const isInput = ({ name }: Group): boolean => kindOf(name) === "input";
  const groups = circuit.public_inputs;
  const facts = [...groups.filter((group) => !isInput(group)), ...groups.filter(isInput)]
    .map((group) => ({ group, fact: groupCalled(group, listOf(values[group.name]), table) }))
    .filter(({ fact }) => fact !== "");
  const several = facts.filter(({ group }) => !isInput(group)).length > 1;
  return facts.map(({ group, fact }) =>
    several && !isInput(group) ? `Of the output ${ownerOf(group.name)}: ${fact}` : fact,
  );
}

/** In the words of the table; "" of what it has no name for. */
function groupCalled(group: Group, shown: readonly number[], table: Table): string {
  const kind = kindOf(group.name);
  if (shown.length > 0 && (kind === "label" || kind === "top") && (table.classes?.length ?? 0) > 0) {
    const names = shown.map((each) => {
      const name = className(table, each);
      return name ? `"${name}"` : String(each);
    });
    return `The ${names.length === 1 ? "label is" : "labels are"} called ${names.join(", ")}.`;
  }
  const found = kind === "input" && table.columns.length > 0 ? reals(group, shown) : null;
  if (found === null || found.length !== sizeOf(table)) return "";
  return `The input is the row ${cellsInWords(table, found, group.scale).join(", ")}.`;
}

/** Whether the input, or what else is named, is public, committed or private. */
export function privacy(circuit: Description, name: string): "public" | "committed" | "private" {
  if (circuit.commitments.some((each) => each === name)) return "committed";
  return circuit.public_inputs.some((group) => group.name === name) ? "public" : "private";
}

function when(holds: boolean, sentence: string): string[] {
  return holds ? [sentence] : [];
}

function registered(registration: Statement): string {
  return (
    "The committed weights are of their types: the registration that you gave is valid, under the key" +
    ` ${registration.verification_key.id}.`
  );
}

function ceremonyUnseen({ verification_key: key }: Statement, shown: boolean): string[] {
  return when(key.setup === CEREMONY, shown ? CEREMONY_START_UNSEEN : CEREMONY_UNSEEN);
}

function unsaidOf(registration: Registered, statement: Statement): string[] {
  const { setup } = registration.statement.verification_key;
  const unsaid = [
    ...ceremonyUnseen(registration.statement, registration.showsCeremony),
    ...when(setup !== statement.verification_key.setup, systemOf(registration.statement).setups[setup] ?? ""),
  ];
  return [REGISTRATION_KEY_UNSEEN, ...unsaid.map((sentence) => `By the registration: ${sentence}`)];
}

/** Who has not seen the samples knows of shards alone: equal ones can have different commitments. */
function shards(dataset: Dataset, given: boolean): string {
  const count = dataset.shards.length === 1 ? "one shard" : `${dataset.shards.length} shards`;
  if (given) {
    return (
      `The commitments are to the dataset that you gave: all its ${dataset.size} samples, in ${count}, each proven` +
      " once; their counts add up to this."
    );
  }
  return `The samples are ${dataset.size} in ${count}, each proven; their counts add up to this.`;
}

/** What is said of outputs, beside the values. */
const OF_OUTPUTS = ["label", "logits", "top"];
const FACTS: Readonly<Record<string, (values: Values) => string>> = {
  label: ({ label }) => `The ${Array.isArray(label) ? "labels, in turn, are" : "label is"} ${listed(label)}.`,
  top: (values) => `The labels, the likeliest first, are ${listed(values["top"])}.`,
  logits: (values) => `The network's outputs are ${listed(values["logits"])}.`,
  match: (values) =>
    `The input is ${values["match"] === 1 ? "" : "not "}within the threshold, ${listed(values["threshold"])}, of the` +
    " reference.",
};

function measured(circuit: Description, values: Values): string {
  const measurement = measurementOf(circuit);
  const totals = Object.fromEntries(
    measures.countsOf(measurement).map(({ name }) => [name, listOf(values[name])]),
  );
  return measures.claim(measurement, totals, at(listOf(values["size"]), 0));
}

function saidOutputs(group: Group, integers: readonly number[]): string {
  const few = group.count <= MOST_OUTPUTS;
  const begin = few ? "outputs are" : `${group.count} outputs begin with`;
  const { numbers, steps } = saidReals(group, few ? integers : integers.slice(0, FIRST_OUTPUTS));
  return `The network's ${begin} ${numbers.join(", ")}, ${steps}.`;
}

/** What values of a type are, which an opening shows. */
export function opensTo({ scale, zero_point: zero }: InputType, integers: readonly number[]): string {
  const few = integers.length <= MOST_OUTPUTS;
  const begin = few ? "" : `${integers.length} values that begin with `;
  const said = few ? integers : integers.slice(0, FIRST_OUTPUTS);
  const { numbers, steps } = saidReals({ scale, zero_point: BigInt(zero) }, said);
  return `${begin}${numbers.join(", ")}, ${steps}.`;
}

/** Where outputs lie: of how many bounds each is at least that. */
function saidPlaces(bounds: Group, integers: readonly number[], places: readonly number[]): string {
  const few = places.length <= MOST_OUTPUTS;
  const begin = few ? "outputs are, in turn," : `${places.length} outputs begin with`;
  const { numbers: ends, steps } = saidReals(bounds, integers);
  const { numbers: before } = saidReals(
    bounds,
    integers.map((each) => each - 1),
  );
  const said = (few ? places : places.slice(0, FIRST_OUTPUTS)).map((place) => {
    const above = place > 0 ? [`at least ${at(ends, place - 1)}`] : [];
    const below = place < ends.length ? [`below ${at(ends, place)} (at most ${at(before, place)})`] : [];
    return [...above, ...below].join(" and ");
  });
  return `The network's ${places.length > 1 ? begin : "output is"} ${said.join("; ")}, ${steps}.`;
}

/**
 * The real numbers, by the key's scale, as RFC 8785 writes doubles: the same text in any language. And what they are
 * steps of.
 */
function saidReals(
  group: Pick<Group, "scale" | "zero_point">,
  integers: readonly number[],
): { numbers: string[]; steps: string } {
  const found = reals(group, integers);
  if (found === null) return { numbers: integers.map(String), steps: "integers that have no one scale" };
  const numbers = found.map((each) => canonical(new Real(each)));
  return { numbers, steps: `in steps of ${canonical(new Real(group.scale ?? 0))}` };
}

function listed(numbers: Values[string] | undefined): string {
  return listOf(numbers).join(", ");
}
