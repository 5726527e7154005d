/** The verifier's command, for programs: what `zenserve-verify` says of the same files. No service is asked. */

import * as datasets from "./datasets.ts";
import {
  expected,
  expectedReceipt,
  expectedStream,
  inputTypes,
  keyFile,
  openingFile,
  outputTypes,
  proofDocument,
  read,
  readParsed,
  receipt,
} from "./documents.ts";
import type { ProofDocument, Receipt } from "./documents.ts";
import { ZenError } from "./errors.ts";
import type { Reader } from "./fields.ts";
import { isObject, readJson } from "./json.ts";
import type { JsonSource } from "./json.ts";
import { judge } from "./judging.ts";
import type { Known, Registration, Verification } from "./judging.ts";
import { opened } from "./keys.ts";
import type { OpenedKey } from "./keys.ts";
import * as receipts from "./receipts.ts";
import type { ReceiptVerification } from "./receipts.ts";
import { judgeStream, streamFile } from "./stream.ts";
import type { StreamFile, StreamVerification } from "./stream.ts";
import { TRANSPARENT } from "./system.ts";
import { table } from "./table.ts";
import { privacy } from "./words.ts";

/** What a verifier knows from elsewhere: each is compared where it is there. */
export interface Pins {
  /** The id of the verification key. */
  readonly key?: string | undefined;
  /** `ceremony`: the key's file shows that its secrets are of a ceremony, or its system has no secrets. */
  readonly require?: string | undefined;
  /** The SHA-256 of the network, or of its architecture where weights are hidden. */
  readonly network?: string | undefined;
  /** Commitments, in hex. */
  readonly model?: string | undefined;
  readonly input?: string | undefined;
  /** Of several inputs, by their names. */
  readonly inputs?: Readonly<Record<string, string>> | undefined;
  readonly output?: string | undefined;
  /** Of several outputs, by their names. */
  readonly outputs?: Readonly<Record<string, string>> | undefined;
  readonly reference?: string | undefined;
  /** The text that you gave. */
  readonly challenge?: string | undefined;
  /** What the output is shown to reach, or to stay below, in its own units; of several, by their names. */
  readonly at_least?: number | Readonly<Record<string, number>> | undefined;
  readonly at_most?: number | Readonly<Record<string, number>> | undefined;
  /** The document's own time, RFC 3339 in UTC: this or later, this or earlier. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  /** Of a stream: the links that its chain begins with and ends with. */
  readonly head?: string | undefined;
  readonly link?: string | undefined;
}

/**
 * The contents of files, and what is known beside them. JSON is taken as bytes, as a string or as `JSON.parse` made it
 * (`JsonSource`). Prefer bytes: of values that are parsed already nobody can tell whether a field was given twice.
 */
export interface Given {
  /** The proof, the receipt or the stream. */
  readonly document: JsonSource;
  /** The verification key's file, from whom you trust. */
  readonly key?: JsonSource | undefined;
  /** The input to compare, as it was before quantisation: .npy, JSON or CSV; several by their names: .npz. */
  readonly input?: JsonSource | undefined;
  /** The dataset to compare: .npz with samples, or each input by its name, and labels; or the samples as .npy or JSON. */
  readonly dataset?: JsonSource | undefined;
  /** The dataset's labels, where its file has none: .npy or JSON. */
  readonly labels?: JsonSource | undefined;
  /** What opens the commitment to the input, those to a private dataset, or those to outputs. */
  readonly opening?: JsonSource | undefined;
  /** The proof of the committed model's registration. */
  readonly registration?: JsonSource | undefined;
  /** The registration's own verification key, from whom you trust. */
  readonly registrationKey?: JsonSource | undefined;
  /** What the model's columns and classes are called, `table.json`: it is shown, and not proven. */
  readonly table?: JsonSource | undefined;
  /** The circuit of a transparent key, which only names it. */
  readonly circuit?: Uint8Array | undefined;
  /** That of a transparent registration's key. */
  readonly registrationCircuit?: Uint8Array | undefined;
  /** Of a stream: the files of its keys, from whom you trust, and the circuits of those that are transparent. */
  readonly keys?: readonly JsonSource[] | undefined;
  readonly circuits?: readonly Uint8Array[] | undefined;
  readonly expected?: Pins | undefined;
  /** The key, in hex, of the issuer of receipts that you trust. */
  readonly issuer?: string | undefined;
  /** Of a stream: hears how many of its proofs are judged, of how many. */
  readonly progress?: ((judged: number, of: number) => void) | undefined;
}

