/**
 * How a ceremony's key came to its secrets, shown without the ceremony's files.
 *
 * It shows that δ, every σ and every k of a key are what the contributions whose hashes it carries made of one,
 * or of zero, each by a party that knew its share, and that none of them leaves a secret as it was. Whether a
 * party kept its share secret, no transcript can show. It does not show what the ceremony started from: whether
 * the rest of the key is for a statement, its state and the powers of tau tell (docs/ceremony.md).
 */

import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Beacon, isReserved } from "../beacon.ts";
import { concat, equal, fromBigEndian, hex, toBigEndian } from "../bytes.ts";
import { GENERATOR_G2, INFINITY_G2 } from "../curve.ts";
import { asList, checkHeader, fromHex, hexList, isPrintable } from "../document.ts";
import { ZenError } from "../errors.ts";
import { isObject, type Json, type JsonObject } from "../json.ts";
import { at, zip } from "../lists.ts";
import { decodeG2, PointError, SCALAR_MODULUS, type G2 } from "../points.ts";
import type { VerifyingKey } from "./verifyingKey.ts";

const MAX_NAME_BYTES = 80;
const MOST_CONTRIBUTIONS = 1024;
const HEADER = { format: "zenserve ceremony transcript", version: 1 } as const;

const LIKE_A_BEACON = /2\^[0-9]+ [0-9a-f]{64}$|\(a beacon\)$/;
/** Of one character or more, none of them a space but the plain one, and that inside only. */
const CHALLENGE_TAG = utf8ToBytes("zenserve contribution 1");
const HASH_TAG = utf8ToBytes("zenserve contribution hash 1");
const BYTES = 32;

/**
 * `name`: whose it is; `secrets`: [secret]_2 after it, compressed; `nonces`, compressed, and `responses`,
 * 32 bytes each, big-endian, prove that its share of each was known.
 */
interface Contribution {
  readonly name: string;
  readonly secrets: readonly Uint8Array[];
  readonly nonces: readonly Uint8Array[];
  readonly responses: readonly Uint8Array[];
}

/** Throws `ZenError`: `file.json` for no transcript, `ceremony.*` for one that does not lead to `key`. */
export function check(document: Json, key: VerifyingKey): void {
  checkHeader(document, "a ceremony's transcript", HEADER);
  if (!hasFields(document, [...Object.keys(HEADER), "origin", "contributions"])) {
    throw new ZenError("file.json", "a transcript has an origin, contributions, and no other field");
  }
  let previous = exactly(fromHex(document["origin"], "origin"), "origin");
  let secrets = firstSecrets(key);
  const multiplied = 1 + key.segments.length;
  const contributions = readContributions(document, secrets.length);
  const [people, beacon] = peopleAndBeacon(contributions.map((each) => each.name));
  if (people === 0) {
    throw new ZenError(
      "ceremony.no_contributions",
      "nobody has contributed, beacons not counted, so everybody knows this key's secrets",
      "contributions",
    );
  }
  const hashes: Uint8Array[] = [];
  const earlier = secrets.map((secret) => new Set([hex(secret.toBytes())]));
  for (const [index, each] of contributions.entries()) {
    if (beacon !== null && index === people && !same(each, drawn(beacon, previous, secrets, multiplied))) {
      throw new ZenError(
        "ceremony.beacon",
        "the last contribution is not what its beacon makes of it",
        "beacon",
      );
    }
    secrets = follow(previous, secrets, multiplied, each, `contributions[${index}]`);
    requireChanged(each, earlier, `contributions[${index}]`);
    previous = hashOf(each, previous);
    hashes.push(previous);
  }
  if (!equalLists(hashes, key.contributions)) {
    throw new ZenError("ceremony.key", "the key names other contributions", "contributions");
  }
  if (!equal(key.gammaG2, GENERATOR_G2.toBytes())) {
    throw new ZenError("ceremony.key", "γ is not one, as it is in every ceremony", "gamma_g2");
  }
  if (!secretsOf(key).every((secret, index) => secret.equals(at(secrets, index)))) {
    throw new ZenError("ceremony.key", "the key's secrets are not those of its ceremony", "key");
  }
}

