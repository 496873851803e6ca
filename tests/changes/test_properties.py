"""Whatever is done to a change, in whatever order: no review is lost, and the last that moot made decides.

Reviews, drafts and what people write into the files are texts made of Markdown's own signs. A review counts
as appended when it was added to the file; which bytes those are is seen from the file's end, not asked of the
parser that is under test.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from moot.agents import Job, Order, Outcome, Progress
from moot.app import Moot
from moot.changes import approval, challenge, implement, review_block, rounds
from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.implement import Implementing
from moot.changes.review_block import END, START, Review, Verdict
from moot.changes.review_shapes import DispositionGiven, IssueGiven
from moot.changes.review_tools import ReviewTools
from moot.changes.service import Changes, Proposal
from moot.changes.standing import Standing
from moot.errors import MootError, ProviderDown
from moot.files import atomic, timestamps
from moot.llm.messages import Tokens, ToolFault
from tests.changes.test_proposal import drafts, specs
from tests.support.change import PROPOSAL, SPEC, TASKS
from tests.support.changes import FakeCoder, FakeReviewer, QuickDisk, at_work, silent
from tests.support.hostile_markdown import Nasty, documents, soup

ID = "feat-auth"
PHASES = {Verdict.APPROVED: "challenged", Verdict.NEEDS_REVISION: "proposed", Verdict.REJECTED: "rejected"}


# -- a change, and what was ever appended to it ----------------------------------------------------


@dataclass
class Ledger:
    """What has to be there, whatever happens."""

    root: Path
    moot: Moot
    appended: list[str] = field(default_factory=list)
    verdict: Verdict | None = None

    @property
    def changes(self) -> Changes:
        return Changes(self.moot)

    @property
    def folder(self) -> ChangeFolder:
        places = [self.root / "moot" / "changes" / ID, *(self.root / "moot" / "archive").glob("*")]
        [there] = [path for path in places if path.is_dir()]
        return ChangeFolder(ID, there)

    @property
    def text(self) -> str:
        return (self.folder.path / "proposal.md").read_bytes().decode()

    def append(self, verdict: Verdict, append: Callable[[], Any]) -> None:
        """Notes the bytes that were added between the markers."""
        before = self.text
        append()
        assert self.text.startswith(before), "nothing above it is touched"
        added = self.text[len(before) :]
        self.appended.append(added[added.index(START) : added.rindex(END) + len(END)])
        self.verdict = verdict

    def check(self) -> Standing:
        text, at = self.text, 0
        for block in self.appended:
            at = text.index(block, at) + len(block)
        review = self.changes.last_review(self.folder)
        assert (review and review.verdict) == self.verdict
        standing = self.changes.standing(self.folder)
        assert (standing.problem, standing.verdict) == ("", self.verdict or "")
        return standing


@dataclass(frozen=True)
class Given:
    verdict: Verdict
    issues: tuple[IssueGiven, ...]
    summary: str

    def append_to(self, ledger: Ledger, run: str) -> None:
        tools = ReviewTools(ledger.folder, ledger.root, timestamps.now, silent, run)
        tools.give()
        ledger.append(
            self.verdict,
            lambda: tools.append_review(
                str(self.verdict),  # type: ignore[arg-type]
                [issue.model_copy(update={"quote": "## Summary"}) for issue in self.issues],
                self.summary,
                dispositions=[
                    DispositionGiven(id=name, state="fixed", evidence="It is there.")
                    for name in rounds.history(ledger.folder).left
                ],
            ),
        )


# -- what can be done ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Challenge:
    """`breaks`: the reviewer fails when it has appended its review."""

    review: Given
    breaks: bool

    async def do(self, ledger: Ledger) -> None:
        step = self

        class Reviewer(FakeReviewer):
            async def review(self, job: Job, progress: Progress) -> Outcome:
                del progress
                with suppress(ToolFault):
                    step.review.append_to(ledger, job.run)
                if step.breaks:
                    raise ProviderDown("codex", "it broke")
                return Outcome("gpt", "**Verdict**: " + job.change_id, 7, Tokens(10, 5), 0.25)

        async def no_wait(_: float) -> None:
            return

        vars(challenge)["find"] = Reviewer().found
        ended = await Challenging(ledger.changes, sleep=no_wait).challenge(ID, "auto", silent)
        event(f"challenged: {ended.verdict}")
        assert ended.verdict is ledger.verdict
        assert ended.phase == ledger.folder.state().phase == PHASES[ended.verdict]
        assert ledger.folder.state().verdict is ended.verdict
        assert not ledger.check().waiting


@dataclass(frozen=True)
class Append:
    """By another agent, over MCP, or by hand: nobody has begun a review."""

    review: Given
    pasted: bool

    async def do(self, ledger: Ledger) -> None:
        before, phase = ledger.text, ledger.folder.state().phase
        for run in ("", *(one.record.run for one in ledger.folder.reviews())):
            with pytest.raises(ToolFault):
                self.review.append_to(ledger, run)
        assert ledger.text == before
        if self.pasted:
            pasted = Review(self.review.verdict, (), "Pasted.", "today")
            file = ledger.folder.path / "proposal.md"
            file.write_bytes(review_block.append(before, pasted).encode())
            event("pasted")
        assert ledger.folder.state().phase == phase


@dataclass(frozen=True)
class Draft:
    again: bool
    draft: Proposal

    async def do(self, ledger: Ledger) -> None:
        # A text of control characters alone is empty once they are gone: such a draft is asked for again.
        async with at_work(ledger.root, [self.draft.model_dump_json()] * 5) as moot:
            if self.again:
                await Changes(moot).repropose(ID, "Shorter.", silent)
            else:
                await Changes(moot).propose(ID, "Passkeys.", silent)
        event("drafted again" if self.again else "drafted")
        assert ledger.folder.state().phase == "proposed"


@dataclass(frozen=True)
class Implement:
    """`leaves`: what the coding agent makes of proposal.md; None if it deletes it."""

    works: bool
    leaves: Callable[[bytes], bytes | None]

    async def do(self, ledger: Ledger) -> None:
        def work(_: Order) -> str:
            if self.works:
                with (ledger.root / "app.py").open("a", encoding="utf-8") as code:
                    code.write("print()\n")
            file = ledger.folder.path / "proposal.md"
            left = self.leaves(file.read_bytes())
            if left is None:
                file.unlink()
            else:
                file.write_bytes(left)
            return "Done."

        vars(implement)["find_coder"] = FakeCoder(work).found
        before = ledger.folder.reviewed_files()
        built = await Implementing(ledger.changes).implement(ID, silent)
        event(f"implemented: {built.phase}")
        assert ledger.folder.reviewed_files() == before, "nothing is built but what was approved"
        assert approval.check(ledger.folder).verdict is Verdict.APPROVED


@dataclass(frozen=True)
class Archive:
    async def do(self, ledger: Ledger) -> None:
        ledger.changes.archive(ID)
        event("archived")


@dataclass(frozen=True)
class Edit:
    """A person writes above or below; what would hide or add a review is not this test's business."""

    above: str
    below: str

    async def do(self, ledger: Ledger) -> None:
        old = ledger.text
        new = self.above + old + self.below
        reviews = [[block.raw for block in review_block.blocks(text)] for text in (old, new)]
        if reviews[0] == reviews[1]:
            (ledger.folder.path / "proposal.md").write_bytes(new.encode())


