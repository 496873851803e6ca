"""What an analysis has decided, rejected and left open: step by step, from what was answered, noted and said.

Pure: derived from the state. Whose a decision is, is looked up in what the person said, not believed.
Refuses to know what the person makes of an entry afterwards: corrections are kept by the session.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from moot.analysis.asking import questions_in
from moot.analysis.state import AnalysisState, Elaboration, Step, StepRecord
from moot.core import ledger as common
from moot.core.conversation import PERSON
from moot.core.ledger import Decided, Kind
from moot.llm.messages import Source
from moot.roundtable.events import RoundtableEvent, TranscriptChecked
from moot.roundtable.findings import DecisionFound
from moot.roundtable.state import THE_PERSON, USER, RoundtableState

SAID = "said:"
"""What the keys begin with of what the person said in so many words."""
NOT_ANALYSED = "skipped:"
BOARD, ROUNDTABLE, PROGRAM = "the Board", "the roundtable", "moot"
_WORD = re.compile(r"[^\W_]{4,}")
_TAKEN_BACK = "[taken back at"
FEW = 10
"""Lines that were changed by hand, which are said; of more, how many."""
_THEIRS = 0.6
"""How much of a decision's words the person has to have used for it to be theirs."""
_STEM = 5
_YES_OR_NO = re.compile(
    r"\b(?:yes|yeah|yep|no|nope|agreed?|right|correct|ok|okay|exactly|sure)\b", re.IGNORECASE
)
_SHORT = 6
"""Words of an answer that cannot be understood without its question."""


def ledger(state: AnalysisState) -> tuple[Decided, ...]:
    """As the person has corrected it, under the numbers by which files and people speak of it."""
    corrected = common.correct(_entries(state), state.background.corrections)
    return common.number(corrected, state.order)


def keep_order(state: AnalysisState) -> AnalysisState:
    """What has come about since is numbered after everything that was there."""
    new = (entry.key for entry in ledger(state) if entry.number > len(state.order))
    return replace(state, order=(*state.order, *new))


def answer_key(record: StepRecord, number: int) -> str:
    return f"{SAID}{record.ref.id}:{number}"


def feedback_key(record: StepRecord, number: int) -> str:
    return f"{SAID}feedback:{record.ref.id}:{number}"


def table_key(record: StepRecord, number: int) -> str:
    return f"{record.ref.id}:roundtable:{number}"


def numbers(state: AnalysisState) -> dict[str, str]:
    """How the conversation names what the person said there, because the list leaves it out: by key."""
    return {one.key: f" (D{one.number})" for one in ledger(state) if one.kind is Kind.SAID}


def source_beside_conversation(state: AnalysisState) -> tuple[Source, ...]:
    """For a request that carries all that was said: without what the person said in so many words."""
    entries = _entries(state)
    mended = common.in_force(state.background.corrections)
    known = [each for each in entries if each.key.startswith(SAID) or each.key in mended]
    return common.source(ledger(state), known, _in_notes(state))


def corrected_notes(state: AnalysisState) -> Iterator[str]:
    """What the person has said of what the notes of the step at hand had noted."""
    said = common.in_force(state.background.corrections)
    for one in _step(state, state.record):
        correction = said.get(one.key)
        if correction is not None and not one.key.startswith(SAID):
            now = (
                "does not hold any more" if correction.strikes else f"instead of it holds: {correction.text}"
            )
            yield f"{one.text.rstrip('.')}: {now}"


_NOTED = {"decided": "decided", "rejected": "rejected", "left_open": "open:person", "missing": "open"}
"""What notes say, by the fields of a record, and what the keys of its entries begin with."""