type File = Exclude<keyof Given, "document" | "keys" | "circuits" | "expected" | "issuer" | "progress">;
const FILES: readonly File[] = [
  "key",
  "input",
  "dataset",
  "labels",
  "opening",
  "registration",
  "registrationKey",
  "circuit",
  "registrationCircuit",
  "table",
];

/** Of streams, which have several. */
const LISTS = ["keys", "circuits"] as const;

/**
 * The verdict on a proof, a receipt or a stream. Throws `ZenError`, whose `about` says which of what was given is at fault: no
 * document, no key, no input, or something that there is nothing to compare with, so that nobody thinks it was.
 */
export async function verify(given: Given): Promise<Verification | ReceiptVerification | StreamVerification> {
  const known: readonly string[] = ["document", ...FILES, ...LISTS, "expected", "issuer", "progress"];
  refuseIdle(
    Object.keys(given).filter((name) => !known.includes(name)),
    "a document",
  );
  const document = await about("document", () => readDocument(given.document));
  const idle = (names: readonly (keyof Given)[], what: string): void =>
    refuseIdle(
      names.filter((name) => given[name] !== undefined),
      what,
    );
  if ("frames" in document) {
    idle(FILES, "a stream");
    const wanted = pinned(expectedStream, given, "a stream");
    return judgeStream(document, await openedKeys(given), wanted, given.progress);
  }
  idle(LISTS, "a document that is no stream");
  if ("issuer" in document) {
    idle(FILES, "a receipt");
    return receipts.judge(document, pinned(expectedReceipt, given, "a receipt"));
  }
  const { key: keyData } = given;
  if (keyData === undefined) throw invalid("a proof needs its key's file", "key");
  const wanted = pinned(expected, given, "a proof");
  if (given.dataset === undefined) idle(["labels"], "a proof without dataset");
  if (given.registration === undefined) idle(["registrationCircuit"], "a proof without registration");
  const key = await openedKey("key", keyData, "circuit", given.circuit);
  if (given.input === undefined && given.dataset === undefined && outputTypes(key.circuit).size === 0) {
    idle(["opening"], "a proof without input or dataset");
  }
  return judge(document, key, wanted, await compared(given, document, key));
}

function readDocument(data: JsonSource): ProofDocument | Receipt | StreamFile {
  const fields = readJson(data);
  switch (isObject(fields) ? fields["format"] : null) {
    case "zenserve receipt":
      return readParsed(receipt, fields);
    case "zenserve stream":
      return readParsed(streamFile, fields);
    default:
      return readParsed(proofDocument, fields);
  }
}

/** Errors within are about this of what was given. */
async function about<T>(name: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ZenError) throw new ZenError(error.code, error.message, error.field, name);
    throw error;
  }
}

function invalid(message: string, name: string): ZenError {
  return new ZenError("request.invalid", message, name, name);
}

/** Nobody is to think that something was compared which was not. */
function refuseIdle(names: readonly string[], what: string): void {
  const [name] = names;
  if (name !== undefined) throw invalid(`${what} is not compared with ${name}`, name);
}

