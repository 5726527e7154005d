/** Receipts of registrations: whether their issuer signed them (Ed25519, RFC 8032). */

import { ed25519 } from "@noble/curves/ed25519.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { bytesOf, concat, equal, fromBigEndian } from "./bytes.ts";
import { expectedReceipt, readParsed, spans, systemOf } from "./documents.ts";
import type { ExpectedReceipt, Receipt, Twin } from "./documents.ts";
import { canonical } from "./json.ts";
import { OK, Refusal, refuse } from "./verdict.ts";

/** Every reason that `judge` gives, with a sentence. */
export const REASONS: Readonly<Record<string, string>> = {
  issuer_unsafe: "Anybody can sign under the issuer's key: it is of small order.",
  signature_mismatch: "The signature is not the issuer's for this receipt.",
  issuer_mismatch: "The receipt is another issuer's than the expected one.",
  network_mismatch: "The receipt is for another network than the expected one.",
  model_mismatch: "The receipt is not for the model of this commitment.",
  time_mismatch: "The model was registered, as the issuer says, at another time than the expected one.",
};
const TIME_SEEN = "That is within the time that you expected.";
const ISSUER_UNSEEN = "That the issuer is one you trust: compare its key with one that you know.";
const TYPES_UNSEEN = "That the weights are of their types: the registration's proof says that.";
const TWINS_UNSEEN = "That commitments under different systems hold the same weights: nothing proves that.";
const SATURATES = "The model takes numbers beyond the range of its calibration as the range's ends.";
const WORD_UNSEEN =
  "The network, the commitment, the time and the parent, by anything but the issuer's word.";

/** The verdict on a receipt: `reason` is `ok` or a key of `REASONS`; `receipt` is null where it is not valid. */
export interface ReceiptVerification {
  readonly valid: boolean;
  readonly reason: string;
  readonly detail: string;
  readonly verified: readonly string[];
  readonly not_verified: readonly string[];
  readonly receipt: Receipt | null;
}

/** What the signature is over: the canonical form of all else. */
export function signedBytes({ signature: _, ...rest }: Receipt): Uint8Array {
  return new TextEncoder().encode(canonical(rest));
}

// The encoded y of the points of order 1, 2, 4 and 8: the one of order 8, its negative, -1, 0 and 1. Under such a key
// one signature is for every text.
const FIELD = (1n << 255n) - 19n;
const Y8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = [0n, 1n, FIELD - 1n, Y8, FIELD - Y8];

/** Whether the key, in hex, is canonical, and not one of those under which anybody can sign. */
export function isSafe(issuer: string): boolean {
  const y = BigInt.asUintN(255, littleEndian(bytesOf(issuer)));
  return y < FIELD && !SMALL_ORDER.includes(y);
}

/** Whether the signature is that of the receipt's `issuer`. Whether to trust that one, it cannot say. */
export function isSigned(receipt: Receipt): boolean {
  return (
    isSafe(receipt.issuer) &&
    isSignature(bytesOf(receipt.signature), signedBytes(receipt), bytesOf(receipt.issuer))
  );
}

/**
 * Whether s·B - k·A has the encoding R: the equation without the cofactor, as OpenSSL has it. The library's own
 * `verify` multiplies by 8 first, and so would take signatures that others refuse.
 */
function isSignature(signature: Uint8Array, message: Uint8Array, issuer: Uint8Array): boolean {
  const { Point } = ed25519;
  const order = Point.Fn.ORDER;
  const r = signature.subarray(0, 32);
  const s = littleEndian(signature.subarray(32));
  if (s >= order) return false;
  try {
    const key = Point.fromBytes(issuer);
    const k = littleEndian(sha512(concat(r, issuer, message))) % order;
    return equal(Point.BASE.multiplyUnsafe(s).subtract(key.multiplyUnsafe(k)).toBytes(), r);
  } catch {
    return false;
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  return fromBigEndian(bytes.toReversed());
}

/** Whether the receipt's issuer signed it, and it says what you know from elsewhere. */
export function judge(receipt: Receipt, expected: ExpectedReceipt = NOTHING_EXPECTED): ReceiptVerification {
  try {
    check(receipt, expected);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    const detail = refusal.detail || (REASONS[refusal.reason] ?? "");
    return { valid: false, reason: refusal.reason, detail, verified: [], not_verified: [], receipt: null };
  }
  return {
    valid: true,
    reason: OK,
    detail: "The receipt is as its issuer signed it.",
    verified: verified(receipt, expected),
    not_verified: [
      ...(expected.issuer === null ? [ISSUER_UNSEEN] : []),
      ...(receipt.commitment === null ? [] : [TYPES_UNSEEN]),
      ...(receipt.commitment === null || receipt.twins === undefined ? [] : [TWINS_UNSEEN]),
      WORD_UNSEEN,
    ],
    receipt,
  };
}
const NOTHING_EXPECTED: ExpectedReceipt = readParsed(expectedReceipt, {});

/** Throws `Refusal` for the first thing that is wrong. */
function check(receipt: Receipt, expected: ExpectedReceipt): void {
  if (!isSafe(receipt.issuer)) refuse("issuer_unsafe");
  if (!isSigned(receipt)) refuse("signature_mismatch");
  if (expected.issuer !== null && expected.issuer !== receipt.issuer) refuse("issuer_mismatch");
  if (expected.network !== null && expected.network !== receipt.network) {
    refuse("network_mismatch", `The receipt is for the network ${receipt.network}.`);
  }
  if (expected.model !== null && expected.model !== receipt.commitment) refuse("model_mismatch");
  if (!spans(expected, receipt.registered_at)) {
    refuse("time_mismatch", `The receipt says that the model was registered at ${receipt.registered_at}.`);
  }
}

function verified(receipt: Receipt, expected: ExpectedReceipt): string[] {
  const known = (pin: string | null): string => (pin === null ? "" : ", as you expected");
  const issuer = `${receipt.issuer}${expected.issuer === null ? "" : ", as you expected,"}`;
  return [
    `The issuer ${issuer} signed that the model ${receipt.model_id} was registered at ${receipt.registered_at}.`,
    ...(expected.after === null && expected.before === null ? [] : [TIME_SEEN]),
    "The network, or the architecture of hidden weights, has the SHA-256" +
      ` ${receipt.network}${known(expected.network)}.`,
    ...(receipt.commitment === null
      ? []
      : [
          `The model's commitment, ${systemOf(receipt).commitments.id}, is` +
            ` ${receipt.commitment}${known(expected.model)}.`,
        ]),
    ...(receipt.saturates ? [SATURATES] : []),
    ...(receipt.twins ?? []).map(twinSigned),
  ];
}

function twinSigned(twin: Twin): string {
  const scheme = systemOf(twin).commitments.id;
  const commitment = twin.commitment === null ? "" : `, its commitment, ${scheme}, ${twin.commitment}`;
  return `The issuer signed that ${twin.model_id}, of ${twin.system}, is the same network${commitment}.`;
}
