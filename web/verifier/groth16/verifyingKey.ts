/** What a verifier needs: checked on every path by which it can come into being. */

import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat, equal, hex } from "../bytes.ts";
import { affineX, GENERATOR_G1, GENERATOR_G2 } from "../curve.ts";
import { asList, checkHeader, fromHex, hexList, natural } from "../document.ts";
import { ZenError } from "../errors.ts";
import { isObject, type Json, type JsonObject } from "../json.ts";
import {
  decodeG1,
  decodeG2,
  G1_BYTES,
  G2_BYTES,
  PointError,
  withoutSign,
  type Fault,
  type G1,
  type G2,
} from "../points.ts";
import {
  checkPreamble,
  FOLDING_VERIFYING_KEY,
  OLD_VERIFYING_KEY,
  preamble,
  PREAMBLE_BYTES,
  readU32,
  startsWith,
  u32,
  VERIFYING_KEY,
  type Kind,
} from "../preamble.ts";
import { CEREMONY, type VerifyingKey as Key } from "../system.ts";
import { MOST_SEGMENTS } from "./proof.ts";

export const DEVELOPMENT = "development";
export const IMPORTED = "imported";
const LABELS: readonly string[] = [DEVELOPMENT, CEREMONY, IMPORTED];
const LABEL_BYTES = 16;
const MOST_MULTIPLE = 4;
const HASH_BYTES = 32;
const KINDS: readonly Kind[] = [OLD_VERIFYING_KEY, VERIFYING_KEY, FOLDING_VERIFYING_KEY];
const JSON_HEADER = {
  format: "zenserve verifying key",
  protocol: "groth16",
  curve: "bls12381",
} as const;

const FAULTS: Readonly<Record<Fault, string>> = {
  encoding: "its flag bits or its length are not those of a compressed point",
  not_canonical: "a coordinate is not below the field modulus",
  not_on_curve: "it is not on the curve",
  not_in_subgroup: "it is outside the subgroup of prime order",
  at_infinity: "it is the point at infinity",
};

/**
 * What verifies a proof's commitment to one segment of `size` variables. Points compressed, 96 bytes.
 *
 * `knowledgeG2` = [σ]_2; `linkG2` = [k_1]_2, [k_2]_2 where the segment is linked to a commitment from outside,
 * else null.
 */
export interface SegmentKey {
  readonly size: number;
  readonly knowledgeG2: Uint8Array;
  readonly linkG2: readonly [Uint8Array, Uint8Array] | null;
}

/** Decoded points, ready for the pairing equations. */
export interface Prepared {
  readonly alpha: G1;
  readonly beta: G2;
  readonly gamma: G2;
  readonly delta: G2;
  readonly ic: readonly G1[];
  readonly knowledge: readonly G2[];
  /** For each linked segment its index, [k_1]_2 and [k_2]_2. */
  readonly links: readonly Link[];
}

export interface Link {
  readonly place: number;
  readonly k1: G2;
  readonly k2: G2;
}

type Parts = Pick<
  VerifyingKey,
  | "setup"
  | "statementDigest"
  | "alphaG1"
  | "betaG2"
  | "gammaG2"
  | "deltaG2"
  | "ic"
  | "challenges"
  | "segments"
  | "basis"
  | "contributions"
  | "kind"
  | "folded"
>;

/**
 * Checked on construction: every point canonical, on its curve, in its subgroup, finite; no two related.
 *
 * `setup`: how the key was made, one of the labels above; `statementDigest`: 32 bytes, of the statement that
 * the key claims to be made for; `alphaG1` 48 bytes, `betaG2`, `gammaG2`, `deltaG2` 96 bytes, `ic` 1 + public +
 * challenges times 48 bytes, all compressed; `challenges`: how many of the inputs the proof itself determines;
 * `basis`: U_1 of the commitments that segments are linked to, 48 bytes, null where none is; `contributions`:
 * the hashes of a ceremony's second phase, in order; `kind`: the version of the format, which decides how
 * challenges are drawn; `folded`: how many public inputs, the last ones, the equations read through their fold alone,
 * the last of the challenges: `ic` has so many fewer. Throws `ZenError`: `file.point_*` with the field's name,
 * `file.unsafe_key`, `file.setup_label`, `file.shape`.
 */
