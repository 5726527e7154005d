/**
 * Streams as files: every frame's proof, in one chain, and the verdict on all of them (docs/streams.md).
 *
 * A proof is of one frame, or of a batch of frames in a row. Its statement answers a challenge that follows from the
 * stream's head and from all frames before it, so that frames cannot be left out, doubled, put in another order or
 * taken from another stream. Which model each proof is by, and with which prior, is computed again from what was seen.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { addsPrior, ANSWER, PRIOR, SEEN } from "./bank.ts";
import { concat, hex } from "./bytes.ts";
import {
  challenge as challengeText,
  commitment,
  digest,
  expected,
  expectedStream,
  listOf,
  MOST_INTEGER,
  moment,
  numbers,
  proofDocument,
  readParsed,
  same,
  size,
  statementHash,
} from "./documents.ts";
import type { ExpectedStream, ProofDocument } from "./documents.ts";
import { checked, fault, integer, list, nullable, object, oneOf, optional } from "./fields.ts";
import type { Read, Reader } from "./fields.ts";
import { canonical, isObject } from "./json.ts";
import { Case, judgeEach } from "./judging.ts";
import type { OpenedKey } from "./keys.ts";
import { at, zip } from "./lists.ts";
import { Choice } from "./streams/choice.ts";
import { Course } from "./streams/course.ts";
import type { Plan } from "./streams/course.ts";
import { OK, Refusal, refuse } from "./verdict.ts";

const MOST_FRAMES = 1 << 17;
const MOST_MODELS = 64;
const MOST_CLASSES = 1 << 11;
const MOST_SAMPLES = 1 << 16;
/** Of a bank's models and samples together: each choice reads all of them at the most. */
const MOST_OUTPUTS = 1 << 22;
/** Of an output, a margin, a bit: with a prior of so many frames all sums are below 2^53. */
const MOST_STEPS = 2 ** 31 - 1;
const MOST_RUNS = 1 << 8;
const MOST_BATCH = 1 << 6;
const HEAD = "zenserve stream 1\n";
const FRAME = "zenserve frame 1\n";
/** Of so many the proofs are judged together, then it is told how far that is. */
const TOGETHER = 64;
const MORE_UNSEEN = "That there were no more frames after the last.";
const BANK_UNSEEN =
  "That bank and rules are those agreed on: how the chain begins tells, to whoever knows it.";
const AGE_UNSEEN =
  "That the stream was made for you, or lately: without a challenge of yours, it may be an old one.";
const CEREMONY_SEEN = "The setup of each frame's key is a ceremony, or transparent, as you required.";
const NOT_VERIFIED = [
  "Why frames have no proof: whoever proves may leave out any so, and the course does not see them.",
  "That what the head says of profiled samples is what the models compute of them.",
  "That answers are right, or that another model's would be.",
  "What each frame's statement does not say, beside.",
];

/** Null is as good as none. */
function absent<T>(reader: Reader<T>): Reader<T | undefined> {
  return (value, place) => (value === undefined || value === null ? undefined : reader(value, place));
}

const model = object({
  commitment: nullable(commitment),
  verification_key: digest,
  batch_key: absent(digest),
  cost: size,
  bit: integer(1, MOST_STEPS),
  margin: integer(1, MOST_STEPS),
  outputs: list(list(integer(-MOST_STEPS, MOST_STEPS), 0, MOST_CLASSES), 0, MOST_SAMPLES),
});

const one = optional(integer(1, 1), 1);
/** Models of the same classes, the most accurate first, and each cheaper than the one before. */
export const bank = checked(
  object({
    format: optional(oneOf("zenserve bank"), "zenserve bank"),
    version: one,
    classes: integer(2, MOST_CLASSES),
    labels: checked(numbers, (labels, place) => {
      if (labels.length > MOST_SAMPLES) fault(place, `there are ${MOST_SAMPLES} at most`);
    }),
    models: list(model, 1, MOST_MODELS),
  }),
  ({ classes, labels, models }) => {
    if (models.some(({ cost }, place) => place > 0 && cost >= at(models, place - 1).cost)) {
      fault("models", "each must be cheaper than the one before");
    }
    const each = new Map<number, number>();
    for (const label of labels) each.set(label, (each.get(label) ?? 0) + 1);
    const own = [...each.keys()].every((label) => 0 <= label && label < classes);
    if (!own || each.size < classes || new Set(each.values()).size > 1) {
      fault("labels", "they must be of all of the bank's classes, and of each equally many");
    }
    if (models.length * labels.length * classes > MOST_OUTPUTS) {
      fault("models", `they have more than ${MOST_OUTPUTS} outputs`);
    }
    for (const [place, { outputs }] of models.entries()) {
      if (outputs.length !== labels.length || outputs.some((row) => row.length !== classes)) {
        fault(`models.${place}.outputs`, "one row a sample, with a number for each class");
      }
    }
  },
);

