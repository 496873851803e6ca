from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.roundtable.addressing import Kind, Reading, read_address, read_input, read_reply_to_doubt

MAYA, ALEX, JORDAN = "business-analyst", "solutions-architect", "system-designer"
NAMES = {MAYA: "Maya", ALEX: "Alex", JORDAN: "Jordan"}

EXITS = [
    "done",
    "Done",
    "DONE!",
    "  done.  ",
    '"done"',
    "**done**",
    "exit",
    "Exit please",
    "please exit",
    "back",
    "Back.",
    "wrap up",
    "Wrap up!",
    "wrap it up",
    "Let's wrap this up.",
    "Let’s wrap up",
    "let us wrap up now",
    "Let's wrap up our discussion of error handling",
    "I'd like to wrap up the discussion",
    "Time to wrap up",
    "I'm done",
    "I’m done, thanks",
    "We are done here.",
    "we're all done",
    "ok, done",
    "OK done, thanks everyone!",
    "Done for now",
    "done, thank you all",
    "I think we're done",
    "I'm done with this discussion",
    "Exit the roundtable",
    "exit elaboration mode",
    "back to the menu",
    "Let's go back to the step menu",
    "Maya, let's wrap up",
    "Great points everyone, let's wrap up.",
    "That's all from me. We're done.",
    "done 👍",
    "ｄｏｎｅ",
]

DOUBTFUL = [
    "done?",
    "Are we done?",
    "are we done here?",
    "Should we wrap up?",
    "Maybe we should wrap up",
    "I think we could wrap up soon",
    "We're almost done",
    "I'm nearly done",
    "I guess we're done",
    "Let's go back",
    "can we go back?",
    "Can I exit?",
    "We're done with caching",
    "I'm done with this",
    "Done. But what about logging?",
    "We're done, unless Jordan objects",
    "I have nothing more to add. Done.",
    "Alex, are we done?",
    "We should wrap up the errors in one type",
    "So are we done, or is there more?",
    "Wrap up in a decorator",
]

GOES_ON = [
    "I'm not done yet",
    "We aren't done",
    "I’m not done with the API",
    "No, we are not done.",
    "Let's go back to discussing the API",
    "Back to the API: who calls it?",
    "go back to the first option",
    "Before we wrap up, what about logs?",
    "Don't exit yet",
    "We should never wrap up without a test plan",
    "Once we're done with that, the cache is next",
    "What happens when the upload is done?",
    "How does the user exit the dialog?",
    "What is the exit code then?",
    "The exit criteria are unclear",
    "The back button has to work",
    "Roll back the transaction",
    "The backend is slow",
    "It is done in two phases",
    "Is the migration done by then?",
    "The work gets done on Mondays",
    "What if the user hits back?",
    "abandoned carts",
    "My boss asked me to come back with a plan",
    "Write the result back, then notify",
    "The back-end does that",
    "Well done!",
    "Done is better than perfect",
    "We exit the loop when n is 0",
    "The wrap up meeting is on Friday",
    "Let me get back to you on this",
    "Rückgängig machen?",
    "¿Y los errores?",
    "👍",
    "...",
    "What about error handling?",
    "The architect should say something",
    "Mayan calendars matter here",
    "Jordan's point was good",
    "Jordan’s point was good",
    "I liked what Alex said",
    "That is Maya's, not ours",
    "Jean-Alex, of all people",
    "teams differ",
    "What about the team's time?",
    "steam, not smoke",
    "Everyone's data is at risk",
]

ADDRESSED = [
    ("Alex, how does this affect scalability?", (ALEX,)),
    ("alex, how?", (ALEX,)),
    ("ALEX: how?", (ALEX,)),
    ("Maya what do users see", (MAYA,)),
    ("Jordan is right about that", (JORDAN,)),
    ("Jordan", (JORDAN,)),
    ("Jordan?", (JORDAN,)),
    ("@Alex what now", (ALEX,)),
    ('"Maya, go on"', (MAYA,)),
    ("  Maya,\nwhat next", (MAYA,)),
    ("What would you say, Maya?", (MAYA,)),
    ("I wonder, Jordan, whether that holds", (JORDAN,)),
    ("Would that scale, ALEX?", (ALEX,)),
    ("Alex，可以吗", (ALEX,)),
    ("Alex, and then Jordan, please", (ALEX, JORDAN)),
    ("Alex is right, let it lapse. Jordan, what does one see?", (JORDAN,)),
    ("Alex can you and Jordan, please, agree", (ALEX, JORDAN)),
    ("Alex is that so, Alex?", (ALEX,)),
    ("Jordan? Alex? Anybody?", (JORDAN, ALEX)),
    ("What about everyone else, Alex?", (ALEX,)),
    ("Alex, what do you think?", (ALEX,)),
    ("Jordan's point was good, Maya, but is it true?", (MAYA,)),
    ("Maya, what does the user do when the upload is done?", (MAYA,)),
    ("Alex, I'm not done with your point", (ALEX,)),
    ("Alex-", ()),
    ("Alex's", ()),
]

