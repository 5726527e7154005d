/** Whether a proof holds. The matrices alone are evaluated by whoever has them. */

import { concat, equal } from "../bytes.ts";
import { at, zip } from "../lists.ts";
import { SCALAR_MODULUS } from "../points.ts";
import { u64 } from "../preamble.ts";
import { LINK_MISMATCH, OK, SUM_MISMATCH, type Verdict } from "../verdict.ts";
import { combined, FORMS, forms } from "./claims.ts";
import type { Drawn, Known } from "./claims.ts";
import * as field from "./field.ts";
import { columnsAt, judge } from "./folding.ts";
import { openedRoot } from "./merkle.ts";
import type { Opening } from "./merkle.ts";
import { MalformedError, Reader } from "./proof.ts";
import type { Body } from "./proof.ts";
import type { Shape } from "./shape.ts";
import { Transcript } from "./transcript.ts";

export const REASONS: Readonly<Record<string, string>> = {
  [OK]: "The proof is valid.",
  malformed: "These bytes are no proof of this statement.",
  [LINK_MISMATCH]: "The proof is not about this commitment.",
  opening: "What the proof opens is not what it committed to, or the proof is of another statement.",
  proximity: "The rows that the proof combines are no code words, or others.",
  constraints: "The constraints do not hold.",
  circuit_unknown:
    "Whoever verifies has not got the circuit that the key names: compile it, or give its file.",
  opening_mismatch: "The commitment is to other values, or its seed is another.",
  [SUM_MISMATCH]: "The commitments do not add up to these totals.",
};

export function verdictOf(reason: string, index: number | null = null): Verdict {
  return { valid: reason === OK, reason, detail: REASONS[reason] ?? reason, index };
}

/** The matrices A, B and C of a constraint system, which a verifier has, and trusts. */
export interface Matrices {
  /** Of every coefficient, 32 bytes. */
  readonly digest: Uint8Array;

  /**
   * The sum of `weights` times the multilinear extensions of A, B and C, at the point `rows` of their rows and
   * `places` of the variables' places in `shape`.
   */
  evaluate(
    shape: Shape,
    rows: readonly bigint[],
    places: readonly bigint[],
    weights: readonly bigint[],
  ): bigint;
}

/**
 * The verdict on a proof for these public inputs, canonical, and a commitment for each linked segment. `shape` and
 * `matrices` the caller trusts. Never throws for bad proofs.
 */
export function verify(
  shape: Shape,
  matrices: Matrices,
  publicInputs: readonly bigint[],
  commitments: readonly Uint8Array[],
  proof: Uint8Array,
): Verdict {
  const linked = shape.parts.filter((part) => part.linked).length;
  const isCanonical = publicInputs.every((value) => 0n <= value && value < SCALAR_MODULUS);
  if (!isCanonical || publicInputs.length !== shape.public || commitments.length !== linked) {
    return verdictOf("malformed");
  }
  const reader = new Reader(proof);
  try {
    const body = reader.body(shape);
    return new Verifier(shape, matrices, publicInputs, commitments, body, reader).verdict();
  } catch (error) {
    if (error instanceof MalformedError) return verdictOf("malformed");
    throw error;
  }
}

class Verifier {
  readonly #shape: Shape;
  readonly #matrices: Matrices;
  readonly #commitments: readonly Uint8Array[];
  readonly #body: Body;
  readonly #reader: Reader;
  readonly #transcript: Transcript;
  readonly #known: readonly bigint[];

