"""The record of a board session as a document: Markdown, one standalone HTML file, or JSON values.

Knows what a record says and in which order, once, as a list of blocks; how these are written is for
`board/document.py`. Refuses to know files, clocks and where sessions are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from moot.board.document import (
    Block,
    Heading,
    Lines,
    Note,
    Point,
    Points,
    Said,
    html,
    markdown,
    one_line,
)
from moot.board.events import Brief
from moot.board.ledger import ledger
from moot.board.state import Advisor, BoardState, Exchange
from moot.board.wire import MemberOut, TotalOut, UsageOut, texts_of
from moot.core.citing import cited, cited_texts, sign
from moot.core.flow import Usage
from moot.core.ledger import lines as ledger_lines
from moot.core.ledger import numbered as entries
from moot.evidence.citations import Citation, check, mark
from moot.evidence.items import Evidence, numbered
from moot.text.small_model import SMALL_MODEL

Mark = Callable[[str], str]
"""What is cited in somebody's words, made visible."""

# -- what a record says --------------------------------------------------------------------------


def _record(state: BoardState, session_id: str, when: datetime, *, tiny: bool, title: str) -> Iterator[Block]:
    yield Heading(1, title or "Board session")
    if tiny:
        yield Note(SMALL_MODEL)
    yield Heading(2, "Decision")
    yield Said(state.decision)
    if state.answers:
        yield Heading(2, "Answers")
        yield from (Said(answer.answer, label=answer.question) for answer in state.answers)
    yield Heading(2, "Brief")
    yield from _brief_of(state)
    yield Heading(2, "Advisors")
    for advisor in state.advisors:
        yield from _advisor(advisor)
    if state.background.corrections:
        yield Heading(2, "Decided so far")
        yield Points(tuple(Point(line) for line in ledger_lines(ledger(state))))
    if state.background.evidence:
        yield Heading(2, "Evidence")
        yield from _evidence(state)
    yield Heading(2, "About this record")
    yield Points(tuple(_about(state, session_id, when)))


def _brief_of(state: BoardState) -> Iterator[Block]:
    failure = state.brief_failure
    if failure is not None:
        yield Note(f"The brief could not be written: {failure.message}")
        if failure.raw.strip():
            yield Note("What the model wrote:")
            yield Said(failure.raw)
    if state.brief is not None:
        yield from _brief(state, state.brief, 3, partial(sign, items=state.brief_evidence))
    elif failure is None:
        yield Note("There is no brief yet.")
    yield from _unheard(state.advisors, 3)


def _brief(state: BoardState, brief: Brief, level: int, mark: Mark) -> Iterator[Block]:
    if state.brief_stale:
        yield Note("Out of date: advisors have spoken since this brief was written.")
    recommendation, consensus = brief.recommendation, brief.consensus
    yield Heading(level, "Recommendation")
    yield Note(f"Confidence: {recommendation.confidence}")
    yield Said(mark(recommendation.summary))
    if conditions := tuple(
        Point(mark(text), ticked=ticked) for text, ticked in state.conditions if one_line(text)
    ):
        yield Note("Conditions:")
        yield Points(conditions)
    yield Heading(level, "Agreement")
    yield Note(f"Strength: {consensus.strength}")
    yield _plain_points(map(mark, consensus.areas)) or Note("The board agreed on nothing in particular.")
    yield Heading(level, "Tensions")
    tensions = tuple(
        Point(
            mark(tension.issue),
            lead=" / ".join(tension.between),
            gloss=f"Implication: {mark(tension.implication)}",
        )
        for tension in brief.tensions
    )
    yield Points(tensions) if tensions else Note("None were found.")
    yield Heading(level, "Blind spots")
    yield _plain_points(map(mark, brief.blind_spots)) or Note("None were found.")


def _plain_points(items: Iterable[str]) -> Points | None:
    points = tuple(Point(item) for item in items if one_line(item))
    return Points(points) if points else None


def _unheard(advisors: Iterable[Advisor], level: int) -> Iterator[Block]:
    silent = tuple(
        Point(_why_silent(advisor), lead=_name(advisor)) for advisor in advisors if advisor.text is None
    )
    if silent:
        yield Heading(level, "Who did not answer")
        yield Points(silent)


