# Everything happens in the project's own environment, .venv. Nothing here needs root, or a network other
# than the package registry; what is installed is pinned, with hashes, in requirements.lock.

PYTHON     ?= python3
VENV       := .venv
BIN        := $(VENV)/bin
PAGE       := src/moot/web/static/index.html
MODULES    := web/node_modules/.package-lock.json
# Where moot serves: make run PORT=9000
PORT       ?= 8642

.PHONY: run install page browser clients peers screenshots check test format docs lock sbom audit bench clean help

help:            ## Show what can be made.
	@grep -E '^[a-z]+: .*##|^[a-z]+:  +##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

run: install page  ## Install, build the page, start moot and say where.
	@$(BIN)/moot doctor
	@$(BIN)/moot serve --port $(PORT)

install: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "Could not make a virtual environment with $(PYTHON). On Debian: apt install python3-venv"; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "moot needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 run"; rm -rf $(VENV); exit 1; }
# The one bootstrap: pip installs uv, as the lock has it, and uv everything else.
	@awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' requirements.lock > $(VENV)/uv.txt
	@$(BIN)/uv --version 2>/dev/null | grep -qF "uv $$(sed -n 's/^uv==\([^ ]*\).*/\1/p' $(VENV)/uv.txt) " || \
	  $(BIN)/python -m pip --quiet --disable-pip-version-check install --require-hashes --only-binary :all: -r $(VENV)/uv.txt
	@echo "Installing what moot needs into $(VENV) …"
	@$(BIN)/uv pip sync --quiet --require-hashes --compile-bytecode --python $(BIN)/python requirements.lock
	@$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	@touch $@

# Node comes with the environment, so none has to be installed.
page: $(PAGE)      ## Build the page.

$(PAGE): $(MODULES) web/index.html $(wildcard web/*.ts) $(shell find web/src web/public -type f)
	@echo "Building the page …"
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent build
	@touch $@

$(MODULES): $(VENV)/.installed web/package-lock.json
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --silent --no-audit --no-fund
	@touch $@

browser:           ## Find a Chromium for the tests, or install Debian's where that is possible.
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "Installing Chromium …"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -qq -y --no-install-recommends chromium >/dev/null && exit 0; \
	fi; \
	echo "No Chromium was found: the tests in a browser will be skipped. Install chromium to run them."

# Codex, Claude Code and the MCP inspector, as real users have them: about 0.9 GB, for the tests alone.
clients:           ## Install the real clients that the tests talk to.
	@$(MAKE) --silent .clients/.installed || \
	  echo "The real MCP clients could not be installed: the tests with them will be skipped."

.clients/.installed: $(VENV)/.installed tests/clients/package.json tests/clients/package-lock.json
	@echo "Installing Codex, Claude Code and the MCP inspector for the tests …"
	@mkdir -p .clients && cp tests/clients/package.json tests/clients/package-lock.json .clients/
	@cd .clients && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --silent --ignore-scripts --no-audit --no-fund
	@cd .clients && PATH="$(CURDIR)/$(BIN):$$PATH" node node_modules/@anthropic-ai/claude-code/install.cjs
	@touch $@

check: install page  ## Lint, formatting, types, layers.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent check

test: install page browser clients  ## All tests.
# Hundreds of processes are started: without compiled files each would compile moot anew. Half of the time is
# spent waiting for them, so that two cores have room for four files at once.
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

format: install $(MODULES)  ## Put the code into shape.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent format

docs: install    ## Write the generated parts of the documentation.
	$(BIN)/python -m docs.generate

bench: install peers  ## Measure, side by side with what else there is; writes the tables in bench/README.md.
	$(BIN)/python -m bench

# In an environment of their own, so that neither moot's nor CI's has to hold them.
peers:
	@$(MAKE) --silent .venv-bench/.installed || \
	  echo "What moot is compared with could not be installed: it is left out, by name."

.venv-bench/.installed: $(VENV)/.installed requirements-bench.lock
	@echo "Installing what moot is compared with into .venv-bench …"
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	@$(BIN)/uv pip sync --quiet --require-hashes --python .venv-bench/bin/python requirements-bench.lock
	@touch $@

sbom: install    ## List all that moot is made of, as CycloneDX: dist/moot.cdx.json.
	@$(BIN)/python -m supply.sbom dist/moot.cdx.json

# Not part of `check` or `test`: it asks services on the network, and what they know changes by itself.
audit: install   ## Ask what is known against the pinned versions; says so where it could not ask.
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m supply.audit

screenshots: install page browser  ## Take the pictures in the documentation.
	$(BIN)/python -m docs.screenshots

lock: install    ## Pin the newest versions that pyproject.toml allows.
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-annotate --no-header \
	  --extra all --extra weights --group dev --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-annotate --no-header \
	  --group bench --output-file requirements-bench.lock

clean:           ## Remove the environment and all caches.
	rm -rf $(VENV) .venv-bench .clients web/node_modules src/moot/web/static .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
