/**
 * The API from TypeScript, in browsers and in Node: what people do with it; every other route by its name (`calls`).
 *
 * Bodies and answers are as docs/api.md has them; the service's lists of errors, states and fields are in the types.
 */

import { asked, Calls, pairs, type Asked } from "./calls.ts";
import { clock } from "./clock.ts";
import { ClientError, JobError, TimeoutError, UnreachableError } from "./errors.ts";
import { events, type Event } from "./events.ts";
import { isFile, requireBytes, requireFields, requireFile, requireJob, requireSeconds } from "./given.ts";
import type { Bytes } from "./routes.ts";
import type {
  CeremonyView,
  CommitmentRequest,
  CommitmentView,
  ContributionView,
  CreateDatasetForm,
  CreateModelForm,
  DatasetView,
  DryRunView,
  Expected,
  FrameView,
  ModelView,
  ProofRequest,
  ProofView,
  StreamRequest,
  StreamView,
  Verification,
} from "./schema.ts";

export type Job = ModelView | DatasetView | ProofView | StreamView | CeremonyView | ContributionView;

/** `idempotencyKey`: one request's, however often it is sent; a fresh one unless given. */
export interface Once {
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** `onProgress` is called with the job whenever it changes. */
export interface Waiting<J> {
  timeoutSeconds?: number;
  signal?: AbortSignal;
  onProgress?: (job: J) => void;
}

/** What `verify` may hold a document against: bytes are files as they were handed on. */
export interface Held {
  key?: Uint8Array;
  expected?: Expected;
  registration?: Uint8Array;
  registrationKey?: Uint8Array;
  signal?: AbortSignal;
}

const PLACES: Readonly<Record<string, string>> = {
  mdl: "models",
  dst: "datasets",
  prf: "proofs",
  str: "streams",
  cer: "ceremonies",
  ctb: "contributions",
};
/** Larger files are uploaded ahead of the request, under their hash: none of them twice. */
const LARGE_FILE_BYTES = 8 << 20;
/** Fields of forms that are files. */
const FILES = ["model", "calibration", "calibration_labels", "samples", "labels", "targets"];
const FIRST_POLL = 0.2;
const SLOWEST_POLL = 2;
/** The service sends a comment every 15 seconds where there is nothing else to say. */
const SILENCE = 20;

export class Client extends Calls {
  /** Register a network: an ONNX file and typical inputs. */
  createModel(form: CreateModelForm, once: Once = {}): Promise<ModelView> {
    return this.#submitFiles("POST /v1/models", form, once);
  }

  /** Add labelled samples for a model. */
  createDataset(form: CreateDatasetForm, once: Once = {}): Promise<DatasetView> {
    return this.#submitFiles("POST /v1/datasets", form, once);
  }

  /** Commit to an input of a model, or to the embedding of one. */
  createCommitment(body: CommitmentRequest, { signal, ...once }: Once = {}): Promise<CommitmentView> {
    return this.call("POST /v1/commitments", { body, header: idempotent(once), ...(signal && { signal }) });
  }

  /** Ask for a proof. */
  async createProof(body: ProofRequest, { signal, ...once }: Once = {}): Promise<ProofView> {
    const request = asked("POST /v1/proofs", { body, header: idempotent(once) });
    return (await this.json(request, signal)) as ProofView;
  }

  /** What a proof would show and take, and whether it could be made, without making it. */
  async dryRun(body: ProofRequest, signal?: AbortSignal): Promise<DryRunView> {
    const request = asked("POST /v1/proofs", { body, header: { prefer: "dry-run" } });
    return (await this.json({ ...request, repeatable: true }, signal)) as DryRunView;
  }

  /** Open a stream over a bank of models. It takes frames once it has `begun_at`. */
  createStream(body: StreamRequest, { signal, ...once }: Once = {}): Promise<StreamView> {
    return this.call("POST /v1/streams", { body, header: idempotent(once), ...(signal && { signal }) });
  }

  /** Hand in the next frame. Handed in again it is the same one: so it is sent again where the backlog is full. */
  async addFrame(
    streamId: string,
    number: number,
    input: unknown[],
    signal?: AbortSignal,
  ): Promise<FrameView> {
    const given = { path: { stream_id: streamId }, body: { number, input } };
    const request = asked("POST /v1/streams/{stream_id}/frames", given);
    return (await this.json({ ...request, repeatable: true }, signal)) as FrameView;
  }

