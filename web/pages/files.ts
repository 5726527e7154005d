/**
 * What files are, by what is in them, and what part each plays in one verification.
 *
 * Only to sort them: nothing that is read here is believed. The verifier reads their bytes again.
 */

import { TRANSPARENT } from "../verifier/system.ts";
import { shortened } from "./elements.ts";

/** The parts that files play: the fields of the verifier's `Given` that hold bytes, and a policy. Two have several. */
export const ROLES = [
  "document",
  "key",
  "registration",
  "registrationKey",
  "circuit",
  "registrationCircuit",
  "keys",
  "circuits",
  "opening",
  "input",
  "dataset",
  "labels",
  "table",
  "policy",
] as const;
export type Role = (typeof ROLES)[number];

export type Kind =
  | "proof"
  | "receipt"
  | "stream"
  | "key"
  | "circuit"
  | "opening"
  | "array"
  | "archive"
  | "row"
  | "table"
  | "policy"
  | "other";

/** What each kind can be, the likeliest first. */
export const ALTERNATIVES: Readonly<Record<Kind, readonly Role[]>> = {
  proof: ["document", "registration"],
  receipt: ["document"],
  stream: ["document"],
  key: ["key", "registrationKey"],
  circuit: ["circuit"],
  opening: ["opening"],
  array: ["input", "dataset", "labels"],
  archive: ["dataset", "input"],
  row: ["input"],
  table: ["table"],
  policy: ["policy"],
  other: [],
};

/**
 * `id`: of a key its own, of a proof that of the key it names; `ids`: of a stream those of the keys it names;
 * `registers`, `hasDataset`: of a proof; `proofs`: how many a proof has, or a stream; `namesCircuit`: of a key, whether it only names its circuit; `isList`: of an array, whether it has one axis; `why`:
 * what an `other` is.
 */
export interface Sorted {
  readonly kind: Kind;
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly registers?: boolean;
  readonly hasDataset?: boolean;
  readonly proofs?: number;
  readonly namesCircuit?: boolean;
  readonly isList?: boolean;
  readonly why?: string;
}

const MIB = 1 << 20;
const MOST_JSON = 64 * MIB;
const MOST_BINARY = 512 * MIB;
const HEAD = 4096;

/** What the file is. One too large for a browser is an `other`, and so is what cannot be read, as a folder. */
export async function sort(file: Blob): Promise<Sorted> {
  try {
    return await sortContent(file);
  } catch {
    return { kind: "other", why: "it cannot be read" };
  }
}

async function sortContent(file: Blob): Promise<Sorted> {
  const head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  const start = String.fromCharCode(...head.subarray(0, 16));
  const isArray = start.startsWith("\x93NUMPY");
  const isCircuit = start.startsWith("ZENSERVE") && start.endsWith("stmt");
  const isArchive = start.startsWith("PK");
  const most = isArray || isArchive || isCircuit ? MOST_BINARY : MOST_JSON;
  if (file.size > most) {
    const size = `${Math.ceil(file.size / MIB)} MiB, and this page takes ${most / MIB}`;
    return { kind: "other", why: `too large: ${size}. zenserve-verify takes larger ones` };
  }
  if (isArchive) return { kind: "archive" };
  if (isCircuit) return { kind: "circuit" };
  if (isArray) {
    const header = new TextDecoder("latin1").decode(head);
    return { kind: "array", isList: /'shape': \(\d+,\)/.test(header) };
  }
  return sortJson(await file.text());
}

function sortJson(text: string): Sorted {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return isCsv(text) ? { kind: "row" } : { kind: "other", why: "neither JSON, an array nor CSV" };
  }
  if (Array.isArray(value)) return { kind: "array", isList: !Array.isArray(value[0]) };
  switch (textOf(value, "format")) {
    case "zenserve proof":
      return sortProof(value);
    case "zenserve receipt":
      return { kind: "receipt" };
    case "zenserve stream":
      return sortStream(value);
    case "zenserve openings":
      return { kind: "opening" };
    case "zenserve table":
      return { kind: "table" };
    case "zenserve policy":
      return { kind: "policy" };
    case undefined:
      if (field(value, "key") && field(value, "circuit")) return sortKey(value);
      if (isOfArrays(value)) return { kind: "archive" };
      return { kind: "other", why: "neither a proof nor a key" };
    default:
      return { kind: "other", why: `a “${shortened(textOf(value, "format") ?? "")}”` };
  }
}

