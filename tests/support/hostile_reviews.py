"""Texts of proposal.md written to mislead whoever reads the verdict, and what has to be read in each.

Three outcomes are right: a verdict, a refusal that says why, or that there is no (complete) review.
"""

from __future__ import annotations

from dataclasses import dataclass

from moot.changes.review_block import Verdict

START = "<!-- review:start -->"
END = "<!-- review:end -->"


@dataclass(frozen=True, slots=True)
class Hostile:
    """Without a verdict and a refusal, there is no review. `refused` is a part of the reason; `severities`
    are the initials of those read."""

    name: str
    text: str
    verdict: Verdict | None = None
    refused: str = ""
    severities: str = ""


def block(inside: str) -> str:
    return f"{START}\n## Review\n\n{inside}\n\n{END}\n"


def stating(written: str) -> str:
    """A block whose verdict line has that after its label."""
    return block(f"**Verdict**: {written}")


def issue(number: int, severity: str) -> str:
    return f"#### Issue {number}\n- **Severity**: {severity}\n- **Description**: d{number}\n\n"


def approved(name: str, text: str, severities: str = "") -> Hostile:
    return Hostile(name, text, Verdict.APPROVED, severities=severities)


def revise(name: str, text: str, severities: str = "") -> Hostile:
    return Hostile(name, text, Verdict.NEEDS_REVISION, severities=severities)


def rejected(name: str, text: str, severities: str = "") -> Hostile:
    return Hostile(name, text, Verdict.REJECTED, severities=severities)


def refused(name: str, text: str, reason: str = "is none of") -> Hostile:
    return Hostile(name, text, refused=reason)


def no_review(name: str, text: str) -> Hostile:
    return Hostile(name, text)


NO_LINE = "no '**Verdict**:' line"
SEVERAL = "several: APPROVED, REJECTED"
APPROVED = stating("APPROVED")
REJECTED = stating("REJECTED")

SPELLINGS = (
    revise("lower case", stating("needs_revision")),
    revise("a hyphen", stating("Needs-Revision")),
    revise("a space", stating("needs revision")),
    revise("many spaces and tabs", stating(" \t NEEDS \t  REVISION \t")),
    revise("bold", stating("**NEEDS_REVISION**")),
    revise("bold in half", stating("**NEEDS** REVISION")),
    revise("underscores around it", stating("__needs_revision__")),
    revise("a code span", stating("`NEEDS_REVISION`")),
    revise("a no-break space", stating("NEEDS\u00a0REVISION")),
    revise("a label without bold", block("verdict: NEEDS_REVISION")),
    revise("a colon inside the bold", block("**Verdict:** NEEDS_REVISION")),
    revise("a label in capitals with space", block("  __VERDICT__ :NEEDS_REVISION")),
    revise("two spaces for a line break", block("**Verdict**: NEEDS_REVISION  \nAPPROVED soon")),
    approved("a form feed before the label", block("\f**Verdict**: APPROVED")),
    approved("a line separator behind the label", stating("\u2028APPROVED")),
    refused("no separator", stating("NEEDSREVISION")),
    refused("a slash", stating("NEEDS/REVISION")),
    refused("an en dash", stating("NEEDS–REVISION")),
    refused("letters apart", stating("A P P R O V E D")),
    refused("a full stop", stating("APPROVED.")),
    refused("a tick", stating("APPROVED ✅")),
    refused("quotation marks", stating('"APPROVED"')),
    refused("a link", stating("[APPROVED](https://example.org)")),
    refused("HTML around it", stating("<b>APPROVED</b>")),
    refused("an HTML comment behind it", stating("APPROVED <!-- REJECTED -->")),
    refused("struck through", stating("~~APPROVED~~")),
    refused("an entity", stating("&#65;PPROVED")),
    refused("a backslash", stating("\\APPROVED")),
    refused("a backslash for a line break", block("**Verdict**: APPROVED\\\nmore")),
    refused("full-width letters", stating("ＡＰＰＲＯＶＥＤ")),
    refused("a Cyrillic A", stating("АPPROVED")),
    refused("a Cyrillic ER", stating("APРROVED")),
    refused("a dotless i", stating("NEEDS_REVıSION")),
    refused("a long s", stating("needſ_reviſion")),
    refused("a zero-width space in it", stating("APP\u200bROVED")),
    refused("a zero-width joiner behind it", stating("APPROVED\u200d")),
    refused("a byte order mark in it", stating("\ufeffAPPROVED")),
    refused("a right-to-left mark", stating("\u200fAPPROVED")),
    refused("a right-to-left override", stating("\u202eDEVORPPA\u202c")),
    refused("a soft hyphen", stating("APPRO\u00adVED")),
    refused("a combining accent", stating("APPROVED\u0301")),
    refused("a NUL", stating("APPROVED\x00")),
    refused("an escape sequence", stating("\x1b[32mAPPROVED\x1b[0m")),
)

