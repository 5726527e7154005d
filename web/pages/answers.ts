/** Answers as the page shows them: one sentence first, what to do, and the rest folded. */

import type { ReceiptVerification, StreamVerification, Verification } from "../verifier/index.ts";
import { courseShown } from "./course.ts";
import { button, ident, make, sentence, shortened } from "./elements.ts";
import type { Content } from "./elements.ts";
import type { Missing, Role } from "./files.ts";
import type { Judged, Trouble } from "./work.ts";

type Single = Verification | ReceiptVerification;
type Verdict = Single | StreamVerification;

const SCHEMES: Readonly<Record<string, string>> = {
  registration: "Registration of a model",
  inference: "Inference",
  recognition: "Recognition",
  robustness: "Robustness",
  accuracy: "Accuracy on a dataset",
};

const LONG_ID = /[0-9a-f]{32,}/;
const ASK_ANEW = "It may hold, but it is not what you asked for. Ask for one that is.";
/** What to do about a document that is not valid, by the reason. */
const ADVICE: Readonly<Record<string, string>> = {
  chain_mismatch: ASK_ANEW,
  challenge_mismatch: ASK_ANEW,
  head_mismatch: ASK_ANEW,
  issuer_mismatch: ASK_ANEW,
  key_mismatch: "Rely on nothing in it until it is verified under a key that you trust.",
  setup_mismatch: ASK_ANEW,
  time_mismatch: ASK_ANEW,
};
const NAMES_BY_FILE = "Names of classes and columns are those of the table’s file. Nothing proves them.";
const ADVICE_ELSE = "Rely on nothing in it. Ask whoever handed it to you for the file as it was made.";

/** `seconds`: what it took. */
export function verdictShown({ verdict, pins, idle }: Judged, seconds: number): HTMLElement[] {
  const took = `Verified on this machine in ${seconds.toFixed(1)} s. Nothing was sent.`;
  if (!verdict.valid) {
    const isOfFrame = "frame" in verdict && verdict.frame !== null;
    const remedy = "remedy" in verdict ? verdict.remedy : null;
    const advice = remedy ?? (isOfFrame ? undefined : ADVICE[verdict.reason]) ?? ADVICE_ELSE;
    const [first, whole] = briefly(verdict.detail);
    return [
      card("bad", "✕", "Not valid", first, [
        ...(whole ? [make("p", "claim", ...sentence(whole))] : []),
        make("p", "", ...sentence(advice)),
        make("p", "foot muted", make("code", "", verdict.reason), ` · ${took}`),
      ]),
    ];
  }
  const foot = [
    ...(idle.length > 0
      ? [
          make(
            "p",
            "foot",
            `What you know of ${idle.join(", ")} was not compared: this is a ${kindOf(verdict)}.`,
          ),
        ]
      : []),
    make("p", "foot muted", took),
  ];
  if ("frames" in verdict) return streamShown(verdict, pins, foot);
  const isReceipt = "receipt" in verdict;
  const claim = isReceipt ? verdict.detail : (verdict.statement?.claim ?? verdict.detail);
  const named = "named" in verdict ? verdict.named : [];
  const [first, rest] = named[0] === undefined ? headed(claim) : [shortened(named[0]), claim];
  const isPinned = (isReceipt ? pins["issuer"] : pins["key"]) !== undefined;
  const shown = card("good", "✓", "Valid", first, [
    ...("statement" in verdict ? [challengeShown(verdict, pins)] : []),
    ...named.slice(1).map((each) => make("p", "claim", ...sentence(each))),
    ...(rest ? [make("p", "claim", ...sentence(rest))] : []),
    ...(named.length > 0 ? [make("p", "foot", NAMES_BY_FILE)] : []),
    ...(isPinned ? [] : [nextStep(verdict)]),
    ...foot,
  ]);
  return [shown, prose(verdict)];
}

function kindOf(verdict: Verdict): string {
  if ("frames" in verdict) return "stream";
  return "receipt" in verdict ? "receipt" : "proof";
}

/** What is in it, then the links of its chain, for whoever knows what they should be. */
function streamShown(
  verdict: StreamVerification,
  pins: Judged["pins"],
  foot: readonly HTMLElement[],
): HTMLElement[] {
  const [count, chain] = [verdict.verified.slice(0, 3), verdict.verified.slice(3)];
  const isCompared = pins["head"] !== undefined && pins["link"] !== undefined;
  const links = [
    ["first", verdict.head],
    ["last", verdict.link],
  ].map(([which, link]) => fact(`The chain’s ${which} link`, ident(link ?? "")));
  const next =
    "Bank and rules are what the file says. Compare how its chain begins with the stream that was agreed on, and how" +
    " it ends with what was published after the last frame:";
  const shown = card("good", "✓", "Valid", verdict.detail, [
    make("p", "claim", count.join(" ")),
    make("div", "next", ...(isCompared ? [] : [make("p", "", next)]), make("dl", "", ...links)),
    ...foot,
  ]);
  const course = verdict.frames > 0 ? [courseShown(verdict)] : [];
  return [
    shown,
    ...course,
    lists([
      ["Also verified", "yes", chain],
      ["Not verified", "no", verdict.not_verified],
    ]),
  ];
}

