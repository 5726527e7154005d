/**
 * For receivers of webhooks: whether a message is from the service (Standard Webhooks, symmetric).
 *
 * Answer with any 2xx within ten seconds, and do the work afterwards. A message may come more than once: `id` stays
 * the same.
 */

import { ArgumentError, SignatureError } from "./errors.ts";
import { requireBytes } from "./given.ts";
import type { Message } from "./schema.ts";

/** What happened. `data` says what became of the job; what it made is fetched with a key. */
export type WebhookEvent = Message & { id: string };

type Headed = Headers | Readonly<Record<string, string | string[] | undefined>>;

const PREFIX = "whsec_";

/**
 * The event of a message that the service signed with `secret` (`whsec_…`), lately.
 *
 * `body`: the bytes as they came; parsed and written again they would be others. `toleranceSeconds`: that clocks may
 * differ, and that a message may be held up by whoever saw it. Raises `SignatureError`, and `ArgumentError` for a
 * `secret` that is none.
 */
export async function verifyWebhook(
  secret: string,
  headers: Headed,
  body: Uint8Array,
  toleranceSeconds = 300,
): Promise<WebhookEvent> {
  requireBytes("body", body);
  const [id, sentAt, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    header(headers, name),
  ) as [string, string, string];
  // Digits beyond these would be no moment.
  if (!/^\d{1,12}$/.test(sentAt) || Math.abs(Date.now() / 1000 - Number(sentAt)) > toleranceSeconds) {
    throw new SignatureError(`the message was not sent within ${toleranceSeconds} seconds of now`);
  }
  const start = new TextEncoder().encode(`${id}.${sentAt}.`);
  const signed = new Uint8Array(start.length + body.length);
  signed.set(start);
  signed.set(body, start.length);
  const key = await keyOf(secret);
  for (const each of signatures.split(" ")) {
    const signature = each.startsWith("v1,") ? decoded(each.slice(3)) : null;
    if (signature && (await crypto.subtle.verify("HMAC", key, signature, signed))) {
      return { id, ...(JSON.parse(new TextDecoder().decode(body)) as Message) };
    }
  }
  throw new SignatureError("the message is not signed with this secret");
}

function header(headers: Headed, name: string): string {
  const found =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  if (typeof found !== "string") throw new SignatureError(`the message has no header ${name}`);
  return found;
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const raw = decoded(secret.replace(PREFIX, ""));
  // With an empty one anybody could sign.
  if (!raw?.length)
    throw new ArgumentError("secret", `secret: give a webhook's secret, ${PREFIX} and base64`);
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  } catch {
    return null;
  }
}
