"""A document of headings, notes, points and somebody's own words, written as Markdown or as one HTML file.

Whatever a person, a model or a file said is untrusted: it can neither change the structure of a document nor
run or load anything in it. What is cited, in words that were signed (core/citing.py), leads to its lines, or
says that it is not verified. Refuses to know what a document is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from textwrap import shorten

from markdown_it import MarkdownIt
from markdown_it.token import Token

from moot.core.citing import pieces, unsigned
from moot.evidence.citations import Citation
from moot.text.characters import strip_controls

# -- what a document is made of ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heading:
    """By its `anchor` an item of evidence is found."""

    level: int
    title: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """The program's own words."""

    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """Somebody's own words, kept line by line. `label` is who speaks, or what was asked."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    text: str
    lead: str = ""
    gloss: str = ""
    ticked: bool | None = None
    """Nothing where it is not for ticking."""


@dataclass(frozen=True, slots=True)
class Points:
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Of an item of evidence, as they are cited."""

    cited: Citation
    lines: tuple[str, ...]

    @property
    def label(self) -> str:
        first, last = self.cited.lines or (1, 1)
        return f"Line {first}" if first == last else f"Lines {first} to {last}"

    @property
    def numbered(self) -> list[tuple[int, str]]:
        first, _ = self.cited.lines or (1, 1)
        return list(enumerate(self.lines, start=first))


Block = Heading | Note | Said | Points | Lines


def _lines(text: str) -> list[str]:
    """Broken wherever any reader of the document might break it; without control characters."""
    return [strip_controls(line) for line in text.splitlines()]


def one_line(text: str) -> str:
    return " ".join(" ".join(_lines(text)).split())


# -- Markdown ------------------------------------------------------------------------------------

# Within a quote a speaker's own Markdown is welcome, except for what reaches beyond the quote: an HTML
# comment would swallow the rest of a page, a link definition holds for the whole document, and an image is
# fetched. Code is no exception, since where code begins depends on the reader's dialect.
_REACHING = re.compile(r"<(?=[A-Za-z/!?])|(?<=!)\[|(?<=\]):")
_ACTIVE = re.compile(r"[\\`*_\[\]<&~#]|\A[-+=>]")
_NUMBERED = re.compile(r"\A(\d+)([.)])")


def markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(_markdown_block(block) for block in blocks) + "\n"


def _markdown_block(block: Block) -> str:
    match block:
        case Heading(level, title):
            return f"{'#' * level} {_literal(title)}"
        case Note(text):
            return _literal(text)
        case Said(text, label):
            above = f"**{_literal(label)}**\n\n" if one_line(label) else ""
            return above + "\n".join(_quoted(line) for line in _lines(text) or [""])
        case Points(points):
            return "\n".join(_markdown_point(point) for point in points)
        case Lines() as lines:
            kept = "  \n".join(f"> {number} {_literal(line)}" for number, line in lines.numbered)
            return f"**{lines.label}**\n\n{kept}"


def _markdown_point(point: Point) -> str:
    lead = f"**{_literal(point.lead)}**: " if one_line(point.lead) else ""
    gloss = f"\n  - {_linked(_literal(point.gloss))}" if point.gloss else ""
    box = "" if point.ticked is None else "[x] " if point.ticked else "[ ] "
    return f"- {box}{lead}{_linked(_literal(point.text))}{gloss}"


