/** How any route is asked: with patience, and page by page. */

import { clock } from "./clock.ts";
import { ApiError, ClientError, UnreachableError } from "./errors.ts";
import { asJson, asText, isFile, requireSeconds, wrongType } from "./given.ts";
import type { Answer, Arguments, Bytes, Given, Item, Listing, Readable, Route } from "./routes.ts";

const HERE = "http://127.0.0.1:8000";
const BUSY = new Set([429, 502, 503, 504]);
const FIRST_PAUSE = 0.2;
const LONGEST_PAUSE = 5;

/**
 * `apiKey`: what the service knows the caller by; without one, public routes alone are answered. `timeoutSeconds`:
 * how long an answer may take, 60 unless given, but for requests that bring files. `retrySeconds`: how long
 * requests that may be repeated are, while the service is away or busy; 10 unless given. `fetch`: another one than
 * the platform's.
 */
export interface Options {
  baseUrl?: string | URL;
  apiKey?: string;
  timeoutSeconds?: number;
  retrySeconds?: number;
  fetch?: typeof fetch;
}

/** A request as it goes out. `repeatable`: to send it twice does what sending it once does. */
export interface Asked {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | FormData | Blob | Bytes;
  repeatable: boolean;
}

interface Reply {
  status: number;
  headers: Headers;
  content: Bytes;
}

/** What all flows build on, and every route by its name. Everything raises `ApiError` and `UnreachableError`. */
export class Calls {
  readonly #address: URL;
  readonly #headers: Record<string, string>;
  readonly #timeoutSeconds: number;
  readonly #retrySeconds: number;
  readonly #fetch: typeof fetch;

