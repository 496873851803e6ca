"""A draft written over the text that it revises: what a draft has no place for stays, byte for byte.

Knows which sections of a proposal, a specification and a list of tasks a draft replaces. Everything else
(what stands below the title, sections and subsections with other headings, comments and diagrams) is the
person's, and keeps its place between the others. Refuses to know who drafts, and where files are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from moot.changes import proposal, review_block, tasks
from moot.changes.proposal import PROPOSAL_SECTIONS, ProposalDraft, SpecDraft
from moot.files import frontmatter, markdown
from moot.files.frontmatter import LINE_BREAK
from moot.files.markdown import Piece

_OF_REQUIREMENTS = ("Requirements", "Modified Requirements", "Removed Requirements")
_OF_A_SPEC = ("Overview", *_OF_REQUIREMENTS, "Acceptance Criteria")
_SCENARIO = re.compile(r"scenario\s*:", re.IGNORECASE)
_FIRST_BREAK = re.compile(r"\A[ \t]*(?:\r\n?|\n)")
_LAST_BREAK = re.compile(r"(?<=[\r\n])(?:\r\n?|\n)\Z")

Replaces = Callable[[str, str], bool]
"""Whether a draft replaces the subsection of that title, in the section of that one (in lower case)."""


def revise_proposal(draft: ProposalDraft, old: str) -> str:
    """Without the reviews of the old text."""
    rest = _without_reviews(old)
    return _over(rest, proposal.render_proposal(draft), PROPOSAL_SECTIONS, lambda _section, _title: False)


def revise_spec(spec: SpecDraft, old: str) -> str:
    def replaces(section: str, title: str) -> bool:
        return section in {one.casefold() for one in _OF_REQUIREMENTS} or _SCENARIO.match(title) is not None

    return _over(old, proposal.render_spec(spec), _OF_A_SPEC, replaces)


def revise_tasks(draft: ProposalDraft, old: str) -> str:
    """Sections without a box stay. Where all boxes are below one heading, it is still there."""
    new = proposal.render_tasks(draft)
    boxes = {piece.text for piece in markdown.pieces(old) if tasks.tasks(piece.text)}
    page = _Page(markdown.line_ending(old))
    written = False
    for piece in markdown.pieces(old):
        if piece.text not in boxes:
            page.keep(piece.text)
        elif written:
            page.leave_out()
        else:
            written = True
            is_theirs = piece.heading is not None and (len(boxes) == 1 or piece.heading.level == 1)
            above = piece.text[: piece.body] if is_theirs else ""
            if above:
                page.keep(above)
            page.write(new.partition("\n\n")[2] if above else new)
    if not written:
        page.write(new)
    return page.text


class _Page:
    """A text in the making, of what is kept and what is new."""

    def __init__(self, eol: str) -> None:
        self._eol = eol
        self._goes_on = True
        self.text = ""

    def keep(self, old: str) -> None:
        if not old:
            return
        if not self._goes_on and self.text.strip(frontmatter.BOM):
            probe = markdown.append_block(self.text, "x")
            self.text = probe.removesuffix(f"x{markdown.line_ending(self.text)}")
            if old[0] in " \t":
                # Below a list, an indented heading would be part of the list.
                self.text += f"<!-- -->{self._eol}{self._eol}"
        self.text += old
        self._goes_on = True

    def leave_out(self) -> None:
        self._goes_on = False

    def write(self, new: str) -> None:
        new = LINE_BREAK.sub(self._eol, new.strip("\n"))
        if self.text.strip(frontmatter.BOM):
            self.text = markdown.append_block(self.text, new)
        else:
            self.text += new + self._eol
        self._goes_on = False


def _over(  # noqa: PLR0912 - each kind of piece once, in the order of the text
    old: str, new: str, titles: Sequence[str], replaces: Replaces
) -> str:
    eol = markdown.line_ending(old)
    if frontmatter.is_left_open(old):
        # A "---" of the draft would end it, and make front matter of everything above.
        old = old.replace("---", f"{eol}---", 1)
    fresh, pieces = _by_section(new), markdown.pieces(old)
    missing = _missing([title.casefold() for title in titles], pieces, fresh)
    title = fresh.pop(_TITLE)
    is_titled = any(piece.heading is not None and piece.heading.level == 1 for piece in pieces)
    page, section, due, written = _Page(eol), "", list[str](), set[str]()
    for piece in pieces:
        heading = piece.heading
        if heading is None or heading.level <= 2:
            for name in due:
                page.write(fresh[name])
            section, due = "", []
        if heading is None:
            page.keep(piece.text)
            if not is_titled:
                page.write(title)
                due = missing.pop(_TITLE)
        elif heading.level == 1 and _TITLE in missing:
            due = missing.pop(_TITLE)
            same = heading.title == markdown.headings(title)[0].title
            page.keep(piece.text if same else _retitle(piece, title, eol))
        elif heading.level == 2 and _name(piece) in missing:
            section = _name(piece)
            page.keep(piece.text[: piece.start])
            page.leave_out()
            if section in fresh and section not in written:
                written.add(section)
                due = missing[section]
                page.write(fresh[section])
                for block in _kept_blocks(piece, fresh[section]):
                    page.write(block)
        elif section and replaces(section, heading.title):
            page.leave_out()
        else:
            page.keep(piece.text)
    for name in due:
        page.write(fresh[name])
    return page.text


_TITLE = "#"


def _by_section(new: str) -> dict[str, str]:
    """What a draft has for each section, its heading included; and its title."""
    found: dict[str, str] = {}
    name = _TITLE
    for piece in markdown.pieces(new)[1:]:
        assert piece.heading is not None
        if piece.heading.level == 2:
            name = _name(piece)
        found[name] = found.get(name, "") + piece.text
    return found


def _missing(order: Sequence[str], pieces: Sequence[Piece], fresh: dict[str, str]) -> dict[str, list[str]]:
    """For each section, and the title, those of the draft that the old text has not and that follow it."""
    there = {_name(piece) for piece in pieces if piece.heading is not None and piece.heading.level == 2}
    found: dict[str, list[str]] = {_TITLE: []}
    last = _TITLE
    for name in order:
        found[name] = []
        if name in there:
            last = name
        elif name in fresh:
            found[last].append(name)
    return found


def _name(piece: Piece) -> str:
    return piece.heading.title.casefold() if piece.heading is not None else ""


def _retitle(piece: Piece, title: str, eol: str) -> str:
    return piece.text[: piece.start] + title.strip("\n") + eol + piece.text[piece.body :]


def _kept_blocks(piece: Piece, new: str) -> Iterator[str]:
    """Comments, and diagrams where the draft has none of its own: a draft is prose."""
    body = piece.text[piece.body :]
    document = markdown.parse(body)
    has_diagram = "mermaid" in new
    for block in document.blocks():
        is_comment = block.kind == "html_block" and block.content.lstrip().startswith("<!--")
        raw = body[document.starts[block.first] : document.starts[block.behind]]
        is_diagram = block.kind == "fence" and "mermaid" in LINE_BREAK.split(raw)[0]
        if is_comment or (is_diagram and not has_diagram):
            yield raw


def _without_reviews(text: str) -> str:
    """And without what would be taken for the beginning or the end of one."""
    for block in reversed(review_block.blocks(text)):
        before, after = text[: block.start], _FIRST_BREAK.sub("", text[block.end :], count=1)
        if not after or after[0] in "\r\n":
            before = _LAST_BREAK.sub("", before)
        text = before + after
    return proposal.without_markers(text)
