"""What binds a change: where it comes from, the design that was approved, what was decided, and the evidence.
Values ⇄ design.md.

Knows the form of the file, and how something new is added to one that is there: what the person has written
in it stays, byte for byte. Refuses to know who decided, and what in the design is a point to be covered.

The parts stand below comments, so that nothing in a design, an entry or a line of evidence is taken for the
beginning of another part. A file without such comments is a design, written by hand.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from moot.core.conversation import PERSON
from moot.core.handover import Origin
from moot.core.ledger import Decided, Kind, numbered
from moot.evidence import items
from moot.evidence.items import Evidence
from moot.files.frontmatter import LINE_BREAK
from moot.llm.messages import Source, Weight

LONGEST_LINE = 8_000
"""Characters; a longer line of evidence is written as several of the same number, so that readers get all of
it."""

_MARKER = re.compile(
    r"<!-- moot:(?P<part>part|design|decided|evidence|from (?P<origin>\{.*\})|item (?P<about>\{.*\})) -->"
)
_LOOKALIKE = re.compile(r"^<(?=\\*!--\s*moot:)", re.MULTILINE)
_DISARMED = re.compile(r"^<\\(?=\\*!--\s*moot:)", re.MULTILINE)
_ENTRY = re.compile(
    r"- D(?P<number>\d+) \((?:left )?(?P<kind>decided|rejected|open|said) by (?P<by>.*?)"
    r"(?:, at (?P<at>.*?))?\): (?P<text>.*)",
    re.DOTALL,
)
_NUMBERED_LINE = re.compile(r"(\d+) ?(.*)")

_INTRODUCTION = """\
# What binds this change

Proposal, specifications, tasks and code have to keep to what stands here. moot keeps this file; what you
write in it stays."""
_ABOUT = ("name", "origin", "sha256", "media_type")
_THE_PERSON = "the person"
_NO_TEXT = "(an image, which cannot be shown here)"


@dataclass(frozen=True, slots=True)
class Binding:
    """`design` is the approved document, and `part` says which part of it this change is, if it is not the
    whole. An item of evidence has its number by its place; an entry has its own where it is not its place.
    With `replaces_decided`, nothing else is decided any more than what is here. `origin` is the session that
    it was decided in, whose numbers the entries have."""

    design: str = ""
    decided: tuple[Decided, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    part: str = ""
    replaces_decided: bool = False
    origin: Origin | None = None

    def __bool__(self) -> bool:
        return self != Binding()


# -- values to text, and back --------------------------------------------------------------------


def render(binding: Binding) -> str:
    parts = [_INTRODUCTION]
    if binding.origin:
        parts += [
            f"<!-- moot:from {_encode(msgspec.structs.asdict(binding.origin))} -->",
            _from(binding.origin),
        ]
    if binding.part:
        parts += ["<!-- moot:part -->", f"## Which part this change is\n\n{_disarm(binding.part)}"]
    if binding.design:
        parts += ["<!-- moot:design -->", _disarm(binding.design)]
    if binding.decided:
        parts += ["<!-- moot:decided -->", "## Decided so far", _entries(binding.decided)]
    if binding.evidence:
        parts += ["<!-- moot:evidence -->", "## Evidence"]
        parts += (_item(place, item) for place, item in enumerate(binding.evidence))
    return "\n\n".join(parts) + "\n"


def read(text: str) -> Binding:
    """Of a file that somebody has written, all of it is the design."""
    parts = list(_parts(text))
    if len(parts) == 1:
        return Binding(design=text.strip())
    found: dict[str, list[str]] = {}
    evidence: list[Evidence] = []
    origin: Origin | None = None
    for marker, body in parts[1:]:
        if marker["origin"] is not None:
            origin = _read_origin(marker["origin"])
        elif marker["about"] is None:
            found.setdefault(marker["part"], []).append(body)
        elif (item := _read_item(marker["about"], body)) is not None:
            evidence.append(item)
    part = "\n\n".join(_arm(each) for each in found.get("part", ()))
    return Binding(
        "\n\n".join(filter(None, (_arm(each) for each in found.get("design", ())))),
        _without_places(entry for each in found.get("decided", ()) for entry in _read_entries(each)),
        tuple(evidence),
        part.removeprefix("## Which part this change is").strip(),
        origin=origin,
    )


def origin_of(text: str) -> Origin | None:
    """Without reading the rest of it."""
    marked = itertools.islice(_parts(text), 1, None)
    return next((_read_origin(marker["origin"]) for marker, _ in marked if marker["origin"]), None)


def _without_places(entries: Iterable[Decided]) -> tuple[Decided, ...]:
    return tuple(
        msgspec.structs.replace(entry, number=0) if entry.number == place else entry
        for place, entry in enumerate(entries, start=1)
    )


def _from(origin: Origin) -> str:
    told = f"This change was made from {_line(str(origin))}. What was decided there has its numbers here."
    return f"## Where this comes from\n\n{told}"


def _read_origin(written: str) -> Origin | None:
    """None where somebody has made it unreadable."""
    try:
        return msgspec.json.decode(written, type=Origin)
    except msgspec.DecodeError:
        return None


def _parts(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each marker with the text below it; first what stands above them all, with a match of nothing."""
    nothing = re.match("", "")
    assert nothing is not None
    marker, lines = nothing, list[str]()
    for line in LINE_BREAK.split(text):
        if (begins := _MARKER.fullmatch(line.rstrip())) is not None:
            yield marker, "\n".join(lines).strip()
            marker, lines = begins, []
        else:
            lines.append(line)
    yield marker, "\n".join(lines).strip()


