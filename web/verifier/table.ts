/**
 * Tables with names: what the columns and classes of a model's table are called (`table.json`), and rows of cells.
 *
 * As Python's verifier has it (`verifier/table.py`, `verifier/csv_file.py`): the same entries, words and refusals.
 * Nothing proves what a description says. Errors name a column, and never quote a cell: it may be secret.
 */

import { ZenError } from "./errors.ts";
import { integer, list, nullable, object, oneOf, optional, real, text, textThat } from "./fields.ts";
import type { Read, Reader } from "./fields.ts";
import { canonical, Real } from "./json.ts";
import type { Json } from "./json.ts";
import { rounded } from "./lists.ts";

const FORMAT = "zenserve table";
const MOST_COLUMNS = 1 << 14;
const MOST_CATEGORIES = 1 << 16;
const MOST_SHOWN = 8;
const MISSING = new Set(["", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"]);
const NO_MISSING = "a value is missing, and the model takes none there";

type Category = string | number | boolean | null;

const label = textThat((given) => [...given].length <= 200, "a text of at most 200 characters");
const bool: Reader<boolean> = (value, place) => (typeof value === "boolean" ? value : onlyBoolean(place));
const category: Reader<Category> = (value, place) =>
  value === null || typeof value === "boolean" || typeof value === "string" ? value : real(value, place);

function onlyBoolean(place: string): never {
  throw new ZenError("file.json", `${place}: this must be true or false`, place);
}

const column = object({
  name: label,
  kind: optional(oneOf("number", "category"), "number" as const),
  missing: optional(list(real, 0, 2), []),
  flag: optional(bool, false),
  categories: optional(list(category, 0, MOST_CATEGORIES), []),
  unknown: optional(nullable(integer(0, Number.MAX_SAFE_INTEGER)), null),
});
type Column = Read<typeof column>;

const fields = object({
  format: oneOf(FORMAT),
  version: integer(1, 1),
  columns: optional(list(column, 0, MOST_COLUMNS), []),
  classes: optional(nullable(list(label, 0, MOST_CATEGORIES)), null),
  unproven: optional(nullable(text), null),
});
export type Table = Read<typeof fields>;

/** `table.json`. */
export const table: Reader<Table> = (value: Json | undefined, place) => {
  const read = fields(value, place);
  for (const [index, { kind, missing, flag, categories }] of read.columns.entries()) {
    const isCategory = kind === "category";
    const fits = isCategory === categories.length > 0 && !(isCategory && (missing.length > 0 || flag));
    if (!fits || (flag && missing.length === 0)) {
      throw new ZenError("file.json", `columns.${index}: it is wrong`, `columns.${index}`);
    }
  }
  return read;
};

/** How many entries a column becomes. */
function size({ missing, flag }: Column): number {
  return Math.max(1, missing.length) + Number(flag);
}

/** How many entries a row becomes. */
export function sizeOf({ columns }: Table): number {
  return columns.reduce((sum, each) => sum + size(each), 0);
}

/** What a label is called; null where it has no name. */
export function className({ classes }: Table, label: number): string | null {
  return classes?.[label] ?? null;
}

/** The cells of a row that a proof shows, of `scale`, as verifiers write them. */
export function cellsInWords({ columns }: Table, entries: readonly number[], scale: number | null): string[] {
  const digits = Math.max(0, -Math.ceil(Math.log10(scale ?? 1)));
  const power = Number(`1e${digits}`);
  let start = 0;
  return columns.map((each) => {
    const own = entries.slice(start, start + size(each)).map((entry) => rounded(entry * power) / power);
    start += size(each);
    return `${each.name} ${inWords(each, own)}`;
  });
}

function inWords({ kind, missing, flag, categories }: Column, entries: readonly number[]): string {
  const [first = 0] = entries;
  if (kind === "category") {
    const place = rounded(first);
    const found = categories[place];
    return found === undefined ? "another category" : categoryInWords(found);
  }
  const stands = missing.every((each, index) => Math.fround(entries[index] ?? NaN) === Math.fround(each));
  const isMissing = missing.length > 0 && stands && (!flag || (entries.at(-1) ?? 0) > 0.5);
  return isMissing ? "missing" : canonical(new Real(first));
}

function categoryInWords(found: Category): string {
  if (found === null) return "missing";
  if (typeof found === "string") return `"${found}"`;
  return typeof found === "number" ? canonical(new Real(found)) : String(found);
}

/** The one row of a CSV file as the entries of the network's input. `described`: null of a file of numbers alone. */
export function entriesOf(content: string, described: Table | null): number[] {
  const { names, rows, lines } = parsedCsv(content);
  const [row = []] = rows;
  if (rows.length !== 1) {
    throw wrong("input.shape", `the file has ${rows.length} rows; give the one of the proof`);
  }
  const at = (place: number | string): string =>
    `row ${lines[0]}, column ${typeof place === "string" ? quoted(place) : (names[place] && quoted(names[place])) || place + 1}`;
  if (described === null || described.columns.length === 0) {
    return row.map((cell, place) => {
      if (!isNumber(cell)) throw wrong("input.not_numeric", `${at(place)}: no number`);
      const value = numberOf(cell);
      if (!Number.isFinite(value)) throw wrong("input.not_finite", `${at(place)}: it must be finite`);
      return value;
    });
  }
  const own = described.columns.map(({ name }) => name);
  const shown = own.slice(0, MOST_SHOWN).map(quoted).join(", ");
  if (names.length === 0 && row.length !== own.length) {
    const why = `there is no line of names, and a row has ${row.length} cells: the columns are ${shown}`;
    throw wrong("input.shape", why);
  }
  const given = names.length === 0 ? own : names;
  const missing = own.filter((name) => !given.includes(name));
  if (missing.length > 0) {
    const without = missing.slice(0, MOST_SHOWN).map(quoted).join(", ");
    const more = own.length > MOST_SHOWN ? ", …" : "";
    throw wrong("input.names", `there is no column ${without}; the model's columns are ${shown}${more}`);
  }
  return described.columns.flatMap((each) => {
    const cell = row[given.indexOf(each.name)] ?? "";
    const refuse = (code: string, why: string): never => {
      throw wrong(code, `${at(each.name)}: ${why}`);
    };
    return each.kind === "category" ? [placeOf(each, cell, refuse)] : numbersOf(each, cell, refuse);
  });
}

type Refuse = (code: string, why: string) => never;

function placeOf({ categories: listed, unknown }: Column, cell: string, refuse: Refuse): number {
  const categories: readonly Category[] = listed;
  const value = valueOf(cell.trim());
  const isSame = (known: Category | undefined): boolean =>
    typeof value === "number"
      ? typeof known !== "string" && known !== null && Number(known) === value
      : false;
  const found = [
    categories.lastIndexOf(cell),
    typeof value === "boolean" ? categories.lastIndexOf(String(value)) : -1,
    typeof value === "boolean" ? categories.lastIndexOf(value) : -1,
    categories.findLastIndex(isSame),
    typeof value === "string" ? categories.lastIndexOf(value) : -1,
  ].find((place) => place >= 0);
  if (found !== undefined) return found;
  if (isMissing(cell)) {
    const place = categories.indexOf(null);
    return place >= 0 ? place : refuse("input.not_finite", NO_MISSING);
  }
  if (unknown !== null) return unknown;
  const shown = categories
    .slice(0, MOST_SHOWN)
    .map((each) => (typeof each === "string" ? quoted(each) : categoryInWords(each)));
  const more = categories.length > MOST_SHOWN ? ", …" : "";
  return refuse(
    "input.out_of_range",
    `it is none of the ${categories.length} categories: ${shown.join(", ")}${more}`,
  );
}

function numbersOf({ missing, flag }: Column, cell: string, refuse: Refuse): number[] {
  const flags = (is: number): number[] => (flag ? [is] : []);
  const value = valueOf(cell.trim());
  if (value === null || (typeof value === "string" && isMissing(value))) {
    return missing.length > 0 ? [...missing, ...flags(1)] : refuse("input.not_finite", NO_MISSING);
  }
  if (typeof value === "string") return refuse("input.not_numeric", "no number");
  const number = Number(value);
  if (!Number.isFinite(number)) return refuse("input.not_finite", "it must be finite");
  return [...Array<number>(Math.max(1, missing.length)).fill(number), ...flags(0)];
}

function isMissing(cell: string): boolean {
  return MISSING.has(cell.trim().toLowerCase());
}

/** A number, a truth value, null for NaN, or the text itself. */
function valueOf(cell: string): Category {
  if (/^(true|false)$/i.test(cell)) return cell.toLowerCase() === "true";
  if (!isNumber(cell)) return cell;
  const value = numberOf(cell);
  return Number.isNaN(value) ? null : value;
}

function isNumber(cell: string): boolean {
  return /^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)$/i.test(cell.trim());
}

function numberOf(cell: string): number {
  const bare = cell.trim().toLowerCase();
  if (bare.endsWith("nan")) return NaN;
  return /inf/.test(bare) ? (bare.startsWith("-") ? -Infinity : Infinity) : Number(bare);
}

interface Csv {
  readonly names: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The number of each row's last line in the file. */
  readonly lines: readonly number[];
}

function parsedCsv(content: string): Csv {
  const [head = ""] = content.split("\n", 1);
  const count = (delimiter: string): number => head.split(delimiter).length;
  const delimiter = [",", ";", "\t"].reduce((best, each) => (count(each) > count(best) ? each : best));
  const found = [...csvRows(content, delimiter)].filter(({ cells }) => cells.some((cell) => cell !== ""));
  const hasNames = found[0]?.cells.some((cell) => !isNumber(cell)) ?? false;
  const names = hasNames ? (found.shift()?.cells ?? []).map((name) => name.trim()) : [];
  if (found.length === 0) {
    unreadable(hasNames ? "there is no row below the line of names" : "it has no rows");
  }
  const width = hasNames ? names.length : (found[0]?.cells.length ?? 0);
  for (const { cells, line } of found) {
    if (cells.length !== width) {
      throw wrong("input.shape", `row ${line} has ${cells.length} cells, those above ${width}`);
    }
  }
  return { names, rows: found.map(({ cells }) => cells), lines: found.map(({ line }) => line) };
}

/** Rows of cells, which quotes may enclose; a quote within is written twice. */
function* csvRows(content: string, delimiter: string): Generator<{ cells: string[]; line: number }> {
  const cell =
    delimiter === "\t"
      ? /([^"\t\r\n][^\t\r\n]*|)/y
      : new RegExp(`([^"${delimiter}\\r\\n][^${delimiter}\\r\\n]*|)`, "y");
  const enclosed = /"((?:[^"]|"")*)"/y;
  const end = /\r\n|\n|\r/y;
  let [place, line] = [0, 1];
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = place;
    const match = pattern.exec(content);
    if (match) place = pattern.lastIndex;
    return match;
  };
  while (place < content.length) {
    const cells: string[] = [];
    do {
      const quotedCell = take(enclosed);
      if (quotedCell === null && content[place] === '"') unreadable(`line ${line}: a quote is not closed`);
      const own = quotedCell?.[1]?.replaceAll('""', '"') ?? take(cell)?.[1] ?? "";
      line += quotedCell ? own.split(/\r\n|\n|\r/).length - 1 : 0;
      cells.push(own);
    } while (content[place] === delimiter && (place += 1));
    if (place < content.length && take(end) === null) unreadable(`line ${line}: after a quote there is more`);
    yield { cells, line };
    line += 1;
  }
}

function unreadable(why: string): never {
  throw new ZenError(
    "input.unreadable",
    `this is neither a .npy or .npz file, JSON nor CSV: ${why}`,
    "input",
  );
}

function wrong(code: string, why: string): ZenError {
  return new ZenError(code, `input: ${why}`, "input");
}

function quoted(name: string): string {
  return `'${name}'`;
}
