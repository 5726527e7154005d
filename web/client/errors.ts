/**
 * What can go wrong.
 *
 * ClientError
 * ├── ArgumentError       an argument is of a wrong type; nothing was sent
 * ├── UnreachableError    no service answers at the address
 * ├── ApiError            the service answered with a problem document
 * ├── JobError            a job that was waited for failed or was canceled
 * ├── TimeoutError        a job that was waited for goes on
 * └── SignatureError      a webhook's message that the service did not sign, or not lately
 */

import type { Problem } from "./schema.ts";

/** Base of the tree; its text is fit to show to a user. */
export class ClientError extends Error {
  override name = "ClientError";
}

/** An argument is of a wrong type, and nothing was sent. `argument`: its name. */
export class ArgumentError extends ClientError {
  override name = "ArgumentError";
  readonly argument: string;

  constructor(argument: string, message: string) {
    super(message);
    this.argument = argument;
  }
}

/** No service answers at the address. */
export class UnreachableError extends ClientError {
  override name = "UnreachableError";
}

/**
 * A problem document (RFC 9457). `code` is stable; `field` names the offending input, if any. `requestId` is what
 * to quote to the operator; `retryAfter`: seconds after which to try again, where the service is busy or a quota
 * is used up.
 */
export class ApiError extends ClientError {
  override name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly field: string | null;
  readonly requestId: string | null;
  readonly retryAfter: number | null;

  constructor(status: number, problem: Partial<Problem>, retryAfter: number | null = null) {
    const { code = "unknown", detail = `the answer, ${status}, is not one of ZenServe` } = problem;
    super(`${detail} [${code}]`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.field = problem.field ?? null;
    this.requestId = problem.request_id ?? null;
    this.retryAfter = retryAfter;
  }
}

/** A job ended without a result. `state` is `failed` or `canceled`. */
export class JobError extends ClientError {
  override name = "JobError";
  readonly jobId: string;
  readonly state: string;
  readonly code: string;

  constructor(jobId: string, state: string, problem: { code: string; detail: string } | null) {
    const { code = state, detail = `${jobId} was ${state}` } = problem ?? {};
    super(`${detail} [${code}]`);
    this.jobId = jobId;
    this.state = state;
    this.code = code;
  }
}

/** The time to wait for a job is over; the job is not. */
export class TimeoutError extends ClientError {
  override name = "TimeoutError";
}

/** A webhook's message is not one that the service signed, or an old one. Not to be acted on. */
export class SignatureError extends ClientError {
  override name = "SignatureError";
}
