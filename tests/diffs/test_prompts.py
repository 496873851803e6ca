"""What reviewers of a diff are told: all of it, once, and only what is there."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from moot.diffs.flow import DiffTaken, Seat
from moot.diffs.prompts import for_model, for_program
from moot.llm.context import fit, needed_tokens
from moot.llm.messages import UserSaid
from moot.personas.library import load_library

HUNK = "@@ -1 +1 @@\n-a = 1\n+"
PATCH = "".join(f"--- a/{name}\n+++ b/{name}\n{HUNK}{name} = 2\n" for name in ("x", "y"))
OPENED = DiffTaken(
    "the changes in main...feature",
    PATCH,
    (Seat("model", "model", "a:b"),),
    plan="Make it two.",
    left_out=(".env: private",),
    intent="Make it two\n\nBecause one was too few.",
)
BARE = DiffTaken("the work that is not committed", PATCH, OPENED.seats)


def said(opened: DiffTaken, persona: str = "") -> str:
    found = load_library().persona(persona) if persona else None
    request = fit(replace(for_model(opened, found), tools_tokens=0), 100_000, "m").request
    blocks = [source.text for block in request.shared for source in block]
    return "\n\n".join([*blocks, request.system, *(one.text for one in request.messages)])


def test_a_model_is_told_diff_plan_intent_and_what_is_left_out() -> None:
    told = said(OPENED)
    whole = ("+x = 2", "+y = 2", "<plan>\nMake it two.", "Because one was too few.", ".env: private")
    assert [told.count(part) for part in whole] == [1] * 5
    assert "code that somebody has written: the changes in main...feature. It was made to a plan" in told
    bare = said(BARE)
    assert not any(part in bare for part in ("<plan>", "<commits>", "Not shown to you"))


@pytest.mark.parametrize("persona", ["the-pragmatist", "the-devil-s-advocate"])
def test_a_persona_reviews_as_itself_by_the_same_standard(persona: str) -> None:
    told = said(OPENED, persona)
    own = load_library().persona(persona).bio[:40]
    assert told.index(own) < told.index("Severity, by what happens to people")


def test_all_reviewers_begin_with_the_same_diff() -> None:
    persona = load_library().persona("the-pragmatist")
    assert for_model(OPENED).shared == for_model(OPENED, persona).shared


def test_what_programs_have_made_is_left_out_first_and_the_plan_never() -> None:
    lock = "--- a/uv.lock\n+++ b/uv.lock\n@@ -0,0 +1,99 @@\n" + "+package\n" * 99
    request = for_model(msgspec.structs.replace(OPENED, patch=PATCH + lock))
    fitted = fit(request, needed_tokens(request) - 1, "m")
    assert fitted.left_out == ("the diff of uv.lock",)
    [message] = fitted.request.messages
    assert isinstance(message, UserSaid)
    assert "Make it two." in message.text


def test_a_program_is_told_what_to_read_and_what_it_is_for() -> None:
    told = for_program(OPENED)
    assert "`read_file` diff.patch and plan.md, each to the end" in told
    assert "Because one was too few." in told
    assert "`read_file` diff.patch to the end" in for_program(BARE)


def test_a_plan_is_reviewed_as_a_plan() -> None:
    opened = DiffTaken("the plan in x.md", PATCH, OPENED.seats, is_plan=True)
    for told in (for_program(opened), said(opened)):
        assert "You review a plan before anybody builds it: the plan in x.md." in told
        assert "all of its lines begin with `+`" in told
        assert "which the plan has to fit" in told
        assert "another state" not in told, "there is no state that a plan is of"
    for told in (for_program(BARE), said(BARE)):
        assert "the diff may be of another state" in told
