/**
 * The judgement on a proof document: whether it is valid, what that says, and what it does not.
 *
 * Nothing that a document says is believed: its words are made again from the circuit's description, its hash from
 * its words, and the proofs are held against that hash. A wrong document is refused for the first of these that
 * fails, under a name of its own.
 */

import { bytesOf, hex } from "./bytes.ts";
import {
  endsOf,
  expected,
  inputSize,
  limbs,
  listOf,
  measurementOf,
  publicValues,
  readParsed,
  same,
  spans,
  statementHash,
  statementScalar,
  inputTypes,
  holds,
  kindOf,
  outputTypes,
  systemOf,
} from "./documents.ts";
import type {
  Dataset,
  Description,
  Expected,
  InputType,
  KeyReference,
  OpeningFile,
  OpeningPart,
  ProofDocument,
  Statement,
} from "./documents.ts";
import { ZenError } from "./errors.ts";
import { canonical, Real } from "./json.ts";
import type { JsonObject } from "./json.ts";
import type { OpenedKey } from "./keys.ts";
import { at } from "./lists.ts";
import { countsOf } from "./measures.ts";
import type { Targets } from "./measures.ts";
import { TRANSPARENT } from "./system.ts";
import type { Claim, Flaw } from "./system.ts";
import type { Table } from "./table.ts";
import { LINK_MISMATCH, OK, Refusal, refuse, SUM_MISMATCH } from "./verdict.ts";
import type { Verdict } from "./verdict.ts";
import * as words from "./words.ts";

/** Every reason that `judge` gives by itself, with a sentence. Others are the proof system's. */
export const REASONS: Readonly<Record<string, string>> = {
  proof_count: "There are more or fewer proofs than the statement takes.",
  statement_edited: "The statement is not the one whose SHA-256 the file gives: one of them was changed.",
  system_mismatch: "The statement is of another proof system than the key.",
  key_mismatch: "The document names another verification key than this one.",
  setup_mismatch: "Nothing shows that the key's secrets are of a ceremony.",
  network_mismatch: "The statement names another network than the key's circuit.",
  values_mismatch: "The statement's values are not such as the key's circuit has.",
  words_mismatch: "The statement's words are not those for its values under this key.",
  time_mismatch: "The statement was made, as it says, at another time than the expected one.",
  challenge_mismatch: "The statement answers another challenge than the expected one.",
  model_mismatch: "The proof is not about the model of this commitment.",
  input_mismatch: "The proof is not about this input.",
  output_mismatch: "Nothing shows that the output is as expected.",
  reference_mismatch: "The proof is not about the reference of this commitment.",
  dataset_mismatch: "The proof is not about this dataset.",
  correct_mismatch: "A shard's count is not the one that its commitment is to.",
  shard_missing: "The shards are not the whole dataset, or not each has a proof.",
  shard_repeated: "A shard is counted twice.",
  registration_mismatch: "The registration is not valid, or another model's.",
  total_mismatch: "The shards' counts do not add up to the claimed total.",
};

/** What judging asks of a dataset: that of `datasets.ts`. */
export interface LabelledData {
  /** 32 bytes. */
  readonly sha256: Uint8Array;
  readonly size: number;
  /** Throws `ZenError` (`input.names`). */
  inOrder(names: readonly (string | null)[]): LabelledData;
  /** Throws `ZenError` (`input.*`). */
  shardValues(
    kinds: readonly InputType[],
    batch: number,
    classes: number,
    target: Targets | null,
  ): Iterable<readonly number[]>;
}

/**
 * The verdict: `reason` is a key of `REASONS`, or one of the proof system's; `detail` is the same for people;
 * `remedy` says what to do about a proof that is not valid, where that is more than to distrust it.
 *
 * `named` says what is shown by the names of a table's classes and columns, which nothing proves.
 * `verified` and `not_verified` say in sentences what a reader may and may not rely on: nothing at all where it is
 * not valid. `verification_key` is the one that it was verified with: is it one that you trust? `statement`: what
 * was proven, null where the proof is not valid.
 */
export interface Verification {
  readonly valid: boolean;
  readonly reason: string;
  readonly detail: string;
  readonly remedy: string | null;
  readonly named: readonly string[];
  readonly verified: readonly string[];
  readonly not_verified: readonly string[];
  readonly verification_key: KeyReference;
  readonly statement: Statement | null;
}

