"""The living specifications of a workspace, in `moot/specs/`: what holds, by the changes that were archived.

They are compared with what a change does to them, given to whoever plans and reviews, and written when a
change is archived. Whatever moment that is killed in, the same command goes on from there. Refuses to know
what a requirement is, and when a change may be archived.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import create_model, model_validator

from moot.changes import changelog, living, prompts, proposal, state_file
from moot.changes.folder import SPECS, ChangeFolder, is_spec
from moot.changes.living import Merged
from moot.changes.proposal import Finding, ProposalDraft
from moot.changes.state_file import Data, Known
from moot.errors import FileDamaged, SpecsContradict
from moot.files import atomic, timestamps
from moot.files.folder import TextFolder
from moot.files.layout import Workspace
from moot.llm.messages import Source
from moot.repo import search
from moot.repo.keywords import keywords_of

D = TypeVar("D", bound=ProposalDraft)

_WORDS_IN_COMMON = 2
"""So many words of a wish make a living specification one that it is about."""


class LivingSpecs:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def texts(self) -> dict[str, str]:
        """By name, as `sign-in.md`, in order."""
        if not self._workspace.specs.is_dir():
            return {}
        read = {name: self._files.read(name) for name in self._files.names(".") if is_spec(name)}
        return {name: text for name, text in read.items() if text is not None}

    def fingerprint(self) -> str:
        return state_file.text_hash(json.dumps(self.texts()))

    # -- comparing ---------------------------------------------------------------------------

    def findings(self, folder: ChangeFolder) -> Iterator[Finding]:
        """What the change contradicts; and, as a warning, what was different when it was last checked."""
        resumed = bool(folder.state().merging)
        recorded = _recorded(folder)
        there = self.texts()
        for file, spec in folder.specs().items():
            name = _name(file, there)
            now = _merge(folder.id, name, there, spec, None, resumed=resumed)
            then = _merge(folder.id, name, there, spec, recorded.get(name, {}), resumed=resumed)
            wrong = [problem for problem in now.problems if not problem.may_wait]
            said = {problem.message for problem in wrong}
            for problem in wrong:
                yield Finding(file, problem.line, "error", problem.message)
            for problem in then.problems:
                if problem.may_wait and problem.message not in said:
                    yield Finding(file, problem.line, "warning", problem.message)

    def fitting(self, change_id: str, shape: type[D]) -> type[D]:
        """The shape of a draft that does not contradict what holds: its model hears of it while it can still
        correct that."""
        there = self.texts()

        def fits(draft: D) -> D:
            problems = []
            for file, spec in proposal.render_specs(draft).items():
                one = _merge(change_id, _name(file, there), there, spec, None, resumed=False)
                problems += [problem.message for problem in one.problems]
            if problems:
                raise ValueError("; ".join(problems))
            return draft

        checks: dict[str, Any] = {"fits": model_validator(mode="after")(fits)}
        return create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, __validators__=checks)

    def record(self, folder: ChangeFolder) -> None:
        """Keeps with the change what it touches of the living specifications, as that is now."""
        there = self.texts()
        known = []
        for file, spec in folder.specs().items():
            name = _name(file, there)
            touched = living.touched(there.get(name, ""), spec, folder.id)
            known += [Known(name, key, value) for key, value in touched.items()]
        if tuple(known) != folder.state().living:
            folder.update_state(lambda data: state_file.note_living(data, known))

    # -- merging -----------------------------------------------------------------------------

    def merge(self, folder: ChangeFolder, title: str, tell: Callable[[str], None]) -> None:
        """Does what the change says, to all living specifications or to none.

        That it has begun is recorded first, so that whoever goes on after a crash knows that some of it may
        be done. One change at a time is merged.
        """
        with atomic.locked(self._workspace.changelog):
            there = self.texts()
            state, recorded = folder.state(), _recorded(folder)
            merged: dict[str, Merged] = {}
            problems: list[str] = []
            for file, spec in folder.specs().items():
                name = _name(file, there)
                known = recorded.get(name, {})
                one = _merge(folder.id, name, there, spec, known, resumed=bool(state.merging))
                problems += [f"{file}:{problem.line}: {problem.message}" for problem in one.problems]
                if one.done:
                    merged[name] = one
            if problems:
                raise SpecsContradict(folder.id, tuple(problems), begun=bool(state.merging))
            if merged:
                self._write(folder, title, merged, state.merging or timestamps.now(), tell)

    def _write(
        self,
        folder: ChangeFolder,
        title: str,
        merged: Mapping[str, Merged],
        began: str,
        tell: Callable[[str], None],
    ) -> None:
        place = self._workspace.specs
        try:
            place.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise FileDamaged(str(place), "it has to be a folder") from None
        for name, one in merged.items():
            self._files.check(name, one.text)

        def begun(data: Data) -> None:
            data["merging"] = began

        folder.update_state(begun)
        done = {f"{SPECS}/{name}": one.done for name, one in merged.items()}
        atomic.update(
            self._workspace.changelog,
            lambda old: changelog.add_entry(old, folder.id, title, began, done),
        )
        for name, one in merged.items():
            self._files.write(name, one.text)
            tell(f"merged into moot/{SPECS}/{name}: {living.count(one.done)}")

    # -- for a request -----------------------------------------------------------------------

    def sources(self, about: str, names: Collection[str] = ()) -> tuple[Source, ...]:
        """Those that a change touches, by the names of its specifications, and those that its wish is about,
        each whole; of the others, the names."""
        there = self.texts()
        touched = {_name(name, there) for name in names}
        words = keywords_of(*about.strip().partition("\n")[::2]) if about.strip() else ()
        given = {
            name: text
            for name, text in there.items()
            if search.may_be_read(f"moot/{SPECS}/{name}")
            and (name in touched or _is_about(f"{name}\n{text}".lower(), words))
        }
        return prompts.living(given, [name for name in there if name not in given])

    def sources_for(self, folder: ChangeFolder) -> tuple[Source, ...]:
        return self.sources("", tuple(folder.specs()))

    @property
    def _files(self) -> TextFolder:
        return TextFolder(self._workspace.specs, "folder", f"moot/{SPECS}")


def _name(file: str, there: Collection[str]) -> str:
    """Of the living specification for a file of a change. Some disks do not tell capitals apart."""
    name = file.removeprefix(f"{SPECS}/")
    return next((one for one in there if one.casefold() == name.casefold()), name)


def _merge(
    change_id: str,
    name: str,
    there: Mapping[str, str],
    spec: str,
    known: Mapping[str, str] | None,
    *,
    resumed: bool,
) -> Merged:
    called = f"moot/{SPECS}/{name}"
    return living.merge(there.get(name), spec, change_id, known, resumed=resumed, name=called)


def _recorded(folder: ChangeFolder) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for one in folder.state().living:
        found.setdefault(one.file, {})[one.name] = one.hash
    return found


def _is_about(text: str, words: Collection[str]) -> bool:
    return sum(word in text for word in words) >= _WORDS_IN_COMMON