const rules = checked(
  object({
    hazard: optional(integer(2, MOST_INTEGER), 600),
    noise: optional(integer(2, 1 << 16), 10),
    runs: optional(integer(2, MOST_RUNS), 30),
    young: optional(integer(1, MOST_RUNS), 12),
    dominance: optional(integer(1, 1 << 16), 2),
    patience: optional(integer(1, 1 << 16), 5),
    caution: optional(integer(1, 1 << 16), 3),
    batch: absent(integer(2, MOST_BATCH)),
  }),
  ({ young, runs }, place) => {
    if (young >= runs) fault(place, "young must be fewer than runs");
  },
);

type Bank = Read<typeof bank>;

/** What a stream is: nothing of it changes once it has begun. `challenge`: from whoever asked for it. */
export const head = checked(
  object({ bank, rules, begun_at: moment, challenge: absent(challengeText) }),
  ({ bank: { models }, rules: { batch } }) => {
    if (models.some(({ batch_key: key }) => (key === undefined) !== (batch === undefined))) {
      fault("bank", "its models have a batch_key where the rules have a batch, and only there");
    }
  },
);
type Head = Read<typeof head>;

const missed = object({ missed: challengeText });
type Missed = Read<typeof missed>;
const frame: Reader<ProofDocument | Missed> = (value, place) =>
  isObject(value) && "missed" in value ? missed(value, place) : proofDocument(value, place);

/** Of how many frames it is, by what it says: another number is none that its key's circuit has. */
function saidFrames(each: ProofDocument | Missed): number {
  return "missed" in each ? 1 : listOf(each.statement.values[`label/${SEEN}`] ?? 0).length;
}

/** A whole stream: with the keys of its bank's models it is all that a verifier needs. */
export const streamFile = checked(
  object({
    format: optional(oneOf("zenserve stream"), "zenserve stream"),
    version: one,
    head,
    frames: list(frame, 0, MOST_FRAMES),
  }),
  ({ frames }) => {
    if (frames.reduce((sum, each) => sum + saidFrames(each), 0) > MOST_FRAMES) {
      fault("frames", `those of batches counted, too, there are ${MOST_FRAMES} at most`);
    }
  },
);
export type StreamFile = Read<typeof streamFile>;

/** The course at its first frame. */
export function courseOf({ bank: own, rules: numbers }: Head): Course {
  const choice = new Choice({ ...own, candidates: own.models }, numbers.caution);
  return new Course(choice, { classes: own.classes, ...numbers }, numbers.patience);
}

/** The chain's link before the first frame. */
export function beginning(of: Head): Uint8Array {
  return sha256(utf8ToBytes(HEAD + canonical(of)));
}

/** The link after a frame: it covers what the frame says, not the numbers that prove it. */
export function following(link: Uint8Array, each: ProofDocument | Missed): Uint8Array {
  const said = "missed" in each ? utf8ToBytes(canonical(each)) : statementHash(each.statement);
  return sha256(concat(utf8ToBytes(FRAME), link, said));
}

/**
 * The verdict on a stream. `frame`: the first that is wrong, null where it is none of them; `head` and `link`: the
 * chain's links before the first and after the last; `models`: of each frame its place in the bank; `proofs`: the first
 * frame of those that its proof is of. These and `labels` are null for frames without a proof.
 */
export interface StreamVerification {
  readonly valid: boolean;
  readonly reason: string;
  readonly detail: string;
  readonly frame: number | null;
  readonly frames: number;
  readonly head: string | null;
  readonly link: string | null;
  readonly missed: readonly number[];
  readonly by_model: readonly number[];
  readonly changes: readonly number[];
  readonly models: readonly (number | null)[];
  readonly labels: readonly (number | null)[];
  readonly proofs: readonly (number | null)[];
  readonly verified: readonly string[];
  readonly not_verified: readonly string[];
}