/** What the proofs answer: bound to everything before, the name, the results and the nonces. */
function challengeOf(each: Contribution, previous: Uint8Array): bigint {
  return fromBigEndian(sha512(concat(CHALLENGE_TAG, transcriptOf(each, previous)))) % SCALAR_MODULUS;
}

/** SHA-256 of all of it and of the hash before it: 32 bytes. */
function hashOf(each: Contribution, previous: Uint8Array): Uint8Array {
  return sha256(concat(HASH_TAG, transcriptOf(each, previous), ...each.responses));
}

function transcriptOf({ name, secrets, nonces }: Contribution, previous: Uint8Array): Uint8Array {
  const text = utf8ToBytes(name);
  const head = [previous, toBigEndian(text.length, 4), text, toBigEndian(secrets.length, 4)];
  return concat(...head, ...secrets, ...nonces);
}

/**
 * Throws `ZenError` (`ceremony.name`) unless it is 1 to 80 bytes of printable text, no space around, and not
 * what a beacon's could be taken for.
 */
function checkName(name: string): void {
  // The length first: on a name of megabytes the patterns run out of stack.
  const fits = name.length <= MAX_NAME_BYTES && utf8ToBytes(name).length <= MAX_NAME_BYTES;
  if (
    !fits ||
    !isPrintable(name) ||
    !/^[^ ](.*[^ ])?$/su.test(name) ||
    (LIKE_A_BEACON.test(name) && !isReserved(name))
  ) {
    throw new ZenError(
      "ceremony.name",
      `a contributor's name is 1 to ${MAX_NAME_BYTES} bytes of printable text without space around it, and ` +
        "does not look like a beacon's",
      "name",
    );
  }
}

/**
 * How many contributions of these names are people's, and the beacon, if one closed the ceremony.
 *
 * Nobody contributes after a beacon: it is there to be the last.
 * Throws `ZenError`: `ceremony.name`, `ceremony.beacon`, `ceremony.contribution`.
 */
function peopleAndBeacon(names: readonly string[]): [number, Beacon | null] {
  names.forEach(checkName);
  const found = names.findIndex(isReserved);
  const people = found < 0 ? names.length : found;
  if (people >= MOST_CONTRIBUTIONS) {
    throw new ZenError(
      "ceremony.contribution",
      `a ceremony has less than ${MOST_CONTRIBUTIONS} contributors: the last place is a beacon's`,
      "contributions",
    );
  }
  if (people < names.length - 1) {
    throw new ZenError(
      "ceremony.beacon",
      `contribution ${people + 1} is a beacon's, so none can follow it`,
      `contributions[${people + 1}]`,
    );
  }
  return [people, found < 0 ? null : new Beacon(at(names, found))];
}

/** [δ]_2, every [σ]_2, every [k_1]_2 and [k_2]_2. */
function secretsOf({ prepared }: VerifyingKey): G2[] {
  return [prepared.delta, ...prepared.knowledge, ...prepared.links.flatMap(({ k1, k2 }) => [k1, k2])];
}

/** δ and σ begin at one, the k at zero. */
function firstSecrets(key: VerifyingKey): G2[] {
  return secretsOf(key).map((_, index) => (index <= key.segments.length ? GENERATOR_G2 : INFINITY_G2));
}

function readContributions(document: JsonObject, secrets: number): Contribution[] {
  const entries = asList(document["contributions"], "contributions");
  if (entries.length < 1 || entries.length > MOST_CONTRIBUTIONS) {
    throw new ZenError(
      "file.json",
      `a ceremony has 1 to ${MOST_CONTRIBUTIONS} contributions`,
      "contributions",
    );
  }
  return entries.map((entry, index) => readContribution(entry, secrets, `contributions[${index}]`));
}

function readContribution(entry: Json, secrets: number, field: string): Contribution {
  if (!isObject(entry) || !hasFields(entry, ["name", "secrets", "nonces", "responses"])) {
    throw new ZenError("file.json", `${field} must be a contribution`, field);
  }
  const { name } = entry;
  if (typeof name !== "string") throw new ZenError("file.json", `${field}.name must be a text`, field);
  const found = {
    secrets: hexList(entry["secrets"], `${field}.secrets`),
    nonces: hexList(entry["nonces"], `${field}.nonces`),
    responses: hexList(entry["responses"], `${field}.responses`),
  };
  if (Object.values(found).some((values) => values.length !== secrets)) {
    throw new ZenError("file.json", `${field} must be about ${secrets} secrets`, field);
  }
  return { name, ...found };
}

