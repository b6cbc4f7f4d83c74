# Everything a developer runs. On a bare Debian 12: `apt-get install make python3-venv`, then `make demo` or `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Each worker starts servers of its own; beyond four they only fight for the disk.
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 4 ? n : 4)))
PYTEST := $(BIN)/python -m pytest
ARGS ?=

# Programs of the machine that tests need; all else comes as wheels.
DEBIAN := python3-venv mariadb-server-core mariadb-client-core postgresql-15 postgresql-15-pgtap

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: venv
venv: $(VENV)/.dev ## The development environment in .venv, from requirements.lock

$(VENV)/.demo: pyproject.toml requirements.lock
	@$(call fresh-venv)
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml requirements.lock
	@$(call fresh-venv)
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]'
	@touch $@ $(VENV)/.demo

define fresh-venv
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11 $@"; exit 1; }; \
	$(PYTHON) -m venv $(VENV) || { echo "Run this once, as root: apt-get install python3-venv"; exit 1; }
endef

.PHONY: tools
tools:
	@if ! [[ -x /usr/lib/postgresql/15/bin/postgres && -f /usr/share/postgresql/15/extension/pgtap.control ]] \
	  || ! PATH="$$PATH:/usr/sbin" command -v mariadbd mariadb-install-db mariadb >/dev/null \
	  || ! $(PYTHON) -m ensurepip --version >/dev/null 2>&1; then \
	  if [[ $$(id -u) = 0 ]] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(DEBIAN) >/dev/null; \
	  else \
	    echo "The tests need more programs. Run this once, as root: apt-get install --no-install-recommends $(DEBIAN)"; exit 1; \
	  fi; \
	fi

.PHONY: test
test: tools $(VENV)/.dev ## All tests, on PostgreSQL 15 and 18, with a real MariaDB and a real broker
	$(PYTEST) -q -n $(WORKERS) $(ARGS)

.PHONY: lint
lint: $(VENV)/.dev ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: types
types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

.PHONY: format
format: $(VENV)/.dev ## ruff: mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: check
check: lint types test ## lint, types and test, as CI does

.PHONY: demo
demo: $(VENV)/.demo ## A real day's flights through the whole system, on private servers
	$(BIN)/msgx demo $(ARGS)

.PHONY: model
model: tools $(VENV)/.dev ## The model test at length: 100,000 messages against a plain Python model
	MSGX_MODEL_MESSAGES=$${MSGX_MODEL_MESSAGES:-100000} $(PYTEST) -q --timeout 0 -n $(WORKERS) tests/model $(ARGS)

.PHONY: chaos
chaos: tools $(VENV)/.dev ## The chaos tests at length: 200 kill -9, outages, races, while a day is written
	MSGX_CHAOS_KILLS=$${MSGX_CHAOS_KILLS:-200} $(PYTEST) -q --timeout 0 -s tests/chaos $(ARGS)

.PHONY: bench
bench: $(VENV)/.dev ## How fast it is on this machine, on private servers with fsync on
	$(BIN)/python -m tests.bench $(ARGS)

.PHONY: lock
lock: ## Write requirements.lock anew from pyproject.toml
	rm -rf .cache/lock && $(PYTHON) -m venv .cache/lock
	.cache/lock/bin/pip install --quiet --disable-pip-version-check '.[dev]'
	{ echo '# All versions, transitive ones too; made by `make lock` from pyproject.toml.'; \
	  .cache/lock/bin/pip freeze | grep -vi '^msgexchange'; } > requirements.lock
	rm -rf .cache/lock

.PHONY: clean
clean: ## Remove the environment, caches and demo data
	rm -rf $(VENV) .cache .demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