def keep_corrected(state: AnalysisState, current: StepRecord) -> StepRecord:
    """The step at hand with its new notes. What the person has corrected in those before stays with its
    correction: what they have struck would otherwise hold again wherever they have said it."""
    said = common.in_force(state.background.corrections)
    fields: dict[str, Any] = {}
    for field, kind in _NOTED.items() if state.keeps_numbers else ():
        before = _placed(state, getattr(state.record, field))
        kept = (text for place, text in before if f"{kind}:{current.ref.id}:{place}" in said)
        fields[field] = tuple(dict.fromkeys((*getattr(current, field), *kept)))
    return replace(current, **fields)


def still_held(state: AnalysisState, texts: Iterable[str]) -> tuple[str, ...]:
    """Those of them, of the notes, that the person has not struck or replaced since."""
    there = {one.text for one in ledger(state) if one.kind is not Kind.SAID}
    return tuple(text for text in texts if text in there)


def _in_notes(state: AnalysisState) -> set[int]:
    """The numbers of what the notes of the step at hand have said so far, while they are taken again."""
    if state.step is not Step.ASSESSING:
        return set()
    at = state.record.ref.id
    kinds = ("decided", "rejected", "open", "open:person", "settled")
    begins = tuple(f"{kind}:{at}" for kind in kinds)
    return {place for place, key in enumerate(state.order, start=1) if key.startswith(begins)}


def was_taken_back(entry: Decided) -> bool:
    return _TAKEN_BACK in entry.text


def _entries(state: AnalysisState) -> tuple[Decided, ...]:
    found: list[Decided] = []
    for record in state.records:
        found += _step(state, record)
        for number, held in enumerate(state.at_tables(record), start=1):
            found += _roundtable(state, record, held, number)
        for brief in record.briefs:
            text = f"{brief.question} The Board recommends: {brief.recommendation}"
            found.append(Decided(f"board:{brief.session}", Kind.SAID, text, BOARD, _at(record)))
    return (*_still(state, found), *_skipped(state), *_by_hand(state))


def _still(state: AnalysisState, found: Sequence[Decided]) -> Iterator[Decided]:
    """Without what was open and is settled now; what was taken back says where."""
    settled = {key for record in state.records for key in record.settled}
    taken_back = {key: _at(record) for record in state.records for key in record.taken_back}
    replaced = dict(_replaced(state))
    settled |= {one.key for one in found if one.kind is Kind.OPEN} & replaced.keys()
    taken_back |= {key: at for key, at in replaced.items() if key not in taken_back}
    for one in found:
        if one.key in taken_back and one.kind is not Kind.OPEN:
            text = f"{one.text} {_TAKEN_BACK} {taken_back[one.key]}]"
            yield msgspec.structs.replace(one, text=text, is_taken_back=True)
        elif one.key not in settled:
            yield one


def _replaced(state: AnalysisState) -> Iterator[tuple[str, str]]:
    """What the decisions of a roundtable hold instead of, and where: also while it is being held."""
    at = {record.ref.id: f"{_at(record)}, roundtable" for record in state.records}
    tables = [(held.step, held.table) for held in state.elaborations]
    if state.current is not None:
        tables.append((state.current.ref.id, state.roundtable))
    for step, table in tables:
        for made in table.findings.decisions if table else ():
            yield from ((key, at[step]) for key in made.instead_of)


def with_keys(state: AnalysisState, event: RoundtableEvent) -> RoundtableEvent:
    """What a decision replaces, by key. What the person has decided, only the person takes back. What was
    found before to be replaced stays so: it is no longer listed as if it held."""
    if not isinstance(event, TranscriptChecked):
        return event
    before = {made.said: made.instead_of for made in state.table.findings.decisions}

    def keyed(made: DecisionFound) -> DecisionFound:
        settled, taken_back = changed(state, made.instead_of, made.instead_of)
        keys = (*before.get(made.said, ()), *settled, *(taken_back if made.said.by == THE_PERSON else ()))
        return msgspec.structs.replace(made, instead_of=tuple(dict.fromkeys(keys)))

    findings = event.findings
    decisions = tuple(map(keyed, findings.decisions))
    return msgspec.structs.replace(event, findings=msgspec.structs.replace(findings, decisions=decisions))


