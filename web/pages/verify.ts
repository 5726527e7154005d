/**
 * The page on which a third party verifies proofs and receipts, believing nobody.
 *
 * It is one file, which works from anywhere and asks nobody: its policy forbids it to connect. What is said of a
 * proof is the verifier's words. In a worker the same program does the work (`work.ts`).
 */

import { ASKING } from "./asking.ts";
import { canceledShown, missingShown, nothingShown, troubleShown, verdictShown } from "./answers.ts";
import { button, find, make, printable } from "./elements.ts";
import { ALTERNATIVES, assign, firstMissing, only, ROLES, sort } from "./files.ts";
import type { Parts, Placed, Role, Sorted } from "./files.ts";
import { byName } from "./pins.ts";
import type { Pin, Pins } from "./pins.ts";
import { begin, serve } from "./work.ts";
import type { Answer, Progress, Running } from "./work.ts";

interface Entry extends Placed {
  readonly file: File;
  readonly sorted: Sorted;
  chosen?: Role | null;
}

const NAMES: Readonly<Record<Role, string>> = {
  document: "Proof",
  key: "Key",
  registration: "Registration",
  registrationKey: "Registration’s key",
  circuit: "Circuit",
  registrationCircuit: "Circuit",
  keys: "Key",
  circuits: "Circuit",
  opening: "Opening",
  input: "Input",
  dataset: "Dataset",
  labels: "Labels",
  table: "Table’s names",
  policy: "Policy",
};

const script = typeof document === "undefined" ? null : (document.currentScript?.textContent ?? null);
let entries: Entry[] = [];
let running: Running | null = null;
let pause: ReturnType<typeof setTimeout> | undefined;

/** Between the last key that is pressed in a field and the verification, in milliseconds. */
const PAUSE = 400;

if (script === null) serve();
else start();

function start(): void {
  find("choose", HTMLInputElement).addEventListener("change", ({ currentTarget }) => {
    if (!(currentTarget instanceof HTMLInputElement)) return;
    void add([...(currentTarget.files ?? [])]);
    currentTarget.value = "";
  });
  // Anywhere on the page: a file that misses its place would else be opened instead of the page.
  addEventListener("dragover", (event) => {
    event.preventDefault();
    find("drop", HTMLElement).classList.add("over");
  });
  addEventListener("dragleave", ({ relatedTarget }) => {
    if (relatedTarget === null) find("drop", HTMLElement).classList.remove("over");
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    find("drop", HTMLElement).classList.remove("over");
    void add([...(event.dataTransfer?.files ?? [])]);
  });
  const form = find("expected", HTMLFormElement);
  // A verdict is of what the fields hold now: at the first change of one it is taken away.
  form.addEventListener("input", () => {
    stop();
    known();
    pause = setTimeout(run, PAUSE);
  });
  form.addEventListener("change", () => {
    if (pause !== undefined) run();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  find("cancel", HTMLButtonElement).addEventListener("click", () => {
    stop();
    say(canceledShown(run));
  });
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll<HTMLDetailsElement>("#answer details")) folded.open = true;
  });
  if (isServed()) beServed();
}

function isServed(): boolean {
  return location.protocol === "http:" || location.protocol === "https:";
}

/** Offers the page as a file, and takes files from the page of the same service that opened this one. */
function beServed(): void {
  const save = find("save", HTMLAnchorElement);
  save.href = location.pathname;
  save.hidden = false;
  const opener: unknown = window.opener;
  if (opener === null) return;
  addEventListener("message", ({ origin, source, data }: MessageEvent<unknown>) => {
    if (origin !== location.origin || source !== opener || !Array.isArray(data)) return;
    void add(data.filter((each) => each instanceof File));
  });
  window.opener.postMessage(ASKING, location.origin);
}