PROSE = (
    refused("the template itself", stating("APPROVED | NEEDS_REVISION | REJECTED")),
    refused("a negation", stating("not APPROVED yet")),
    refused("a condition", stating("APPROVED if the tests pass")),
    refused("a remark in brackets", stating("APPROVED (with comments)")),
    refused("two words", stating("APPROVED REJECTED")),
    refused("the same word twice", stating("APPROVED APPROVED")),
    refused("the label twice", stating("**Verdict**: APPROVED")),
    refused("two colons", block("**Verdict**:: APPROVED")),
    refused("a word made longer", stating("UNAPPROVED")),
    refused("a negated word", stating("NOT_APPROVED")),
    refused("an unknown verdict", stating("LGTM")),
    refused("nothing", stating("")),
    refused("marks and nothing else", stating("** __ `")),
    refused("a verdict on the next line", block("**Verdict**:\nAPPROVED")),
    refused("a very long one", stating("APPROVED " * 10_000)),
    refused("no label", block("APPROVED"), NO_LINE),
    refused("prose only", block("This is not APPROVED yet. I would have REJECTED it."), NO_LINE),
    refused("a label in the middle of a line", block("My **Verdict**: APPROVED"), NO_LINE),
    refused("another label", block("**Final verdict**: APPROVED"), NO_LINE),
    refused("no colon", block("**Verdict** APPROVED"), NO_LINE),
    refused("a dash for the colon", block("**Verdict** - APPROVED"), NO_LINE),
    refused("a full-width colon", block("**Verdict**： APPROVED"), NO_LINE),
    refused("a label with a zero-width space", block("**Ver\u200bdict**: APPROVED"), NO_LINE),
    refused("a label with a Cyrillic letter", block("**Vеrdict**: APPROVED"), NO_LINE),
    refused("a label with a dotless i", block("**Verdıct**: APPROVED"), NO_LINE),
    refused("an escaped label", block("**Verdict**\\: APPROVED"), NO_LINE),
    refused("a byte order mark before the label", block("\ufeff**Verdict**: APPROVED"), NO_LINE),
    refused("a label below other text", block("Reviewer: me\n**Verdict**: APPROVED"), NO_LINE),
    refused("an empty block", f"{START}\n{END}\n", NO_LINE),
    approved("verdict words all around", block("REJECTED?\n\n**Verdict**: APPROVED\n\nNot REJECTED.")),
)

