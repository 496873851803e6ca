"""Which decision a requirement or a task carries out, and which of them none does. Pure.

Of a change that was made from a session. Its plan names what was decided there by number, as in "… (D3, D7)",
and that is looked up. Refuses to judge whether a plan does what it names: that is for the reviewer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import create_model, model_validator

from moot.changes import binding, points, tasks
from moot.changes.binding import Binding
from moot.changes.points import Point
from moot.changes.proposal import Finding, LeftOpenDraft, ModifiedDraft, ProposalDraft, SpecDraft
from moot.core.handover import Origin
from moot.core.ledger import Decided, Kind, line, numbered
from moot.files import markdown
from moot.files.frontmatter import LINE_BREAK

D = TypeVar("D", bound=ProposalDraft)

_NAME = r"[DP]\d{1,4}(?!\d)"
_NAMES = rf"{_NAME}(?:(?:\s*[,;&]\s*|\s+)(?:and\s+)?{_NAME})*"
_NAMED = re.compile(rf"\((?:from\s+)?(?P<names>{_NAMES})\)", re.IGNORECASE)
_AT_THE_END = re.compile(rf"\s*{_NAMED.pattern}(?P<stop>[.!]?)\s*\Z", re.IGNORECASE)
_LINE = re.compile(rf"^[ \t]*_From [^\n]*?: (?P<names>{_NAMES})_[ \t]*$", re.MULTILINE)
_MENTIONED = re.compile(
    r"\b(?P<kind>[DP])(?P<first>\d{1,4})\b(?:\s*(?:-|–|to)\s*(?P=kind)(?P<last>\d{1,4})(?!\d))?"
)
_LEFT_OPEN = re.compile(
    r"\n*^\*\*Left open in [^\n]*\*\*\n(?:[ \t]*\n|- D\d[^\n]*(?:\n|\Z)|[ \t]+\S[^\n]*(?:\n|\Z))*",
    re.MULTILINE,
)
_REQUIREMENTS = ("requirements", "modified requirements", "removed requirements")
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Place:
    """A requirement or a task, and the entries that it names."""

    file: str
    line: int
    what: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}, {self.what}"


# -- reading -------------------------------------------------------------------------------------


def places(specs: Mapping[str, str], boxes: str) -> tuple[Place, ...]:
    """All requirements and tasks, in order."""
    return (*_requirements(specs), *_tasks(boxes))


def _requirements(specs: Mapping[str, str]) -> Iterator[Place]:
    for file, text in specs.items():
        sections = markdown.sections(text)
        homes = [one for one in sections if one.heading.level == 2]
        homes = [one for one in homes if one.heading.title.casefold() in _REQUIREMENTS]
        for one in sections:
            if one.heading.level == 3 and any(home.body <= one.start < home.end for home in homes):
                yield Place(file, one.heading.line, one.heading.title, _named(text[one.start : one.end]))


def _tasks(boxes: str) -> Iterator[Place]:
    for number, task in enumerate(tasks.tasks(boxes), start=1):
        yield Place("tasks.md", task.line, f"task {number}", _named(task.text))


def _named(text: str) -> tuple[str, ...]:
    found = (*_NAMED.finditer(text), *_LINE.finditer(text))
    return tuple(dict.fromkeys(name for one in found for name in _split(one["names"])))


def _split(names: str) -> list[str]:
    return [name.upper() for name in re.findall(_NAME, names, re.IGNORECASE)]


def mentioned(text: str) -> set[str]:
    """Also in plain words, and within a range: a proposal says why something is left out."""
    found = set()
    for one in _MENTIONED.finditer(text):
        first = int(one["first"])
        found |= {f"{one['kind']}{number}" for number in range(first, int(one["last"] or first) + 1)}
    return found


# -- what is wrong -------------------------------------------------------------------------------


def findings(design: str, proposal: str, specs: Mapping[str, str], boxes: str) -> Iterator[Finding]:
    """Nothing where the change was made from no session."""
    if not (bound := binding.read(design)).origin:
        return
    entries, there = numbered(bound.decided), places(specs, boxes)
    known = {f"D{number}" for number in entries} | {point.id for point in points.points(design)}
    for place in there:
        for name in place.names:
            if name not in known:
                yield Finding(place.file, place.line, "error", _unknown(place.what, name, entries))
            elif _is_open(name, entries):
                yield Finding(place.file, place.line, "warning", _decides(place.what, name))
    lines = {
        found[1]: at for at, found in enumerate(map(_ENTRY.match, LINE_BREAK.split(design)), start=1) if found
    }
    for name, problem in missing(bound, there, proposal).items():
        yield Finding("design.md", lines.get(name, 1), "warning", problem)


_ENTRY = re.compile(r"- (D\d+) \(")


def missing(bound: Binding, there: Sequence[Place], proposal: str) -> dict[str, str]:
    """What is decided and nothing takes up, and what is open and not said to be, each with the sentence that
    says so."""
    taken = {name for place in there for name in place.names}
    said = mentioned(proposal)
    found = {}
    for number, entry in numbered(bound.decided).items():
        name, text = f"D{number}", " ".join(entry.text.split())[:_SHOWN]
        if name in said:
            continue
        if entry.kind is Kind.DECIDED and name not in taken:
            found[name] = f"{name} is taken up by no requirement and no task: “{text}”"
        elif entry.kind is Kind.OPEN:
            found[name] = f"{name} was left open, and the proposal does not say so: “{text}”"
    return found


def _unknown(what: str, name: str, entries: Mapping[int, Decided]) -> str:
    there = f"there is D{min(entries)} to D{max(entries)}" if entries else "nothing was decided there"
    return f"{what} names {name}, which does not exist: {there}"


def _decides(what: str, name: str) -> str:
    return f"{what} carries out {name}, which was left open: nobody has decided it"


def _is_open(name: str, entries: Mapping[int, Decided]) -> bool:
    entry = entries.get(int(name[1:])) if name.startswith("D") else None
    return entry is not None and entry.kind is Kind.OPEN


# -- drafts --------------------------------------------------------------------------------------


def fitting(design: str, shape: type[D]) -> type[D]:
    """The shape of a draft that names what exists. What it does not take up is asked for once: there may be
    a reason."""
    if not (bound := binding.read(design)).origin:
        return shape
    asked: list[str] = []

    def traces(draft: D) -> D:
        wrong, doubtful = _faults(draft, bound, design)
        if wrong or (doubtful and not asked):
            asked.append("")
            raise ValueError("; ".join((*wrong, *doubtful)))
        return draft

    checks: dict[str, Any] = {"traces": model_validator(mode="after")(traces)}
    return create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, __validators__=checks)


def _faults(draft: ProposalDraft, bound: Binding, design: str) -> tuple[list[str], list[str]]:
    """What is wrong, and what may have a reason."""
    entries, there = numbered(bound.decided), tuple(_drafted(draft))
    known = {f"D{number}" for number in entries} | {point.id for point in points.points(design)}
    named = [(place.what, name) for place in there for name in place.names]
    wrong = [_unknown(what, name, entries) for what, name in named if name not in known]
    told = {one.entry.strip().upper() for one in draft.left_open}
    settled = sorted(name for name in told if not _is_open(name, entries))
    doubtful = [f"left_open has {name}, which was not left open" for name in settled]
    doubtful += [_decides(what, name) for what, name in named if _is_open(name, entries)]
    prose = "\n".join((draft.summary, draft.why, *draft.what_changes, draft.impact))
    for name, problem in missing(bound, there, prose).items():
        if not (name in told and _is_open(name, entries)):
            doubtful.append(problem)
    return wrong, doubtful


def _drafted(draft: ProposalDraft) -> Iterator[Place]:
    for spec in draft.specs:
        texts = [f"R{number}" for number in range(1, len(spec.requirements) + 1)]
        found = [
            *zip(texts, spec.requirements, strict=True),
            *((one.title, one.text) for one in spec.modified),
        ]
        found += ((one.title, one.because) for one in spec.removed)
        yield from (Place(spec.name, 0, f"{what} of {spec.name}", _named(text)) for what, text in found)
    yield from (
        Place("", 0, f"task {number}", _named(text)) for number, text in enumerate(draft.tasks, start=1)
    )


def spell_out(design: str, draft: ProposalDraft) -> ProposalDraft:
    """The same, in which each requirement says in a line of its own where it comes from, also when it is read
    far from its change, and the impact names what was left open, by the program's count."""
    bound = binding.read(design)
    if bound.origin is None:
        return draft
    origin = bound.origin
    impact = _LEFT_OPEN.sub("\n\n", f"{draft.impact}\n").strip()
    if left := _left_open(bound, draft.left_open):
        impact = (
            f"{impact}\n\n**Left open in {' '.join(str(origin).split())}, and not decided here**\n\n{left}"
        )
    return draft.model_copy(
        update={"impact": impact, "specs": [_spell_out(spec, origin) for spec in draft.specs]}
    )


