"""What is known of a change from its files: what was said, decided and reviewed before, and by whose hand.

For whoever works on it next, a model or a person. Everything is typed: nothing here is concluded from prose.
Refuses to know what a request looks like, and what becomes of it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from moot.changes import approval, binding, review_block, tasks, tracing
from moot.changes.folder import DESIGN, PROPOSAL, TASKS, ChangeFolder, Recorded
from moot.changes.points import Point, points
from moot.changes.proposal import Finding
from moot.changes.review_block import Issue, Review
from moot.changes.state_file import PERSON, RecordedReview, Worked
from moot.core import ledger
from moot.core.handover import Origin, with_numbers
from moot.core.ledger import Decided, Kind
from moot.errors import InvalidInput
from moot.llm.messages import Source, Weight

_IS_OF = re.compile(r"\+\+\+ .+\.md \(edited\)")
"""The line of a diff that names the file."""

DESCRIBED, REVISED = "proposal", "reproposal"
"""What the person had done with their words."""


def points_of(folder: ChangeFolder) -> tuple[Point, ...]:
    return points(folder.design() or "")


def origin(folder: ChangeFolder) -> Origin | None:
    return binding.origin_of(folder.design() or "")


def origin_name(folder: ChangeFolder) -> str:
    found = origin(folder)
    return found.name if found else ""


def untraced(folder: ChangeFolder) -> tuple[Finding, ...]:
    """What the plan names that was not decided where it comes from, or does not take up."""
    return tuple(tracing.findings(folder.design() or "", *_plan(folder)))


def taken_up(folder: ChangeFolder) -> dict[str, list[str]]:
    """By the name of each entry that binds it, the requirements and tasks that name it."""
    _, specs, boxes = _plan(folder)
    there = tracing.places(specs, boxes)
    return {
        point.id: [str(place) for place in there if point.id in place.names] for point in points_of(folder)
    }


def marked_points(folder: ChangeFolder) -> tuple[Point, ...]:
    """Each with where the plan itself says that it takes it up."""
    return tracing.mark(folder.design() or "", points_of(folder), *_plan(folder))


def _plan(folder: ChangeFolder) -> tuple[str, dict[str, str], str]:
    return review_block.outside(folder.proposal() or ""), folder.specs(), folder.tasks() or ""


def description(folder: ChangeFolder) -> str:
    """What it was last drafted from. Changes of earlier versions do not say."""
    said = [one.text for one in folder.state().said if one.step == DESCRIBED]
    return said[-1] if said else ""


# -- decided so far ------------------------------------------------------------------------------


def decided(folder: ChangeFolder) -> tuple[Decided, ...]:
    """What binds it first, so that its entries have the numbers that design.md gives them; then what the
    person and the reviewers have decided about it, in the order of time."""
    bound = with_numbers(binding.read(folder.design() or "").decided)
    since = sorted(_since(folder), key=lambda each: each[0])
    first = max((entry.number for entry in bound), default=0) + 1
    later = (replace(entry, number=number) for number, (_, entry) in enumerate(since, start=first))
    return (*bound, *later)


def _since(folder: ChangeFolder) -> Iterator[tuple[str, Decided]]:
    state = folder.state()
    numbers = {approval.name_of(one): at for at, one in enumerate(_by_reviewers(folder), start=1)}
    for one in state.said:
        if one.step == REVISED and one.text:
            key = f"said:{one.at}"
            yield one.at, Decided(key, Kind.SAID, one.text, PERSON, f"the revision in round {one.round}")
    for record in state.reviews or ():
        yield from _about(record, numbers)
    for gone in state.dismissed:
        done = "stands, and its risk is accepted" if gone.accepted else "is dismissed"
        text = f"the issue “{gone.description}” {done}, because: {gone.because}"
        at = f"review {numbers[gone.review]}" if gone.review in numbers else "an earlier review"
        yield gone.at, Decided(f"dismissed:{gone.review}:{gone.issue}", Kind.DECIDED, text, PERSON, at)
    if state.abandoned is not None:
        because = f"the change is given up, because: {state.abandoned.because}"
        yield state.abandoned.at, Decided("abandoned", Kind.DECIDED, because, PERSON, "")


def _about(record: RecordedReview, numbers: Mapping[str, int]) -> Iterator[tuple[str, Decided]]:
    name = approval.name_of(record)
    if record.engine == PERSON:
        text = f"the change is approved by the person, and by no reviewer, because: {record.because}"
        yield record.at, Decided(f"review:{name}", Kind.DECIDED, text, PERSON, "")
    else:
        text = f"the verdict was {record.verdict}, on the text as it was then"
        by = f"the reviewer ({record.model or record.engine})" if record.engine else "the reviewer"
        yield record.at, Decided(f"review:{name}", Kind.DECIDED, text, by, f"review {numbers[name]}")
    if record.withdrawn:
        text = "the change is reopened: what approved it no longer counts"
        yield record.withdrawn, Decided(f"withdrawn:{name}", Kind.DECIDED, text, PERSON, "")


def _by_reviewers(folder: ChangeFolder) -> list[RecordedReview]:
    return [one for one in folder.state().reviews or () if one.engine != PERSON]


# -- for a request -------------------------------------------------------------------------------


def sources(
    folder: ChangeFolder, *, described: bool = True, open_issues: Collection[Issue] = ()
) -> tuple[Source, ...]:
    """For a drafter, the oldest first. Who is asked with the description itself is not `described` it, and
    whoever is given `open_issues` of the last review is not told them twice."""
    return (
        *(_described(folder) if described else ()),
        *_so_far(folder),
        *_reviews(folder, open_issues),
        *edits(folder),
    )


def told(folder: ChangeFolder, failed: str = "") -> tuple[Source, ...]:
    """For whoever has the files of the change: what is not in them. Who is told besides with what a task has
    `failed` last, is not told it here."""
    return (*_described(folder), *_so_far(folder, failed))


def told_reviewer(folder: ChangeFolder) -> tuple[Source, ...]:
    """For whoever reviews a task: as `told`, without what coding agents say of their own work."""
    found = decided(folder)
    return (*_described(folder), *ledger.source(found, _verdicts(found)))


def told_to_reviewers(folder: ChangeFolder) -> tuple[Source, ...]:
    """Without what they read in design.md: a review is taken of nobody who has not."""
    design = folder.design() or ""
    found = decided(folder)
    known = [one for one in found if one.key in {each.key for each in binding.read(design).decided}]
    known += _verdicts(found)
    return (*_described(folder, beside=design), *_built(folder), *ledger.source(found, known))


def _so_far(folder: ChangeFolder, failed: str = "") -> tuple[Source, ...]:
    found = decided(folder)
    return (*_built(folder, failed), *ledger.source(found, _verdicts(found)))


def _verdicts(found: Iterable[Decided]) -> list[Decided]:
    """They stand with their reviews, and settle nothing for whoever reviews another text."""
    return [one for one in found if one.key.startswith("review:") and one.by != PERSON]


def _described(folder: ChangeFolder, beside: str = "") -> tuple[Source, ...]:
    said = _without(description(folder), beside)
    if not said:
        return ()
    text = f"<asked-for>\nWhat the person asked for, in their own words.\n{said}\n</asked-for>"
    return (Source("what the change was drafted from", text, Weight.DEPENDED_ON),)


def _without(said: str, beside: str) -> str:
    """The paragraphs that say anything else than what is told `beside` it, line by line."""
    there = {" ".join(line.split()) for line in beside.splitlines()} - {""}
    kept = []
    for paragraph in said.split("\n\n"):
        lines = paragraph.splitlines()
        left = [line for line in lines if " ".join(line.split()) not in there]
        # What only introduced the lines that are gone goes with them.
        if left == lines or any(not line.rstrip().endswith(":") for line in left):
            kept.append("\n".join(left))
    return "\n\n".join(kept).strip()


def _built(folder: ChangeFolder, failed: str = "") -> tuple[Source, ...]:
    work = folder.state().work
    last = next((one for one in reversed(work) if one.task == failed and one.problem), None)
    lines = []
    for one in work:
        lines.append(f"- {one.task}: {'failed' if one.problem else 'done'}")
        lines += [f"  The coding agent said: {_indented(one.said)}"] * bool(one.said)
        lines += [f"  What went wrong: {_indented(one.problem)}"] * bool(one.problem and one is not last)
    text = "<built>\nWhat came of building it so far, the oldest first.\n" + "\n".join(lines) + "\n</built>"
    return (Source("what came of building it so far", text, Weight.DEPENDED_ON),) if lines else ()


def _indented(text: str) -> str:
    return text.strip().replace("\n", "\n    ")


def failure_of(folder: ChangeFolder, task: str) -> str:
    """What the last attempt at a task came to, if it failed."""
    tried = [one.problem for one in folder.state().work if one.task == task]
    return tried[-1] if tried else ""


def before_first(folder: ChangeFolder, task: str) -> tuple[str, str]:
    """What git called the workspace before the first attempt at a task of which none has succeeded yet, and
    when the last of them was over."""
    tried = _in_vain(folder, task)
    return (tried[-1].before, tried[-1].left) if tried else ("", "")


def failed_ends(folder: ChangeFolder, task: str) -> tuple[str, ...]:
    """The same when the agent had ended, in each of these attempts."""
    return tuple(one.after for one in _in_vain(folder, task) if one.after)


def _in_vain(folder: ChangeFolder, task: str) -> list[Worked]:
    found: list[Worked] = []
    for one in folder.state().work:
        if one.task == task:
            found = [*found, one] if one.problem else []
    return found


def _reviews(folder: ChangeFolder, told: Collection[Issue]) -> Iterator[Source]:
    """Those that moot recorded and whose block is as it was; what a later one depends on is the last. Of its
    issues, those that are `told` elsewhere are only named."""
    made = [one for one in folder.reviews() if one.record.engine != PERSON]
    for number, one in enumerate(made, start=1):
        review = _read(one)
        if review is None:
            continue
        gone = approval.dismissals(folder, one.record)
        words = [f"Verdict: {review.verdict}. {review.summary}"]
        for at, issue in enumerate(review.issues, start=1):
            name = f" ({issue.id})" if issue.id else ""
            if one is made[-1] and issue in told:
                words.append(f"{at}{name}. {issue.severity}: it is among the open issues below.")
                continue
            words.append(f"{at}{name}. {issue.severity}: {issue.description}")
            words += [f"   Where: {issue.location}"] * bool(issue.location)
            words += [f"   Suggested: {issue.recommendation}"] * bool(issue.recommendation)
            if at in gone:
                words.append(f"   Dismissed by the person, because: {gone[at].because}")
            elif one is made[-1] and told:
                words.append(
                    "   Not for this revision: it keeps coming back, and the person has to decide it."
                )
        words += (f"{said.id} is {said.state}: {said.evidence}" for said in one.record.dispositions)
        text = f'<review number="{number}">\n' + "\n".join(words) + "\n</review>"
        weight = Weight.DEPENDED_ON if one is made[-1] else Weight.HELPFUL
        yield Source(f"review {number}", text, weight)


def _read(made: Recorded) -> Review | None:
    try:
        return review_block.read(made.block) if made.block is not None else None
    except InvalidInput:
        return None


# -- the person's own hand -----------------------------------------------------------------------


def edits(folder: ChangeFolder) -> tuple[Source, ...]:
    """What the person has changed in the files themselves, after each draft; the last are those that the next
    draft must not undo."""
    found = [
        Source(f"the person's edits of draft {number}", _edits(number, text), Weight.DEPENDED_ON)
        for number, text in folder.earlier_edits()
    ]
    if now := edits_since(folder):
        found.append(Source("the person's edits since the last draft", _edits(0, now), Weight.NEEDED))
    return tuple(found)


def _edits(number: int, diff: str) -> str:
    when = f'draft="{number}"' if number else 'draft="the last"'
    return (
        f"<edited-by-the-person {when}>\nThe person has changed this in the files by their own hand. It "
        f"holds: do not undo it.\n{diff}\n</edited-by-the-person>"
    )


def edits_since(folder: ChangeFolder) -> str:
    """As a diff. Nothing where earlier versions have drafted, which kept no copy."""
    before = folder.drafted()
    return _diff(before, plain(folder), "drafted", "edited") if before else ""


def left_out(folder: ChangeFolder) -> tuple[str, ...]:
    """The lines of the person's own that were there until the last revision, and that it has left out."""
    before, now = (_all_lines(texts) for texts in (_plain(folder.before_last_draft()), plain(folder)))
    theirs = (line for _, diff in folder.earlier_edits() for line in _added(diff))
    return tuple(dict.fromkeys(line for line in theirs if line in before and line not in now))


