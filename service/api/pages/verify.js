// Sends a proof to /v1/verify and shows the answer. Whatever comes from a file or an answer becomes text,
// never markup.

const MOST_BYTES = 2 * 1024 * 1024;
const COMMITMENT = /^[0-9a-f]{96}$/;
const COMMITMENTS = { model: "model", input: "input", reference: "reference" };
const SETUPS = {
  development:
    "Made by a single party, who could forge proofs with what it may have kept. For trials, not for trust.",
  ceremony: "Made by several contributors: nobody can forge proofs if one in each phase was honest.",
  imported: "Made by another program, which alone can say how.",
};
const SCHEMES = {
  registration: "Registration of a model",
  inference: "Inference",
  recognition: "Recognition",
  accuracy: "Accuracy on a dataset",
};

const $ = (id) => document.getElementById(id);

class Trouble extends Error {
  constructor(title, text) {
    super(text);
    this.title = title;
  }
}

// The text of a JSON file, unchanged: parsed and written again, large numbers would not be the same.
async function readJson(file, what) {
  if (file.size > MOST_BYTES) {
    throw new Trouble(
      "The file is too large",
      `${file.name} has ${Math.ceil(file.size / 1048576)} MiB; ${what} here may have 2. ` +
        "zenserve-verify takes larger ones, on your own machine.",
    );
  }
  const text = await file.text();
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Trouble("The file is not JSON", `${file.name} cannot be read as ${what}.`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new Trouble("The file is something else", `${file.name} is JSON, but not ${what}.`);
  }
  return { text, value };
}

async function request() {
  const proof = await readJson($("proof").files[0], "a proof");
  if (proof.value.format !== "zenserve proof") {
    throw new Trouble("The file is not a proof", `It should be a “zenserve proof”, and is ${kindOf(proof.value)}.`);
  }
  const parts = [`"proof":${proof.text}`];
  const keyFile = $("key").files[0];
  if (keyFile) parts.push(`"verification_key":${(await readJson(keyFile, "a verification key")).text}`);
  const registration = $("registration").files[0];
  if (registration) parts.push(`"registration":${(await readJson(registration, "a registration")).text}`);
  parts.push(`"expected":${JSON.stringify(expected())}`);
  return `{${parts.join(",")}}`;
}

function kindOf(value) {
  if (typeof value.format === "string") return `a “${value.format}”`;
  if (value.key && value.circuit) return "a verification key: give that under “Compare with what you know”";
  return "something else";
}

function expected() {
  const known = {};
  if ($("challenge").value) known.challenge = $("challenge").value;
  for (const [name, label] of Object.entries(COMMITMENTS)) {
    const value = $(name).value.trim().toLowerCase();
    if (!value) continue;
    if (!COMMITMENT.test(value)) {
      $("more").open = true;
      $(name).focus();
      throw new Trouble("This is no commitment", `The commitment to the ${label} must be 96 hexadecimal digits.`);
    }
    known[name] = value;
  }
  return known;
}

async function ask(body) {
  let response;
  try {
    response = await fetch("/v1/verify", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      credentials: "omit",
    });
  } catch {
    throw new Trouble(
      navigator.onLine ? "The service does not answer" : "You are offline",
      "The proof was not verified. Try again when you are connected.",
    );
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw refusal(response, answer);
  return answer;
}

function refusal(response, problem) {
  const detail = problem.detail ?? `The service answered with status ${response.status}.`;
  const wait = response.headers.get("Retry-After");
  const later = wait ? ` Try again in ${wait} second${wait === "1" ? "" : "s"}.` : " Try again later.";
  switch (response.status) {
    case 404:
      $("more").open = true;
      return new Trouble(
        "The key is not known here",
        "This service does not have the verification key that the document names. Give the key's file above.",
      );
    case 413:
      return new Trouble("The file is too large", detail);
    case 429:
      return new Trouble("Too many proofs from your address", `The proof was not verified.${later}`);
    case 503:
      return new Trouble("The service is busy", `The proof was not verified.${later}`);
    case 422: {
      const aboutKey = problem.code?.startsWith("file.") || problem.field?.startsWith("verification_key");
      return new Trouble(aboutKey ? "The key cannot be used" : "The file is not a proof as it should be", detail);
    }
    default: {
      const number = problem.request_id ? ` (${problem.request_id})` : "";
      return new Trouble("The proof was not verified", `${detail}${number}`);
    }
  }
}

