import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { addsPrior } from "../verifier/bank.ts";
import { read, size } from "../verifier/documents.ts";
import { anyObject, list, openObject, text } from "../verifier/fields.ts";
import { isObject, parse } from "../verifier/json.ts";
import type { Json } from "../verifier/json.ts";
import { courseOf, head, streamFile } from "../verifier/stream.ts";
import { verify } from "../verifier/verify.ts";

interface Course {
  readonly head: unknown;
  readonly labels: readonly number[];
  readonly changes: readonly number[];
  readonly plans: Readonly<Record<string, { readonly model: number; readonly prior: readonly number[] }>>;
}

interface Case {
  readonly name: string;
  readonly batched?: boolean;
  readonly head?: unknown;
  readonly frames: readonly (number | object)[];
  readonly expected?: object;
  readonly frame: number | null;
  readonly reason: string;
  readonly link: string | null;
}

interface Stream {
  readonly head: unknown;
  readonly frames: readonly unknown[];
  readonly verdict: unknown;
}

interface Vectors extends Stream {
  readonly keys: readonly unknown[];
  readonly batched: Stream;
  readonly cases: readonly Case[];
  readonly networks: readonly unknown[];
  readonly courses: readonly Course[];
}

const FILE = readFileSync(new URL("../../tests/streams/vectors.json", import.meta.url));
const VECTORS = JSON.parse(FILE.toString()) as Vectors;

function bytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

for (const { name, batched = false, frames: order, expected = {}, ...told } of VECTORS.cases) {
  const { frame, reason, link } = told;
  test(`a stream is judged as it was: ${name}`, async () => {
    const of = batched ? VECTORS.batched : VECTORS;
    const own = told.head ?? of.head;
    const frames = order.map((each) => (typeof each === "number" ? of.frames[each] : each));
    const file = { format: "zenserve stream", version: 1, head: own, frames };
    const [document, keys] = [bytes(file), VECTORS.keys.map(bytes)];
    const heard: number[] = [];
    const answer = await verify({ document, keys, expected, progress: (judged) => heard.push(judged) });
    assert.ok("frames" in answer);
    assert.deepEqual([answer.frame, answer.reason, answer.link], [frame, reason, link]);
    if (!name.startsWith("the whole stream")) return;
    assert.deepEqual(answer, of.verdict);
    assert.deepEqual(heard, [0, frames.length - 1], "one frame was missed");
  });
}

test("networks fit as they did", () => {
  const all = parse(FILE);
  assert.ok(isObject(all));
  const networks = networksOf(all["networks"], "");
  assert.equal(networks.length, VECTORS.networks.length);
  for (const { name, described, classes, margin, fits } of networks) {
    assert.equal(addsPrior(described, classes, margin), fits, name);
  }
});

const networksOf = list(
  openObject({
    name: text,
    described: anyObject,
    classes: size,
    margin: size,
    fits: (value) => value === true,
  }),
);

test("courses are what they were", () => {
  for (const each of VECTORS.courses) {
    const course = courseOf(read(head, bytes(each.head)));
    const changes: number[] = [];
    const size = (each.head as { rules: { batch?: number } }).rules.batch ?? 1;
    for (let number = 0; number < each.labels.length; number += size) {
      const before = course.plan;
      const found = course.observe(each.labels.slice(number, number + size));
      changes.push(...found.map((place) => number + place));
      assert.deepEqual(course.plan, each.plans[number + size] ?? before);
    }
    assert.deepEqual(changes, each.changes);
  }
});

test("what is no stream is refused", () => {
  const { models } = (VECTORS.head as { bank: { models: readonly object[] } }).bank;
  const wrong: Json[] = [{}, { format: "zenserve stream" }];
  for (const value of wrong) assert.throws(() => read(streamFile, bytes(value)));
  const changed = parse(bytes(VECTORS.head));
  assert.ok(isObject(changed) && isObject(changed["bank"]));
  const [first, second] = models;
  const rows = (value: number, classes = 4, count = 40): number[][] =>
    Array.from({ length: count }, () => [value, ...new Array<number>(classes - 1).fill(0)]);
  const banks: [object, RegExp][] = [
    [{ models: models.map((model) => ({ ...model, cost: 7 })) }, /cheaper/],
    [{ labels: [0, 1].flatMap((label) => new Array<number>(20).fill(label)) }, /all of the bank's classes/],
    [{ models: [{ ...first, bit: 2 ** 31 }, second] }, /bit/],
    [{ models: [{ ...first, margin: 2 ** 31 }, second] }, /margin/],
    [{ models: [{ ...first, outputs: rows(2 ** 31) }, second] }, /outputs/],
    [{ models: [{ ...first, outputs: rows(-(2 ** 31)) }, second] }, /outputs/],
    [{ models: [{ ...first, outputs: rows(0, 3) }, second] }, /one row a sample/],
    [{ models: [{ ...first, outputs: rows(0, 4, 39) }, second] }, /one row a sample/],
  ];
  for (const [change, why] of banks) {
    const bank = { ...changed["bank"], ...change };
    assert.throws(() => read(head, bytes({ ...changed, bank })), why);
  }
});
