/**
 * Contracts compiled by solc and called in @ethereumjs/evm: `node tests/evm.ts JOB`.
 *
 * A job: `{"source": Solidity, "contract": name, "hardfork": name, "calls": [calldata in hex]}`.
 * The answers: `{"bytes": of code, "calls": [{"returned": hex, "error": name or null, "gas": number}]}`. Each call is made
 * twice and the second one's gas is told: `runCall` takes precompiles for cold at the first, which no transaction does.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createEVM } from "@ethereumjs/evm";
import { bytesToHex, createAddressFromString, hexToBytes } from "@ethereumjs/util";

interface Job {
  readonly source: string;
  readonly contract: string;
  readonly hardfork: Hardfork;
  readonly calls: readonly string[];
}

interface Compiled {
  readonly code: string;
  /** Names of errors by their selectors. */
  readonly errors: ReadonlyMap<string, string>;
}

const require = createRequire(import.meta.url);
const solc = require("solc") as { compile(input: string): string };
const { keccak_256 } = require("js-sha3") as { keccak_256(text: string): string };

const ADDRESS = createAddressFromString(`0x${"11".repeat(20)}`);
const GAS_LIMIT = 14_000_000n;

function compiled({ source, contract }: Job): Compiled {
  const settings = {
    evmVersion: "prague",
    optimizer: { enabled: true, runs: 1000 },
    outputSelection: { "*": { "*": ["abi", "evm.deployedBytecode.object"] } },
  };
  const sources = { "contract.sol": { content: source } };
  const output = JSON.parse(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })));
  if (output.errors) throw new Error(JSON.stringify(output.errors));
  const { abi, evm } = output.contracts["contract.sol"][contract];
  const errors = abi
    .filter(({ type }: { type: string }) => type === "error")
    .map(({ name, inputs }: { name: string; inputs: { type: string }[] }) => {
      const signature = `${name}(${inputs.map(({ type }) => type).join()})`;
      return [keccak_256(signature).slice(0, 8), name];
    });
  return { code: evm.deployedBytecode.object, errors: new Map(errors) };
}

const [path] = process.argv.slice(2);
const job = JSON.parse(readFileSync(String(path), "utf8")) as Job;
const { code, errors } = compiled(job);
const evm = await createEVM({ common: new Common({ chain: Mainnet, hardfork: job.hardfork }) });
await evm.stateManager.putCode(ADDRESS, hexToBytes(`0x${code}`));
const calls = [];
for (const call of job.calls) {
  const message = { to: ADDRESS, data: hexToBytes(`0x${call}`), gasLimit: GAS_LIMIT };
  await evm.runCall(message);
  const { execResult } = await evm.runCall(message);
  const returned = bytesToHex(execResult.returnValue).slice(2);
  const failure = execResult.exceptionError?.error;
  const error = failure === undefined ? null : (errors.get(returned.slice(0, 8)) ?? failure);
  calls.push({ returned, error, gas: Number(execResult.executionGasUsed) });
}
console.log(JSON.stringify({ bytes: code.length / 2, calls }));
