/** The verifier, as the npm package has it: `verify`, and what it says. */

export { ZenError } from "./errors.ts";
export type { JsonSource } from "./json.ts";
export { verify } from "./verify.ts";
export type { Given, Pins } from "./verify.ts";
export { contractCalls, VERIFIER_ABI } from "./onchain.ts";
export type { ContractCall } from "./onchain.ts";
export type { Verification } from "./judging.ts";
export type { ReceiptVerification } from "./receipts.ts";
export type { StreamVerification } from "./stream.ts";
export type { KeyReference, Receipt, Statement } from "./documents.ts";
