# Two commands matter to a newcomer: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install demo test check bench clean

install: $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/python -m examples.digits.demo

test: $(VENV)/.installed-dev check
	$(BIN)/python -m pytest --numprocesses logical --dist loadfile

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	$(BIN)/python -m bench.counts
	$(BIN)/python -m bench.cpu
	$(BIN)/python -m bench.segments
	$(BIN)/python -m bench.compiler
	$(BIN)/python -m bench.sharing
	$(BIN)/python -m bench.ezkl
	$(BIN)/python -m bench.schemes

clean:
	rm -rf $(VENV) build kernels/*.so

$(BIN)/python:
	@$(PYTHON) scripts/check_host.py
	$(PYTHON) -m venv $(VENV)

SOURCES := pyproject.toml $(shell find kernels -name '*.hpp' -o -name '*.cpp' -o -name CMakeLists.txt)

$(VENV)/.installed: $(BIN)/python $(SOURCES)
	@echo 'Installing and building the kernels: a minute or two, once.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python $(SOURCES)
	@echo 'Installing, and building the kernels: two minutes or three, once.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' \
		--config-settings=cmake.define.ZEN_EMULATED=ON
	@touch $(VENV)/.installed $@
