/** What a run says of the next frame: how likely each class is, and what that adds to a model's outputs. */

const ONE = 1n << 32n;
const ROUNDS = 10;
const PARTS = 256;

export type Counts = ReadonlyMap<number, number>;

/** Of a model, how often it said a label in a run, and of how many profiled samples of which class it says it. */
export interface Said {
  readonly count: number;
  readonly samples: Counts;
}

/** Of each class, in parts of 2^32, where labels are as often wrong as those of profiled samples are. */
export function shares(said: readonly Said[], classes: number): bigint[] {
  const total = BigInt(framesOf(said));
  let found = new Array<bigint>(classes).fill(ONE / BigInt(classes));
  for (let round = 0; round < ROUNDS; round++) {
    const weights = weightsOf(said, found);
    found = found.map((each, label) => (each * (weights[label] ?? 0n)) / (total << 32n));
  }
  return found;
}

export function framesOf(said: readonly Said[]): number {
  return said.reduce((sum, { count }) => sum + count, 0);
}

/** These shares of `total` frames as if `caution` frames more were of any class. */
export function cautious(found: readonly bigint[], total: number, caution: number): bigint[] {
  const [classes, all, more] = [BigInt(found.length), BigInt(total), BigInt(caution)];
  return found.map((each) => (classes * all * each + more * ONE) / (classes * (all + more)));
}

/** What each class explains of the labels, beside how likely it is. */
function weightsOf(said: readonly Said[], found: readonly bigint[]): bigint[] {
  const classes = BigInt(found.length);
  const whole = found.reduce((sum, each) => sum + each, 0n);
  const own = new Map<number, bigint>();
  let common = 0n;
  for (const { count, samples } of said) {
    let likely = whole;
    for (const [each, number] of samples) likely += classes * (found[each] ?? 0n) * BigInt(number);
    const part = (BigInt(count) << 64n) / likely;
    common += part;
    for (const [each, number] of samples) {
      own.set(each, (own.get(each) ?? 0n) + classes * BigInt(number) * part);
    }
  }
  return found.map((_, label) => common + (own.get(label) ?? 0n));
}

/** 256 log2 of a positive integer, rounded down. */
export function log2(number: bigint): number {
  const digits = (number ** BigInt(PARTS)).toString(16);
  return 4 * (digits.length - 1) + 31 - Math.clz32(parseInt(digits.charAt(0), 16));
}

/** What is added to a model's outputs, by class, so that they are of the posterior; from `-margin` to 0. */
export function prior(found: readonly bigint[], bit: number, margin: number): number[] {
  const logs = new Map<bigint, number>();
  return found.map((share) => {
    const log = logs.get(share) ?? log2(share > 0n ? share : 1n) - log2(ONE);
    logs.set(share, log);
    return Math.max(-margin, Number(floored(BigInt(log) * BigInt(bit), BigInt(PARTS * PARTS))));
  });
}

function floored(number: bigint, by: bigint): bigint {
  const quotient = number / by;
  return number % by < 0n ? quotient - 1n : quotient;
}

/** The label of the posterior: the first of the largest sums. */
export function filtered(outputs: readonly number[], added: readonly number[]): number {
  const sums = outputs.map((output, label) => output + (added[label] ?? 0));
  return sums.indexOf(sums.reduce((most, sum) => Math.max(most, sum)));
}
