/** The cases of tests/vectors/documents/index.json (docs/vectors.md), and the judgement on one. */

import { readFileSync } from "node:fs";
import * as datasets from "../verifier/datasets.ts";
import {
  expected,
  expectedReceipt,
  inputTypes,
  keyFile,
  openingFile,
  proofDocument,
  read,
  readParsed,
  receipt,
} from "../verifier/documents.ts";
import { ZenError } from "../verifier/errors.ts";
import type { Reader } from "../verifier/fields.ts";
import type { JsonSource } from "../verifier/json.ts";
import { judge } from "../verifier/judging.ts";
import type { Verification } from "../verifier/judging.ts";
import { opened } from "../verifier/keys.ts";
import type { OpenedKey } from "../verifier/keys.ts";
import * as receipts from "../verifier/receipts.ts";
import type { ReceiptVerification } from "../verifier/receipts.ts";
import { verify } from "../verifier/verify.ts";
import type { Given } from "../verifier/verify.ts";

const FOLDER = new URL("../../tests/vectors/documents/", import.meta.url);

/** `reason`: of a verdict, or the code of the error where there is none; then `detail` is null. */
export interface Outcome {
  readonly valid: boolean;
  readonly reason: string;
  readonly detail: string | null;
  readonly verified: readonly string[];
  readonly not_verified: readonly string[];
}

export interface Case extends Outcome {
  readonly name: string;
  readonly document: string;
  readonly key: string | null;
  readonly told: Readonly<Record<string, string>>;
  readonly exit: number;
}

const index: unknown = JSON.parse(readFileSync(new URL("index.json", FOLDER), "utf8"));
export const CASES: readonly Case[] = casesOf(index);

function casesOf(index: unknown): Case[] {
  if (typeof index !== "object" || index === null || !("cases" in index) || !Array.isArray(index.cases)) {
    throw new Error("this is no index of vectors");
  }
  return index.cases;
}

/** How the judge calls what a verifier is told in words, by option; all else is the name of a file. */
const PINS = new Map([
  ["key_id", "key"],
  ["input_commitment", "input"],
  ["output_commitment", "output"],
  ...["network", "model", "reference", "challenge", "after", "before", "require", "issuer"].map(
    (name) => [name, name] as const,
  ),
  ["at_least", "at_least"],
  ["at_most", "at_most"],
]);
const NUMBER = String.raw`-?[0-9]+(\.[0-9]+)?`;
const ENDS = new RegExp(`^(${NUMBER}|[^=,]+=${NUMBER}(,[^=,]+=${NUMBER})*)$`);
/** A pin as the judge takes it: numbers where they are some. */
type Pin = string | number | Record<string, number>;

function pinOf(name: string, text: string): Pin {
  if (!name.startsWith("at_") || !ENDS.test(text)) return text;
  if (!text.includes("=")) return Number(text);
  return Object.fromEntries(
    text.split(",").map((part) => {
      const end = part.lastIndexOf("=");
      return [part.slice(0, end), Number(part.slice(end + 1))] as const;
    }),
  );
}

export function fileOf(name: string): Uint8Array {
  return readFileSync(new URL(name, FOLDER));
}

/** What a verifier is told in words, as the judge calls it, and the contents of the files. */
export function told(given: Case["told"]): {
  pins: Record<string, Pin>;
  files: Record<string, Uint8Array>;
} {
  const [pins, files]: [Record<string, Pin>, Record<string, Uint8Array>] = [{}, {}];
  for (const [name, value] of Object.entries(given)) {
    const pin = PINS.get(name);
    if (pin === undefined) files[name] = fileOf(value);
    else pins[pin] = pinOf(name, value);
  }
  return { pins, files };
}

/** The contents of what is judged. */
export interface Contents {
  readonly document: Uint8Array;
  readonly key: Uint8Array | null;
  readonly pins: Record<string, Pin>;
  readonly files: Readonly<Record<string, Uint8Array>>;
}

export function givenOf(each: Case): Contents {
  return {
    document: fileOf(each.document),
    key: each.key === null ? null : fileOf(each.key),
    ...told(each.told),
  };
}

/** What `verify` says of it, as `zenserve-verify` does; `as`: how its files are given. */
export async function verified(
  each: Case,
  as: (file: Uint8Array) => JsonSource = (file) => file,
): Promise<Outcome> {
  const { document, key, pins, files: bytes } = givenOf(each);
  const files = Object.fromEntries(
    Object.entries(bytes).map(([name, file]) => [name, name.endsWith("circuit") ? file : as(file)]),
  );
  const { issuer, ...expected } = pins;
  if (typeof issuer !== "string" && issuer !== undefined) throw new TypeError("an issuer is a text");
  const { registration_key: registrationKey, registration_circuit: registrationCircuit, ...others } = files;
  const renamed = { registrationKey, registrationCircuit };
  return outcomeOf(
    await verify({
      document: as(document),
      key: key === null ? undefined : as(key),
      expected,
      issuer,
      ...renamed,
      ...others,
    } as Given),
  );
}

/** What the judge says of it. */
export async function judged(given: Contents): Promise<Outcome> {
  try {
    return outcomeOf(await verdict(given));
  } catch (error) {
    if (!(error instanceof ZenError)) throw error;
    return { valid: false, reason: error.code, detail: null, verified: [], not_verified: [] };
  }
}

export function outcomeOf({ valid, reason, detail, verified, not_verified }: Outcome): Outcome {
  return { valid, reason, detail, verified, not_verified };
}

/** Throws `ZenError` where there is none. */
export async function verdict({
  document,
  key,
  pins,
  files,
}: Contents): Promise<Verification | ReceiptVerification> {
  if (key === null) return receipts.judge(read(receipt, document), readParsed(expectedReceipt, pins));
  const proof = read(proofDocument, document);
  const wanted = readParsed(expected, pins);
  const trusted = keyOf(key, files["circuit"]);
  const { input, dataset, labels, opening, registration, registration_key: registrationKey } = files;
  const read_ = <T>(kind: Reader<T>, data: Uint8Array | undefined): T | null =>
    data === undefined ? null : read(kind, data);
  const registered = read_(proofDocument, registration);
  return judge(proof, trusted, wanted, {
    inputs: input === undefined ? new Map() : await datasets.loadInputs(input, inputTypes(trusted.circuit)),
    dataset: dataset === undefined ? null : await datasets.load(dataset, labels, trusted.circuit),
    openings: read_(openingFile, opening),
    table: null,
    registration:
      registered === null || registrationKey === undefined
        ? null
        : { document: registered, key: keyOf(registrationKey, files["registration_circuit"]) },
  });
}

function keyOf(file: Uint8Array, circuit: Uint8Array | undefined): OpenedKey {
  const key = opened(read(keyFile, file));
  if (circuit !== undefined) key.system.takeCircuit(circuit);
  return key;
}
