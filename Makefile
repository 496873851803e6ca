# Everything happens in the project's own environment, .venv. Nothing here needs root, or a network other
# than the package registry; what is installed is pinned, with hashes, in requirements.lock.

PYTHON     ?= python3
VENV       := .venv
BIN        := $(VENV)/bin
# The one bootstrap: uv installs everything else.
UV_VERSION := 0.13.7
QUESTION   ?= Should we rebuild our oldest service this year, or keep mending it?

.PHONY: run install check test format docs lock bench clean help

help:            ## Show what can be made.
	@grep -E '^[a-z]+: .*##|^[a-z]+:  +##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

run: install     ## Install, say which model speaks, and ask a first question.
	@$(BIN)/moot doctor
	@echo
	@$(BIN)/moot ask the-strategist "$(QUESTION)"

install: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "Could not make a virtual environment with $(PYTHON). On Debian: apt install python3-venv"; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "moot needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 run"; rm -rf $(VENV); exit 1; }
	@$(BIN)/uv --version 2>/dev/null | grep -q '$(UV_VERSION)' || \
	  $(BIN)/python -m pip --quiet --disable-pip-version-check install 'uv==$(UV_VERSION)'
	@echo "Installing what moot needs into $(VENV) …"
	@$(BIN)/uv pip sync --quiet --require-hashes --compile-bytecode --python $(BIN)/python requirements.lock
	@$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	@touch $@

check: install   ## Lint, formatting, types, layers.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: install    ## All tests.
	$(BIN)/python -m pytest -n 2 --dist loadfile

format: install  ## Put the code into shape.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install    ## Write the generated parts of the documentation.
	$(BIN)/python -m docs.generate

bench: install   ## Measure; prints ratios.
	$(BIN)/python -m bench

lock: install    ## Pin the newest versions that pyproject.toml allows.
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-annotate --no-header \
	  --extra weights --group dev --output-file requirements.lock pyproject.toml

clean:           ## Remove the environment and all caches.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