/** The secrets after a contribution. Each share x is proven by s · base = nonce + c · (x · base). */
function follow(
  previous: Uint8Array,
  before: readonly G2[],
  multiplied: number,
  each: Contribution,
  field: string,
): G2[] {
  const after = decodeAll(each.secrets, field);
  const nonces = decodeAll(each.nonces, field);
  const challenge = challengeOf(each, previous);
  zip(zip(before, after), zip(nonces, each.responses)).forEach(([[was, now], [nonce, response]], index) => {
    // Of a product the share is what the secret is multiplied by, of a sum what is added to it.
    const [base, change] = index < multiplied ? [was, now] : [GENERATOR_G2, now.subtract(was)];
    if (!base.mulAddUnsafe(scalar(response, field), change.negate(), challenge).equals(nonce)) {
      throw new ZenError(
        "ceremony.contribution",
        `${field} does not prove that its author knew the shares, at this place and under this name`,
        field,
      );
    }
  });
  return after;
}

/**
 * Throws `ZenError` where a contribution leaves a secret as it was, or leads back to what it was at any time `earlier`:
 * everybody knows that share, or a product of shares. Adds its secrets to `earlier`.
 */
function requireChanged({ secrets }: Contribution, earlier: readonly Set<string>[], field: string): void {
  const digits = secrets.map(hex);
  const pairs = zip(digits, earlier);
  if (pairs.some(([secret, known]) => known.has(secret))) {
    throw new ZenError(
      "ceremony.contribution",
      `${field} leaves a secret as it was before, so its share is no secret`,
      field,
    );
  }
  for (const [secret, known] of pairs) known.add(secret);
}

function decodeAll(points: readonly Uint8Array[], field: string): G2[] {
  try {
    return points.map(decodeG2);
  } catch (error) {
    if (!(error instanceof PointError)) throw error;
    throw new ZenError("ceremony.contribution", `${field} holds what is no point`, field);
  }
}

/** What a beacon contributes. Nothing in it is free: each nonce is the point that its share multiplies. */
function drawn(
  beacon: Beacon,
  previous: Uint8Array,
  before: readonly G2[],
  multiplied: number,
): Contribution {
  const shares = beacon.shares(previous, before.length);
  const bases = before.map((was, index) => (index < multiplied ? was : GENERATOR_G2));
  const after = zip(zip(bases, before), shares).map(([[base, was], share], index) => {
    const product = base.multiplyUnsafe(share);
    return index < multiplied ? product : product.add(was);
  });
  const secrets = after.map((point) => point.toBytes());
  const nonces = bases.map((point) => point.toBytes());
  const unanswered = { name: beacon.name, secrets, nonces, responses: [] };
  const challenge = challengeOf(unanswered, previous);
  const responses = shares.map((share) => toBigEndian((1n + challenge * share) % SCALAR_MODULUS, BYTES));
  return { ...unanswered, responses };
}

function same(one: Contribution, other: Contribution): boolean {
  return (
    one.name === other.name &&
    equalLists(one.secrets, other.secrets) &&
    equalLists(one.nonces, other.nonces) &&
    equalLists(one.responses, other.responses)
  );
}

function equalLists(one: readonly Uint8Array[], other: readonly Uint8Array[]): boolean {
  return one.length === other.length && zip(one, other).every(([each, its]) => equal(each, its));
}

function hasFields(object: JsonObject, names: readonly string[]): boolean {
  const found = Object.keys(object);
  return found.length === names.length && names.every((name) => found.includes(name));
}

function scalar(response: Uint8Array, field: string): bigint {
  const value = fromBigEndian(exactly(response, field));
  if (value >= SCALAR_MODULUS) {
    throw new ZenError("file.json", `${field}: a response is not below the group's order`, field);
  }
  return value;
}

function exactly(data: Uint8Array, field: string): Uint8Array {
  if (data.length !== BYTES) throw new ZenError("file.json", `${field} must have ${BYTES} bytes`, field);
  return data;
}