def changed(
    state: AnalysisState, settled: Iterable[str], taken_back: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys of the entries with these numbers: those that are open, and those that the person has decided
    or rejected. Any other number was a mistake, and changes nothing."""
    by_number = {f"D{entry.number}": entry for entry in ledger(state.before_notes)}
    named = [by_number[one] for one in settled if one in by_number]
    back = [by_number[one] for one in taken_back if one in by_number]
    own = (Kind.DECIDED, Kind.REJECTED)
    return (
        tuple(one.key for one in named if one.kind is Kind.OPEN),
        tuple(one.key for one in back if one.kind in own and not was_taken_back(one)),
    )


def _at(record: StepRecord) -> str:
    return f"{record.ref.id} ({record.ref.title})"


def _step(state: AnalysisState, record: StepRecord) -> Iterator[Decided]:
    step, at = record.ref.id, _at(record)
    for number, (_, answer) in enumerate(record.exchanges, start=1):
        yield Decided(answer_key(record, number), Kind.SAID, answer, PERSON, at)

    def notes() -> str:
        return f"{state.voice(record.ref.persona).name}'s notes"

    said = (state.title, state.description, *_said_in_answer(record))
    theirs = _words(" ".join(said))
    for kind, texts in ((Kind.DECIDED, record.decided), (Kind.REJECTED, record.rejected)):
        for place, text in _placed(state, texts):
            by = PERSON if _is_theirs(text, theirs) else notes()
            yield Decided(f"{kind}:{step}:{place}", kind, text, by, at)
    if record.summary and not (record.decided or record.rejected):
        yield Decided(f"settled:{step}", Kind.DECIDED, record.summary, notes(), at)
    for place, text in _placed(state, record.left_open):
        yield Decided(f"open:person:{step}:{place}", Kind.OPEN, text, PERSON, at)
    for place, text in _placed(state, record.missing):
        yield Decided(f"open:{step}:{place}", Kind.OPEN, text, notes(), at)
    for number, text in enumerate(record.unknown, start=1):
        yield Decided(f"unknown:{step}:{number}", Kind.OPEN, f"Cited, but not there: {text}", PROGRAM, at)
    theirs |= _words(" ".join(_said_afterwards(record)))
    for kind, texts in ((Kind.DECIDED, record.decided_there), (Kind.REJECTED, record.rejected_there)):
        for number, text in enumerate(texts, start=1):
            by = PERSON if _is_theirs(text, theirs) else notes()
            yield Decided(f"{kind}:menu:{step}:{number}", kind, text, by, f"{at}, afterwards")
    for number, text in enumerate(record.left_open_there, start=1):
        yield Decided(f"open:menu:{step}:{number}", Kind.OPEN, text, PERSON, f"{at}, afterwards")
    for number, (words, _, _) in enumerate(record.feedback, start=1):
        yield Decided(feedback_key(record, number), Kind.SAID, words, PERSON, f"{at}, afterwards")
    for number, words in enumerate(record.unheard, start=1):
        yield Decided(f"{SAID}unheard:{step}:{number}", Kind.SAID, words, PERSON, f"{at}, afterwards")


def _placed(state: AnalysisState, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What tells an entry of the notes from the others: its words, so that notes which are taken again in
    another order change no number. In earlier versions its place."""
    if not state.keeps_numbers:
        yield from ((str(place), text) for place, text in enumerate(texts, start=1))
        return
    for text in dict.fromkeys(texts):
        yield hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12], text


def _said_in_answer(record: StepRecord) -> Iterator[str]:
    """The answers; of a short one, such as "Sixteen.", what was asked is a part, and of one that says yes or
    no, what was proposed with the question. What was proposed elsewhere is not."""
    for question, answer in record.exchanges:
        yield answer
        if _YES_OR_NO.search(answer):
            yield from (line for line in question.splitlines() if questions_in(line))
        elif _rests_on_more(answer):
            yield from questions_in(question)