  constructor(
    shape: Shape,
    matrices: Matrices,
    publicInputs: readonly bigint[],
    commitments: readonly Uint8Array[],
    body: Body,
    reader: Reader,
  ) {
    [this.#shape, this.#matrices, this.#commitments] = [shape, matrices, commitments];
    [this.#body, this.#reader] = [body, reader];
    const { code, parts } = shape;
    const numbers = [code.logDegree, code.logLength, code.queryBits, shape.logRows];
    numbers.push(shape.public, shape.challenges, parts.length);
    this.#transcript = new Transcript(concat(u64(...numbers), matrices.digest));
    this.#transcript.say("public", publicInputs);
    for (const commitment of commitments) this.#transcript.absorb("commitment", commitment);
    for (const [index, part] of parts.slice(0, -1).entries()) {
      if (!part.linked) this.#transcript.absorb("segment", at(body.roots, index));
    }
    this.#known = [1n, ...publicInputs, ...this.#transcript.challenges("statement", shape.challenges)];
  }

  verdict(): Verdict {
    const { code, parts, rowVariables } = this.#shape;
    const roots = this.#body.roots.slice(0, -1);
    const linked = roots.filter((_, index) => at(parts, index).linked);
    for (const [index, [said, given]] of zip(linked, this.#commitments).entries()) {
      if (!equal(said, given)) return verdictOf(LINK_MISMATCH, index);
    }
    this.#transcript.absorb("private", at(roots, roots.length - 1));
    this.#transcript.absorb("pads", this.#padsRoot);
    const drawn = this.#draw();
    const places = this.#transcript.places("columns", code.queries, code.logLength);
    const openings = this.#openings(places);
    for (const [index, [part, opening]] of zip(parts, openings).entries()) {
      const found = openedRoot(code, part.size, part.tail, places, opening);
      if (!equal(found, at(roots, index))) return verdictOf("opening");
    }
    const weights = field.eq(drawn.inner.slice(0, rowVariables));
    const values = this.#combined(weights, drawn.mask, openings);
    const reason = this.#judgeRow(drawn.inner.slice(rowVariables), places, values);
    return reason === OK ? this.#judgePads(drawn, weights) : verdictOf(reason);
  }

  get #padsRoot(): Uint8Array {
    return at(this.#body.roots, this.#body.roots.length - 1);
  }

  #draw(): Drawn {
    const { said, product, row } = this.#body;
    const zero = this.#transcript.challenges("zero", this.#shape.logRows);
    const outer = said.outer.map((values) => this.#round(values));
    this.#transcript.say("claims", said.claims);
    const matrices = this.#transcript.challenges("matrices", 3);
    const inner = said.inner.map((values) => this.#round(values));
    this.#transcript.say("mask", [said.mask]);
    const mask = this.#transcript.challenge("mask");
    this.#transcript.say("product", [product]);
    this.#transcript.absorb("row", at(row.messages, 0));
    const triple = this.#transcript.challenge("triple");
    this.#transcript.say("opened", said.opened);
    return { zero, outer, matrices, inner, mask, triple };
  }

  #round(values: readonly bigint[]): bigint {
    this.#transcript.say("round", values);
    return this.#transcript.challenge("round");
  }

  /** Of all parts, each with its salts. */
  #openings(places: readonly number[]): Opening[] {
    const { code, openedRows, parts, salted } = this.#shape;
    const read = this.#reader.openings(openedRows, places, code.logLength, salted);
    const { salts } = at(
      read.filter((_, index) => !at(parts, index).linked),
      0,
    );
    return read.map((opening, index) => (at(salted, index) ? opening : { ...opening, salts }));
  }

  /** At each place the mask's entry, and `factor` times the others, weighted. */
  #combined(weights: readonly bigint[], factor: bigint, openings: readonly Opening[]): bigint[] {
    const { code, parts } = this.#shape;
    const byPart = parts.map((part) => weights.slice(part.first, part.first + part.rows));
    return Array.from({ length: code.queries }, (_, index) => {
      const columns = openings.map((opening) => field.fromBytes(at(opening.columns, index)));
      const mask = columns.at(-1)?.pop() ?? 0n;
      return (
        mask + factor * zip(byPart, columns).reduce((sum, [own, column]) => sum + field.dot(own, column), 0n)
      );
    });
  }

  /** That the row has these values at the places, and the inner product that was told. */
  #judgeRow(columns: readonly bigint[], places: readonly number[], values: readonly bigint[]): string {
    const { code, folding } = this.#shape;
    const { product, row } = this.#body;
    const weights = this.#transcript.challenges("weights", places.length);
    const claim = {
      claim: product + field.dot(weights, values),
      weights: (point: readonly bigint[]) =>
        field.eqAt(columns, point) + columnsAt(code, places, weights, point),
    };
    return judge(folding, row, claim, this.#transcript, this.#reader);
  }

  /** The matrices are evaluated last: nothing that is drawn depends on them, and they are the dearest. */
  #judgePads(drawn: Drawn, weights: readonly bigint[]): Verdict {
    const { pads } = this.#shape;
    const { said, padMask } = this.#body;
    const combiners = this.#transcript.challenges("forms", FORMS);
    this.#transcript.say("pad mask", [padMask]);
    const factor = this.#transcript.challenge("pad mask");
    this.#transcript.absorb("pad row", this.#body.padRow);
    const places = this.#transcript.places("pad columns", pads.code.queries, pads.code.logLength);
    const opening = at(this.#reader.openings([2], places, pads.code.logLength, [true]), 0);
    this.#reader.finish();
    const found = openedRoot(pads.code, pads.count, pads.code.queries, places, opening);
    if (!equal(found, this.#padsRoot)) return verdictOf("opening");
    const padRow = field.fromBytes(this.#body.padRow);
    const encoded = field.encode(padRow, pads.code.logLength);
    const areCodeWords = zip(places, opening.columns).every(([place, column]) => {
      const entries = field.fromBytes(column);
      return field.reduce(at(entries, 1) + factor * at(entries, 0) - at(encoded, place)) === 0n;
    });
    if (!areCodeWords) return verdictOf("proximity");
    const equations = forms(pads, said, drawn, this.#compute(drawn, weights));
    const { functional, value } = combined(equations, combiners, pads.count);
    const shown = field.dot(functional, padRow);
    return verdictOf(field.reduce(shown - padMask - factor * value) === 0n ? OK : "constraints");
  }

  #compute(drawn: Drawn, weights: readonly bigint[]): Known {
    const columnWeights = field.eq(drawn.inner.slice(this.#shape.rowVariables));
    return {
      matrices: this.#matrices.evaluate(this.#shape, drawn.outer, drawn.inner, drawn.matrices),
      witness: knownPart(this.#known, weights, columnWeights),
      row: this.#body.product,
    };
  }
}

/** The value of the witness's polynomial where all that the verifier does not know is zero. */
function knownPart(
  values: readonly bigint[],
  rowWeights: readonly bigint[],
  columnWeights: readonly bigint[],
): bigint {
  const degree = columnWeights.length;
  let total = 0n;
  for (let row = 0; row * degree < values.length; row += 1) {
    const part = values.slice(row * degree, (row + 1) * degree);
    total += at(rowWeights, row) * field.dot(columnWeights, part);
  }
  return field.reduce(total);
}