/** The first sentence of a claim, and the others; of an endless one its beginning, and all. */
function headed(claim: string): [string, string] {
  const end = claim.indexOf(". ") + 1;
  const first = end === 0 ? claim : claim.slice(0, end);
  const head = shortened(first);
  return head === first ? [first, claim.slice(first.length + 1)] : [head, claim];
}

/** A detail as a heading, and whole where that leaves something out: long ids, and what is behind them. */
function briefly(detail: string): [string, string] {
  if (!LONG_ID.test(detail)) return [detail, ""];
  const first = detail.slice(0, `${detail}. `.indexOf(". "));
  return [first.replaceAll(new RegExp(LONG_ID, "g"), (id) => `${id.slice(0, 8)}…`), detail];
}

/** Which question the proof answers: the reader may know it without having entered it. */
function challengeShown({ statement }: Verification, pins: Judged["pins"]): HTMLElement {
  const challenge = statement?.challenge ?? null;
  if (challenge === null) return make("p", "", "It answers no challenge: it may be an old proof.");
  const isYours = pins["challenge"] !== undefined;
  const whose = isYours ? "your challenge" : "the challenge";
  return make(
    "p",
    "",
    `It answers ${whose}, “${challenge}”${isYours ? "" : ": is it the one that you gave?"}`,
  );
}

function nextStep(verdict: Single): HTMLElement {
  if ("receipt" in verdict) {
    const from = "The issuer says so. Is it one that you trust? Compare its key with one that you know:";
    return make("div", "next", make("p", "", from), ident(verdict.receipt?.issuer ?? ""));
  }
  const to =
    "The key’s file words what is proven, and it holds for whoever trusts this key. Compare its id with one from" +
    " somebody that you trust:";
  // What the setup leaves to trust is the last that a statement does not say.
  const open = isWeak(verdict)
    ? [make("p", "foot", `It does not say: ${verdict.statement?.does_not_say.at(-1)}`)]
    : [];
  return make("div", "next", make("p", "", to), keyShown(verdict), ...open);
}

/** Whether one party made the key, or nobody knows who. That several did, the key may only say of itself. */
function isWeak({ verification_key: key }: Verification): boolean {
  return !["ceremony", "transparent"].includes(key.setup);
}

function keyShown(verdict: Verification): HTMLElement {
  const { id, setup } = verdict.verification_key;
  const badge = make("span", isWeak(verdict) ? "badge warn" : "badge", `setup: ${setup}`);
  return make("p", "key", ident(id), " ", badge);
}

function prose(verdict: Single): HTMLElement {
  const isProof = "statement" in verdict;
  const statement = isProof ? verdict.statement : null;
  const unsaid = new Set(statement?.does_not_say.filter((each) => verdict.not_verified.includes(each)));
  return lists(
    [
      ["Also verified", "yes", verdict.verified.filter((each) => each !== statement?.claim)],
      ["Not verified", "no", verdict.not_verified.filter((each) => !unsaid.has(each))],
      ["What the proof does not say", "no", [...unsaid]],
    ],
    folded("Particulars", "", make("dl", "", ...particulars(verdict))),
  );
}

/** Sentences by what they are, folded. */
function lists(
  all: readonly (readonly [title: string, mark: string, sentences: readonly string[]])[],
  ...rest: readonly HTMLElement[]
): HTMLElement {
  return make(
    "div",
    "prose",
    ...all
      .filter(([, , sentences]) => sentences.length > 0)
      .map(([title, mark, sentences]) => {
        const items = sentences.map((each) => make("li", "", ...sentence(each)));
        return folded(title, String(sentences.length), make("ul", mark, ...items));
      }),
    ...rest,
  );
}

function folded(title: string, count: string, content: HTMLElement): HTMLElement {
  return make("details", "", make("summary", "", title, " ", make("span", "count", count)), content);
}

function particulars(verdict: Single): HTMLElement[] {
  if ("receipt" in verdict) {
    const receipt = verdict.receipt;
    if (!receipt) return [];
    return rows([
      ["Issuer", receipt.issuer],
      ["Model", receipt.model_id],
      ["Name", receipt.name],
      ["Registered at", receipt.registered_at],
      ["Commitment to the model", receipt.commitment],
      ["Network", receipt.network],
      ["Version of", receipt.parent?.model_id],
      ["Registration’s statement", receipt.registration],
    ]);
  }
  const statement = verdict.statement;
  if (!statement) return [];
  return [
    fact("Verification key", keyShown(verdict)),
    ...rows([
      ["Kind", SCHEMES[statement.scheme] ?? statement.scheme],
      ["Challenge", statement.challenge ?? "none"],
      ["Made at, by its own word", statement.made_at],
      ["Network", statement.network],
      ...Object.entries(statement.commitments).map(([name, value]): Row => [
        `Commitment to the ${name}`,
        value,
      ]),
      ["Dataset", statement.dataset ? (statement.dataset.sha256 ?? "private") : null],
      ["Version of the model", statement.parent],
    ]),
  ];
}

