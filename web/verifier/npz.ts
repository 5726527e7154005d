/**
 * Members of `.npz` files, by a grammar that has one reading (docs/formats.md, "Arrays of numbers"). verifier/npz.py refuses
 * the same files with the same words.
 */

import { concat, equal } from "./bytes.ts";

export const MAGIC = "PK";
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const DESCRIPTOR = 0x08074b50;
const ZIP64_LOCATOR = 0x07064b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;
const ZIP64_LOCATOR_BYTES = 20;
const ZIP64_SIZES = 1;
/** Ids of fields with times and owners of a file. */
const UNREAD_EXTRA = [0x000a, 0x5455, 0x7875];
const MAX_U16 = 0xffff;
const MAX_U32 = 0xffffffff;
const MAX_VERSION = 45;
const LATE_SIZES = 0x0008;
const UTF8 = 0x0800;
/** Those that a file may have; the last two are the level of compression. */
const FLAGS = LATE_SIZES | UTF8 | 0x0006;
const STORED = 0;
const DEFLATED = 8;
const UNUSUAL_NAME = /[\x00-\x1f\x7f\\]/;
const DISAGREE = "a file's header and its directory disagree";
const NON_ASCII = /[^\x00-\x7f]/;

/** A file in the directory. `common`: the bytes that its local header repeats. */
interface Entry {
  readonly common: Uint8Array;
  readonly checksum: number;
  readonly packed: number;
  readonly size: number;
  readonly name: Uint8Array;
  readonly flags: number;
  readonly method: number;
}

/** The files in an archive by their names, without `.npy`. Throws `RangeError`. */
export async function readMembers(data: Uint8Array): Promise<Map<string, Uint8Array>> {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const end = data.length - END_BYTES;
  if (!hasMark(view, end, END)) {
    throw new RangeError("it is no ZIP archive, it is cut short, or something follows its end record");
  }
  const [disk, firstDisk, here, count] = numbers16(view, end + 4, 4);
  const [size, start] = numbers32(view, end + 12, 2);
  const comment = view.getUint16(end + 20, true);
  if (hasMark(view, end - ZIP64_LOCATOR_BYTES, ZIP64_LOCATOR) || count === MAX_U16 || start === MAX_U32) {
    throw new RangeError("it is a ZIP64 archive");
  }
  if (disk || firstDisk || comment || here !== count || start + size !== end) {
    throw new RangeError("its end record is not that of one whole ZIP archive without a comment");
  }
  const files = new Map<string, Uint8Array>();
  const names = new Set<string>();
  let [place, at] = [0, start];
  for (let left = count; left > 0; left -= 1) {
    const { entry, next } = readEntry(data, view, at, end, place);
    const local = readLocal(data, view, place, start, entry);
    [place, at] = [local.next, next];
    const name = nameOf(entry);
    const short = name.replace(/\.npy$/, "");
    if (names.has(name) || names.has(short)) throw new RangeError("two files in it have one name");
    names.add(name).add(short);
    files.set(short, await unpacked(local.content, entry));
  }
  if (at !== end || place !== start) throw new RangeError("there are bytes that belong to no file in it");
  return files;
}

/** The entry at `at` in the directory, whose file must lie at `place`, and where the next one is. */
function readEntry(
  data: Uint8Array,
  view: DataView,
  at: number,
  end: number,
  place: number,
): { entry: Entry; next: number } {
  if (at + ENTRY_BYTES > end || !hasMark(view, at, ENTRY)) {
    throw new RangeError("its directory does not list as many files as it says");
  }
  const [version, flags, method] = numbers16(view, at + 6, 3);
  const [checksum, packed, size] = numbers32(view, at + 16, 3);
  const [nameBytes, extraBytes, comment, disk] = numbers16(view, at + 28, 4);
  if (flags & ~FLAGS || version > MAX_VERSION || (method !== STORED && method !== DEFLATED)) {
    throw new RangeError("it is packed in ways that numpy does not use");
  }
  if (disk || comment) throw new RangeError("a file in it has a comment, or lies in another archive");
  if (view.getUint32(at + 42, true) !== place) {
    throw new RangeError("its files do not follow one another in the order of its directory");
  }
  const next = at + ENTRY_BYTES + nameBytes + extraBytes;
  if (next > end) throw new RangeError("its directory does not list as many files as it says");
  const name = data.subarray(at + ENTRY_BYTES, next - extraBytes);
  if (zip64Fields(data.subarray(next - extraBytes, next)).length > 0) {
    throw new RangeError("a file in it has fields that numpy does not write");
  }
  const common = data.subarray(at + 6, at + 16);
  return { entry: { common, checksum, packed, size, name, flags, method }, next };
}

