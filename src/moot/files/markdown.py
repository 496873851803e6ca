"""The structure of a Markdown document: its sections, and edits that only ever add.

Knows headings and sections as a CommonMark parser (with tables) sees them, so that nothing in fences,
indented code, HTML, quotes, lists or front matter is ever taken for structure; and where a text can be
inserted so that it becomes structure and changes nothing around it. Refuses to know what any section is
for. Offsets are character offsets into the text as given; lines are counted from 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from moot.errors import InvalidInput
from moot.files import frontmatter
from moot.files.frontmatter import LINE_BREAK

_DEEPEST = 60
_BLANK = " \t"
# Ends a list that an indented line would otherwise continue; invisible when rendered.
_SEPARATOR = "<!-- -->"
_HTML_CLOSERS = ("-->", "?>", "]]>", "</pre>")
# A comment that closes something belongs to what stands above it, not to the heading below.
_CLOSING_COMMENT = re.compile(r"<!--\s*(?:/|end\b|\S*:end\b)", re.IGNORECASE)
_UNIMPORTANT = frozenset({"a", "an", "and", "for", "from", "in", "of", "on", "or", "the", "to", "with"})


@dataclass(frozen=True, slots=True)
class Heading:
    """`title` is plain text: inline markup removed, white space collapsed."""

    level: int
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and everything up to the next heading of the same or a higher level.

    `start` is where the heading begins, `body` where its text begins. HTML comments directly on top of the
    next heading belong to that one, so `end` stands before them.
    """

    heading: Heading
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A heading with what stands below it, up to the next heading of any level; without one, what stands
    above the first. HTML comments directly on top of the heading are its own: `start` is where the heading
    begins in the text, `body` where what is below it does."""

    heading: Heading | None
    text: str
    start: int = 0
    body: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """An outermost block: `kind` and `markup` as the parser names them, `content` its raw text, `first` its
    first line and `behind` the line after its last, both counted from 0."""

    kind: str
    tag: str
    markup: str
    content: str
    first: int
    behind: int


@dataclass(frozen=True, slots=True)
class Document:
    """Block tokens whose `map` counts the lines of the text from 0, and the offset where each line starts.
    Inline content is not parsed; `names` are the link targets that it may refer to."""

    text: str
    tokens: tuple[Token, ...]
    starts: tuple[int, ...]
    names: Mapping[str, Any]

    def blocks(self) -> Iterator[Block]:
        for token, following in zip_longest(self.tokens, self.tokens[1:]):
            if token.level == 0 and token.nesting >= 0 and token.map is not None:
                inline = following.content if following is not None and following.type == "inline" else ""
                first, behind = token.map
                yield Block(token.type, token.tag, token.markup, token.content or inline, first, behind)


def _pass_over_too_deep(state: StateBlock, line: int, _end: int, _silent: bool) -> bool:
    """The parser's own limit on nesting drops the whole rest of the document; this drops a line."""
    if state.level < _DEEPEST:
        return False
    state.line = line + 1
    return True


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"tasklists": True, "maxNesting": 10 * _DEEPEST})
    parser.enable("table").disable(["inline", "text_join"])
    parser.block.ruler.before("table", "too_deep", _pass_over_too_deep)
    return parser


_PARSER = _parser()


@lru_cache(maxsize=16)
def parse(text: str) -> Document:
    """Remembers the last: one command asks about the same few texts thirty times."""
    body = frontmatter.body_start(text)
    breaks = [found.end() for found in LINE_BREAK.finditer(text)]
    # Empty lines in place of the front matter keep the parser's line numbers those of the file.
    lines_above = sum(1 for offset in breaks if offset <= body)
    names: dict[str, Any] = {}
    tokens = _PARSER.parse("\n" * lines_above + text[body:], names)
    first = int(text.startswith(frontmatter.BOM))
    return Document(text, tuple(tokens), (first, *breaks, len(text)), names)


def line_ending(text: str) -> str:
    """The one the text uses most."""
    found = Counter(LINE_BREAK.findall(text)).most_common(1)
    return found[0][0] if found else "\n"


