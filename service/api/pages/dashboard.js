// Keeps what is marked data-live fresh, copies ids, and hands proofs to the page that verifies them. Pages say all they have to say without it.
"use strict";

const LATE = 6000;
const live = document.querySelector("[data-live]");
let heardAt = performance.now();
let shownAt = new Date();
let failing = false;

/** Make `old` like `fresh`, touching only what differs: focus, selection and opened details stay. */
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) return;
  if (old.nodeName === "CANVAS" || old.nodeName === "TEXTAREA") return;
  const kept = old.nodeName === "DETAILS" ? ["open"] : old.classList.contains("drawing") ? ["hidden"] : [];
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
  }
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const byKey = new Map([...old.children].filter((child) => child.dataset.key).map((child) => [child.dataset.key, child]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const keyed = byKey.get(wanted.dataset?.key);
    if (keyed && keyed !== at) {
      old.insertBefore(keyed, at);
      morph(keyed, wanted);
    } else if (!at || (!keyed && (wanted.dataset?.key || at.dataset?.key))) {
      old.insertBefore(wanted, at);
    } else {
      const next = at.nextSibling;
      morph(at, wanted);
      at = next;
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(5000), cache: "no-store" });
    if (new URL(answer.url).pathname === "/admin/login") return location.reload();
    if (!answer.ok) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById(live.id);
    const said = live.dataset.announce;
    morph(live, fresh);
    document.title = page.title;
    if (live.dataset.announce !== said) document.getElementById("announce").textContent = live.dataset.announce;
    heardAt = performance.now();
    shownAt = new Date(page.querySelector("[data-fresh] time")?.dateTime ?? Date.now());
    failing = false;
  } catch {
    failing = true;
  }
  tellAge();
}

function tellAge() {
  const age = performance.now() - heardAt;
  const stale = failing && age > LATE;
  document.body.classList.toggle("is-stale", stale);
  const text = document.querySelector("[data-fresh] span");
  if (text) text.textContent = `updated ${Math.round(age / 1000)} s ago`;
  const warning = document.querySelector(".stale");
  if (warning && warning.hidden === stale) {
    warning.textContent = `The service does not answer. This is how things were at ${shownAt.toISOString().slice(11, 19)} UTC.`;
    warning.hidden = !stale;
  }
}

async function keepFresh() {
  while (!("over" in live.dataset)) {
    await new Promise((done) => setTimeout(done, Number(live.dataset.live)));
    await refresh();
  }
}

if (live) {
  keepFresh();
  tellAge();
  setInterval(tellAge, 1000);
  document.addEventListener("visibilitychange", refresh);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.classList.add("copied");
  document.getElementById("announce").textContent = `Copied ${button.dataset.copy.slice(0, 12)}`;
  setTimeout(() => button.classList.remove("copied"), 1200);
});

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

// A form with files stays where it is when it is refused: a page loaded anew would have lost them.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-stays]");
  if (!form) return;
  event.preventDefault();
  const button = form.querySelector("button:not([type])");
  button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form) });
    if (answer.redirected) return location.assign(answer.url);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[data-stays]");
    if (fresh) morph(form, fresh);
    else document.getElementById("main").replaceWith(page.getElementById("main"));
    document.querySelector("[aria-invalid]")?.focus();
  } catch {
    form.submit();
  }
  button.disabled = false;
});

// The page that verifies asks nobody but whoever opened it.
addEventListener("message", async ({ origin, source, data }) => {
  const link = document.querySelector("[data-verify]");
  if (origin !== location.origin || data !== "zenserve-verify: which files?" || !link) return;
  const proof = await (await fetch(link.dataset.verify)).text();
  const id = JSON.parse(proof).statement.verification_key.id;
  const key = await (await fetch(`/v1/verification-keys/${id}`)).text();
  source.postMessage([new File([proof], "proof.json"), new File([key], "key.json")], location.origin);
});

document.querySelector("[data-filters]")?.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
});

document.querySelector("[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