def _spell_out(spec: SpecDraft, origin: Origin) -> SpecDraft:
    def modified(one: ModifiedDraft) -> ModifiedDraft:
        return one.model_copy(update={"text": _with_line(one.text, origin)})

    requirements = [_with_line(text, origin) for text in spec.requirements]
    return spec.model_copy(
        update={"requirements": requirements, "modified": list(map(modified, spec.modified))}
    )


def _with_line(text: str, origin: Origin) -> str:
    names = [name for line in _LINE.finditer(text) for name in _split(line["names"])]
    text = _LINE.sub("", text).strip()
    if (at_the_end := _AT_THE_END.search(text)) and at_the_end.start():
        names = [*_split(at_the_end["names"]), *names]
        sentence = text[: at_the_end.start()]
        text = sentence + (at_the_end["stop"] if sentence[-1:] not in (".", "!") else "")
    return f"{text}\n\n_From {origin.name}: {', '.join(dict.fromkeys(names))}_" if names and text else text


def _left_open(bound: Binding, told: Sequence[LeftOpenDraft]) -> str:
    meanwhile = {one.entry.strip().upper(): " ".join(one.meanwhile.split()) for one in told}
    return "\n".join(
        f"- {line_of(number, entry)} In this plan: {meanwhile.get(f'D{number}') or 'not said.'}"
        for number, entry in numbered(bound.decided).items()
        if entry.kind is Kind.OPEN
    )


def line_of(number: int, entry: Decided) -> str:
    return f"D{number}. {' '.join(line(entry).split())}"


# -- for reviewers -------------------------------------------------------------------------------


def mark(
    design: str, found: Sequence[Point], proposal: str, specs: Mapping[str, str], boxes: str
) -> tuple[Point, ...]:
    """The points, with where the plan itself says that it takes them up."""
    if not binding.read(design).origin:
        return tuple(found)
    there = places(specs, boxes)
    return tuple(_marked(point, there, mentioned(proposal)) for point in found)


def _marked(point: Point, there: Sequence[Place], said: set[str]) -> Point:
    where = "; ".join(str(place) for place in there if point.id in place.names)
    if not where:
        where = "no requirement and no task" + (", but the proposal names it" if point.id in said else "")
    return replace(point, text=f"{point.text} [named by {where}]")
