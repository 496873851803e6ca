"""Personas and panels: who can be asked, read from Markdown files.

Knows what a persona consists of, how its file is written and what is wrong with a bad one. Refuses to know
how a persona becomes a prompt, which flow convenes a panel, and whether the model that one names exists.

In a file, what is short or counted stands in the front matter, what is read as prose or as a list in the
sections of the body.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Literal, TypeVar

from pydantic import Field

from moot.errors import AlreadyThere, DefinitionInvalid, InvalidId, InvalidInput, NotFound
from moot.files.atomic import locked, write_atomic
from moot.files.layout import Workspace
from moot.files.paths import Root, valid_id
from moot.personas.display import shown_as
from moot.personas.files import ID_PATTERN, Fields, Id, PersonaFile, Text, read_text

SHIPPED = Path(__file__).with_name("data")
MOST_MEMBERS = 20

_MIDDLE = 5.5

# -- values --------------------------------------------------------------------------------------


class Contribution(StrEnum):
    INTEGRATOR = "integrator"
    CHALLENGER = "challenger"
    SENSE_CHECKER = "sense-checker"


class Dimension(Fields):
    """`note` says how the score shows in behaviour."""

    score: int = Field(ge=1, le=10)
    note: Text


class Rubric(Fields):
    """`delivery_vs_rigour`: 1 is all rigour, 10 is all delivery."""

    risk_appetite: Dimension
    evidence: Dimension
    ambiguity: Dimension
    intervention: Dimension
    escalation: Dimension
    delivery_vs_rigour: Dimension

    def dimensions(self) -> tuple[tuple[str, Dimension], ...]:
        return tuple(self)

    def strongest(self, n: int) -> tuple[tuple[str, Dimension], ...]:
        """The `n` dimensions farthest from the middle, ties in the order of the fields."""
        return tuple(sorted(self.dimensions(), key=lambda named: -abs(named[1].score - _MIDDLE))[:n])


class Interaction(Fields):
    style: Literal["questions", "assertions", "mixed"]
    tone: Literal["gentle", "warm", "measured", "direct", "confrontational"]


@dataclass(frozen=True, slots=True)
class Forbidden:
    """`words` are found by the program, `rules` are given to the model."""

    words: tuple[str, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Voice:
    """`opening` and `ending` are those of a whole answer, not of a turn in a conversation; they are empty
    where the file does not say."""

    description: str
    lens: str
    patterns: tuple[str, ...]
    behaviours: tuple[str, ...]
    forbidden: Forbidden
    opening: str = ""
    ending: str = ""


@dataclass(frozen=True, slots=True)
class Persona:
    """`openers` are beginnings of sentences for a model too small to begin its own. `origin` is the file of
    the workspace that has taken a shipped persona's place: it is named wherever that persona speaks."""

    id: str
    name: str
    role: str
    short_role: str
    contribution: Contribution
    purpose: str
    bio: str
    rubric: Rubric
    reasoning: str
    interaction: Interaction
    boundaries: str
    voice: Voice
    openers: tuple[str, ...]
    model: str | None
    source: Path
    origin: str = ""

    @property
    def shown(self) -> str:
        return shown_as(self.name, self.origin)


@dataclass(frozen=True, slots=True)
class Panel:
    """`leads` says who leads a phase; phases it does not name are for a flow to settle. `opposes` is the
    member who makes the case for the option that the person does not favour, where the panel names one."""

    id: str
    name: str
    description: str
    members: tuple[str, ...]
    leads: Mapping[str, str]
    source: Path
    opposes: str | None = None


_Entry = TypeVar("_Entry", Persona, Panel)


