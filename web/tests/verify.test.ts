/** `verify` says what stands in the way of a verdict, and of which of what was given. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { ZenError } from "../verifier/errors.ts";
import { verify } from "../verifier/index.ts";
import type { Given } from "../verifier/index.ts";
import { fileOf } from "./vectors.ts";

const PROOF = {
  document: fileOf("inference/valid.json"),
  key: fileOf("inference/valid-key.json"),
};
const RECEIPT = { document: fileOf("receipt/valid.json") };
const NONE = new Uint8Array();

async function assertRefused(given: object, code: string, about: string): Promise<void> {
  // What programs in JavaScript give is not checked by a compiler.
  const error: unknown = await verify(given as Given).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof ZenError, String(error));
  assert.deepEqual([error.code, error.about], [code, about], error.message);
}

test("nothing is given that is not compared", async () => {
  await assertRefused({ document: PROOF.document }, "request.invalid", "key");
  await assertRefused({ ...PROOF, issuer: "0".repeat(64) }, "request.invalid", "issuer");
  await assertRefused({ ...PROOF, opening: NONE }, "request.invalid", "opening");
  await assertRefused({ ...PROOF, labels: NONE }, "request.invalid", "labels");
  await assertRefused({ ...PROOF, registration: NONE }, "request.invalid", "registrationKey");
  await assertRefused({ ...PROOF, registrationKey: NONE }, "request.invalid", "registration");
  await assertRefused({ ...PROOF, registration_key: NONE }, "request.invalid", "registration_key");
  await assertRefused({ ...PROOF, expected: { modle: "00" } }, "request.invalid", "modle");
  await assertRefused({ ...PROOF, expected: { model: "00" } }, "request.invalid", "model");
  await assertRefused({ ...PROOF, expected: { challenge: 3 } }, "request.invalid", "challenge");
  await assertRefused({ ...RECEIPT, key: PROOF.key }, "request.invalid", "key");
  await assertRefused({ ...RECEIPT, expected: { challenge: "a" } }, "request.invalid", "challenge");
});

test("an error names the file that it is about", async () => {
  await assertRefused({ document: NONE }, "file.json", "document");
  await assertRefused({ ...PROOF, key: NONE }, "file.json", "key");
  await assertRefused({ ...PROOF, key: PROOF.document }, "file.json", "key");
  await assertRefused({ ...PROOF, input: NONE }, "input.unreadable", "input");
  await assertRefused({ ...PROOF, dataset: NONE }, "input.unreadable", "dataset");
  await assertRefused({ ...PROOF, input: NONE, opening: NONE }, "file.json", "opening");
  await assertRefused(
    { ...PROOF, registration: PROOF.document, registrationKey: NONE },
    "file.json",
    "registrationKey",
  );
});

test("a contributor's name of megabytes is too long, and no accident", async () => {
  const [document, key] = ["ceremony/linked.json", "ceremony/linked-key.json"].map(fileOf);
  const named = new TextDecoder().decode(key).replace('"Ada"', `"${"2^".repeat(5e6)}"`);
  await assertRefused({ document, key: new TextEncoder().encode(named) }, "file.transcript", "key");
});

test("of a stream, all keys are given, and nothing that is for one proof", async () => {
  const vectors = new URL("../../tests/streams/vectors.json", import.meta.url);
  const { head, keys } = JSON.parse(readFileSync(vectors).toString()) as Readonly<Record<string, unknown[]>>;
  const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
  const document = bytes({ format: "zenserve stream", version: 1, head, frames: [] });
  const key = bytes(keys?.[0]);
  await assertRefused({ document }, "request.invalid", "keys");
  await assertRefused({ document, key }, "request.invalid", "key");
  await assertRefused({ document, keys: [key, NONE] }, "file.json", "keys.1");
  await assertRefused({ document, keys: [], expected: { model: "00" } }, "request.invalid", "model");
  await assertRefused({ document, keys: [], expected: { head: "00" } }, "request.invalid", "head");
  await assertRefused({ ...PROOF, keys: [key] }, "request.invalid", "keys");
  await assertRefused({ ...RECEIPT, circuits: [] }, "request.invalid", "circuits");
  const transparent = [fileOf("transparent/valid-key.json")];
  await assertRefused({ document, keys: transparent, circuits: [NONE] }, "file.length", "circuits.0");
});

test("what is undefined is not given", async () => {
  const verdict = await verify({ ...PROOF, issuer: undefined, expected: { key: undefined } });
  assert.ok(verdict.valid && "statement" in verdict && verdict.statement !== null);
  assert.deepEqual(
    JSON.parse(JSON.stringify(verdict.statement)),
    JSON.parse(new TextDecoder().decode(PROOF.document)).statement,
  );
});

test("the verifier asks for no file, network, clock or program", () => {
  const room = new URL("../verifier/", import.meta.url);
  const names = readdirSync(room, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  assert.ok(names.length > 20);
  for (const name of names) {
    const source = readFileSync(new URL(name, room), "utf8").replace(/\/\*[^]*?\*\/|\/\/.*/g, "");
    for (const [, from] of source.matchAll(/(?:from|import)\s*\(?\s*["']([^"']+)["']/g)) {
      assert.match(from ?? "", /^(@noble\/(curves|hashes)\/|\.\.?\/[a-z])/i, name);
    }
    assert.doesNotMatch(
      source,
      /\b(fetch|XMLHttpRequest|WebSocket|process|globalThis|window|eval|Function|Date\.now|new Date\(\)|localStorage|importScripts|performance)\b/,
      name,
    );
  }
});