def _disarm(text: str) -> str:
    return _LOOKALIKE.sub(r"<\\", LINE_BREAK.sub("\n", text).strip())


def _arm(text: str) -> str:
    return _DISARMED.sub("<", text)


def _entries(decided: Sequence[Decided]) -> str:
    return "\n".join(_entry(number, entry) for number, entry in numbered(decided).items())


def _entry(number: int, entry: Decided) -> str:
    by = _THE_PERSON if entry.by == PERSON else _line(entry.by)
    at = f", at {_line(entry.at)}" if entry.at else ""
    text = _disarm(entry.text).replace("\n", "\n  ")
    left = "left " if entry.kind is Kind.OPEN else ""
    return f"- D{number} ({left}{entry.kind} by {by}{at}): {text}"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("(", "[").replace(")", "]")


def _read_entries(body: str) -> Iterator[Decided]:
    """Items that the person has written in their own way are theirs."""
    for raw in re.split(r"\n(?=- )", body):
        written = raw.strip()
        if not written.startswith("- "):
            continue
        text = re.sub(r"\n {1,2}", "\n", written)
        found = _ENTRY.fullmatch(text)
        kind, by, at, said, number = Kind.SAID, PERSON, "", text.removeprefix("- "), 0
        if found is not None:
            number = int(found["number"])
            kind, at, said = Kind(found["kind"]), found["at"] or "", found["text"]
            by = PERSON if found["by"] == _THE_PERSON else found["by"]
        said = _arm(said.strip())
        yield Decided(key_of(said), kind, said, by, at, number)


_KEY = "design:"


def key_of(text: str) -> str:
    """Of an entry in design.md: the same as long as it says the same."""
    return _KEY + " ".join(text.split())


def is_of_design(entry: Decided) -> bool:
    return entry.key.startswith(_KEY)


def _item(place: int, item: Evidence) -> str:
    about = msgspec.structs.asdict(item)
    about = {name: about[name] for name in _ABOUT}
    encoded = _encode(about)
    lines = [_NO_TEXT] if not item.text else list(_numbered(item))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", item.text)), default=0))
    body = "\n".join(lines)
    heading = f"### {items.number_of(place)}: {_line(item.name)}"
    return f"<!-- moot:item {encoded} -->\n\n{heading}\n\n{fence}text\n{body}\n{fence}"


def _encode(about: dict[str, str]) -> str:
    """What would end the comment is written otherwise."""
    return json.dumps(about).replace("--", "-\\u002d").replace(">", "\\u003e")


def _numbered(item: Evidence) -> Iterator[str]:
    for number, line in enumerate(item.text.replace("\r", " ").split("\n"), start=1):
        for at in range(0, max(len(line), 1), LONGEST_LINE):
            yield f"{number} {line[at : at + LONGEST_LINE]}"


