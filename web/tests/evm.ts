/**
 * Contracts compiled by solc, deployed and called in @ethereumjs/evm: `node tests/evm.ts JOB`.
 *
 * A job: `{"sources": {file: Solidity}, "hardfork": name, "steps": [Step]}`. A step deploys a contract or calls the one
 * that an earlier step made; `{N}` in its arguments is the address that step N made, 40 digits. The answers, in order:
 * `{"returned": hex, "error": name or null, "gas": number, "created": address, "bytes": of code, "balance": of the caller}`.
 * A view that is `measured` is called twice and the second one's gas is told: `runCall` takes precompiles for cold at the
 * first, which no transaction does.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createEVM } from "@ethereumjs/evm";
import { Account, bytesToHex, createAddressFromString, hexToBytes, type Address } from "@ethereumjs/util";

interface Step {
  /** The contract to deploy, `file:name`, or the number of the step that made the one to call. */
  readonly to: string | number;
  /** Its arguments or its calldata, hex. */
  readonly data: string;
  readonly from?: string;
  readonly value?: number;
  readonly measured?: boolean;
  readonly gas: number;
}

interface Job {
  readonly sources: Readonly<Record<string, string>>;
  readonly hardfork: Hardfork;
  readonly steps: readonly Step[];
}

const require = createRequire(import.meta.url);
const solc = require("solc") as { compile(input: string): string };
const { keccak_256 } = require("js-sha3") as { keccak_256(text: string): string };

const RICH = 10n ** 18n;

const [path] = process.argv.slice(2);
const job = JSON.parse(readFileSync(String(path), "utf8")) as Job;
const { codes, errors } = compiled(job);
const evm = await createEVM({ common: new Common({ chain: Mainnet, hardfork: job.hardfork }) });
const made: string[] = [];
const answers = [];
for (const step of job.steps) answers.push(await taken(step));
console.log(JSON.stringify(answers));

function compiled({ sources }: Job): { codes: Record<string, string>; errors: Map<string, string> } {
  const settings = {
    evmVersion: "prague",
    optimizer: { enabled: true, runs: 1000 },
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
  };
  const contents = Object.fromEntries(Object.entries(sources).map(([file, content]) => [file, { content }]));
  const output = JSON.parse(
    solc.compile(JSON.stringify({ language: "Solidity", sources: contents, settings })),
  );
  // Warnings about our own contracts are errors; others' pragmas and licences are theirs.
  const serious = (output.errors ?? []).filter(
    ({ severity, formattedMessage }: Record<string, string>) =>
      severity === "error" || formattedMessage?.includes("ZenServe"),
  );
  if (serious.length > 0) throw new Error(JSON.stringify(serious));
  const found = { codes: {} as Record<string, string>, errors: new Map<string, string>() };
  for (const [file, contracts] of Object.entries<Record<string, any>>(output.contracts)) {
    for (const [name, { abi, evm }] of Object.entries(contracts)) {
      found.codes[`${file}:${name}`] = evm.bytecode.object;
      for (const each of abi.filter(({ type }: { type: string }) => type === "error")) {
        const types = each.inputs.map(({ type }: { type: string }) => type).join();
        found.errors.set(keccak_256(`${each.name}(${types})`).slice(0, 8), each.name);
      }
    }
  }
  return found;
}

async function taken(step: Step): Promise<object> {
  const caller = createAddressFromString(`0x${step.from ?? "22".repeat(20)}`);
  await enriched(caller);
  const before = await balance(caller);
  const text = step.data.replace(/\{(\d+)\}/g, (_, index: string) => made[Number(index)]?.slice(2) ?? "");
  const isNew = typeof step.to === "string";
  const message = {
    caller,
    origin: caller,
    data: hexToBytes(`0x${isNew ? `${codes[step.to]}${text}` : text}`),
    value: BigInt(step.value ?? 0),
    gasLimit: BigInt(step.gas),
    ...(isNew ? {} : { to: createAddressFromString(made[step.to] ?? "") }),
  };
  if (step.measured) await evm.runCall(message);
  const { execResult, createdAddress } = await evm.runCall(message);
  made.push(createdAddress?.toString() ?? "");
  const returned = bytesToHex(execResult.returnValue).slice(2);
  const failure = execResult.exceptionError?.error;
  return {
    returned: isNew ? "" : returned,
    error: failure === undefined ? null : (errors.get(returned.slice(0, 8)) ?? failure),
    gas: Number(execResult.executionGasUsed),
    created: made.at(-1),
    bytes: isNew ? execResult.returnValue.length : 0,
    gained: Number((await balance(caller)) - before),
  };
}

async function enriched(account: Address): Promise<void> {
  if (!(await evm.stateManager.getAccount(account))) {
    await evm.stateManager.putAccount(account, new Account(0n, RICH));
  }
}

async function balance(account: Address): Promise<bigint> {
  return (await evm.stateManager.getAccount(account))?.balance ?? 0n;
}
