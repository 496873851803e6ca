"""The steps of an analysis: what is asked, checked and written down in each, read from Markdown files.

Knows what a step consists of, how its file is written, which steps may follow which, and when one does not
apply. Refuses to know who is on a panel, what is said to a model, and how an analysis proceeds. Files are
read, never written.

One bad file must not end an analysis: it is passed over as if it were not there, and the warnings say so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, Field

from moot.errors import DefinitionInvalid, NotFound
from moot.personas.files import Fields, Id, PersonaFile, Text, read_text
from moot.text.depth import DEPTHS, Depth

SHIPPED = Path(__file__).with_name("data") / "steps"
PHASES = ("00-quick-scan", "01-requirements", "02-impact-analysis", "03-architecture", "04-design")

_SECTIONS = ("Brief Mode", "Standard Mode", "Deep Mode", "Validation", "Artifacts")
_STEP_ID = re.compile(r"[0-9]{2}-[0-9]{2}[a-z]?")
_PHASE = re.compile(r"[0-9]{2}(?:-[a-z0-9]+)+")
_OUTPUT = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\.(?:md|json|csv)")
_NOT_AN_OUTPUT = frozenset({"meta.json"})
"""The item's own file, which a step must not fill."""

# -- values --------------------------------------------------------------------------------------


class Condition(StrEnum):
    """When a step does not apply. The program judges them, never a model."""

    NO_EXISTING_CODE = "no-existing-code"
    NO_UI = "no-ui"
    DEPTH_BRIEF = "depth-brief"
    DEPTH_STANDARD = "depth-standard"


_REASONS = {
    Condition.NO_EXISTING_CODE: "there is no code in the workspace yet",
    Condition.NO_UI: "there are no pages or screens in the workspace",
    Condition.DEPTH_BRIEF: "the analysis is brief",
    Condition.DEPTH_STANDARD: "the analysis is of standard depth",
}