/**
 * Whether it is the one that is expected, and each frame proven in its place, by the model of the course; `keys` by
 * their ids. `progress` hears how many of the proofs are judged, of how many.
 *
 * The course follows labels that are proven: so a file costs its reader no more than a part of what it cost its writer.
 */
export function judgeStream(
  file: StreamFile,
  keys: ReadonlyMap<string, OpenedKey>,
  wanted: ExpectedStream = readParsed(expectedStream, {}),
  progress: (judged: number, of: number) => void = () => {},
): StreamVerification {
  const links = [beginning(file.head)];
  for (const [number, each] of file.frames.entries()) links.push(following(at(links, number), each));
  const other = unexpected(file.head, hex(at(links, 0)), hex(at(links, file.frames.length)), wanted);
  if (other !== null) return refused(...other, null);
  const cases: [number, Case][] = [];
  let number = 0;
  for (const [place, each] of file.frames.entries()) {
    if ("missed" in each) {
      number += 1;
      continue;
    }
    const { id } = each.statement.verification_key;
    const key = keys.get(id);
    if (key === undefined) {
      return refused("no_key", `The key of one of the bank's models was not given. It is ${id}.`, number);
    }
    const size = sizeOf(key);
    if (size !== 1 && size !== file.head.rules.batch) {
      return refused(
        "batch_mismatch",
        "The proof is of another number of frames than the rules say.",
        number,
      );
    }
    const which = size === 1 ? `frame ${number}` : `frames ${number} to ${number + size - 1}`;
    const challenge = `${which} after ${hex(at(links, place))}`;
    const pins = readParsed(expected, { challenge, require: wanted.require });
    cases.push([number, new Case(each, key, pins)]);
    number += size;
  }
  for (let start = 0; start < cases.length; start += TOGETHER) {
    progress(start, cases.length);
    const part = cases.slice(start, start + TOGETHER);
    const answers = judgeEach(part.map(([, each]) => each));
    for (const [[first], { valid, reason, detail }] of zip(part, answers)) {
      if (!valid) return refused(reason, detail, first);
    }
  }
  progress(cases.length, cases.length);
  return followed(file.head, new Map(cases), number, links, wanted);
}

/** Of how many frames the key's proofs are. */
function sizeOf(key: OpenedKey): number {
  return key.circuit.batch ?? 1;
}

/** Why it is not the stream that is expected. */
function unexpected(
  { challenge }: Head,
  first: string,
  last: string,
  wanted: ExpectedStream,
): [string, string] | null {
  const isOther = (pinned: string | null, is: string | undefined): boolean =>
    pinned !== null && pinned !== is;
  if (isOther(wanted.head, first)) {
    return ["head_mismatch", "The chain begins with another link than the expected one."];
  }
  if (isOther(wanted.challenge, challenge)) {
    return ["challenge_mismatch", "The stream answers another challenge than the expected one."];
  }
  if (isOther(wanted.link, last)) {
    return ["chain_mismatch", "The chain ends with another link than the expected one."];
  }
  return null;
}