  /**
   * Each frame once it is over, in order, until the stream is: all of them, or those after the one of this number.
   * Where something breaks the connection, it goes on where it was.
   */
  async *followFrames(
    streamId: string,
    { after, signal }: { after?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<FrameView, void, undefined> {
    const path = { stream_id: streamId };
    for (;;) {
      const stream = await this.call("GET /v1/streams/{stream_id}", { path, ...(signal && { signal }) });
      for await (const { type, data } of this.#events(stream, after, signal)) {
        if (type === "end") return;
        if (type !== "frame") continue;
        const frame = JSON.parse(data) as FrameView;
        yield frame;
        after = frame.number;
      }
      await clock.sleep(FIRST_POLL, signal);
    }
  }

  /** The model, dataset, proof or ceremony as it is now. */
  async refresh<J extends Job>(job: J, signal?: AbortSignal): Promise<J> {
    return (await this.json(about(job, "GET"), signal)) as J;
  }

  /** Once it is over. Raises `JobError` and `TimeoutError`, after ten minutes unless told otherwise; it goes on. */
  async wait<J extends Job>(job: J, { onProgress, ...waiting }: Waiting<J> = {}): Promise<J> {
    for await (const seen of this.follow(job, { timeoutSeconds: 600, ...waiting })) {
      job = seen;
      onProgress?.(job);
    }
    if (job.state !== "succeeded") throw new JobError(job.id, job.state, job.problem);
    return job;
  }

  /**
   * The job as it changes, until it is over. The service tells of changes as they happen. Where it does not, or
   * something between breaks the stream, it is asked again and again. Raises `TimeoutError`; the job goes on.
   */
  async *follow<J extends Job>(
    job: J,
    { timeoutSeconds = Infinity, signal }: Omit<Waiting<J>, "onProgress"> = {},
  ): AsyncGenerator<J, void, undefined> {
    requireJob(job);
    requireSeconds("timeoutSeconds", timeoutSeconds);
    const deadline = clock.now() + timeoutSeconds;
    let streams = true;
    let pause = FIRST_POLL;
    yield job;
    while (!isOver(job)) {
      const left = deadline - clock.now();
      if (left <= 0) throw new TimeoutError(`${job.id} is still not over after ${timeoutSeconds} seconds`);
      // A stream may be silent for as long, and only then is the deadline looked at.
      if (streams && left > SILENCE) {
        const listening = this.#listen(job, deadline, signal);
        for (;;) {
          const { done, value } = await listening.next();
          if (done) {
            streams = value;
            break;
          }
          yield (job = value);
        }
        if (isOver(job)) return;
      }
      await clock.sleep(Math.min(pause, left), signal);
      pause = Math.min(1.2 * pause, SLOWEST_POLL);
      const seen = await this.refresh(job, signal);
      if (!same(seen, job)) yield (job = seen);
    }
  }

  /** Stop a job that is queued or running. Canceling again is no error. */
  async cancel<J extends Job>(job: J, signal?: AbortSignal): Promise<J> {
    return (await this.json({ ...about(job, "POST", "/cancel"), repeatable: true }, signal)) as J;
  }

  /** Take a job up again that failed, while its input is still kept. */
  async retry<J extends ModelView | DatasetView | ProofView | StreamView>(
    job: J,
    signal?: AbortSignal,
  ): Promise<J> {
    return (await this.json(about(job, "POST", "/retry"), signal)) as J;
  }

  /** The portable proof: a file, to be handed on as it is. */
  getProofDocument(proofId: string): Promise<Bytes> {
    return this.bytes("GET /v1/proofs/{proof_id}/proof", { path: { proof_id: proofId } });
  }

  /** The key file: the key, and what it proves. */
  getVerificationKey(keyId: string): Promise<Bytes> {
    return this.bytes("GET /v1/verification-keys/{key_id}", { path: { key_id: keyId } });
  }

  /** The service's verdict on a proof document. Who does not trust the service uses `verifyLocally`. */
  async verify(document: Uint8Array, { expected, signal, ...held }: Held = {}): Promise<Verification> {
    requireBytes("document", document);
    const files = {
      proof: document,
      verification_key: held.key,
      registration: held.registration,
      registration_key: held.registrationKey,
    };
    // As they came: parsed and written again, numbers could be others.
    const parts = Object.entries(files).flatMap(([name, file]) =>
      file ? [`"${name}":${jsonOf(file, name)}`] : [],
    );
    const body = `{${[...parts, `"expected":${JSON.stringify(expected ?? {})}`].join(",")}}`;
    const headers = { "Content-Type": "application/json" };
    const request = { method: "POST", path: "/v1/verify", headers, body, repeatable: true };
    return (await this.json(request, signal)) as Verification;
  }

  /** Bring a file, unless the service has it: its SHA-256, by which later requests may name it. */
  async upload(file: Blob | Bytes, signal?: AbortSignal): Promise<string> {
    requireFile("file", file);
    const content = file instanceof Blob ? new Uint8Array(await file.arrayBuffer()) : file;
    const sha256 = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", content)));
    const path = { sha256 };
    if (!(await this.succeeds(asked("HEAD /v1/uploads/{sha256}", { path }), signal))) {
      await this.json(asked("PUT /v1/uploads/{sha256}", { path, body: content }), signal);
    }
    return sha256;
  }

  /** Whether the service answers and can do its work. It is asked once. */
  async isReady(signal?: AbortSignal): Promise<boolean> {
    try {
      return await this.succeeds({ ...asked("GET /readyz"), repeatable: false }, signal);
    } catch (error) {
      if (error instanceof UnreachableError) return false;
      throw error;
    }
  }

  async #submitFiles<J extends Job>(
    route: "POST /v1/models" | "POST /v1/datasets",
    fields: CreateModelForm | CreateDatasetForm,
    { signal, ...once }: Once,
  ): Promise<J> {
    requireFields("form", fields);
    for (const name of FILES) {
      const file: unknown = Object.entries(fields).find(([each]) => each === name)?.[1];
      if (file !== undefined && file !== null) requireFile(name, file);
    }
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) {
      if (!isFile(value)) {
        for (const [, each] of pairs({ [name]: value })) body.append(name, each);
      } else if ((value instanceof Blob ? value.size : value.byteLength) > LARGE_FILE_BYTES) {
        body.append(`${name}_sha256`, await this.upload(value, signal));
      } else {
        body.append(name, new Blob([value]), name);
      }
    }
    return (await this.json(asked(route, { body, header: idempotent(once) }), signal)) as J;
  }

