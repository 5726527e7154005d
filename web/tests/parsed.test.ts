/** What is parsed already is judged as the bytes that it came from, but for what parsing lost. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { ZenError } from "../verifier/errors.ts";
import { verify } from "../verifier/index.ts";
import type { JsonSource } from "../verifier/index.ts";
import { readJson, Real } from "../verifier/json.ts";
import { CASES, fileOf, outcomeOf, verified } from "./vectors.ts";

const text = (file: Uint8Array): string => new TextDecoder("utf-8", { fatal: true }).decode(file);
const folder = (name: string): string => name.split("/")[0] ?? "";
const parsed = (file: Uint8Array): JsonSource => JSON.parse(text(file));

/** The first of each folder that is valid, and one that is not. */
const JUDGED = CASES.filter(
  ({ name, exit }, index) =>
    exit === 0 && CASES.findIndex((one) => one.exit === 0 && folder(one.name) === folder(name)) === index,
).concat(CASES.filter(({ exit }) => exit === 1).slice(0, 1));

test("parsed, a document has the verdict of its bytes", async () => {
  for (const each of JUDGED) assert.deepEqual(await verified(each, parsed), outcomeOf(each), each.name);
});

test("so it has as text", async () => {
  for (const each of JUDGED.slice(0, 6)) assert.deepEqual(await verified(each, text), outcomeOf(each));
});

test("what is refused is refused, but for what parsing lost", async () => {
  const lost: string[] = [];
  for (const each of CASES.filter(({ exit }) => exit === 2)) {
    const taken = await verified(each, parsed).catch((error: unknown) => error);
    if (!(taken instanceof ZenError || taken instanceof SyntaxError || taken instanceof TypeError))
      lost.push(each.name);
  }
  // A field twice, and integers that are written with a point.
  assert.deepEqual(lost, ["file/twice", "file/version-float", "file/float-label"]);
});

test("values that no JSON text has are refused, by the name of what was given", async () => {
  const [document, key] = ["inference/valid.json", "inference/valid-key.json"].map((name) =>
    parsed(fileOf(name)),
  );
  const cyclic: Record<string, unknown> = {};
  cyclic["again"] = cyclic;
  for (const wrong of [
    undefined,
    null,
    () => 1,
    new Map(),
    new ArrayBuffer(8),
    Promise.resolve(document),
    { ...(document as object), version: NaN },
    { ...(document as object), version: 3n },
    { ...(document as object), more: undefined },
    { ...(document as object), proofs: new Array(1) },
    { ...(document as object), statement: "\ud800" },
    { ...(document as object), "\ud800": 1 },
    cyclic,
    "\ud800",
    "\ufeff{}",
  ]) {
    const error: unknown = await verify({ document: wrong as JsonSource, key }).catch(
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ZenError, String(wrong));
    assert.deepEqual([error.code, error.about], ["file.json", "document"]);
  }
});

test("a value of another realm is one, and each is read once", async () => {
  const [document, key] = ["inference/valid.json", "inference/valid-key.json"].map(fileOf);
  const foreign: JsonSource = runInNewContext("JSON.parse(given)", {
    given: text(document ?? new Uint8Array()),
  });
  assert.equal((await verify({ document: foreign, key })).valid, true);
  let reads = 0;
  const changing = {
    get a() {
      reads += 1;
      return reads;
    },
  };
  assert.deepEqual({ ...(readJson(changing) as object) }, { a: 1 });
});

test("numbers are integers where nothing may be lost", () => {
  const values = [1, -1, 0, 2 ** 53 - 1, 0.5, -0, 2 ** 53, 1e300];
  const reals = [0.5, -0, 2 ** 53, 1e300].map((value) => new Real(value));
  assert.deepEqual(readJson(values), [1, -1, 0, 2 ** 53 - 1, ...reals]);
});
