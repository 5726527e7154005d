/** A typed client of the ZenServe API. */

export { Client, isOver } from "./client.ts";
export type { Held, Job, Once, Waiting } from "./client.ts";
export type { Options } from "./calls.ts";
export { verifyLocally } from "./local.ts";
export {
  ApiError,
  ArgumentError,
  ClientError,
  JobError,
  SignatureError,
  TimeoutError,
  UnreachableError,
} from "./errors.ts";
export type { Answer, Bytes, Given, Item, Listing, Route } from "./routes.ts";
export { verifyWebhook } from "./webhooks.ts";
export type { WebhookEvent } from "./webhooks.ts";
export type {
  CeremonyView as Ceremony,
  CommitmentView as Commitment,
  ContributionView as Contribution,
  DatasetView as Dataset,
  DryRunView as DryRun,
  Expected,
  FrameView as Frame,
  KeyFile,
  ModelView as Model,
  Problem,
  ProofDocument,
  ProofRequest,
  ProofView as Proof,
  Receipt,
  Statement,
  StreamRequest,
  StreamView as Stream,
  Verification,
} from "./schema.ts";