async function add(files: readonly File[]): Promise<void> {
  stop();
  const added = await Promise.all(
    files.map(async (file): Promise<Entry> => ({ file, sorted: await sort(file) })),
  );
  const before = assign(entries);
  const after = assign([...entries, ...added]);
  const old = only(before, "document");
  const [had, has] = [new Set([...before.values()].flat()), new Set([...after.values()].flat())];
  // Whoever brings another proof has done with the one before, and with what was for it alone.
  const isDone = (entry: Entry): boolean =>
    old !== undefined && !has.has(old) && had.has(entry) && !has.has(entry);
  entries = [...entries.filter((entry) => !isDone(entry)), ...added];
  run();
}

/** Verifies what is there. Only the latest choice is shown, whatever was under way. */
function run(): void {
  stop();
  const parts = assign(entries);
  listFiles(parts);
  const entered = known();
  const document = only(parts, "document");
  const missing = firstMissing(parts);
  if (!document) {
    if (entries.length > 0) say(nothingShown());
  } else if (missing) {
    say(missingShown(missing, isServed()));
  } else {
    const files = [...parts].flatMap(([role, all]) => all.map(({ file }) => [role, file] as const));
    const { kind: found, proofs = 1 } = document.sorted;
    const kind = found === "receipt" || found === "stream" ? found : "proof";
    void follow((hear) => begin({ kind, parts: files, entered }, script ?? "", hear), proofs);
  }
}

/** Ends what is under way, and takes the last answer away. */
function stop(): void {
  clearTimeout(pause);
  pause = undefined;
  running?.stop?.();
  running = null;
  find("working", HTMLElement).hidden = true;
  complainAt(null, "");
  say();
}

async function follow(start: (hear: (progress: Progress) => void) => Running, proofs: number): Promise<void> {
  const bar = find("judged", HTMLProgressElement);
  bar.hidden = true;
  const started = start(({ judged, of }) => {
    if (running !== started) return;
    [bar.hidden, bar.max, bar.value] = [false, of, judged];
  });
  running = started;
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1000;
  find("progress", HTMLElement).textContent =
    proofs > 1 ? `Verifying ${proofs.toLocaleString("en")} proofs…` : "Verifying…";
  const elapsed = find("elapsed", HTMLElement);
  elapsed.textContent = "";
  find("cancel", HTMLButtonElement).hidden = started.stop === null;
  find("working", HTMLElement).hidden = false;
  const timer = setInterval(() => {
    if (running === started) elapsed.textContent = `${Math.round(seconds())} s`;
    else clearInterval(timer);
  }, 1000);
  const answer = await started.answer;
  if (running !== started) return;
  stop();
  conclude(answer, seconds());
}

function conclude(answer: Answer, seconds: number): void {
  if ("verdict" in answer) {
    say(...verdictShown(answer, seconds));
  } else {
    const { about, code, message } = answer.trouble;
    // What the reader knows of a key or an input is called as the file is.
    // Of one of several inputs or outputs the field is theirs.
    const field = about?.split(".")[0] ?? "";
    const isEntered = code === "request.invalid" && Object.hasOwn(known(), field);
    const [part, index] = about?.split(".") ?? [];
    const role = isEntered ? undefined : ROLES.find((each) => each === part);
    const file = role && assign(entries).get(role)?.[Number(index ?? 0)]?.file;
    complain(troubleShown(answer.trouble, role, file?.name));
    complainAt(isEntered ? field : null, message);
  }
  // Whoever still types is not taken elsewhere.
  if (document.activeElement?.closest("#expected")) return;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const shown = document.querySelector("#answer .card, #trouble .card");
  shown?.scrollIntoView({ block: "nearest", behavior: isStill ? "instant" : "smooth" });
}

function say(...content: readonly HTMLElement[]): void {
  fill("answer", content);
  fill("trouble", []);
}

function complain(content: HTMLElement): void {
  fill("answer", []);
  fill("trouble", [content]);
}

function fill(id: string, content: readonly HTMLElement[]): void {
  find(id, HTMLElement).replaceChildren(...content);
}

// The files

function listFiles(parts: Parts<Entry>): void {
  const roles = new Map([...parts].flatMap(([role, all]) => all.map((entry) => [entry, role] as const)));
  const list = find("files", HTMLElement);
  // What is for a stream shows in what is in it.
  const isFixed = only(parts, "document")?.sorted.kind === "stream";
  list.replaceChildren(...entries.map((entry) => row(entry, roles.get(entry), isFixed)));
  list.hidden = entries.length === 0;
  document.body.classList.toggle("has-files", entries.length > 0);
}