/** What is expected, with nulls for what is not. */
function pinned<T extends object>(kind: Reader<T>, given: Given, what: string): T {
  const pins = Object.entries({ ...given.expected, issuer: given.issuer }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const known = Object.keys(readParsed(kind, {}));
  refuseIdle(
    pins.map(([name]) => name).filter((name) => !known.includes(name)),
    what,
  );
  try {
    return readParsed(kind, Object.fromEntries(pins));
  } catch (error) {
    throw error instanceof ZenError ? invalid(error.message, error.field ?? "expected") : error;
  }
}

/** What was given, to be compared with what was proven. */
async function compared(given: Given, document: ProofDocument, key: OpenedKey): Promise<Known> {
  const { input, dataset, labels, opening } = given;
  const openings = opening === undefined ? null : await about("opening", () => read(openingFile, opening));
  const { table: names } = given;
  const described = names === undefined ? null : await about("table", () => read(table, names));
  const found = {
    registration: await registration(given),
    inputs:
      input === undefined
        ? new Map()
        : await about("input", () => datasets.loadInputs(input, inputTypes(key.circuit), described)),
    dataset:
      dataset === undefined
        ? null
        : await about("dataset", () => datasets.load(dataset, labels, key.circuit)),
    openings,
    table: described,
  };
  requireComparable(given, document, key, found);
  return found;
}

async function registration({
  registration: proof,
  registrationKey: key,
  registrationCircuit: circuit,
}: Given): Promise<Registration | null> {
  if (proof === undefined && key === undefined) return null;
  if (proof === undefined) throw invalid("registrationKey takes registration, too", "registration");
  if (key === undefined) throw invalid("registration takes registrationKey, too", "registrationKey");
  return {
    document: await about("registration", () => read(proofDocument, proof)),
    key: await openedKey("registrationKey", key, "registrationCircuit", circuit),
  };
}

/** The key in a file; its system judges by the circuit that was given beside. */
async function openedKey(
  name: File,
  file: JsonSource,
  besideName: File,
  beside: Uint8Array | undefined,
): Promise<OpenedKey> {
  const key = await about(name, () => opened(read(keyFile, file)));
  if (beside !== undefined) await about(besideName, () => key.system.takeCircuit(beside));
  return key;
}

/** A stream's, by their ids; the systems of transparent ones judge by the circuits that were given beside. */
async function openedKeys({ keys: files, circuits = [] }: Given): Promise<Map<string, OpenedKey>> {
  if (files === undefined) throw invalid("a stream needs the files of its keys", "keys");
  const keys = new Map<string, OpenedKey>();
  const systems = new Set<OpenedKey["system"]>();
  for (const [index, file] of files.entries()) {
    const key = await about(`keys.${index}`, () => opened(read(keyFile, file)));
    keys.set(key.reference.id, key);
    if (key.reference.setup === TRANSPARENT) systems.add(key.system);
  }
  for (const [index, circuit] of circuits.entries()) {
    for (const system of systems) await about(`circuits.${index}`, () => system.takeCircuit(circuit));
  }
  return keys;
}

/** Throws `ZenError` (`request.invalid`) where what was given says nothing of the proof: it may well be valid. */
function requireComparable(
  given: Given,
  document: ProofDocument,
  key: OpenedKey,
  { inputs, openings }: Known,
): void {
  const { dataset } = document.statement;
  const hidden = new Set([...inputs.keys()].map((name) => privacy(key.circuit, name)));
  if (given.dataset !== undefined && dataset === null) refuseIdle(["dataset"], "a proof about no dataset");
  if (hidden.has("private")) {
    refuseIdle(["input"], "a proof about no input, or a private one,");
  }
  const name = given.input === undefined ? "dataset" : "input";
  const hasPrivate = given.dataset !== undefined && dataset?.sha256 === null;
  const opens = name === "input" ? hidden.has("committed") : hasPrivate;
  if (opens && openings === null) throw invalid(`${name} takes opening, too`, "opening");
  const kind = opens ? name : outputTypes(key.circuit).size > 0 ? "output" : null;
  if (openings !== null && openings.kind !== kind) {
    const what = given[name] === undefined ? "without input or dataset" : `with ${name}`;
    refuseIdle(["opening"], `a proof ${what}, which that file does not open,`);
  }
}