export class VerifyingKey implements Key {
  readonly setup: string;
  readonly statementDigest: Uint8Array;
  readonly alphaG1: Uint8Array;
  readonly betaG2: Uint8Array;
  readonly gammaG2: Uint8Array;
  readonly deltaG2: Uint8Array;
  readonly ic: readonly Uint8Array[];
  readonly challenges: number;
  readonly segments: readonly SegmentKey[];
  readonly basis: Uint8Array | null;
  readonly contributions: readonly Uint8Array[];
  readonly kind: Kind;
  readonly folded: number;
  /** SHA-256 of `toBytes()`: the key's identity. 32 bytes. */
  readonly digest: Uint8Array;
  /** The key's points, decoded once. */
  readonly prepared: Prepared;

  constructor(parts: Parts) {
    this.setup = parts.setup;
    this.statementDigest = parts.statementDigest;
    this.alphaG1 = parts.alphaG1;
    this.betaG2 = parts.betaG2;
    this.gammaG2 = parts.gammaG2;
    this.deltaG2 = parts.deltaG2;
    this.ic = parts.ic;
    this.challenges = parts.challenges;
    this.segments = parts.segments;
    this.basis = parts.basis;
    this.contributions = parts.contributions;
    this.kind = parts.kind;
    this.folded = parts.folded;
    this.#checkShape();
    if (this.basis !== null) decoded(decodeG1, this.basis, "basis");
    // Decoding comes first: it gives every bad point its own name.
    this.prepared = this.#prepare();
    this.#refuseRelatedPoints();
    this.#refuseMultiples();
    this.digest = sha256(this.toBytes());
  }

  /** How many public inputs the statement has, challenges not counted. */
  get public(): number {
    return this.ic.length - 1 - this.challenges + this.folded;
  }

  /** How many values each linked segment has, in order. */
  get linkedSizes(): readonly number[] {
    return this.segments.filter((segment) => segment.linkG2 !== null).map((segment) => segment.size);
  }