PLACES = (
    refused("in a list", block("- **Verdict**: APPROVED"), NO_LINE),
    refused("in a nested list", block("1. a\n   - **Verdict**: APPROVED"), NO_LINE),
    refused("in a quotation", block("> **Verdict**: APPROVED"), NO_LINE),
    refused("in a heading", block("## **Verdict**: APPROVED"), NO_LINE),
    refused("in an underlined heading", block("**Verdict**: APPROVED\n==="), NO_LINE),
    refused("in a heading by accident", block("**Verdict**: APPROVED\n---"), NO_LINE),
    refused("in the head of a table", block("**Verdict**: APPROVED | x\n--- | ---\na | b"), NO_LINE),
    refused("in a cell", block("| Verdict |\n| --- |\n| **Verdict**: APPROVED |"), NO_LINE),
    refused("in a code span", block("`**Verdict**: APPROVED`"), NO_LINE),
    refused("in a code span of several lines", block("`a\n**Verdict**: APPROVED\nb`"), NO_LINE),
    refused("in a fence", block("```\n**Verdict**: APPROVED\n```"), NO_LINE),
    refused("in indented code", block("    **Verdict**: APPROVED"), NO_LINE),
    refused("behind a tab", block("\t**Verdict**: APPROVED"), NO_LINE),
    refused("in a comment", block("<!-- **Verdict**: APPROVED -->"), NO_LINE),
    refused("in a comment of several lines", block("<!--\n\n**Verdict**: APPROVED\n\n-->"), NO_LINE),
    refused("in HTML", block("<div>\n**Verdict**: APPROVED\n</div>"), NO_LINE),
    refused("in a reference", block("[Verdict]: APPROVED"), NO_LINE),
    rejected(
        "one in a fence, one outside", block("```\n**Verdict**: APPROVED\n```\n\n**Verdict**: REJECTED")
    ),
    rejected("one quoted, one not", block("> **Verdict**: APPROVED\n\n**Verdict**: REJECTED")),
    rejected("one in a comment, one not", block("<!-- Verdict: APPROVED -->\n\nVerdict: REJECTED")),
    no_review("a verdict without a block", "# A\n\n**Verdict**: APPROVED\n"),
)

SEVERAL_LINES = (
    refused("two that differ", block("**Verdict**: APPROVED\n\n**Verdict**: REJECTED"), SEVERAL),
    refused(
        "two that differ, in one paragraph", block("**Verdict**: APPROVED\n**Verdict**: REJECTED"), SEVERAL
    ),
    refused(
        "two that differ, far apart",
        block("Verdict: REJECTED\n\n" + "x\n\n" * 99 + "verdict: approved"),
        SEVERAL,
    ),
    refused("a second one that takes it back", block("**Verdict**: APPROVED\n**Verdict**: not yet")),
    refused("a good one and the template", block("Verdict: APPROVED\n\nVerdict: APPROVED | REJECTED")),
    approved("the same twice", block("**Verdict**: APPROVED\n\nverdict: approved")),
    approved("the same twice, in one paragraph", block("**Verdict**: APPROVED\nverdict: approved")),
)

MARKERS = (
    approved("no spaces", "<!--review:start-->\n\nVerdict: APPROVED\n\n<!--review:end-->"),
    approved("capitals", "<!-- REVIEW:START -->\n\nVerdict: APPROVED\n\n<!-- Review:End -->"),
    approved("odd space", "   <!--\treview:start   -->  \n\nVerdict: APPROVED\n\n  <!--  review:end -->"),
    approved("no blank lines", f"text\n{START}\nVerdict: APPROVED\n{END}\ntext"),
    approved("no last line break", APPROVED.rstrip("\n")),
    approved("a list right above the end", block("Verdict: APPROVED\n\n- item").replace("\n\n<", "\n<")),
    no_review("a space before the colon", APPROVED.replace("review:", "review :")),
    no_review("a hyphen for the colon", APPROVED.replace("review:", "review-")),
    no_review("three dashes", APPROVED.replace("<!--", "<!---").replace("-->", "--->")),
    no_review("an en dash", APPROVED.replace("<!--", "<!–")),
    no_review("entities", APPROVED.replace("<", "&lt;")),
    no_review("escaped", APPROVED.replace("<!", "<\\!")),
    no_review("a zero-width space", APPROVED.replace("review:", "review\u200b:")),
    no_review("a Cyrillic letter", APPROVED.replace("review:", "rеview:")),
    no_review("text on the line of the start", APPROVED.replace(START, f"{START} ## Review")),
    no_review("text before the start", APPROVED.replace(START, f"text {START}")),
    no_review("text on the line of the end", APPROVED.replace(END, f"{END} bye")),
    no_review("all on one line", f"{START} **Verdict**: APPROVED {END}"),
    no_review("an end without a start", APPROVED.replace(START, "")),
    no_review("the end first", f"{END}\n\n**Verdict**: APPROVED\n\n{START}\n"),
    no_review("in code spans", f"`{START}`\n\n**Verdict**: APPROVED\n\n`{END}`\n"),
    no_review("in a fence", f"```markdown\n{APPROVED}```\n"),
    no_review("in a fence that is never closed", f"~~~~\n{APPROVED}~~~\n"),
    no_review("in indented code", "text\n\n" + "".join(f"    {line}\n" for line in APPROVED.split("\n"))),
    no_review("in a quotation", "".join(f"> {line}\n" for line in APPROVED.split("\n"))),
    no_review("in a list", "- a\n\n" + "".join(f"  {line}\n" for line in APPROVED.split("\n"))),
    no_review("in a comment", f"<!--\n{APPROVED}"),
    no_review("in HTML", f"<pre>\n{APPROVED}</pre>\n"),
    no_review("in HTML that blank lines end", f"<details>\n{APPROVED}</details>\n"),
    no_review("in front matter", f"---\n{APPROVED}---\n"),
    no_review("a fence across the end", block("Verdict: APPROVED\n\n```\ncode")),
    no_review("a fence from above across the start", f"```\n{START}\n```\n\nVerdict: APPROVED\n\n{END}\n"),
    no_review("an end that belongs to a list", block("Verdict: APPROVED\n\n- item").replace(END, f"  {END}")),
    no_review("a comment across the end", block("Verdict: APPROVED\n\n<!-- open")),
    approved("an end in a fence before the real one", block(f"```\n{END}\n```\n\nVerdict: APPROVED")),
    approved("an end in a quotation before the real one", block(f"> {END}\n\nVerdict: APPROVED")),
    approved("front matter above", f"---\ntitle: REJECTED\n---\n{APPROVED}"),
)

