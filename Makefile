# Everything happens in the project's own environment, .venv. Nothing here needs root or a network
# other than the package registry.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The one bootstrap: uv installs everything else, and is itself pinned here and in the lock file.
UV_VERSION := 0.13.7