  /**
   * Whether the last segment can begin with the folded inputs, and there is a challenge to fold at; and whether the
   * public inputs can be counted in 32 bits.
   */
  get #foldsWhatIsCommitted(): boolean {
    const last = this.segments.at(-1);
    const committed = last !== undefined && last.linkG2 === null && last.size >= this.folded;
    const isFolding = this.challenges > 1 && this.kind === FOLDING_VERIFYING_KEY;
    return committed && isFolding && this.public < 2 ** 32;
  }

  #checkShape(): void {
    if (!LABELS.includes(this.setup)) {
      throw new ZenError("file.setup_label", `unknown setup '${this.setup}'`, "setup");
    }
    const linked = this.linkedSizes.length > 0;
    const fits = {
      statement_digest: this.statementDigest.length === HASH_BYTES,
      ic: this.ic.length > this.challenges,
      challenges: this.challenges > 0 ? this.segments.length > 0 : !linked,
      segments: this.segments.length <= MOST_SEGMENTS,
      folded: this.folded === 0 || this.#foldsWhatIsCommitted,
      basis: (this.basis !== null) === linked,
      contributions:
        this.contributions.every((hash) => hash.length === HASH_BYTES) &&
        (this.contributions.length > 0 || this.setup !== CEREMONY),
    };
    for (const [field, right] of Object.entries(fits)) {
      if (!right) throw new ZenError("file.shape", `${field} does not fit the rest of the key`, field);
    }
  }

  #prepare(): Prepared {
    const links: Link[] = [];
    return {
      alpha: decoded(decodeG1, this.alphaG1, "alpha_g1"),
      beta: decoded(decodeG2, this.betaG2, "beta_g2"),
      gamma: decoded(decodeG2, this.gammaG2, "gamma_g2"),
      delta: decoded(decodeG2, this.deltaG2, "delta_g2"),
      ic: this.ic.map((point, index) => decoded(decodeG1, point, `ic[${index}]`)),
      knowledge: this.segments.map(({ knowledgeG2, linkG2 }, place) => {
        const name = `segments[${place}]`;
        const knowledge = decoded(decodeG2, knowledgeG2, `${name}.knowledge_g2`);
        if (linkG2 !== null) {
          const k1 = decoded(decodeG2, linkG2[0], `${name}.link_g2[0]`);
          links.push({ place, k1, k2: decoded(decodeG2, linkG2[1], `${name}.link_g2[1]`) });
        }
        return knowledge;
      }),
      links,
    };
  }

  /**
   * Refuse keys in which one secret is plus or minus another, or known (docs/groth16.md).
   *
   * γ keeps the public inputs apart from what the prover chooses: with δ = ±γ anyone forges proofs, and with a
   * known δ anyone who has the powers of a first phase. With two equal σ, values move from one segment to
   * another; with a known σ or k, a commitment needs no opening. α = β = 1 is the state of a first phase that
   * nobody contributed to. Only γ may be the generator, in keys from ceremonies: they fix it so
   * (ePrint 2017/1050), and δ then is what keeps the two apart. With two equal points IC a proof for one
   * reading of the public inputs serves another; with a basis of known τ anyone opens commitments.
   */
  #refuseRelatedPoints(): void {
    const generators = [GENERATOR_G1, GENERATOR_G2].map((point) => point.toBytes());
    const fromCeremony = this.setup === IMPORTED || this.contributions.length > 0;
    const seen = new Map(generators.map((point) => [hex(withoutSign(point)), "the generator"]));
    for (const [field, point] of this.#namedPoints()) {
      if (field === "gamma_g2" && fromCeremony && generators.some((each) => equal(each, point))) continue;
      const x = hex(withoutSign(point));
      const other = seen.get(x);
      if (other !== undefined) {
        throw new ZenError(
          "file.unsafe_key",
          `${field} is plus or minus ${other}: anyone could forge proofs. A key whose ceremony nobody has ` +
            "contributed to is like that",
          field,
        );
      }
      seen.set(x, field);
    }
  }

  *#namedPoints(): Generator<[string, Uint8Array]> {
    yield ["alpha_g1", this.alphaG1];
    for (const [index, point] of this.ic.entries()) yield [`ic[${index}]`, point];
    if (this.basis !== null) yield ["basis", this.basis];
    yield ["beta_g2", this.betaG2];
    yield ["gamma_g2", this.gammaG2];
    yield ["delta_g2", this.deltaG2];
    for (const [index, segment] of this.segments.entries()) {
      yield [`segments[${index}].knowledge_g2`, segment.knowledgeG2];
      for (const [i, point] of (segment.linkG2 ?? []).entries())
        yield [`segments[${index}].link_g2[${i}]`, point];
    }
  }

  /**
   * Refuse points IC of which small multiples are equal up to sign: with IC_j = 2 IC_i, whatever is proven of
   * x_i and x_j is proven of x_i + 2 and x_j - 1. Other ratios take a search, or the secrets: that nobody knows
   * any is for whoever made the key to see to.
   */
  #refuseMultiples(): void {
    const multiples = this.prepared.ic.flatMap((point) => {
      const found = [point];
      while (found.length < MOST_MULTIPLE) found.push(point.add(found[found.length - 1] ?? point));
      return found;
    });
    const seen = new Map<bigint, number>();
    for (const [place, x] of affineX(multiples).entries()) {
      const index = Math.floor(place / MOST_MULTIPLE);
      const other = seen.get(x);
      if (other !== undefined && other !== index) {
        throw new ZenError(
          "file.unsafe_key",
          `ic[${index}] and ic[${other}] are in proportion: one proof would serve several readings of the ` +
            "public inputs",
          `ic[${index}]`,
        );
      }
      seen.set(x, index);
    }
  }

  /** The binary form of docs/formats.md. */
  toBytes(): Uint8Array {
    const label = new Uint8Array(LABEL_BYTES);
    label.set(utf8ToBytes(this.setup));
    return concat(
      preamble(this.kind),
      label,
      this.statementDigest,
      u32(this.public, this.challenges, this.segments.length, this.contributions.length),
      ...(this.folded > 0 ? [u32(this.folded)] : []),
      ...[this.alphaG1, this.betaG2, this.gammaG2, this.deltaG2, ...this.ic],
      ...this.segments.flatMap(({ size, knowledgeG2, linkG2 }) => [
        u32(size, linkG2 === null ? 0 : 1),
        knowledgeG2,
        ...(linkG2 ?? []),
      ]),
      ...(this.basis === null ? [] : [this.basis]),
      ...this.contributions,
    );
  }

  /** The inverse of `toBytes`. Throws `ZenError`. */
  static fromBytes(data: Uint8Array): VerifyingKey {
    const kind = KINDS.find((each) => startsWith(data, preamble(each))) ?? VERIFYING_KEY;
    checkPreamble(data, kind);
    const reader = new Reader(data, PREAMBLE_BYTES);
    const setup = new TextDecoder().decode(reader.take(LABEL_BYTES)).replace(/\0+$/, "");
    const statementDigest = reader.take(HASH_BYTES);
    const publicInputs = reader.u32();
    const challenges = reader.u32();
    const segmentCount = reader.u32();
    const contributionCount = reader.u32();
    const folded = kind === FOLDING_VERIFYING_KEY ? reader.u32() : 0;
    requireFolded(kind, folded, publicInputs);
    const alphaG1 = reader.take(G1_BYTES);
    const betaG2 = reader.take(G2_BYTES);
    const gammaG2 = reader.take(G2_BYTES);
    const deltaG2 = reader.take(G2_BYTES);
    const ic = reader.run(1 + publicInputs - folded + challenges, G1_BYTES);
    const segments: SegmentKey[] = [];
    while (segments.length < segmentCount) segments.push(readSegment(reader));
    const linked = segments.some((segment) => segment.linkG2 !== null);
    const basis = linked ? reader.take(G1_BYTES) : null;
    const contributions = reader.run(contributionCount, HASH_BYTES);
    reader.finish();
    return new VerifyingKey({
      setup,
      statementDigest,
      alphaG1,
      betaG2,
      gammaG2,
      deltaG2,
      ic,
      challenges,
      segments,
      basis,
      contributions,
      kind,
      folded,
    });
  }

  /** A JSON-able form: compressed points, hashes and digests in lower-case hex. */
  toJson(): JsonObject {
    return {
      ...JSON_HEADER,
      version: this.kind.version,
      setup: this.setup,
      statement_digest: hex(this.statementDigest),
      alpha_g1: hex(this.alphaG1),
      beta_g2: hex(this.betaG2),
      gamma_g2: hex(this.gammaG2),
      delta_g2: hex(this.deltaG2),
      ic: this.ic.map(hex),
      challenges: this.challenges,
      ...(this.folded > 0 ? { folded: this.folded } : {}),
      segments: this.segments.map(({ size, knowledgeG2, linkG2 }) => ({
        size,
        knowledge_g2: hex(knowledgeG2),
        link_g2: linkG2 && linkG2.map(hex),
      })),
      basis: this.basis && hex(this.basis),
      contributions: this.contributions.map(hex),
      digest: hex(this.digest),
    };
  }

  /** The inverse of `toJson`; checks the digest too. Throws `ZenError`. */
  static fromJson(document: Json): VerifyingKey {
    checkHeader(document, "a verifying key", JSON_HEADER);
    const kind = KINDS.find(({ version }) => version === document["version"]);
    if (kind === undefined) throw new ZenError("file.json", "version must be one of [2, 3, 4]", "version");
    const folded = "folded" in document ? natural(document["folded"], "folded") : 0;
    requireFolded(kind, folded, folded);
    const { basis = null } = document;
    const key = new VerifyingKey({
      alphaG1: fromHex(document["alpha_g1"], "alpha_g1"),
      betaG2: fromHex(document["beta_g2"], "beta_g2"),
      gammaG2: fromHex(document["gamma_g2"], "gamma_g2"),
      deltaG2: fromHex(document["delta_g2"], "delta_g2"),
      setup: typeof document["setup"] === "string" ? document["setup"] : "",
      statementDigest: fromHex(document["statement_digest"], "statement_digest"),
      ic: hexList(document["ic"], "ic"),
      challenges: natural(document["challenges"], "challenges"),
      segments: asList(document["segments"], "segments").map((value, index) =>
        segmentFromJson(value, `segments[${index}]`),
      ),
      basis: basis === null ? null : fromHex(basis, "basis"),
      contributions: hexList(document["contributions"], "contributions"),
      kind,
      folded,
    });
    if (document["digest"] !== hex(key.digest)) {
      throw new ZenError("file.hash", "the digest is not that of this key", "digest");
    }
    return key;
  }
}

