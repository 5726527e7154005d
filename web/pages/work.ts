/** One verification, away from the page: in a worker made of the page's own script, or where there is none. */

import { verify, ZenError } from "../verifier/index.ts";
import type { ReceiptVerification, StreamVerification, Verification } from "../verifier/index.ts";
import type { Role } from "./files.ts";
import { agreed, applying, readPolicy } from "./pins.ts";
import type { Applying, DocumentKind, Pins } from "./pins.ts";

/** `entered`: what the reader says to know. */
export interface Task {
  readonly kind: DocumentKind;
  readonly parts: readonly (readonly [Role, Blob])[];
  readonly entered: Pins;
}

/** `about`: which of what was given is at fault, a `Role` or a pin; null where that is not known. */
export interface Trouble {
  readonly code: string;
  readonly message: string;
  readonly about: string | null;
}

/** A verdict, and what was compared for it. */
export interface Judged extends Applying {
  readonly verdict: Verification | ReceiptVerification | StreamVerification;
}

export type Answer = Judged | { readonly trouble: Trouble };

/** How many of a document's proofs are judged, of how many. */
export interface Progress {
  readonly judged: number;
  readonly of: number;
}
type Hear = (progress: Progress) => void;

/** The parts of streams that have several files. */
type Several = "keys" | "circuits";

/** What a worker says first: it started. */
const READY = "ready";

/** The verdict, or why there is none. Never throws. */
async function perform(task: Task, hear: Hear): Promise<Answer> {
  try {
    const bytes: Partial<Record<Exclude<Role, Several>, Uint8Array>> = {};
    const several: Record<Several, Uint8Array[]> = { keys: [], circuits: [] };
    for (const [role, content] of task.parts) {
      const read = new Uint8Array(await content.arrayBuffer());
      if (role === "keys" || role === "circuits") several[role].push(read);
      else bytes[role] = read;
    }
    const { document, policy, ...beside } = bytes;
    if (!document) throw new TypeError("there is nothing to verify");
    const known = policy ? agreed(readPolicy(policy), task.entered) : task.entered;
    const { pins, idle } = applying(known, task.kind);
    if (policy && Object.keys(pins).length === 0) {
      throw new ZenError("request.invalid", `The policy says nothing of a ${task.kind}.`, null, "policy");
    }
    const { issuer, ...expected } = pins;
    const told = issuer === undefined ? { expected } : { expected, issuer: String(issuer) };
    const progress = (judged: number, of: number): void => hear({ judged, of });
    const own = task.kind === "stream" ? { ...several, progress } : beside;
    return { verdict: await verify({ document, ...own, ...told }), pins, idle };
  } catch (error) {
    return { trouble: troubleOf(error) };
  }
}

function troubleOf(error: unknown): Trouble {
  if (error instanceof ZenError) return { code: error.code, message: error.message, about: error.about };
  return { code: "internal", message: String(error), about: null };
}

/** Answers each task that the worker is sent. */
export function serve(): void {
  addEventListener("message", async ({ data }: MessageEvent<Task>) =>
    postMessage(await perform(data, (progress) => postMessage(progress))),
  );
  postMessage(READY);
}

/** Of the worker's script, once there was one. */
let address: string | undefined;

/** A task under way: `answer` never comes once it is `stop`ped. */
export interface Running {
  readonly answer: Promise<Answer>;
  readonly stop: (() => void) | null;
}

/** `script`: this very program, which begins with `serve` in a worker; `hear`: of its progress. */
export function begin(task: Task, script: string, hear: Hear): Running {
  address ??= URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  try {
    const worker = new Worker(address);
    return { answer: answerOf(worker, task, hear), stop: () => worker.terminate() };
  } catch {
    return { answer: performHere(task, hear), stop: null };
  }
}

/** Once the browser had the time to show that it begins. */
function performHere(task: Task, hear: Hear): Promise<Answer> {
  return new Promise((resolve) => setTimeout(() => resolve(perform(task, hear)), 50));
}

function answerOf(worker: Worker, task: Task, hear: Hear): Promise<Answer> {
  return new Promise((resolve) => {
    let isReady = false;
    worker.addEventListener("message", (event: MessageEvent<Answer | Progress | typeof READY>) => {
      if (event.data === READY) {
        isReady = true;
        worker.postMessage(task);
      } else if ("judged" in event.data) {
        hear(event.data);
      } else {
        worker.terminate();
        resolve(event.data);
      }
    });
    worker.addEventListener("error", (event) => {
      worker.terminate();
      // Some browsers tell only now that a page from a file may have no worker.
      if (!isReady) resolve(performHere(task, hear));
      else resolve({ trouble: { code: "internal", message: event.message, about: null } });
    });
  });
}
