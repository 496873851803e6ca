"""The record of a board session as a document: Markdown, one standalone HTML file, or JSON values.

Knows what a record says and in which order, once, as a list of blocks; two small renderers then write
these. Whatever a person, a model or a persona file said is untrusted: it can neither change the structure
of a document nor run or load anything in it. Refuses to know files, clocks and where sessions are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from html import escape
from textwrap import shorten
from typing import Any

import msgspec
from markdown_it import MarkdownIt

from moot.board.events import Brief
from moot.board.state import Advisor, BoardState, Exchange
from moot.board.wire import MemberOut, TotalOut, UsageOut
from moot.core.flow import Usage
from moot.text.characters import strip_controls
from moot.text.small_model import SMALL_MODEL

# -- what a record is made of --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class _Note:
    """The program's own words."""

    text: str


@dataclass(frozen=True, slots=True)
class _Said:
    """Somebody's own words, kept line by line. `label` is who speaks, or what was asked."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class _Point:
    text: str
    lead: str = ""
    gloss: str = ""
    ticked: bool | None = None
    """Nothing where it is not for ticking."""


@dataclass(frozen=True, slots=True)
class _Points:
    points: tuple[_Point, ...]


_Block = _Heading | _Note | _Said | _Points


def _lines(text: str) -> list[str]:
    """Broken wherever any reader of the document might break it; without control characters."""
    return [strip_controls(line) for line in text.splitlines()]


def _one_line(text: str) -> str:
    return " ".join(" ".join(_lines(text)).split())


# -- what a record says --------------------------------------------------------------------------


def _record(
    state: BoardState, session_id: str, when: datetime, *, tiny: bool, title: str
) -> Iterator[_Block]:
    yield _Heading(1, title or "Board session")
    if tiny:
        yield _Note(SMALL_MODEL)
    yield _Heading(2, "Decision")
    yield _Said(state.decision)
    if state.answers:
        yield _Heading(2, "Answers")
        yield from (_Said(answer.answer, label=answer.question) for answer in state.answers)
    yield _Heading(2, "Brief")
    yield from _brief_of(state)
    yield _Heading(2, "Advisors")
    for advisor in state.advisors:
        yield from _advisor(advisor)
    yield _Heading(2, "About this record")
    yield _Points(tuple(_about(state, session_id, when)))


def _brief_of(state: BoardState) -> Iterator[_Block]:
    failure = state.brief_failure
    if failure is not None:
        yield _Note(f"The brief could not be written: {failure.message}")
        if failure.raw.strip():
            yield _Note("What the model wrote:")
            yield _Said(failure.raw)
    if state.brief is not None:
        yield from _brief(state, state.brief, 3)
    elif failure is None:
        yield _Note("There is no brief yet.")
    yield from _unheard(state.advisors, 3)


def _brief(state: BoardState, brief: Brief, level: int) -> Iterator[_Block]:
    if state.brief_stale:
        yield _Note("Out of date: advisors have spoken since this brief was written.")
    recommendation, consensus = brief.recommendation, brief.consensus
    yield _Heading(level, "Recommendation")
    yield _Note(f"Confidence: {recommendation.confidence}")
    yield _Said(recommendation.summary)
    if conditions := tuple(
        _Point(text, ticked=ticked) for text, ticked in state.conditions if _one_line(text)
    ):
        yield _Note("Conditions:")
        yield _Points(conditions)
    yield _Heading(level, "Agreement")
    yield _Note(f"Strength: {consensus.strength}")
    yield _plain_points(consensus.areas) or _Note("The board agreed on nothing in particular.")
    yield _Heading(level, "Tensions")
    tensions = tuple(
        _Point(tension.issue, lead=" / ".join(tension.between), gloss=f"Implication: {tension.implication}")
        for tension in brief.tensions
    )
    yield _Points(tensions) if tensions else _Note("None were found.")
    yield _Heading(level, "Blind spots")
    yield _plain_points(brief.blind_spots) or _Note("None were found.")


def _plain_points(items: Iterable[str]) -> _Points | None:
    points = tuple(_Point(item) for item in items if _one_line(item))
    return _Points(points) if points else None


def _unheard(advisors: Iterable[Advisor], level: int) -> Iterator[_Block]:
    silent = tuple(
        _Point(_why_silent(advisor), lead=_name(advisor)) for advisor in advisors if advisor.text is None
    )
    if silent:
        yield _Heading(level, "Who did not answer")
        yield _Points(silent)


def _why_silent(advisor: Advisor) -> str:
    return "has not been heard yet" if advisor.failure is None else advisor.failure.message


def _name(advisor: Advisor) -> str:
    return _one_line(advisor.member.shown) or advisor.member.id


def _advisor(advisor: Advisor) -> Iterator[_Block]:
    yield _Heading(3, _name(advisor))
    yield _Note(f"{advisor.member.role} · {advisor.member.contribution}")
    if advisor.text is None:
        yield _Note(f"Did not answer: {_why_silent(advisor)}")
        return
    yield _Said(advisor.text)
    yield from _cut_short(advisor.usage)
    if advisor.replied:
        yield _Heading(4, "Follow-up discussion")
    for exchange in advisor.replied:
        yield _Said(exchange.challenge, label="You")
        yield _Said(exchange.reply or "", label=_name(advisor))
        yield from _cut_short(exchange.usage)


def _cut_short(usage: Usage | None) -> Iterator[_Block]:
    if usage is not None and usage.cut_short:
        yield _Note("The reply stopped at its length limit.")


def _about(state: BoardState, session_id: str, when: datetime) -> Iterator[_Point]:
    total = TotalOut.of(state.bills)
    yield _Point(state.model, lead="Model")
    yield _Point(f"{total.input_tokens:,} read, {total.output_tokens:,} written", lead="Tokens")
    yield _Point(_cost_in_words(total.cost_usd, state.bills), lead="Cost")
    yield _Point(f"{when.day} {when:%B %Y, %H:%M %Z}", lead="Date")
    yield _Point(session_id, lead="Session")


def _cost_in_words(cost: float | None, bills: tuple[Usage, ...]) -> str:
    if cost is None:
        return "not known"
    amount = "under $0.01" if 0 < cost < 0.01 else f"${cost:,.2f}"
    unknown = sum(bill.cost_usd is None for bill in bills)
    return (
        f"{amount}, without {unknown} of {len(bills)} replies whose price is not known" if unknown else amount
    )


# -- Markdown ------------------------------------------------------------------------------------

# Within a quote a speaker's own Markdown is welcome, except for what reaches beyond the quote: an HTML
# comment would swallow the rest of a page, a link definition holds for the whole document, and an image is
# fetched. Code is no exception, since where code begins depends on the reader's dialect.
_REACHING = re.compile(r"<(?=[A-Za-z/!?])|(?<=!)\[|(?<=\]):")
_ACTIVE = re.compile(r"[\\`*_\[\]<&~#]|\A[-+=>]")
_NUMBERED = re.compile(r"\A(\d+)([.)])")


def board_markdown(
    state: BoardState, *, session_id: str, when: datetime, tiny: bool = False, title: str = ""
) -> str:
    """`title` is what the person calls the session, if they gave it a name."""
    return _markdown(_record(state, session_id, when, tiny=tiny, title=title))


def brief_markdown(state: BoardState, *, tiny: bool = False) -> str:
    """The brief alone, of a session that has one."""
    assert state.brief is not None
    blocks: list[_Block] = [_Heading(1, "Board brief")]
    if tiny:
        blocks.append(_Note(SMALL_MODEL))
    blocks.append(_Said(state.decision))
    blocks.extend(_brief(state, state.brief, 2))
    blocks.extend(_unheard(state.advisors, 2))
    return _markdown(blocks)


def _markdown(blocks: Iterable[_Block]) -> str:
    return "\n\n".join(_markdown_block(block) for block in blocks) + "\n"


def _markdown_block(block: _Block) -> str:
    match block:
        case _Heading(level, title):
            return f"{'#' * level} {_literal(title)}"
        case _Note(text):
            return _literal(text)
        case _Said(text, label):
            above = f"**{_literal(label)}**\n\n" if _one_line(label) else ""
            return above + "\n".join(_quoted(line) for line in _lines(text) or [""])
        case _Points(points):
            return "\n".join(_markdown_point(point) for point in points)


def _markdown_point(point: _Point) -> str:
    lead = f"**{_literal(point.lead)}**: " if _one_line(point.lead) else ""
    gloss = f"\n  - {_literal(point.gloss)}" if point.gloss else ""
    box = "" if point.ticked is None else "[x] " if point.ticked else "[ ] "
    return f"- {box}{lead}{_literal(point.text)}{gloss}"


def _quoted(line: str) -> str:
    contained = _REACHING.sub(lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", line)
    return f"> {contained}" if line.strip() else ">"


def _literal(text: str) -> str:
    """One line that Markdown shows as it stands."""
    return _NUMBERED.sub(r"\1\\\2", _ACTIVE.sub(r"\\\g<0>", _one_line(text)))


# -- HTML ----------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; --paper: #faf6ee; --ink: #211d17; --ink-soft: #4a443a; --muted: #696153;
  --rule: #e2d9c8; --edge: #8d8371; --sunk: #f2ecdf; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #171511; --ink: #eee7da; --ink-soft: #cfc6b6; --muted: #a89e8d; --rule: #37322a;
    --edge: #83796a; --sunk: #26221c; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 Inter, system-ui, sans-serif; }
main { max-width: 40rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; overflow-wrap: anywhere; }
h1, h2, h3, h4 { line-height: 1.25; margin: 2rem 0 0.5rem; text-wrap: balance; }
h1, h2 { font-family: "Source Serif 4", Georgia, serif; font-weight: 560; letter-spacing: -0.02em; }
h1 { font-size: clamp(2rem, 1.5rem + 2.2vw, 2.875rem); line-height: 1.1; }
h2 { font-size: 1.625rem; margin-top: 3rem; padding-top: 1.25rem; border-top: 1px solid var(--rule); }
h3, h4 { font-size: 1rem; }
li { font: 1.0625rem/1.5 "Source Serif 4", Georgia, serif; margin: 0.35rem 0; }
p, ul { margin: 0.5rem 0; }
ul { padding-inline-start: 1.25rem; }
li:has(.box) { list-style: none; }
.box { color: var(--muted); font-size: 1.1em; }
.note { color: var(--muted); font-size: 0.875rem; }
.label { margin-top: 1.25rem; font-weight: 600; }
blockquote { margin: 0.5rem 0 1.25rem; font: 1.125rem/1.62 "Source Serif 4", Georgia, serif; }
blockquote p { margin: 0 0 0.9rem; }
blockquote blockquote { padding-inline-start: 1rem; border-inline-start: 2px solid var(--edge);
  font-style: italic; color: var(--ink-soft); }
blockquote li { font: inherit; }
blockquote li p { margin: 0; }
blockquote strong { font-weight: 650; }
blockquote .said-heading { font-weight: 650; }
blockquote a { color: inherit; text-decoration-color: var(--edge); text-underline-offset: 0.2em; }
blockquote pre { overflow-x: auto; padding: 0.9rem 1rem; background: var(--sunk); border-radius: 10px;
  line-height: 1.45; }
blockquote code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 0.86em;
  background: var(--sunk); }
blockquote table { display: block; overflow-x: auto; overflow-wrap: break-word; border-collapse: collapse;
  font-size: 0.9em; line-height: 1.45; }
blockquote :is(th, td) { padding: 0.45rem 0; padding-inline-end: 0.9rem; text-align: start; }
blockquote th { font-family: Inter, system-ui, sans-serif; font-size: 0.85em; font-weight: 600;
  color: var(--ink-soft); }
blockquote tr { border-bottom: 1px solid var(--rule); }
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --ink-soft: #222; --muted: #444; --rule: #bbb;
    --edge: #777; --sunk: #fff; }
  main { max-width: none; padding: 0; }
  h1, h2, h3, h4, .label, .note { break-after: avoid; }
  p, li { orphans: 3; widows: 3; }
  blockquote table { display: table; }
}
"""


