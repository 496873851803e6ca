from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from moot.board.events import (
    AdvisorFailed,
    AdvisorSpoke,
    Answer,
    BoardConvened,
    Brief,
    BriefDrafted,
    BriefFailed,
    ChallengeMade,
    ChallengeReplied,
    ConditionTicked,
    Consensus,
    DecisionPresented,
    Member,
    QuestionsFailed,
    Recommendation,
    Tension,
)
from moot.board.flow import BOARD
from moot.board.record import board_html, board_json, board_markdown, brief_markdown
from moot.board.state import BoardState
from moot.core.flow import Usage
from moot.files.markdown import headings

WHEN = datetime(2026, 3, 9, 14, 5, tzinfo=UTC)


def spoken(cost: float | None = 0.02, *, cut_short: bool = False) -> Usage:
    return Usage("openai:gpt-x", 1000, 200, cost, 1500, cut_short)


BRIEF = Brief(
    Consensus(("The market is real",), "strong"),
    (Tension(("The Strategist", "The Mentor"), "Speed or depth", "Hire first"),),
    ("Nobody asked the customers",),
    Recommendation("Go, in spring.\n\nNot before.", "moderate", ("Cash lasts",)),
)

SESSION = BOARD.fold(
    [
        DecisionPresented(
            "Should we open\nin Lisbon?",
            (
                Member("the-strategist", "The Strategist", "Sees the whole field", "integrator"),
                Member("the-mentor", "The Mentor", "Grows people", "sense-checker"),
                Member("the-cynic", "The Cynic", "Doubts", "challenger"),
            ),
            "independent",
            "openai:gpt-x",
        ),
        QuestionsFailed("Unreachable", "no"),
        BoardConvened((Answer("Why now?", "Rent is low."),)),
        AdvisorSpoke("the-strategist", "Open it.", spoken()),
        AdvisorSpoke("the-mentor", "# Wait\n\nPeople are tired.", spoken(None, cut_short=True)),
        AdvisorFailed("the-cynic", "Unreachable", "connection refused", 7.5),
        BriefDrafted(BRIEF, spoken()),
        ChallengeMade("the-mentor", "Are they?"),
        ChallengeReplied("the-mentor", "Ask them.", spoken()),
    ]
)

MARKDOWN = """\
# Board session

## Decision

> Should we open
> in Lisbon?

## Answers

**Why now?**

> Rent is low.

## Brief

Out of date: advisors have spoken since this brief was written.

### Recommendation

Confidence: moderate

> Go, in spring.
>
> Not before.

Conditions:

- [ ] Cash lasts

### Agreement

Strength: strong

- The market is real

### Tensions

- **The Strategist / The Mentor**: Speed or depth
  - Implication: Hire first

### Blind spots

- Nobody asked the customers

### Who did not answer

- **The Cynic**: connection refused

## Advisors

### The Strategist

Sees the whole field · integrator

> Open it.

### The Mentor

Grows people · sense-checker

> # Wait
>
> People are tired.

The reply stopped at its length limit.

#### Follow-up discussion

**You**

> Are they?

**The Mentor**

> Ask them.

### The Cynic

Doubts · challenger

Did not answer: connection refused

## About this record

- **Model**: openai:gpt-x
- **Tokens**: 4,000 read, 800 written
- **Cost**: $0.06, without 1 of 4 replies whose price is not known
- **Date**: 9 March 2026, 14:05 UTC
- **Session**: s-1
"""


def brief_of(brief: Brief, decision: str = "Lisbon?", *, stale: bool = False, **more: Any) -> str:
    state = BoardState(decision, brief=brief, **more)
    return brief_markdown(replace(state, brief_basis=state.contributions - stale))


def markdown_of(state: BoardState) -> str:
    return board_markdown(state, session_id="s-1", when=WHEN)


def html_of(state: BoardState) -> str:
    """Without what every element with words has, which a test of its own is about."""
    return board_html(state, session_id="s-1", when=WHEN).replace(' dir="auto"', "")


# -- a small session, by hand --------------------------------------------------------------------


def test_markdown_tells_the_whole_session_in_order() -> None:
    assert markdown_of(SESSION) == MARKDOWN


def test_the_markdown_of_a_speaker_is_kept_within_the_quote() -> None:
    verse = "**One**  \n  - two\n \n```\nthree < 4 <b>"
    assert brief_of(BRIEF, verse).startswith(
        "# Board brief\n\n> **One**  \n>   - two\n>\n> ```\n> three < 4 &lt;b>\n\n## Recommendation\n"
    )


