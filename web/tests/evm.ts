/**
 * Contracts compiled by solc and called in @ethereumjs/evm: `node tests/evm.ts < JOB > ANSWERS`.
 *
 * A job: `{"source": Solidity, "contract": name, "hardfork": name, "calls": [{"proof": hex, "inputs": [decimal]}]}`.
 * The answers: `{"bytes": of code, "calls": [{"valid": true, false or null, "error": name or null, "gas": number}]}`.
 * Each call is made twice and the second one's gas is told, as a transaction of its own would pay: `runCall` takes
 * precompiles for cold at the first.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createEVM } from "@ethereumjs/evm";
import { bytesToHex, createAddressFromString, hexToBytes } from "@ethereumjs/util";

interface Call {
  readonly proof: string;
  readonly inputs: readonly string[];
}

interface Job {
  readonly source: string;
  readonly contract: string;
  readonly hardfork: Hardfork;
  readonly calls: readonly Call[];
}

const require = createRequire(import.meta.url);
const solc = require("solc") as { compile(input: string): string };
const { keccak_256 } = require("js-sha3") as { keccak_256(text: string): string };

const ADDRESS = createAddressFromString(`0x${"11".repeat(20)}`);
const GAS_LIMIT = 14_000_000n;
const WORD = 32;

function compiled(job: Job): { code: string; errors: ReadonlyMap<string, string> } {
  const settings = {
    evmVersion: "prague",
    optimizer: { enabled: true, runs: 1000 },
    outputSelection: { "*": { "*": ["abi", "evm.deployedBytecode.object"] } },
  };
  const sources = { "contract.sol": { content: job.source } };
  const output = JSON.parse(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })));
  if (output.errors) throw new Error(JSON.stringify(output.errors));
  const { abi, evm } = output.contracts["contract.sol"][job.contract];
  const errors = abi
    .filter(({ type }: { type: string }) => type === "error")
    .map(({ name, inputs }: { name: string; inputs: { type: string }[] }) => {
      const signature = `${name}(${inputs.map(({ type }) => type).join()})`;
      return [keccak_256(signature).slice(0, 8), name];
    });
  return { code: evm.deployedBytecode.object, errors: new Map(errors) };
}

function word(value: bigint | number): string {
  return BigInt.asUintN(256, BigInt(value))
    .toString(16)
    .padStart(2 * WORD, "0");
}

/** `verify(bytes,uint256[])` of these. */
function encoded({ proof, inputs }: Call): string {
  const length = proof.length / 2;
  const padded = Math.ceil(length / WORD) * WORD;
  const head = word(2 * WORD) + word(3 * WORD + padded) + word(length) + proof.padEnd(2 * padded, "0");
  return `0x${keccak_256("verify(bytes,uint256[])").slice(0, 8)}${head}${word(inputs.length)}${inputs.map((each) => word(BigInt(each))).join("")}`;
}

const job = JSON.parse(readFileSync(0, "utf8")) as Job;
const { code, errors } = compiled(job);
const evm = await createEVM({ common: new Common({ chain: Mainnet, hardfork: job.hardfork }) });
await evm.stateManager.putCode(ADDRESS, hexToBytes(`0x${code}`));
const answers = [];
for (const call of job.calls) {
  const data = hexToBytes(encoded(call) as `0x${string}`);
  await evm.runCall({ to: ADDRESS, data, gasLimit: GAS_LIMIT });
  const { execResult } = await evm.runCall({ to: ADDRESS, data, gasLimit: GAS_LIMIT });
  const returned = bytesToHex(execResult.returnValue).slice(2);
  const failed = execResult.exceptionError !== undefined;
  const zeros = data.filter((byte) => byte === 0).length;
  answers.push({
    valid: failed ? null : BigInt(`0x${returned}`) === 1n,
    error: failed ? (errors.get(returned.slice(0, 8)) ?? execResult.exceptionError?.error) : null,
    gas: Number(execResult.executionGasUsed),
    calldata: { bytes: data.length, gas: 4 * zeros + 16 * (data.length - zeros) },
  });
}
console.log(JSON.stringify({ bytes: code.length / 2, calls: answers }));