def _why_silent(advisor: Advisor) -> str:
    return "has not been heard yet" if advisor.failure is None else advisor.failure.message


def _name(advisor: Advisor) -> str:
    return one_line(advisor.member.shown) or advisor.member.id


def _advisor(advisor: Advisor) -> Iterator[Block]:
    yield Heading(3, _name(advisor))
    yield Note(f"{advisor.member.role} · {advisor.member.contribution}")
    if advisor.text is None:
        yield Note(f"Did not answer: {_why_silent(advisor)}")
        return
    yield Said(sign(advisor.text, advisor.evidence))
    yield from _known(advisor.usage)
    if advisor.replied:
        yield Heading(4, "Follow-up discussion")
    for exchange in advisor.replied:
        yield Said(exchange.challenge, label="You")
        yield Said(sign(exchange.reply or "", exchange.evidence), label=_name(advisor))
        yield from _known(exchange.usage)


def _known(usage: Usage | None) -> Iterator[Block]:
    """What a reply rests on, where that is not just what it was given."""
    if usage is None:
        return
    if usage.cut_short:
        yield Note("The reply stopped at its length limit.")
    if usage.looked_at:
        yield Note(f"Looked at: {'; '.join(usage.looked_at)}")
    if usage.left_out:
        yield Note(f"Was not told, for want of room unless it says why: {'; '.join(usage.left_out)}")


def _evidence(state: BoardState) -> Iterator[Block]:
    """Each item, with the lines of it that are cited. The others are where it comes from."""
    items = state.background.evidence
    said = [(advisor.text or "", advisor.evidence) for advisor in state.advisors]
    said += [(each.reply or "", each.evidence) for advisor in state.advisors for each in advisor.replied]
    said += [(text, state.brief_evidence) for text in texts_of(state.brief)] if state.brief else ()
    every = [one for text, known in said for one in check(text, known) if one.is_verified]
    for number, item in numbered(items):
        yield Heading(3, number, anchor=number)
        size = "image" if item.image else f"{len(item.lines):,} lines"
        yield Note(f"{item.name} · {item.origin} · {size} · sha256 {item.sha256}")
        places = {one.shown: one for one in every if one.item == number and one.lines is not None}
        yield from (_lines(one, item) for one in sorted(places.values(), key=lambda one: one.lines or ()))


def _lines(one: Citation, item: Evidence) -> Lines:
    first, last = one.lines or (1, 1)
    return Lines(one, tuple(item.lines[first - 1 : last]))


def _about(state: BoardState, session_id: str, when: datetime) -> Iterator[Point]:
    total = TotalOut.of(state.bills)
    yield Point(state.model, lead="Model")
    cached = f" ({total.cached_tokens:,} of them from the provider's cache)" if total.cached_tokens else ""
    yield Point(f"{total.input_tokens:,} read{cached}, {total.output_tokens:,} written", lead="Tokens")
    yield Point(_cost_in_words(total.cost_usd, state.bills), lead="Cost")
    yield Point(f"{when.day} {when:%B %Y, %H:%M %Z}", lead="Date")
    yield Point(session_id, lead="Session")


def _cost_in_words(cost: float | None, bills: tuple[Usage, ...]) -> str:
    if cost is None:
        return "not known"
    amount = "under $0.01" if 0 < cost < 0.01 else f"${cost:,.2f}"
    unknown = sum(bill.cost_usd is None for bill in bills)
    return (
        f"{amount}, without {unknown} of {len(bills)} replies whose price is not known" if unknown else amount
    )


# -- as a document -------------------------------------------------------------------------------


def board_markdown(
    state: BoardState, *, session_id: str, when: datetime, tiny: bool = False, title: str = ""
) -> str:
    """`title` is what the person calls the session, if they gave it a name."""
    return markdown(_record(state, session_id, when, tiny=tiny, title=title))


