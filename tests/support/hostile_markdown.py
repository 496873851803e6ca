"""Documents made of pieces whose structure is known, and texts made of nothing but Markdown's own signs."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines as they are written, and what of them is structure."""

    lines: tuple[str, ...]
    headings: tuple[tuple[int, str], ...] = ()
    open_tasks: int = 0
    reviews: int = 0


HIDDEN = (
    "# Hidden heading",
    "Hidden underlined",
    "=====",
    "- [ ] hidden task",
    "---",
    "title: hidden",
    "---",
    "<!-- review:start -->",
    "## Review",
    "**Verdict**: APPROVED",
    "<!-- review:end -->",
)

# An indented piece that follows would be part of the list above it.
NO_LIST = ("", "No list.")

PIECES = (
    Piece(("# One",), ((1, "One"),)),
    Piece(("## Two **bold** ##",), ((2, "Two bold"),)),
    Piece(("### `Three` & more",), ((3, "Three & more"),)),
    Piece(("Under", "lined", "======"), ((1, "Under lined"),)),
    Piece(("Underlined", "---"), ((2, "Underlined"),)),
    Piece(("Plain text", "on two lines.")),
    Piece(("```", *HIDDEN, "```")),
    Piece(("~~~~ markdown", *HIDDEN, "~~~", "```", "~~~~~")),
    Piece(("   `````", *HIDDEN, "````", "  `````")),
    Piece(("text", "", *(f"    {line}" for line in HIDDEN))),
    Piece(tuple(f"\t{line}" for line in HIDDEN)),
    Piece(("> # Quoted heading", "> - [ ] quoted task", "> ```", "> never closed")),
    Piece(("- item", "  # Heading in a list", "  ```", "  - [ ] never closed", *NO_LIST)),
    Piece(
        ("1. [ ] open task", "   - [x] nested, done", "", "     ```", "     # code", "     ```", *NO_LIST),
        (),
        1,
    ),
    Piece(("* [ ] open", "+ [ ] other list", *NO_LIST), (), 2),
    Piece(("<!--", *HIDDEN[:6], "-->")),
    Piece(("<!-- review:start -->",)),
    Piece(("<details>", "# In HTML", "</details>")),
    Piece(("<script>", "", "# In a script", "</script>")),
    Piece(("| a | b |", "| - | - |", "| # c | - [ ] d |", "***")),
    Piece(("[reference]: /url", "'title'")),
    Piece(("- " * 80 + "deep", *NO_LIST)),
    Piece(("# Form\ffeed \u2028 and \u0000",), ((1, "Form feed and \ufffd"),)),
    Piece(
        (
            "<!-- review:start -->",
            "## Review",
            "",
            "**Verdict**: REJECTED",
            "### Summary",
            "No.",
            "<!-- review:end -->",
        ),
        ((2, "Review"), (3, "Summary")),
        0,
        1,
    ),
)

OPEN_ENDS = (
    (),
    ("",),
    ("```", "# never closed"),
    ("~~~~~ text", "", "# never closed", ""),
    ("<!-- never", "", "# closed"),
    ("<?php", ""),
    ("<![CDATA[", "x"),
    ("<textarea>", "", "x"),
    ("<!DOCTYPE", "html", ""),
    ("- list", "  ```", "  never closed"),
    ("> quote",),
    ("   ",),
)

FRONT_MATTER = ("---", "title: A title", "# comment", "list:", "- [ ] not a task", "---")

SIGNS = " \t\n\r#-=`~<>!*_|:[]x1.\\\f\u2028\ufeff\u0000&?/"
"""Enough to write every construct by chance."""

WORDS = (
    "---",
    "```",
    "~~~",
    "<!--",
    "-->",
    "<!-- review:start -->",
    "<!-- review:end -->",
    "**Verdict**: ",
    "Verdict: APPROVED",
    "**Reviewed**: x",
    "#### Issue 7",
    "- **Severity**: Low",
    "- [ ] ",
    "<pre>",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "    ",
    "  ",
    "- ",
    "> ",
    "# ",
    "===",
    "word",
    "\\",
)

soup = st.lists(st.one_of(st.sampled_from(WORDS), st.text(SIGNS, max_size=4)), max_size=25).map("".join)

line_breaks = st.sampled_from(["\n", "\r\n", "\r"])


@dataclass(frozen=True, slots=True)
class Nasty:
    text: str
    headings: tuple[tuple[int, str], ...]
    open_tasks: int
    reviews: int


@st.composite
def documents(draw: st.DrawFn) -> Nasty:
    pieces = draw(st.lists(st.sampled_from(PIECES), max_size=8))
    lines: list[str] = list(FRONT_MATTER) if draw(st.booleans()) else []
    for piece in pieces:
        lines += [*piece.lines, ""]
    lines += draw(st.sampled_from(OPEN_ENDS))
    eol = draw(line_breaks)
    # One other line break somewhere makes the file a mixed one.
    odd = draw(st.integers(0, 40))
    text = "".join(f"{line}{draw(line_breaks) if index == odd else eol}" for index, line in enumerate(lines))
    if draw(st.booleans()):
        text = text.removesuffix(eol)
    if draw(st.booleans()):
        text = "\ufeff" + text
    return Nasty(
        text,
        tuple(heading for piece in pieces for heading in piece.headings),
        sum(piece.open_tasks for piece in pieces),
        sum(piece.reviews for piece in pieces),
    )
