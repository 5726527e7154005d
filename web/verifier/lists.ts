/** Lists whose lengths are known to fit. */

export function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new RangeError(`there is no item ${index}`);
  return found;
}

/** Side by side. Throws `RangeError` where one is longer. */
export function zip<A, B>(one: readonly A[], other: readonly B[]): [A, B][] {
  if (one.length !== other.length) throw new RangeError("the lists have different lengths");
  return one.map((item, index) => [item, at(other, index)]);
}

export function product(numbers: readonly number[]): number {
  return numbers.reduce((whole, each) => whole * each, 1);
}

/** Doubles from here on are integers. */
const INTEGERS_FROM = 2 ** 52;

/** To the nearest integer, halves to the even one: what is added leaves no place for a fraction. */
export function rounded(x: number): number {
  if (Math.abs(x) >= INTEGERS_FROM) return x;
  return x < 0 ? x - INTEGERS_FROM + INTEGERS_FROM : x + INTEGERS_FROM - INTEGERS_FROM;
}