def board_html(
    state: BoardState, *, session_id: str, when: datetime, tiny: bool = False, title: str = ""
) -> str:
    """One file that needs nothing else. Its policy forbids whatever escaping should have prevented."""
    blocks = _record(state, session_id, when, tiny=tiny, title=title)
    body = "\n".join(_html_block(block) for block in blocks)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(shorten(_one_line(title or state.decision), 70, placeholder="…"))} (board session)</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _html_block(block: _Block) -> str:
    match block:
        case _Heading(level, title):
            return f'<h{level} dir="auto">{_text(title)}</h{level}>'
        case _Note(text):
            return f'<p class="note" dir="auto">{_text(text)}</p>'
        case _Said(text, label):
            above = f'<p class="label" dir="auto">{_text(label)}</p>\n' if _one_line(label) else ""
            return f"{above}<blockquote>\n{_rendered(text)}\n</blockquote>"
        case _Points(points):
            return "<ul>\n" + "\n".join(_html_point(point) for point in points) + "\n</ul>"


def _html_point(point: _Point) -> str:
    lead = f'<strong dir="auto">{_text(point.lead)}</strong>: ' if _one_line(point.lead) else ""
    gloss = f'\n<p dir="auto">{_text(point.gloss)}</p>' if point.gloss else ""
    if point.ticked is not None:
        lead = f'<span class="box">{"☑" if point.ticked else "☐"}</span> {lead}'
    return f'<li dir="auto">{lead}{_DRAWN.renderInline(_one_line(point.text))}{gloss}</li>'


