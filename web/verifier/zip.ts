/** The files in a ZIP archive, as numpy writes them: stored or deflated, neither encrypted nor beyond 4 GB. */

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;
const MOST_COMMENT = 0xffff;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;

/** By their names. Throws `RangeError`, and `TypeError` where what is deflated is cut or corrupt. */
export async function unzipped(data: Uint8Array): Promise<Map<string, Uint8Array>> {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const end = endOf(view);
  const files = new Map<string, Uint8Array>();
  let place = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    if (view.getUint32(place, true) !== ENTRY) throw new RangeError("its directory is not where it says");
    const length = view.getUint16(place + 28, true);
    const name = new TextDecoder().decode(part(data, place + ENTRY_BYTES, length));
    files.set(name, await contents(data, view, place));
    place += ENTRY_BYTES + length + view.getUint16(place + 30, true) + view.getUint16(place + 32, true);
  }
  return files;
}

/** Where the last record is, which has at most a comment behind it. */
function endOf(view: DataView): number {
  const last = view.byteLength - END_BYTES;
  for (let place = last; place >= Math.max(0, last - MOST_COMMENT); place -= 1) {
    if (view.getUint32(place, true) === END) return place;
  }
  throw new RangeError("it is no ZIP archive, or cut short");
}

function part(data: Uint8Array, start: number, length: number): Uint8Array {
  if (start + length > data.length) throw new RangeError("it is cut short");
  return data.subarray(start, start + length);
}

/** Of the file whose entry in the directory is at `place`. */
async function contents(data: Uint8Array, view: DataView, place: number): Promise<Uint8Array> {
  const [flags, method] = [view.getUint16(place + 8, true), view.getUint16(place + 10, true)];
  if (flags & ENCRYPTED || (method !== STORED && method !== DEFLATED)) {
    throw new RangeError("it is packed in ways that numpy does not use");
  }
  const [checksum, packed, size] = [16, 20, 24].map((offset) => view.getUint32(place + offset, true));
  const local = view.getUint32(place + 42, true);
  if (view.getUint32(local, true) !== LOCAL) throw new RangeError("a file is not where its directory says");
  const start = local + LOCAL_BYTES + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  const bytes = part(data, start, packed ?? 0);
  const file = method === STORED ? bytes : await inflated(bytes, size ?? 0);
  if (file.length !== size || crc32(file) !== checksum) throw new RangeError("a file in it is damaged");
  return file;
}

/** Throws `RangeError` once it has more than `size` bytes. */
async function inflated(data: Uint8Array, size: number): Promise<Uint8Array> {
  const stream = new Blob([Uint8Array.from(data)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > size) throw new RangeError("a file in it is longer than it says");
    parts.push(next.value);
  }
  const file = new Uint8Array(length);
  let at = 0;
  for (const each of parts) {
    file.set(each, at);
    at += each.length;
  }
  return file;
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