function show(answer, keyWasGiven) {
  $("verdict").className = `verdict ${answer.valid ? "good" : "bad"}`;
  $("symbol").textContent = answer.valid ? "✓" : "✕";
  $("verdict-title").textContent = answer.valid ? "The proof is valid" : "The proof is not valid";
  $("verdict-text").textContent = answer.valid
    ? "It proves what the claim below says, to whoever trusts the key below."
    : answer.detail;
  $("reason").replaceChildren(
    ...(answer.valid
      ? [setupBadge(answer.verification_key.setup)]
      : ["Nothing in the document can be relied on. Reason: ", element("code", answer.reason)]),
  );
  $("statement").hidden = !answer.valid;
  const statement = answer.statement;
  if (answer.valid) {
    const unsaid = new Set(statement.does_not_say);
    $("claim").textContent = statement.claim;
    list("verified", answer.verified.filter((sentence) => sentence !== statement.claim));
    list("open", answer.not_verified.filter((sentence) => !unsaid.has(sentence)));
    list("unsaid", statement.does_not_say);
  }
  $("facts").replaceChildren(...facts(answer.verification_key, statement, keyWasGiven));
  $("result").hidden = false;
  $("verdict-title").focus();
}

function list(id, sentences) {
  $(id).replaceChildren(
    ...sentences.map((sentence) => {
      const item = document.createElement("li");
      // Ids and commitments in the sentences are set as what they are.
      for (const part of sentence.split(/([0-9a-f]{64,})/)) {
        item.append(/^[0-9a-f]{64,}$/.test(part) ? element("code", part) : part);
      }
      return item;
    }),
  );
}

function setupBadge(setup) {
  return element("span", `setup: ${setup}`, `badge ${setup === "ceremony" ? "good" : "warn"}`);
}

function facts(key, statement, keyWasGiven) {
  const from = keyWasGiven ? "This is the key that you gave." : "This service has the key by the document's word.";
  const rows = [
    fact(
      "Verification key",
      element("code", key.id),
      element("p", `${from} Compare this id with that of the key you trust: under another key, the proof says nothing.`),
      setupBadge(key.setup),
      element("p", SETUPS[key.setup] ?? ""),
    ),
  ];
  if (!statement) return rows;
  rows.push(fact("Kind", SCHEMES[statement.scheme] ?? statement.scheme));
  rows.push(
    fact(
      "Challenge",
      statement.challenge ?? "none",
      ...(statement.challenge ? [] : [element("p", "The proof answers nobody in particular: it may be an old one.")]),
    ),
  );
  rows.push(fact("Made at", moment(statement.made_at), element("p", "By the word of whoever made the proof.")));
  rows.push(fact("Network", element("code", statement.network)));
  for (const [name, commitment] of Object.entries(statement.commitments)) {
    rows.push(fact(`Commitment to the ${name}`, element("code", commitment)));
  }
  if (statement.dataset) {
    rows.push(fact("Dataset", element("code", statement.dataset.sha256 ?? "private")));
  }
  if (statement.parent) rows.push(fact("Made from the model", element("code", statement.parent)));
  return rows;
}

function fact(name, ...value) {
  const row = document.createElement("div");
  const description = document.createElement("dd");
  description.append(...value);
  row.append(element("dt", name), description);
  return row;
}

function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function moment(text) {
  const when = new Date(text);
  if (Number.isNaN(when.getTime())) return text;
  const shown = when.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "medium", timeZone: "UTC" });
  return `${shown} UTC`;
}

function complain(trouble) {
  $("trouble-title").textContent = trouble.title ?? "The page failed";
  $("trouble-text").textContent = trouble.message;
  $("trouble").hidden = false;
}

// Only the latest choice is shown, however the answers come in.
let latest = 0;

async function verify() {
  const file = $("proof").files[0];
  if (!file) return;
  const mine = ++latest;
  $("drop-title").textContent = file.name;
  $("chosen").textContent = "Choose or drop another file to verify that one.";
  $("again").disabled = false;
  for (const id of ["trouble", "result"]) $(id).hidden = true;
  $("working").hidden = false;
  const keyWasGiven = $("key").files.length > 0;
  try {
    const answer = await ask(await request());
    if (mine === latest) show(answer, keyWasGiven);
  } catch (error) {
    if (mine === latest) complain(error);
  } finally {
    if (mine === latest) $("working").hidden = true;
  }
}

// The dashboard's pages name a proof, which their visitor may fetch: it comes into the field as if chosen.
async function carry(id) {
  const answer = await fetch(`/admin/jobs/${encodeURIComponent(id)}/proof`);
  if (!answer.ok || answer.redirected) {
    throw new Trouble("The proof could not be fetched", `${id} is only for who may see it: log in at /admin, or drop its file here.`);
  }
  const carried = new DataTransfer();
  carried.items.add(new File([await answer.blob()], `${id}.json`));
  $("proof").files = carried.files;
  await verify();
}

const asked = new URLSearchParams(location.search).get("proof");
if (asked) carry(asked).catch(complain);

$("proof").addEventListener("change", verify);
for (const id of ["key", "registration"]) $(id).addEventListener("change", verify);
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  verify();
});
for (const kind of ["dragenter", "dragover"]) {
  $("drop").addEventListener(kind, () => $("drop").classList.add("over"));
}
for (const kind of ["dragleave", "drop"]) {
  $("drop").addEventListener(kind, () => $("drop").classList.remove("over"));
}