/**
 * What the verifier holds beside the document, to be compared with what was proven, each null where it is not there.
 *
 * `inputs`: of each its integers, row-major (`datasets.quantise`), by what statements call it; `openings` of the
 * commitments to them, or of those to a private `dataset`'s shards, or of those to outputs, with what these are;
 * `registration` of the committed model; `table`: what its columns and classes are called.
 */
export interface Known {
  readonly inputs: ReadonlyMap<string, readonly number[]>;
  readonly dataset: LabelledData | null;
  readonly openings: OpeningFile | null;
  readonly registration: Registration | null;
  readonly table: Table | null;
}
const NOTHING_KNOWN: Known = {
  ...{ inputs: new Map(), dataset: null, openings: null },
  ...{ registration: null, table: null },
};
const NOTHING_EXPECTED: Expected = readParsed(expected, {});

/** The proof that a committed model is of its types, and the key that it verifies with. */
export interface Registration {
  readonly document: ProofDocument;
  readonly key: OpenedKey;
}

/** Whether the document is valid under the key that the verifier trusts, and what that says. */
export function judge(
  document: ProofDocument,
  key: OpenedKey,
  expected?: Expected,
  known?: Known,
): Verification {
  return at(judgeEach([new Case(document, key, expected, known)]), 0);
}

/**
 * The verdict on each case, as `judge` gives it. Proofs under one key are checked together, which takes a third of
 * the time; where one of them is wrong, each case by itself.
 */
export function judgeEach(cases: readonly Case[]): Verification[] {
  const answers: Verification[] = [];
  const byKey = new Map<string, { index: number; case: Case; claims: Claim[] }[]>();
  for (const [index, each] of cases.entries()) {
    try {
      // Systems may have keys of one digest: what one of them verifies says nothing under another.
      const name = `${each.key.system.id} ${hex(each.key.verifying.digest)}`;
      const together = byKey.get(name) ?? [];
      together.push({ index, case: each, claims: each.claims() });
      byKey.set(name, together);
    } catch (refusal) {
      answers[index] = each.refused(refusal);
    }
  }
  for (const together of byKey.values()) {
    const { key } = at(together, 0).case;
    const flaws = key.system.verifyGroups(
      key.verifying,
      together.map(({ claims }) => claims),
    );
    for (const [place, { index, case: each }] of together.entries()) {
      answers[index] = each.answer(at(flaws, place));
    }
  }
  return answers;
}

/** One document before the judge, and what the verifier holds beside it. */
export class Case {
  readonly document: ProofDocument;
  readonly key: OpenedKey;
  readonly expected: Expected;
  readonly known: Known;

  constructor(document: ProofDocument, key: OpenedKey, expected = NOTHING_EXPECTED, known = NOTHING_KNOWN) {
    this.document = document;
    this.key = key;
    this.expected = expected;
    this.known = known;
  }

  get statement(): Statement {
    return this.document.statement;
  }

  get circuit(): Description {
    return this.key.circuit;
  }