# -- reading -------------------------------------------------------------------------------------


def headings(text: str) -> tuple[Heading, ...]:
    return tuple(section.heading for section in sections(text))


def sections(text: str) -> tuple[Section, ...]:
    """One for each heading, in order; those of lower headings lie within those of higher ones."""
    document = parse(text)
    titled = [block for block in document.blocks() if block.kind == "heading_open"]
    comment_above = {block.behind: block.first for block in document.blocks() if _is_opening_comment(block)}
    starts = document.starts
    found = []
    for index, block in enumerate(titled):
        following = (later.first for later in titled[index + 1 :] if later.tag <= block.tag)
        end = next(following, None)
        while end in comment_above:
            end = comment_above[end]
        heading = Heading(int(block.tag[1:]), _plain(block.content), block.first + 1)
        found.append(
            Section(
                heading, starts[block.first], starts[block.behind], len(text) if end is None else starts[end]
            )
        )
    return tuple(found)


def pieces(text: str) -> tuple[Piece, ...]:
    """The text cut before every heading: joined, they are the text. The first has no heading."""
    document = parse(text)
    comment_above = {block.behind: block.first for block in document.blocks() if _is_opening_comment(block)}
    found = sections(text)
    cuts = []
    for section in found:
        line = section.heading.line - 1
        while line in comment_above:
            line = comment_above[line]
        cuts.append(document.starts[line] if line else 0)
    if not found:
        return (Piece(None, text),)
    made = [Piece(None, text[: cuts[0]])]
    for section, cut, end in zip(found, cuts, [*cuts[1:], len(text)], strict=True):
        made.append(Piece(section.heading, text[cut:end], section.start - cut, section.body - cut))
    return tuple(made)


def find_section(text: str, title: str) -> Section | None:
    """The section of that title; failing that, the one whose title shares the most words with it, if
    these are more than half of the shorter title's. The first of equals."""
    candidates = sections(text)
    for section in candidates:
        if _is_titled(section, title):
            return section
    wanted = _words(_plain(title))
    best, most = None, 0
    for section in candidates:
        words = _words(section.heading.title)
        common = len(words & wanted)
        if common > most and common > min(len(words), len(wanted)) / 2:
            best, most = section, common
    return best


def code_lines(text: str) -> frozenset[int]:
    """The lines, counted from 1, that are fenced or indented code, the fences themselves included."""
    lines: set[int] = set()
    for token in parse(text).tokens:
        if token.type in {"fence", "code_block"} and token.map is not None:
            lines.update(range(token.map[0] + 1, token.map[1] + 1))
    return frozenset(lines)


def links(text: str) -> tuple[tuple[int, str], ...]:
    """The line, counted from 1, of its paragraph, and the target of every link and image."""
    document = parse(text)
    found = []
    for token in document.tokens:
        if token.type != "inline" or token.map is None or "]" not in token.content:
            continue
        shown: list[Token] = []
        _PARSER.inline.parse(token.content, _PARSER, dict(document.names), shown)
        for part in shown:
            target = part.attrGet("href" if part.type == "link_open" else "src")
            if part.type in {"link_open", "image"} and isinstance(target, str):
                found.append((token.map[0] + 1, target))
    return tuple(found)


# -- adding --------------------------------------------------------------------------------------


def insert_at_section_end(text: str, section: Section, addition: str) -> str:
    """`section` is one of this very text. The result is the text with one piece inserted."""
    at = section.end
    if at == len(text):
        at = _open_tail(text)
    return _spliced(text, at, addition)


def append_under(text: str, heading_line: str, addition: str) -> str:
    """Adds at the end of the section with that heading, which is made at the end of the text if missing."""
    wanted = headings(heading_line)
    if len(wanted) != 1:
        raise InvalidInput("heading", f"{heading_line!r} is not one Markdown heading")
    for section in sections(text):
        if section.heading.level == wanted[0].level and _is_titled(section, wanted[0].title):
            return insert_at_section_end(text, section, addition)
    if not addition.strip(_BLANK + "\r\n"):
        return text
    return _spliced(text, _open_tail(text), f"{heading_line.strip()}\n\n{addition}")