def brief_markdown(state: BoardState, *, tiny: bool = False) -> str:
    """The brief alone, of a session that has one. No citation leads anywhere: the evidence is not with it."""
    assert state.brief is not None
    blocks: list[Block] = [Heading(1, "Board brief")]
    if tiny:
        blocks.append(Note(SMALL_MODEL))
    blocks.append(Said(state.decision))
    blocks.extend(_brief(state, state.brief, 2, lambda text: mark(text, state.background.evidence)))
    blocks.extend(_unheard(state.advisors, 2))
    return markdown(blocks)


def views_markdown(state: BoardState) -> str:
    """What each advisor has said, and replied to challenges. What is cited is told as they wrote it."""
    blocks: list[Block] = [Heading(1, "What the advisors said"), Said(state.decision)]
    for advisor in state.advisors:
        blocks.append(Heading(2, _name(advisor)))
        blocks.append(Said(advisor.text) if advisor.text else Note(f"Did not answer: {_why_silent(advisor)}"))
        for exchange in advisor.replied:
            blocks.append(Said(exchange.challenge, label="The person"))
            blocks.append(Said(exchange.reply or "", label=_name(advisor)))
    return markdown(blocks)


def board_html(
    state: BoardState, *, session_id: str, when: datetime, tiny: bool = False, title: str = ""
) -> str:
    return html(_record(state, session_id, when, tiny=tiny, title=title), title or state.decision)


# -- JSON ----------------------------------------------------------------------------------------


def board_json(
    state: BoardState, *, session_id: str, when: datetime, tiny: bool = False, title: str = ""
) -> dict[str, Any]:
    """Plain JSON values, every text as it was said."""
    written = msgspec.json.encode(
        {
            "id": session_id,
            "title": title or state.decision,
            "createdAt": when.isoformat(),
            "decision": state.decision,
            "answers": state.answers,
            "mode": state.mode,
            "model": state.model,
            "tiny": tiny,
            "warning": SMALL_MODEL if tiny else None,
            "step": state.step,
            "evidence": [_item(number, item) for number, item in numbered(state.background.evidence)],
            "decidedSoFar": [
                {"number": f"D{number}", "kind": one.kind, "text": one.text, "by": one.by, "at": one.at}
                for number, one in entries(ledger(state)).items()
            ],
            "personas": [MemberOut.of(advisor.member) for advisor in state.advisors],
            "responses": [_response(advisor) for advisor in state.advisors],
            "brief": state.brief,
            "briefCited": cited_texts(texts_of(state.brief), state.brief_evidence) if state.brief else (),
            "briefStale": state.brief_stale,
            "tickedConditions": [condition for condition, ticked in state.conditions if ticked],
            "briefError": None if state.brief_failure is None else state.brief_failure.message,
            "usage": TotalOut.of(state.bills),
        }
    )
    values: dict[str, Any] = msgspec.json.decode(written)
    return values


def _item(number: str, item: Evidence) -> dict[str, Any]:
    return {
        "id": number,
        "name": item.name,
        "origin": item.origin,
        "sha256": item.sha256,
        "mediaType": item.media_type,
        "lines": 0 if item.image else len(item.lines),
    }


def _response(advisor: Advisor) -> dict[str, Any]:
    return {
        "personaId": advisor.member.id,
        "personaName": advisor.member.shown,
        "content": advisor.text or "",
        "isComplete": advisor.text is not None,
        "error": None if advisor.failure is None else advisor.failure.message,
        "retryAfter": None if advisor.failure is None else advisor.failure.retry_after,
        "citations": cited(advisor.text or "", advisor.evidence),
        "challenges": [_challenge(exchange) for exchange in advisor.exchanges],
        "usage": _usage(advisor.usage),
    }


def _challenge(exchange: Exchange) -> dict[str, Any]:
    return {
        "challengeText": exchange.challenge,
        "replyContent": exchange.reply or "",
        "isReplyComplete": exchange.reply is not None,
        "citations": cited(exchange.reply or "", exchange.evidence),
        "usage": _usage(exchange.usage),
    }


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    return {**msgspec.to_builtins(UsageOut.of(usage)), "cutShort": usage.cut_short}
