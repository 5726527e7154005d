/** The client against answers made up here; tests/web drives it against the real service. */

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { beforeEach, mock, test } from "node:test";

import { clock } from "../client/clock.ts";
import {
  ApiError,
  ArgumentError,
  Client,
  ClientError,
  JobError,
  SignatureError,
  TimeoutError,
  UnreachableError,
  verifyWebhook,
  type Proof,
} from "../client/index.ts";

const QUEUED: Proof = {
  ...{ id: "prf_1", tenant_id: "tnt_1", state: "queued", revision: 1, stage: null, percent: 0, attempt: 0 },
  ...{
    overall_percent: null,
    eta_seconds: null,
    eta_setup_seconds: null,
    labels: {},
    priority: 0,
    queue: "cpu",
  },
  ...{ deadline_at: null, expires_at: null, cancel_requested: false, created_at: "2026-11-22T10:00:00Z" },
  ...{ started_at: null, finished_at: null, timings: {}, problem: null, failures: [], model_id: "mdl_1" },
  ...{ system: "groth16-bls12-381", scheme: "inference", dataset_id: null, challenge: null },
  ...{ verification_key_id: null, label: null, values: null },
};
const RUNNING: Proof = { ...QUEUED, state: "running", revision: 2, percent: 50 };
const DONE: Proof = { ...QUEUED, state: "succeeded", revision: 3, percent: 100, label: 7 };

let pauses: number[] = [];

/** Time passes only where somebody waits for it to. */
beforeEach(() => {
  pauses = [];
  mock.restoreAll();
  mock.method(clock, "now", () => pauses.reduce((sum, each) => sum + each, 0));
  mock.method(clock, "sleep", async (seconds: number) => void pauses.push(seconds));
});

type Reply = Response | Error;

/** Gives these answers, one after the other, the last one for ever; and keeps what it was asked. */
class Service {
  readonly asked: Request[] = [];
  readonly client: Client;
  readonly #answers: Reply[];

  constructor(...answers: Reply[]) {
    this.#answers = answers;
    this.client = new Client({
      baseUrl: "http://service",
      apiKey: "zen_1",
      fetch: (...a) => this.#answer(...a),
    });
  }

  get paths(): string[] {
    return this.asked.map(({ method, url }) => `${method} ${url.replace("http://service", "")}`);
  }

  async #answer(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    this.asked.push(new Request(input, init));
    const [answer] = this.#answers.length > 1 ? this.#answers.splice(0, 1) : this.#answers;
    if (answer instanceof Response) return answer.clone();
    throw answer;
  }
}

function ok(document: unknown, status = 200): Response {
  return Response.json(document, { status });
}

function problem(status: number, code: string, headers: Record<string, string> = {}): Response {
  const document = { code, detail: `it is ${code}`, field: "input", request_id: "req_1" };
  return Response.json(document, { status, headers });
}

function stream(...proofs: Proof[]): Response {
  const events = proofs.map((each) => {
    const type = each.state === "succeeded" ? "end" : "progress";
    return `event: ${type}\ndata: ${JSON.stringify(each)}\nid: ${each.revision}\n\n`;
  });
  const text = `: ping\n\nevent: milestone\ndata: {}\n\n${events.join("")}`;
  return new Response(text, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const item of items) seen.push(item);
  return seen;
}

const GET = "GET /v1/proofs/{proof_id}";
const ONE = { path: { proof_id: "prf_1" } };

test("a problem becomes an error with its code", async () => {
  const { client } = new Service(problem(422, "input.shape"));
  const known = { status: 422, code: "input.shape", field: "input", requestId: "req_1", retryAfter: null };
  await assert.rejects(client.call(GET, ONE), {
    name: "ApiError",
    message: "it is input.shape [input.shape]",
    ...known,
  });
});

test("what is no answer of ZenServe", async () => {
  for (const content of ["<html>", "[]", ""]) {
    const { client } = new Service(new Response(content, { status: 502 }));
    await assert.rejects(client.createCommitment({ model_id: "mdl_1", kind: "input", values: [] }), {
      code: "unknown",
    });
  }
  for (const content of ["<html>It works!</html>", "[]", "{}", '{"items": 1}']) {
    const { client } = new Service(new Response(content));
    await assert.rejects(all(client.list("GET /v1/proofs")), /not one of ZenServe/);
  }
});

test("addresses and keys that are none", () => {
  for (const baseUrl of ["nonsense", "ftp://127.0.0.1", "http://"]) {
    assert.throws(() => new Client({ baseUrl }), UnreachableError);
  }
  assert.throws(() => new Client({ apiKey: "a\nb" }), ClientError);
});