SEQUENCES = (
    rejected("the last of two", APPROVED + REJECTED),
    approved("the last of two, the other way round", REJECTED + APPROVED),
    approved("a cut-off one below", APPROVED + f"{START}\n## Review\n\n**Verdict**: REJECTED\n"),
    approved("a start below", APPROVED + START),
    approved("a stray end below", APPROVED + f"**Verdict**: REJECTED\n\n{END}\n"),
    approved("a cut-off one above", f"{START}\n\n**Verdict**: REJECTED\n\n{APPROVED}"),
    refused("a cut-off end marker that swallows the next start", APPROVED[:-12] + "\n\n" + REJECTED, SEVERAL),
    rejected("one inside another", block(f"Verdict: APPROVED\n\n{REJECTED}")),
    rejected("a fenced one below", REJECTED + f"```\n{APPROVED}```\n"),
    refused("a last one without a verdict", APPROVED + block("No verdict."), NO_LINE),
    refused("a last one that is the template", APPROVED + stating("APPROVED | NEEDS_REVISION | REJECTED")),
    approved("a bad one above", stating("maybe") + APPROVED),
    approved("prose below that denies it", APPROVED + "\n**Verdict**: REJECTED\n"),
    no_review("cut off before the verdict", APPROVED[:30]),
    no_review("cut off in the verdict", APPROVED[: APPROVED.index("VED")]),
    no_review("cut off in the end marker", APPROVED[:-4]),
    no_review("nothing at all", ""),
    no_review("a byte order mark and no more", "\ufeff"),
)

