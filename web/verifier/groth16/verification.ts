/**
 * Verification of proofs, one by one or many under one key, in a single multi-pairing.
 *
 *     e(A, B) = e(α, β) · e(Σ x_i IC_i + Σ D_s, γ) · e(C, δ)      Groth16 (ePrint 2016/260) with segments
 *     e(D'_s, 1) = e(D_s, σ_s)                                   the prover knows what each D_s opens to
 *     e(π_l, 1) = e(D_s, k_1) · e(cm_l, k_2)                     D_s and cm_l open to the same values
 *
 * The x_i end with the proof's challenges, which the verifier derives; where public inputs are folded, the last is
 * their fold. Several equations are added up with
 * weights of 128 random bits, drawn when the proof is there: a wrong one is noticed but for chance 2^-128.
 * Only where the sum is wrong are the equations checked by themselves, so that the verdict can name one.
 */

import { fromBigEndian } from "../bytes.ts";
import { GENERATOR_G2, productsAgree, weightedSum, type Pair } from "../curve.ts";
import { at, zip } from "../lists.ts";
import { decodeG1, SCALAR_MODULUS, type G1, type G2 } from "../points.ts";
import type { Claim, Flaw } from "../system.ts";
import { LINK_MISMATCH, OK, type Verdict } from "../verdict.ts";
import { decode, decoded, Refused, split, type Points } from "./proof.ts";
import { challenges } from "./transcript.ts";
import { verdictOf } from "./verdict.ts";
import type { VerifyingKey } from "./verifyingKey.ts";

const WEIGHT_BYTES = 16;

interface Decoded {
  /** Public inputs that are not folded, and challenges. */
  readonly inputs: readonly bigint[];
  readonly points: Points;
  readonly commitments: readonly G1[];
}

/** [P, Q, x] stands for e(P, Q)^x. */
type Term = readonly [G1, G2, bigint];

/** The products of both sides are to agree; `otherwise` is what a proof earns whose do not. */
interface Equation {
  readonly left: readonly Term[];
  readonly right: readonly Term[];
  readonly otherwise: Verdict;
}

/** Groth16's own, then those of the segments, then those of the links: all that a claim must satisfy. */
type Equations = readonly [Equation, ...Equation[]];

/**
 * Of each group the first claim that is wrong, null where all hold: in one multi-pairing if all of all groups
 * do.
 *
 * The wrong one of a group is found by halving: that takes twice as long as the group and one claim alone,
 * wherever it is, and however many more there are.
 */
export function verifyGroups(key: VerifyingKey, groups: readonly (readonly Claim[])[]): (Flaw | null)[] {
  const formed = groups.map((group) => form(key, group));
  const sound = formed.filter((group) => Array.isArray(group));
  const together = sound.length > 1 && hold(sound.flat(2));
  return formed.map((group) => (Array.isArray(group) ? (together ? null : firstWrong(group)) : group));
}

/** The equations of each claim, or the first claim whose form is wrong. */
function form(key: VerifyingKey, claims: readonly Claim[]): Equations[] | Flaw {
  const formed: Equations[] = [];
  for (const [index, claim] of claims.entries()) {
    try {
      formed.push(equations(key, decodeClaim(key, claim)));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { index, verdict: error.verdict };
    }
  }
  return formed;
}

function firstWrong(claims: readonly Equations[]): Flaw | null {
  if (claims.length === 0 || (claims.length > 1 && hold(claims.flat()))) return null;
  let start = 0;
  let end = claims.length;
  while (end - start > 1) {
    const middle = Math.floor((start + end) / 2);
    if (hold(claims.slice(start, middle).flat())) start = middle;
    else end = middle;
  }
  // Sums that hold or not by an accident of weights lead to a claim that is right: then all are judged.
  const others = claims.map((_, index) => index).filter((index) => index !== start);
  for (const index of [start, ...others]) {
    const verdict = judge(at(claims, index));
    if (!verdict.valid) return { index, verdict };
  }
  return null;
}

/** The claim's points and all its inputs. Throws `Refused`, with the first refusal that its form earns. */
function decodeClaim(key: VerifyingKey, claim: Claim): Decoded {
  checkPublicInputs(key.public, claim.publicInputs);
  const links = key.linkedSizes.length;
  if (claim.commitments.length !== links) {
    throw new Refused(
      "commitment_count",
      `The key links to ${links} commitments, ${claim.commitments.length} were given.`,
    );
  }
  const proof = split(claim.proof);
  const segments = key.segments.length;
  if (proof.segments.length !== segments || proof.links.length !== links) throw new Refused("proof_shape");
  const points = decode(proof);
  const commitments = claim.commitments.map((data) => decoded(decodeG1, data, "commitment"));
  const drawn = challenges(key, claim.publicInputs, points.segments, commitments);
  const shown = claim.publicInputs.slice(0, key.public - key.folded);
  return { inputs: [...shown, ...drawn], points, commitments };
}

