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
(cd web && npm sbom --silent --sbom-format cyclonedx --omit dev --package-lock-only) |
  node web/bill.ts > "$folder/$archive.cdx.json"
