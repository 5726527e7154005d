/**
 * What accuracies measure: what each sample adds to the counts of its shard, and what their totals say.
 *
 * Shares are of integers, and rounded down: programs in any language write the same words.
 */

import { canonical, Real } from "./json.ts";

export const MEASURES = ["accuracy", "top-k", "f1", "mse", "mae", "r2", "certified"] as const;
export type Measure = (typeof MEASURES)[number];

/** Of outputs that are measured: its square times any integer of a document is a finite number. */
export const MOST_STEP = 1e140;
const PLACES = 4;
const ONE = 10n ** BigInt(PLACES);
/** Shares are added up by so many finer parts than are said of their mean. */
const FINE = 100n;
/** Of so many words say each: the statement's values have them all. */
const MOST_CLASSES = 16;

/**
 * How a network's outputs and the targets of samples are quantised: `real = scale (q - zero_point)`. `minimum`,
 * `maximum`: of the targets' integers; `error`: the largest difference to an output.
 */
export interface Targets {
  readonly scale: number;
  readonly zero_point: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly error: number;
}

/**
 * What samples add to: `size` integers in a list, or one that is in none (null). `least`, `most`: what a sample
 * adds to each of them. Beyond 2^53 these are near enough: no total of a document is as large.
 */
export interface Count {
  readonly name: string;
  readonly size: number | null;
  readonly least: number;
  readonly most: number;
}

/**
 * `top`: among how many labels, of `top-k`; `outputs`: how many the network has; `targets`: of measures of values,
 * which take them (`takesTargets`).
 */
export interface Measurement {
  readonly measure: Measure;
  readonly top: number;
  readonly outputs: number;
  readonly targets: Targets | null;
}

/** The totals by the names of `countsOf`. */
export type Totals = Readonly<Record<string, readonly number[]>>;

/** Whether it compares a network's values with targets, not its classes with labels. */
export function takesTargets(measure: Measure): boolean {
  return measure === "mse" || measure === "mae" || measure === "r2";
}

/** What a shard's commitment `correct` is to, in order. */
export function countsOf({ measure, outputs, targets }: Measurement): readonly Count[] {
  if (measure === "f1") {
    return ["true_positives", "predicted", "actual"].map((name) => ({
      name,
      size: outputs,
      least: 0,
      most: 1,
    }));
  }
  if (targets === null) {
    return [{ name: measure === "certified" ? "certified" : "correct", size: null, least: 0, most: 1 }];
  }
  const { minimum: low, maximum: high, error } = targets;
  if (measure === "mse")
    return [{ name: "squared_error", size: null, least: 0, most: outputs * error * error }];
  if (measure === "mae") return [{ name: "absolute_error", size: null, least: 0, most: outputs * error }];
  return [
    { name: "squared_error", size: outputs, least: 0, most: error * error },
    { name: "target_sum", size: outputs, least: Math.min(0, low), most: Math.max(0, high) },
    { name: "target_square", size: outputs, least: 0, most: Math.max(low * low, high * high) },
  ];
}

/** What the totals say of `size` samples. */
export function claim(measured: Measurement, totals: Totals, size: number): string {
  const { measure, top, outputs, targets } = measured;
  const of = (name: string): readonly number[] => totals[name] ?? [];
  const [correct] = of("correct");
  switch (measure) {
    case "accuracy":
      return `The network gets ${correct} of ${size} labels right.`;
    case "top-k":
      return `For ${correct} of ${size} samples the label is among the network's ${top} likeliest.`;
    case "certified":
      return (
        `At least ${of("certified")[0]} of ${size} samples are labelled rightly, and so is every input within the` +
        " radius of them."
      );
    case "f1":
      return f1(of("true_positives"), of("predicted"), of("actual"), size);
    case "r2":
      return r2(of("squared_error"), of("target_sum"), of("target_square"), size);
    case "mse":
    case "mae": {
      const scale = targets?.scale ?? 1;
      const [kind, factor] = measure === "mse" ? ["squared", scale * scale] : ["absolute", scale];
      const mean = factor * ((of(`${kind}_error`)[0] ?? 0) / size / outputs);
      return (
        `The network's mean ${kind} error over ${size} samples is ${written(mean)}, for outputs and targets in` +
        ` steps of ${written(scale)}.`
      );
    }
  }
}

type Share = readonly [part: bigint, whole: bigint];

/** Of no class that does not occur. What is divided by 0 is 0. */
function f1(
  right: readonly number[],
  predicted: readonly number[],
  actual: readonly number[],
  size: number,
): string {
  const classes = right
    .map((each, index) => {
      const [both, said, there] = [BigInt(each), BigInt(predicted[index] ?? 0), BigInt(actual[index] ?? 0)];
      const shares: Share[] = [
        [2n * both, said + there],
        [both, said],
        [both, there],
      ];
      return { index, occurs: said + there !== 0n, own: shares };
    })
    .filter(({ occurs }) => occurs);
  const found =
    `Over ${size} samples the network's F1 is ${mean(classes.flatMap(({ own }) => own.slice(0, 1)))}, the mean of` +
    ` ${classes.length} classes.`;
  if (right.length > MOST_CLASSES) return found;
  const each = classes.map(({ index, own }) => `${index}: ${own.map((share) => mean([share])).join(", ")}`);
  return `${found} F1, precision and recall by class, rounded down: ${each.join("; ")}.`;
}

/** 1 less the share of the squared errors in the targets' variance, the mean of all outputs. */
function r2(
  errors: readonly number[],
  sums: readonly number[],
  squares: readonly number[],
  size: number,
): string {
  const whole = BigInt(size);
  const shares = errors.map((error, index): Share => {
    const spread = whole * BigInt(squares[index] ?? 0) - BigInt(sums[index] ?? 0) ** 2n;
    return [spread - whole * BigInt(error), spread];
  });
  if (shares.some(([, spread]) => spread <= 0n)) {
    return `The network's R² over ${size} samples is none: the targets of an output are all the same.`;
  }
  return `The network's R² over ${size} samples is ${mean(shares)}, rounded down.`;
}

/** Of shares, each a part and the whole, 0 of 0 being 0: to four places, rounded down. */
function mean(shares: readonly Share[]): string {
  const parts = shares.map(([part, whole]) => (whole === 0n ? 0n : floored(FINE * ONE * part, whole)));
  const total = parts.reduce((sum, part) => sum + part, 0n);
  const found = floored(floored(total, BigInt(Math.max(1, parts.length))), FINE);
  const size = found < 0n ? -found : found;
  return `${found < 0n ? "-" : ""}${size / ONE}.${(size % ONE).toString().padStart(PLACES, "0")}`;
}

/** The largest integer that is not above the quotient; `whole` is above 0. */
function floored(part: bigint, whole: bigint): bigint {
  const quotient = part / whole;
  return part % whole < 0n ? quotient - 1n : quotient;
}

/** As RFC 8785 writes doubles: the same text in any language. */
function written(number: number): string {
  return canonical(new Real(number));
}