/** The bytes of the file whose header is at `place`, packed, and where the next one is. */
function readLocal(
  data: Uint8Array,
  view: DataView,
  place: number,
  start: number,
  entry: Entry,
): { content: Uint8Array; next: number } {
  if (place + LOCAL_BYTES > start || !hasMark(view, place, LOCAL)) {
    throw new RangeError("a file is not where its directory says");
  }
  const [nameBytes, extraBytes] = numbers16(view, place + 26, 2);
  const begin = place + LOCAL_BYTES + nameBytes + extraBytes;
  const after = begin + entry.packed;
  if (after > start) throw new RangeError("a file in it is cut short");
  const content = data.subarray(begin, after);
  const zip64 = zip64Fields(data.subarray(begin - extraBytes, begin));
  const isLate = (entry.flags & LATE_SIZES) !== 0;
  let [checksum, packed, size] = numbers32(view, place + 14, 3);
  const [long] = zip64;
  if (long !== undefined) {
    const isOnly = zip64.length === 1 && long.length === 16 && packed === MAX_U32 && size === MAX_U32;
    if (!isOnly) throw new RangeError(DISAGREE);
    [size, packed] = numbers64(long);
  }
  const agree =
    equal(data.subarray(place + 4, place + 14), entry.common) &&
    equal(data.subarray(place + LOCAL_BYTES, begin - extraBytes), entry.name) &&
    agrees(checksum, entry.checksum, isLate) &&
    agrees(packed, entry.packed, isLate) &&
    agrees(size, entry.size, isLate);
  const lengths = [entry.packed, entry.size].flatMap((each) => (long === undefined ? [each] : [each, 0]));
  const descriptor = isLate ? bytes32(DESCRIPTOR, entry.checksum, ...lengths) : new Uint8Array();
  const next = after + descriptor.length;
  if (!agree || next > start || !equal(data.subarray(after, next), descriptor))
    throw new RangeError(DISAGREE);
  return { content, next };
}

/** Whether a header states what the directory does. `isLate`: or 0, where a descriptor behind the file states it. */
function agrees(stated: number, value: number, isLate: boolean): boolean {
  return stated === value || (isLate && stated === 0);
}

/** What the fields with sizes in 64 bits hold. Throws `RangeError` for others than times and owners. */
function zip64Fields(data: Uint8Array): Uint8Array[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const fields: Uint8Array[] = [];
  for (let at = 0; at < data.length;) {
    const [kind = 0, length = 0] = at + 4 > data.length ? [MAX_U16, MAX_U16] : numbers16(view, at, 2);
    at += 4 + length;
    if (at > data.length || (kind !== ZIP64_SIZES && !UNREAD_EXTRA.includes(kind))) {
      throw new RangeError("a file in it has fields that numpy does not write");
    }
    if (kind === ZIP64_SIZES) fields.push(data.subarray(at - length, at));
  }
  return fields;
}

function nameOf({ name, flags }: Entry): string {
  const text = decoded(name);
  if (text === null || (!(flags & UTF8) && NON_ASCII.test(text))) {
    throw new RangeError("a file's name in it is not in its alphabet");
  }
  if (UNUSUAL_NAME.test(text)) {
    throw new RangeError("a file's name in it has a backslash or a control character");
  }
  return text;
}

function decoded(text: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(text);
  } catch {
    return null;
  }
}

async function unpacked(content: Uint8Array, { method, size, checksum }: Entry): Promise<Uint8Array> {
  const file = method === STORED ? content : await inflatedWhole(content, size);
  if (file?.length !== size || crc32(file) !== checksum) throw new RangeError("a file in it is damaged");
  return file;
}

/** As `inflated`, and null where bytes follow the stream: Node 24.11 ignores these, but not that a stream is cut short. */
async function inflatedWhole(data: Uint8Array, size: number): Promise<Uint8Array | null> {
  const endsBefore = (await inflated(data.subarray(0, -1), size)) !== null;
  return endsBefore ? null : inflated(data, size);
}

/** What a stream unpacks to, null where it is damaged or has more than `size` bytes. */
async function inflated(data: Uint8Array, size: number): Promise<Uint8Array | null> {
  const stream = new Blob([Uint8Array.from(data)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  try {
    let length = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      length += next.value.length;
      if (length > size) {
        await reader.cancel();
        return null;
      }
      parts.push(next.value);
    }
  } catch {
    return null;
  }
  return concat(...parts);
}

function hasMark(view: DataView, at: number, mark: number): boolean {
  return at >= 0 && at + 4 <= view.byteLength && view.getUint32(at, true) === mark;
}

type Four = [number, number, number, number];

function numbers16(view: DataView, at: number, count: number): Four {
  return numbers(count, (index) => view.getUint16(at + 2 * index, true));
}

function numbers32(view: DataView, at: number, count: number): Four {
  return numbers(count, (index) => view.getUint32(at + 4 * index, true));
}

/** Two integers of 64 bits, to the nearest double. */
function numbers64(data: Uint8Array): [number, number] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return [Number(view.getBigUint64(0, true)), Number(view.getBigUint64(8, true))];
}

/** `count` of them, then zeros. */
function numbers(count: number, read: (index: number) => number): Four {
  const [a = 0, b = 0, c = 0, d = 0] = Array.from({ length: count }, (_, index) => read(index));
  return [a, b, c, d];
}

/** Integers of 32 bits, little-endian. */
function bytes32(...values: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * values.length));
  values.forEach((value, index) => view.setUint32(4 * index, value, true));
  return new Uint8Array(view.buffer);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  return remainder;
});

function crc32(data: Uint8Array): number {
  let remainder = 0xffffffff;
  for (const byte of data) remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ byte) & 255] ?? 0);
  return ~remainder >>> 0;
}
