#!/usr/bin/env bash
# zenserve for this kind of machine and zenserve-client, into FOLDER: a wheel for systems with a C library as old as its symbols allow.
# What is published is built by .github/workflows/release.yml, for older ones and for both kinds of machines.
set -euo pipefail
folder=$(realpath -m "${1:?the folder to write to}")
cd "$(dirname "$0")/.."
PATH=$(realpath -s "$(dirname "${PYTHON:-.venv/bin/python}")"):$PATH
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$built" .
python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$folder" ./packages/client
python -m auditwheel repair --wheel-dir "$folder" "$built"/zenserve-*.whl
