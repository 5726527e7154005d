/** The course of a stream: which labels its frames show, by which model each is, and which have no proof. */

import type { StreamVerification } from "../verifier/index.ts";
import { make } from "./elements.ts";

const SLOTS = 60;
/** Of the classes that are shown most, those with colours of their own. */
const COLOURED = 8;
const MOST_LISTED = 12;
const NOT_PROVEN = "without a proof";

type Labels = StreamVerification["labels"];

/** A part of a bar: its share, of `kind`. */
interface Share {
  readonly kind: string;
  readonly share: number;
}

export function courseShown(verdict: StreamVerification): HTMLElement {
  const { frames, labels, models, by_model: byModel, missed } = verdict;
  const size = Math.ceil(frames / SLOTS);
  const slots = <T>(all: readonly T[]): T[][] =>
    Array.from({ length: Math.ceil(frames / size) }, (_, slot) => all.slice(slot * size, (slot + 1) * size));
  const classes = mostShown(labels);
  const switches = switchesOf(models);
  const kinds = [...classes.map((_, place) => `class-${place}`), "bar-canceled"];
  const stacked = slots(labels).map((part) =>
    kinds.map((kind, place): Share => {
      const isOfIt = (label: number | null): boolean =>
        label !== null && (place < classes.length ? label === classes[place] : !classes.includes(label));
      return { kind, share: part.filter(isOfIt).length / part.length };
    }),
  );
  const strip = (kind: string, is: (model: number | null) => boolean): SVGElement => {
    const own = slots(models).map((part) => [{ kind, share: part.filter(is).length / part.length }]);
    const made = bars(own, "span tall");
    made.prepend(drawn("rect", { class: "track", width: "1000", height: "100" }));
    return made;
  };
  const chart = bars(stacked, "stack");
  for (const number of switches) {
    chart.append(drawn("path", { class: "switch", d: `M${((1000 * number) / frames).toFixed(1)} 0V100` }));
  }
  chart.setAttribute("role", "img");
  chart.setAttribute(
    "aria-label",
    `The share of each class among the labels, and ${switches.length} switches between models.`,
  );
  const rows = byModel.map((count, place) =>
    row(
      `model ${place}`,
      strip("used", (model) => model === place),
      count,
    ),
  );
  if (missed.length > 0)
    rows.push(
      row(
        NOT_PROVEN,
        strip("bar-failed", (model) => model === null),
        missed.length,
      ),
    );
  return make(
    "figure",
    "course",
    legend(classes, kinds, switches.length > 0),
    make("div", "stacked", chart, numbers(frames)),
    make("table", "strips", make("tbody", "", ...rows)),
    make("figcaption", "muted", ...told(verdict, switches)),
  );
}

/** The labels that most frames show, in order. */
function mostShown(labels: Labels): number[] {
  const counts = new Map<number, number>();
  for (const label of labels) if (label !== null) counts.set(label, (counts.get(label) ?? 0) + 1);
  const most = [...counts].sort(([, one], [, other]) => other - one).slice(0, COLOURED);
  return most.map(([label]) => label).sort((one, other) => one - other);
}

/** The frames that are by another model than the one with a proof before them. */
function switchesOf(models: StreamVerification["models"]): number[] {
  let before: number | null = null;
  return [...models.entries()].flatMap(([number, model]) => {
    if (model === null) return [];
    const isOther = before !== null && before !== model;
    before = model;
    return isOther ? [number] : [];
  });
}

function told({ changes, missed }: StreamVerification, switches: readonly number[]): string[] {
  const lists: [string, readonly number[]][] = [
    ["The classes changed at", changes],
    ["Another model took over at", switches],
    ["There is no proof of", missed],
  ];
  return lists.flatMap(([words, frames]) => (frames.length > 0 ? [`${words} ${listed(frames)}. `] : []));
}

/** Frames by their numbers, those in a row as one. */
function listed(frames: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const frame of frames) {
    const last = runs.at(-1);
    if (last?.[1] === frame - 1) last[1] = frame;
    else runs.push([frame, frame]);
  }
  const shown = runs
    .slice(0, MOST_LISTED)
    .map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`));
  const rest = runs.length > MOST_LISTED ? " and others" : "";
  return `frame${frames.length > 1 ? "s" : ""} ${shown.join(", ")}${rest}`;
}

function legend(classes: readonly number[], kinds: readonly string[], hasSwitches: boolean): HTMLElement {
  const swatch = (shape: SVGElement): SVGElement => {
    const made = drawn("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" });
    made.append(shape);
    return made;
  };
  const square = (kind: string): SVGElement =>
    swatch(drawn("rect", { class: kind, width: "10", height: "10" }));
  const items = classes.map((label, place) => make("li", "", square(kinds[place] ?? ""), `class ${label}`));
  if (classes.length === COLOURED) items.push(make("li", "", square("bar-canceled"), "others"));
  if (hasSwitches)
    items.push(make("li", "", swatch(drawn("path", { class: "switch", d: "M5 0V10" })), "another model"));
  return make("ul", "legend", ...items);
}

function numbers(frames: number): HTMLElement {
  const ends = make("p", "ends muted", make("span", "", "frame 0"), make("span", "", String(frames - 1)));
  ends.setAttribute("aria-hidden", "true");
  return ends;
}

function row(name: string, strip: SVGElement, count: number): HTMLElement {
  const head = make("th", "", name);
  head.scope = "row";
  return make(
    "tr",
    "",
    head,
    make("td", "", strip),
    make("td", "count", `${count.toLocaleString("en")} frame${count === 1 ? "" : "s"}`),
  );
}

/** Bars side by side, each of shares on top of one another. */
function bars(slots: readonly (readonly Share[])[], className: string): SVGElement {
  const made = drawn("svg", { class: className, viewBox: "0 0 1000 100", preserveAspectRatio: "none" });
  const wide = 1000 / slots.length;
  for (const [slot, shares] of slots.entries()) {
    let below = 0;
    for (const { kind, share } of shares) {
      below += share;
      if (share === 0) continue;
      made.append(
        drawn("rect", {
          class: kind,
          x: (slot * wide).toFixed(2),
          y: (100 * (1 - below)).toFixed(2),
          width: wide.toFixed(2),
          height: (100 * share).toFixed(2),
        }),
      );
    }
  }
  return made;
}

function drawn(name: string, attributes: Readonly<Record<string, string>>): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made as SVGElement;
}