  constructor({ baseUrl = HERE, apiKey, timeoutSeconds = 60, retrySeconds = 10, ...options }: Options = {}) {
    requireSeconds("timeoutSeconds", timeoutSeconds);
    requireSeconds("retrySeconds", retrySeconds);
    this.#address = address(baseUrl);
    this.#headers = shown(apiKey);
    this.#timeoutSeconds = timeoutSeconds;
    this.#retrySeconds = retrySeconds;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** The JSON that a route answers with: `call("GET /v1/proofs/{proof_id}", { path: { proof_id } })`. */
  async call<R extends Route>(route: R, ...[given]: Arguments<R>): Promise<Answer<R>> {
    const reply = await this.#good(asked(route, given), given?.signal);
    return (reply.content.length === 0 ? undefined : parsed(reply)) as Answer<R>;
  }

  /** The items of all pages. One page is asked for at a time, when it is needed. */
  async *list<R extends Listing>(
    route: R,
    ...[given]: Arguments<R>
  ): AsyncGenerator<Item<R>, void, undefined> {
    let cursor: string | null = null;
    do {
      const { path, ...request } = asked(route, given);
      const page: unknown = parsed(
        await this.#good({ ...request, path: withCursor(path, cursor) }, given?.signal),
      );
      if (!isPage<Item<R>>(page)) throw new ApiError(200, {});
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /**
   * What a route answers with, byte by byte: files that are handed on are what their hashes and signatures say
   * only as they came.
   */
  async bytes<R extends Readable>(route: R, ...[given]: Arguments<R>): Promise<Bytes> {
    return (await this.#good(asked(route, given), given?.signal)).content;
  }

  /** The JSON of an answer to this. */
  protected async json(request: Asked, signal?: AbortSignal): Promise<unknown> {
    return parsed(await this.#good(request, signal));
  }

  /** Whether this is answered with a success. */
  protected async succeeds(request: Asked, signal?: AbortSignal): Promise<boolean> {
    return isGood((await this.#ask(request, signal)).status);
  }

  /** An answer that is read as it comes. It is asked for once, and has no time to be there. */
  protected async open(request: Asked, signal: AbortSignal): Promise<Response> {
    return this.#reaching(() => this.#fetch(...this.#sent(request, signal)), signal);
  }

  async #good(request: Asked, signal?: AbortSignal): Promise<Reply> {
    const reply = await this.#ask(request, signal);
    if (!isGood(reply.status)) throw refused(reply);
    return reply;
  }

  /** While the service is away or busy, what is repeatable is sent again; not longer than our patience. */
  async #ask(request: Asked, signal?: AbortSignal): Promise<Reply> {
    const deadline = clock.now() + (request.repeatable ? this.#retrySeconds : 0);
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      let wanted = pause * (0.5 + Math.random() / 2); // so that not all come back at once
      try {
        const reply = await this.#send(request, signal);
        wanted = Math.max(wanted, retryAfter(reply) ?? 0);
        if (!BUSY.has(reply.status) || clock.now() + wanted > deadline) return reply;
      } catch (error) {
        if (!(error instanceof UnreachableError) || clock.now() + wanted > deadline) throw error;
      }
      await clock.sleep(wanted, signal);
    }
  }

  async #send(request: Asked, signal?: AbortSignal): Promise<Reply> {
    const limits = signal ? [signal] : [];
    if (typeof request.body !== "object") limits.push(AbortSignal.timeout(1000 * this.#timeoutSeconds));
    return this.#reaching(async () => {
      const response = await this.#fetch(...this.#sent(request, AbortSignal.any(limits)));
      const content = new Uint8Array(await response.arrayBuffer());
      return { status: response.status, headers: response.headers, content };
    }, signal);
  }

  #sent({ method, path, headers, body }: Asked, signal: AbortSignal): [string, RequestInit] {
    const url = this.#address.href.replace(/\/$/, "") + path;
    return [url, { method, headers: { ...this.#headers, ...headers }, body: body ?? null, signal }];
  }

  async #reaching<T>(send: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await send();
    } catch (error) {
      signal?.throwIfAborted();
      throw new UnreachableError(`no service answers at ${this.#address.origin}`, { cause: error });
    }
  }
}

/** The request that a route is asked with. */
export function asked<R extends Route>(route: R, given?: Given<R>): Asked;
export function asked(route: string, { path: ids, query, header, body }: Loose = {}): Asked {
  const [method = "", pattern = ""] = route.split(" ");
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, ids?.[name]));
  const headers = Object.fromEntries(pairs(header));
  const search = new URLSearchParams(pairs(query)).toString();
  const repeatable = !["POST", "PATCH"].includes(method) || "Idempotency-Key" in headers;
  const request = { method, path: search ? `${path}?${search}` : path, headers, repeatable };
  if (body === undefined) return request;
  if (isSentAsItIs(body)) return { ...request, body };
  return {
    ...request,
    headers: { ...headers, "Content-Type": "application/json" },
    body: asJson(body),
  };
}

function isSentAsItIs(body: unknown): body is FormData | Blob | Bytes {
  return body instanceof FormData || isFile(body);
}

/** Ids come from elsewhere: none of them leads to another place. */
function segment(name: string, id: unknown): string {
  if (typeof id !== "string" && typeof id !== "number") throw wrongType(name, "an id, such as model.id", id);
  if (id === "" || id === "." || id === "..") throw new ClientError(`${JSON.stringify(id)} is no id`);
  return encodeURIComponent(id);
}

/** `Given`, of any route. */
interface Loose {
  path?: Readonly<Record<string, unknown>>;
  query?: object;
  header?: object;
  body?: unknown;
}

/** Names and values as addresses, headers and forms have them: a list is one of each, null is left out. */
export function pairs(values: object = {}): [string, string][] {
  return Object.entries(values).flatMap(([name, value]) =>
    [value]
      .flat()
      .flatMap((each) => (each === null || each === undefined ? [] : [[name, asText(name, each)]])),
  ) as [string, string][];
}

function withCursor(path: string, cursor: string | null): string {
  if (cursor === null) return path;
  return `${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`;
}

function isPage<T>(page: unknown): page is { items: T[]; next_cursor: string | null } {
  return isObject(page) && Array.isArray(page.items) && "next_cursor" in page;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Raises `ApiError` for what is no JSON object: every answer of the service's is one. */
function parsed(reply: Reply): unknown {
  const document = object(reply);
  if (document === null) throw refused(reply);
  return document;
}

function object({ content }: Reply): Record<string, unknown> | null {
  try {
    const document: unknown = JSON.parse(new TextDecoder().decode(content));
    return isObject(document) ? document : null;
  } catch {
    return null;
  }
}

function refused(reply: Reply): ApiError {
  return new ApiError(reply.status, object(reply) ?? {}, retryAfter(reply));
}

function retryAfter({ headers }: Reply): number | null {
  const text = headers.get("Retry-After") ?? "";
  return /^\d+$/.test(text) ? Number(text) : null;
}

/** Raises `UnreachableError`, at once: to ask again and again would not help. */
function address(baseUrl: string | URL): URL {
  if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) return new URL(baseUrl);
  throw new UnreachableError("the service cannot be reached: its address is http:// or https:// and a host");
}

/** Raises `ClientError` for what cannot be a key: sent as it is, it would turn up in an error. */
function shown(apiKey: string | undefined): Record<string, string> {
  if (apiKey === undefined) return {};
  if (typeof apiKey !== "string") throw wrongType("apiKey", "the key as a text", apiKey);
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new ClientError("the API key has spaces or signs that no key has");
  return { Authorization: `Bearer ${apiKey}` };
}