test("ids lead to no other place", async () => {
  const service = new Service(ok(DONE));
  await service.client.call(GET, { path: { proof_id: "../keys?x#y" } });
  assert.deepEqual(service.paths, ["GET /v1/proofs/..%2Fkeys%3Fx%23y"]);
  await assert.rejects(service.client.call(GET, { path: { proof_id: ".." } }), ClientError);
});

test("the key is shown, and the base may be a folder", async () => {
  const service = new Service(ok(DONE));
  await service.client.call(GET, ONE);
  assert.equal(service.asked[0]?.headers.get("Authorization"), "Bearer zen_1");
  let seen = "";
  const below = new Client({
    baseUrl: "https://host/zen/",
    fetch: async (url) => ((seen = String(url)), ok(DONE)),
  });
  await below.call(GET, ONE);
  assert.equal(seen, "https://host/zen/v1/proofs/prf_1");
});

test("what may be repeated is, for as long as patience lasts", async () => {
  const service = new Service(problem(503, "resource.busy"), new TypeError("fetch failed"), ok(DONE));
  assert.deepEqual(await service.client.call(GET, ONE), DONE);
  assert.equal(pauses.length, 2);
  const away = new Service(new TypeError("fetch failed"));
  await assert.rejects(away.client.call(GET, ONE), UnreachableError);
  assert.ok(away.asked.length > 3);
  assert.ok(clock.now() < 12);
});

test("as long as the service says, unless that is too long", async () => {
  const service = new Service(problem(429, "quota.rate", { "Retry-After": "3" }), ok(DONE));
  await service.client.call(GET, ONE);
  assert.deepEqual(pauses, [3]);
  const patient = new Service(problem(429, "quota.rate", { "Retry-After": "60" }));
  await assert.rejects(patient.client.call(GET, ONE), { code: "quota.rate", retryAfter: 60 });
  assert.equal(patient.asked.length, 1);
});

test("what makes something is sent again under one key, and nothing else that changes things", async () => {
  const service = new Service(new TypeError("fetch failed"), ok(QUEUED, 202));
  await service.client.createProof({ model_id: "mdl_1", input: [1] });
  const [first, second] = service.asked.map((request) => request.headers.get("Idempotency-Key"));
  assert.match(first ?? "", /^[0-9a-f]{32}$/);
  assert.equal(first, second);
  assert.deepEqual(await service.asked[1]?.json(), { model_id: "mdl_1", input: [1] });

  const once = new Service(new TypeError("fetch failed"));
  await assert.rejects(
    once.client.call("POST /v1/keys", { body: { name: "ci", scopes: ["read"] } }),
    UnreachableError,
  );
  assert.equal(once.asked.length, 1);
});

test("what the caller breaks off is broken off", async () => {
  const { client } = new Service(new TypeError("fetch failed"));
  const signal = AbortSignal.abort(new Error("enough"));
  await assert.rejects(client.call(GET, { ...ONE, signal }), /enough/);
});

test("lists go from page to page, as far as somebody reads", async () => {
  const pages = [
    ok({ items: [QUEUED, RUNNING], next_cursor: "a+b" }),
    ok({ items: [DONE], next_cursor: null }),
  ];
  const service = new Service(...pages);
  const found = await all(
    service.client.list("GET /v1/proofs", { query: { label: ["run=17", "team=a b"], state: null } }),
  );
  assert.deepEqual(
    found.map(({ state }) => state),
    ["queued", "running", "succeeded"],
  );
  const search = "label=run%3D17&label=team%3Da+b";
  assert.deepEqual(service.paths, [`GET /v1/proofs?${search}`, `GET /v1/proofs?${search}&cursor=a%2Bb`]);

  const first = new Service(...pages);
  for await (const _ of first.client.list("GET /v1/proofs")) break;
  assert.equal(first.asked.length, 1);
});

/** Events of these frames, and whatever else comes as it is. */
function told(...parts: (number | string)[]): Response {
  const text = parts.map((each) =>
    typeof each === "number" ? `event: frame\nid: ${each}\ndata: {"number": ${each}}\n\n` : each,
  );
  return new Response(text.join(""), { headers: { "Content-Type": "text/event-stream" } });
}

test("a job is followed through its events", async () => {
  const service = new Service(stream(QUEUED, RUNNING, RUNNING, DONE));
  assert.deepEqual(await all(service.client.follow(QUEUED)), [QUEUED, RUNNING, DONE]);
  assert.equal(service.asked[0]?.headers.get("Last-Event-ID"), "1");
  assert.deepEqual(service.paths, ["GET /v1/proofs/prf_1/events"]);
});

