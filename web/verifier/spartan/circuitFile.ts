/** Circuits from files (docs/formats.md), which may be anybody's. */

import { sha256 } from "@noble/hashes/sha2.js";
import { concat, equal } from "../bytes.ts";
import { ZenError } from "../errors.ts";
import { checked, fault, integer, object } from "../fields.ts";
import { parse } from "../json.ts";
import { at } from "../lists.ts";
import { SCALAR_MODULUS } from "../points.ts";
import { checkPreamble, PREAMBLE_BYTES, STATEMENT } from "../preamble.ts";
import { Circuit, rowsOf } from "./circuit.ts";
import type { Block, Matrix } from "./circuit.ts";
import { ELEMENT_BYTES, fromBytes } from "./field.ts";

const ALIGNMENT = 64;
const PREFIX = 64;
const HASHED = 32;
/** Variables that no row reads take no bytes: not more than so many, or than there are entries. */
const MOST_UNREAD = 1 << 16;
/** Of each section the bytes of an item. */
const WIDTHS = {
  counts: 8,
  segments: 8,
  names: 1,
  shapes: 24,
  offsets: 8,
  columns: 4,
  coefficients: 4,
  pool: ELEMENT_BYTES,
  description: 1,
} as const;
type Section = keyof typeof WIDTHS;
const count = integer(0, Number.MAX_SAFE_INTEGER);
/** How many items each section has, in the file's order. */
const header = checked(
  object({
    counts: count,
    segments: count,
    names: count,
    shapes: count,
    offsets: count,
    columns: count,
    coefficients: count,
    pool: count,
    description: count,
  }),
  (counts, place) => {
    if (Object.keys(counts).join() !== Object.keys(WIDTHS).join()) fault(place, "the order is another");
  },
);
type Sections = Readonly<Record<Section, Uint8Array>>;

/** The circuit that these bytes are the file of. Throws `ZenError` (`file.*`). */
export function readCircuit(data: Uint8Array): Circuit {
  const sections = sectionsOf(data);
  const [counts, flags] = [numbers(sections.counts), halves(sections.segments)];
  const segments = Array.from({ length: flags.length / 2 }, (_, index) => {
    const [size, linked] = [flags[2 * index] ?? 0, flags[2 * index + 1] ?? 0];
    require(linked <= 1, "counts");
    return [size, linked === 1] as const;
  });
  require(counts.length === 3, "counts");
  const [shown, challenges, hidden] = [at(counts, 0), at(counts, 1), at(counts, 2)];
  const matrices = matricesOf(sections);
  require(matrices.length % 3 === 0, "shapes");
  const blocks = Array.from({ length: matrices.length / 3 }, (_, index): Block => {
    const block = [
      at(matrices, 3 * index),
      at(matrices, 3 * index + 1),
      at(matrices, 3 * index + 2),
    ] as const;
    require(new Set(block.map(rowsOf)).size === 1, "shapes");
    return block;
  });
  const instance = 1 + shown + challenges;
  const blinding = new Set<number>();
  let variables = instance;
  for (const [size] of segments) {
    variables += size + 1;
    blinding.add(variables - 1);
  }
  variables += hidden;
  const columns = halves(sections.columns);
  require(variables <= MOST_UNREAD + columns.length, "counts");
  require(columns.every((column) => column < variables && !blinding.has(column)), "columns");
  return new Circuit({ public: shown, challenges, segments, private: hidden }, blocks);
}

function sectionsOf(data: Uint8Array): Sections {
  checkPreamble(data, STATEMENT);
  if (data.length < PREFIX) {
    throw new ZenError("file.length", `the file is cut short after ${data.length} bytes`);
  }
  const [headerLength, length] = numbers(data.subarray(PREAMBLE_BYTES, HASHED));
  if (data.length !== length || headerLength === undefined) {
    throw new ZenError("file.length", `the file has ${data.length} bytes, its header says ${length}`);
  }
  const hash = sha256(concat(data.subarray(0, HASHED), data.subarray(PREFIX)));
  if (!equal(hash, data.subarray(HASHED, PREFIX))) {
    throw new ZenError("file.hash", "the file is corrupt: its SHA-256 does not match");
  }
  let end = PREFIX + headerLength;
  const counts = countsOf(data.subarray(PREFIX, end));
  const section = (name: Section): Uint8Array => {
    const start = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    end = start + counts[name] * WIDTHS[name];
    if (end > data.length) {
      throw new ZenError("file.header", `section ${name} does not fit into the file`, name);
    }
    return data.subarray(start, end);
  };
  // In their order.
  const sections = {
    counts: section("counts"),
    segments: section("segments"),
    names: section("names"),
    shapes: section("shapes"),
    offsets: section("offsets"),
    columns: section("columns"),
    coefficients: section("coefficients"),
    pool: section("pool"),
    description: section("description"),
  };
  if (end !== data.length) {
    throw new ZenError("file.header", `${data.length - end} bytes follow the last section`);
  }
  return sections;
}

function countsOf(text: Uint8Array): Readonly<Record<Section, number>> {
  try {
    return header(parse(text), "");
  } catch (error) {
    if (!(error instanceof ZenError)) throw error;
    throw new ZenError("file.header", "the header does not map the sections to counts");
  }
}

function matricesOf(sections: Sections): Matrix[] {
  const [shapes, offsets] = [numbers(sections.shapes), numbers(sections.offsets)];
  const [columns, coefficients] = [halves(sections.columns), halves(sections.coefficients)];
  const pool = fromBytes(sections.pool);
  require(pool.every((value) => value < SCALAR_MODULUS), "pool");
  require(coefficients.length === columns.length, "coefficients");
  const matrices: Matrix[] = [];
  let [place, entry, constant] = [0, 0, 0];
  for (let index = 0; index < shapes.length; index += 3) {
    const [rows, entries, constants] = [at(shapes, index), at(shapes, index + 1), at(shapes, index + 2)];
    const matrix = {
      offsets: offsets.slice(place, place + rows + 1),
      columns: columns.subarray(entry, entry + entries),
      coefficients: coefficients.subarray(entry, entry + entries),
      pool: pool.slice(constant, constant + constants),
    };
    [place, entry, constant] = [place + rows + 1, entry + entries, constant + constants];
    require(matrix.offsets.length === rows + 1 && matrix.columns.length === entries, "shapes");
    require(constant <= pool.length, "shapes");
    require(areOffsets(matrix.offsets, entries), "offsets");
    require(matrix.coefficients.every((each) => each < constants), "coefficients");
    matrices.push({ ...matrix, offsets: Float64Array.from(matrix.offsets) });
  }
  require(place === offsets.length && entry === columns.length && constant === pool.length, "shapes");
  return matrices;
}

function areOffsets(offsets: readonly number[], entries: number): boolean {
  return (
    offsets[0] === 0 &&
    offsets.at(-1) === entries &&
    offsets.every((each, row) => row === 0 || at(offsets, row - 1) <= each)
  );
}

/** Integers of 8 bytes; those from 2^53 on are too many of anything. */
function numbers(data: Uint8Array): number[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return Array.from({ length: data.length / 8 }, (_, index) => Number(view.getBigUint64(8 * index, true)));
}

/** Integers of 4 bytes. */
function halves(data: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(data).buffer);
}

function require(holds: boolean, section: string): void {
  if (!holds) throw new ZenError("file.shape", `${section} does not fit the rest of the circuit`, section);
}
