# `make demo` and `make test` need Python 3.11 or newer and nothing else: all they install goes into .venv.
#
#   make demo                          a run that survives a lie and a kill; its plan proved, explained and checked
#   make test                          lint, types, import rules, and the tests that the commit draws
#   make docs                          build the pages in docs/ as a site, in site/; open site/index.html
#   make wheels                        build the sdist and the wheels, with machine code for each platform, in dist/
#   make test-all                      every part of the random and the heavy tests, and the slow oracles
#   make test TESTS="tests/htn -x"     the same, with arguments for pytest
#   make test PYTHON=python3.12        with an interpreter of your choice (after `make clean`)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
TESTS ?= tests
PYTHON ?= python3.13 python3.12 python3.11 python3 python3.14 python
# One more than there are processors: some tests wait for servers and processes.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1)
FITS := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

# What is imported is kept as bytecode, whatever the environment says: tests start Python hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all docs wheels clean

# The demo needs no machine code, but what a user does next may: make it then, once, and go on where it cannot be made.
demo: $(VENV)/installed
	@$(BIN)/forethought demo
	-@$(BIN)/forethought warm >/dev/null

test: $(VENV)/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	@# machine code is made and types are checked beside the tests
	@said=$$(mktemp); { $(BIN)/forethought warm >/dev/null && $(BIN)/mypy; } >$$said 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS); tests=$$?; \
	wait $$types; types=$$?; cat $$said; rm -f $$said; exit $$((tests | types))

test-all: $(VENV)/installed-test
	TESTED_PART=0 $(MAKE) test TESTS="-m '' tests"
	for part in 1 2; do TESTED_PART=$$part $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'drawn or heavy' tests || exit; done
	for part in 3 4 5 6 7 8 9 10 11; do TESTED_PART=$$part $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m drawn tests || exit; done

docs: $(VENV)-docs/installed
	NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build --strict --quiet
	@echo "the site is in site/: open site/index.html"

wheels: $(VENV)-wheels/installed
	$(VENV)-wheels/bin/python .packaging/wheels/make_wheels.py

clean:
	rm -rf $(VENV) $(VENV)-docs $(VENV)-wheels build dist site .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# A stamp is older than pyproject.toml when what must be installed may have changed.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[jit]'
	@touch $@

$(VENV)/installed-test: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test]'
	@touch $(VENV)/installed $@

# Zig's linker alone takes 400 MB: wheels are built in an environment of their own.
$(VENV)-wheels/installed: pyproject.toml
	$(MAKE) VENV=$(VENV)-wheels $(VENV)-wheels/bin/python
	$(VENV)-wheels/bin/python -m pip --quiet --disable-pip-version-check install --editable '.[wheels]'
	@touch $@

# What draws pages is no part of Forethought, nor of its tests.
$(VENV)-docs/installed: pyproject.toml
	$(MAKE) VENV=$(VENV)-docs $(VENV)-docs/bin/python
	$(VENV)-docs/bin/python -m pip --quiet --disable-pip-version-check install --editable '.[docs]'
	@touch $@

# The first interpreter that runs, is new enough and can make environments: a name on the PATH promises none of it.
$(BIN)/python:
	@for python in $(PYTHON); do \
	    if $$python -c '$(FITS)' >/dev/null 2>&1; then \
	        echo "making $(VENV) with $$($$python --version)"; \
	        $$python -m venv --clear $(VENV) && exit 0; \
	        rm -rf $(VENV); exit 1; \
	    fi; \
	done; \
	echo 'Forethought needs Python 3.11 or newer with its venv module, and none of these is one: $(PYTHON).' >&2; \
	echo 'Install it (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python@3.13),' >&2; \
	echo 'or name an interpreter: make PYTHON=/path/to/python3 $(MAKECMDGOALS)' >&2; \
	exit 1
