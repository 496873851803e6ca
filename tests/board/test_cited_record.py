"""What is cited in a record: it leads to the lines that are cited, and what cannot be found says so."""

from __future__ import annotations

from datetime import UTC, datetime

from markdown_it import MarkdownIt

from moot.board.events import (
    AdvisorSpoke,
    BoardConvened,
    BoardEvent,
    Brief,
    BriefDrafted,
    ChallengeMade,
    ChallengeReplied,
    Consensus,
    DecisionPresented,
    Member,
    Recommendation,
    Tension,
)
from moot.board.flow import BOARD
from moot.board.record import board_html, board_json, board_markdown, brief_markdown
from moot.board.state import BoardState
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.flow import Usage
from moot.core.ledger import Correction
from moot.evidence.items import Evidence

WHEN = datetime(2026, 3, 9, 14, 5, tzinfo=UTC)
ITEM = Evidence(
    "plan.md", "docs/plan.md", "ab12", "text/markdown", "# Plan\nThe lease ends <soon>\n*in* May\n"
)
BILL = Usage("m", 1, 1, None, 1, looked_at=("src/app.py, lines 1 to 40",), left_out=("E2 (big.txt)",))


def session(view: str, summary: str = "Wait [E1:2].", reply: str = "Yes [E1].") -> BoardState:
    brief = Brief(
        Consensus(("All agree [E1:3]",), "weak"),
        (Tension(("A", "B"), "Now [E3]", "Later [E1:2-3]"),),
        (),
        Recommendation(summary, "low", ("Signed [E1:9]",)),
    )
    happened: list[BoardEvent] = [
        DecisionPresented("Stay [E1]?", (Member("a", "A", "r", "challenger"),), "independent", "m"),
        EvidenceGiven((ITEM,)),
        BoardConvened(),
        AdvisorSpoke("a", view, BILL),
        BriefDrafted(brief, BILL),
        ChallengeMade("a", "Sure [E1:1]?"),
        ChallengeReplied("a", reply, BILL),
    ]
    return BOARD.fold(happened)


def markdown(state: BoardState) -> str:
    return board_markdown(state, session_id="s", when=WHEN)


def html(state: BoardState) -> str:
    return board_html(state, session_id="s", when=WHEN).replace(' dir="auto"', "")


def test_markdown_leads_from_a_citation_to_the_item_with_the_lines_that_are_cited() -> None:
    record = markdown(session('It says "The lease ends <soon>" [E1:2]. And [E1:2-3, E1].'))
    assert '> It says "The lease ends &lt;soon>" [E1:2](#e1). And [E1:2-3](#e1), [E1](#e1).\n' in record
    assert "### E1\n\nplan.md · docs/plan.md · 4 lines · sha256 ab12\n\n" in record
    assert "**Line 2**\n\n> 2 The lease ends \\<soon>\n" in record
    assert "**Lines 2 to 3**\n\n> 2 The lease ends \\<soon>  \n> 3 \\*in\\* May\n" in record
    drawn = MarkdownIt().render(record)
    assert '<a href="#e1">E1:2</a>' in drawn
    assert "\ue000" not in record


def test_what_cannot_be_found_is_marked_wherever_it_stands() -> None:
    state = session('He said "the lease ends in March" [E1:2]. See [E4].')
    record, page, brief = markdown(state), html(state), brief_markdown(state)
    for text in (record, brief):
        assert "Signed \\[E1:9\\] (unverified: no such lines, E1 has 4)" in text
        assert "\\[E3\\] (unverified: no such item)" in text
    assert "\\[E1:2\\] (unverified: not in the lines). See \\[E4\\] (unverified: no such item)." in record
    assert '<span class="unverified">[E1:2] (unverified: not in the lines)</span>' in page
    assert "Wait [E1:2].\n" in brief, "the brief alone has no evidence that a link could lead to"
    assert "(#e1)" not in brief