/** Lines of text, more than one of them or with a delimiter, that do not begin as JSON does. */
function isCsv(text: string): boolean {
  return (
    !/^\s*[[{]/.test(text) && !/[\0-\x08\x0e-\x1f\ufffd]/.test(text) && /[,;\t]|\n./.test(text.slice(0, MIB))
  );
}

/** Several inputs by their names. */
function isOfArrays(value: unknown): boolean {
  const parts = typeof value === "object" && value !== null ? Object.values(value) : [];
  return parts.length > 0 && parts.every((each) => Array.isArray(each));
}

function sortProof(document: unknown): Sorted {
  const statement = field(document, "statement");
  const proofs = field(document, "proofs");
  return {
    kind: "proof",
    ...idOf(field(statement, "verification_key")),
    registers: field(statement, "scheme") === "registration",
    hasDataset: Boolean(field(statement, "dataset")),
    proofs: Array.isArray(proofs) ? proofs.length : 1,
  };
}

function sortStream(file: unknown): Sorted {
  const frames = field(file, "frames");
  const named = (Array.isArray(frames) ? frames : []).flatMap((frame) => {
    const { id } = idOf(field(field(frame, "statement"), "verification_key"));
    return id === undefined ? [] : [id];
  });
  return { kind: "stream", ids: [...new Set(named)], proofs: named.length };
}

function sortKey(file: unknown): Sorted {
  const namesCircuit = textOf(field(file, "key"), "setup") === TRANSPARENT;
  return { kind: "key", ...idOf(file), namesCircuit };
}

function field(value: unknown, name: string): unknown {
  if (value === null || typeof value !== "object") return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

function textOf(value: unknown, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === "string" ? found : undefined;
}

function idOf(value: unknown): { id?: string } {
  const id = textOf(value, "id");
  return id === undefined ? {} : { id };
}

/** `chosen`: the part that somebody gave the file by hand, null for none. */
export interface Placed {
  readonly sorted: Sorted;
  readonly chosen?: Role | null;
}

/** The files that play each part: one, but of a stream's `keys` and `circuits`. */
export type Parts<File> = ReadonlyMap<Role, readonly File[]>;

/** Of a part that one file plays. */
export function only<File>(parts: Parts<File>, role: Role): File | undefined {
  return parts.get(role)?.[0];
}

/**
 * What was chosen by hand comes first; then a document of each kind goes where it fits, keys by the ids that their
 * proof names, or their stream; of several the last.
 */
export function assign<File extends Placed>(files: readonly File[]): Parts<File> {
  const parts = new Map<Role, File[]>();
  for (const file of files) if (file.chosen) parts.set(file.chosen, [file]);
  const put = (role: Role, fits: (sorted: Sorted) => boolean): void => {
    if (parts.has(role)) return;
    const taken = new Set([...parts.values()].flat());
    const free = files.filter((file) => file.chosen === undefined && !taken.has(file) && fits(file.sorted));
    const last = free.at(-1);
    if (last) parts.set(role, [last]);
  };
  put("document", ({ kind, registers }) => kind === "stream" || (kind === "proof" && !registers));
  put("document", ({ kind }) => kind === "proof");
  put("document", ({ kind }) => kind === "receipt");
  const document = only(parts, "document")?.sorted;
  if (document?.kind === "stream") return ofStream(files, parts, document);
  if (document?.kind === "proof" && !document.registers)
    put("registration", ({ registers }) => registers === true);
  const registration = only(parts, "registration")?.sorted;
  const isKey = ({ kind }: Sorted): boolean => kind === "key";
  put("key", (sorted) => isKey(sorted) && sorted.id === document?.id);
  if (registration) put("registrationKey", (sorted) => isKey(sorted) && sorted.id === registration.id);
  put("key", isKey);
  if (registration) put("registrationKey", isKey);
  // Which circuit is which, the keys' systems find out.
  const isCircuit = ({ kind }: Sorted): boolean => kind === "circuit";
  if (only(parts, "key")?.sorted.namesCircuit) put("circuit", isCircuit);
  if (only(parts, "registrationKey")?.sorted.namesCircuit) put("registrationCircuit", isCircuit);
  put("policy", ({ kind }) => kind === "policy");
  put("opening", ({ kind }) => kind === "opening");
  if (document?.kind === "proof") put("table", ({ kind }) => kind === "table");
  if (document?.hasDataset) {
    put("dataset", ({ kind }) => kind === "archive");
    put("labels", ({ kind, isList }) => kind === "array" && isList === true);
    put("dataset", ({ kind }) => kind === "array");
  } else {
    put("input", ({ kind }) => kind === "archive" || kind === "array" || kind === "row");
  }
  return parts;
}

/** All keys that it names, each once, and all circuits where one of them only names its own. */
function ofStream<File extends Placed>(
  files: readonly File[],
  parts: Parts<File>,
  { ids = [] }: Sorted,
): Parts<File> {
  const all = (kind: Kind): File[] => files.filter(({ sorted }) => sorted.kind === kind);
  const keys = ids.flatMap((id) =>
    all("key")
      .filter(({ sorted }) => sorted.id === id)
      .slice(-1),
  );
  const found = new Map<Role, readonly File[]>([
    ["document", parts.get("document") ?? []],
    ["keys", keys],
  ]);
  if (keys.some(({ sorted }) => sorted.namesCircuit)) found.set("circuits", all("circuit"));
  if (all("policy").length > 0) found.set("policy", all("policy").slice(-1));
  return found;
}

/** What somebody must still give: a key of the document itself, or of its registration, or such a key's circuit. */
export interface Missing {
  readonly role: "key" | "registrationKey" | "circuit" | "registrationCircuit";
  /** Those of the keys, where they are known. */
  readonly ids: readonly string[];
  readonly ofStream?: boolean;
}

export function firstMissing(parts: Parts<Placed>): Missing | null {
  const document = only(parts, "document")?.sorted;
  if (document?.kind === "stream") return missingOfStream(document, parts);
  if (document?.kind !== "proof") return null;
  const registration = only(parts, "registration")?.sorted;
  const key = missingOf(document, "key", "circuit", parts);
  return (
    key ?? (registration ? missingOf(registration, "registrationKey", "registrationCircuit", parts) : null)
  );
}

/** How many circuits there must be shows; which, their hashes say to the verifier. */
function missingOfStream({ ids = [] }: Sorted, parts: Parts<Placed>): Missing | null {
  const keys = (parts.get("keys") ?? []).map(({ sorted }) => sorted);
  const wanted = ids.filter((id) => !keys.some((key) => key.id === id));
  if (wanted.length > 0) return { role: "key", ids: wanted, ofStream: true };
  const naming = keys.filter(({ namesCircuit }) => namesCircuit);
  const enough = (parts.get("circuits")?.length ?? 0) >= naming.length;
  return enough ? null : { role: "circuit", ids: naming.map(({ id = "" }) => id), ofStream: true };
}

function missingOf(
  proof: Sorted,
  key: "key" | "registrationKey",
  circuit: "circuit" | "registrationCircuit",
  parts: Parts<Placed>,
): Missing | null {
  const ids = proof.id === undefined ? [] : [proof.id];
  const given = only(parts, key)?.sorted;
  if (given === undefined) return { role: key, ids };
  return given.namesCircuit && !parts.has(circuit) ? { role: circuit, ids } : null;
}