@dataclass(frozen=True, slots=True)
class Library:
    """`faults` are what is wrong with files of the workspace, by kind and id: each is raised where that
    persona or panel is asked for, and nowhere else."""

    personas: tuple[Persona, ...]
    panels: tuple[Panel, ...]
    faults: Mapping[tuple[str, str], DefinitionInvalid] = field(default_factory=dict)

    def persona(self, id: str) -> Persona:  # noqa: A002
        return self._named("persona", id, self.personas)

    def panel(self, id: str) -> Panel:  # noqa: A002
        return self._named("panel", id, self.panels)

    def _named(self, kind: str, id: str, among: tuple[_Entry, ...]) -> _Entry:  # noqa: A002
        if fault := self.faults.get((kind, id)):
            raise fault.with_traceback(None)
        for entry in among:
            if entry.id == id:
                return entry
        raise NotFound(kind, id, known=tuple(entry.id for entry in among))

    def members(self, panel: Panel) -> tuple[Persona, ...]:
        """In the panel's order; `speaking_order` says who speaks first."""
        return tuple(self.persona(member) for member in panel.members)


def speaking_order(personas: Iterable[Persona]) -> tuple[Persona, ...]:
    """Who intervenes most speaks first; ties stay in the given order."""
    return tuple(sorted(personas, key=lambda persona: -persona.rubric.intervention.score))


def opposing_seat(panel: Panel, members: Iterable[Persona]) -> str | None:
    """Who makes the case for the option that the person does not favour: whom the panel names, else the
    challenger who intervenes most, else whoever speaks first. Nobody, where there is only one member: they
    have their own view to give."""
    if panel.opposes is not None:
        return panel.opposes
    order = speaking_order(members)
    if len(order) < 2:
        return None
    challengers = [one for one in order if one.contribution is Contribution.CHALLENGER]
    return (challengers or order)[0].id


# -- files ---------------------------------------------------------------------------------------

_SECTIONS = (
    "Purpose",
    "Bio",
    "Reasoning",
    "Boundaries",
    "Voice",
    "Voice.Patterns",
    "Voice.Behaviours",
    "Openers",
)
_OPTIONAL_SECTIONS = ("Voice.Opening", "Voice.Ending", "Voice.Forbidden")


class _PersonaFields(Fields):
    id: Id
    name: Text
    role: Text
    short_role: Text | None = None
    contribution: Contribution = Field(strict=False)
    interaction: Interaction
    lens: Text
    rubric: Rubric
    forbidden_words: list[Text] = Field(default_factory=list)
    model: Text | None = None


class _PanelFields(Fields):
    id: Id
    name: Text
    members: list[Id] = Field(min_length=1, max_length=MOST_MEMBERS)
    leads: dict[Id, Id] = Field(default_factory=dict)
    opposes: Id | None = None


@lru_cache(maxsize=256)
def parse_persona(text: str, source: Path) -> Persona:
    """The name of `source` has to be the id; the file itself is not opened."""
    file = PersonaFile(text, source)
    fields = file.fields(_PersonaFields)
    sections = file.sections(_SECTIONS, _OPTIONAL_SECTIONS)
    rules = sections["Voice.Forbidden"].items() if "Voice.Forbidden" in sections else ()
    openers = sections["Openers"].items()
    for opener in openers:
        if opener[-1] in ".!?:;,…":
            raise sections["Openers"].fault(f"'{opener}' has to break off within a clause")
    return Persona(
        id=file.identified(fields.id),
        name=fields.name,
        role=fields.role,
        short_role=fields.short_role or fields.role,
        contribution=fields.contribution,
        purpose=sections["Purpose"].prose(),
        bio=sections["Bio"].prose(),
        rubric=fields.rubric,
        reasoning=sections["Reasoning"].prose(),
        interaction=fields.interaction,
        boundaries=sections["Boundaries"].prose(),
        voice=Voice(
            description=sections["Voice"].prose(),
            lens=fields.lens,
            patterns=sections["Voice.Patterns"].items(),
            behaviours=sections["Voice.Behaviours"].items(),
            forbidden=Forbidden(tuple(fields.forbidden_words), rules),
            opening=sections["Voice.Opening"].prose() if "Voice.Opening" in sections else "",
            ending=sections["Voice.Ending"].prose() if "Voice.Ending" in sections else "",
        ),
        openers=openers,
        model=fields.model,
        source=source,
    )


