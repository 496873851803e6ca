"""Every test runs without network, without the developer's settings and away from their files.

This happens on import, before any test module is loaded, so that what a test imports or starts sees it.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sysconfig
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import tests.netguard.sitecustomize as netguard

if TYPE_CHECKING:
    from tests.stub.server import StubServer

# How long an example takes says something of the machine, and nothing of moot.
settings.register_profile("moot", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("moot")

_FOREIGN_PREFIXES = ("ANTHROPIC_", "OPENAI_", "MOOT_", "OLLAMA", "HF_", "GIT_", "OTEL_")
_FOREIGN_SUFFIX = "_PROXY"
_FOREIGN_NAMES = (
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "EDITOR",
    "VISUAL",
    "PAGER",
)
_SLOW = ("surfaces", "llm", "telemetry", "browser", "clients", "changes", "cli", "processes", "web", "store")
_LONGEST = (
    "processes/test_hostile_repository.py",
    "analysis/test_killed.py",
    "cli/test_workflow.py",
    "changes/test_killed.py",
    "browser/test_evidence.py",
    "browser/test_resilience.py",
    "clients/test_reviews.py",
    "server/test_cluster.py",
    "clients/test_challenges.py",
    "clients/test_diffs.py",
    "browser/test_access.py",
    "cli/test_analyze.py",
    "browser/test_aborts.py",
    "server/test_one_driver.py",
    "surfaces/test_any_format.py",
    "chaos/test_failures.py",
    "cli/test_brainstorm.py",
    "test_extras.py",
    "llm/test_embedded.py",
    "browser/test_ui_rows.py",
    "browser/test_sessions_and_keys.py",
    "chaos/test_chaos.py",
    "cli/test_implement.py",
    "evidence/test_hostile_items.py",
    "changes/test_living.py",
    "server/test_meter.py",
    "mcp/test_sessions.py",
    "web/test_board_api.py",
)
"""The files that take longest, the longest first. What is no file any more does no harm here."""
_MEMORY = Path("/dev/shm")
_ROOM = 2 << 30
_GUARD = str(Path(netguard.__file__).parent)
_GUARD_LINE = (
    f"import os; any(f == {_GUARD!r} and os.path.isdir(f) and "
    "exec(open(f + '/sitecustomize.py').read(), {'__name__': 'netguard'}) "
    "for f in os.environ.get('PATH', '').split(os.pathsep))\n"
)


def _find_place_for_files() -> Path:
    """In memory where there is room: the tests wait for a disk whenever they sync a file, and they do nothing
    else as often. Programs have to run from there, too."""
    with suppress(OSError):
        there = os.statvfs(_MEMORY)
        has_room = there.f_bavail * there.f_frsize >= _ROOM and os.access(_MEMORY, os.W_OK)
        if has_room and not there.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("TMPDIR", str(_MEMORY))
            # pytest has asked for the place already.
            tempfile.tempdir = None
    return Path(tempfile.mkdtemp(prefix="moot-tests-"))


_HOME = _find_place_for_files()


def _is_foreign(name: str) -> bool:
    upper = name.upper()
    return upper.startswith(_FOREIGN_PREFIXES) or upper.endswith(_FOREIGN_SUFFIX) or upper in _FOREIGN_NAMES


def _settle_environment() -> None:
    for name in [name for name in os.environ if _is_foreign(name)]:
        del os.environ[name]
    os.environ["HOME"] = str(_HOME)
    for name in ("DATA", "CONFIG", "CACHE", "STATE"):
        folder = _HOME / name.lower()
        folder.mkdir()
        os.environ[f"XDG_{name}_HOME"] = str(folder)
    for name, first in (("PYTHONPATH", True), ("PATH", False)):
        inherited = [path for path in os.environ.get(name, "").split(os.pathsep) if path not in ("", _GUARD)]
        os.environ[name] = os.pathsep.join([_GUARD, *inherited] if first else [*inherited, _GUARD])


def _guard_children_of_children() -> None:
    """moot starts Python without PYTHONPATH: this line of the environment's own sees the guard on PATH."""
    line = Path(sysconfig.get_path("purelib")) / "moot-netguard.pth"
    if not line.exists() or line.read_text(encoding="utf-8") != _GUARD_LINE:
        new = line.with_name(f".{line.name}.{os.getpid()}")
        new.write_text(_GUARD_LINE, encoding="utf-8")
        new.replace(line)


_settle_environment()
_guard_children_of_children()
# A shell that runs tests in the background has Ctrl-C ignored, and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made and none goes: to look for garbage among them takes as long as to make
    them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that at the end nobody waits for the last file of another worker."""

    def place(item: pytest.Item) -> int:
        file = item.nodeid.partition("::")[0].partition("/")[2]
        return places.get(file) or places.get(file.partition("/")[0]) or len(places) + 1

    places = {name: number for number, name in enumerate((*_LONGEST, *_SLOW), start=1)}
    items.sort(key=place)


def pytest_unconfigure() -> None:
    shutil.rmtree(_HOME, ignore_errors=True)


@pytest.fixture
def stub() -> Iterator[StubServer]:
    """A stub model server on a thread of its own; a test runs its coroutines with asyncio.run."""
    from tests.stub.server import running_stub

    with running_stub() as server:
        yield server
