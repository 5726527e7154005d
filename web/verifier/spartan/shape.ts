/**
 * Where the variables of a statement stand in the matrices that a proof commits to.
 *
 * Rows have 2^`logDegree` places. What the verifier knows fills the first ones; each segment, and the private
 * variables, have rows of their own, whose last places are the tail: random numbers, which hide what columns show. A
 * variable's place is row 2^`logDegree` + column.
 */

import { at } from "../lists.ts";
import { Code } from "./code.ts";

/** Vectors of 2^10 numbers are sent as they are; shorter than 2^9 none becomes, and rows are folded by eight at most. */
const [MOST_SENT, LEAST_ROW, MOST_ROUNDS] = [10, 9, 3];
/** More than other columns get: all levels together cost less than one of those. */
const MORE_BITS = 3;
const LOG_BLOWUP = 3;

/** 2^`rounds` rows, each a polynomial of `code`. */
interface Level {
  readonly rounds: number;
  readonly code: Code;
}

/** How a vector of 2^`variables` numbers is folded, to one of 2^`rest`, by codes surer than the one `beside`. */
export class Folding {
  readonly variables: number;
  readonly levels: readonly Level[];
  readonly rest: number;

  constructor(beside: Code, variables: number) {
    const levels: Level[] = [];
    let rest = variables;
    while (rest > MOST_SENT) {
      const rounds = Math.min(MOST_ROUNDS, rest - LEAST_ROW);
      rest -= rounds;
      levels.push({ rounds, code: new Code(rest, rest + LOG_BLOWUP, beside.queryBits + MORE_BITS) });
    }
    this.variables = variables;
    this.levels = levels;
    this.rest = rest;
  }
}

/** `size` variables in rows from `first` on. `linked`: the root is a commitment from outside. */
export interface Part {
  readonly size: number;
  readonly tail: number;
  readonly linked: boolean;
  readonly first: number;
  readonly rows: number;
}

/** As the statement has it; `tail` only where it is linked, by the commitment's shape. */
export interface Segment {
  readonly size: number;
  readonly tail: number | null;
}

/** How large a constraint system is; of each segment how many values it has, and whether it is linked. */
export interface Sizes {
  readonly public: number;
  readonly challenges: number;
  readonly segments: readonly (readonly [number, boolean])[];
  readonly private: number;
  readonly rows: number;
}

/** These numbers are believed: `admission.shapeOf` makes shapes of numbers that are not. */
export class Shape {
  readonly code: Code;
  readonly public: number;
  readonly challenges: number;
  /** The segments, and the private variables last. */
  readonly parts: readonly Part[];
  /** Of constraints, padded. */
  readonly logRows: number;

  constructor(code: Code, sizes: Sizes, segments: readonly Segment[], logRows: number) {
    this.code = code;
    this.public = sizes.public;
    this.challenges = sizes.challenges;
    this.logRows = logRows;
    let first = rowsFor(this.known, code.degree);
    this.parts = [...segments, { size: sizes.private, tail: null }].map(({ size, tail }) => {
      const own = tail ?? code.queries;
      const part = { size, tail: own, linked: tail !== null, first, rows: rowsFor(size, code.degree - own) };
      first += part.rows;
      return part;
    });
  }

  /** One, public inputs and challenges. */
  get known(): number {
    return 1 + this.public + this.challenges;
  }

  /** How many variables of the witness's polynomial choose the row. */
  get rowVariables(): number {
    const last = at(this.parts, this.parts.length - 1);
    return bitLength(last.first + last.rows - 1);
  }

  /** Of the witness's polynomial: as many rounds has the second sum-check. */
  get variables(): number {
    return this.rowVariables + this.code.logDegree;
  }

  /** How long a column is in each root: the private one has the mask beside. */
  get openedRows(): readonly number[] {
    return this.parts.map(({ rows }, index) => rows + Number(index === this.parts.length - 1));
  }

  /**
   * Which roots' openings have salts: those of the roots that a proof makes are the same, and in the first one's.
   */
  get salted(): readonly boolean[] {
    const first = this.parts.findIndex((part) => !part.linked);
    return this.parts.map((part, index) => part.linked || index === first);
  }

  /** Of the rows, combined into one. */
  get folding(): Folding {
    return new Folding(this.code, this.code.logDegree);
  }

  get pads(): Pads {
    return new Pads(this.code, this.logRows, this.variables);
  }
}

/**
 * The one-time pads of a proof by their places in one row: those of the rounds, of the claims a, b and c, and of the
 * mask's inner product; then the product of the pads of a and b, and a triple x, y, x y.
 */
export class Pads {
  readonly claims: number;
  readonly inner: number;
  readonly mask: number;
  readonly product: number;
  readonly triple: number;
  readonly count: number;
  /** The smallest of rate 1/8 whose rows hold the pads, and a tail for its own queries; as sure as that of the rows. */
  readonly code: Code;

  constructor(beside: Code, outerRounds: number, innerRounds: number) {
    this.claims = 2 * outerRounds;
    this.inner = this.claims + 3;
    this.mask = this.inner + 2 * innerRounds;
    this.product = this.mask + 1;
    this.triple = this.product + 1;
    this.count = this.triple + 3;
    const codeOf = (log: number): Code => new Code(log, log + LOG_BLOWUP, beside.queryBits);
    let log = bitLength(this.count);
    while (this.count + codeOf(log).queries > 2 ** log) log += 1;
    this.code = codeOf(log);
  }
}

/** How many rows of this width so many values take. */
export function rowsFor(size: number, width: number): number {
  return Math.ceil(size / width);
}

/** Of a number from 0 to 2^53. */
export function bitLength(value: number): number {
  return value === 0 ? 0 : value.toString(2).length;
}