test("a stream that breaks off is taken up where it was", async () => {
  const service = new Service(stream(RUNNING), ok(RUNNING), stream(RUNNING, DONE));
  assert.equal((await service.client.wait(QUEUED)).label, 7);
  assert.deepEqual(service.paths, [
    "GET /v1/proofs/prf_1/events",
    "GET /v1/proofs/prf_1",
    "GET /v1/proofs/prf_1/events",
  ]);
  assert.equal(service.asked[2]?.headers.get("Last-Event-ID"), "2");
});

test("a stream's frames are followed, and taken up where they broke off", async () => {
  const open = ok({ id: "str_1", state: "running" });
  const over = "event: end\ndata: {}\n\n";
  const service = new Service(
    open,
    told(0, 1),
    open,
    new Response(null, { status: 503 }),
    open,
    told(2, over),
  );
  const frames = await all(service.client.followFrames("str_1"));
  assert.deepEqual(
    frames.map(({ number }) => number),
    [0, 1, 2],
  );
  const last = service.asked.map(({ headers }) => headers.get("Last-Event-ID"));
  assert.deepEqual(last, [null, null, null, "1", null, "1"]);
});

test("a frame is handed in until there is room", async () => {
  const service = new Service(problem(429, "quota.frames"), ok({ number: 3 }));
  assert.equal((await service.client.addFrame("str_1", 3, [0.5])).number, 3);
  assert.deepEqual(await service.asked[1]?.json(), { number: 3, input: [0.5] });
});

test("events that come in pieces", async () => {
  const bytes = new TextEncoder().encode(await stream({ ...DONE, challenge: "größer" }).text());
  const pieces = new ReadableStream({
    start(controller) {
      for (const at of bytes.keys()) controller.enqueue(bytes.slice(at, at + 1));
      controller.close();
    },
  });
  const service = new Service(new Response(pieces, { headers: { "Content-Type": "text/event-stream" } }));
  assert.equal((await service.client.wait(QUEUED)).challenge, "größer");
});

test("where nothing streams it is asked again and again", async () => {
  const service = new Service(problem(404, "not_found"), ok(QUEUED), ok(RUNNING), ok(DONE));
  const seen: string[] = [];
  await service.client.wait(QUEUED, { onProgress: ({ state }) => seen.push(state) });
  assert.deepEqual(seen, ["queued", "running", "succeeded"]);
  assert.equal(service.paths.filter((path) => path.endsWith("/events")).length, 1);
});

test("waiting ends with the time, and with a job that failed", async () => {
  const service = new Service(ok(RUNNING));
  await assert.rejects(service.client.wait(RUNNING, { timeoutSeconds: 5 }), TimeoutError);
  assert.ok(clock.now() >= 5);
  const cause = {
    code: "resource.memory",
    title: "",
    type: "",
    status: 422,
    detail: "the worker ran out of memory",
  };
  const failed: Proof = { ...RUNNING, state: "failed", problem: cause };
  await assert.rejects(service.client.wait(failed), (error) => {
    assert.ok(error instanceof JobError);
    assert.deepEqual([error.code, error.state, error.jobId], ["resource.memory", "failed", "prf_1"]);
    return true;
  });
});

test("files go along in the form; large ones ahead of it, none twice", async () => {
  const large = new Uint8Array((8 << 20) + 1);
  const sha256 = createHash("sha256").update(large).digest("hex");
  const service = new Service(
    problem(404, "not_found"),
    ok({ sha256 }, 201),
    ok({ ...QUEUED, id: "mdl_1" }, 202),
  );
  const form = {
    model: large,
    calibration: new Uint8Array([1, 2]),
    name: "digits",
    label: ["run=17", "team=a"],
  };
  await service.client.createModel(form, { idempotencyKey: "order-66" });
  const place = `/v1/uploads/${sha256}`;
  assert.deepEqual(service.paths, [`HEAD ${place}`, `PUT ${place}`, "POST /v1/models"]);
  const sent = await service.asked[2]?.formData();
  assert.deepEqual(
    [sent?.get("model_sha256"), sent?.get("model"), sent?.getAll("label")],
    [sha256, null, ["run=17", "team=a"]],
  );
  const file = sent?.get("calibration");
  assert.ok(file instanceof Blob);
  assert.deepEqual([...new Uint8Array(await file.arrayBuffer())], [1, 2]);
  assert.equal(service.asked[2]?.headers.get("Idempotency-Key"), "order-66");

  const again = new Service(new Response(null));
  assert.equal(await again.client.upload(large), sha256);
  assert.deepEqual(again.paths, [`HEAD ${place}`]);
});

