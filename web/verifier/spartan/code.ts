/** The Reed-Solomon code that matrices are committed under, and how many columns show what. */

/**
 * Of renewals, seven more than the 128 that are asked for: a proof rests on the columns of up to 66 roots, its own two,
 * and those of four renewals of each of sixteen commitments. Its own can do with two or three.
 */
export const QUERY_BITS = 135;
const FEW_LINKED = 8;
const [OWN_BITS, OWN_BITS_OF_MANY] = [130, 131];
/** A word has 2^2 times as many entries as a polynomial coefficients. */
export const LOG_BLOWUP = 2;

/**
 * Polynomials of 2^`logDegree` coefficients, at the 2^`logLength`-th roots of unity.
 *
 * Unique decoding only: a word that is further than `radius` from all code words is taken for one, or two words for
 * the same, with probability 2^-`queryBits` at most over `queries` different random places.
 */
export class Code {
  readonly logDegree: number;
  readonly logLength: number;
  readonly queryBits: number;
  #queries: number | undefined;

  constructor(logDegree: number, logLength: number, queryBits = QUERY_BITS) {
    this.logDegree = logDegree;
    this.logLength = logLength;
    this.queryBits = queryBits;
  }

  /** As proofs about so many commitments open it. Renewals open it as it is. */
  ofProofs(linked: number): Code {
    const bits = linked > FEW_LINKED ? OWN_BITS_OF_MANY : OWN_BITS;
    return new Code(this.logDegree, this.logLength, Math.min(this.queryBits, bits));
  }

  /** The fewest places that are sure enough, drawn without replacement. */
  get queries(): number {
    this.#queries ??= this.#fewest();
    return this.#queries;
  }

  /** How many coefficients a row has, its tail included. */
  get degree(): number {
    return 2 ** this.logDegree;
  }

  get length(): number {
    return 2 ** this.logLength;
  }

  /** How many wrong entries are decoded uniquely. */
  get radius(): number {
    return Math.floor((this.length - this.degree) / 2);
  }

  /** -log2 of the probability that a word further than the radius is right at all places that are drawn. */
  get missedBits(): number {
    const right = this.length - this.radius - 1;
    let bits = 0;
    for (let i = 0; i < this.queries; i += 1) bits += Math.log2((this.length - i) / (right - i));
    return bits;
  }

  #fewest(): number {
    const right = this.length - this.radius - 1;
    let bits = 0;
    for (let drawn = 0; drawn < right; drawn += 1) {
      if (bits >= this.queryBits) return drawn;
      bits -= Math.log2((right - drawn) / (this.length - drawn));
    }
    return right;
  }
}