def _quoted(line: str) -> str:
    contained = _REACHING.sub(lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", line)
    return f"> {_linked(contained)}" if line.strip() else ">"


def _linked(text: str) -> str:
    return "".join(piece if isinstance(piece, str) else _markdown_links(piece) for piece in pieces(text))


def _markdown_links(cited: tuple[Citation, ...]) -> str:
    return ", ".join(
        f"[{one.shown}](#{one.item.lower()})"
        if one.is_verified
        else f"\\[{one.shown}\\] (unverified: {one.problem})"
        for one in cited
    )


def _literal(text: str) -> str:
    """One line that Markdown shows as it stands."""
    return _NUMBERED.sub(r"\1\\\2", _ACTIVE.sub(r"\\\g<0>", one_line(text)))


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
a.cited { font: 600 0.75rem/1.4 Inter, system-ui, sans-serif; white-space: nowrap; }
.unverified { font: 0.75rem/1.4 Inter, system-ui, sans-serif; color: var(--muted);
  border-bottom: 1px dashed var(--edge); }
pre.lines { margin: 0.5rem 0 1.25rem; padding: 0.75rem 1rem; background: var(--sunk); white-space: pre-wrap;
  font: 0.8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre.lines .number { display: inline-block; min-width: 3ch; margin-inline-end: 1ch; color: var(--muted);
  text-align: end; }
:target { outline: 2px solid var(--edge); outline-offset: 3px; }
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


def html(blocks: Iterable[Block], title: str) -> str:
    """One file that needs nothing else. Its policy forbids whatever escaping should have prevented."""
    body = "\n".join(_html_block(block) for block in blocks)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(shorten(one_line(title), 70, placeholder="…"))} (board session)</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _html_block(block: Block) -> str:
    match block:
        case Heading(level, title, anchor):
            id_ = f' id="{escape(anchor)}"' if anchor else ""
            return f'<h{level} dir="auto"{id_}>{_text(title)}</h{level}>'
        case Note(text):
            return f'<p class="note" dir="auto">{_text(text)}</p>'
        case Said(text, label):
            above = f'<p class="label" dir="auto">{_text(label)}</p>\n' if one_line(label) else ""
            return f"{above}<blockquote>\n{_rendered(text)}\n</blockquote>"
        case Points(points):
            return "<ul>\n" + "\n".join(_html_point(point) for point in points) + "\n</ul>"
        case Lines() as lines:
            kept = "\n".join(
                f'<span class="number">{number}</span>{escape(strip_controls(line))}'
                for number, line in lines.numbered
            )
            above = f'<p class="label">{lines.label}</p>'
            return f'{above}\n<pre class="lines" dir="auto" id="{_place(lines.cited)}">{kept}</pre>'


def _html_point(point: Point) -> str:
    lead = f'<strong dir="auto">{_text(point.lead)}</strong>: ' if one_line(point.lead) else ""
    gloss = f'\n<p dir="auto">{_html_linked(point.gloss)}</p>' if point.gloss else ""
    if point.ticked is not None:
        lead = f'<span class="box">{"☑" if point.ticked else "☐"}</span> {lead}'
    return f'<li dir="auto">{lead}{_rendered_inline(point.text)}{gloss}</li>'


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
    _link(tokens)
    return str(_DRAWN.renderer.render(tokens, _DRAWN.options, {})).strip()


def _rendered_inline(text: str) -> str:
    tokens = _DRAWN.parseInline(one_line(text))
    _link(tokens)
    return str(_DRAWN.renderer.render(tokens, _DRAWN.options, {}))


def _link(tokens: Iterable[Token]) -> None:
    """What is cited, wherever it is drawn as text."""
    for token in tokens:
        if token.children is not None:
            token.children = [piece for child in token.children for piece in _split(child)]


def _split(token: Token) -> list[Token]:
    if token.type != "text":
        # In code it stays as it was written.
        token.content = unsigned(token.content)
        return [token]
    return [
        Token("text", "", 0, content=piece)
        if isinstance(piece, str)
        else Token("html_inline", "", 0, content=_html_links(piece))
        for piece in pieces(token.content)
    ]


def _html_linked(text: str) -> str:
    return "".join(
        escape(piece) if isinstance(piece, str) else _html_links(piece) for piece in pieces(one_line(text))
    )


def _html_links(cited: tuple[Citation, ...]) -> str:
    return ", ".join(
        f'<a class="cited" href="#{_place(one)}">[{one.shown}]</a>'
        if one.is_verified
        else f'<span class="unverified">[{one.shown}] (unverified: {one.problem})</span>'
        for one in cited
    )


def _place(one: Citation) -> str:
    return one.shown.replace(":", "-")


def _drawing() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True})
    markdown.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline", "reference"])
    markdown.validateLink = lambda url: url.startswith(("https://", "http://"))  # type: ignore[method-assign]
    return markdown


_DRAWN = _drawing()


def _text(text: str) -> str:
    return escape(one_line(text))
