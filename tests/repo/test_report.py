"""A scout's report says what is in the workspace, within its words, and what was read for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.repo import search
from moot.repo.report import MOST_WORDS, named_by, scout

SECRET = "hunter2-is-the-key"
_GIT = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")


def put_file(root: Path, name: str, text: str = "x\n") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def run_git(root: Path, *arguments: str) -> None:
    command = ["git", "-C", str(root), *_GIT, *arguments]
    subprocess.run(command, check=True, capture_output=True, env=os.environ, timeout=30)


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with two commits, a secret, and work that is not committed."""
    root = tmp_path / "shop"
    put_file(root, "pyproject.toml", '[project]\nname = "shop"\nscripts = {shop = "shop.cli:main"}\n')
    put_file(root, "README.md", "# Shop\n\n[![badge](x)](y)\n\nSells teapots by post.\n")
    put_file(root, "shop/cli.py", "from shop import basket\n\nbasket.discount()\n")
    put_file(root, "shop/basket.py", "RATE = 3\n\n\ndef total():\n    ...\n\n\nclass Basket:\n    ...\n")
    put_file(root, ".env", f"KEY={SECRET} discount\n")
    put_file(root, "deploy.pem", f"{SECRET} discount\n")
    put_file(root, "prod.env", f"{SECRET} discount\n")
    put_file(root, "secrets.yaml", f"discount: {SECRET}\n")
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A", "-f")
    run_git(root, "commit", "-q", "-m", "Begin with a basket")
    run_git(root, "commit", "-q", "--allow-empty", "-m", "Pay by card")
    put_file(root, "shop/stock.py", "def discount_stock():\n    ...\n")
    return root


def test_it_tells_the_shape_of_the_project_and_what_was_done_last(shop: Path) -> None:
    report = scout(shop, "Discounts for regular customers")
    assert "- Manifests: pyproject.toml" in report.text
    assert "shop = shop.cli:main (pyproject.toml)" in report.text
    assert "shop/ (3 files)" in report.text
    assert "Sells teapots by post." in report.text
    assert "badge" not in report.text
    assert report.text.index("- Pay by card") < report.text.index("- Begin with a basket")


def test_words_of_the_idea_are_cited_with_file_and_line(shop: Path) -> None:
    report = scout(shop, "Discounts for regular customers")
    assert "- shop/cli.py:3: basket.discount()" in report.text
    assert "- shop/stock.py:1: def discount_stock():" in report.text, "what is not committed counts too"
    assert "- Found nowhere: regular, customers" in report.text


def test_a_file_that_is_named_by_path_is_outlined(shop: Path) -> None:
    report = scout(shop, "Rewrite shop/basket.py")
    assert "- shop/basket.py (9 lines):\n  def total():\n  class Basket:" in report.text
    assert "RATE" not in report.text


@pytest.mark.parametrize(
    "idea",
    ["mend shop/basket.py", "mend `basket.py`", "mend the Basket", "mend basket", "mend BASKET, please"],
)
def test_files_are_named_by_path_by_name_and_by_stem(shop: Path, idea: str) -> None:
    assert named_by(search.look(shop), idea) == ("shop/basket.py",)


@pytest.mark.parametrize("name", ["review_parser.py", "review-parser.js", "ReviewParser.java"])
def test_a_name_of_several_words_is_recognised_however_they_are_joined(tmp_path: Path, name: str) -> None:
    put_file(tmp_path, name)
    put_file(tmp_path, "review.py")
    seen = search.look(tmp_path)
    assert named_by(seen, "Strip codes in the review parser") == (name, "review.py")


def test_a_name_that_many_files_have_names_none(tmp_path: Path) -> None:
    for number in range(4):
        put_file(tmp_path, f"part{number}/parser.py")
    assert named_by(search.look(tmp_path), "mend the parser") == ()


def test_everything_that_was_read_is_listed_once(shop: Path) -> None:
    report = scout(shop, "Discounts in shop/basket.py")
    assert report.read == ("pyproject.toml", "README.md", "shop/basket.py", "shop/cli.py", "shop/stock.py")


def test_secrets_are_named_and_never_read(shop: Path) -> None:
    report = scout(shop, "Discount: read .env, `deploy.pem`, prod.env and secrets.yaml first")
    assert SECRET not in report.text
    assert not {".env", "deploy.pem", "prod.env", "secrets.yaml"} & set(report.read)
    assert "- .env: not read, because it may hold secrets" in report.text
    assert "- deploy.pem: not read" in report.text


def test_what_moot_wrote_about_the_project_is_no_evidence(shop: Path) -> None:
    put_file(shop, "moot/workflow.json", '{"userDescription": "Telemetry"}\n')
    put_file(shop, "moot/designs/2026-01-01-telemetry.md", "Telemetry\n")
    put_file(shop, "moot/changes/telemetry/proposal.md", "# Telemetry\n")
    report = scout(shop, "Telemetry")
    assert "Found nowhere: telemetry" in report.text
    assert "moot" not in report.text


def test_an_empty_workspace_is_said_to_be_empty(tmp_path: Path) -> None:
    report = scout(tmp_path, "A game of chess")
    assert report.text == "Project:\nThe workspace is empty."
    assert report.read == ()


def test_the_same_workspace_gives_the_same_report(shop: Path) -> None:
    assert scout(shop, "Discounts in the basket") == scout(shop, "Discounts in the basket")


def test_a_large_workspace_still_fits_and_says_what_is_left_out(tmp_path: Path) -> None:
    for number in range(150):
        put_file(tmp_path, f"part{number:03}/m{number}.py", f"def discount_{number}():\n" * 30)
    put_file(tmp_path, "README.md", "Words and words. " * 2000)
    report = scout(tmp_path, "Discounts in part007/m7.py")
    assert 300 < words(report.text) <= MOST_WORDS
    assert "more lines" in report.text
    assert "- part007/m7.py (30 lines):" in report.text


def test_a_hostile_file_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    put_file(tmp_path, "a.py", "discount \x1b[2J\x1b]0;owned\x07\n")
    report = scout(tmp_path, "discount in a.py")
    assert "\x1b" not in report.text
    assert "\x07" not in report.text


@settings(max_examples=60, deadline=None)
@given(
    idea=st.text(max_size=400),
    text=st.text(alphabet="ab discount\n#\t`|<", max_size=3000),
    names=st.lists(
        st.sampled_from(["a.py", "docs/b.md", "README.md", "x/y/z/c.js", "discount.py"]), max_size=5
    ),
)
def test_it_never_has_more_words_than_it_may(
    tmp_path_factory: pytest.TempPathFactory, idea: str, text: str, names: list[str]
) -> None:
    root = tmp_path_factory.mktemp("any")
    for name in names:
        put_file(root, name, text)
    report = scout(root, f"discount discount.py {idea}")
    assert words(report.text) <= MOST_WORDS
    assert set(report.read) <= set(names)
