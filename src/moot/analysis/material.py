"""What everybody in an analysis is given: the item, evidence, what was found in the workspace, every earlier
step, the artifacts as they are on disk now, and what was decided so far. As whole sources.

Knows the state of an analysis and the texts of its files. What does not fit into a model's window,
llm/context.py leaves out, and says so: here nothing is cut. Refuses to know what a step asks of a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from moot.analysis import ledger, references
from moot.analysis.citable import not_there, strays
from moot.analysis.edits import Files, edits
from moot.analysis.events import Edit
from moot.analysis.state import AnalysisState, Elaboration, StepRecord
from moot.core import ledger as common
from moot.evidence import items as evidence
from moot.evidence.items import Evidence
from moot.llm.messages import Source, Weight
from moot.prompts.template import fill
from moot.roundtable.state import THE_PERSON, TURNS, USER, RoundtableState

MOST_EDITED = 40
"""Lines changed by hand: of more, only how many is said, for what stands is in the files."""


def shared(state: AnalysisState, files: Files) -> tuple[tuple[Source, ...], ...]:
    """What every request begins with, what changes least first."""
    return (
        (*_matter(state), *evidence.sources(state.background.evidence)),
        tuple(_workspace(state)),
        tuple(_past(state)),
        tuple(_written(state, files)),
    )


def at_hand(state: AnalysisState, *, with_last: bool = True) -> tuple[Source, ...]:
    """The step that is worked on, and what was decided so far."""
    return (
        Source("the steps of the analysis", _plan(state), Weight.NEEDED),
        *ledger.source_beside_conversation(state),
        *_own(state, with_last=with_last),
        *_not_there(state),
    )


def for_board(state: AnalysisState, files: Files) -> tuple[Evidence, ...]:
    """The same for the Board, which has a session of its own: what the person has given first, so that it has
    the same numbers there."""
    said = [source.text for source in (*_past(state), *_own(state, with_last=True))]
    decided = [source.text for source in common.source(ledger.ledger(state))]
    texts = {
        "the item": f"{state.title}\n\n{state.description}".strip(),
        "what was found in the workspace": "\n\n".join(filter(None, (state.scan, state.impact))),
        **files,
        "what was said in the analysis": "\n\n".join(said),
        "what was decided in the analysis": "\n\n".join(decided),
    }
    own = (
        _as_evidence(name, f"analysis of {state.slug}: {name}", text) for name, text in texts.items() if text
    )
    return *state.background.evidence, *own


def _as_evidence(name: str, origin: str, text: str) -> Evidence:
    kept = text.encode("utf-8", "replace")
    return Evidence(name, origin, hashlib.sha256(kept).hexdigest(), "text/plain", kept.decode())


# -- the item and the workspace ------------------------------------------------------------------


def _matter(state: AnalysisState) -> Iterator[Source]:
    yield Source("the rules of the analysis", fill("analysis/analyst", {}), Weight.NEEDED)
    about = f"\n\n{state.description}" if state.description else ""
    yield Source("the item", f"<item>\n{state.title}{about}\n</item>", Weight.NEEDED)


def _workspace(state: AnalysisState) -> Iterator[Source]:
    if state.scan:
        text = f"<workspace>\n{state.scan}\n</workspace>"
        yield Source("what was found in the workspace", text, Weight.HELPFUL)
    if state.impact:
        text = f"<impact>\n{state.impact}\n</impact>"
        yield Source("what the item touches in the workspace", text, Weight.DEPENDED_ON)
    yield from state.bodies


# -- the steps -----------------------------------------------------------------------------------


def _plan(state: AnalysisState) -> str:
    """So that nobody asks what a later step asks, and everybody can name an earlier one."""
    left_out = {ref.id: why for ref, why in state.left_out}
    at = state.current.ref.id if state.current else ""
    lines = []
    for ref in state.steps:
        if ref.id == at:
            how = "just finished" if ref.id in state.completed else "this is the step at hand"
        elif ref.id in state.completed:
            how = "completed"
        else:
            how = left_out.get(ref.id, "still to come")
        files = f" → {', '.join(ref.outputs)}" if ref.outputs else ""
        lines.append(f"{ref.id} {ref.title}, led by the {state.voice(ref.persona).role}{files}: {how}")
    return "<steps>\n" + "\n".join(lines) + "\n</steps>"


def _past(state: AnalysisState) -> Iterator[Source]:
    """Every earlier step, oldest first, with what was said at its roundtables."""
    at = state.current.ref if state.current else None
    earlier = [record for record in state.done if at is None or record.ref.id != at.id]
    for record in earlier:
        near = at is not None and (record.ref.id in at.depends_on or record is earlier[-1])
        yield from _step(state, record, Weight.DEPENDED_ON if near else Weight.HELPFUL)


def _own(state: AnalysisState, *, with_last: bool) -> Iterator[Source]:
    if state.current is not None:
        yield from _step(state, state.current, Weight.NEEDED, with_last=with_last)


def _not_there(state: AnalysisState) -> Iterator[Source]:
    """What colleagues have cited in the step at hand, and at the table that is held."""
    record = state.current
    if record is None:
        return
    leads = state.voice(record.ref.persona).name
    said = [
        (leads, question) for question in dict.fromkeys((record.opening, *(q for q, _ in record.exchanges)))
    ]
    said += [(leads, one.reply) for one in record.asked_back]
    said += [(leads, reply) for _, reply, _ in record.feedback]
    if state.roundtable is not None and state.roundtable.table is not None:
        spoken = (one for one in state.roundtable.statements if one.by != THE_PERSON)
        said += [(f"{one.by} in turn {one.number}", one.text) for one in spoken]
    looked_up = zip(said, not_there(state, (text for _, text in said)), strict=True)
    # Whoever says that something is not there names it again.
    first: dict[str, str] = {}
    for (by, _), missing in looked_up:
        for one in missing:
            first.setdefault(one, by)
    if first:
        found = "\n".join(f"- {by}: {one}" for one, by in first.items())
        told = fill("cited/not-there", {"citations": found})
        yield Source("what was cited and is not there", told, Weight.DEPENDED_ON)


def _step(
    state: AnalysisState, record: StepRecord, weight: Weight, *, with_last: bool = True
) -> Iterator[Source]:
    """What was said at a step, in its order. Not `with_last`: the person's last words are left out, because
    nobody knows yet what they are."""
    name = f"{record.ref.id} ({record.ref.title})"
    numbers = ledger.numbers(state)
    parts = list(_exchanges(record, numbers, with_last=with_last))
    if record.opening and all(question != record.opening for question, _ in record.exchanges):
        parts.insert(0, f"Asked: {record.opening}")
    if record.summary:
        parts.append(f"What it came to: {record.summary}")
    for place, (words, reply, _) in enumerate(record.feedback, start=1):
        said = numbers.get(ledger.feedback_key(record, place), "")
        parts.append(f"Afterwards the person said{said}: {words}\nThey were told: {reply}")
    parts += [f"Afterwards the person said: {words}\n(Nobody has replied.)" for words in record.unheard]
    for brief in record.briefs:
        answer = f"It recommends: {brief.recommendation} (whole in {brief.file})"
        parts.append(f"The Board was asked: {brief.question}\n{answer}")
    if record.looked_at:
        parts.append(f"Read for it in the workspace: {'; '.join(record.looked_at)}")
    if parts:
        about = f'step="{name}" led-by="{state.voice(record.ref.persona).name}"'
        text = f"<conversation {about}>\n" + "\n\n".join(parts) + "\n</conversation>"
        yield Source(f"what was said at step {name}", text, weight)
    for place, held in enumerate(state.at_tables(record), start=1):
        said_there = ledger.table_key(record, place)
        yield from _roundtable(held, name, max(weight, Weight.DEPENDED_ON), numbers, said_there)


def _exchanges(record: StepRecord, numbers: Mapping[str, str], *, with_last: bool) -> Iterator[str]:
    """What was asked and answered, each under its number in the ledger, and what the person asked back."""
    for number, (question, answer) in enumerate(record.exchanges):
        back = [one for one in record.asked_back if one.question == number]
        yield f"Asked: {question}"
        for one in back:
            if one.text != answer:
                yield f"The person asked back: {one.text}\nThey were told: {one.reply}"
        if with_last or number < len(record.exchanges) - 1:
            yield f"Answered{numbers.get(ledger.answer_key(record, number + 1), '')}: {answer}"
        yield from (f"They were told: {one.reply}" for one in back if one.text == answer)
    open_question = [one for one in record.asked_back if one.question == len(record.exchanges)]
    yield from (f"The person asked back: {one.text}\nThey were told: {one.reply}" for one in open_question)


def _roundtable(
    held: Elaboration, step: str, weight: Weight, numbers: Mapping[str, str], key: str
) -> Iterator[Source]:
    table = held.table
    if table is None or len(table.discussion) < 2:
        text = f'<roundtable step="{step}">\n{held.summary}\n</roundtable>'
        yield Source(f"what a roundtable at step {step} came to", text, weight)
        return
    said = f'<roundtable step="{step}">\n{discussion(table, numbers, key)}\n</roundtable>'
    yield Source(f"what was said at a roundtable at step {step}", said, weight)
    if table.exit_type is not None and not table.is_in_artifacts:
        minutes = f'<minutes step="{step}">\n{table.minutes()}\n</minutes>'
        yield Source(f"the minutes of a roundtable at step {step}", minutes, Weight.DEPENDED_ON)


def discussion(table: RoundtableState, numbers: Mapping[str, str], key: str) -> str:
    """Who said what, without the lines that keep order."""
    names = {one.id: f"{one.name} ({one.role})" for one in table.opened.speakers} | {USER: "The person"}
    theirs = enumerate(ledger.said_by_person(table), start=1)
    places = {(USER, words): numbers.get(f"{ledger.SAID}{key}:{place}", "") for place, words in theirs}
    said = dict.fromkeys(
        f"{names[one.speaker]}{places.get((one.speaker, one.text), '')}: {one.text}"
        for one in table.transcript
        if one.speaker in names and (one.kind in TURNS or (one.speaker == USER and not table.only_ends(one)))
    )
    return "\n\n".join(said)


# -- the artifacts -------------------------------------------------------------------------------


def _written(state: AnalysisState, files: Files) -> Iterator[Source]:
    """As they are on disk: what the person has changed there holds. The one at hand comes last."""
    at = state.current.ref if state.current else None
    needed = {name for ref in state.steps if at and ref.id in at.depends_on for name in ref.outputs}
    own = set(at.outputs) if at else set()
    for name in sorted(files, key=lambda name: (name in own, name in needed, _place(state, name), name)):
        text = f'<file name="{name}">\n{files[name]}\n</file>'
        weight = Weight.DEPENDED_ON if name in own | needed else Weight.HELPFUL
        yield Source(f"the artifact {name}", text, weight)
    known = references.defined({name: files[name] for name in in_order(state, files)})
    stray = strays(state)
    if ids := "\n".join(line for one, line in known.items() if one not in stray):
        yield Source("the ids that the artifacts define", f"<ids>\n{ids}\n</ids>", Weight.DEPENDED_ON)
    if changed := edits(state, files):
        yield Source("what was changed by hand in the artifacts", _by_hand(changed), Weight.DEPENDED_ON)


def in_order(state: AnalysisState, files: Files) -> list[str]:
    """By the first step that writes each: what has an id is defined before it is cited."""
    first = {name: number for number, ref in reversed([*enumerate(state.steps)]) for name in ref.outputs}
    return sorted(files, key=lambda name: (first.get(name, len(state.steps)), name))


def _place(state: AnalysisState, name: str) -> int:
    """Of the last step that writes it: what was written later is nearer to what is worked on."""
    places = [number for number, ref in enumerate(state.steps) if name in ref.outputs]
    return max((number for number in places if state.steps[number].id in state.completed), default=-1)


def _by_hand(changed: Sequence[Edit]) -> str:
    lines = [
        "Somebody has changed these files by hand, or with another program. That is the person's word, and "
        "newer than what was said and decided before: where it contradicts that, it holds, and say so. "
        "Lines with + are in the file and no step wrote them; lines with - a step wrote, and they are gone: "
        "do not bring them back."
    ]
    for edit in changed:
        lines.append(str(edit))
        if not edit.whole and len(edit.added) + len(edit.removed) <= MOST_EDITED:
            lines += [f"+ {line}" for line in edit.added]
            lines += [f"- {line}" for line in edit.removed]
    return "<changed-by-hand>\n" + "\n".join(lines) + "\n</changed-by-hand>"
