"""What a model cites is looked up in whatever it said or drafted."""

from __future__ import annotations

import msgspec
import pytest

from moot.ask.flow import ASK, AnswerGiven, AskOpened, QuestionAsked
from moot.core.background import EvidenceGiven
from moot.core.citing import pieces, sign, unverified_in
from moot.core.flow import Event, Usage
from moot.evidence.citations import Check
from moot.evidence.items import Evidence
from moot.server.event_frames import EventOutbox

BILL = Usage("m [E9]", 1, 1, None, 1)
ITEMS = (
    Evidence("a.md", "a.md", "00", "text/markdown", "one\ntwo"),
    Evidence("b.png", "b.png", "01", "image/png", image=b"png"),
)


class Drafted(Event, frozen=True):
    parts: tuple[dict[str, str], ...]
    usage: Usage = msgspec.field(name="spoken")


def test_in_any_field_of_what_a_model_drafted_and_nowhere_else() -> None:
    drafted = Drafted(({"title": "See [E1:1].", "why": "As [E1:3] has it."}, {"title": "[E7]"}), BILL)
    assert unverified_in(drafted, ITEMS) == ("[E1:3]: no such lines, E1 has 2", "[E7]: no such item")
    assert unverified_in(QuestionAsked("And [E7]?"), ITEMS) == ()


def test_a_client_that_knows_no_format_is_told_with_the_event() -> None:
    outbox, state = EventOutbox(ASK), ASK.initial
    for event in (
        AskOpened("the-coach", "m"),
        EvidenceGiven(ITEMS),
        QuestionAsked("Is it, [E7]?"),
        AnswerGiven("It is [E1:2], see [E2:1].", BILL),
    ):
        after = ASK.advance(state, event)
        outbox.happened(event, state, after)
        state = after
    frames = [msgspec.json.decode(frame) for frame in outbox.take()]
    told = [frame["unverified"] for frame in frames if frame["type"] == "event"]
    assert told == [[], [], [], ["[E2:1]: no such lines, E2 has none"]]


@pytest.mark.parametrize(
    "text", ["[E1:12]", "[E1:1, E1:30; E2:4]", "\ue003\ue011 [E1:3]\ue004", "[E9] [E1:2]"]
)
def test_what_was_signed_is_read_back_with_what_is_wrong(text: str) -> None:
    found = [one for piece in pieces(sign(text, ITEMS)) if not isinstance(piece, str) for one in piece]
    assert found
    for one in found:
        assert (one.check is Check.NO_SUCH_LINES) is (one.has is not None)
        assert one.problem == {
            "E1:12": "no such lines, E1 has 2",
            "E1:30": "no such lines, E1 has 2",
            "E1:3": "no such lines, E1 has 2",
            "E2:4": "no such lines, E2 has none",
            "E9": "no such item",
        }.get(one.shown, "verified")