/** Whether the `count` frames, which are proven, are by the models of the course. `cases`: by the first of each. */
function followed(
  own: Head,
  cases: ReadonlyMap<number, Case>,
  count: number,
  links: readonly Uint8Array[],
  wanted: ExpectedStream,
): StreamVerification {
  const course = courseOf(own);
  const byModel = own.bank.models.map(() => 0);
  const models: (number | null)[] = [];
  const labels: (number | null)[] = [];
  const proofs: (number | null)[] = [];
  const changes: number[] = [];
  const fitting = new Set<string>();
  const networks = new Map<number, string>();
  const miss = (until: number): void => {
    for (const each of [models, labels, proofs]) while (each.length < until) each.push(null);
  };
  for (const [first, each] of cases) {
    const { model: place } = course.plan;
    const { margin } = at(own.bank.models, place);
    const [size, used] = [sizeOf(each.key), `${place} ${each.key.reference.id}`];
    try {
      const { seen, answers } = labelsOf(each, own.bank, course.plan);
      if (!fitting.has(used) && !addsPrior(each.key.described, own.bank.classes, margin)) {
        refuse(
          "bank_mismatch",
          "The key is not of a network that adds a prior of this bank to what it sees.",
        );
      }
      fitting.add(used);
      const { network } = each.key.circuit;
      if ((networks.get(place) ?? network) !== network) {
        refuse("network_mismatch", "The model's keys, of frames and of batches, are of different networks.");
      }
      networks.set(place, network);
      miss(first);
      for (const answer of answers) {
        models.push(place);
        labels.push(answer);
        proofs.push(first);
      }
      byModel[place] = at(byModel, place) + size;
      changes.push(...course.observe(seen).map((offset) => first + offset));
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      return refused(refusal.reason, refusal.detail, first);
    }
  }
  miss(count);
  const [first, last] = [hex(at(links, 0)), hex(at(links, links.length - 1))];
  const missed = [...proofs.keys()].filter((number) => proofs[number] === null);
  const known = (pinned: string | null): string => (pinned === null ? "" : ", as you expected");
  return {
    valid: true,
    reason: OK,
    detail: "Every frame is proven in its place, by the model that the frames before it ask for.",
    frame: null,
    frames: count,
    head: first,
    link: last,
    missed,
    by_model: byModel,
    changes,
    models,
    labels,
    proofs,
    verified: [
      `There are ${count} frames in this order, ${missed.length} of them without a proof.`,
      `By the bank's models, in their order, there are answers to ${byModel.join(", ")} frames.`,
      "Each answer is its model's, with the prior that the frames before it give.",
      ...(own.rules.batch === undefined ? [] : [together(cases, own.rules.batch)]),
      `The chain begins with ${first}${known(wanted.head)}.`,
      `It ends with ${last}${known(wanted.link)}.`,
      ...(wanted.challenge === null ? [] : [`It answers your challenge, ${wanted.challenge}.`]),
      ...(wanted.require === null ? [] : [CEREMONY_SEEN]),
    ],
    not_verified: [
      ...(wanted.link === null ? [MORE_UNSEEN] : []),
      ...(wanted.head === null ? [BANK_UNSEEN] : []),
      ...(wanted.challenge === null ? [AGE_UNSEEN] : []),
      ...NOT_VERIFIED,
    ],
  };
}

function together(cases: ReadonlyMap<number, Case>, batch: number): string {
  const batches = [...cases.values()].filter(({ key }) => sizeOf(key) > 1).length;
  return (
    `${batches} of ${cases.size} proofs are of ${batch} frames each: the frames before the first of them give their` +
    " model and prior."
  );
}

/** Of each frame of a proof what its model sees, and its answer. Throws `Refusal` where it is not the plan's. */
function labelsOf(
  { statement: said, key: proving }: Case,
  own: Bank,
  plan: Plan,
): { seen: readonly number[]; answers: readonly number[] } {
  const { commitment, verification_key: single, batch_key: several, margin } = at(own.models, plan.model);
  const size = sizeOf(proving);
  const key = size === 1 ? single : several;
  if (said.verification_key.id !== key) {
    refuse("key_mismatch", `By the frames before it, it is for the key ${key}.`);
  }
  if ((said.commitments["model"] ?? null) !== commitment) {
    refuse("model_mismatch", "By the frames before it, it is for another model of the bank.");
  }
  const prior = said.values[`input/${PRIOR}`];
  const wanted = plan.prior.map((value) => margin + value);
  if (!Array.isArray(prior) || !same(prior, Array<number[]>(size).fill(wanted).flat())) {
    refuse("input_mismatch", "The frames before it give another prior.");
  }
  const [seen, answers] = [listOf(said.values[`label/${SEEN}`]), listOf(said.values[`label/${ANSWER}`])];
  const right = [seen, answers].every(
    (labels) => labels.length === size && labels.every((label) => 0 <= label && label < own.classes),
  );
  if (!right) refuse("values_mismatch", "It does not say two labels of the bank's classes.");
  return { seen, answers };
}

function refused(reason: string, detail: string, frame: number | null): StreamVerification {
  return {
    valid: false,
    reason,
    detail: frame === null ? detail : `Frame ${frame}: ${detail}`,
    frame,
    frames: 0,
    head: null,
    link: null,
    missed: [],
    by_model: [],
    changes: [],
    models: [],
    labels: [],
    proofs: [],
    verified: [],
    not_verified: [],
  };
}
