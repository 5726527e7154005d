import assert from "node:assert/strict";
import { test } from "node:test";
import { ZenError } from "../verifier/errors.ts";

test("errors carry their code and field", () => {
  const error = new ZenError("file.json", "it is no object", "key");
  assert.deepEqual([error.code, error.message, error.field], ["file.json", "it is no object", "key"]);
});
