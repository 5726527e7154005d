#!/usr/bin/env bash
# zenserve-client as PyPI takes it, and its bill of materials, into FOLDER. The same tree makes the same bytes.
set -euo pipefail
folder=$(realpath -m "${1:?the folder to write to}")
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

"$python" -m build --quiet --no-isolation --outdir "$folder" packages/client
wheel=$(basename "$folder"/zenserve_client-*.whl)
bill=${wheel%-py3-none-any.whl}.cdx.json
# Requirements have no graph, which the tool warns of: who asks for whom is in each package's metadata.
"$python" -W ignore::UserWarning -m cyclonedx_py requirements packages/client/requirements.txt \
  --pyproject packages/client/pyproject.toml --mc-type library --output-reproducible --output-file "$folder/$bill"
