# Two commands matter to a newcomer: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# One more than there are processors: tests of services wait for a fifth of their time.
PROCESSES = $(shell expr $$(nproc) + 1)

# Tests start the service many times over: without it each process would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test test-all check bench web packages wheel site image image-test sanitize clean

install: $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/python -m examples.digits.demo

test: $(VENV)/.installed-dev web/node_modules/.installed check
	$(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder

# Those too that take too long or too much memory for every change: the large networks of the zoo.
test-all: $(VENV)/.installed-dev web/node_modules/.installed check
	$(BIN)/python -m pytest -m '' --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ./packages/client --editable '.[dev,bench]'
	$(BIN)/python -m bench.counts
	$(BIN)/python -m bench.cpu
	$(BIN)/python -m bench.segments
	$(BIN)/python -m bench.estimates
	$(BIN)/python -m bench.ceremony
	$(BIN)/python -m bench.compiler
	$(BIN)/python -m bench.sharing
	$(BIN)/python -m bench.ezkl
	$(BIN)/python -m bench.schemes
	$(BIN)/python -m bench.spartan
	$(BIN)/python -m bench.large
	$(BIN)/python -m bench.service

# The types of the API, and what service/api/pages has of web/'s making, anew: the tests compare.
web: $(VENV)/.installed-dev web/node_modules/.installed
	$(BIN)/python -m scripts.openapi | (cd web && ../$(BIN)/node schema.ts) > web/client/schema.new
	mv web/client/schema.new web/client/schema.ts
	$(BIN)/node web/build.ts

# What strangers install, ready to be published: docs/releasing.md.
packages: $(VENV)/.installed-dev web/node_modules/.installed
	rm -rf dist
	scripts/build_client.sh dist
	scripts/build_npm.sh dist
	cd dist && sha256sum *

# zenserve for this kind of machine; releases are built by .github/workflows/release.yml.
wheel: $(VENV)/.installed-dev
	scripts/build_wheel.sh dist

# The documentation as pages for any web server: build/site. A link or an anchor that is not there is an error.
site: $(VENV)/.installed-dev
	rm -rf build/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --nitpicky --doctree-dir build/site-doctrees docs build/site

# As root, with buildah and debootstrap: a few minutes, most of them once.
image:
	scripts/build_image.sh

image-test: image $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 0 tests/image/serves.py

# Address, undefined behaviour and races, in the scalar and in the vector source: a few minutes.
SANITIZE := build/sanitize
sanitize:
	mkdir -p $(SANITIZE)
	for lanes in '' '-DZEN_TARGET_X86_ADX -mbmi2 -madx -mavx2' -DZEN_LANES; do for what in address,undefined thread; do \
		$(CXX) -std=c++20 -O1 -g1 -Wno-psabi $$lanes -fsanitize=$$what -fno-sanitize-recover=all -Izenserve/kernels/include \
			tests/kernels/every_kernel.cpp -o $(SANITIZE)/every_kernel && $(SANITIZE)/every_kernel || exit 1; \
	done; done

clean:
	rm -rf $(VENV) build dist zenserve/kernels/*.so web/node_modules

$(BIN)/python:
	@$(PYTHON) scripts/check_host.py
	$(PYTHON) -m venv $(VENV)

SOURCES := pyproject.toml packages/client/pyproject.toml $(shell find zenserve/kernels -name '*.hpp' -o -name '*.cpp' -o -name CMakeLists.txt)

$(VENV)/.installed: $(BIN)/python $(SOURCES)
	@echo 'Installing and building the kernels: a minute or two, once.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ./packages/client --editable '.[service,reference]'
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python $(SOURCES)
	@echo 'Installing, and building the kernels: two minutes or three, once.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
		--editable ./packages/client --editable '.[dev]' \
		--config-settings=cmake.define.ZEN_EMULATED=ON
	@touch $(VENV)/.installed $@

# Where the registry cannot be reached, the tests of web/ are skipped, and say so.
web/node_modules/.installed: web/package-lock.json $(VENV)/.installed-dev
	cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error \
		&& touch node_modules/.installed || echo 'npm could not install the packages of web/: its tests are skipped.'