def _said_afterwards(record: StepRecord) -> Iterator[str]:
    """At the menu; whoever says yes there may say it to the Board."""
    for words, _, _ in record.feedback:
        yield words
        if _rests_on_more(words):
            yield from (brief.recommendation for brief in record.briefs)


def _rests_on_more(words: str) -> bool:
    """Whether they are too few to be understood alone, or say yes or no to something."""
    return len(words.split()) <= _SHORT or _YES_OR_NO.search(words) is not None


def _is_theirs(text: str, theirs: set[str]) -> bool:
    words = _words(text)
    return bool(words) and len(words & theirs) >= _THEIRS * len(words)


def _words(text: str) -> set[str]:
    """Enough of each to know it by in another form."""
    return {word[:_STEM] for word in _WORD.findall(text.casefold())}


def _roundtable(
    state: AnalysisState, record: StepRecord, held: Elaboration, number: int
) -> Iterator[Decided]:
    key, at = table_key(record, number), f"{_at(record)}, roundtable"
    table = held.table
    if table is None:
        return
    for place, words in enumerate(said_by_person(table), start=1):
        yield Decided(f"{SAID}{key}:{place}", Kind.SAID, words, PERSON, at)
    synthesis = table.synthesis
    assert synthesis is not None
    for place, each in enumerate(synthesis.decisions, start=1):
        why = f" ({each.rationale.rstrip('.')})" if each.rationale else ""
        by = PERSON if each.stated_by in (USER, "User") else each.stated_by or ROUNDTABLE
        made = each.decision.rstrip(".") if why else each.decision
        yield Decided(f"decided:{key}:{place}", Kind.DECIDED, f"{made}{why}", by, at)
    theirs = {left.question for left in table.findings.open_points if left.said.by == THE_PERSON}
    for place, asked in enumerate(synthesis.open_questions, start=1):
        if asked.question not in state.answered_questions:
            about = f" ({asked.context.rstrip('.')})" if asked.context else ""
            by = PERSON if asked.question in theirs else ROUNDTABLE
            yield Decided(f"open:{key}:{place}", Kind.OPEN, f"{asked.question}{about}", by, at)
    for place, text in enumerate(table.unknown, start=1):
        yield Decided(f"unknown:{key}:{place}", Kind.OPEN, f"Cited, but not there: {text}", PROGRAM, at)
    for place, position in enumerate(synthesis.positions, start=1):
        yield Decided(f"open:{key}:position:{place}", Kind.OPEN, str(position), ROUNDTABLE, at)


def said_by_person(table: RoundtableState) -> tuple[str, ...]:
    """Whatever it was taken for: what was said while leaving was said as well, if it was more than "done"."""
    words = (said.text for said in table.transcript if said.speaker == USER and not table.only_ends(said))
    return tuple(dict.fromkeys(words))


def _by_hand(state: AnalysisState) -> Iterator[Decided]:
    for edit in state.edits:
        lines = [*(f"+ {line}" for line in edit.added), *(f"- {line}" for line in edit.removed)]
        said = "".join(f"\n{line}" for line in lines) if not edit.whole and len(lines) <= FEW else ""
        yield Decided(f"{SAID}edit:{edit.file}", Kind.SAID, f"Changed by hand: {edit}{said}", PERSON, "")


def _skipped(state: AnalysisState) -> Iterator[Decided]:
    for phase in state.phases:
        titles = [f"{ref.id} {ref.title}" for ref in state.skipped_steps if ref.phase == phase]
        if titles:
            text = f"Not analysed, because the person skipped the rest of {phase}: {'; '.join(titles)}"
            yield Decided(f"{NOT_ANALYSED}{phase}", Kind.REJECTED, text, PERSON, phase)
