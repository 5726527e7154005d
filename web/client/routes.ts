/** What the API's routes take and answer, by the names that its documentation has: `GET /v1/proofs/{proof_id}`. */

import type { Routes } from "./schema.ts";

export type Route = keyof Routes;

/** The bytes of a file. */
export type Bytes = Uint8Array<ArrayBuffer>;

type Parameters<R extends Route, Place extends "path" | "query" | "header"> = Routes[R]["parameters"][Place];

type Requested<R extends Route> = Exclude<Routes[R]["requestBody"], undefined>;

type Body<R extends Route> = [Requested<R>] extends [never]
  ? undefined
  : Requested<R> extends { content: { "application/json": infer Document } }
    ? Document
    : Requested<R> extends { content: { "multipart/form-data": unknown } }
      ? FormData
      : Blob | Bytes;

/** A part of a request: not there, to be left out, or to be given. */
type Part<Name extends string, T> = [T] extends [undefined]
  ? unknown
  : undefined extends T
    ? { [name in Name]?: T }
    : { [name in Name]: T };

/** All that a request says beside its route. */
export type Given<R extends Route> = Part<"path", Parameters<R, "path">> &
  Part<"query", Parameters<R, "query">> &
  Part<"header", Parameters<R, "header">> &
  Part<"body", Body<R>> & { signal?: AbortSignal };

/** `Given`, that may be left out where all of its parts may. */
export type Arguments<R extends Route> = object extends Given<R> ? [given?: Given<R>] : [given: Given<R>];

type Answered<R extends Route> = Routes[R]["responses"][keyof Routes[R]["responses"]];

/** The JSON of a route's answer; undefined where it answers with something else, or with nothing. */
export type Answer<R extends Route> =
  Answered<R> extends { content: { "application/json": infer Document } } ? Document : undefined;

/** What answers in pages, and what is on them. */
export type Listing = { [R in Route]: Answer<R> extends { next_cursor: unknown } ? R : never }[Route];
export type Item<R extends Listing> = Answer<R> extends { items: (infer Each)[] } ? Each : never;

/** What can be fetched as it is. */
export type Readable = Extract<Route, `GET ${string}`>;