def parse_panel(text: str, source: Path, personas: Collection[str]) -> Panel:
    """`personas` are the ids that a panel may name."""
    file = PersonaFile(text, source)
    fields = file.fields(_PanelFields)
    for index, member in enumerate(fields.members):
        if member not in personas:
            raise file.field_fault(("members", index), f"there is no persona '{member}'")
        if member in fields.members[:index]:
            raise file.field_fault(("members", index), f"'{member}' is listed twice")
    for phase, lead in fields.leads.items():
        if lead not in fields.members:
            raise file.field_fault(("leads", phase), f"'{lead}' is not a member of the panel")
    if fields.opposes is not None and fields.opposes not in fields.members:
        raise file.field_fault(("opposes",), f"'{fields.opposes}' is not a member of the panel")
    return Panel(
        id=file.identified(fields.id),
        name=fields.name,
        description=file.prose(),
        members=tuple(fields.members),
        leads=MappingProxyType(fields.leads),
        source=source,
        opposes=fields.opposes,
    )


def load_library(*folders: Path) -> Library:
    """The shipped library, then that of each folder (its `personas/` and `panels/`, as far as they are
    there). A later file replaces an earlier one of the same id and keeps its place in the order. A bad file
    is a fault of its own and hides no other one."""
    roots = (SHIPPED, *folders)
    personas: dict[str, Persona] = {}
    faults: dict[tuple[str, str], DefinitionInvalid] = {}

    def load(kind: str, folder: Path, parse: Callable[[str, Path], _Entry]) -> Iterator[_Entry]:
        for file in _files(folder):
            try:
                yield parse(read_text(file), file)
            except DefinitionInvalid as fault:
                faults[kind, file.stem] = fault

    for root in roots:
        for persona in load("persona", root / "personas", parse_persona):
            replaces = persona.id in personas and root is not SHIPPED
            origin = f"{root.name}/personas/{persona.source.name}" if replaces else ""
            personas[persona.id] = replace(persona, origin=origin)

    def parse(text: str, source: Path) -> Panel:
        # A member whose file is bad is a member: that is reported when the panel is convened.
        bad = {id_ for kind, id_ in faults if kind == "persona"}
        return parse_panel(text, source, {*personas, *bad})

    panels = {panel.id: panel for root in roots for panel in load("panel", root / "panels", parse)}
    kept = [persona for persona in personas.values() if ("persona", persona.id) not in faults]
    return Library(tuple(kept), tuple(panels.values()), faults)


def stamps(*folders: Path) -> tuple[tuple[Path, int, int, int], ...]:
    """Another value whenever a definition in one of the folders came, went or was written."""
    found = []
    for folder in folders:
        for file in _files(folder):
            with contextlib.suppress(FileNotFoundError):
                stat = file.stat()
                found.append((file, stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return tuple(found)


def _files(folder: Path) -> list[Path]:
    # What editors and file systems leave behind begins with a dot.
    return [file for file in sorted(folder.glob("*.md")) if file.is_file() and not file.name.startswith(".")]


def scaffold(id: str, name: str) -> str:  # noqa: A002
    """A new persona's file, to be saved as `{id}.md`: complete, and explained by its comments."""
    if not re.fullmatch(ID_PATTERN, id):
        raise InvalidId("id", id)
    if not name.strip() or not name.isprintable():
        raise InvalidInput("name", "has to be a line of text")
    template = Template((SHIPPED / "personas" / "scaffold.txt").read_text(encoding="utf-8"))
    # JSON's strings are YAML's, as long as nothing in them needs an escape that YAML does not know.
    return template.substitute(id=id, name=json.dumps(name.strip(), ensure_ascii=False))


def write_scaffold(workspace: Workspace, persona_id: str, name: str | None) -> Path:
    """A new persona's file, where the workspace has its own. One that is there is left alone."""
    wanted = workspace.personas / f"{valid_id(persona_id, 'persona id')}.md"
    file = Root(workspace.root).resolve(str(wanted.relative_to(workspace.root)))
    with locked(file):
        if file.exists():
            raise AlreadyThere("persona", persona_id, file)
        write_atomic(file, scaffold(persona_id, name or persona_id.replace("-", " ").title()))
    return file
