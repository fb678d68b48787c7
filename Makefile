# Every target does its own set-up: a machine with Python 3.11 or newer and make is enough.
SHELL := /bin/sh
.DEFAULT_GOAL := help

PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python3.14; do \
	command -v $$python >/dev/null 2>&1 && \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && \
	{ echo $$python; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
# Two workers suit two cores; PYTEST_WORKERS=0 runs in one process.
PYTEST_WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(PYTEST_WORKERS)
ARGS ?=

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with venv is needed; say which with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BASE): $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(DEV): $(BASE)
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' > $(VENV)/dev.txt
	$(PIP) -e '.[html,sign,sweep,webhook]' -r $(VENV)/dev.txt
	@touch $@

.PHONY: demo
demo: $(BASE) ## the whole job on the packaged example cluster
	$(BIN)/policycheck demo

.PHONY: test
test: lint types ## all that has to hold before a merge; under ten minutes on two cores
	$(PYTEST) -m "not slow" $(ARGS)

.PHONY: lint
lint: $(DEV) ## style, format, and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

.PHONY: types
types: $(DEV) ## mypy, strict
	$(BIN)/mypy

.PHONY: conformance
conformance: $(DEV) ## agreement with recorded decisions: DIR=folder of .jsonl files, ARGS for its agree.py
	@test -n "$(DIR)" || { echo "say where the recorded decisions are: make conformance DIR=..." >&2; exit 2; }
	@test -f "$(DIR)/../agree.py" || { echo "no agree.py beside $(DIR)" >&2; exit 2; }
	$(BIN)/python "$(DIR)/../agree.py" $(BIN)/policycheck "$(DIR)"/*.jsonl $(ARGS)

.PHONY: bench
bench: $(DEV) ## seconds of each stage, and ratios to yamllint on the same files
	$(BIN)/python tests/bench/bench_lint.py $(ARGS)

.PHONY: mutation
mutation: $(DEV) ## manifests changed for the worse: which rules notice
	$(BIN)/python -m pytest tests/mutation -m "slow or not slow" -s $(ARGS)

.PHONY: deep
deep: $(DEV) ## long properties with new seeds, slow tests, mutation of the code
	HYPOTHESIS_PROFILE=deep $(PYTEST) -m "slow or not slow" $(ARGS)
	$(BIN)/python tests/deep/code_mutation.py --run

.PHONY: e2e
e2e: $(DEV) ## wheel, hook, action, and the webhook on a real API server, which needs Go and is built once
	$(BIN)/python -m tests.e2e.apiserver.build
	$(BIN)/python -m pytest tests/e2e -m "slow or not slow" $(ARGS)

.PHONY: docs
docs: $(BASE) ## pages that are made from the rules
	$(BIN)/policycheck rules docs

.PHONY: constraints
constraints: $(DEV) ## pin what is installed now
	{ sed -n 1p constraints.txt; $(BIN)/python -m pip freeze --exclude-editable --all \
		| grep -v -i -E '^(pip|setuptools|wheel|policycheck)\b'; } > constraints.new
	mv constraints.new constraints.txt

.PHONY: clean
clean: ## remove what these targets made
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .policycheck-cache mutants
