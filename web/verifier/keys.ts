/** Verification keys from files, found to be what their ids say. */

import { committedValues, description, keyId, readParsed, systemOf } from "./documents.ts";
import type { Description, KeyFile, KeyReference } from "./documents.ts";
import { ZenError } from "./errors.ts";
import { canonical } from "./json.ts";
import type { JsonObject } from "./json.ts";
import { CEREMONY } from "./system.ts";
import type { VerifyingKey, VerifyingSystem } from "./system.ts";

/** A key file that was read, and is what its id says. */
export interface OpenedKey {
  readonly verifying: VerifyingKey;
  readonly circuit: Description;
  readonly reference: KeyReference;
  /** Whether the file shows that the key's secrets are of a ceremony, or only says so. */
  readonly showsCeremony: boolean;
  readonly system: VerifyingSystem;
  /** The whole description of the circuit, of which `circuit` is what judging a proof reads. */
  readonly described: JsonObject;
}

/**
 * The key, its circuit, and the system that verifies with it. Throws `ZenError`: `file.hash` where the id is
 * another's, `file.transcript` where the transcript is another key's.
 */
export function opened(file: KeyFile): OpenedKey {
  const system = systemOf(file);
  const circuit = readParsed(description, file.circuit);
  const key = readKey(system, file.key);
  if (file.id !== keyId(system, key.digest, file.circuit)) {
    throw new ZenError("file.hash", "the id is not that of this key and circuit", "id");
  }
  if (file.setup !== key.setup) {
    throw new ZenError("file.setup_label", "setup is not that of the key", "setup");
  }
  const count = circuit.public_inputs.reduce((sum, group) => sum + group.count, 0);
  const linked = key.linkedSizes;
  const fits =
    linked.length === circuit.commitments.length &&
    circuit.commitments.every((name, index) =>
      [null, linked[index]].includes(committedValues(circuit, name)),
    );
  if (count !== key.public || !fits) {
    throw new ZenError("file.shape", "the circuit does not fit the key", "circuit");
  }
  if (file.transcript !== null) checkTranscript(system, file.transcript, key);
  return {
    verifying: key,
    circuit,
    reference: { id: file.id, setup: file.setup },
    showsCeremony: file.transcript !== null && key.setup === CEREMONY,
    system,
    described: file.circuit,
  };
}

// To decode a key takes longer than to verify a proof, and a page verifies several proofs under one. Kept by all
// of its text, not by the digest that it claims, so that nobody can pass a key off as another; and only small ones.
const MOST_KEPT = 64;
const MOST_KEPT_LENGTH = 1 << 16;
const kept = new Map<string, VerifyingKey>();

function readKey(system: VerifyingSystem, document: JsonObject): VerifyingKey {
  const text = canonical(document);
  const name = `${system.id} ${text}`;
  const known = kept.get(name);
  if (known !== undefined) return known;
  const key = system.readKey(document);
  if (text.length <= MOST_KEPT_LENGTH) kept.set(name, key);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  return key;
}

function checkTranscript(system: VerifyingSystem, transcript: JsonObject, key: VerifyingKey): void {
  try {
    system.checkTranscript(transcript, key);
  } catch (error) {
    if (!(error instanceof ZenError)) throw error;
    const why = `the transcript does not lead to this key: ${error.message}`;
    throw new ZenError("file.transcript", why, "transcript");
  }
}