def test_brief_alone_is_a_document_of_its_own() -> None:
    assert brief_of(BRIEF, advisors=SESSION.advisors) == (
        "# Board brief\n\n> Lisbon?\n\n"
        "## Recommendation\n\nConfidence: moderate\n\n> Go, in spring.\n>\n> Not before.\n\n"
        "Conditions:\n\n- [ ] Cash lasts\n\n"
        "## Agreement\n\nStrength: strong\n\n- The market is real\n\n"
        "## Tensions\n\n- **The Strategist / The Mentor**: Speed or depth\n  - Implication: Hire first\n\n"
        "## Blind spots\n\n- Nobody asked the customers\n\n"
        "## Who did not answer\n\n- **The Cynic**: connection refused\n"
    )


def test_brief_alone_can_say_that_it_is_out_of_date() -> None:
    assert "\n\nOut of date: " in brief_of(BRIEF, stale=True)
    assert "Out of date" not in brief_of(BRIEF)


def test_an_empty_brief_says_so_in_each_part() -> None:
    empty = Brief(Consensus(("", " \n"), "weak"), (), (), Recommendation("Wait.", "low", ()))
    assert brief_of(empty) == (
        "# Board brief\n\n> Lisbon?\n\n## Recommendation\n\nConfidence: low\n\n> Wait.\n\n"
        "## Agreement\n\nStrength: weak\n\nThe board agreed on nothing in particular.\n\n"
        "## Tensions\n\nNone were found.\n\n## Blind spots\n\nNone were found.\n"
    )


def test_a_session_without_brief_says_why() -> None:
    none_yet = replace(SESSION, brief=None)
    assert "## Brief\n\nThere is no brief yet.\n\n### Who did not answer\n" in markdown_of(none_yet)
    failed = replace(none_yet, brief_failure=BriefFailed("DraftInvalid", "not JSON", '{"con'))
    assert (
        "## Brief\n\nThe brief could not be written: not JSON\n\n"
        'What the model wrote:\n\n> {"con\n\n### Who did not answer\n'
    ) in markdown_of(failed)


def test_an_advisor_who_is_still_to_speak_is_named() -> None:
    waiting = replace(SESSION, advisors=(*SESSION.advisors[:2], replace(SESSION.advisors[2], failure=None)))
    assert "- **The Cynic**: has not been heard yet\n" in markdown_of(waiting)


def test_a_challenge_without_its_reply_is_in_json_only() -> None:
    waiting = BOARD.advance(SESSION, ChallengeMade("the-strategist", "Really so?"))
    assert markdown_of(waiting) == MARKDOWN
    assert board_json(waiting, session_id="s-1", when=WHEN)["responses"][0]["challenges"] == [
        {
            "challengeText": "Really so?",
            "replyContent": "",
            "isReplyComplete": False,
            "citations": [],
            "usage": None,
        }
    ]


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ((), "not known"),
        ((None, None), "not known"),
        ((0.0,), "$0.00"),
        ((0.004, 0.005), "under $0.01"),
        ((0.01,), "$0.01"),
        ((1000.0, 234.5), "$1,234.50"),
    ],
)
def test_cost_is_told_where_it_is_known(costs: tuple[float | None, ...], words: str) -> None:
    billed = replace(SESSION, bills=tuple(spoken(cost) for cost in costs))
    assert f"- **Cost**: {words}\n" in markdown_of(billed)


def test_html_tells_the_same_with_headings_and_paragraphs() -> None:
    page = html_of(SESSION)
    policy = """content="default-src 'none'; style-src 'unsafe-inline'">"""
    assert f'<meta http-equiv="Content-Security-Policy" {policy}' in page
    assert "<title>Should we open in Lisbon? (board session)</title>" in page
    assert "@media (prefers-color-scheme: dark)" in page
    assert "@media print" in page
    assert re.findall(r"<h(\d)>(.*)</h\1>", page) == [
        (str(heading.level), heading.title) for heading in headings(MARKDOWN)
    ]
    assert (
        "<h3>Tensions</h3>\n<ul>\n<li><strong>The Strategist / The Mentor</strong>: Speed or depth\n"
        "<p>Implication: Hire first</p></li>\n</ul>\n"
    ) in page
    assert (
        '<h3>The Mentor</h3>\n<p class="note">Grows people · sense-checker</p>\n'
        '<blockquote>\n<p class="said-heading">Wait</p>\n'
        "<p>People are tired.</p>\n</blockquote>\n"
        '<p class="note">The reply stopped at its length limit.</p>\n'
        '<h4>Follow-up discussion</h4>\n<p class="label">You</p>\n'
        "<blockquote>\n<p>Are they?</p>\n</blockquote>\n"
    ) in page