  /** What the proofs must show, once words and numbers are found right. Throws `Refusal` for the first that is not. */
  claims(): Claim[] {
    this.#checkWords();
    this.#checkExpected();
    const { dataset, values } = this.statement;
    const shown = publicValues(this.circuit, values);
    if (dataset === null) return this.#claims([{ own: {}, shown }]);
    this.#checkShards(dataset);
    return this.#claims(
      dataset.shards.map((shard) => ({
        own: { dataset: shard.dataset, correct: shard.correct },
        shown: [BigInt(shard.size), ...shown],
      })),
    );
  }

  /** The answer, given the `flaw` of the claims, null where there is none. */
  answer(flaw: Flaw | null): Verification {
    try {
      if (flaw !== null) {
        const where = this.statement.dataset === null ? "" : `Shard ${flaw.index}: `;
        const { reason, detail } = this.#named(flaw.verdict);
        refuse(reason, where + detail);
      }
      this.#checkKnown();
    } catch (refusal) {
      return this.refused(refusal);
    }
    return this.#accepted();
  }

  refused(refusal: unknown): Verification {
    if (!(refusal instanceof Refusal)) throw refusal;
    return {
      valid: false,
      reason: refusal.reason,
      detail: refusal.detail || (REASONS[refusal.reason] ?? ""),
      remedy: refusal.remedy,
      named: [],
      verified: [],
      not_verified: [],
      verification_key: this.key.reference,
      statement: null,
    };
  }

  #accepted(): Verification {
    const { statement } = this;
    const { inputs, dataset, registration } = this.known;
    const compared = expectedCommitments(this.expected).filter(([, each]) => each !== null);
    const seen = {
      expected: new Set([...present(this.expected), ...compared.map(([name]) => name)]),
      given: new Set([...inputs.keys(), ...present({ dataset })]),
      opened: new Map(
        this.#opened().map(({ name, kind, part }) => [name, words.opensTo(kind, part.values ?? [])]),
      ),
      showsCeremony: this.key.showsCeremony,
      registration: registration && {
        statement: registration.document.statement,
        showsCeremony: registration.key.showsCeremony,
      },
      table: this.known.table,
    };
    return {
      valid: true,
      reason: OK,
      detail: "The proof is valid, and it proves what the statement says.",
      remedy: null,
      named: seen.table === null ? [] : words.called(this.circuit, statement.values, seen.table),
      verified: words.verified(statement, seen),
      not_verified: words.notVerified(statement, seen),
      verification_key: this.key.reference,
      statement,
    };
  }

  #checkWords(): void {
    const { statement: said, circuit, key } = this;
    if (this.document.statement_sha256 !== hex(statementHash(said))) refuse("statement_edited");
    const system = systemOf(said);
    if (system.id !== key.system.id) {
      refuse("system_mismatch", `The statement is of ${system.id}, and the key of ${key.system.id}.`);
    }
    const { id, setup } = said.verification_key;
    if (id !== key.reference.id || setup !== key.reference.setup) refuse("key_mismatch", ...this.#wrongKey());
    if (said.network !== circuit.network) refuse("network_mismatch");
    if (said.scheme !== circuit.scheme) {
      refuse("words_mismatch", `The key is for the scheme ${circuit.scheme}.`);
    }
    try {
      publicValues(circuit, said.values);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      refuse("values_mismatch", `In the statement, ${error.message}.`);
    }
    if (said.claim !== words.claim(circuit, said.values)) {
      refuse("words_mismatch", "The claim is not what the values mean under this key.");
    }
    const { dataset, parent, saturates = false } = said;
    const unsaid = words.doesNotSay(key.system, circuit, key.verifying.setup, dataset, parent, saturates);
    if (!same(said.does_not_say, unsaid)) {
      refuse("words_mismatch", "does_not_say is not what a proof under this key leaves open.");
    }
    const outside = circuit.commitments.filter((name) => name !== "dataset" && name !== "correct");
    if (!same(Object.keys(said.commitments).sort(), [...outside].sort())) {
      refuse("commitment_count", `The commitments must be ${outside.join(", ") || "none"}.`);
    }
  }

  /** The detail, and the remedy. */
  #wrongKey(): [string, string] {
    const named = this.statement.verification_key.id;
    const given = this.key.reference.id;
    if (named === given) {
      return [
        "The document names another setup of the key than the key itself.",
        "The ids are the same, and the setups are not. Have both files again from whoever made them.",
      ];
    }
    return [
      `The document names the key ${named}, and the one given is ${given}. From whom you trust:` +
        ` zenserve key get ${named} -o key.json`,
      `${IDS_COMPARED} Give the file of the key that the proof names. ${whereTheKeyIs(named)} If you` +
        " do not know that key, ask somebody whom you trust whether its id is right.",
    ];
  }

  #checkExpected(): void {
    const { expected: wanted, statement: said } = this;
    const { id, setup } = this.key.reference;
    const differs = (expected: string | null, found: string | null | undefined): boolean =>
      expected !== null && expected !== found;
    if (differs(wanted.key, id)) {
      refuse(
        "key_mismatch",
        `The key is ${id}, and the expected one ${wanted.key}.`,
        `${IDS_COMPARED} The proof names the key of the file that you gave, and you expect another: ask` +
          ` for a proof under the key that you expect, and give its file. ${whereTheKeyIs(wanted.key)}`,
      );
    }
    if (wanted.require !== null && !this.key.showsCeremony && setup !== TRANSPARENT) {
      refuse("setup_mismatch", `The key's setup is ${setup}, and its file shows no ceremony.`);
    }
    if (differs(wanted.network, said.network)) {
      refuse("network_mismatch", `The network is ${said.network}, and the expected one ${wanted.network}.`);
    }
    if (differs(wanted.challenge, said.challenge)) {
      refuse("challenge_mismatch", "", answered(said.challenge, wanted.challenge));
    }
    for (const [name, commitment] of expectedCommitments(wanted)) {
      if (differs(commitment, said.commitments[name])) {
        refuse(
          `${kindOf(name)}_mismatch`,
          `The statement is not about the expected commitment to the ${name.replace("/", " ")}.`,
        );
      }
    }
    for (const [output, number] of byOutput(wanted.at_least)) {
      if (!this.#shows(output, number, Infinity))
        refuse("output_mismatch", unshown(output, "at least", number));
    }
    for (const [output, number] of byOutput(wanted.at_most)) {
      if (!this.#shows(output, -Infinity, number))
        refuse("output_mismatch", unshown(output, "at most", number));
    }
    if (!spans(wanted, said.made_at)) {
      refuse("time_mismatch", `The statement says that it was made at ${said.made_at}.`);
    }
  }

  /** Whether all values of the output are shown to lie between these. */
  #shows(output: string, low: number, high: number): boolean {
    const ends = endsOf(this.circuit, this.statement.values, output);
    return ends.length > 0 && ends.every(([least, most]) => low <= least && most <= high);
  }

  /** That the shards are of samples for this model, each there once, and that their counts add up to the claim. */
  #checkShards(dataset: Dataset): void {
    const { commitments } = this.statement;
    const { shards } = dataset;
    const { proofs } = this.document;
    const { commitments: scheme } = this.key.system;
    if (dataset.picked_for !== (commitments["model"] ?? null)) {
      refuse("dataset_mismatch", "The samples were picked for another model.");
    }
    const batch = this.circuit.batch ?? 0;
    const last = shards.length - 1;
    if (shards.some((shard, index) => (index < last ? shard.size !== batch : shard.size > batch))) {
      refuse("shard_missing", `Each shard but the last must have ${batch} samples.`);
    }
    if (shards.reduce((sum, shard) => sum + shard.size, 0) !== dataset.size) {
      refuse("shard_missing", `The shards' sizes do not add up to ${dataset.size}.`);
    }
    if (proofs.length !== shards.length) {
      refuse("shard_missing", `There are ${proofs.length} proofs for ${shards.length} shards.`);
    }
    for (const name of ["dataset", "correct"] as const) {
      if (new Set(shards.map((shard) => shard[name])).size !== shards.length) {
        refuse("shard_repeated", `Two shards have the same commitment ${name}.`);
      }
    }
    const totals = this.#totals(dataset).map(BigInt);
    const counts = shards.map((shard) => bytesOf(shard.correct));
    const basis = this.key.verifying.basis ?? new Uint8Array();
    const verdict = scheme.checkSum(basis, counts, totals, bytesOf(dataset.blinding));
    if (!verdict.valid) {
      const mismatch = verdict.reason === SUM_MISMATCH;
      refuse(mismatch ? "total_mismatch" : verdict.reason, mismatch ? "" : verdict.detail);
    }
  }

  /**
   * What is claimed of all shards together, where so many samples can add up to it: whatever is added up is far below
   * the order of the field then, and wraps around nothing.
   */
  #totals({ size }: Dataset): readonly number[] {
    const { values } = this.statement;
    const possible = countsOf(measurementOf(this.circuit)).map(({ name, least, most }) => ({
      numbers: listOf(values[name]),
      low: size * least,
      high: size * most,
    }));
    const beyond = possible.some(({ numbers, low, high }) =>
      numbers.some((each) => each < low || each > high),
    );
    if (values["size"] !== size || beyond) {
      refuse("total_mismatch", "The claimed numbers are not those of the dataset.");
    }
    return possible.flatMap(({ numbers }) => numbers);
  }

  /** `shards`: of each proof the commitments beside those that all have, and what it shows. */
  #claims(shards: readonly { own: Readonly<Record<string, string>>; shown: readonly bigint[] }[]): Claim[] {
    const { proofs } = this.document;
    if (proofs.length !== shards.length) {
      refuse("proof_count", `There must be one proof, not ${proofs.length}.`);
    }
    const statement = statementScalar(this.statement);
    return shards.map(({ own, shown }, index) => {
      const commitments: Readonly<Record<string, string>> = { ...this.statement.commitments, ...own };
      return {
        publicInputs: [statement, ...shown],
        proof: bytesOf(at(proofs, index)),
        commitments: this.circuit.commitments.map((name) => bytesOf(commitments[name] ?? "")),
      };
    });
  }

  /** The verdict's reason and detail; of a link that fails, those of what it is to. */
  #named(verdict: Verdict): { reason: string; detail: string } {
    if (verdict.reason !== LINK_MISMATCH || verdict.index === null) return verdict;
    const reason = `${kindOf(this.circuit.commitments[verdict.index] ?? "")}_mismatch`;
    return { reason, detail: REASONS[reason] ?? "" };
  }

  #checkKnown(): void {
    const { inputs, dataset, registration } = this.known;
    for (const [name, values] of inputs) this.#checkInput(name, values);
    for (const { kind, part } of this.#opened()) this.#checkOutput(kind, part);
    if (dataset !== null) this.#checkDataset(dataset);
    if (registration !== null) this.#checkRegistration(registration);
  }

  #checkInput(name: string, values: readonly number[]): void {
    const kind = inputTypes(this.circuit).get(name);
    if (kind === undefined) refuse("input_mismatch", `The network has no ${name.replace("/", " ")}.`);
    // Commitments do not tell zeros at the end from nothing.
    if (values.length !== inputSize(kind)) {
      refuse("input_mismatch", "The input given is not of the network's shape.");
    }
    switch (words.privacy(this.circuit, name)) {
      case "public": {
        const shown = this.statement.values[name];
        if (!Array.isArray(shown) || !same(shown, values)) {
          refuse("input_mismatch", "The public input is another than the one given.");
        }
        return;
      }
      case "committed": {
        const commitment = this.statement.commitments[name] ?? "";
        const opening = this.#openings("input").get(commitment)?.opening;
        if (opening === undefined) {
          refuse("input_mismatch", "The opening given is not of the statement's commitment.");
        }
        return this.#checkOpening("input", commitment, [...limbs(kind), ...values], opening);
      }
      case "private":
        refuse("input_mismatch", "The input is private: nothing shows which it was.");
    }
  }

  /** What opens the outputs, by what the statement calls them. Throws `Refusal` for others. */
  #opened(): { name: string; kind: InputType; part: OpeningPart }[] {
    const given = this.known.openings;
    if (given?.kind !== "output") return [];
    const parts = this.#openings("output");
    const found = [...outputTypes(this.circuit)].flatMap(([name, kind]) => {
      const part = parts.get(this.statement.commitments[name] ?? "");
      return part === undefined ? [] : [{ name, kind, part }];
    });
    if (new Set(found.map(({ part }) => part.commitment)).size < given.parts.length) {
      refuse("output_mismatch", "The opening given is of other commitments than the statement's.");
    }
    return found;
  }

  #checkOutput(kind: InputType, { commitment, opening, values }: OpeningPart): void {
    if (!holds(kind, values ?? [])) {
      refuse("output_mismatch", "The opening given is not of integers of the output's type.");
    }
    this.#checkOpening("output", commitment, [...limbs(kind), ...(values ?? [])], opening);
  }

  #checkDataset(given: LabelledData): void {
    const { dataset } = this.statement;
    const { batch, classes, targets } = this.circuit;
    if (dataset === null) refuse("dataset_mismatch", "The proof is about no dataset.");
    const kinds = [...inputTypes(this.circuit).values()];
    const data = fitting(() => given.inOrder(kinds.map(({ name }) => name)));
    if (dataset.sha256 !== null && dataset.sha256 !== hex(data.sha256)) {
      refuse("dataset_mismatch", `The given dataset has the SHA-256 ${hex(data.sha256)}.`);
    }
    if (dataset.size !== data.size) {
      refuse("shard_missing", `The dataset has ${data.size} samples, the proof is about ${dataset.size}.`);
    }
    const openings = dataset.sha256 === null ? this.#openings("dataset") : new Map<string, OpeningPart>();
    fitting(() => {
      let index = 0;
      for (const values of data.shardValues(kinds, batch ?? 0, classes ?? 0, targets)) {
        const shard = at(dataset.shards, index);
        const opening = shard.opening ?? openings.get(shard.dataset)?.opening;
        if (opening === undefined) {
          refuse("dataset_mismatch", `No opening was given for the commitment to shard ${index}.`);
        }
        this.#checkOpening("dataset", shard.dataset, values, opening);
        index += 1;
      }
    });
  }

  /**
   * That it is one, valid, of the model that the proof is about. Over another basis the commitment would be to other
   * numbers.
   */
  #checkRegistration({ document, key }: Registration): void {
    const { model } = this.statement.commitments;
    const registered = document.statement;
    if (model === undefined || this.statement.scheme === "registration") {
      refuse("registration_mismatch", "The proof rests on no registration.");
    }
    if (registered.scheme !== "registration" || registered.network !== this.statement.network) {
      refuse("registration_mismatch", "What was given is no registration of this architecture.");
    }
    if (registered.commitments["model"] !== model) {
      refuse("registration_mismatch", "The registration is that of another model.");
    }
    if (key.system.id !== this.key.system.id) {
      refuse("registration_mismatch", "The registration is of another proof system.");
    }
    if (hex(key.verifying.basis ?? NONE) !== hex(this.key.verifying.basis ?? NONE)) {
      refuse("registration_mismatch", "The registration's commitment is over another basis.");
    }
    const verdict = judge(document, key, { ...NOTHING_EXPECTED, require: this.expected.require });
    if (!verdict.valid) {
      refuse("registration_mismatch", `The registration is not valid: ${verdict.detail}`);
    }
  }

  #openings(kind: "input" | "dataset" | "output"): Map<string, OpeningPart> {
    const given = this.known.openings;
    if (given === null || given.kind !== kind) {
      refuse(`${kind}_mismatch`, `To compare it takes the opening of the ${kind}'s commitment.`);
    }
    if (systemOf(given).commitments.id !== this.key.system.commitments.id) {
      refuse(`${kind}_mismatch`, "The opening given is of another commitment scheme.");
    }
    return new Map(given.parts.map((part) => [part.commitment, part]));
  }

  #checkOpening(
    kind: "input" | "dataset" | "output",
    commitment: string,
    values: readonly number[],
    opening: JsonObject,
  ): void {
    const { verifying, system } = this.key;
    const numbers = values.map(BigInt);
    const verdict = system.commitments.checkOpening(
      verifying.basis ?? NONE,
      bytesOf(commitment),
      numbers,
      opening,
    );
    if (!verdict.valid) {
      refuse(`${kind}_mismatch`, `The commitment is not to what was given: ${verdict.detail}`);
    }
  }
}