_BLOCKS = ("p", "ul", "ol", "td", "th")
"""Each begins at the side that its own words begin at. What is in a list begins where the list does."""


def _rendered(text: str) -> str:
    """A speaker's Markdown as the page draws it: no HTML of theirs, no image, no heading that would stand in
    the document's own outline, and links to the web only."""
    tokens = _DRAWN.parse("\n".join(_lines(text)))
    lists = 0
    for token in tokens:
        lists += token.nesting if token.tag in ("ul", "ol") else 0
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
        if token.type == "heading_open":
            token.attrSet("class", "said-heading")
        if token.nesting == 1 and token.tag in _BLOCKS and not (lists and token.tag == "p"):
            token.attrSet("dir", "auto")
        if token.tag in ("td", "th"):
            token.attrs.pop("style", None)
    return str(_DRAWN.renderer.render(tokens, _DRAWN.options, {})).strip()


def _drawing() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True})
    markdown.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline", "reference"])
    markdown.validateLink = lambda url: url.startswith(("https://", "http://"))  # type: ignore[method-assign]
    return markdown


_DRAWN = _drawing()


def _text(text: str) -> str:
    return escape(_one_line(text))


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
            "personas": [MemberOut.of(advisor.member) for advisor in state.advisors],
            "responses": [_response(advisor) for advisor in state.advisors],
            "brief": state.brief,
            "briefStale": state.brief_stale,
            "tickedConditions": [condition for condition, ticked in state.conditions if ticked],
            "briefError": None if state.brief_failure is None else state.brief_failure.message,
            "usage": TotalOut.of(state.bills),
        }
    )
    values: dict[str, Any] = msgspec.json.decode(written)
    return values


def _response(advisor: Advisor) -> dict[str, Any]:
    return {
        "personaId": advisor.member.id,
        "personaName": advisor.member.shown,
        "content": advisor.text or "",
        "isComplete": advisor.text is not None,
        "error": None if advisor.failure is None else advisor.failure.message,
        "retryAfter": None if advisor.failure is None else advisor.failure.retry_after,
        "challenges": [_challenge(exchange) for exchange in advisor.exchanges],
        "usage": _usage(advisor.usage),
    }


def _challenge(exchange: Exchange) -> dict[str, Any]:
    return {
        "challengeText": exchange.challenge,
        "replyContent": exchange.reply or "",
        "isReplyComplete": exchange.reply is not None,
        "usage": _usage(exchange.usage),
    }


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    return {**msgspec.to_builtins(UsageOut.of(usage)), "cutShort": usage.cut_short}