function row(entry: Entry, role: Role | undefined, isFixed: boolean): HTMLElement {
  const { file, sorted } = entry;
  const remove = button("×", "small cross", () => {
    entries = entries.filter((other) => other !== entry);
    find("choose", HTMLElement).focus();
    run();
  });
  remove.title = printable(`Remove ${file.name}`);
  remove.setAttribute("aria-label", remove.title);
  const isAlone = entries.filter((other) => other.sorted.kind === sorted.kind).length === 1;
  const hasChoice = !isFixed && !isAlone && ALTERNATIVES[sorted.kind].length > 1;
  return make(
    "li",
    role === undefined ? "unused" : "",
    hasChoice ? choice(entry, role) : make("span", "role", nameOf(sorted, role)),
    make("span", "name", file.name),
    make("span", sorted.why === undefined ? "about muted" : "about why muted", sorted.why ?? size(file.size)),
    remove,
  );
}

function nameOf(sorted: Sorted, role: Role | undefined): string {
  if (role === undefined) return "Not used";
  if (sorted.kind === "stream") return "Stream";
  return sorted.kind === "receipt" ? "Receipt" : NAMES[role];
}

/** Where several files could play a part, whoever brought them says which does. */
function choice(entry: Entry, role: Role | undefined): HTMLElement {
  const select = make("select", "role");
  for (const each of [...ALTERNATIVES[entry.sorted.kind], undefined]) {
    select.append(new Option(nameOf(entry.sorted, each), each ?? "", false, each === role));
  }
  select.setAttribute("aria-label", printable(`What ${entry.file.name} is`));
  select.addEventListener("change", () => {
    const chosen = ROLES.find((each) => each === select.value) ?? null;
    for (const other of entries) if (chosen !== null && other.chosen === chosen) delete other.chosen;
    entry.chosen = chosen;
    run();
  });
  return select;
}

function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

// What the reader knows

/** Of each field that was filled in what it says, as the verifier takes it. */
function known(): Pins {
  const given: Record<string, Pin> = {};
  for (const [name, value] of new FormData(find("expected", HTMLFormElement))) {
    if (typeof value !== "string" || value.trim() === "") continue;
    const pin = taken(name, value);
    given[typeof pin === "object" && isCommitted(name) ? `${name}s` : name] = pin;
  }
  const count = Object.keys(given).length;
  const badge = find("pinned", HTMLElement);
  badge.textContent = String(count);
  badge.hidden = count === 0;
  return given;
}

/** Whether there may be several, each with a commitment of its own. */
function isCommitted(name: string): boolean {
  return name === "input" || name === "output";
}

function taken(name: string, value: string): Pin {
  if (name === "challenge") return value;
  if (name === "after" || name === "before") return instant(value.trim().toUpperCase());
  if (name === "at_least" || name === "at_most") return byName(value, Number);
  if (isCommitted(name)) return byName(value, (text) => text.toLowerCase());
  return value.trim().toLowerCase();
}

/** A time, to which `:00` and `Z` are added where they are left out. */
function instant(text: string): string {
  const bare = text.replace(/Z$/, "");
  return `${/^[^T]*T\d\d:\d\d$/.test(bare) ? `${bare}:00` : bare}Z`;
}

/** Shows a complaint at the field that it is about, if it is about one, and no other. */
function complainAt(name: string | null, message: string): void {
  document.getElementById("complaint")?.remove();
  document.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
  const own = name === "inputs" || name === "outputs" ? name.slice(0, -1) : name;
  const field = own === null ? null : document.querySelector(`#expected [name="${CSS.escape(own)}"]`);
  if (!field) return;
  const complaint = make("p", "complaint", message);
  complaint.id = "complaint";
  field.after(complaint);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-errormessage", "complaint");
  find("pins", HTMLDetailsElement).open = true;
}
