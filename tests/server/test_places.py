"""A session whose files are in a workspace says in its id which one."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from moot.server.places import place_in, place_of, session_in


@given(st.text(min_size=1), st.sampled_from(["analysis", "workflow", "change"]))
def test_an_id_leads_back_to_its_workspace_and_fits_everywhere(what: str, format_: str) -> None:
    root = Path("/home/ada/shop")
    named = session_in(root, format_, what)
    assert place_in(named) == place_of(str(root.resolve()))
    assert named == session_in(root, format_, what)
    assert place_in(session_in(Path("/home/ada/other"), format_, what)) != place_in(named)
    assert len(named) <= 64
    assert named.replace("-", "").isalnum()


def test_a_session_of_the_store_is_in_no_place() -> None:
    assert place_in("board-abcdefghjkmn") == ""