# Suffixes. Whatever is not known to be something else may be code.
_NO_CODE = re.compile(
    r"\.(adoc|bmp|cfg|conf|csv|gif|ico|ini|jpe?g|json|lock|log|markdown|md|pdf|png|rst|svg|toml|tsv|txt|webp"
    r"|xml|ya?ml)",
    re.IGNORECASE,
)
_SCREEN = re.compile(
    r"\.(astro|cshtml|css|ejs|erb|haml|hbs|html?|jinja2?|jsx|less|liquid|mustache|pug|qml|razor|sass|scss"
    r"|storyboard|svelte|tsx|twig|ui|vue|xaml|xib)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Step:
    """`modes` has what to do and ask at each depth; what is written for deep goes on from standard, and both
    are in it. `validation` is a Markdown list, one check to an item."""

    id: str
    title: str
    phase: str
    persona: str
    depth: Depth
    outputs: tuple[str, ...]
    depends_on: tuple[str, ...]
    skip_if: tuple[Condition, ...]
    modes: Mapping[Depth, str]
    validation: str
    artifacts: str
    source: Path

    def does_not_apply(self, conditions: Collection[Condition]) -> str:
        """Why the step is passed over under these conditions; empty if it is not."""
        return next((_REASONS[condition] for condition in self.skip_if if condition in conditions), "")


@dataclass(frozen=True, slots=True)
class Steps:
    """`steps` in the order in which they are taken; `warnings` name the file, the line and the field.
    `faults` are the same by id: one is raised where a step is asked for that is missing because of it."""

    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    faults: Mapping[str, DefinitionInvalid] = field(default_factory=dict)

    def step(self, id: str) -> Step:  # noqa: A002
        for step in self.steps:
            if step.id == id:
                return step
        if fault := self.faults.get(id):
            raise fault.with_traceback(None)
        raise NotFound("step", id, known=tuple(step.id for step in self.steps))


def conditions_met(files: Iterable[str], depth: Depth | None = None) -> frozenset[Condition]:
    """What holds for a workspace with these files, at this depth if it is known already. In doubt a condition
    does not hold: a question too many does less harm than a step that is missing."""
    suffixes = {PurePosixPath(file).suffix for file in files} - {""}
    met = set()
    if all(_NO_CODE.fullmatch(suffix) for suffix in suffixes):
        met.add(Condition.NO_EXISTING_CODE)
    if not any(_SCREEN.fullmatch(suffix) for suffix in suffixes):
        met.add(Condition.NO_UI)
    if depth == "brief":
        met.add(Condition.DEPTH_BRIEF)
    if depth == "standard":
        met.add(Condition.DEPTH_STANDARD)
    return frozenset(met)


# -- files ---------------------------------------------------------------------------------------


def _check_step_id(written: str) -> str:
    if not _STEP_ID.fullmatch(written):
        raise ValueError(f"{written[:80]!r} is not a step: write phase and number, such as 05-01 or 01-03b")
    return written


def _check_phase(written: str) -> str:
    if not _PHASE.fullmatch(written):
        raise ValueError(f"{written[:80]!r} is not a phase: write number and name, such as 05-operations")
    return written


def _check_output(written: str) -> str:
    if not _OUTPUT.fullmatch(written) or written in _NOT_AN_OUTPUT:
        raise ValueError(
            f"{written[:80]!r} cannot be written: name a .md, .json or .csv file, without folders"
        )
    return written


class _StepFields(Fields):
    step_id: Annotated[str, AfterValidator(_check_step_id)]
    title: Text
    phase: Annotated[str, AfterValidator(_check_phase)] | None = None
    persona: Id
    depth: Depth
    outputs: list[Annotated[str, AfterValidator(_check_output)]] = Field(min_length=1)
    depends_on: list[Annotated[str, AfterValidator(_check_step_id)]] = Field(default_factory=list)
    skip_if: list[Annotated[Condition, Field(strict=False)]] = Field(default_factory=list)


def parse_step(text: str, source: Path) -> Step:
    """The name of `source` has to be the id; the file itself is not opened."""
    return _parse(PersonaFile(text, source))


def _parse(file: PersonaFile) -> Step:
    fields = file.fields(_StepFields)
    step_id = file.identified(fields.step_id, "step_id")
    for index, output in enumerate(fields.outputs):
        if output in fields.outputs[:index]:
            raise file.field_fault(("outputs", index), f"'{output}' is listed twice")
    sections = file.sections(_SECTIONS, whole=True)
    sections["Validation"].items()
    brief, standard, deep = (sections[f"{depth.capitalize()} Mode"].prose() for depth in DEPTHS)
    return Step(
        id=step_id,
        title=fields.title,
        phase=_choose_phase(file, step_id, fields.phase),
        persona=fields.persona,
        depth=fields.depth,
        outputs=tuple(fields.outputs),
        depends_on=tuple(fields.depends_on),
        skip_if=tuple(fields.skip_if),
        modes=MappingProxyType({"brief": brief, "standard": standard, "deep": f"{standard}\n\n{deep}"}),
        validation=sections["Validation"].prose(),
        artifacts=sections["Artifacts"].prose(),
        source=file.source,
    )


def _choose_phase(file: PersonaFile, step_id: str, given: str | None) -> str:
    number = step_id[:2]
    own = next((phase for phase in PHASES if phase.startswith(number)), None)
    if own is None and given is None:
        raise file.field_fault(
            ("phase",), f"is missing: say what phase {number} is, such as {number}-operations"
        )
    phase = given or own or ""
    if phase[:2] != number or own not in (None, phase):
        raise file.field_fault(("phase",), f"is '{phase}', but {step_id} belongs to '{own or number + '-…'}'")
    return phase


# -- loading -------------------------------------------------------------------------------------


def load_steps(*folders: Path, personas: Collection[str] | None = None) -> Steps:
    """The shipped steps, then those of each folder: a later file replaces an earlier one of the same id. If
    `personas` are given, a step has to be led by one of them."""
    faults: list[tuple[str, DefinitionInvalid]] = []
    candidates: dict[str, list[tuple[PersonaFile, Step]]] = {}
    for folder in (SHIPPED, *folders):
        for file, step in _read(folder, faults):
            candidates.setdefault(step.id, []).insert(0, (file, step))
    taken: dict[str, Step] = {}
    # In this order, whatever a step may depend on has been settled before it.
    for step_id in sorted(candidates):
        for file, step in candidates[step_id]:
            try:
                _check(file, step, taken, candidates, personas)
            except DefinitionInvalid as fault:
                faults.append((step_id, fault))
            else:
                taken[step_id] = step
                break
    warnings = tuple(f"{fault}. This file is skipped." for _, fault in faults)
    return Steps(tuple(taken.values()), warnings, dict(faults))


def _read(folder: Path, faults: list[tuple[str, DefinitionInvalid]]) -> Iterator[tuple[PersonaFile, Step]]:
    for path in sorted(folder.glob("*.md")):
        # What editors and file systems leave behind begins with a dot.
        if not path.is_file() or path.name.startswith("."):
            continue
        try:
            file = PersonaFile(read_text(path), path)
            step = _parse(file)
        except DefinitionInvalid as fault:
            faults.append((path.stem, fault))
        else:
            yield file, step


def _check(
    file: PersonaFile,
    step: Step,
    taken: Mapping[str, Step],
    candidates: Collection[str],
    personas: Collection[str] | None,
) -> None:
    """A step comes after all that it depends on, so there can be no circle."""
    if personas is not None and step.persona not in personas:
        raise file.field_fault(("persona",), f"there is no persona '{step.persona}'")
    namesake = next(
        (other.phase for other in taken.values() if other.phase[:2] == step.phase[:2]), step.phase
    )
    if step.phase != namesake:
        raise file.field_fault(
            ("phase",), f"is '{step.phase}', but the phase is called '{namesake}' elsewhere"
        )
    for index, needed in enumerate(step.depends_on):
        if needed in taken:
            continue
        if needed == step.id:
            problem = "a step cannot depend on itself"
        elif needed not in candidates:
            problem = f"there is no step '{needed}'"
        elif needed > step.id:
            problem = f"'{needed}' comes later: steps are taken in the order of their ids"
        else:
            problem = f"step '{needed}' is skipped itself"
        raise file.field_fault(("depends_on", index), problem)
