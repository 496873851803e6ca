"""What the files of a change say of its rounds, and that a loop of them ends, whoever reviews."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.agents import Job, Outcome, Progress
from moot.changes import challenge, governor, history, prompts, review_block, rounds, state_file
from moot.changes.challenge import ChallengeResult, Challenging
from moot.changes.dispositions import Fate
from moot.changes.folder import ChangeFolder
from moot.changes.governor import Counts
from moot.changes.prompts import ChangeTexts
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.changes.review_shapes import DispositionGiven, IssueGiven
from moot.changes.review_tools import ReviewTools
from moot.changes.service import Changes
from moot.changes.state_file import Call, Dismissal
from moot.errors import MootError
from moot.files import atomic
from moot.llm.messages import Tokens, ToolFault, UserSaid
from tests.support.change import PROPOSAL, write_change
from tests.support.changes import STAMP, FakeReviewer, QuickDisk, at_work, drafted, reviewed, silent

OLD = Review(
    Verdict.NEEDS_REVISION,
    (Issue(Severity.HIGH, "No rate limit.", "Why"), Issue(Severity.LOW, "A typo.")),
    "No.",
    STAMP,
)


def a_folder(root: Path) -> ChangeFolder:
    folder = ChangeFolder("feat-auth", root / "project" / "moot" / "changes" / "feat-auth")
    write_change(folder.path, "proposed")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> ChangeFolder:
    return a_folder(tmp_path)


def high(
    description: str = "No rate limit.", quote: str = "Passwords get phished.", name: str = ""
) -> IssueGiven:
    return IssueGiven(
        severity="High", description=description, location="Why", recommendation="", quote=quote, id=name
    )


def said(name: str, state: Any = "fixed") -> DispositionGiven:
    return DispositionGiven(id=name, state=state, evidence="“Passwords get phished.”")


def at_review(folder: ChangeFolder) -> ReviewTools:
    tools = ReviewTools(
        folder, folder.path.parents[2], lambda: STAMP, silent, folder.begin_run("codex", "gpt")
    )
    tools.give()
    return tools


# -- issues with ids and quotes --------------------------------------------------------------------


def test_an_issue_has_an_id_and_a_quote_in_the_block_and_a_place_in_the_record(folder: ChangeFolder) -> None:
    at_review(folder).append_review("NEEDS_REVISION", [high(quote="“Passwords  get phished.”")], "No.")
    [made] = folder.reviews()
    assert made.block is not None
    [issue] = review_block.read(made.block).issues
    assert (issue.id, issue.quote, issue.grounded) == ("I1", "“Passwords  get phished.”", True)
    [place] = made.record.placed
    assert (place.id, place.section, place.introduced) == ("I1", "proposal.md / Why", False)


def test_a_quote_is_kept_without_the_numbers_of_its_lines(folder: ChangeFolder) -> None:
    numbered = high(quote=" 6| ## Why\n 7| Passwords get phished.")
    at_review(folder).append_review("NEEDS_REVISION", [numbered], "No.")
    [issue] = rounds.history(folder).left.values()
    assert (issue.quote, issue.grounded) == ("## Why\nPasswords get phished.", True)


def test_what_the_person_said_can_be_quoted(folder: ChangeFolder) -> None:
    words = state_file.Said("proposal", "Keys must never leave the device.")
    folder.update_state(lambda data: state_file.note_said(data, words))
    issue = high("That is not in it.", "Keys must never leave the device.")
    at_review(folder).append_review("NEEDS_REVISION", [issue], "No.")
    [made] = rounds.history(folder).made
    assert made.review.issues[0].grounded
    assert made.record.placed[0].section == "what the person said (1)"


@pytest.mark.parametrize("quote", ["Nobody wrote this.", ""])
def test_a_quote_that_is_nowhere_is_returned_once_and_blocks_nothing(
    folder: ChangeFolder, quote: str
) -> None:
    tools = at_review(folder)
    issues = [high(), high("Something is off.", quote)]
    with pytest.raises(ToolFault, match="the quote of issue 2 is in none of the files"):
        tools.append_review("NEEDS_REVISION", issues, "No.")
    with pytest.raises(ToolFault, match="at least two Medium issues whose quotes are in the texts"):
        tools.append_review("NEEDS_REVISION", issues[1:], "No.")
    tools.append_review("NEEDS_REVISION", issues, "No.")
    [made] = rounds.history(folder).made
    assert [issue.grounded for issue in made.review.issues] == [True, False]
    assert review_block.blocking(made.review.issues) == made.review.issues[:1]
    assert governor.blocking(rounds.rounds(folder)[0].found) == rounds.rounds(folder)[0].found[:1]


def test_a_review_cannot_quote_a_review(folder: ChangeFolder) -> None:
    at_review(folder).append_review("NEEDS_REVISION", [high("A unique phrase of mine.")], "No.")
    tools = at_review(folder)
    again = [high("New.", "A unique phrase of mine.")]
    with pytest.raises(ToolFault, match="the quote of issue 1 is in none of the files"):
        tools.append_review("NEEDS_REVISION", again, "No.", dispositions=[said("I1")])


# -- from the second round on ----------------------------------------------------------------------


def test_each_open_issue_is_raised_again_or_spoken_of(folder: ChangeFolder) -> None:
    at_review(folder).append_review("NEEDS_REVISION", [high(), high("No log.")], "No.")
    tools = at_review(folder)
    with pytest.raises(ToolFault, match=r"fixed or withdrawn: I2 \(High: No log\.\)"):
        tools.append_review("NEEDS_REVISION", [high("It is still without a limit.", name="I1")], "No.")
    tools.append_review("NEEDS_REVISION", [high("It is still without a limit.", name="I1")], "No.")
    assert list(rounds.history(folder).left) == ["I1"]


def test_nothing_is_approved_while_a_high_issue_is_not_spoken_of(folder: ChangeFolder) -> None:
    at_review(folder).append_review("NEEDS_REVISION", [high()], "No.")
    tools = at_review(folder)
    for _ in range(3):
        with pytest.raises(ToolFault, match=r"raise these issues .*: I1 \(High: No rate limit\.\)"):
            tools.append_review("APPROVED", [], "Fine.")
    tools.append_review("APPROVED", [], "Fine.", dispositions=[said("I1", " *Fixed* ")])
    made = rounds.history(folder).made[-1]
    [disposition] = made.record.dispositions
    assert (disposition.id, disposition.state) == ("I1", Fate.FIXED)
    assert rounds.history(folder).left == {}


def test_what_is_fixed_and_raised_in_the_same_words_is_another_issue(folder: ChangeFolder) -> None:
    at_review(folder).append_review("NEEDS_REVISION", [high()], "No.")
    at_review(folder).append_review("NEEDS_REVISION", [high()], "No.", dispositions=[said("I1")])
    assert list(rounds.history(folder).known) == ["I1", "I2"]


def test_an_id_that_nobody_gave_is_refused(folder: ChangeFolder) -> None:
    with pytest.raises(ToolFault, match="no review has raised I1"):
        at_review(folder).append_review("NEEDS_REVISION", [high(name="I1")], "No.")


def test_reviews_of_earlier_versions_have_ids_too(folder: ChangeFolder) -> None:
    """By their place, and by their words where they were raised again."""
    reviewed(folder, OLD)
    newer = replace(
        OLD, issues=(Issue(Severity.HIGH, "Nobody logs."), Issue(Severity.HIGH, "No rate limit!"))
    )
    reviewed(folder, newer)
    made = rounds.history(folder).made
    assert [[issue.id for issue in one.review.issues] for one in made] == [["I1", "I2"], ["I3", "I1"]]
    assert all(found.grounded for one in rounds.rounds(folder) for found in one.found)
    at_review(folder).append_review(
        "NEEDS_REVISION", [high("No rate limit."), high("New.")], "No.", dispositions=[said("I3")]
    )
    assert [issue.id for issue in rounds.history(folder).made[-1].review.issues] == ["I1", "I4"]


# -- what was introduced, what it took -------------------------------------------------------------


def test_what_the_last_revision_wrote_is_introduced_and_the_rest_was_missed(folder: ChangeFolder) -> None:
    at_review(folder).append_review("NEEDS_REVISION", [high()], "No.")
    folder.keep_earlier(("proposal.md", "specs/sign-in.md", "tasks.md"))
    folder.update_proposal(lambda old: (old or "").replace("Nobody has to", "Everybody has to"))
    new = [
        high("Not everybody.", "Everybody has to change anything."),
        high("How?", "How a person signs in."),
    ]
    at_review(folder).append_review("NEEDS_REVISION", new, "No.", dispositions=[said("I1")])
    log = rounds.rounds(folder)
    assert [issue.introduced for issue in log[1].found] == [True, False]
    assert governor.counts(log) == (Counts(introduced=1), Counts(introduced=1, missed=1, fixed=1))
    assert [one.changed for one in log] == [True, True]
    at_review(folder).append_review(
        "NEEDS_REVISION", [high("Not everybody.", name="I2"), high("How?", name="I3")], "No."
    )
    assert [one.changed for one in rounds.rounds(folder)] == [True, True, False]


def call(step: str, usd: float | None, outcome: str = "ok") -> Call:
    return Call(step, "gpt", cost_usd=usd, duration_ms=60_000, outcome=outcome)


@pytest.mark.parametrize(
    ("calls", "usd"),
    [
        ([], [0.0, 0.0]),
        (
            [call("proposal", 1), call("challenge", 2), call("reproposal", 4), call("challenge", 8)],
            [3.0, 12.0],
        ),
        ([call("challenge", 2), call("challenge", 4, "failed"), call("challenge", 8)], [2.0, 12.0]),
        ([call("challenge", 2), call("task", 4), call("challenge", None)], [2.0, 0.0]),
        # The first review was of a run that was killed.
        ([call("reproposal", 4), call("challenge", 8)], [0.0, 12.0]),
        # A review that could not be used.
        ([call("challenge", 1), call("challenge", 2), call("challenge", 4)], [3.0, 4.0]),
        ([call("challenge", 1), call("challenge", 2), call("challenge", 4, "failed")], [1.0, 6.0]),
        ([call("challenge", 4, "failed")], [0.0, 4.0]),
    ],
)
def test_a_round_is_a_draft_and_its_review_with_all_attempts(
    folder: ChangeFolder, calls: list[Call], usd: list[float]
) -> None:
    for _ in range(2):
        reviewed(folder, OLD)
    for each in calls:
        folder.record_call(each)
    log = rounds.rounds(folder)
    assert [one.usd for one in log] == usd
    assert sum(one.minutes for one in log) == sum(each.step != "task" for each in calls)


# -- what is the person's --------------------------------------------------------------------------


def in_dispute(folder: ChangeFolder) -> None:
    """Its severity changes twice."""
    for severity in ("High", "Medium", "High"):
        issue = high("No rate limit.").model_copy(update={"severity": severity})
        other = [] if severity == "High" else [high("Nobody knows who signs in.")]
        known = rounds.history(folder).left
        gone = [said(name) for name, one in known.items() if one.description != issue.description]
        at_review(folder).append_review("NEEDS_REVISION", [issue, *other], "No.", dispositions=gone)


def test_what_changes_its_severity_twice_is_disputed_until_the_person_decides(folder: ChangeFolder) -> None:
    in_dispute(folder)
    assert rounds.disputed(folder) == {1: "I1"}
    assert [issue.id for issue in rounds.to_revise(folder, "")] == ["I1"], "nothing else is left"
    last = rounds.history(folder).made[-1].record
    decided = Dismissal(last.id, 1, "No rate limit.", "Rare.", id="I1", accepted=True)
    folder.update_state(lambda data: state_file.note_dismissal(data, decided))
    assert rounds.disputed(folder) == {}
    assert rounds.history(folder).dismissed == {"I1"}
    at_review(folder).append_review("NEEDS_REVISION", [high(name="I1")], "No.")
    stop = governor.stop(rounds.rounds(folder), governor.Limits(9), rounds.history(folder).dismissed, 3)
    assert stop is not None
    assert stop.rule is governor.Rule.CLEAN


def test_what_is_disputed_is_left_out_of_a_revision_unless_the_person_says_otherwise(
    folder: ChangeFolder,
) -> None:
    in_dispute(folder)
    medium = high("No rate limit.").model_copy(update={"severity": "Medium"})
    at_review(folder).append_review("NEEDS_REVISION", [medium, high("Nobody logs.")], "No.")
    assert rounds.disputed(folder) == {1: "I1"}
    assert [issue.id for issue in rounds.to_revise(folder, "")] == ["I3"]
    assert [issue.id for issue in rounds.to_revise(folder, "I1: ten tries an hour.")] == ["I1", "I3"]
    stop = governor.stop(rounds.rounds(folder), governor.Limits(9), frozenset(), 3)
    assert stop is None, "there is something to do"


def test_a_reviser_is_told_each_issue_once_and_which_are_not_for_it(folder: ChangeFolder) -> None:
    in_dispute(folder)
    medium = high("No rate limit.").model_copy(update={"severity": "Medium"})
    at_review(folder).append_review("NEEDS_REVISION", [medium, high("Nobody logs.")], "No.")
    issues = rounds.to_revise(folder, "")
    asked = prompts.redraft(
        ChangeTexts("feat-auth", "P", {}, "T"),
        issues,
        "",
        sources=history.sources(folder, open_issues=issues),
    )
    [message] = asked.messages
    assert isinstance(message, UserSaid)
    told = [*(source.text for source in message.sources), message.text]
    last = next(text for text in told if text.startswith('<review number="4">'))
    assert "Nobody logs." not in last
    assert "2 (I3). High: it is among the open issues below." in last.splitlines()
    assert "1 (I1). Medium: No rate limit." in last.splitlines()
    assert "Not for this revision: it keeps coming back" in last
    assert "Nobody logs." in message.text
    before = next(text for text in told if text.startswith('<review number="3">'))
    assert "I2 is fixed: “Passwords get phished.”" in before, "what became of earlier issues"
    every = next(source.text for source in history.sources(folder) if "Nobody logs." in source.text)
    assert "Not for this revision" not in every, "with nothing told elsewhere, all of it is said here"


def test_without_a_review_nothing_is_disputed(folder: ChangeFolder) -> None:
    assert (rounds.disputed(folder), rounds.rounds(folder)) == ({}, ())


# -- the loop ends -------------------------------------------------------------------------------

some_issues = st.lists(
    st.builds(
        IssueGiven,
        severity=st.sampled_from(["High", "Medium", "Low"]),
        description=st.sampled_from(["No rate limit.", "Nobody logs.", "Keys are kept nowhere.", "x"]),
        location=st.just(""),
        recommendation=st.just(""),
        quote=st.sampled_from(["## Summary", "Passwords get phished.", "Nowhere at all.", ""]),
        id=st.sampled_from(["", "I1", "I2", "I3", "I9"]),
    ),
    max_size=4,
)
tries = st.tuples(
    st.sampled_from(list(Verdict)), some_issues, st.sampled_from(["all", "none", "first"]), st.integers(0, 3)
)


@dataclass
class Whoever(FakeReviewer):
    """Tries what hypothesis has thought of, then something that is taken."""

    draw: Callable[[], tuple[Verdict, list[IssueGiven], str, int]] = lambda: (Verdict.REJECTED, [], "", 0)

    async def review(self, job: Job, progress: Progress) -> Outcome:
        del progress
        folder = ChangeFolder(job.change_id, job.root / "moot" / "changes" / job.change_id)
        tools = ReviewTools(folder, job.root, lambda: STAMP, silent, job.run)
        tools.give()
        verdict, issues, which, times = self.draw()
        left = list(rounds.history(folder).left)
        spoken = {"all": left, "none": [], "first": left[:1]}[which]
        every = [said(name) for name in left]
        with suppress(ToolFault):
            for _ in range(times):
                with suppress(ToolFault):
                    tools.append_review(str(verdict), issues, "So.", [], [said(name) for name in spoken])  # type: ignore[arg-type]
                    break
            else:
                tools.append_review(
                    "NEEDS_REVISION", [high(f"New {len(left)}.", "## Summary")], "So.", [], every
                )
        return Outcome("gpt", "Done.", 6_000, Tokens(10, 5), 0.25)


@pytest.fixture(scope="module")
def stand_ins() -> Iterator[None]:
    before = vars(challenge)["find"], atomic.disk
    atomic.disk = QuickDisk()
    yield
    vars(challenge)["find"], atomic.disk = before


@pytest.mark.usefixtures("stand_ins")
@settings(max_examples=15, deadline=None)
@given(
    data=st.data(),
    most=st.integers(1, 4),
    usd=st.sampled_from([None, 0.25, 0.5, 0.8]),
    minutes=st.sampled_from([None, 0.1, 0.25]),
)
def test_the_loop_ends_whatever_the_reviewer_does(
    data: st.DataObject, most: int, usd: float | None, minutes: float | None
) -> None:
    async def argued(root: Path) -> ChallengeResult | None:
        limits = {"max_rounds": most, "max_usd": usd, "max_minutes": minutes}
        lines = "\n".join(f"{name} = {value}" for name, value in limits.items() if value is not None)
        texts = (drafted(why=f"Reason {at}.") for at in range(20))
        async with at_work(root, texts, f"[workflow]\nscript_retries = 0\n{lines}\n") as moot:
            vars(challenge)["find"] = Whoever(draw=lambda: data.draw(tries)).found
            with suppress(MootError):
                return await Challenging(Changes(moot)).argue("feat-auth", "codex", silent)
        return None

    with tempfile.TemporaryDirectory() as place:
        folder = a_folder(Path(place))
        assert (folder.proposal() or "") == PROPOSAL
        result = asyncio.run(argued(folder.path.parents[2]))
        log = rounds.rounds(folder)
        assert len(log) <= most
        assert sum(one.usd for one in log) <= max(usd or 9, 0.25)
        assert sum(one.minutes for one in log) <= max(minutes or 9, 0.1) + 1e-9
        if result is not None:
            assert len(result.rounds) == len(log)
            assert (result.stopped is None) == (result.last.verdict is not Verdict.NEEDS_REVISION)
