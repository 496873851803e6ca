from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.roundtable import lines

MAYA, BA = "Maya Chen", "Business Analyst"


# -- lines ---------------------------------------------------------------------------------------


def test_the_introduction_is_the_template_with_its_line_breaks() -> None:
    others = [("Alex Rivera", "Solutions Architect"), ("Jordan Park", "System Designer")]
    assert lines.introduction(others, "User Experience & Journeys", "offline mode feature", 10) == (
        "---\n"
        "ELABORATION MODE\n"
        "\n"
        "Bringing Alex Rivera (Solutions Architect) and Jordan Park\n"
        "(System Designer) into the discussion.\n"
        "\n"
        "Topic: User Experience & Journeys for offline mode feature\n"
        "\n"
        'Turn limit: 10 exchanges. Type "done" to end discussion early.\n'
        "---"
    )


@pytest.mark.parametrize(
    ("others", "brought"),
    [
        ([("Ada", "Critic")], "Bringing Ada\n(Critic) into the discussion.\n"),
        (
            [("Ada", "Critic"), ("Ben", "Host"), ("Cem", "Scribe")],
            "Bringing Ada (Critic), Ben (Host) and Cem\n(Scribe) into the discussion.\n",
        ),
    ],
)
def test_panels_of_other_sizes_are_introduced_too(others: list[tuple[str, str]], brought: str) -> None:
    assert brought in lines.introduction(others, "Scope", "search", 5)


def test_the_framing_ends_with_a_question_to_the_first_of_the_others() -> None:
    framing = lines.framing(
        "User Experience & Journeys",
        "we identified 3 primary user journeys",
        "How should the system handle data conflicts?",
        "Alex",
        "architecture, risk",
    )
    assert framing == (
        "We just covered User Experience & Journeys. Here is where we landed: we identified 3 primary user "
        "journeys.\n"
        "\n"
        "I think we could benefit from all our perspectives on this specific question: "
        "How should the system handle data conflicts?\n"
        "\n"
        "Alex, what is your take from an architecture perspective?"
    )


@pytest.mark.parametrize(
    ("lens", "asked"),
    [
        ("technical feasibility, risk", "from a technical feasibility perspective?"),
        ("interfaces", "from an interfaces perspective?"),
        ("user needs, business value", "from a user needs perspective?"),
    ],
)
def test_a_lens_is_asked_for_by_its_first_words(lens: str, asked: str) -> None:
    assert lines.framing("Scope", "It ends here!", "Why?", "Maya", lens).endswith(asked)
    assert lines.plain_framing("Scope", "Maya", lens).endswith(asked)


def test_a_summary_that_is_a_sentence_gets_no_second_full_stop() -> None:
    assert "landed: It ends here!\n" in lines.framing("Scope", " It ends here! ", "Why?", "Maya", "x")


def test_the_fixed_lines_are_word_for_word() -> None:
    assert lines.WARNING == (
        "We are nearing the end of our discussion time. Any final points before we synthesize?"
    )
    assert lines.LIMIT == (
        "We have had a thorough discussion. Let me synthesize the key points from our conversation."
    )
    assert lines.INACTIVITY == "Any thoughts on this, or should we wrap up?"
    assert lines.WRAP_UP == "Wrapping up the discussion. Let me synthesize our key points."
    assert lines.DOUBT == "Did you want to end the discussion, or continue exploring this?"
    assert lines.NOT_OPENED == (
        "I could not load the step context for elaboration. Let me continue with the normal menu."
    )
    assert lines.NOT_RECORDED == (
        "Elaboration completed successfully but I could not save the elaboration record to meta.json. "
        "The discussion insights are in the artifacts."
    )


def test_redirects_name_the_topic_without_its_question_mark() -> None:
    assert lines.redirect("Alex", "caching", "Who sees a conflict?", "03-01") == (
        "Alex raises an interesting point about caching, but let us stay focused on Who sees a conflict. "
        "We can explore that when we get to 03-01."
    )
    assert lines.polite_redirect("Who sees a conflict?", "the design phase") == (
        "That is a great question for the design phase. For now, let us focus on Who sees a conflict."
    )


# -- the turn limit ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3, 4, 10, 250])
def test_a_whole_number_of_at_least_three_is_a_turn_limit(value: int) -> None:
    assert lines.turn_limit(value) == (value, None)


@pytest.mark.parametrize("value", [2, 0, -5, True, False, 5.0, "5", [5], {}, float("nan")])
def test_anything_else_is_ten_turns_and_a_warning_that_shows_it(value: object) -> None:
    limit, problem = lines.turn_limit(value)
    assert limit == 10
    assert problem is not None
    assert repr(value) in problem


