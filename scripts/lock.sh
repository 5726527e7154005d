#!/bin/sh
# requirements/: each package that is installed, its version and the hashes of its files, for Python 3.11 and later.
# dev.txt is what CI tests; production.txt, gpu.txt and build.txt are what the image is made of, at the same versions.
set -eu
cd "$(dirname "$0")/.."

lock() {  # NAME, and what is asked for
  name=$1; shift
  uv pip compile --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-annotate \
    --no-emit-package zenserve-client --custom-compile-command scripts/lock.sh --quiet --output-file "requirements/$name.txt" "$@"
}

lock dev pyproject.toml --extra dev --extra production --extra gpu --upgrade
lock production pyproject.toml --extra production --constraint requirements/dev.txt
python3 -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))
print(*p['project']['optional-dependencies']['gpu'], sep='\n')" | lock gpu - --constraint requirements/dev.txt
python3 -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))
c = tomllib.load(open('packages/client/pyproject.toml', 'rb'))
print(*p['build-system']['requires'], *c['build-system']['requires'], 'cmake', 'ninja', sep='\n')" | lock build -