/** Takes bytes from the front of its data. Throws `ZenError` (`file.length`). */
class Reader {
  readonly #data: Uint8Array;
  #position: number;

  constructor(data: Uint8Array, position: number) {
    this.#data = data;
    this.#position = position;
  }

  take(length: number): Uint8Array {
    const start = this.#position;
    this.#position += length;
    if (this.#position > this.#data.length) {
      throw new ZenError("file.length", `a verifying key is cut short after ${this.#data.length} bytes`);
    }
    return this.#data.slice(start, this.#position);
  }

  u32(): number {
    return readU32(this.take(4), 0);
  }

  run(count: number, length: number): Uint8Array[] {
    const whole = this.take(count * length);
    return Array.from({ length: count }, (_, index) => whole.subarray(index * length, (index + 1) * length));
  }

  finish(): void {
    const extra = this.#data.length - this.#position;
    if (extra > 0) throw new ZenError("file.length", `${extra} bytes follow the end of a verifying key`);
  }
}

/** That keys of version 4, and no others, fold inputs. */
function requireFolded(kind: Kind, folded: number, publicInputs: number): void {
  if (folded > 0 !== (kind === FOLDING_VERIFYING_KEY) || folded > publicInputs) {
    throw new ZenError("file.shape", "the version and the count of folded inputs do not fit", "folded");
  }
}