test("documents are sent to be verified as they came, and nothing else among them", async () => {
  const service = new Service(ok({ valid: true }));
  const document = new TextEncoder().encode('{"scale": 1.0, "large": 12345678901234567890}');
  await service.client.verify(document, { expected: { challenge: "lunch" } });
  const text = await service.asked[0]?.text();
  assert.equal(text, `{"proof":${new TextDecoder().decode(document)},"expected":{"challenge":"lunch"}}`);
  const smuggled = new TextEncoder().encode('{},"verification_key":{}');
  await assert.rejects(service.client.verify(smuggled), /proof is no JSON file/);
});

test("a webhook's message is the service's, and of now", async () => {
  const raw = Buffer.from("a secret of 24 bytes, or so");
  const secret = `whsec_${raw.toString("base64")}`;
  const body = Buffer.from(
    JSON.stringify({ type: "proof.succeeded", timestamp: "2026-11-22T10:00:00Z", data: {} }),
  );
  const sentAt = Math.floor(Date.now() / 1000);
  const sign = (at: number) =>
    `v1,${createHmac("sha256", raw).update(`msg_1.${at}.`).update(body).digest("base64")}`;
  const headers = (at: number, signature: string) => ({
    ...{ "Webhook-Id": "msg_1", "Webhook-Timestamp": String(at), "Webhook-Signature": signature },
  });
  const event = await verifyWebhook(secret, headers(sentAt, `v1,AAAA ${sign(sentAt)}`), body);
  assert.deepEqual([event.id, event.type], ["msg_1", "proof.succeeded"]);
  for (const wrong of [
    headers(sentAt, "v1,AAAA"),
    headers(sentAt, sign(sentAt).replace("v1,", "v2,")),
    headers(sentAt, sign(sentAt - 1)),
    headers(sentAt - 301, sign(sentAt - 301)),
    headers(Number.MAX_SAFE_INTEGER, sign(Number.MAX_SAFE_INTEGER)),
    {},
  ]) {
    await assert.rejects(verifyWebhook(secret, wrong, body), SignatureError);
  }
  await assert.rejects(verifyWebhook("whsec_", headers(sentAt, sign(sentAt)), body), { argument: "secret" });
});

/** What programs without types hand in, by the argument that the error names. */
const WRONG: Record<string, (client: any) => unknown> = {
  proof_id: (client) => client.call(GET, { path: { proof_id: QUEUED } }),
  model: (client) => client.createModel({ model: "model.onnx", calibration: BYTES }),
  calibration: (client) => client.createModel({ model: BYTES, calibration: [[1, 2]] }),
  label: (client) => client.createModel({ model: BYTES, calibration: BYTES, label: { run: "17" } }),
  form: (client) => client.createDataset("rows.csv"),
  body: (client) => client.createProof("mdl_1"),
  input: (client) => client.createProof({ model_id: "mdl_1", input: [1n] }),
  challenge: (client) => client.createProof({ model_id: "mdl_1", challenge: () => "lunch" }),
  job: (client) => client.wait("prf_1"),
  timeoutSeconds: (client) => client.wait(QUEUED, { timeoutSeconds: "60" }),
  file: (client) => client.upload("model.onnx"),
  document: (client) => client.verify("{}"),
  registration: (client) => client.verify(BYTES, { registration: {} }),
};
const BYTES = new TextEncoder().encode("{}");

for (const [argument, ask] of Object.entries(WRONG)) {
  test(`an argument of a wrong type is named, and nothing is sent: ${argument}`, async () => {
    const service = new Service(ok(QUEUED, 202));
    await assert.rejects(async () => ask(service.client), {
      ...{ name: "ArgumentError", argument },
      message: new RegExp(`^${argument}: give .*, not (an object of type \\w+|a \\w+)$`),
    });
    assert.deepEqual(service.paths, []);
  });
}

test("wrong options are refused before anything is asked", () => {
  const client: any = Client;
  assert.throws(() => new client({ apiKey: 7 }), { argument: "apiKey" });
  assert.throws(() => new client({ timeoutSeconds: "60" }), { argument: "timeoutSeconds" });
});

test("arrays of numbers are sent as lists", async () => {
  const service = new Service(ok(QUEUED, 202));
  const input: any = [new Float32Array([0.5, 1])];
  await service.client.createProof({ model_id: "mdl_1", input });
  assert.deepEqual((await service.asked[0]?.json()).input, [[0.5, 1]]);
});

test("every error is one of the tree", () => {
  assert.ok(new ArgumentError("", "") instanceof ClientError);
  for (const kind of [UnreachableError, TimeoutError, SignatureError])
    assert.ok(new kind("") instanceof ClientError);
  assert.ok(
    new ApiError(500, {}) instanceof ClientError &&
      new JobError("prf_1", "failed", null) instanceof ClientError,
  );
});