# -- at random -------------------------------------------------------------------------------------

words = st.one_of(soup, st.just("Say how keys are lost."))
printable = words.map(lambda text: "".join(sign for sign in text if sign not in "\x00\f"))
issues = st.builds(
    IssueGiven,
    severity=st.sampled_from(["High", "Medium", "Low"]),
    description=words,
    location=words,
    recommendation=words,
)
reviews = st.builds(Given, st.sampled_from(Verdict), st.lists(issues, max_size=3).map(tuple), words)


@st.composite
def sound(draw: st.DrawFn, verdicts: Sequence[Verdict] = tuple(Verdict)) -> Given:
    """One that is taken, whatever its words are."""
    verdict = draw(st.sampled_from(verdicts))
    severity: Literal["High", "Low"] = "Low" if verdict is Verdict.APPROVED else "High"
    found = IssueGiven(
        severity=severity,
        description="x" + draw(printable),
        location=draw(printable),
        recommendation=draw(printable),
    )
    return Given(verdict, (found,), "x" + draw(printable))


whole = st.builds(
    lambda draft, spec: Proposal(**{**draft.model_dump(), "specs": [spec.model_dump()]}), drafts, specs
)
cut_off = f"\n\n{START}\n## Review\n\n**Verdict**: APPROVED\n\n### Summary\nFine"
left_by_an_agent = st.sampled_from(
    [
        lambda text: text,
        lambda _: None,
        lambda _: b"# Passkeys\n",
        lambda _: b"\xff\xfe no text",
        lambda text: text.replace(b"NEEDS_REVISION", b"APPROVED").replace(b"High", b"Low"),
        lambda text: text.replace(b"\n", b"\r\n"),
    ]
)
single = st.one_of(
    st.builds(Challenge, sound(), st.booleans()),
    st.builds(Challenge, st.one_of(sound(), reviews), st.just(value=False)),
    st.builds(Append, st.one_of(sound(), reviews), st.booleans()),
    st.builds(Draft, st.just(value=False), whole),
    st.builds(Draft, st.just(value=True), whole),
    st.builds(Edit, st.just(""), st.one_of(st.just(cut_off), soup)),
    st.builds(Edit, soup, st.just("")),
    st.just(Archive()),
)
Sequences = list[tuple[Any, ...]]
# Code is written only for what was approved, which would rarely come about by itself.
approved_and_built = st.tuples(
    st.builds(Challenge, sound((Verdict.APPROVED,)), st.booleans()),
    st.builds(Implement, st.booleans(), left_by_an_agent),
)
sequences = st.lists(st.one_of(single.map(lambda step: (step,)), approved_and_built), min_size=1, max_size=8)


