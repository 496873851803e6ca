"""A command that is killed at every step of writing, and run again: `python -m tests.support.killing NAME
DIR`.

A process of its own, because only one without threads can safely fork. What it finds wrong is an
AssertionError, with the step; what it prints at the end is how many steps there were.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import shutil
import signal
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from moot.agents import Order
from moot.changes import approval, challenge, implement, review_block, state_file, tasks
from moot.changes import folder as folders
from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.implement import Implementing
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.changes.service import Changes
from moot.errors import AlreadyThere, IllegalMove, NotFound
from moot.files import atomic, timestamps
from moot.files.documents import YamlDocument
from moot.files.json_text import JsonText
from tests.support.change import PROPOSAL, SPEC, TASKS, write_change
from tests.support.changes import (
    STAMP,
    FakeCoder,
    FakeReviewer,
    QuickDisk,
    at_work,
    drafted,
    reviewed,
    silent,
)

DONE, WRONG, KILLED = 0, 1, -signal.SIGKILL
ID = "feat-auth"
EARLIER = Review(
    Verdict.NEEDS_REVISION, (Issue(Severity.HIGH, "Nothing says how keys are lost."),), "No.", STAMP
)


class DyingDisk(QuickDisk):
    """Ends the process at the step of that number, in the middle of a write if it is one."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def unlink(self, path: Path) -> None:
        self._step()
        super().unlink(path)

    def open(self, path: Path, mode: int) -> int:
        self._step()
        return super().open(path, mode)

    def chmod(self, handle: int, mode: int) -> None:
        self._step()
        super().chmod(handle, mode)

    def write(self, handle: int, data: memoryview) -> int:
        if self._left == 1:
            os.write(handle, data[: len(data) // 2])
        self._step()
        return super().write(handle, data)

    def fsync(self, handle: int) -> None:
        self._step()
        super().fsync(handle)

    def close(self, handle: int) -> None:
        self._step()
        super().close(handle)

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        super().rename(source, target)

    def fsync_dir(self, folder: Path) -> None:
        self._step()
        super().fsync_dir(folder)


class Ids:
    """The same in every run of a command, so that what was parsed once is known; and others in the next."""

    def __init__(self) -> None:
        self.next = 0

    def uuid4(self) -> SimpleNamespace:
        self.next += 1
        return SimpleNamespace(hex=f"{self.next:012}{'0' * 20}")


ids = Ids()
call_of = state_file.Call.of


def begin() -> None:
    """The same run twice writes the same bytes. STATE.yaml is JSON: YAML, too, and read much faster."""
    vars(timestamps)["now"] = lambda: STAMP
    vars(folders)["uuid"] = ids
    timeless = staticmethod(lambda *told: replace(call_of(*told), duration_ms=7))
    type.__setattr__(state_file.Call, "of", timeless)
    type.__setattr__(YamlDocument, "_format", JsonText)


class Command(ABC):
    """One command: what is there before it, and what has to be true after it was killed, and at the end."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "project"
        self.folder = ChangeFolder(ID, self.root / "moot" / "changes" / ID)

    def noted(self, what: str) -> None:
        """Somebody was paid: kept outside of the workspace."""
        with (self.place / "paid").open("a", encoding="utf-8") as file:
            file.write(f"{what}\n")

    @property
    def paid(self) -> int:
        file = self.place / "paid"
        return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0

    @property
    def reviews(self) -> list[str]:
        return [block.raw for block in review_block.blocks(self.folder.proposal() or "")]

    @property
    def phase(self) -> str:
        return self.folder.state().phase

    def prepare(self) -> None:
        write_change(self.folder.path)
        self.folder.update_state(lambda _: None)

    def reviewed(self, review: Review, phase: str) -> None:
        reviewed(self.folder, review)
        self.folder.update_state(lambda data: data.update(phase=phase))

    @property
    def waiting(self) -> bool:
        """Whether there is a whole review that does not count yet."""
        run = self.folder.state().run
        made = self.folder.review_of(run.id) if run else None
        return made is not None and made.block is not None

    @abstractmethod
    async def run(self) -> None: ...

    @abstractmethod
    def check_killed(self) -> None: ...

    @abstractmethod
    def check_end(self, *, went_on: bool) -> None: ...


class Challenge(Command):
    def prepare(self) -> None:
        super().prepare()
        self.reviewed(EARLIER, "proposed")

    async def run(self) -> None:
        reviewer = FakeReviewer(asked=lambda _: self.noted("review"))
        vars(challenge)["find"] = reviewer.found
        async with at_work(self.root) as moot:
            await Challenging(Changes(moot)).challenge(ID, "auto", silent)

    def check_killed(self) -> None:
        self._found, self._paid_before = self.reviews, self.paid
        self._waiting = self.waiting
        assert self._found[0] == review_block.render(EARLIER)
        assert self._waiting or self.phase == ("challenged" if len(self._found) == 2 else "proposed")

    def check_end(self, *, went_on: bool) -> None:
        assert went_on
        assert self.reviews[: len(self._found)] == self._found
        assert self.paid == self._paid_before + (not self._waiting), (
            "a review that is there is not paid twice"
        )
        assert (self.phase, self.folder.state().verdict) == ("challenged", Verdict.APPROVED)
        assert (self.folder.state().run, self.folder.strangers()) == (None, ())
        assert [one.block is None for one in self.folder.reviews()] == [False] * len(self.reviews)
        assert approval.check(self.folder).verdict is Verdict.APPROVED


class Propose(Command):
    """From what a person has begun to write."""

    begun = "# Passkeys, perhaps\n"

    def prepare(self) -> None:
        self.folder.path.mkdir(parents=True)
        (self.folder.path / "proposal.md").write_text(self.begun, encoding="utf-8")

    async def run(self) -> None:
        async with at_work(self.root, [drafted()]) as moot:
            await Changes(moot).propose(ID, "People should sign in with passkeys.", silent)

    def check_killed(self) -> None:
        assert self.phase == "proposed"
        self._whole = "get a link" in (self.folder.proposal() or "")
        texts = {path.read_text(encoding="utf-8") for path in self.folder.path.rglob("proposal.md")}
        assert self.begun in texts, "what a person wrote is somewhere"

    def check_end(self, *, went_on: bool) -> None:
        # A proposal that was whole already is left alone.
        assert went_on != self._whole
        self.check_killed()
        assert "get a link" in (self.folder.proposal() or "")
        assert list(self.folder.specs()) == ["specs/sign-in.md"]
        assert len(tasks.tasks(self.folder.tasks() or "")) == 2


class Repropose(Command):
    """Of a change that was approved: the new text is not."""

    approval = Review(Verdict.APPROVED, (Issue(Severity.LOW, "Say how keys are lost."),), "Yes.", STAMP)

    def prepare(self) -> None:
        super().prepare()
        self.reviewed(EARLIER, "proposed")
        self.reviewed(self.approval, "challenged")

    async def run(self) -> None:
        async with at_work(self.root, [drafted()]) as moot:
            await Changes(moot).repropose(ID, "", silent)

    def check_killed(self) -> None:
        assert self.reviews == [review_block.render(EARLIER), review_block.render(self.approval)]
        own = (self.folder.proposal() or "").startswith(PROPOSAL)
        untouched = own and self.folder.specs() == {"specs/sign-in.md": SPEC} and self.folder.tasks() == TASKS
        assert untouched or self.phase == "proposed", "nobody has approved the new text"

    def check_end(self, *, went_on: bool) -> None:
        self.check_killed()
        assert went_on
        assert "get a link" in (self.folder.proposal() or "")
        assert self.phase == "proposed"
        kept = [path.read_text(encoding="utf-8") for path in (self.folder.path / "earlier").rglob("*.md")]
        assert {SPEC, TASKS} <= set(kept)
        assert any(text.startswith(PROPOSAL) for text in kept)


class Archive(Command):
    """Of a change that adds to one living specification and makes another."""

    living = (
        "# Sign-in\n\nOurs.\n\n## Acceptance Criteria\n\n### Scenario: Old\n\n- **WHEN** a\n- **THEN** b\n"
    )

    def prepare(self) -> None:
        super().prepare()
        removed = SPEC.replace("## Accept", "## Removed Requirements\n\n### Scenario: Old\n\n## Accept", 1)
        self.folder.write_specs({"sign-in.md": removed, "other.md": SPEC})
        specs = self.root / "moot" / "specs"
        specs.mkdir()
        (specs / "sign-in.md").write_text(self.living, encoding="utf-8")
        self.reviewed(EARLIER, "complete")

    def _holds(self) -> list[str]:
        specs = self.root / "moot" / "specs"
        return [path.read_text(encoding="utf-8") for path in sorted(specs.glob("[!.]*"))]

    async def run(self) -> None:
        async with at_work(self.root) as moot:
            Changes(moot).archive(ID)

    def _there(self) -> list[ChangeFolder]:
        places = [self.folder.path, *(self.root / "moot" / "archive").glob("*")]
        return [ChangeFolder(ID, path) for path in places if path.is_dir()]

    def check_killed(self) -> None:
        [there] = self._there()
        self._place_before = there.path
        assert there.state().phase in ("complete", "archived")
        assert there.proposal() == review_block.append(PROPOSAL, EARLIER)
        *_, sign_in = self._holds()
        assert sign_in == self.living or ("Old" not in sign_in and "Known" in sign_in), "never half of it"
        assert there.state().phase == "complete" or "Known" in sign_in, "merged before it is put away"

    def check_end(self, *, went_on: bool) -> None:
        # One that is in the archive already is no change any more.
        assert went_on == (self._place_before.parent.name == "changes")
        [there] = self._there()
        assert (there.path.parent.name, there.state().phase) == ("archive", "archived")
        other, sign_in = self._holds()
        assert ("Old" in sign_in, sign_in.count("### Scenario: Known passkey")) == (False, 1)
        assert ("Ours." in sign_in, other.count("### Scenario: Known passkey")) == (True, 1)
        log = (self.root / "moot" / "CHANGELOG.md").read_text(encoding="utf-8")
        assert log.count(f"{ID}: Passkeys") == 1
        assert log.count("\n- ") == 3


class Implement(Command):
    def prepare(self) -> None:
        super().prepare()
        self.reviewed(Repropose.approval, "challenged")
        (self.root / "app.py").write_text("", encoding="utf-8")

    async def run(self) -> None:
        def work(order: Order) -> str:
            self.noted("work")
            [task] = [
                task
                for task in ("Store public keys", "Verify a signature")
                if f"<task>\n{task}" in order.text
            ]
            with (self.root / "app.py").open("a", encoding="utf-8") as file:
                file.write(f"{task}\n")
            return "Done."

        vars(implement)["find_coder"] = FakeCoder(work).found
        async with at_work(self.root) as moot:
            await Implementing(Changes(moot)).implement(ID, silent)

    @property
    def _worked(self) -> set[str]:
        return set((self.root / "app.py").read_text(encoding="utf-8").splitlines())

    def check_killed(self) -> None:
        boxes = tasks.tasks(self.folder.tasks() or "")
        assert {task.text for task in boxes if task.done} <= self._worked
        self._finished = self.phase == "complete"
        assert self._finished or self.phase in ("challenged", "implementing")
        assert not self._finished or all(task.done for task in boxes)

    def check_end(self, *, went_on: bool) -> None:
        # What was finished already is not begun again.
        assert went_on != self._finished
        assert self.folder.tasks() == TASKS.replace("[ ]", "[x]")
        assert self._worked == {"Store public keys", "Verify a signature"}
        assert self.paid <= 3, "at most the task that was under way is done twice"
        assert self.phase == "complete"


COMMANDS: dict[str, type[Command]] = {
    "challenge": Challenge,
    "proposal": Propose,
    "reproposal": Repropose,
    "archive": Archive,
    "implement": Implement,
}


def killed(command: Command, step: int) -> bool:
    """Whether there was such a step."""
    child = os.fork()
    if child:
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended in (DONE, KILLED), ended
        return ended == KILLED
    ended = WRONG
    try:
        atomic.disk = DyingDisk(step)
        ids.next = 1000
        asyncio.run(command.run())
        ended = DONE
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(ended)


def files(place: Path) -> tuple[tuple[str, bytes], ...]:
    """All that is there, but for who was at work: that is another process each time."""
    found = (path for path in sorted(place.rglob("*")) if path.is_file() and path.name != ".claim.json")
    return tuple((path.relative_to(place).as_posix(), path.read_bytes()) for path in found)


def run_again(command: Command) -> bool:
    """Whether there was anything left to do."""
    ids.next = 2000
    try:
        asyncio.run(command.run())
    except (AlreadyThere, NotFound, IllegalMove):
        return False
    return True


def main(name: str, place: Path) -> int:
    """How many steps the command takes."""
    begin()
    # In this process nobody dies; a step beyond the last is never reached.
    atomic.disk = DyingDisk(0)
    prepared = COMMANDS[name](place / "prepared")
    prepared.prepare()
    # Once to its end: children that have nothing left to import are quick.
    shutil.copytree(prepared.place, place / "warm")
    asyncio.run(COMMANDS[name](place / "warm").run())
    gc.freeze()
    left: set[tuple[tuple[str, bytes], ...]] = set()
    for step in itertools.count(1):
        assert threading.active_count() == 1
        here = place / str(step)
        shutil.copytree(prepared.place, here)
        command = COMMANDS[name](here)
        try:
            if not killed(command, step):
                return step - 1
            # To sync, close or chmod a file leaves what the step before has left.
            found = files(here)
            if found not in left:
                left.add(found)
                command.check_killed()
                command.check_end(went_on=run_again(command))
        except BaseException as error:
            error.add_note(f"killed at step {step} of {name}: {here}")
            raise
        shutil.rmtree(here)
    raise AssertionError("counting ends only by returning")


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1], Path(sys.argv[2]))}\n")
