/** Keys of transparent proofs: which circuit, and under which code. Nobody makes them: everybody can. */

import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { hex } from "../bytes.ts";
import { asList, checkHeader, fromHex } from "../document.ts";
import { ZenError } from "../errors.ts";
import { canonical } from "../json.ts";
import type { Json, JsonObject } from "../json.ts";
import { TRANSPARENT } from "../system.ts";
import type { VerifyingKey } from "../system.ts";
import { requireSure, shapeOf } from "./admission.ts";
import { Code, LOG_BLOWUP } from "./code.ts";
import { Rows } from "./commitment.ts";
import { ofChains, terms } from "./ledger.ts";
import type { Shape, Sizes } from "./shape.ts";

const HEADER = { format: "zenserve transparent key", version: 2, setup: TRANSPARENT };
const MOST = 2 ** 40;
const DIGEST_BYTES = 32;

/**
 * `circuit`: the constraint system's digest; `sizes`: its own; `shape`: of proofs; `rows`: of the commitments that
 * segments are linked to, null where none is.
 */
export class SpartanKey implements VerifyingKey {
  readonly setup = TRANSPARENT;
  readonly digest: Uint8Array;
  readonly circuit: Uint8Array;
  readonly sizes: Sizes;
  readonly shape: Shape;
  readonly rows: Rows | null;

  /** Throws `ZenError` (`file.json`) for another spelling, and for numbers that make no sound proofs. */
  constructor(document: JsonObject) {
    checkHeader(document, "a key", HEADER);
    const number = (name: string): number => natural(document[name], name);
    this.sizes = {
      public: number("public"),
      challenges: number("challenges"),
      segments: segmentsOf(document["segments"]),
      private: number("private"),
      rows: number("rows"),
    };
    const logDegree = number("log_degree");
    const code = new Code(logDegree, logDegree + LOG_BLOWUP);
    this.circuit = fromHex(document["circuit"], "circuit");
    const tail = document["tail"] === null ? null : number("tail");
    this.rows = tail === null ? null : new Rows(code, tail);
    const fits = this.circuit.length === DIGEST_BYTES && (tail === null) === (this.linkedSizes.length === 0);
    const spelling = canonical({
      ...HEADER,
      ...this.sizes,
      circuit: hex(this.circuit),
      log_degree: logDegree,
      tail,
    });
    if (!fits || spelling !== canonical(document)) {
      throw new ZenError("file.json", "key: a field is unknown, missing or of no use");
    }
    this.digest = sha256(utf8ToBytes(spelling));
    try {
      this.shape = shapeOf(this.sizes, code, tail ?? 0);
      requireSure([...terms(this.shape), ...ofChains(this.shape)]);
    } catch (error) {
      if (!(error instanceof ZenError)) throw error;
      throw new ZenError("file.json", `key: ${error.message}`, error.field);
    }
  }

  get public(): number {
    return this.sizes.public;
  }

  get linkedSizes(): readonly number[] {
    return this.sizes.segments.flatMap(([size, linked]) => (linked ? [size] : []));
  }

  get basis(): Uint8Array | null {
    return this.rows?.identity ?? null;
  }
}

function segmentsOf(value: Json | undefined): [number, boolean][] {
  return asList(value, "segments").map((each, index) => {
    const [size, linked, ...more] = Array.isArray(each) ? each : [];
    if (typeof linked !== "boolean" || more.length > 0) {
      throw new ZenError("file.json", "a segment is a size and whether it is linked", "segments");
    }
    return [natural(size, `segments[${index}]`), linked];
  });
}

function natural(value: Json | undefined, field: string): number {
  if (typeof value !== "number" || value < 0 || value >= MOST) {
    throw new ZenError("file.json", `${field} must be a natural number below 2^40`, field);
  }
  return value;
}
