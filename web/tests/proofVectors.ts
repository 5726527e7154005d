/** tests/prover/vectors: proofs, keys, openings and sums from known exponents, and what each earns. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fromHex } from "../verifier/bytes.ts";
import type { JsonObject } from "../verifier/json.ts";
import type { Claim } from "../verifier/system.ts";

interface Case {
  readonly name: string;
  readonly public_inputs: readonly string[];
  readonly commitments?: readonly string[];
  readonly proof: string;
  readonly reason: string;
}

interface Vectors {
  readonly verifying_key: JsonObject;
  readonly verifying_key_bytes: string;
  readonly cases: readonly Case[];
}

interface SegmentVectors extends Vectors {
  readonly keys: readonly { readonly name: string; readonly key: string; readonly code: string }[];
  readonly challenge: string;
  readonly commitment: { readonly h: string };
}

interface OpeningVectors {
  readonly point: string;
  readonly openings: readonly {
    readonly name: string;
    readonly identity: string;
    readonly commitment: string;
    readonly values: readonly string[];
    readonly opening: JsonObject & { readonly blinding: string };
    readonly reason: string;
  }[];
  readonly sums: readonly {
    readonly name: string;
    readonly commitments: readonly string[];
    readonly total: string;
    readonly blinding: string;
    readonly reason: string;
  }[];
}

export interface TransparentCase {
  readonly name: string;
  readonly public_inputs: readonly string[];
  readonly commitments: readonly string[];
  readonly chains: readonly string[];
  readonly proof: string;
  readonly keep: number | null;
  readonly change: Readonly<Record<string, string>>;
  readonly more: string;
  readonly reason: string;
}

/** Proofs under one key. */
export interface TransparentProofs {
  readonly verifying_key: JsonObject;
  readonly circuit: string;
  readonly proofs: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, string>>;
  readonly cases: readonly TransparentCase[];
}

interface TransparentVectors extends TransparentProofs {
  readonly key_digest: string;
  readonly long: TransparentProofs;
  readonly renewed: TransparentProofs;
  readonly circuits: readonly { readonly name: string; readonly circuit: string; readonly code: string }[];
  readonly keys: readonly { readonly name: string; readonly key: JsonObject; readonly code: string }[];
  readonly openings: readonly {
    readonly name: string;
    readonly basis: string;
    readonly commitment: string;
    readonly values: readonly string[];
    readonly opening: JsonObject;
    readonly reason: string;
  }[];
  readonly sums: readonly {
    readonly name: string;
    readonly basis: string;
    readonly commitments: readonly string[];
    readonly totals: readonly string[];
    readonly opening: string;
    readonly reason: string;
  }[];
}

function read<T>(name: string): T {
  const path = new URL(`../../tests/prover/vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf8"));
}

export const PLAIN = read<Vectors>("groth16");
export const SEGMENTS = read<SegmentVectors>("segments");
export const OPENINGS = read<OpeningVectors>("openings");
export const TRANSPARENT = read<TransparentVectors>("transparent");

export function bytes(text: string): Uint8Array {
  return fromHex(text) ?? assert.fail(`${text} is not hex`);
}

export function claimOf({ public_inputs, commitments = [], proof }: Case): Claim {
  return {
    publicInputs: public_inputs.map(BigInt),
    proof: bytes(proof),
    commitments: commitments.map(bytes),
  };
}