def _added(diff: str) -> Iterator[str]:
    for line in diff.splitlines():
        if line.startswith("+") and not _IS_OF.fullmatch(line) and (added := line[1:].strip()):
            yield added


def _all_lines(texts: Mapping[str, str]) -> set[str]:
    return {line.strip() for text in texts.values() for line in _lines(text)}


def revised(folder: ChangeFolder) -> tuple[Source, ...]:
    """For a reviewer: what the last revision has made of the text that was reviewed before."""
    before = before_revision(folder)
    diff = _diff(before, plain(folder), "before", "now") if before else ""
    if not diff:
        return ()
    text = f"<revised>\nWhat was changed since the text before the last revision.\n{diff}\n</revised>"
    return (Source("what the last revision changed", text),)


def before_revision(folder: ChangeFolder) -> dict[str, str]:
    """The text before the last revision; nothing where none was reviewed before."""
    return _plain(folder.before_last_draft()) if _by_reviewers(folder) else {}


def _diff(before: Mapping[str, str], now: Mapping[str, str], was: str, is_: str) -> str:
    pieces: list[str] = []
    for name in sorted(before.keys() | now.keys()):
        old, new = (_lines(texts.get(name, "")) for texts in (before, now))
        pieces += difflib.unified_diff(old, new, f"{name} ({was})", f"{name} ({is_})", lineterm="", n=2)
    return "\n".join(pieces)


def plain(folder: ChangeFolder) -> dict[str, str]:
    """What the person may edit, without what moot writes into it afterwards: reviews and ticks."""
    return _plain(folder.reviewable())


def _plain(found: Mapping[str, str]) -> dict[str, str]:
    texts = {name: text for name, text in found.items() if name != DESIGN}
    if PROPOSAL in texts:
        # Reviews stand at the end: no screenful of empty lines is kept of them.
        texts[PROPOSAL] = f"{review_block.outside(texts[PROPOSAL]).rstrip()}\n"
    if TASKS in texts:
        texts[TASKS] = tasks.untick_all(texts[TASKS])
    return texts


def _lines(text: str) -> list[str]:
    return text.rstrip().splitlines()
