/** Makes a part of a page like another, touching only what differs: focus, selection and opened details stay. */

export function morph(old: ChildNode, fresh: ChildNode): void {
  if (old.nodeName !== fresh.nodeName) old.replaceWith(fresh);
  else if (old instanceof CharacterData && fresh instanceof CharacterData) {
    if (old.data !== fresh.data) old.data = fresh.data;
  } else if (old instanceof Element && fresh instanceof Element) {
    if (old.nodeName === "CANVAS" || old.nodeName === "TEXTAREA") return;
    morphAttributes(old, fresh);
    morphChildren(old, fresh);
  }
}

function morphAttributes(old: Element, fresh: Element): void {
  const kept = old.nodeName === "DETAILS" ? "open" : old.classList.contains("drawing") ? "hidden" : null;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== kept) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && name !== kept) old.setAttribute(name, value);
  }
}

function morphChildren(old: Element, fresh: Element): void {
  const byKey = new Map([...old.children].map((child) => [keyOf(child), child]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = keyOf(wanted);
    const keyed = key ? byKey.get(key) : undefined;
    if (keyed && keyed !== at) {
      old.insertBefore(keyed, at);
      morph(keyed, wanted);
    } else if (!at || (!keyed && (key || keyOf(at)))) {
      old.insertBefore(wanted, at);
    } else {
      const next: ChildNode | null = at.nextSibling;
      morph(at, wanted);
      at = next;
    }
  }
  while (at) {
    const next: ChildNode | null = at.nextSibling;
    at.remove();
    at = next;
  }
}

function keyOf(node: Node): string | null {
  return node instanceof Element ? node.getAttribute("data-key") : null;
}
