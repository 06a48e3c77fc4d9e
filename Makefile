# `make demo` and `make test` need Python 3.11 or newer and nothing else: all they install goes into .venv.
#
#   make demo                          plan something, see it proved, explained and checked
#   make test                          lint, types, import rules, and the tests that the commit draws
#   make test-all                      every third of the random tests, and the slow oracles
#   make test TESTS="tests/htn -x"     the same, with arguments for pytest
#   make test PYTHON=python3.12        with an interpreter of your choice (after `make clean`)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
TESTS ?= tests
PYTHON ?= python3.13 python3.12 python3.11 python3 python3.14 python
FITS := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

.PHONY: demo test test-all clean

demo: $(VENV)/installed
	@$(BIN)/forethought demo

test: $(VENV)/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	@# types are checked beside the tests
	@said=$$(mktemp); $(BIN)/mypy >$$said 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n auto --dist worksteal $(TESTS); tests=$$?; \
	wait $$types; types=$$?; cat $$said; rm -f $$said; exit $$((tests | types))

test-all: $(VENV)/installed-test
	TESTED_PART=0 $(MAKE) test TESTS="-m '' tests"
	TESTED_PART=1 $(BIN)/python -m pytest -n auto --dist worksteal -m drawn tests
	TESTED_PART=2 $(BIN)/python -m pytest -n auto --dist worksteal -m drawn tests

clean:
	rm -rf $(VENV) build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# A stamp is older than pyproject.toml when what must be installed may have changed.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/installed-test: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test]'
	@touch $(VENV)/installed $@

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
