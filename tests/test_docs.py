"""Documentation that follows from the code does follow from it, and links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs import generate

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]


@pytest.mark.parametrize("page", generate.pages(), ids=lambda page: page.name)
def test_generated_pages_are_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == generate.pages()[page], "run `make docs`"


def test_every_command_is_in_the_reference() -> None:
    described = {words[0] for words in generate.COMMANDS if words}
    listed = re.findall(r"^  ([a-z-]+)  ", generate._help(()).partition("Commands:")[2], re.MULTILINE)
    assert described == set(listed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