def test_no_value_is_ten_turns_without_a_warning() -> None:
    assert lines.turn_limit(None) == (10, None)


# -- prefixes ------------------------------------------------------------------------------------


def test_a_prefix_is_name_and_role() -> None:
    assert lines.prefix(MAYA, BA) == "Maya Chen (Business Analyst): "


@pytest.mark.parametrize(
    "written",
    [
        "Maya Chen (Business Analyst): ",
        "Maya Chen (Business Analyst):",
        "maya chen (business analyst) : ",
        "MAYA: ",
        "Maya Chen: ",
        "Maya (BA): ",
        "Maya  Chen,  Business Analyst: ",
        "Maya Chen - Business Analyst: ",
        "**Maya Chen (Business Analyst):** ",
        "**Maya Chen (Business Analyst)**: ",
        "**Maya Chen** (Business Analyst): ",
        "__Maya__: ",
        "*Maya:* ",
        "[Maya Chen]: ",
        "[Maya]: ",
        "### Maya Chen\n\n",
        "**Maya Chen (Business Analyst)**\n",
        "Maya Chen (Business Analyst)\n",
        "> Maya Chen (Business Analyst): ",
        "\n\n Maya Chen（BA）：",
        "Maya Chen (Business Analyst): Maya: ",
    ],
)
def test_a_prefix_that_the_model_wrote_is_removed(written: str) -> None:
    assert lines.strip_own_prefix(f"{written}Who benefits? Maya: nobody.", MAYA, BA) == (
        "Who benefits? Maya: nobody."
    )


@pytest.mark.parametrize(
    "text",
    [
        "Alex Rivera (Solutions Architect): no.",
        "Alex: who benefits?",
        "Mayan: a calendar.",
        "Maya here, with a question: who benefits?",
        "**Who** benefits? Maya Chen: we do.",
        "As Maya Chen (Business Analyst): no.",
        "Who benefits",
    ],
)
def test_what_is_no_prefix_of_their_own_stays(text: str) -> None:
    assert lines.strip_own_prefix(text, MAYA, BA) == text


def test_emphasis_over_a_whole_reply_stays_whole() -> None:
    assert lines.strip_own_prefix("**Maya: who benefits?**", MAYA, BA) == "**who benefits?**"
    assert lines.strip_own_prefix("Maya: **Who** benefits?", MAYA, BA) == "**Who** benefits?"


@settings(max_examples=100, deadline=None)
@given(text=st.text(alphabet="Maya Chen():*_\n[]#>,-ABx", max_size=60))
def test_removing_a_prefix_takes_only_from_the_front_and_leaves_no_prefix(text: str) -> None:
    left = lines.strip_own_prefix(text, MAYA, BA)
    assert text.rstrip().endswith(left.lstrip("*_"))
    assert lines.strip_own_prefix(left, MAYA, BA) == left


@pytest.mark.parametrize(
    "next_line",
    [
        "Alex Rivera (Solutions Architect): I see two options.",
        "**Alex Rivera (Solutions Architect):** I see two options.",
        "**Alex Rivera**: I see two options.",
        "alex rivera: two.",
        "  > Alex Rivera: two.",
        "User: go on",
    ],
)
def test_a_reply_ends_where_the_model_goes_on_as_somebody_else(next_line: str) -> None:
    text = f"Who benefits?\n\n{next_line}\nMaya Chen: And who else?"
    assert lines.cut_other_voices(text, ["Alex Rivera", "Jordan Park"]) == "Who benefits?"


@pytest.mark.parametrize(
    "text",
    [
        "Alex: what would that cost?",
        "Building on Alex Rivera (Solutions Architect): it costs.",
        "Alex Rivera said it: no.",
        "The user: who is it?",
    ],
)
def test_speaking_to_or_of_a_colleague_is_no_change_of_voice(text: str) -> None:
    assert lines.cut_other_voices(text, ["Alex Rivera"]) == text


@pytest.mark.parametrize(
    "text", ["(silent)", "(Silent)", "silent.", " **(SILENT)** ", "", "  ", "…", "[silent]"]
)
def test_silence_is_known_however_it_is_written(text: str) -> None:
    assert lines.is_silence(text)


@pytest.mark.parametrize("text", ["I stay silent.", "silent errors", "(silently)", "no"])
def test_what_speaks_of_silence_is_none(text: str) -> None:
    assert not lines.is_silence(text)
