/** The page's elements, found and made. Text from elsewhere becomes text, never markup. */

export type Content = Node | string;

/** The element of this id, found to be of this type. */
export function find<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new TypeError(`the page has no #${id} of that type`);
  return found;
}

/** Text fit to show: characters that do something to it, or are not seen, are shown to be there. */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");
}

const MOST_SHOWN = 400;

/** Text with words from a file, which may be of any length. */
export function shortened(text: string): string {
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}…`;
}

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className: string,
  ...content: readonly Content[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content.map((part) => (typeof part === "string" ? printable(part) : part)));
  return made;
}

/** A sentence in which ids and commitments are set as what they are, and no line ends within a name. */
export function sentence(text: string): Content[] {
  return text.split(/([0-9a-f]{32,}|SHA-256)/).map((part, index) => {
    if (index % 2 === 0) return part;
    return part === "SHA-256" ? make("span", "whole", part) : make("code", "", part);
  });
}

export function button(label: string, className: string, act: () => void): HTMLButtonElement {
  const made = make("button", className, label);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** An id, and what copies it where the browser allows that. */
export function ident(text: string): HTMLElement {
  const shown = make("span", "ident", make("code", "", text));
  if (!isSecureContext) return shown;
  const copy = button("Copy", "small", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
  copy.setAttribute("aria-label", `Copy ${printable(text.slice(0, 12))}`);
  shown.append(" ", copy);
  return shown;
}