def test_words_in_html_begin_at_the_side_that_they_are_written_from() -> None:
    said = "שלום\n\n# מה\n\n> כן\n\n- א\n\n  1. ב\n\n| א | b |\n|--|--|\n| ג | d |"
    page = board_html(session_of([said] * TEXTS), session_id="s-1", when=WHEN)
    shown = re.findall(r"<(h\d|p|ol|strong|td|th)((?: [^>]*)?)>", page)
    assert len(shown) > 50
    # A list is of one direction: what is in it has none of its own.
    assert {tag for tag, rest in shown if 'dir="auto"' not in rest} == {"p"}
    assert page.count("<p>") == page.count("<li>\n<p>")
    assert '<ul dir="auto">\n<li>' in page


def test_a_condition_that_is_met_is_ticked_in_every_record() -> None:
    ticked = BOARD.advance(SESSION, ConditionTicked("Cash lasts"))
    assert "\n- [x] Cash lasts\n" in markdown_of(ticked)
    assert "\n- [x] Cash lasts\n" in brief_markdown(ticked)
    assert '<li><span class="box">☑</span> Cash lasts</li>' in html_of(ticked)
    assert '<li><span class="box">☐</span> Cash lasts</li>' in html_of(SESSION)
    assert board_json(ticked, session_id="s-1", when=WHEN)["tickedConditions"] == ["Cash lasts"]


def test_json_is_plain_and_complete() -> None:
    record = board_json(SESSION, session_id="s-1", when=WHEN)
    bill = {
        "model": "openai:gpt-x",
        "inputTokens": 1000,
        "outputTokens": 200,
        "costUsd": 0.02,
        "durationMs": 1500,
        "cachedTokens": 0,
        "lookedAt": [],
        "leftOut": [],
        "cutShort": False,
    }
    assert json.loads(json.dumps(record)) == record
    assert record == {
        "id": "s-1",
        "title": "Should we open\nin Lisbon?",
        "createdAt": "2026-03-09T14:05:00+00:00",
        "decision": "Should we open\nin Lisbon?",
        "answers": [{"question": "Why now?", "answer": "Rent is low."}],
        "mode": "independent",
        "model": "openai:gpt-x",
        "tiny": False,
        "warning": None,
        "step": "review",
        "evidence": [],
        "decidedSoFar": [
            {
                "number": "D1",
                "kind": "open",
                "text": "Should we open\nin Lisbon?",
                "by": "person",
                "at": "the decision",
            },
            {
                "number": "D2",
                "kind": "said",
                "text": "Why now? Rent is low.",
                "by": "person",
                "at": "the questions",
            },
            {
                "number": "D3",
                "kind": "open",
                "text": "What the Board recommends holds only if: Cash lasts",
                "by": "the Board",
                "at": "the brief",
            },
            {
                "number": "D4",
                "kind": "said",
                "text": "Are they?",
                "by": "person",
                "at": "challenge 1, to The Mentor",
            },
        ],
        "personas": [
            {
                "id": "the-strategist",
                "name": "The Strategist",
                "role": "Sees the whole field",
                "contributionType": "integrator",
            },
            {
                "id": "the-mentor",
                "name": "The Mentor",
                "role": "Grows people",
                "contributionType": "sense-checker",
            },
            {"id": "the-cynic", "name": "The Cynic", "role": "Doubts", "contributionType": "challenger"},
        ],
        "responses": [
            {
                "personaId": "the-strategist",
                "personaName": "The Strategist",
                "content": "Open it.",
                "isComplete": True,
                "citations": [],
                "error": None,
                "retryAfter": None,
                "challenges": [],
                "usage": bill,
            },
            {
                "personaId": "the-mentor",
                "personaName": "The Mentor",
                "content": "# Wait\n\nPeople are tired.",
                "isComplete": True,
                "citations": [],
                "error": None,
                "retryAfter": None,
                "challenges": [
                    {
                        "challengeText": "Are they?",
                        "replyContent": "Ask them.",
                        "isReplyComplete": True,
                        "citations": [],
                        "usage": bill,
                    }
                ],
                "usage": {**bill, "costUsd": None, "cutShort": True},
            },
            {
                "personaId": "the-cynic",
                "personaName": "The Cynic",
                "content": "",
                "isComplete": False,
                "citations": [],
                "error": "connection refused",
                "retryAfter": 7.5,
                "challenges": [],
                "usage": None,
            },
        ],
        "brief": {
            "consensus": {"areas": ["The market is real"], "strength": "strong"},
            "tensions": [
                {
                    "between": ["The Strategist", "The Mentor"],
                    "issue": "Speed or depth",
                    "implication": "Hire first",
                }
            ],
            "blindSpots": ["Nobody asked the customers"],
            "recommendation": {
                "summary": "Go, in spring.\n\nNot before.",
                "confidence": "moderate",
                "conditions": ["Cash lasts"],
            },
        },
        "briefCited": [],
        "briefStale": True,
        "tickedConditions": [],
        "briefError": None,
        "usage": {"inputTokens": 4000, "outputTokens": 800, "costUsd": 0.06, "cachedTokens": 0},
    }


