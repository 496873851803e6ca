from __future__ import annotations

import pytest

from moot.text.depth import depth_in


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
        ("About twenty people, mostly on trains. Let's be quick.", "brief"),
        ("Could you go into more detail about how conflicts of two devices are settled?", "deep"),
        ("People on trains expect a quick answer when they search.", None),
        ("We found that deep links break as soon as the reader is offline", None),
        ("The page has to be quick.", None),
        ("It has to be quick", None),
        ("Search must answer quickly.", None),
        ("A thorough check before every upload.", None),
        ("We need more detail on the invoice page.", None),
        ("Users want a deep menu.", None),
        ("They keep it short because phones are small.", None),
        ("The review was thorough", None),
        ("People dig in the archive.", None),
        ("A quick start guide", None),
        ("Deep links", None),
        ("be quick", "brief"),
        ("Quick, please.", "brief"),
        ("Let's go deeper here", "deep"),
        ("Can we dig deeper?", "deep"),
        ("I want a thorough analysis", "deep"),
        ("Give me just the highlights of this", "brief"),
        ("Keep it short, please", "brief"),
        ("Make it brief from here on", "brief"),
        ("deep", "deep"),
        ("Brief.", "brief"),
        ("standard depth", "standard"),
        ("Go quickly through the rest", "brief"),
        ("We can be brief about the rest", "brief"),
        ("the deepest lake", None),
        ("a quicksand of requirements", None),
        ("", None),
    ],
)
def test_words_ask_for_a_depth(text: str, depth: str | None) -> None:
    assert depth_in(text) == depth