type Row = [string, string | null | undefined];

function rows(facts: readonly Row[]): HTMLElement[] {
  return facts.flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    return [fact(name, /^[0-9a-f]{32,}$/.test(value) ? ident(value) : value)];
  });
}

function fact(name: string, value: Content): HTMLElement {
  return make("div", "", make("dt", "", name), make("dd", "", value));
}

const NEEDED: Readonly<Record<Missing["role"], { readonly what: string; readonly title: string }>> = {
  key: { what: "Key needed", title: "This proof names a key, which is not here." },
  registrationKey: { what: "Key needed", title: "The registration names a key, which is not here." },
  circuit: { what: "Circuit needed", title: "This proof’s key names a circuit, which is not here." },
  registrationCircuit: {
    what: "Circuit needed",
    title: "The registration’s key names a circuit, which is not here.",
  },
};

/** Of a stream's keys. */
const MOST_MISSING = 8;

/** `isServed`: whether the page comes from a service that may have it. */
export function missingShown({ role, ids, ofStream = false }: Missing, isServed: boolean): HTMLElement {
  const shown = ids.slice(0, MOST_MISSING);
  const isKey = role === "key" || role === "registrationKey";
  const file = isKey ? "the file of the key with this id" : "the circuit’s file";
  const several = ids.length > 1;
  const trust = isKey
    ? `Have ${several ? "them" : "it"} from somebody that you trust: whoever makes a key can make it for another circuit than it says.`
    : "Anybody’s will do, the key names it by its hash.";
  const known = shown.filter((id) => /^[0-9a-f]{64}$/.test(id));
  const { what, title } = NEEDED[role];
  const named = ofStream ? title.replace("This proof", "This stream") : title;
  return card("warn", "?", what, several ? named.replace("a key, which is", "keys, which are") : named, [
    ...shown.map((id) => make("p", "key", ident(shortened(id)))),
    make("p", "", several ? `Add the files of all ${ids.length}. ${trust}` : `Add ${file}. ${trust}`),
    ...(isServed ? known.map((id) => download(id, isKey)) : []),
  ]);
}

function download(id: string, isKey: boolean): HTMLElement {
  const link = make("a", "", `Download ${id.slice(0, 8)}… from this service`);
  link.href = `/v1/verification-keys/${id}${isKey ? "" : "/circuit"}`;
  link.download = `${isKey ? "key" : "circuit"}-${id.slice(0, 8)}.${isKey ? "json" : "zen"}`;
  return make(
    "p",
    "",
    link,
    isKey ? ", if it is one that you trust, and drop it here." : ", and drop it here.",
  );
}

/** `file`: the name of the one that is at fault; `role`: the part that it plays, or is to play. */
export function troubleShown(
  trouble: Trouble,
  role: Role | undefined,
  file: string | undefined,
): HTMLElement {
  const about = file === undefined ? [] : [`In ${file} · `];
  return card("warn", "!", "No verdict", shortened(trouble.message), [
    make("p", "", remedy(trouble, role, file)),
    make("p", "foot muted", ...about, make("code", "", trouble.code)),
  ]);
}

function remedy({ code, about }: Trouble, role: Role | undefined, file: string | undefined): string {
  if (code === "internal")
    return "The page failed, which says nothing of the proof. zenserve-verify may not.";
  if (code !== "request.invalid")
    return "Have this file again from whoever made it: it is damaged, or another.";
  if (file !== undefined && about !== "policy") return "Remove it, and all else is verified.";
  if (role !== undefined && file === undefined) return "Add that file, or remove the one that asks for it.";
  return "Correct it, or leave it out, and all else is verified.";
}

/** Where there are files, but none to verify. */
export function nothingShown(): HTMLElement {
  return card("wait", "…", "Proof needed", "Now the proof itself, or the receipt.", []);
}

export function canceledShown(again: () => void): HTMLElement {
  return card("wait", "–", "Canceled", "Nothing was verified.", [button("Verify", "", again)]);
}

function card(
  tone: string,
  symbol: string,
  word: string,
  first: string,
  rest: readonly HTMLElement[],
): HTMLElement {
  const mark = make("span", "symbol", symbol);
  mark.setAttribute("aria-hidden", "true");
  const title = make("h2", "", make("span", "word", word), " ", ...sentence(first));
  return make("div", `card ${tone}`, mark, make("div", "", title, ...rest));
}
