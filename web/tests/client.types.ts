/** What the client's types refuse: `tsc` reports where they would not. Nothing here is ever run. */

import { Client, type Answer, type Item, type Model, type Proof } from "../client/index.ts";

export async function refused(client: Client): Promise<void> {
  // @ts-expect-error: no such route
  await client.call("GET /v1/proof/{proof_id}", { path: { proof_id: "prf_1" } });
  // @ts-expect-error: the id is missing
  await client.call("GET /v1/proofs/{proof_id}");
  // @ts-expect-error: it has another name
  await client.call("GET /v1/proofs/{proof_id}", { path: { id: "prf_1" } });
  // @ts-expect-error: no such filter
  await client.call("GET /v1/proofs", { query: { status: "queued" } });
  // @ts-expect-error: no such state
  client.list("GET /v1/proofs", { query: { state: "done" } });
  // @ts-expect-error: no list
  client.list("GET /v1/whoami");
  // @ts-expect-error: no such scope
  await client.call("POST /v1/keys", { body: { name: "ci", scopes: ["write"] } });
  // @ts-expect-error: whoami takes no body
  await client.call("GET /v1/whoami", { body: {} });
  // @ts-expect-error: only what is fetched has bytes
  await client.bytes("POST /v1/proofs/{proof_id}/cancel", { path: { proof_id: "prf_1" } });
  // @ts-expect-error: the model is missing
  await client.createProof({ input: [1] });
  // @ts-expect-error: a misspelt field
  await client.createProof({ model_id: "mdl_1", inputs: [1] });
  // @ts-expect-error: a path is no file
  await client.createModel({ model: "digits.onnx" });
  // @ts-expect-error: an id is no job
  await client.wait("prf_1");
  // @ts-expect-error: there are no other commitments
  await client.createCommitment({ model_id: "mdl_1", kind: "output", values: [] });
}

export async function taken(client: Client): Promise<[Model, Proof, string, undefined]> {
  const proof: Proof = await client.wait(await client.createProof({ model_id: "mdl_1", input: [[0.5]] }));
  const model: Model = await client.call("GET /v1/models/{model_id}", { path: { model_id: proof.model_id } });
  for await (const each of client.list("GET /v1/tenants")) {
    const tenant: Item<"GET /v1/tenants"> = each;
    await client.call("POST /v1/tenants/{tenant_id}/suspend", { path: { tenant_id: tenant.id } });
  }
  const caller: Answer<"GET /v1/whoami"> = await client.call("GET /v1/whoami");
  const gone = await client.call("DELETE /v1/proofs/{proof_id}", { path: { proof_id: proof.id } });
  return [model, proof, caller.actor, gone];
}
