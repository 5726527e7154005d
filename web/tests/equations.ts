/** Answers tests/web/test_equations.py: for each line of requests a line of what the verifier here says of it. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fromHex, hex } from "../verifier/bytes.ts";
import { ZenError } from "../verifier/errors.ts";
import { groth16 } from "../verifier/groth16/system.ts";
import { VerifyingKey } from "../verifier/groth16/verifyingKey.ts";
import { isObject, parse, type Json, type JsonObject } from "../verifier/json.ts";
import type { Verdict } from "../verifier/verdict.ts";

function object(value: Json | undefined): JsonObject {
  return isObject(value) ? value : assert.fail();
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : assert.fail();
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : assert.fail();
}

function bytes(value: Json | undefined): Uint8Array {
  return fromHex(text(value)) ?? assert.fail();
}

function integers(value: Json | undefined): bigint[] {
  return list(value).map((each) => BigInt(text(each)));
}

function told({ reason, detail, index }: Verdict) {
  return { reason, detail, index };
}

const ANSWERS: Readonly<Record<string, (request: JsonObject) => unknown>> = {
  key: ({ key }) => hex(groth16.readKey(object(key)).digest),
  bytes: ({ data }) => hex(VerifyingKey.fromBytes(bytes(data)).digest),
  transcript: ({ transcript, key }) =>
    groth16.checkTranscript(object(transcript), groth16.readKey(object(key))) ?? null,
  groups: ({ key, groups }) => {
    const claims = list(groups).map((group) =>
      list(group)
        .map(object)
        .map(({ inputs, proof, commitments }) => ({
          publicInputs: integers(inputs),
          proof: bytes(proof),
          commitments: list(commitments).map(bytes),
        })),
    );
    const flaws = groth16.verifyGroups(groth16.readKey(object(key)), claims);
    return flaws.map((flaw) => flaw && { index: flaw.index, verdict: told(flaw.verdict) });
  },
  opening: ({ basis, commitment, values, opening }) =>
    told(
      groth16.commitments.checkOpening(bytes(basis), bytes(commitment), integers(values), object(opening)),
    ),
  form: ({ opening }) => groth16.commitments.checkForm(object(opening)) ?? null,
  sum: ({ basis, commitments, totals, blinding }) =>
    told(
      groth16.commitments.checkSum(
        bytes(basis),
        list(commitments).map(bytes),
        integers(totals),
        bytes(blinding),
      ),
    ),
};

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const request = object(parse(new TextEncoder().encode(line)));
  const answer = ANSWERS[text(request["ask"])] ?? assert.fail();
  try {
    console.log(JSON.stringify(answer(request)));
  } catch (error) {
    if (!(error instanceof ZenError)) throw error;
    console.log(JSON.stringify({ code: error.code, field: error.field }));
  }
}
