"""Servers of boards as a user would write them with another library. Each runs in an environment of its own,
.venv-bench, so nothing here imports moot or anything else of the project."""
