"""A command that is killed at every single step of writing, and run again: `python -m tests.killing NAME DIR`.

A process of its own, because only one without threads can safely fork. What it finds wrong is an
AssertionError, with the step; what it prints at the end is how many steps there were.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import sys
import traceback
from abc import ABC, abstractmethod
from pathlib import Path

from moot import challenging, implementing
from moot.challenging import Challenging
from moot.changes import Changes
from moot.errors import AlreadyThere, IllegalMove, NotFound
from moot.implementing import Implementing
from moot.reviewers.coding import Order
from moot.texts import review_block, tasks
from moot.texts.review_block import Issue, Review, Severity, Verdict
from moot.workspace import writing
from moot.workspace.change_state import note_review
from moot.workspace.changes import ChangeFolder
from tests.changing import STAMP, FakeCoder, FakeReviewer, at_work, drafted, silent
from tests.surfaces.cli.change import PROPOSAL, SPEC, TASKS, write_change

DONE, REFUSED, WRONG, KILLED = 0, 3, 4, 9
ID = "feat-auth"
EARLIER = Review(
    Verdict.NEEDS_REVISION, (Issue(Severity.HIGH, "Nothing says how keys are lost."),), "No.", STAMP
)


class DyingDisk(writing.Disk):
    """Ends the process at the step of that number, in the middle of a write if it is one. Nothing is synced:
    what a killed process has written, the system still has."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os._exit(KILLED)

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

    def close(self, handle: int) -> None:
        self._step()
        super().close(handle)

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        super().rename(source, target)

    def fsync_dir(self, folder: Path) -> None:
        self._step()


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
        block = self.folder.append_review(review)
        self.folder.update_state(lambda data: note_review(data, block, review.verdict, "codex"))
        self.folder.update_state(lambda data: data.update(phase=phase))

    @abstractmethod
    async def run(self) -> None: ...

    @abstractmethod
    def check_killed(self) -> None: ...

    @abstractmethod
    def check_end(self, *, again: int) -> None: ...


class Challenge(Command):
    def prepare(self) -> None:
        super().prepare()
        self.reviewed(EARLIER, "proposed")

    async def run(self) -> None:
        reviewer = FakeReviewer(asked=lambda _: self.noted("review"))
        challenging.find = reviewer.found  # type: ignore[assignment]
        async with at_work(self.root) as moot:
            await Challenging(Changes(moot)).challenge(ID, "auto", silent)

    def check_killed(self) -> None:
        self._found, self._paid_before = self.reviews, self.paid
        self._waiting = self.folder.unrecorded_review() is not None
        assert self._found[0] == review_block.render(EARLIER)
        assert self._waiting or self.phase == ("challenged" if len(self._found) == 2 else "proposed")

    def check_end(self, *, again: int) -> None:
        assert again == DONE
        assert self.reviews[: len(self._found)] == self._found
        assert self.paid == self._paid_before + (not self._waiting), (
            "a review that is there is not paid twice"
        )
        assert (self.phase, self.folder.state().verdict) == ("challenged", Verdict.APPROVED)
        assert self.folder.unrecorded_review() is None


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
        texts = {path.read_text(encoding="utf-8") for path in self.folder.path.rglob("proposal.md")}
        assert self.begun in texts, "what a person wrote is somewhere"

    def check_end(self, *, again: int) -> None:
        self.check_killed()
        # A proposal that was whole already is left alone.
        assert again in (DONE, REFUSED)
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

    def check_end(self, *, again: int) -> None:
        self.check_killed()
        assert again == DONE
        assert "get a link" in (self.folder.proposal() or "")
        assert self.phase == "proposed"
        kept = [path.read_text(encoding="utf-8") for path in (self.folder.path / "earlier").rglob("*.md")]
        assert {SPEC, TASKS} <= set(kept)
        assert any(text.startswith(PROPOSAL) for text in kept)


class Archive(Command):
    def prepare(self) -> None:
        super().prepare()
        self.reviewed(EARLIER, "complete")

    async def run(self) -> None:
        async with at_work(self.root) as moot:
            Changes(moot).archive(ID)

    def _there(self) -> list[ChangeFolder]:
        places = [self.folder.path, *(self.root / "moot" / "archive").glob("*")]
        return [ChangeFolder(ID, path) for path in places if path.is_dir()]

    def check_killed(self) -> None:
        [there] = self._there()
        assert there.state().phase in ("complete", "archived")
        assert there.proposal() == review_block.append(PROPOSAL, EARLIER)

    def check_end(self, *, again: int) -> None:
        self.check_killed()
        # One that is in the archive already is no change any more.
        assert again in (DONE, REFUSED)
        [there] = self._there()
        assert (there.path.parent.name, there.state().phase) == ("archive", "archived")


class Implement(Command):
    def prepare(self) -> None:
        super().prepare()
        self.folder.update_state(lambda data: data.update(phase="challenged"))
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

        implementing.find_coder = FakeCoder(work).found  # type: ignore[assignment]
        async with at_work(self.root) as moot:
            await Implementing(Changes(moot)).implement(ID, silent)

    @property
    def _worked(self) -> set[str]:
        return set((self.root / "app.py").read_text(encoding="utf-8").splitlines())

    def check_killed(self) -> None:
        boxes = tasks.tasks(self.folder.tasks() or "")
        assert {task.text for task in boxes if task.done} <= self._worked
        assert self.phase in ("challenged", "implementing", "complete")
        assert self.phase != "complete" or all(task.done for task in boxes)

    def check_end(self, *, again: int) -> None:
        self.check_killed()
        # What was finished already is not begun again.
        assert again in (DONE, REFUSED)
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


def in_a_child(command: Command, disk: writing.Disk) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = WRONG
    try:
        writing.disk = disk
        asyncio.run(command.run())
        ended = DONE
    except (AlreadyThere, NotFound, IllegalMove):
        ended = REFUSED
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(ended)


def main(name: str, place: Path) -> int:
    """How many steps the command takes."""
    prepared = COMMANDS[name](place / "prepared")
    prepared.prepare()
    for step in itertools.count(1):
        here = place / str(step)
        shutil.copytree(prepared.place, here)
        command = COMMANDS[name](here)
        ended = in_a_child(command, DyingDisk(step))
        assert ended in (DONE, KILLED), f"step {step}: ended with {ended}"
        try:
            command.check_killed()
            again = in_a_child(command, DyingDisk(0)) if ended == KILLED else DONE
            if ended == DONE:
                return step - 1
            command.check_end(again=again)
        except BaseException as error:
            error.add_note(f"killed at step {step} of {name}: {here}")
            raise
        shutil.rmtree(here)
    raise AssertionError("counting ends only by returning")


if __name__ == "__main__":
    print(main(sys.argv[1], Path(sys.argv[2])))