def test_a_session_without_brief_has_none_in_json() -> None:
    failed = replace(SESSION, brief=None, brief_failure=BriefFailed("DraftInvalid", "not JSON"))
    record = board_json(failed, session_id="s-1", when=WHEN)
    assert (record["brief"], record["briefStale"], record["briefError"]) == (None, False, "not JSON")


# -- whatever was said ---------------------------------------------------------------------------

FRAGMENTS = (
    *(
        "# Owned",
        "Owned\n===",
        "Owned\n---",
        "---\ntitle: x\n---",
        "```",
        "~~~~",
        "    code",
        "\tcode",
        "- ",
        "1. ",
    ),
    *(
        "99) ",
        "> ",
        "<!--",
        "-->",
        "<script>alert(1)</script>",
        "<div",
        "</main>",
        "</blockquote>",
        "<style>",
    ),
    *(
        '<img src=x onerror="x">',
        "<a href='javascript:x'>",
        "![x](http://e.example/x)",
        "[x]: http://e.example",
    ),
    *(
        "[x]",
        "![x]",
        "[^x]: y",
        "<http://e.example>",
        "&lt;b&gt;",
        "&#60;",
        "\\",
        "`",
        "*",
        "**",
        "__",
        "|",
        "-|-",
    ),
    *(
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "\x00",
        "\x0b",
        "\x0c",
        "\x1b[31m",
        "\x85",
        "\u2028",
        "\ufeff",
        "]]>",
        "<?",
        "a",
    ),
)
said = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=8).map("".join),
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=8).map("\n".join),
    st.text(min_size=1, max_size=30),
).filter(lambda text: bool(visible(text)))
"""Never blank, since a blank item of a brief is left out."""


