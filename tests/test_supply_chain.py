"""Where moot's parts come from: pinned by hash, listed, and named with their licences."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from supply import audit
from supply.locks import page_parts, python_parts

from moot.web.pages import PAGE

ROOT = Path(__file__).parent.parent


def bundled() -> dict[str, dict[str, Any]]:
    """What the lock says that the page is made of; all else is for building it."""
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    return {
        path.rpartition("node_modules/")[2]: package
        for path, package in lock["packages"].items()
        if path and not package.get("dev")
    }


def test_the_page_names_all_that_it_bundles_with_version_and_licence() -> None:
    notices = (PAGE / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    named = re.findall(r"^={80}\n(\S+) (\S+)\nLicence: (.+)\n={80}\n\n(.+)", notices, re.MULTILINE)
    expected = [(name, package["version"], package["license"]) for name, package in sorted(bundled().items())]
    assert [(name, version, licence) for name, version, licence, _ in named] == expected
    assert {"react", "react-dom", "scheduler"} <= bundled().keys()
    assert notices.count("Copyright") >= len(expected)


def test_uv_itself_is_installed_by_hash(tmp_path: Path) -> None:
    """What `make` would run to get uv."""
    shown = subprocess.run(
        ["make", "--dry-run", "--always-make", f"VENV={tmp_path}", "install"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    bootstrap = next(line for line in shown.splitlines() if "-m pip" in line)
    assert "--require-hashes" in bootstrap
    assert "--only-binary" in bootstrap
    assert "uv==" not in bootstrap, "the version is the lock's"


def test_the_lock_has_uv_with_hashes_for_the_usual_platforms(tmp_path: Path) -> None:
    pinned = tmp_path / "uv.txt"
    extract = re.search(r"^\t@?(awk '.*?' requirements\.lock)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert extract is not None
    command = extract[1].replace("$$", "$")
    written = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pinned.write_text(written, encoding="utf-8")
    (uv,) = python_parts(pinned)
    assert uv.name == "uv"
    assert len(uv.hashes) > 10


def test_every_pin_of_both_locks_has_a_hash() -> None:
    for part in (*python_parts(), *page_parts()):
        assert part.hashes, part.name


# -- the bill of materials -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("sbom") / "deep" / "moot.cdx.json"
    subprocess.run([sys.executable, "-m", "supply.sbom", str(file)], cwd=ROOT, check=True)
    return json.loads(file.read_text(encoding="utf-8"))


def test_the_bill_has_what_cyclonedx_requires(bill: Any) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill["metadata"]["component"]["name"] == "moot"
    digits = {"SHA-256": 64, "SHA-512": 128, "SHA-1": 40}
    for component in bill["components"]:
        assert component["type"] in ("library", "machine-learning-model")
        assert component["name"]
        assert component["version"]
        assert component["scope"] in ("required", "optional", "excluded")
        assert component["hashes"]
        for one in component["hashes"]:
            assert re.fullmatch(f"[0-9a-f]{{{digits[one['alg']]}}}", one["content"]), component["name"]
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(references) == len(set(references))


def test_the_bill_lists_all_that_is_pinned_and_says_what_is_shipped(bill: Any) -> None:
    listed = {component.get("purl"): component["scope"] for component in bill["components"]}
    pins = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert pins
    for name, version in pins:
        assert f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}" in listed
    shipped = {purl.split("@")[0] for purl, scope in listed.items() if purl and scope == "required"}
    assert {"pkg:pypi/fastapi", "pkg:pypi/starlette", "pkg:pypi/openai", "pkg:npm/react"} <= shipped
    assert not {"pkg:pypi/pytest", "pkg:pypi/ruff", "pkg:pypi/mypy", "pkg:npm/vite"} & shipped
    of_the_page = {f"pkg:npm/{name.replace('@', '%40')}" for name in bundled()}
    assert {purl for purl in shipped if purl.startswith("pkg:npm/")} == {p.split("@")[0] for p in of_the_page}


def test_the_same_locks_give_the_same_bill(bill: Any, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "supply.sbom", str(tmp_path / "b.json")], cwd=ROOT, check=True)
    assert json.loads((tmp_path / "b.json").read_text(encoding="utf-8")) == bill


# -- what is known against it --------------------------------------------------------------------


def tool(folder: Path, says: str, complains: str = "", code: int = 0) -> list[str]:
    """A program that stands in for uv or npm."""
    file = folder / f"tool{len(list(folder.iterdir()))}.py"
    file.write_text(
        f"import sys\nprint({says!r})\nprint({complains!r}, file=sys.stderr)\nsys.exit({code})\n",
        encoding="utf-8",
    )
    return [sys.executable, str(file)]


UV_FINE = json.dumps({"summary": {"audited_packages": 9}, "vulnerabilities": []})
UV_NOTHING = json.dumps({"summary": {"audited_packages": 0}, "vulnerabilities": []})
UV_BAD = json.dumps(
    {
        "summary": {"audited_packages": 9},
        "vulnerabilities": [{"id": "PYSEC-1", "dependency": {"name": "jinja2", "version": "2.4.1"}}],
    }
)
NPM_FINE = json.dumps({"auditReportVersion": 2, "vulnerabilities": {}})
NPM_BAD = json.dumps(
    {
        "auditReportVersion": 2,
        "vulnerabilities": {"react": {"name": "react", "range": "<1", "severity": "high"}},
    }
)
NPM_DOWN = json.dumps({"message": "405 Method Not Allowed"})


@pytest.mark.parametrize(
    ("uv", "npm", "code", "said"),
    [
        ((UV_FINE, "", 0), (NPM_FINE, "", 0), 0, "Python: 0 known vulnerabilities"),
        ((UV_BAD, "", 1), (NPM_FINE, "", 0), 1, "jinja2 2.4.1: PYSEC-1"),
        ((UV_FINE, "", 0), (NPM_BAD, "", 1), 1, "react <1: high"),
        (
            ("", "error: no network", 2),
            (NPM_FINE, "", 0),
            3,
            "Python: COULD NOT BE CHECKED: error: no network",
        ),
        ((UV_FINE, "", 0), (NPM_DOWN, "", 1), 3, "page: COULD NOT BE CHECKED: 405 Method Not Allowed"),
        (("", "error: no network", 2), (NPM_BAD, "", 1), 1, "COULD NOT BE CHECKED"),
        (("{}", "", 0), (NPM_FINE, "", 0), 3, "Python: COULD NOT BE CHECKED: uv gave no report"),
        ((UV_NOTHING, "", 0), (NPM_FINE, "", 0), 3, "Python: COULD NOT BE CHECKED: uv gave no report"),
    ],
)
def test_what_could_not_be_checked_is_not_taken_for_fine(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    uv: tuple[str, str, int],
    npm: tuple[str, str, int],
    code: int,
    said: str,
) -> None:
    checked = {
        "Python": audit.audit_python(tool(tmp_path, *uv)),
        "page": audit.audit_page(tool(tmp_path, *npm)),
    }
    assert audit.report(checked) == code
    assert said in capsys.readouterr().out


def test_a_tool_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "No such file" in audit.audit_python([str(tmp_path / "uv")]).problem