function readSegment(reader: Reader): SegmentKey {
  const size = reader.u32();
  const linked = reader.u32();
  if (linked > 1) {
    throw new ZenError("file.shape", "a segment is either linked, 1, or not, 0", "segments");
  }
  const knowledgeG2 = reader.take(G2_BYTES);
  return { size, knowledgeG2, linkG2: linked ? [reader.take(G2_BYTES), reader.take(G2_BYTES)] : null };
}

function segmentFromJson(value: Json, field: string): SegmentKey {
  if (!isObject(value)) throw new ZenError("file.json", `${field} must be an object`, field);
  const { link_g2: link = null } = value;
  return {
    linkG2: link === null ? null : pair(hexList(link, `${field}.link_g2`), `${field}.link_g2`),
    size: natural(value["size"], `${field}.size`),
    knowledgeG2: fromHex(value["knowledge_g2"], `${field}.knowledge_g2`),
  };
}

function pair(points: readonly Uint8Array[], field: string): [Uint8Array, Uint8Array] {
  const [first, second] = points;
  if (first === undefined || second === undefined || points.length > 2) {
    throw new ZenError("file.json", `${field} must be two points`, field);
  }
  return [first, second];
}

function decoded<P>(decode: (data: Uint8Array) => P, data: Uint8Array, field: string): P {
  try {
    return decode(data);
  } catch (error) {
    if (!(error instanceof PointError)) throw error;
    throw new ZenError(`file.point_${error.fault}`, `${field}: ${FAULTS[error.fault]}`, field);
  }
}
