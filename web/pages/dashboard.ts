/**
 * Keeps what is marked data-live fresh, copies ids, sends forms, and hands proofs and streams to the page that verifies them.
 * The dashboard's pages say all they have to say without it.
 */

import { Client } from "../client/client.ts";
import type { ProofDocument, StreamFile } from "../client/schema.ts";
import { ASKING } from "./asking.ts";
import { morph } from "./morph.ts";

const LATE = 6000;

const live = document.querySelector<HTMLElement>("[data-live]");
let heardAt = performance.now();
let shownAt = new Date();
let failing = false;

function announce(text: string): void {
  const told = document.getElementById("announce");
  if (told) told.textContent = text;
}

async function refresh(shown: HTMLElement): Promise<void> {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(5000), cache: "no-store" });
    if (new URL(answer.url).pathname === "/admin/login") return location.reload();
    if (!answer.ok) throw new Error(`${answer.status}`);
    const page = await parsed(answer);
    const fresh = page.getElementById(shown.id);
    if (!fresh) throw new Error(`the page has no #${shown.id}`);
    const said = shown.dataset["announce"];
    morph(shown, fresh);
    document.title = page.title;
    const says = shown.dataset["announce"];
    if (says !== undefined && says !== said) announce(says);
    heardAt = performance.now();
    shownAt = new Date(page.querySelector<HTMLTimeElement>("[data-fresh] time")?.dateTime ?? Date.now());
    failing = false;
  } catch {
    failing = true;
  }
  tellAge();
}

async function parsed(answer: Response): Promise<Document> {
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function tellAge(): void {
  const age = performance.now() - heardAt;
  const stale = failing && age > LATE;
  document.body.classList.toggle("is-stale", stale);
  const text = document.querySelector("[data-fresh] span");
  if (text) text.textContent = `updated ${Math.round(age / 1000)} s ago`;
  const warning = document.querySelector<HTMLElement>(".stale");
  if (warning && warning.hidden === stale) {
    const then = shownAt.toISOString().slice(11, 19);
    warning.textContent = `The service does not answer. This is how things were at ${then} UTC.`;
    warning.hidden = !stale;
  }
}

async function keepFresh(shown: HTMLElement): Promise<void> {
  while (!("over" in shown.dataset)) {
    await new Promise((done) => setTimeout(done, Number(shown.dataset["live"])));
    await refresh(shown);
  }
}

if (live) {
  void keepFresh(live);
  tellAge();
  setInterval(tellAge, 1000);
  document.addEventListener("visibilitychange", () => void refresh(live));
}

/** What an event happened to, if that is within a `tag` which this selects. */
function within<Type extends Element>(
  { target }: Event,
  type: new () => Type,
  selector: string,
): Type | null {
  const found = target instanceof Element ? target.closest(selector) : null;
  return found instanceof type ? found : null;
}

document.addEventListener("click", async (event) => {
  const button = within(event, HTMLElement, "[data-copy]");
  if (!button) return;
  const text = button.dataset["copy"] ?? "";
  await navigator.clipboard.writeText(text);
  button.classList.add("copied");
  announce(`Copied ${text.slice(0, 12)}`);
  setTimeout(() => button.classList.remove("copied"), 1200);
});

document.addEventListener("submit", (event) => {
  const question = within(event, HTMLFormElement, "[data-confirm]")?.dataset["confirm"];
  if (question && !confirm(question)) event.preventDefault();
});

// A form with files stays where it is when it is refused: a page loaded anew would have lost them.
document.addEventListener("submit", async (event) => {
  const form = within(event, HTMLFormElement, "[data-stays]");
  if (!form) return;
  event.preventDefault();
  const button = form.querySelector<HTMLButtonElement>("button:not([type])");
  if (button) button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form) });
    if (answer.redirected) return location.assign(answer.url);
    const page = await parsed(answer);
    const fresh = page.querySelector("[data-stays]");
    const main = page.getElementById("main");
    if (fresh) morph(form, fresh);
    else if (main) document.getElementById("main")?.replaceWith(main);
    document.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  } catch {
    form.submit();
  }
  if (button) button.disabled = false;
});

document.querySelector("[data-filters]")?.addEventListener("formdata", (event) => {
  if (!(event instanceof FormDataEvent)) return;
  for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
});

/**
 * The proof or stream of this page, which its visitor may fetch, and its keys, which anybody may. `table`: where the
 * names of a table's columns and classes are.
 */
async function handed(place: string, table: string | undefined): Promise<File[]> {
  const text = await (await fetch(place)).text();
  const document: ProofDocument | StreamFile = JSON.parse(text);
  const client = new Client({ baseUrl: location.origin });
  if ("statement" in document) {
    const key = await client.getVerificationKey(document.statement.verification_key.id);
    const names = table === undefined ? [] : [new File([await (await fetch(table)).blob()], "table.json")];
    return [new File([text], "proof.json"), new File([key], "key.json"), ...names];
  }
  const ids = new Set(document.head.bank.models.map((model) => model.verification_key));
  const keys = [...ids].map(
    async (id) => new File([await client.getVerificationKey(id)], `key-${id.slice(0, 8)}.json`),
  );
  return [new File([text], "stream.json"), ...(await Promise.all(keys))];
}

// The page that verifies asks nobody but whoever opened it.
addEventListener("message", async ({ origin, source, data }: MessageEvent<unknown>) => {
  const link = document.querySelector<HTMLElement>("[data-verify]");
  const place = link?.dataset["verify"];
  if (origin !== location.origin || data !== ASKING || !source || !place) return;
  source.postMessage(await handed(place, link?.dataset["table"]), { targetOrigin: origin });
});
