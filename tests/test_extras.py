"""What a plain `pip install moot` does without the extras, in an environment that has no more than that."""

from __future__ import annotations

import pkgutil
import signal
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import httpx2
import pytest
from supply.locks import closure

import moot
from moot.extras import EXTRAS
from tests.stub.server import StubServer
from tests.support.command import Ended, await_line, environment, run
from tests.support.server import DECISION, a_board

ROOT = Path(__file__).parent.parent
MISSING = [extra.name for extra in EXTRAS]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with moot and what moot itself requires: no extra, no tool of the
    tests. Files are links to those of this environment, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("plain")
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    for name in closure():
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # For another platform.
        for file in distribution.files or ():
            _link(Path(str(distribution.locate_file(file))), site / file)
    (site / "moot.pth").write_text(f"{ROOT / 'src'}\n", encoding="utf-8")
    return python


def _link(source: Path, target: Path) -> None:
    if ".." in target.parts or source.suffix == ".pyc":
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
    compiled, cache = source.parent / "__pycache__", target.parent / "__pycache__"
    if source.suffix == ".py" and compiled.is_dir() and not cache.exists():
        # Compiling all of it again would take longer than the tests.
        cache.symlink_to(compiled)


def command(plain: Path, arguments: Sequence[str], folder: Path, stub: StubServer | None = None) -> Ended:
    return run([str(plain), "-m", "moot", *arguments], environment(folder, stub), folder)


def test_help_and_version_are_there(plain: Path, tmp_path: Path) -> None:
    assert command(plain, ["--version"], tmp_path).out == f"moot {moot.__version__}\n"
    shown = command(plain, ["--help"], tmp_path)
    assert (shown.code, shown.err) == (0, "")
    assert "Argue it before you build it." in shown.out


def test_all_modules_load_but_the_one_that_is_for_postgresql(plain: Path) -> None:
    found = pkgutil.walk_packages(moot.__path__, "moot.")
    names = {module.name for module in found} - {"moot.__main__", "moot.processes.lifeline"}
    script = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try: importlib.import_module(name)\n"
        "    except ModuleNotFoundError as error: print(name, error.name)\n"
    )
    done = subprocess.run(
        [plain, "-W", "ignore", "-c", script, *sorted(names)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "moot.server.jobs psycopg\n"


def test_doctor_names_what_is_not_installed_and_how_to_have_it(
    plain: Path, stub: StubServer, tmp_path: Path
) -> None:
    shown = command(plain, ["doctor"], tmp_path, stub)
    assert shown.code == 0, shown
    for name in MISSING:
        assert f"--  {name:<11} not installed (only needed to " in shown.out
        assert f"To have it: pip install 'moot[{name}]'" in shown.out


def test_where_everything_is_installed_doctor_says_nothing_of_it(tmp_path: Path, stub: StubServer) -> None:
    shown = run([sys.executable, "-m", "moot", "doctor"], environment(tmp_path, stub), tmp_path)
    assert "pip install" not in shown.out


def test_without_a_model_it_says_what_to_install_or_to_set(plain: Path, tmp_path: Path) -> None:
    examined = command(plain, ["doctor"], tmp_path)
    assert examined.code == 1
    assert "!!  model" in examined.out
    asked = command(plain, ["ask", "the-strategist", "Why?"], tmp_path)
    for said in (examined.out, asked.err):
        assert "Or connect a model: set ANTHROPIC_API_KEY or OPENAI_API_KEY" in said
        assert "is not installed: run `pip install 'moot[embedded]'`" in " ".join(said.split())
    assert asked.code == 1
    pulled = command(plain, ["models", "pull", "qwen3-4b"], tmp_path)
    assert pulled.code == 1
    assert "pip install 'moot[embedded]'" in pulled.err


def test_a_board_is_held_in_the_terminal(plain: Path, stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    (tmp_path / "replies.yaml").write_text('["", "", "", "b", "b"]', encoding="utf-8")
    ended = command(plain, ["board", DECISION, "--json", "--answers", "replies.yaml"], tmp_path, stub)
    assert ended.code == 0, ended
    assert ended.json["brief"]["recommendation"]["summary"] == "Wait."


@pytest.mark.parametrize("arguments", [["sessions"], ["serve", "--port", "0"], ["worker"]], ids=str)
def test_postgresql_says_what_to_install(arguments: list[str], plain: Path, tmp_path: Path) -> None:
    ended = command(plain, [*arguments, "--database", "postgresql://moot@127.0.0.1:9/moot"], tmp_path)
    assert ended.code == 1
    assert "PostgreSQL support is not installed: run `pip install 'moot[postgres]'`" in ended.err
    assert "Traceback" not in ended.err


def test_the_page_is_served_and_telemetry_says_what_to_install(plain: Path, tmp_path: Path) -> None:
    env = environment(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    with subprocess.Popen(
        [plain, "-m", "moot", "serve", "--port", "0"],
        env=env,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert "pip install 'moot[telemetry]'" in await_line(process, "")
            url = await_line(process, "moot is at http://").split()[3]
            assert httpx2.get(f"{url}readyz").status_code == 200
            # The model that would speak is not there.
            refused = httpx2.post(f"{url}api/board/session", json={"decision": DECISION})
            assert refused.status_code == 503
            assert "pip install 'moot[embedded]'" in refused.json()["error"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_the_extras_of_the_package_are_those_that_moot_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(extras) - {"server", "all"} == set(MISSING)
    together = closure("all") | closure("weights")
    for extra in EXTRAS:
        top_level = {module.partition(".")[0] for module in extra.modules}
        owners = {one for name in top_level for one in metadata.packages_distributions()[name]}
        assert {name.lower().replace("_", "-") for name in owners} & together, extra.name
        assert extra.is_installed