GROUP = [
    "What do you all think about caching?",
    "Everyone: any risk?",
    "EVERYONE please answer",
    "I'd like to hear from all of you",
    "Team, is that feasible?",
    "The team has to decide",
    "what do you think",
    "What do you think about logs?",
    "So what do  you\nthink?",
    "Jordan's point was good. What do you think?",
]

TABLE: list[tuple[str, Kind, tuple[str, ...]]] = [
    *((text, "exit", ()) for text in EXITS),
    *((text, "doubtful", ()) for text in DOUBTFUL),
    *((text, "default", ()) for text in GOES_ON),
    *((text, "direct" if whom else "default", whom) for text, whom in ADDRESSED),
    *((text, "group", ()) for text in GROUP),
    *((text, "nothing", ()) for text in ("", "   ", "\n\t ", "\u200b")),
]


@pytest.mark.parametrize(("text", "kind", "addressed"), TABLE)
def test_an_input_is_read_as_a_person_would_read_it(
    text: str, kind: Kind, addressed: tuple[str, ...]
) -> None:
    assert read_input(text, NAMES) == Reading(kind, addressed)


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len({text for text, _, _ in TABLE}) >= 80


def test_names_are_whatever_the_panel_has() -> None:
    names = {"a": "Zoë", "b": "Łukasz", "c": "J."}
    assert read_input("zoe\u0308, bitte", names) == Reading("direct", ("a",))
    assert read_input("Und du, ŁUKASZ?", names) == Reading("direct", ("b",))
    assert read_input("What now, J.?", names) == Reading("direct", ("c",))
    assert read_input("Alex, what now?", names) == Reading("default")


def test_an_address_is_read_from_a_message_that_speaks_of_ending() -> None:
    assert read_address("Alex, are we done?", NAMES) == Reading("direct", (ALEX,))
    assert read_address("Are we done, all of you", NAMES) == Reading("group")
    assert read_address("Are we done?", NAMES) == Reading("default")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("yes", "exit"),
        ("Yes, end it.", "exit"),
        ("end", "exit"),
        ("no, end it", "exit"),
        ("Stop here please", "exit"),
        ("done", "exit"),
        ("I guess we're done", "exit"),
        ("wrap up", "exit"),
        ("no", "stay"),
        ("No.", "stay"),
        ("", "stay"),
        ("continue", "stay"),
        ("let's keep going", "stay"),
        ("yes, continue", "stay"),
        ("not yet", "stay"),
        ("don't stop", "new"),
        ("Alex, what about the cache?", "new"),
        ("Where does the request end, and who stops it when the client leaves?", "new"),
    ],
)
def test_an_answer_to_the_doubtful_question_is_understood(text: str, meaning: str) -> None:
    assert read_reply_to_doubt(text, NAMES) == meaning


WORDS = st.sampled_from(
    [
        *(
            "done",
            "exit",
            "back",
            "wrap",
            "up",
            "not",
            "we",
            "I'm",
            "let's",
            "to",
            "the",
            "menu",
            "you",
            "all",
        ),
        *("Alex", "Jordan's", "Maya", "team", ",", "?", ".", ":", "'", "’"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(text=st.lists(WORDS | st.text(max_size=3), max_size=14).map(" ".join) | st.text(max_size=60))
def test_every_input_has_one_reading_and_only_a_direct_one_names_somebody(text: str) -> None:
    reading = read_input(text, NAMES)
    assert bool(reading.addressed) == (reading.kind == "direct")
    assert len(set(reading.addressed)) == len(reading.addressed)
    assert set(reading.addressed) <= set(NAMES)
    if not text.strip():
        assert reading.kind == "nothing"


@settings(max_examples=100, deadline=None)
@given(rest=st.text(alphabet="abcdefgh ,?", max_size=30), name=st.sampled_from(sorted(NAMES)))
def test_a_name_at_the_start_is_always_addressed_first(rest: str, name: str) -> None:
    assert read_input(f"{NAMES[name].upper()}, {rest}", NAMES).addressed[:1] == (name,)