  /** What one connection tells: the job as it changes, and at last whether to listen again. */
  async *#listen<J extends Job>(job: J, deadline: number, signal?: AbortSignal): AsyncGenerator<J, boolean> {
    const heard = this.#events(job, job.revision, signal);
    try {
      for (;;) {
        const { done, value } = await heard.next();
        if (done) return value;
        if (value.type === "progress" || value.type === "end") {
          const seen = JSON.parse(value.data) as J;
          if (seen.id !== job.id) return false;
          if (!same(seen, job)) yield (job = seen);
        }
        if (isOver(job) || clock.now() >= deadline) return true;
      }
    } catch (error) {
      if (error instanceof SyntaxError) return false; // events of something else
      throw error;
    } finally {
      await heard.return(true);
    }
  }

  /** What one connection tells, after the event of this number, and at last whether to listen again. */
  async *#events(job: Job, after: number | undefined, signal?: AbortSignal): AsyncGenerator<Event, boolean> {
    const over = new AbortController();
    const last = after === undefined ? {} : { "Last-Event-ID": String(after) };
    try {
      const response = await this.open(
        { ...about(job, "GET", "/events"), headers: { Accept: "text/event-stream", ...last } },
        AbortSignal.any([over.signal, ...(signal ? [signal] : [])]),
      );
      if (!response.body || !isStream(response)) return false;
      yield* events(response.body, SILENCE);
      return true;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof UnreachableError) return true;
      throw error;
    } finally {
      over.abort();
    }
  }
}

export function isOver(job: Job): boolean {
  return job.state === "succeeded" || job.state === "failed" || job.state === "canceled";
}

function about(job: Job, method: string, end = ""): Asked {
  requireJob(job);
  const place = PLACES[job.id.slice(0, 3)];
  if (place === undefined) throw new ClientError(`${job.id} is no job that can be followed`);
  const path = `/v1/${place}/${encodeURIComponent(job.id)}${end}`;
  return { method, path, headers: {}, repeatable: method === "GET" };
}

function same(one: Job, other: Job): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isStream(response: Response): boolean {
  return response.ok && (response.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
}

function idempotent({ idempotencyKey }: Once): { "Idempotency-Key": string } {
  return { "Idempotency-Key": idempotencyKey ?? hex(crypto.getRandomValues(new Uint8Array(16))) };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The text of a JSON file. Raises `ClientError` where it is none, or more than one value. */
function jsonOf(file: Uint8Array, name: string): string {
  requireBytes(name, file);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(file);
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new ClientError(`${name} is no JSON file`, { cause: error });
  }
}