def visible(text: str) -> str:
    """As the documents promise to show it on one line: no control characters, white space collapsed."""
    lines = (re.sub(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]", "", line) for line in text.splitlines())
    return " ".join(" ".join(lines).split())


TEXTS = 16


def session_of(texts: list[str]) -> BoardState:
    """The same course of events, whatever is said in it: each text stands where someone else's words go."""
    (decision, question, answer, first, failure, challenge, reply, raw, summary, condition) = texts[:10]
    (area, between, issue, implication, blind_spot, name) = texts[10:]
    brief = Brief(
        Consensus((area,), "weak"),
        (Tension((between, between), issue, implication),),
        (blind_spot,),
        Recommendation(summary, "low", (condition,)),
    )
    state = BOARD.fold(
        [
            DecisionPresented(
                decision,
                (Member("a", name, name, "integrator"), Member("b", "The Mute", name, "challenger")),
                "sequential",
                "m",
            ),
            BoardConvened((Answer(question, answer),)),
            AdvisorSpoke("a", first, spoken()),
            AdvisorFailed("b", "Unreachable", failure),
            BriefDrafted(brief, spoken()),
            ChallengeMade("a", challenge),
            ChallengeReplied("a", reply, spoken()),
        ]
    )
    return replace(state, brief_failure=BriefFailed("DraftInvalid", failure, raw))


HARMLESS = session_of(["x"] * TEXTS)
whatever_was_said = st.lists(said, min_size=TEXTS, max_size=TEXTS)


@settings(max_examples=60, deadline=None)
@given(whatever_was_said)
def test_nothing_said_becomes_a_heading_of_the_markdown(texts: list[str]) -> None:
    name = visible(texts[-1])
    assert [(heading.level, heading.title) for heading in headings(markdown_of(session_of(texts)))] == [
        (1, "Board session"),
        (2, "Decision"),
        (2, "Answers"),
        (2, "Brief"),
        (3, "Recommendation"),
        (3, "Agreement"),
        (3, "Tensions"),
        (3, "Blind spots"),
        (3, "Who did not answer"),
        (2, "Advisors"),
        (3, name),
        (4, "Follow-up discussion"),
        (3, "The Mute"),
        (2, "About this record"),
    ]


@settings(max_examples=60, deadline=None)
@given(whatever_was_said)
def test_nothing_said_reaches_beyond_its_place_in_the_markdown(texts: list[str]) -> None:
    parser = MarkdownIt("commonmark").enable("table")

    def outermost(document: str) -> list[str]:
        return [token.type for token in parser.parse(document) if token.level == 0]

    definitions: dict[str, object] = {}
    document = markdown_of(session_of(texts))
    tokens = parser.parse(document, definitions)
    kinds = {token.type for token in tokens} | {
        child.type for token in tokens for child in token.children or ()
    }
    assert outermost(document) == outermost(markdown_of(HARMLESS))
    assert kinds.isdisjoint({"html_block", "html_inline", "image"})
    assert not definitions.get("references")


@settings(max_examples=60, deadline=None)
@given(said)
def test_a_point_of_the_brief_is_shown_as_it_was_said(text: str) -> None:
    brief = Brief(Consensus((text,), "weak"), (), (), Recommendation("x", "low", ()))
    tokens = MarkdownIt("commonmark").parse(brief_of(brief))
    start = next(index for index, token in enumerate(tokens) if token.type == "list_item_open")
    children = tokens[start + 2].children or []
    assert {child.type for child in children} <= {"text", "text_special"}
    assert "".join(child.content for child in children) == visible(text)


class Page(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[tuple[str, str | None]] = set()
        self.others: list[str] = []
        self.pieces: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(attrs)

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    @property
    def skeleton(self) -> list[str]:
        """Without paragraphs: their number depends on what was said."""
        return [tag for tag in self.tags if tag not in {"p", "/p"}]

    @property
    def text(self) -> str:
        return visible("".join(self.pieces))


DRAWN = {"p", "br", "em", "strong", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "a"}
DRAWN |= {"table", "thead", "tbody", "tr", "th", "td"}
"""What a speaker's own Markdown may become."""


@settings(max_examples=60, deadline=None)
@given(whatever_was_said)
def test_nothing_said_becomes_more_than_drawn_markdown_in_html(texts: list[str]) -> None:
    page, harmless = Page(html_of(session_of(texts))), Page(html_of(HARMLESS))
    assert {tag.removeprefix("/") for tag in page.tags} <= {
        t.removeprefix("/") for t in harmless.tags
    } | DRAWN
    outline = [tag for tag in page.tags if re.fullmatch(r"/?(h\d|main|body|html|head|style|title|meta)", tag)]
    assert outline == [
        tag for tag in harmless.tags if re.fullmatch(r"/?(h\d|main|body|html|head|style|title|meta)", tag)
    ]
    for name, value in page.attributes - harmless.attributes:
        assert name in ("href", "class", "start", "title", "dir")
        assert name != "href" or (value or "").startswith(("https://", "http://"))
    assert page.others == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("abc éß12,", min_size=1), min_size=TEXTS, max_size=TEXTS))
def test_everything_said_is_in_the_html(texts: list[str]) -> None:
    whole = [f"x{said}" for said in texts]
    text = Page(html_of(session_of(whole))).text
    assert [said for said in whole if visible(said) not in text] == []


def test_markdown_is_drawn_in_html() -> None:
    said = "# So\n\n- **one**\n  - two\n\n~~no~~ [a](https://example.org) [b](javascript:x)"
    said += " ![c](https://example.org/c.png)"
    page = html_of(session_of([f"{said}\n\n| a | b |\n|--|--|\n| 1 | 2 |"] * TEXTS))
    assert '<p class="said-heading">So</p>' in page
    assert "<strong>one</strong>" in page
    assert page.count("<ul>") > html_of(HARMLESS).count("<ul>")
    assert "<s>no</s>" in page
    assert '<a href="https://example.org">a</a>' in page
    assert "<table>" in page
    assert "javascript:x" in Page(page).text
    assert "<img" not in page


@pytest.mark.parametrize("write", [board_markdown, board_html])
def test_the_small_model_is_warned_of(write: Callable[..., str]) -> None:
    warning = "its advice is not worth acting on"
    assert warning in write(SESSION, session_id="s-1", when=WHEN, tiny=True)
    assert warning not in write(SESSION, session_id="s-1", when=WHEN)
    assert warning in brief_markdown(SESSION, tiny=True)
    assert board_json(SESSION, session_id="s-1", when=WHEN, tiny=True)["tiny"]


def test_the_page_itself_runs_and_loads_nothing() -> None:
    page = Page(html_of(HARMLESS))
    assert set(page.tags).isdisjoint(
        {"script", "link", "img", "iframe", "object", "a", "svg", "base", "form"}
    )
    assert {name for name, _ in page.attributes} == {
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "class",
    }
    assert "url(" not in html_of(HARMLESS)
    assert "@import" not in html_of(HARMLESS)
