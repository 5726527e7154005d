#!/bin/sh
# Node.js 20.19.0: `DecompressionStream` takes a deflate stream with other bytes behind it; Node.js 24.19.0 does not.
#
# The Compression Streams standard has it that bytes behind the end are a TypeError. In Node 20.19.0, and in 24.11.0 still,
# the promise resolves to what was packed, and nobody learns of the rest. Who has to know that a stream is all of a buffer
# can unpack the buffer without its last byte, too: that must fail.
#
# Seen: "20.19.0: read as hello; 24.19.0: TypeError".
# Needs npm. Exit status: 0 while this is so, 1 when it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/read.mjs" <<'JAVASCRIPT'
import { deflateRawSync } from "node:zlib";

const data = Buffer.concat([deflateRawSync(Buffer.from("hello")), Buffer.from([0])]);
const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
const found = await new Response(stream).text().then((text) => `read as ${text}`, (error) => error.name);
console.log(`${process.versions.node}: ${found}`);
JAVASCRIPT
for version in 20.19.0 24.19.0; do
    mkdir "$folder/$version"
    (cd "$folder/$version" && npm init --yes >/dev/null && npm install --silent "node@$version" >/dev/null)
    "$folder/$version/node_modules/.bin/node" "$folder/read.mjs" >> "$folder/found"
done
paste -sd ';' "$folder/found" | sed 's/;/; /'
[ "$(cat "$folder/found")" = "20.19.0: read as hello
24.19.0: TypeError" ]