def append_block(text: str, addition: str) -> str:
    """The text, what it takes to close a fence or HTML block it left open, a blank line, the addition.
    The addition begins with a line that is not indented and leaves nothing open itself."""
    eol = line_ending(text)
    closed = text
    if closer := _closer(text):
        at_line_start = LINE_BREAK.search(text[-1:]) is not None
        closed += f"{'' if at_line_start else eol}{closer}{eol}"
    return closed + _gap(closed, eol) + LINE_BREAK.sub(eol, addition) + eol


def separator(below: str, eol: str) -> str:
    """What goes above an old text that begins with a heading, where a new one that may end in a list comes to
    stand above it: an indented heading would be part of the list. It is read as that heading's comment, so
    that it is written once, however often something new is put there."""
    return f"{_SEPARATOR}{eol}" if below[0] in _BLANK else ""


def _spliced(text: str, at: int, addition: str) -> str:
    eol = line_ending(text)
    lines = LINE_BREAK.split(addition)
    while lines and not lines[0].strip(_BLANK):
        del lines[0]
    while lines and not lines[-1].strip(_BLANK):
        del lines[-1]
    if not lines:
        return text
    if frontmatter.is_left_open(text):
        # At the margin it would close the front matter; indented it is the same rule or underline.
        lines = [f" {line}" if line.rstrip(_BLANK) == "---" else line for line in lines]
    if lines[0][0] in _BLANK:
        lines = [_SEPARATOR, "", *lines]
    before, after = text[:at], text[at:]
    insertion = _gap(before, eol) + eol.join(lines) + eol
    if closer := _closer(before + insertion):
        insertion += closer + eol
    if after:
        insertion += f"{eol}{_SEPARATOR}{eol}{eol}" if after[0] in _BLANK else eol
    return before + insertion + after


def _gap(before: str, eol: str) -> str:
    """What makes `before` end in a blank line (nothing, if there is nothing in it)."""
    *above, last = LINE_BREAK.split(before.removeprefix(frontmatter.BOM))
    if last:
        return eol + eol if last.strip(_BLANK) else eol
    if not above or not above[-1].strip(_BLANK):
        return ""
    # "\r" followed by "\n" would be one line break instead of two.
    return "\r" if before.endswith("\r") else eol


def _open_block(text: str) -> Block | None:
    """The fence or HTML block that would swallow whatever is written below the text."""
    document = parse(f"{text}\n\nx")
    *_, last = document.blocks()
    is_probe = last.kind == "paragraph_open" and document.starts[last.first] == len(document.text) - 1
    return None if is_probe else last


def _open_tail(text: str) -> int:
    """Where to add at the end: before a block that is left open, else at the very end."""
    block = _open_block(text)
    return len(text) if block is None else parse(text).starts[block.first]


def _closer(text: str) -> str:
    """The line that closes what the text leaves open."""
    block = _open_block(text)
    if block is None:
        return ""
    if block.kind == "fence":
        return block.markup
    return next(closer for closer in _HTML_CLOSERS if _open_block(f"{text}\n{closer}\n") is None)


# -- titles --------------------------------------------------------------------------------------


def _plain(inline: str) -> str:
    shown: list[Token] = []
    _PARSER.inline.parse(inline, _PARSER, {}, shown)
    pieces = {"softbreak": " ", "hardbreak": " ", "html_inline": ""}
    return _collapsed("".join(pieces.get(token.type, token.content) for token in shown))


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _is_titled(section: Section, title: str) -> bool:
    """`title` may be plain text or Markdown: what is plain already must not lose its asterisks."""
    here = section.heading.title.casefold()
    return here in {_collapsed(title).casefold(), _plain(title).casefold()}


def _words(title: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", title.casefold())) - _UNIMPORTANT


def _is_opening_comment(block: Block) -> bool:
    content = block.content.strip()
    return block.kind == "html_block" and content.startswith("<!--") and not _CLOSING_COMMENT.match(content)
