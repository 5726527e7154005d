/**
 * What is sent to a contract that verifies proofs (docs/onchain.md), in the form that viem takes:
 *
 *     const [call] = contractCalls(proof, key);
 *     await client.readContract({ address, ...call });      // or sendTransaction({ to, data: call.data })
 *
 * No package of Ethereum's is needed.
 */

import { concat, hex, toBigEndian } from "./bytes.ts";
import { keyFile, proofDocument, read } from "./documents.ts";
import { ZenError } from "./errors.ts";
import { groth16 } from "./groth16/system.ts";
import { decode, decoded, Refused, split } from "./groth16/proof.ts";
import type { JsonSource } from "./json.ts";
import { Case } from "./judging.ts";
import { opened } from "./keys.ts";
import { decodeG1, uncompressed, type G2 } from "./points.ts";
import { VerifyingKey } from "./groth16/verifyingKey.ts";
import { OLD_VERIFYING_KEY } from "./preamble.ts";
import type { Claim } from "./system.ts";
import { Refusal } from "./verdict.ts";

type Hex = `0x${string}`;

/** The function that verifies. */
export const VERIFIER_ABI = [
  {
    type: "function",
    name: "verify",
    stateMutability: "view",
    inputs: [
      { name: "proof", type: "bytes" },
      { name: "inputs", type: "uint256[]" },
    ],
    outputs: [{ name: "valid", type: "bool" }],
  },
] as const;
/** Of `verify(bytes,uint256[])`. */
const SELECTOR = "9649daae";
const COORDINATE_BYTES = 64;
const WORD = 32;
/** Of a contract's code (EIP-170). */
const MOST_BYTES = 24_576;
/** Of code, more than what solc makes of it: in all, and for each of these. */
const BYTES = { code: 3350, input: 140, challenge: 30, segment: 520, link: 720 };
/** From so many inputs on, places in memory and calldata may lie beyond 64 KiB: they add up to a twelfth. */
const WIDE_INPUTS = 1024;

export interface ContractCall {
  readonly abi: typeof VERIFIER_ABI;
  readonly functionName: "verify";
  readonly args: readonly [Hex, readonly bigint[]];
  /** The encoded call. */
  readonly data: Hex;
}

/**
 * One call for each proof of the document. Throws `ZenError`: `file.system` for a key that is not of Groth16,
 * `statement.contract` where the key has no contract, where the document is not about this key, or its words, numbers or
 * points are wrong. Whether its proofs hold is for the contract to say.
 */
export function contractCalls(document: JsonSource, key: JsonSource): ContractCall[] {
  const file = opened(read(keyFile, key));
  if (!(file.verifying instanceof VerifyingKey)) {
    throw new ZenError(
      "file.system",
      `this takes a key of ${groth16.id}, not of another proof system`,
      "system",
    );
  }
  requireContract(file.verifying);
  try {
    return new Case(read(proofDocument, document), file).claims().map(callOf);
  } catch (error) {
    const reason =
      error instanceof Refused ? error.verdict.reason : error instanceof Refusal ? error.reason : null;
    if (reason === null) throw error;
    throw new ZenError("statement.contract", reason, "proof");
  }
}

/** Throws where the key draws its challenges by SHA-512, or has more points than a contract has room for. */
function requireContract(key: VerifyingKey): void {
  if (key.challenges > 0 && key.kind === OLD_VERIFYING_KEY) {
    throw new ZenError(
      "statement.contract",
      "the key draws its challenges by SHA-512, for which Ethereum has no precompile: make a new key",
      "key",
    );
  }
  const narrow =
    BYTES.code +
    BYTES.input * key.ic.length +
    BYTES.challenge * key.challenges +
    BYTES.segment * key.segments.length +
    BYTES.link * key.linkedSizes.length;
  const size = key.public >= WIDE_INPUTS ? narrow + Math.floor(narrow / 12) : narrow;
  if (size > MOST_BYTES) {
    throw new ZenError(
      "statement.contract",
      `a contract has ${MOST_BYTES} bytes, and one for this key takes up to ${size}: fold the public inputs`,
      "key",
    );
  }
}

function callOf({ publicInputs, proof, commitments }: Claim): ContractCall {
  const { a, b, c, segments, knowledge, links } = decode(split(proof));
  const outside = commitments.map((data) => decoded(decodeG1, data, "commitment"));
  const inG1 = [c, ...segments, ...knowledge, ...links, ...outside].map(uncompressed);
  const points = concat(uncompressed(a), uncompressedG2(b), ...inG1);
  const padded = concat(points, new Uint8Array(-points.length & (WORD - 1)));
  const words = (numbers: readonly (number | bigint)[]): Uint8Array =>
    concat(...numbers.map((number) => toBigEndian(number, WORD)));
  const head = words([2 * WORD, 3 * WORD + padded.length, points.length]);
  const body = concat(head, padded, words([publicInputs.length, ...publicInputs]));
  return {
    abi: VERIFIER_ABI,
    functionName: "verify",
    args: [`0x${hex(points)}`, publicInputs],
    data: `0x${SELECTOR}${hex(body)}`,
  };
}

/** x's c0 and c1, then y's, each big-endian in 64 bytes. */
function uncompressedG2(point: G2): Uint8Array {
  const { x, y } = point.toAffine();
  return concat(...[x.c0, x.c1, y.c0, y.c1].map((coordinate) => toBigEndian(coordinate, COORDINATE_BYTES)));
}
