from __future__ import annotations

import pytest

from moot.texts.depth import depth_in


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("Let us go deep on this one", "deep"),
        ("I'd like more detail here", "deep"),
        ("dig in!", "deep"),
        ("Please be THOROUGH", "deep"),
        ("keep it brief", "brief"),
        ("quick please", "brief"),
        ("Just the highlights.", "brief"),
        ("back to standard depth", "standard"),
        ("about twenty users", None),
        ("not too deep please", None),
        ("don't be brief", None),
        ("It need not be thorough", None),
        ("brief now, deep later", None),
        ("the deepest lake", None),
        ("a quicksand of requirements", None),
        ("", None),
    ],
)
def test_words_ask_for_a_depth(text: str, depth: str | None) -> None:
    assert depth_in(text) == depth