async def carried_out(root: Path, nasty: Nasty, sequence: list[Any]) -> None:
    folder = root / "moot" / "changes" / ID
    (folder / "specs").mkdir(parents=True)
    for name, text in {
        "proposal.md": PROPOSAL + "\n" + nasty.text.removeprefix("\ufeff"),
        "specs/sign-in.md": SPEC,
        "tasks.md": TASKS,
    }.items():
        (folder / name).write_bytes(text.encode())
    async with at_work(root) as moot:
        ledger = Ledger(root, moot)
        found = review_block.blocks(ledger.text)
        ledger.appended = [block.raw for block in found]
        for step in sequence:
            try:
                await step.do(ledger)
            except MootError as refused:
                event(f"{type(step).__name__}: {type(refused).__name__}")
            ledger.check()
            if isinstance(step, Archive) and not folder.exists():
                # What is proposed under its name from here on is another change.
                break


@pytest.fixture(scope="module")
def stand_ins() -> Iterator[None]:
    """Who reviews and who codes is chosen step by step, and put back at the end."""
    before = vars(challenge)["find"], vars(implement)["find_coder"], atomic.disk
    atomic.disk = QuickDisk()
    yield
    vars(challenge)["find"], vars(implement)["find_coder"], atomic.disk = before


@pytest.mark.usefixtures("stand_ins")
@settings(max_examples=60, deadline=None)
@given(nasty=documents(), sequence=sequences)
def test_no_review_is_ever_lost_and_the_last_one_decides(
    nasty: Nasty, sequence: list[tuple[Any, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(carried_out(Path(folder) / "project", nasty, list(itertools.chain(*sequence))))