function equations(key: VerifyingKey, { inputs, points, commitments }: Decoded): Equations {
  const { alpha, beta, gamma, delta, ic, knowledge, links } = key.prepared;
  const groth16: Equation = {
    left: [[points.a, points.b, 1n]],
    right: [
      [alpha, beta, 1n],
      ...zip(ic, [1n, ...inputs]).map(([point, value]): Term => [point, gamma, value]),
      ...points.segments.map((segment): Term => [segment, gamma, 1n]),
      [points.c, delta, 1n],
    ],
    otherwise: verdictOf("pairing_mismatch"),
  };
  const known = zip(points.segments, zip(knowledge, points.knowledge)).map(
    ([segment, [sigma, product]], index): Equation => {
      const detail =
        `Under this key, the proof's commitment to segment ${index} and its proof of knowledge do not ` +
        "belong together.";
      return {
        left: [[product, GENERATOR_G2, 1n]],
        right: [[segment, sigma, 1n]],
        otherwise: verdictOf("knowledge_mismatch", detail, index),
      };
    },
  );
  const linked = zip(links, zip(points.links, commitments)).map(
    ([{ place, k1, k2 }, [link, commitment]], index): Equation => {
      const detail = `The proof does not show that commitment ${index} is to the values of its segment ${place}.`;
      return {
        left: [[link, GENERATOR_G2, 1n]],
        right: [
          [at(points.segments, place), k1, 1n],
          [commitment, k2, 1n],
        ],
        otherwise: verdictOf(LINK_MISMATCH, detail, index),
      };
    },
  );
  return [groth16, ...known, ...linked];
}

/**
 * The verdict on one claim.
 *
 * Where several equations are wrong, it names the first that has no other to blame: a link says nothing about
 * a segment whose opening nobody knows, and Groth16's challenges depend on what is linked to.
 */
function judge([groth16, ...others]: Equations): Verdict {
  if (hold([groth16, ...others])) return verdictOf(OK);
  const blamed = others.length === 0 || hold(others) ? groth16 : others.find((each) => !hold([each]));
  return (blamed ?? groth16).otherwise;
}

/** Whether all of them hold: their sum, each with a weight. */
function hold(equations: readonly Equation[]): boolean {
  const left = new Side();
  const right = new Side();
  equations.forEach((equation, index) => {
    const weight = index === 0 ? 1n : drawWeight();
    left.add(equation.left, weight);
    right.add(equation.right, weight);
  });
  return productsAgree(left.pairs(), right.pairs());
}

/**
 * A sum of weighted pairings. Terms with the same point of G2, this very object, are added up before they are
 * paired; in these the scalars of the same point of G1 are, so that a batch takes each point of the key once.
 */
class Side {
  readonly #sums = new Map<G2, Map<G1, bigint>>();

  add(terms: readonly Term[], weight: bigint): void {
    for (const [p, q, scalar] of terms) {
      const multiples = this.#sums.get(q) ?? new Map<G1, bigint>();
      this.#sums.set(q, multiples);
      multiples.set(p, (multiples.get(p) ?? 0n) + weight * scalar);
    }
  }

  pairs(): Pair[] {
    return [...this.#sums].map(([q, multiples]) => [
      weightedSum([...multiples.keys()], [...multiples.values()]),
      q,
    ]);
  }
}

function drawWeight(): bigint {
  return fromBigEndian(crypto.getRandomValues(new Uint8Array(WEIGHT_BYTES)));
}

/**
 * Throws `Refused` unless `publicInputs` are those of a key of `count` inputs.
 *
 * A value x + r would stand for the same field element: accepting it would give every proof several public
 * readings.
 */
function checkPublicInputs(count: number, publicInputs: readonly bigint[]): void {
  if (publicInputs.length !== count) {
    const detail = `The key takes ${count} public inputs, ${publicInputs.length} were given.`;
    throw new Refused("public_input_count", detail);
  }
  const wrong = publicInputs.findIndex((value) => value < 0n || value >= SCALAR_MODULUS);
  if (wrong >= 0) {
    const detail = `Public input ${wrong} is negative, or not below the group order r.`;
    throw new Refused("public_input_not_canonical", detail);
  }
}