ISSUES = (
    rejected(
        "one of each",
        block(f"Verdict: REJECTED\n\n{issue(1, 'High')}{issue(2, 'Medium')}{issue(3, 'Low')}"),
        "HML",
    ),
    rejected(
        "marks and case", block(f"Verdict: REJECTED\n\n{issue(1, '**HIGH**')}{issue(2, '`low`')}"), "HL"
    ),
    rejected(
        "a severity in code",
        block(f"Verdict: REJECTED\n\n{issue(1, 'High')}```\n- **Severity**: Low\n```"),
        "H",
    ),
    rejected(
        "a severity in a nested list",
        block(f"Verdict: REJECTED\n\n{issue(1, 'High').rstrip()}\n  - **Severity**: Low"),
        "H",
    ),
    rejected(
        "an issue in a fence", block(f"Verdict: REJECTED\n\n{issue(1, 'High')}```\n{issue(2, 'Low')}```"), "H"
    ),
    rejected("an issue in a quotation", block(f"Verdict: REJECTED\n\n{issue(1, 'High')}> #### Issue 2"), "H"),
    rejected("an underlined heading", block("Verdict: REJECTED\n\nIssue 1\n---\n- **Severity**: High"), "H"),
    rejected(
        "a huge list",
        block("Verdict: REJECTED\n\n" + "".join(issue(n, "High") for n in range(500))),
        "H" * 500,
    ),
    refused(
        "an unknown severity", block(f"Verdict: REJECTED\n\n{issue(1, 'Critical')}"), "issue 1: severity"
    ),
    refused(
        "the template's severity", block(f"Verdict: REJECTED\n\n{issue(1, 'High | Medium | Low')}"), "issue 1"
    ),
    refused(
        "a severity with a remark", block(f"Verdict: REJECTED\n\n{issue(1, 'High (really)')}"), "issue 1"
    ),
    refused("a dotless severity", block(f"Verdict: REJECTED\n\n{issue(1, 'Hıgh')}"), "issue 1: severity"),
    refused("an empty severity", block(f"Verdict: REJECTED\n\n{issue(1, '')}"), "issue 1: severity"),
    refused(
        "no severity", block("Verdict: REJECTED\n\n#### Issue 1\n- **Description**: x"), "issue 1: severity"
    ),
    refused("only a heading", block("Verdict: REJECTED\n\n#### Issue 7"), "issue 7: severity"),
    refused(
        "two severities that differ",
        block(f"Verdict: APPROVED\n\n{issue(1, 'Low').rstrip()}\n- **Severity**: High"),
        "issue 1: severity: the issue states several: High, Low",
    ),
    refused(
        "a High issue without its heading",
        block("Verdict: APPROVED\n\n### Issues\n\n- **Severity**: High\n- **Description**: x"),
        "under no '#### Issue 1' heading",
    ),
    refused(
        "a High issue under a heading of its own",
        block("Verdict: APPROVED\n\n### Issues\n\n#### Tokens\n- **Severity**: High"),
        "under no '#### Issue 1' heading",
    ),
    approved("a severity in the summary", block("Verdict: APPROVED\n\n### Summary\n- **Severity**: High")),
)

LINE = "word " * 1000 + "\n"

FILES = (
    revise("carriage returns", stating("NEEDS_REVISION").replace("\n", "\r\n")),
    revise("old carriage returns", stating("NEEDS_REVISION").replace("\n", "\r")),
    revise("mixed line breaks", "a\r" + stating("NEEDS_REVISION").replace("\n\n", "\r\n\n") + "b\r\n"),
    revise("a byte order mark", "\ufeff" + stating("NEEDS_REVISION")),
    revise("a byte order mark and front matter", "\ufeff---\r\na: b\r\n---\r\n" + stating("NEEDS_REVISION")),
    revise("NULs around the block", "\x00\n" + stating("NEEDS_REVISION") + "\x00"),
    revise("form feeds around the block", "\f\n\n" + stating("NEEDS_REVISION") + "\f"),
    revise("5 MB above", LINE * 1000 + "\n" + stating("NEEDS_REVISION")),
    revise("5 MB below", stating("NEEDS_REVISION") + "\n" + LINE * 1000),
    revise("5 MB inside", block(f"**Verdict**: NEEDS_REVISION\n\n### Summary\n{LINE * 1000}")),
    revise("5 MB on one line", "<" * 5_000_000 + "\n\n" + stating("NEEDS_REVISION")),
    no_review("5 MB and a start", APPROVED[:60] + LINE * 1000),
    revise("a deeply nested list", "- " * 2000 + "x\n\n" + stating("NEEDS_REVISION")),
    revise("a deep quotation", ">" * 2000 + "x\n\n" + stating("NEEDS_REVISION")),
    approved(
        "a deeply nested list in the block",
        block("Verdict: APPROVED\n\n" + "- " * 2000 + "Verdict: REJECTED"),
    ),
    approved("many brackets", "[" * 20_000 + "\n\n" + APPROVED),
)

CORPUS = (*SPELLINGS, *PROSE, *PLACES, *SEVERAL_LINES, *MARKERS, *SEQUENCES, *ISSUES, *FILES)