def _read_item(about: str, body: str) -> Evidence | None:
    """None where somebody has made it unreadable."""
    try:
        said = json.loads(about)
        name, origin, sha256, media_type = (str(said[one]) for one in _ABOUT)
    except (ValueError, KeyError, TypeError):
        return None
    lines: dict[int, str] = {}
    for line in body.split("\n"):
        if (found := _NUMBERED_LINE.fullmatch(line)) is not None:
            number = int(found[1])
            lines[number] = lines.get(number, "") + found[2]
    text = "\n".join(lines[number] for number in sorted(lines))
    return Evidence(name, origin, sha256, media_type, text)


# -- one that is there, and something new --------------------------------------------------------


def merge(there: Binding, new: Binding) -> Binding:
    """Evidence and what was decided keep their numbers; of the rest, what is new takes the place of what was
    there."""
    return Binding(
        new.design or there.design,
        _keep_numbers(there, new) if new.decided or new.replaces_decided else there.decided,
        (*there.evidence, *_new_evidence(there, new)),
        new.part or there.part,
        origin=new.origin or there.origin,
    )


def _keep_numbers(there: Binding, new: Binding) -> tuple[Decided, ...]:
    """Requirements speak of entries by number: one that was there keeps its own, and no other gets it."""
    known = {key_of(entry.text): number for number, entry in numbered(there.decided).items()}
    known |= {entry.key: number for number, entry in numbered(there.decided).items()}
    used = {entry.number for entry in new.decided}
    following = itertools.count(max((*known.values(), *used), default=0) + 1)
    kept: dict[int, Decided] = {}
    for entry in new.decided:
        number = entry.number or known.get(entry.key) or known.get(key_of(entry.text))
        if not number or number in kept:
            number = next(following)
        kept[number] = msgspec.structs.replace(entry, number=number)
    return _without_places(kept[number] for number in sorted(kept))


def add(text: str, new: Binding) -> str:
    """A file that the person has written in, as it is, and below it the evidence and the decisions that it
    has not."""
    there = read(text)
    said = " ".join(text.split())
    decided = [entry for entry in new.decided if " ".join(entry.text.split()) not in said]
    parts = [text.rstrip()] if decided or _new_evidence(there, new) else []
    if not parts:
        return text
    if parts[0] and not _is_marked(text):
        parts.insert(0, "<!-- moot:design -->")
    if decided:
        free = itertools.count(max(numbered(there.decided), default=0) + 1)
        since = (msgspec.structs.replace(entry, number=next(free)) for entry in decided)
        parts += ["<!-- moot:decided -->", "## Decided since", _entries(tuple(since))]
    if evidence := _new_evidence(there, new):
        parts.append("<!-- moot:evidence -->")
        parts += (_item(place, item) for place, item in enumerate(evidence, start=len(there.evidence)))
    return "\n\n".join(parts) + "\n"


def _is_marked(text: str) -> bool:
    return len(list(_parts(text))) > 1


def _new_evidence(there: Binding, new: Binding) -> tuple[Evidence, ...]:
    known = {item.sha256 for item in there.evidence}
    return tuple(_portable(item) for item in new.evidence if item.sha256 not in known)


def _portable(item: Evidence) -> Evidence:
    """Without a path of this machine, which is nothing for a file that others read."""
    return msgspec.structs.replace(item, origin=item.name) if item.origin.startswith("/") else item


# -- for a request -------------------------------------------------------------------------------


def sources(
    text: str, as_given: Callable[[Sequence[Evidence]], Sequence[Evidence]] = tuple
) -> tuple[Source, ...]:
    """What design.md says, each item of evidence as a source of its own, `as_given` with its image; what was
    decided goes with what was decided since. A file that the person has rearranged is given as it is."""
    bound = read(text)
    evidence = items.sources(as_given(bound.evidence))
    if _is_marked(text) and _same(render(bound), text):
        alone = replace(bound, decided=(), evidence=(), origin=None)
        document = render(alone).removeprefix(_INTRODUCTION).strip()
        return (*_design(document), *evidence)
    return (*_design(text.strip()), *(one for one in evidence if one.image is not None))


def _same(one: str, other: str) -> bool:
    return one.split() == other.split()


def _design(document: str) -> tuple[Source, ...]:
    if not document:
        return ()
    text = (
        "<design>\nThis was approved, and binds: keep to it. Where you have a reason against something in "
        f"it, say so openly.\n\n{document}\n</design>"
    )
    return (Source("the design", text, Weight.NEEDED),)
