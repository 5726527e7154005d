#!/bin/sh
# requirements/: each package that is installed, its version and the hashes of its files, for Python 3.11 and later.
# dev.txt is what CI tests; production.txt, gpu.txt and build.txt are what the image is made of, at the same versions.
set -eu
cd "$(dirname "$0")/.."

asked() {  # of pyproject.toml, without zenserve's own packages and extras, which are asked for beside them
  python3 -c "import sys, tomllib
p, client = (tomllib.load(open(f'{folder}pyproject.toml', 'rb')) for folder in ('', 'packages/client/'))
for name in sys.argv[1:]:
    both = {'build': 'build-system', 'run': 'project'}.get(name)
    key = 'requires' if name == 'build' else 'dependencies'
    found = [*p[both][key], *client[both][key]] if both else p['project']['optional-dependencies'][name]
    print(*(one for one in found if not one.startswith('zenserve')), sep='\n')" "$@"
}

lock() {  # NAME, of the requirements on standard input
  name=$1; shift
  uv pip compile --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-annotate \
    --custom-compile-command scripts/lock.sh --quiet --output-file "requirements/$name.txt" "$@" -
}

asked run service reference dev production gpu | lock dev --upgrade
asked run service production | lock production --constraint requirements/dev.txt
asked gpu | lock gpu --constraint requirements/dev.txt
{ asked build; printf 'cmake\nninja\n'; } | lock build
