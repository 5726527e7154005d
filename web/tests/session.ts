/**
 * What tests/web/test_client.py has the client do with a real service: `node tests/session.ts FOLDER`, with the
 * service's address and a key in the environment. FOLDER has a network and typical inputs; the proof and its key are
 * written there. Prints what was seen, as JSON.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { ApiError, Client, verifyLocally, type Proof } from "../client/index.ts";

const INPUT = [0.1, 0.2, 0.3, 0.4];

const folder = process.argv[2] ?? ".";
const zenserve = new Client({
  baseUrl: process.env.ZENSERVE_URL ?? "",
  apiKey: process.env.ZENSERVE_API_KEY ?? "",
});
const file = async (name: string) => new Uint8Array(await readFile(join(folder, name)));

const files = { model: await file("network.onnx"), calibration: await file("calibration.npy") };
const model = await zenserve.wait(
  await zenserve.createModel({ ...files, name: "tiny", weight_privacy: "committed", label: ["run=17"] }),
);
const estimate = await zenserve.dryRun({ model_id: model.id, input: INPUT });

const once = { idempotencyKey: "order-66" };
const asked = await zenserve.createProof({ model_id: model.id, input: INPUT, challenge: "lunch" }, once);
const again = await zenserve.createProof({ model_id: model.id, input: INPUT, challenge: "lunch" }, once);
const seen: Proof[] = [];
const proof = await zenserve.wait(asked, { onProgress: (each) => seen.push(each) });

const document = await zenserve.getProofDocument(proof.id);
const key = await zenserve.getVerificationKey(proof.verification_key_id ?? "");
await writeFile(join(folder, "proof.json"), document);
await writeFile(join(folder, "key.json"), key);
const verdict = await zenserve.verify(document, { key, expected: { challenge: "lunch" } });

const registration = await zenserve.bytes("GET /v1/models/{model_id}/registration", {
  path: { model_id: model.id },
});
const registrationKey = await zenserve.getVerificationKey(model.registration_key_id ?? "");
const known = {
  registration,
  registrationKey,
  expected: { model: model.commitment ?? "", challenge: "lunch" },
};
const own = await verifyLocally(document, key, known);
const other = await verifyLocally(document, key, { expected: { challenge: "supper" } });

const listed: string[] = [];
for (let made = 0; made < 3; made++) {
  await zenserve.createCommitment({ model_id: model.id, kind: "input", values: INPUT });
}
for await (const { id } of zenserve.list("GET /v1/commitments", { query: { limit: 2 } })) listed.push(id);

const waiting = await zenserve.createProof({ model_id: model.id, input: INPUT, deadline_seconds: 600 });
const stopped = await zenserve.cancel(waiting).catch((error: unknown) => error);
const sha256 = await zenserve.upload(files.model);
const refusal = await zenserve
  .createProof({ model_id: model.id, input: [1, 2, 3] })
  .catch((error: unknown) =>
    error instanceof ApiError ? [error.status, error.code, error.field] : String(error),
  );

const report = {
  model: [model.name, model.state, model.labels],
  constraints: estimate.constraints,
  once: asked.id === again.id,
  states: seen.map(({ state }) => state),
  ids: [proof.id, asked.id],
  verdict: [verdict.valid, verdict.reason, verdict.statement?.challenge],
  own: [own.valid, own.reason],
  same: own.verified.includes(verdict.statement?.claim ?? "?"),
  other: [other.valid, other.reason],
  commitments: new Set(listed).size,
  stopped: stopped instanceof ApiError ? stopped.code : "canceled",
  uploaded: sha256 === (await zenserve.upload(files.model)),
  refusal,
  ready: await zenserve.isReady(),
  caller: (await zenserve.call("GET /v1/whoami")).scopes.length,
};
console.log(JSON.stringify(report));