const NONE = new Uint8Array();

/** The expected commitments, as statements call them. */
function expectedCommitments(wanted: Expected): [string, string | null][] {
  const several = (kind: string, own: Expected["inputs"]): [string, string][] =>
    Object.entries(own ?? {}).map(([name, each]) => [`${kind}/${name}`, each]);
  return [
    ["model", wanted.model],
    ["input", wanted.input],
    ["output", wanted.output],
    ["reference", wanted.reference],
    ...several("input", wanted.inputs),
    ...several("output", wanted.outputs),
  ];
}

/** The names of those that are there. */
function present(fields: Readonly<Record<string, unknown>>): Set<string> {
  return new Set(Object.keys(fields).filter((name) => fields[name] !== null));
}

/** What is made of a dataset; one that does not fit the network is another. */
function fitting<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ZenError && error.code.startsWith("input."))) throw error;
    return refuse("dataset_mismatch", `The dataset does not fit the network: ${error.message}.`);
  }
}

const IDS_COMPARED = "Ids were compared: an id is the SHA-256 of a key and of what it is for.";

function whereTheKeyIs(key: string | null): string {
  return (
    `A service that has it gives it to everybody: https://SERVICE/v1/verification-keys/${key}, or zenserve` +
    ` key get ${key} --url https://SERVICE -o key.json. The file may come from anybody, for its id is` +
    " computed from it: what you need from somebody whom you trust is the id."
  );
}

function answered(challenge: string | null, expected: string | null): string {
  const answers = challenge === null ? "no challenge" : `"${challenge}"`;
  return `The proof answers ${answers}. Ask for a proof that answers "${expected}".`;
}

/** What is expected of each output, "" of an only one. */
function byOutput(ends: Expected["at_least"]): (readonly [string, number])[] {
  if (ends === null) return [];
  if (typeof ends === "number") return [["", ends]];
  return Object.keys(ends)
    .sort()
    .map((name) => [name, ends[name] ?? NaN] as const);
}

function unshown(output: string, side: string, number: number): string {
  const which = output === "" ? "output" : `output ${output}`;
  return `Nothing shows that the ${which} is ${side} ${canonical(new Real(number))}.`;
}
