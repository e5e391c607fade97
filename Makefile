# Everything runs in .venv, which is made from pyproject.toml and updated when that changes:
# by uv where it is on the PATH, else by venv and pip (25.1, which it is brought to: older ones read
# no dependency groups). Both use their own settings for indexes.
#
#   make PYTHON=python3.13 test     with another interpreter (for a new .venv)
#   make test ARGS="-k recall"      with further arguments for pytest

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-lowest check fix docs bench recall conformance kills clean

ENV := .venv
BIN := $(ENV)/bin
PYTHONS := python3.11 python3.12 python3.13
PACKAGES := --editable ./conformance --editable '.[mcp,postgres]'
MARKS := -m "not slow"
CACHES := .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(ENV)/installed ## A coffee shop's assistant that remembers its customer; needs no key
	$(BIN)/python -m examples.coffee_shop

# Many tests start processes: what those import is compiled once, whatever the caller's setting.
test: export PYTHONDONTWRITEBYTECODE =
test: $(ENV)/installed ## All tests but the slow ones, with the examples of the documentation
	$(BIN)/python -m pytest -n auto --dist worksteal $(MARKS) $(ARGS)

# Each Python has an environment of its own, beside .venv.
test-all: ## All tests, the slow ones too, on each Python from 3.11 to 3.13 on the PATH
	@for python in $(PYTHONS); do \
		$$python -c '' 2>/dev/null || { echo "$$python: not on the PATH, not tested"; continue; }; \
		echo "$$python:"; \
		$(MAKE) test ENV=.venv-$$python PYTHON=$$python MARKS='-m "slow or not slow"' || exit 1; \
	done

test-lowest: ## All tests, with the lowest versions that pyproject.toml allows; needs uv
	@$(MAKE) test ENV=.venv-lowest PYTHON=3.11 RESOLUTION=lowest-direct

check: $(ENV)/installed ## Format, lint, who imports whom, types, and the site of docs/
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/mkdocs build --strict --quiet

fix: $(ENV)/installed ## Format, and repair what lint can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(ENV)/installed ## Write docs/reference anew, from the docstrings
	$(BIN)/python -m tests.docs.reference

bench: $(ENV)/installed-bench ## Measure latency, beside other libraries
	$(BIN)/python -m benchmarks.latency $(ARGS)

recall: $(ENV)/installed-bench ## Measure recall, beside other libraries; ARGS="--data FILE"
	$(BIN)/python -m benchmarks.retrieval $(ARGS)

conformance: $(ENV)/installed-conformance ## Test LangGraph's stores and ours against the contract
	$(BIN)/python -m tests.conformance.report $(ARGS)

kills: $(ENV)/installed ## Kill processes that write to a directory, and look for what was lost
	$(BIN)/python -m tests.faults.kills $(ARGS)

clean: ## Remove environments, caches and builds
	rm -rf .venv .venv-* $(CACHES)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The redirection makes old versions of make ask a shell, which `command` needs.
ifneq ($(shell command -v uv 2>/dev/null),)

# Without PYTHON, uv picks an interpreter that pyproject.toml allows.
VENV = @uv venv --quiet --allow-existing $(if $(PYTHON),--python $(PYTHON)) $(ENV)
INSTALL = uv pip install --quiet --python $(BIN)/python \
	$(if $(RESOLUTION),--resolution $(RESOLUTION))

else

PYTHON ?= python3
INSTALL = $(if $(RESOLUTION),$(error uv is needed, which alone can install lowest \
	versions))$(BIN)/python -m pip install --quiet --disable-pip-version-check
RECENT = sys.exit(sys.version_info < (3, 11))
# A .venv that cannot serve (its interpreter is gone or too old, or it lacks pip) is replaced.
define VENV
@$(BIN)/python -c 'import pip, sys; $(RECENT)' 2>/dev/null || { \
	version=`$(PYTHON) --version 2>&1` || version=missing; \
	$(PYTHON) -c 'import sys; $(RECENT)' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed; $(PYTHON) is $$version." \
			"Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; }; \
	$(PYTHON) -m venv --clear $(ENV); }
@$(INSTALL) 'pip>=25.1'
endef

endif

$(ENV)/installed: pyproject.toml conformance/pyproject.toml
	$(VENV)
	@echo "Installing into $(ENV) (the first time takes a minute or two) ..."
	@$(INSTALL) $(PACKAGES) --group dev
	@touch $@

$(ENV)/installed-bench $(ENV)/installed-conformance: $(ENV)/installed-%: $(ENV)/installed
	@$(INSTALL) --group $*
	@touch $@