def test_html_leads_to_the_lines_themselves() -> None:
    page = html(session("Read [E1:2-3] and `x [E1:2]`."))
    assert '<a class="cited" href="#E1-2-3">[E1:2-3]</a> and <code>x [E1:2]</code>.' in page
    assert '<h3 id="E1">E1</h3>' in page
    assert (
        '<pre class="lines" id="E1-2-3"><span class="number">2</span>The lease ends &lt;soon&gt;\n'
        '<span class="number">3</span>*in* May</pre>'
    ) in page
    assert '<p>Implication: Later <a class="cited" href="#E1-2-3">[E1:2-3]</a></p>' in page
    assert '<a class="cited" href="#E1">[E1]</a>' in page


def test_a_citation_cannot_carry_anything_into_the_page() -> None:
    page = html(session('[x](https://e.example "[E1:2]") [E1:2](javascript:alert(1)) \ue000[<b>]\ue000'))
    assert 'title="[E1:2' in page
    assert "javascript:alert(1)" not in page.replace("(javascript:alert(1))", "")
    assert "<b>" not in page


def test_the_person_is_not_checked() -> None:
    assert "> Sure [E1:1]?\n" in markdown(session("x"))
    assert "> Stay [E1]?\n" in markdown(session("x"))


def test_what_was_looked_at_and_left_out_is_told_under_the_words() -> None:
    record = markdown(session("A view."))
    assert (
        "> A view.\n\nLooked at: src/app.py, lines 1 to 40\n\n"
        "Was not told, for want of room unless it says why: E2 (big.txt)\n"
    ) in record


def test_what_the_person_has_corrected_is_in_the_record() -> None:
    assert "## Decided so far" not in markdown(session("x"))
    corrected = BOARD.advance(
        session("x"), LedgerCorrected(Correction("own:1", "May at the latest", "brief"))
    )
    assert (
        "## Decided so far\n\n- D1. Open: Stay \\[E1\\]? (the person, at the decision)\n"
        "- D2. Open: What the Board recommends holds only if: Signed \\[E1:9\\] (the Board, at the brief)\n"
        "- D3. Said: Sure \\[E1:1\\]? (the person, at challenge 1, to A)\n"
        "- D4. Decided: May at the latest (the person, at brief)\n"
    ) in markdown(corrected)


def test_json_has_every_citation_with_its_place_and_its_check() -> None:
    record = board_json(session("Read [E1:2-3], [E7]."), session_id="s", when=WHEN)
    assert record["responses"][0]["citations"] == [
        {"item": "E1", "first": 2, "last": 3, "start": 5, "end": 13, "check": "verified"},
        {"item": "E7", "first": None, "last": None, "start": 15, "end": 19, "check": "no such item"},
    ]
    assert record["responses"][0]["challenges"][0]["citations"][0]["check"] == "verified"
    assert [one["text"] for one in record["briefCited"]] == [
        "Wait [E1:2].", "All agree [E1:3]", "Now [E3]", "Later [E1:2-3]", "Signed [E1:9]",
    ]  # fmt: skip
    assert record["evidence"] == [
        {"id": "E1", "name": "plan.md", "origin": "docs/plan.md", "sha256": "ab12",
         "mediaType": "text/markdown", "lines": 4},
    ]  # fmt: skip


def test_the_bill_says_what_came_from_the_cache_and_each_reply_what_it_rests_on() -> None:
    cached = session("Yes.")
    assert "**Tokens**: 3 read, 3 written\n" in markdown(cached)
    bill = Usage("m", 20_000, 10, 0.01, 1, cached_tokens=18_000, looked_at=("a.py",), left_out=("b.py",))
    cached = BOARD.fold(
        [
            DecisionPresented("Stay?", (Member("a", "A", "r", "challenger"),), "independent", "m"),
            BoardConvened(),
            AdvisorSpoke("a", "Yes.", bill),
        ]
    )
    assert "**Tokens**: 20,000 read (18,000 of them from the provider's cache), 10 written\n" in markdown(
        cached
    )
    record = board_json(cached, session_id="s", when=WHEN)
    said = record["responses"][0]["usage"]
    assert (said["cachedTokens"], said["lookedAt"], said["leftOut"]) == (18_000, ["a.py"], ["b.py"])
    assert record["usage"]["cachedTokens"] == 18_000
