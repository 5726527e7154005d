#!/usr/bin/env bash
# zenserve-client as npm takes it, and its bill of materials, into FOLDER. The same tree makes the same bytes.
set -euo pipefail
folder=$(realpath -m "${1:?the folder to write to}")
cd "$(dirname "$0")/.."
PATH=$(realpath -s "$(dirname "${PYTHON:-.venv/bin/python}")"):$PATH
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

umask 022 # npm packs files under the modes that they have
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
node web/node_modules/typescript/bin/tsc -p web/tsconfig.dist.json --outDir "$package/dist"
install -m 644 LICENSE packages/npm/README.md web/package.json "$package"
mkdir -p "$folder"
archive=$(cd "$package" && npm pack --silent --pack-destination "$folder")
# npm's own `--omit dev` (11.17) leaves out what a development dependency needs as well.
node --input-type=module --eval '
import { readFileSync, writeFileSync } from "node:fs";
for (const name of ["package.json", "package-lock.json"]) {
  const file = JSON.parse(readFileSync(`web/${name}`, "utf8"));
  const packages = Object.entries(file.packages ?? {}).filter(([, { dev }]) => !dev);
  if (file.packages) file.packages = Object.fromEntries(packages);
  for (const about of [file, file.packages?.[""]]) delete about?.devDependencies;
  writeFileSync(`${process.argv[1]}/${name}`, JSON.stringify(file));
}' "$package"
(cd "$package" && npm sbom --silent --sbom-format cyclonedx --package-lock-only) |
  node web/bill.ts > "$folder/$archive.cdx.json"
