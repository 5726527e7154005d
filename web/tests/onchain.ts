/** Prints what is sent to the contract for a proof: `node tests/onchain.ts PROOF KEY`. */

import { readFileSync } from "node:fs";
import { contractCalls } from "../verifier/onchain.ts";

const [proof, key] = process.argv.slice(2).map((path) => readFileSync(path));
if (proof === undefined || key === undefined) throw new Error("a proof and a key, please");
const calls = contractCalls(proof, key).map(({ args, data }) => ({
  proof: args[0],
  inputs: args[1].map(String),
  calldata: data,
}));
console.log(JSON.stringify(calls));
