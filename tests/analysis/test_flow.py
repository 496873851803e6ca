"""The analysis as a pure flow: steps, menus, depth, phases, failures, roundtables and the Board within it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.analysis.effects import (
    AmendArtifacts,
    CallBoard,
    ConveneBoard,
    LookForImpact,
    ReadSteps,
    ScanWorkspace,
    WriteArtifacts,
)
from moot.analysis.events import (
    MAX_ANSWER,
    AnalysisEvent,
    AnalysisOpened,
    AnswerGiven,
    AnswerRead,
    BoardAnswered,
    BoardCalled,
    FeedbackGiven,
    FeedbackTaken,
    FeedbackWritten,
    ImpactLooked,
    MenuChosen,
    ModelFailed,
    QuestionPut,
    SkippedTakenUp,
    StepAssessed,
    StepCompleted,
    StepOpened,
    StepRef,
    StepsRead,
    TriedAgain,
    Voice,
    Withdrawn,
    WorkspaceScanned,
)
from moot.analysis.flow import ANALYSIS, TRANSITIONS
from moot.analysis.ledger import ledger, still_held
from moot.analysis.material import at_hand
from moot.analysis.replies import FeedbackReply, Notes, Reading
from moot.analysis.state import AnalysisState, AskedBack, Step
from moot.cli.menu_lines import shown
from moot.core.background import LedgerCorrected
from moot.core.conversation import PERSON
from moot.core.flow import (
    AskPerson,
    AskPersona,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
    TaskDone,
    TaskFailed,
    Usage,
    check_step,
)
from moot.core.ledger import Correction, read_correction
from moot.errors import IllegalMove, InvalidInput
from moot.roundtable.effects import InsertInsights, OpenRoundtable, RecordElaboration
from moot.roundtable.events import RULES, ArtifactsUpdated, ElaborationRecorded, RoundtableOpened, Speaker
from moot.roundtable.findings import DecisionNamed, Named, OpenPointNamed
from moot.roundtable.flow import TRANSITIONS as OF_ROUNDTABLES
from moot.roundtable.quotes import Quoted
from moot.roundtable.replies import Framing
from moot.roundtable.synthesis import Minutes, Point
from moot.text.depth import DEPTHS, Depth

BILL = Usage("local", 10, 5, 0.0, 800)
MAYA, ALEX, JORDAN = "business-analyst", "solutions-architect", "system-designer"
VOICES = (
    Voice(MAYA, "Maya Chen", "Business Analyst"),
    Voice(ALEX, "Alex Rivera", "Solutions Architect"),
    Voice(JORDAN, "Jordan Park", "System Designer"),
)
STEPS = (
    StepRef("00-01", "Scope Estimation", "00-quick-scan", MAYA, "standard", ("quick-scan.md",)),
    StepRef("00-02", "Keyword Search", "00-quick-scan", MAYA, "brief", ("quick-scan.md",), ("00-01",)),
    StepRef("01-01", "Business Context", "01-requirements", MAYA, "standard", ("spec.md",)),
    StepRef("01-02", "User Needs", "01-requirements", MAYA, "deep", ("spec.md", "nfr.md"), ("01-01",)),
    StepRef("02-01", "Blast Radius", "02-impact-analysis", ALEX, "standard", ("impact.md",)),
)
TALK = {
    MAYA: "Before that, who notices a conflict on the train with a half-filled form?",
    ALEX: "I see two approaches here: last write wins, or an explicit merge with higher cost.",
    JORDAN: "To make this concrete: resolve(local, remote) returns Merged or raises Conflict.",
}
ALEXS = (Quoted(2, TALK[ALEX], "Alex"),)
NAMED = Named(
    open_points=(
        OpenPointNamed("Who merges?", "nobody knows", ALEXS[0]),
        OpenPointNamed("Who pays?", "not asked", ALEXS[0]),
    )
)
MINUTES = Minutes(
    (Point("Conflicts are shown.", ALEXS),), (), (), (), "we found that conflicts have to be shown"
)


def seated(step: StepRef, material: str = "") -> RoundtableOpened:
    return RoundtableOpened(
        step_id=step.id,
        step_title=step.title,
        item="Offline mode",
        speakers=tuple(
            Speaker(
                id=voice.id,
                name=voice.name,
                first_name=voice.name.split()[0],
                role=voice.role,
                short_role=voice.role.split()[-1],
                lens="risk",
            )
            for voice in VOICES
        ),
        lead=MAYA,
        max_turns=6,
        at=f"2026-02-20T14:30:00.{step.id[-2:]}0Z",
        material=material,
        rules=RULES,
    )


def assessed(follow_up: str = "") -> Drafted:
    missing = ("who",) if follow_up else ()
    return Drafted(Notes("Settled.", {"spec.md": "Text."}, missing, follow_up), BILL)


def replied(reply: str = "Yes.", contents: Mapping[str, str] = MappingProxyType({})) -> Drafted:
    return Drafted(FeedbackReply(reply, dict(contents)), BILL)


def interrupts(effect: Effect) -> bool:
    return isinstance(effect, AskPerson) and effect.interrupting


def read(reply: str, *, answers: bool = False) -> Drafted:
    return Drafted(Reading(reply, answers), BILL)


class Play:
    """An analysis under test: answers what is pending, keeps the events. `files` is what is found when the
    step files are looked at."""

    files = StepsRead()

    def __init__(self, *steps: StepRef, scan: Depth = "standard", **opening: Any) -> None:
        self.events: list[AnalysisEvent] = []
        self.state = ANALYSIS.initial
        self.put(AnalysisOpened("offline-mode", "Offline mode", "local", steps or STEPS, VOICES, **opening))
        if self.state.step is Step.SCANNING:
            self.settle(TaskDone(WorkspaceScanned("3 files", scan)))

    def put(self, event: AnalysisEvent) -> None:
        self.state = ANALYSIS.advance(self.state, event)
        self.events.append(event)
        if ANALYSIS.pending(self.state) == (ReadSteps(str(self.state.happened)),):
            self.settle(TaskDone(self.files))

    def asked(self) -> Effect:
        (effect,) = (effect for effect in ANALYSIS.pending(self.state) if not interrupts(effect))
        return effect

    def settle(self, outcome: Outcome) -> AnalysisEvent:
        event = ANALYSIS.record(self.state, self.asked(), outcome)
        self.put(event)
        return event

    def says(self, text: str) -> AnalysisEvent:
        assert isinstance(self.asked(), AskPerson), self.asked()
        return self.settle(PersonAnswered(text))

    def picks(self, choice: str) -> AnalysisEvent:
        return self.settle(PersonAnswered(choice=choice))

    def opens(self) -> Play:
        if self.state.step is Step.LOOKING:
            self.settle(TaskDone(ImpactLooked("2 files touched")))
        self.settle(PersonaSpoke("Who needs it?", BILL))
        return self

    def step(self, answer: str = "Twenty people.") -> Play:
        """One step to its menu."""
        self.opens().says(answer)
        self.settle(assessed())
        self.completes("spec.md")
        return self

    def completes(self, *files: str) -> AnalysisEvent:
        return self.settle(TaskDone(StepCompleted(self.at, files)))

    def roundtable(self, *words: str) -> Play:
        self.picks("elaborate")
        while self.state.step is Step.ROUNDTABLE:
            self.settle(self._at_table(self.asked(), words))
        return self

    def _at_table(self, effect: Effect, words: tuple[str, ...]) -> Outcome:
        assert self.state.current is not None
        table = self.state.roundtable
        assert table is not None
        match effect:
            case OpenRoundtable():
                return TaskDone(seated(self.state.current.ref))
            case InsertInsights():
                return TaskDone(ArtifactsUpdated(("Updated spec.md.",)))
            case RecordElaboration():
                return TaskDone(ElaborationRecorded(True))
            case DraftReply("roundtable/framing"):
                return Drafted(Framing("three journeys", "Who?"), BILL)
            case DraftReply("roundtable/check"):
                return Drafted(NAMED, BILL)
            case DraftReply():
                return Drafted(MINUTES, BILL)
            case AskPersona(persona):
                return PersonaSpoke(TALK[persona], BILL)
            case _:
                return PersonAnswered((*words, "done")[table.answers])

    def choices(self) -> dict[str, str]:
        effect = self.asked()
        assert isinstance(effect, AskPerson)
        return {choice.id: choice.label for choice in effect.choices}

    @property
    def at(self) -> str:
        assert self.state.current is not None
        return self.state.current.ref.id


# -- a step --------------------------------------------------------------------------------------


def test_the_workspace_is_looked_at_before_the_first_step() -> None:
    play = Play()
    assert isinstance(play.events[1], WorkspaceScanned)
    assert (play.state.scan, play.state.active_depth) == ("3 files", "standard")
    assert isinstance(play.events[2], StepsRead)
    assert play.asked() == AskPersona(MAYA, "analysis/open", "3")


def test_a_step_is_opened_answered_assessed_written_and_only_then_is_there_a_menu() -> None:
    play = Play()
    play.settle(PersonaSpoke("Who needs it?", BILL))
    asked = play.asked()
    assert isinstance(asked, AskPerson)
    assert (asked.step, asked.optional) == ("00-01", False)
    assert play.says("  Twenty people. ") == AnswerGiven("00-01", "Twenty people.", "unchanged")
    assert play.asked() == DraftReply("analysis/assess", "5")
    play.settle(assessed())
    assert play.asked() == WriteArtifacts("6")
    assert play.state.completed == ()
    play.completes("quick-scan.md")
    after = play.state
    assert (after.step, after.completed) == (Step.MENU, ("00-01",))
    assert play.state.done[0].exchanges == (("Who needs it?", "Twenty people."),)
    assert play.state.turns == 2


@pytest.mark.parametrize(("depth", "follow_ups"), [("brief", 0), ("standard", 1), ("deep", 3)])
def test_what_is_missing_is_asked_for_as_often_as_the_depth_allows(depth: Depth, follow_ups: int) -> None:
    play = Play(scan=depth).opens()
    for number in range(follow_ups):
        play.says("Not known.")
        play.settle(assessed(f"And who else ({number})?"))
        assert play.state.question == f"And who else ({number})?"
    play.says("Not known.")
    play.settle(assessed("And who else?"))
    assert (play.state.step, play.state.question) == (Step.WRITING, "")
    assert play.state.current is not None
    assert len(play.state.current.exchanges) == follow_ups + 1


@pytest.mark.parametrize("answer", ["", "  ", "x" * (MAX_ANSWER + 1)])
def test_an_answer_that_says_nothing_or_too_much_is_refused_and_asked_for_again(answer: str) -> None:
    play = Play().opens()
    with pytest.raises(InvalidInput):
        play.says(answer)
    assert play.state.step is Step.ANSWERING


def test_a_question_back_is_answered_and_what_was_asked_stays_asked() -> None:
    play = Play().opens()
    open_question = play.state.question
    for number in (1, 2):
        given_ = play.says("What do you mean by throughput?")
        assert given_ == AnswerGiven("00-01", "What do you mean by throughput?", "unchanged", may_ask=True)
        asked = play.asked()
        assert isinstance(asked, DraftReply)
        assert asked.prompt == "analysis/read"
        assert play.settle(read("How many.")) == AnswerRead("00-01", "How many.", False, BILL)
        assert (play.state.step, play.state.question) == (Step.ANSWERING, open_question)
        current = play.state.current
        assert current is not None
        assert current.exchanges == ()
        assert current.asked_back == (AskedBack(0, "What do you mean by throughput?", "How many."),) * number
    play.says("Thirty.")
    play.settle(assessed())
    play.completes()
    assert play.state.done[0].exchanges == ((open_question, "Thirty."),)


def test_a_question_back_takes_no_follow_up_away() -> None:
    play = Play(scan="standard").opens()
    play.says("Why?")
    play.settle(read("Because."))
    play.says("Thirty.")
    play.settle(assessed("And who else?"))
    play.says("Who would that be?")
    play.settle(read("Anybody."))
    assert (play.state.step, play.state.question) == (Step.ANSWERING, "And who else?")


def test_words_that_ask_and_answer_are_answered_and_assessed() -> None:
    play = Play().opens()
    play.says("Thirty. Why do you ask?")
    play.settle(read("To size it.", answers=True))
    assert play.state.step is Step.ASSESSING
    current = play.state.current
    assert current is not None
    assert [answer for _, answer in current.exchanges] == ["Thirty. Why do you ask?"]
    assert current.asked_back == (AskedBack(0, "Thirty. Why do you ask?", "To size it."),)


def test_a_guess_with_a_question_mark_is_an_answer() -> None:
    for answers in (True, False):
        play = Play().opens()
        play.says("Maybe 300?")
        play.settle(read("", answers=answers))
        assert play.state.step is Step.ASSESSING
        assert play.state.current is not None
        assert play.state.current.asked_back == ()


def test_an_answer_of_an_earlier_version_is_assessed_at_once() -> None:
    play = Play().opens()
    old = b'{"type": "AnswerGiven", "step": "00-01", "text": "Thirty. Why?", "wish": "unchanged"}'
    play.put(ANALYSIS.decode(old))
    assert play.state.step is Step.ASSESSING


def test_whoever_only_asks_at_the_menu_has_nothing_written_down() -> None:
    for changes in (True, False):
        play = Play().step()
        play.says("Why tunnels?")
        drafted = FeedbackReply("They are dark.", {"quick-scan.md": "Tunnels."}, changes)
        written = {"quick-scan.md": "Tunnels."} if changes else {}
        assert play.settle(Drafted(drafted, BILL)) == FeedbackTaken("They are dark.", written, BILL)


def test_what_was_open_is_settled_and_what_was_decided_is_taken_back() -> None:
    play = Play().opens()
    play.says("No cloud. Maybe Berlin.")
    notes = Notes("So.", {}, ("who pays",), "", ("Berlin.",), ("a cloud",))
    play.settle(Drafted(notes, BILL))
    play.completes()
    numbered = [f"D{n} {one.kind}: {one.text}" for n, one in enumerate(ledger(play.state), start=1)]
    assert numbered[1:] == ["D2 decided: Berlin.", "D3 rejected: a cloud", "D4 open: who pays"]
    play.picks("continue")
    play.opens().says("The county pays. A cloud is fine after all.")
    # What is open cannot be taken back, what is decided is not open, and there is no D9.
    later = Notes("So.", {}, settled=("D4", "D2", "D9"), taken_back=("D3", "D4", "D9"))
    play.settle(Drafted(later, BILL))
    assessed = play.events[-1]
    assert isinstance(assessed, StepAssessed)
    assert (assessed.settled, assessed.taken_back) == (("open:00-01:1",), ("rejected:00-01:1",))
    texts = [one.text for one in ledger(play.state)]
    assert "who pays" not in texts
    assert "a cloud [taken back at 00-02 (Keyword Search)]" in texts
    assert "Berlin." in texts
    play.completes()
    play.says("Berlin is off.")
    play.settle(Drafted(FeedbackReply("Yes.", {}, changes=True, taken_back=("D2", "D3")), BILL))
    assert "Berlin. [taken back at 00-02 (Keyword Search)]" in [one.text for one in ledger(play.state)]


def numbers(play: Play) -> dict[str, str]:
    return {one.key: f"D{one.number}" for one in ledger(play.state)}


def test_a_decision_keeps_its_number_whatever_is_said_settled_and_added_afterwards() -> None:
    play = Play().opens()
    play.says("No cloud.")
    play.settle(Drafted(Notes("So.", {}, ("who pays",), "", ("Berlin.",)), BILL))
    play.completes()
    play.roundtable("Berlin it is.")
    before = numbers(play)
    assert before["open:00-01:1"] == "D3"
    play.put(LedgerCorrected(Correction("own:1", "Only bare metal.", "menu")))
    assert numbers(play) == before | {"own:1": f"D{len(before) + 1}"}
    play.says("The county pays, from May on.")
    play.settle(Drafted(FeedbackReply("Good.", {}, changes=True, settled=("D3",)), BILL))
    play.put(LedgerCorrected(Correction("decided:00-01:1", "", "menu")))
    after = numbers(play)
    assert before.keys() - after.keys() == {"open:00-01:1", "decided:00-01:1"}
    assert {key: after[key] for key in before.keys() & after.keys()}.items() <= before.items()
    assert after["said:feedback:00-01:1"] == f"D{len(before) + 2}"
    assert ledger(ANALYSIS.fold(play.events)) == ledger(play.state)


def decides(*instead_of: str, by: str = "User", turn: int = 4, quote: str = "A cloud after all.") -> Named:
    return Named(decisions=(DecisionNamed("A cloud it is.", "", Quoted(turn, quote, by), instead_of),))


def at_a_table(*checks: Named) -> Play:
    """At which the person has taken something back; D2 is what was ruled out, and D3 is open."""
    play = Play(scan="brief").opens()
    play.says("No cloud.")
    play.settle(Drafted(Notes("So.", {}, ("who pays",), rejected=("a cloud",)), BILL))
    play.completes()
    play.picks("elaborate")
    drafts, words = iter(checks), iter(("A cloud after all.", "Who says so?", "done"))
    replies = {4: "Then a contract is due.", 6: "The county's counsel, in writing."}
    while play.state.step is Step.ROUNDTABLE:
        match play.asked():
            case OpenRoundtable():
                opened = seated(STEPS[0])
                play.settle(TaskDone(msgspec.structs.replace(opened, max_turns=12)))
            case DraftReply("roundtable/check"):
                play.settle(Drafted(next(drafts), BILL))
            case AskPersona(persona):
                turns = play.state.table.turns
                play.settle(
                    PersonaSpoke(TALK[persona] if turns < 3 else replies.pop(turns, "(silent)"), BILL)
                )
            case AskPerson():
                play.says(next(words))
            case effect:
                play.settle(play._at_table(effect, ()))
    return play


def test_what_is_decided_at_a_roundtable_replaces_what_was_decided_and_answers_what_was_open() -> None:
    play = at_a_table(Named(), decides("D2", "D3", "D9"), decides())
    texts = {one.key: one.text for one in ledger(play.state)}
    assert texts["rejected:00-01:1"] == "a cloud [taken back at 00-01 (Scope Estimation), roundtable]"
    assert "open:00-01:1" not in texts
    assert [one.by for one in ledger(play.state) if one.text == "A cloud it is."] == [PERSON]


def test_what_the_person_leaves_open_at_the_table_is_theirs() -> None:
    asks = OpenPointNamed("Which cloud?", "", Quoted(4, "A cloud after all.", "User"))
    other = OpenPointNamed("Who pays?", "", ALEXS[0])
    named = Named(open_points=(asks, other))
    play = at_a_table(named, named, named)
    still = {one.text: one.by for one in ledger(play.state) if one.kind == "open"}
    assert (still["Which cloud?"], still["Who pays?"]) == (PERSON, "the roundtable")


def test_what_the_person_ruled_out_no_colleague_takes_back() -> None:
    named = decides("D2", "D3", by="Alex", turn=2, quote=TALK[ALEX])
    play = at_a_table(named, named, named)
    texts = {one.key: one.text for one in ledger(play.state)}
    assert texts["rejected:00-01:1"] == "a cloud"
    assert "open:00-01:1" not in texts


def test_notes_that_are_taken_again_replace_what_was_open_and_hide_nothing() -> None:
    play = Play(scan="standard").opens()
    play.says("Twenty.")
    play.settle(Drafted(Notes("So.", {}, ("who pays",), "Who pays?"), BILL))
    play.says("The county.")
    assert [one.text for one in ledger(play.state) if one.kind == "open"] == ["who pays"]
    number = [one.text for one in ledger(play.state)].index("who pays") + 1
    told = "".join(source.text for source in at_hand(play.state.before_notes))
    assert "who pays" not in told
    assert "No longer listed" not in told, "it is in the notes"
    play.settle(Drafted(Notes("So.", {}, ("by when",), settled=(f"D{number}",)), BILL))
    assert [one.text for one in ledger(play.state) if one.kind == "open"] == ["by when"]


def test_notes_that_are_taken_again_in_another_order_change_no_number() -> None:
    play = Play(scan="standard", keeps_numbers=True).opens()
    play.says("Twenty.")
    play.settle(Drafted(Notes("So.", {}, (), "Who pays?", ("Berlin.", "Twenty seats.")), BILL))
    before = {one.text: one.number for one in ledger(play.state)}
    number = before["Twenty seats."]
    play.put(LedgerCorrected(read_correction(ledger(play.state), (), f"D{number}: Thirty seats.", "01-01")))
    play.says("The county.")
    again = ("The county pays.", "Twenty seats.", "Berlin.", "Berlin.")
    play.settle(Drafted(Notes("So.", {}, decided=again), BILL))
    after = {one.text: one.number for one in ledger(play.state) if one.kind == "decided"}
    assert after["Berlin."] == before["Berlin."]
    assert after["Thirty seats."] == number
    assert after["The county pays."] > number
    assert len(after) == 3


def test_what_was_struck_of_the_notes_stays_struck_although_new_notes_do_not_have_it() -> None:
    play = Play(scan="standard", keeps_numbers=True).opens()
    play.says("Ready by May.")
    play.settle(Drafted(Notes("So.", {}, ("who pays",), "Who pays?", ("Ready by May.", "Berlin.")), BILL))
    number = next(one.number for one in ledger(play.state) if one.key.startswith("decided:"))
    play.put(LedgerCorrected(read_correction(ledger(play.state), (), f"drop D{number}", "00-01")))
    play.says("The county.")
    play.settle(Drafted(Notes("So.", {}, decided=("The county pays.",)), BILL))
    assert [one.text for one in ledger(play.state) if one.kind == "decided"] == ["The county pays."]
    assert still_held(play.state, play.state.record.decided) == ("The county pays.",)
    told = "".join(source.text for source in at_hand(play.state))
    assert "No longer holds: Decided: Ready by May." in told
    assert "Berlin" not in told


def test_what_is_decided_at_the_menu_is_listed_as_decided() -> None:
    play = Play(description="Never on paper.").step()
    play.says("Berlin it is. And no cloud.")
    said = FeedbackReply("Good.", {}, decided=("Berlin it is.", "Alfa Bravo"), rejected=("a cloud", "paper"))
    play.settle(Drafted(said, BILL))
    listed = [(one.kind, one.text, one.by) for one in ledger(play.state) if ":menu:" in one.key]
    assert listed == [
        ("decided", "Berlin it is.", PERSON),
        ("decided", "Alfa Bravo", "Maya Chen's notes"),
        ("rejected", "a cloud", PERSON),
        ("rejected", "paper", PERSON),
    ]


def test_of_a_short_answer_what_was_asked_is_a_part_and_what_was_proposed_is_not() -> None:
    decided = (
        "At most sixteen people book a seat.",
        "There is one desk, as proposed.",
        "It runs in Frankfurt.",
    )

    def by(answer: str) -> list[str]:
        play = Play()
        question = "The queue runs in Frankfurt, I propose.\n\n1. How many people book a seat, at most? "
        question += "I would take sixteen, and one desk."
        play.settle(PersonaSpoke(question, BILL))
        play.says(answer)
        play.settle(Drafted(Notes("So.", {}, decided=decided), BILL))
        return [one.by for one in ledger(play.state) if one.kind == "decided"]

    notes = "Maya Chen's notes"
    assert by("Sixteen.") == [PERSON, notes, notes]
    assert by("We counted them in spring, and yes, one desk as proposed.") == [PERSON, PERSON, notes]
    assert by("It is sixteen of them, as we said in spring.") == [notes] * 3


def test_whoever_says_yes_to_the_board_has_decided_what_it_recommends() -> None:
    def by(words: str) -> list[str]:
        play = Play().step()
        brief = BoardAnswered("Who pays?", "board-1", "board-1.md", "Let the reader pay for storage.")
        play.state = play.state.with_record(dataclasses.replace(play.state.record, briefs=(brief,)))
        play.says(words)
        play.settle(Drafted(FeedbackReply("Good.", {}, decided=("The reader pays for storage.",)), BILL))
        return [one.by for one in ledger(play.state) if one.kind == "decided" and ":menu:" in one.key]

    assert by("Yes, what the Board says, in every case that we know.") == [PERSON]
    assert by("We shall see what becomes of that before the winter comes.") == ["Maya Chen's notes"]


def test_what_the_person_leaves_open_is_theirs_until_it_is_settled() -> None:
    play = Play().opens()
    play.says("Not known yet; Jo knows.")
    left = Notes("So.", {}, ("who pays",), left_open=("How many seats are there? Jo is to say.",))
    play.settle(Drafted(left, BILL))
    play.completes()
    play.says("And by when, we do not know either.")
    play.settle(Drafted(FeedbackReply("Noted.", {}, left_open=("By when?",)), BILL))
    still = [(one.text, one.by) for one in ledger(play.state) if one.kind == "open"]
    assert still == [
        ("How many seats are there? Jo is to say.", PERSON),
        ("who pays", "Maya Chen's notes"),
        ("By when?", PERSON),
    ]
    number = next(one.number for one in ledger(play.state) if one.by == PERSON and one.kind == "open")
    play.settle(TaskDone(FeedbackWritten(())))
    play.says("Forty seats.")
    play.settle(Drafted(FeedbackReply("Noted.", {}, settled=(f"D{number}",)), BILL))
    assert [one.text for one in ledger(play.state) if one.kind == "open"] == ["who pays", "By when?"]


def test_who_only_asks_settles_nothing() -> None:
    play = Play().opens()
    play.says("Twenty.")
    play.settle(Drafted(Notes("So.", {}, ("who pays",)), BILL))
    play.completes()
    play.says("What is open?")
    play.settle(Drafted(FeedbackReply("Who pays.", {}, changes=False, settled=("D3",)), BILL))
    assert "who pays" in [one.text for one in ledger(play.state)]


def test_what_was_read_for_a_step_is_kept_with_it() -> None:
    read_it = msgspec.structs.replace(BILL, looked_at=("src/a.py 1–9", "git log"))
    play = Play()
    play.settle(PersonaSpoke("Who needs it?", read_it))
    play.says("Twenty.")
    play.settle(
        Drafted(Notes("So.", {}), msgspec.structs.replace(BILL, looked_at=("git log", "src/b.py 1–2")))
    )
    assert play.state.record.looked_at == ("src/a.py 1–9", "git log", "src/b.py 1–2")
    told = "\n".join(source.text for source in at_hand(play.state))
    assert "Read for it in the workspace: src/a.py 1–9; git log; src/b.py 1–2" in told


def test_an_event_of_another_step_is_refused() -> None:
    with pytest.raises(IllegalMove):
        Play().opens().put(AnswerGiven("01-01", "Twenty."))


# -- menus ---------------------------------------------------------------------------------------


def test_the_menu_after_a_step_is_word_for_word() -> None:
    play = Play().step()
    asked = play.asked()
    assert isinstance(asked, AskPerson)
    assert asked.hint == "Or type naturally to provide feedback."
    assert [f"[{key}] {label}" for key, label in shown(asked)] == [
        "[E] Elaboration Mode -- bring all perspectives to discuss this topic",
        "[C] Continue -- move to the next step",
        "[S] Skip remaining steps in this phase",
    ]


def test_at_the_end_of_a_phase_there_is_nothing_to_skip_and_the_next_phase_is_named() -> None:
    play = Play().step()
    play.picks("continue")
    play.step()
    assert list(play.choices()) == ["elaborate", "continue"]
    assert play.choices()["continue"] == "Continue to Phase 01 (requirements)"
    play.picks("continue")
    play.step()
    play.picks("continue")
    play.step()
    assert play.choices()["continue"] == "Continue to Phase 02 (impact-analysis)"
    play.picks("continue")
    play.step()
    assert play.choices() == {
        "elaborate": "Elaboration Mode -- bring all perspectives to discuss this topic",
        "continue": "Complete analysis",
    }
    play.picks("continue")
    assert (play.state.step, ANALYSIS.pending(play.state)) == (Step.FINISHED, ())
    assert play.state.status == "analyzed"


@pytest.mark.parametrize(
    ("choice", "key"), [("continue", "C"), ("elaborate", "E"), ("skip-phase", "S"), ("ask-board", "B")]
)
def test_the_log_names_a_choice_by_the_letter_it_always_had(choice: str, key: str) -> None:
    play = Play().step().roundtable() if choice == "ask-board" else Play().step()
    assert play.picks(choice) == MenuChosen(key)


def test_words_at_the_menu_are_feedback() -> None:
    assert Play().step().says(" C ") == FeedbackGiven("C", "unchanged")


@pytest.mark.parametrize("key", ["X", "B", "c", ""])
def test_a_choice_that_is_not_offered_is_none(key: str) -> None:
    with pytest.raises(InvalidInput):
        Play().step().put(MenuChosen(key))


def test_at_a_phase_boundary_there_is_nothing_to_skip() -> None:
    play = Play().step()
    play.picks("continue")
    with pytest.raises(InvalidInput, match="'skip-phase' is none of those offered"):
        play.step().picks("skip-phase")


# -- feedback ------------------------------------------------------------------------------------


def test_feedback_is_answered_written_and_leads_back_to_the_same_menu() -> None:
    play = Play().step()
    before = play.choices()
    play.says("You forgot the tunnels.")
    assert play.asked() == DraftReply("analysis/feedback", str(play.state.happened))
    play.settle(replied("You are right.", {"quick-scan.md": "Tunnels."}))
    assert play.asked() == AmendArtifacts(str(play.state.happened))
    play.settle(TaskDone(FeedbackWritten(("quick-scan.md",))))
    assert (play.state.step, play.choices(), play.at) == (Step.MENU, before, "00-01")
    assert play.state.completed == ("00-01",)
    (record,) = play.state.done
    assert record.feedback == (("You forgot the tunnels.", "You are right.", {"quick-scan.md": "Tunnels."}),)


def test_feedback_comes_as_often_as_somebody_has_some() -> None:
    play = Play().step()
    for said in ("First.", "Second."):
        play.says(said)
        play.settle(replied())
        play.settle(TaskDone(FeedbackWritten(())))
    assert [said for said, _, _ in play.state.done[0].feedback] == ["First.", "Second."]
    play.picks("continue")
    assert play.at == "00-02"


# -- depth ---------------------------------------------------------------------------------------


def depth_at(play: Play) -> str:
    assert play.state.current is not None
    return play.state.current.depth


@pytest.mark.parametrize("proposed", ["brief", "standard", "deep"])
def test_the_scan_proposes_the_depth(proposed: Depth) -> None:
    assert depth_at(Play(scan=proposed)) == proposed


def test_what_is_set_for_a_phase_goes_before_everything_else() -> None:
    play = Play(scan="deep", depth_overrides={"00-quick-scan": "brief"})
    assert depth_at(play) == "brief"
    play.step("Let us go deep.")
    play.picks("continue")
    assert depth_at(play) == "brief"
    play.step()
    play.picks("continue")
    assert (play.at, depth_at(play)) == ("01-01", "deep")


def test_without_a_scan_the_files_own_depth_holds() -> None:
    play = Play(*STEPS[2:])
    assert (play.at, depth_at(play)) == ("01-01", "standard")
    play.step()
    play.picks("continue")
    assert (play.at, depth_at(play)) == ("01-02", "deep")


def test_words_in_an_answer_change_the_depth_from_the_next_step_on() -> None:
    play = Play(scan="standard").step("About twenty. Just the highlights, please.")
    assert depth_at(play) == "standard"
    play.picks("continue")
    assert depth_at(play) == "brief"


def test_words_in_feedback_change_the_depth_too() -> None:
    play = Play(scan="brief").step()
    play.says("I want more detail on that.")
    play.settle(replied("Good."))
    play.settle(TaskDone(FeedbackWritten(())))
    play.picks("continue")
    assert depth_at(play) == "deep"


def test_a_wish_made_before_the_scan_is_not_overruled_by_it() -> None:
    late = dataclasses.replace(Play(scan="brief").state, step=Step.SCANNING, active_depth="deep")
    assert ANALYSIS.advance(late, WorkspaceScanned("x", "brief")).active_depth == "deep"


# -- which steps are due -------------------------------------------------------------------------


def test_a_completed_step_is_not_taken_again() -> None:
    play = Play(completed=("00-01", "01-01"))
    assert play.at == "00-02"
    play.step()
    play.picks("continue")
    assert play.at == "01-02"


def test_an_analysis_that_was_complete_already_is_finished_at_once() -> None:
    play = Play(completed=tuple(step.id for step in STEPS))
    assert (play.state.step, play.state.status) == (Step.FINISHED, "analyzed")


def test_without_steps_there_is_nothing_to_analyse() -> None:
    with pytest.raises(InvalidInput):
        ANALYSIS.advance(ANALYSIS.initial, AnalysisOpened("x", "X", "local", (), VOICES))


def test_a_step_whose_dependencies_are_missing_is_left_out_with_the_reason() -> None:
    orphan = msgspec.structs.replace(STEPS[3], depends_on=("01-09", "01-01"))
    play = Play(STEPS[2], orphan, STEPS[4]).step()
    play.picks("continue")
    play.step()
    assert play.at == "02-01"
    assert play.state.left_out == ((orphan, "it needs 01-09 first"),)
    play.picks("continue")
    assert (play.state.status, play.state.phases_completed) == ("partial", ("02-impact-analysis",))


def test_a_step_that_waits_for_one_that_is_still_due_is_not_left_out() -> None:
    assert Play().state.left_out == ()


def test_a_step_that_does_not_apply_is_passed_over_and_holds_nothing_up() -> None:
    none = msgspec.structs.replace(STEPS[0], does_not_apply="there is no code")
    play = Play(none, *STEPS[1:])
    assert play.at == "00-02", "what depends on it does not wait"
    assert play.state.left_out == ((none, "there is no code"),)
    play.step()
    assert play.state.phases_completed == ("00-quick-scan",)


def test_a_step_can_be_for_some_depths_only() -> None:
    only_deep = msgspec.structs.replace(STEPS[1], skip_at=("brief", "standard"))
    shallow = Play(STEPS[0], only_deep, STEPS[2], scan="standard").step()
    assert shallow.state.left_out == ((only_deep, "the analysis is standard"),)
    shallow.picks("continue")
    assert shallow.at == "01-01"
    thorough = Play(STEPS[0], only_deep, STEPS[2], scan="standard").step("Please be thorough.")
    thorough.picks("continue")
    assert thorough.at == "00-02"


def test_if_the_scan_leaves_nothing_to_do_the_analysis_is_finished() -> None:
    only_deep = msgspec.structs.replace(STEPS[0], skip_at=("brief",))
    assert Play(only_deep, scan="brief").state.step is Step.FINISHED


def test_a_look_that_finds_nothing_is_not_taken_again() -> None:
    play = Play(completed=("00-01",))
    play.state = dataclasses.replace(play.state, scan="", step=Step.SCANNING)
    play.settle(TaskDone(WorkspaceScanned("", "brief")))
    assert play.state.step is Step.OPENING


def test_what_it_touches_is_looked_at_before_the_impact_phase() -> None:
    play = Play(completed=("00-01", "00-02", "01-01", "01-02"))
    assert play.asked() == LookForImpact("1")
    play.settle(TaskDone(ImpactLooked("2 files")))
    assert (play.at, play.state.impact) == ("02-01", "2 files")


# -- skipping ------------------------------------------------------------------------------------


def test_skipping_goes_to_the_next_phase_and_completes_nothing() -> None:
    play = Play().step()
    play.picks("skip-phase")
    assert (play.at, play.state.completed, play.state.phases_completed) == ("01-01", ("00-01",), ())
    assert play.state.left_out == ((STEPS[1], "the rest of its phase was skipped"),)


def skipped_to_the_end() -> Play:
    play = Play(*STEPS[:4]).step()
    play.picks("skip-phase")
    play.step()
    play.picks("skip-phase")
    return play


def test_what_was_skipped_is_offered_at_the_end() -> None:
    play = skipped_to_the_end()
    asked = play.asked()
    assert isinstance(asked, AskPerson)
    assert (play.state.step, play.state.status) == (Step.FINISHED, "partial")
    assert (asked.step, asked.optional, asked.expects) == (
        "skipped",
        True,
        "2 steps were skipped. Do them now?",
    )
    with pytest.raises(InvalidInput):
        play.says("Perhaps")
    assert play.picks("take-up") == SkippedTakenUp()
    assert play.at == "00-02"
    play.step()
    play.picks("continue")
    assert play.at == "01-02"
    play.step()
    play.picks("continue")
    assert (ANALYSIS.pending(play.state), play.state.status) == ((), "analyzed")


def test_one_skipped_step_is_one() -> None:
    play = Play(*STEPS[:2]).step()
    play.picks("skip-phase")
    asked = play.asked()
    assert isinstance(asked, AskPerson)
    assert asked.expects == "1 step was skipped. Do it now?"


# -- phases --------------------------------------------------------------------------------------


def test_the_status_goes_from_raw_through_partial_to_analyzed() -> None:
    assert ANALYSIS.initial.status == "raw"
    play = Play(*STEPS[:2])
    assert (play.state.status, play.state.phases_completed) == ("raw", ())
    play.step()
    assert (play.state.status, play.state.phases_completed) == ("partial", ())
    play.picks("continue")
    play.step()
    assert (play.state.status, play.state.phases_completed) == ("analyzed", ("00-quick-scan",))


# -- failures ------------------------------------------------------------------------------------


def failing(at: Step) -> Play:
    """Just before a model is asked."""
    play = Play()
    if at is Step.OPENING:
        return play
    if at in (Step.READING, Step.ASSESSING):
        play.opens().says("Why?" if at is Step.READING else "Twenty.")
        return play
    play.step()
    if at is Step.FEEDBACK:
        play.says("You forgot the tunnels.")
        return play
    play.roundtable()
    play.picks("ask-board")
    play.picks("question-1")
    if at is Step.BOARD:
        play.settle(TaskDone(BoardCalled("7")))
    return play


FAILURES: dict[Step, Outcome] = {
    Step.OPENING: PersonaFailed("ProviderDown", "529"),
    Step.READING: DraftFailed("ProviderDown", "529"),
    Step.ASSESSING: DraftFailed("DraftInvalid", "no JSON", "Well, …"),
    Step.FEEDBACK: DraftFailed("ProviderDown", "529"),
    Step.CALLING: TaskFailed("StoreFailed", "no database"),
    Step.BOARD: TaskFailed("ReplyEmpty", "the board gave no brief"),
}


@pytest.mark.parametrize("at", FAILURES)
def test_what_failed_is_said_and_can_be_tried_again_where_it_was(at: Step) -> None:
    play = failing(at)
    before = play.asked()
    failed = play.settle(FAILURES[at])
    assert isinstance(failed, ModelFailed)
    assert play.state.failure == failed
    assert failed.raw == ("Well, …" if at is Step.ASSESSING else "")
    asked = play.asked()
    assert isinstance(asked, AskPerson)
    assert (asked.step, asked.optional) == ("failed", True)
    with pytest.raises(InvalidInput):
        play.says("Why?")
    assert play.picks("retry") == TriedAgain()
    after = play.state
    assert (after.failure, after.step) == (None, at)
    again = play.asked()
    assert type(again) is type(before)
    assert again != before, "an asking of its own"


@pytest.mark.parametrize("at", FAILURES)
def test_what_a_step_can_do_without_can_be_given_up(at: Step) -> None:
    play = failing(at)
    play.settle(FAILURES[at])
    if at in (Step.OPENING, Step.READING, Step.ASSESSING):
        assert list(play.choices()) == ["retry"]
        with pytest.raises(InvalidInput):
            play.picks("to-menu")
        with pytest.raises(IllegalMove):
            play.put(Withdrawn())
        return
    assert list(play.choices()) == ["retry", "to-menu"]
    assert play.picks("to-menu") == Withdrawn()
    assert (play.state.step, play.state.failure, play.state.pending_feedback) == (Step.MENU, None, "")
    assert play.state.board_question == ""
    assert "ask-board" in play.choices() or at is Step.FEEDBACK, "the question is still open"


def test_nothing_else_happens_while_a_failure_waits() -> None:
    play = failing(Step.OPENING)
    play.settle(FAILURES[Step.OPENING])
    with pytest.raises(IllegalMove):
        play.put(StepOpened("00-01", "Who?", BILL))
    with pytest.raises(IllegalMove):
        Play().put(TriedAgain())


# -- step files ----------------------------------------------------------------------------------

OWN = StepRef("01-01b", "Tunnels", "01-requirements", "the-digger", "brief", ("spec.md",))


def changed(*steps: StepRef) -> StepsRead:
    return StepsRead(steps, (*VOICES, Voice("the-digger", "The Digger", "Digger")))


def test_a_step_that_was_added_is_taken_in_its_place() -> None:
    play = Play(completed=("00-01", "00-02")).step()
    assert play.at == "01-01"
    play.files = changed(*STEPS[:3], OWN, *STEPS[3:])
    play.picks("continue")
    assert (play.at, play.state.step) == ("01-01b", Step.OPENING)
    assert play.asked() == AskPersona("the-digger", "analysis/open", str(play.state.happened))
    assert play.state.voice("the-digger").name == "The Digger"
    play.step().picks("continue")
    assert play.at == "01-02"


def test_a_step_whose_file_is_gone_is_not_opened_and_what_was_completed_stays_so() -> None:
    play = Play(completed=("00-01", "00-02")).step()
    play.files = changed(*STEPS[:2], *STEPS[4:])
    play.picks("continue")
    assert play.state.step is Step.LOOKING, "the next is of another phase"
    play.step()
    assert (play.at, play.state.completed) == ("02-01", ("00-01", "00-02", "01-01", "02-01"))
    assert "01-02" not in [ref.id for ref in play.state.steps]


def test_a_finished_analysis_goes_on_with_a_step_that_was_added() -> None:
    play = Play(completed=tuple(step.id for step in STEPS))
    play.put(StepsRead((*STEPS[:3], OWN, *STEPS[3:]), VOICES))
    assert (play.state.step, play.at) == (Step.OPENING, "01-01b")
    assert play.state.status == "partial"


def test_steps_are_read_once_before_each_is_opened() -> None:
    play = Play(completed=("00-01", "00-02")).step()
    play.picks("continue")
    play.step()
    reads = [number for number, event in enumerate(play.events) if isinstance(event, StepsRead)]
    opens = [number for number, event in enumerate(play.events) if isinstance(event, StepOpened)]
    assert reads == [number - 1 for number in opens]


def test_a_log_of_an_earlier_version_opens_steps_without_reading_them() -> None:
    state = ANALYSIS.advance(_unread(), StepOpened("00-01", "Who?", BILL))
    assert state.step is Step.ANSWERING


# -- roundtables ---------------------------------------------------------------------------------


def test_a_roundtable_leads_back_to_the_same_menu_with_its_insights() -> None:
    play = Play().step()
    before = play.choices()
    play.roundtable("Alex, what about conflicts?")
    assert (play.state.step, play.at, play.state.roundtable) == (Step.MENU, "00-01", None)
    assert {key: label for key, label in play.choices().items() if key != "ask-board"} == before
    (held,) = play.state.elaborations
    assert (held.step, held.summary) == ("00-01", "we found that conflicts have to be shown")
    assert held.open_questions == ("Who merges?", "Who pays?")
    assert play.state.turns > 4, "its replies are on the bill"
    play.picks("continue")
    assert play.at == "00-02"


def test_a_roundtable_can_be_held_again_and_at_the_end_of_a_phase() -> None:
    play = Play().step()
    play.roundtable().roundtable()
    assert [held.step for held in play.state.elaborations] == ["00-01", "00-01"]
    play.picks("continue")
    play.step().roundtable()
    assert [held.step for held in play.state.elaborations] == ["00-01", "00-01", "00-02"]


def test_a_roundtable_that_could_not_be_opened_leads_back_to_the_menu() -> None:
    play = Play().step()
    play.picks("elaborate")
    play.settle(TaskFailed("FileDamaged", "bad panel"))
    assert (play.state.step, play.state.elaborations) == (Step.MENU, ())


def test_the_first_thing_of_a_roundtable_is_never_a_model() -> None:
    play = Play().step()
    play.picks("elaborate")
    assert play.asked() == OpenRoundtable("1")
    play.settle(TaskDone(seated(STEPS[0])))
    assert play.state.roundtable is not None
    assert [said.kind for said in play.state.roundtable.transcript] == ["introduction"]


# -- the Board on an open question ---------------------------------------------------------------


def test_without_an_open_question_there_is_no_board() -> None:
    assert "ask-board" not in Play().step().choices()


def test_the_board_is_asked_an_open_question_once() -> None:
    play = Play().step().roundtable()
    assert play.choices()["ask-board"] == "Convene the Board on an open question"
    play.picks("ask-board")
    assert play.choices() == {"question-1": "Who merges?", "question-2": "Who pays?", "none": "None of them"}
    for wrong in ("question-3", "question-0", "2", "who"):
        with pytest.raises(InvalidInput):
            play.picks(wrong)
    with pytest.raises(InvalidInput):
        play.says("Who pays?")
    assert play.picks("question-2") == QuestionPut("Who pays?")
    assert play.asked() == CallBoard(str(play.state.happened))
    play.settle(TaskDone(BoardCalled("s-7")))
    assert (play.state.board_session, play.asked()) == ("s-7", ConveneBoard(str(play.state.happened)))
    play.settle(TaskDone(BoardAnswered("Who pays?", "s-7", "board-s-7.md", "The reader.")))
    assert (play.state.step, play.state.board_session) == (Step.MENU, "")
    assert play.state.open_questions == ("Who merges?",)
    play.picks("continue")
    assert "ask-board" not in play.step().choices(), "the questions of another step"


def test_one_can_think_better_of_the_board() -> None:
    play = Play().step().roundtable()
    play.picks("ask-board")
    assert play.picks("none") == QuestionPut("")
    assert (play.state.step, "ask-board" in play.choices()) == (Step.MENU, True)


def test_only_open_questions_are_put() -> None:
    play = Play().step().roundtable()
    play.picks("ask-board")
    with pytest.raises(InvalidInput):
        play.put(QuestionPut("What is love?"))


# -- all moves -----------------------------------------------------------------------------------

EVENTS: dict[type, AnalysisEvent] = {
    AnalysisOpened: AnalysisOpened("x", "X", "local", STEPS, VOICES),
    StepsRead: StepsRead(STEPS, VOICES),
    WorkspaceScanned: WorkspaceScanned("x", "brief"),
    ImpactLooked: ImpactLooked("x"),
    StepOpened: StepOpened("00-01", "Who?", BILL),
    AnswerGiven: AnswerGiven("00-01", "Twenty."),
    AnswerRead: AnswerRead("00-01", "How many.", False, BILL),
    StepAssessed: StepAssessed("00-01", "Settled.", {}),
    StepCompleted: StepCompleted("00-01", ()),
    MenuChosen: MenuChosen("C"),
    FeedbackGiven: FeedbackGiven("Tunnels."),
    FeedbackTaken: FeedbackTaken("Yes.", {}, BILL),
    FeedbackWritten: FeedbackWritten(()),
    QuestionPut: QuestionPut(""),
    BoardCalled: BoardCalled("s-7"),
    BoardAnswered: BoardAnswered("Who pays?", "s-7", "f", "r"),
    ModelFailed: ModelFailed("ProviderDown", "529"),
    TriedAgain: TriedAgain(),
    Withdrawn: Withdrawn(),
    SkippedTakenUp: SkippedTakenUp(),
}


def _written() -> Play:
    play = Play().opens()
    play.says("Twenty.")
    play.settle(assessed())
    return play


def _amending() -> Play:
    play = failing(Step.FEEDBACK)
    play.settle(replied())
    return play


def _choosing() -> Play:
    play = Play().step().roundtable()
    play.picks("ask-board")
    return play


def _unscanned() -> AnalysisState:
    return ANALYSIS.advance(ANALYSIS.initial, EVENTS[AnalysisOpened])


def _unread() -> AnalysisState:
    return ANALYSIS.advance(_unscanned(), EVENTS[WorkspaceScanned])


def _failed(at: Step) -> AnalysisState:
    play = failing(at)
    play.settle(FAILURES[at])
    return play.state


PLACES: dict[str, tuple[Callable[[], AnalysisState], set[type]]] = {
    "unopened": (lambda: ANALYSIS.initial, {AnalysisOpened}),
    "scanning": (_unscanned, {WorkspaceScanned}),
    "looking": (lambda: Play(completed=("00-01", "00-02", "01-01", "01-02")).state, {ImpactLooked}),
    "steps unread": (_unread, {StepsRead, StepOpened, ModelFailed}),
    "opening": (lambda: Play().state, {StepOpened, ModelFailed}),
    "answering": (lambda: Play().opens().state, {AnswerGiven}),
    "reading": (lambda: failing(Step.READING).state, {AnswerRead, ModelFailed}),
    "assessing": (lambda: failing(Step.ASSESSING).state, {StepAssessed, ModelFailed}),
    "writing": (lambda: _written().state, {StepCompleted}),
    "menu": (lambda: Play().step().state, {MenuChosen, FeedbackGiven}),
    "feedback": (lambda: failing(Step.FEEDBACK).state, {FeedbackTaken, ModelFailed}),
    "amending": (lambda: _amending().state, {FeedbackWritten}),
    "choosing": (lambda: _choosing().state, {QuestionPut}),
    "calling": (lambda: failing(Step.CALLING).state, {BoardCalled, ModelFailed}),
    "board": (lambda: failing(Step.BOARD).state, {BoardAnswered, ModelFailed}),
    "opening failed": (lambda: _failed(Step.OPENING), {TriedAgain}),
    "board failed": (lambda: _failed(Step.BOARD), {TriedAgain, Withdrawn}),
    "skipped": (lambda: skipped_to_the_end().state, {SkippedTakenUp, StepsRead}),
    "finished": (lambda: Play(completed=tuple(step.id for step in STEPS)).state, {StepsRead}),
}


def test_the_table_knows_every_event() -> None:
    own = {kind for _, kind in TRANSITIONS} - {kind for _, kind in OF_ROUNDTABLES}
    assert own == set(EVENTS)
    assert {kind for _, kinds in PLACES.values() for kind in kinds} == set(EVENTS)
    assert {at for at, _ in TRANSITIONS} | {Step.FINISHED} == set(Step)


@pytest.mark.parametrize("place", PLACES)
def test_exactly_the_legal_events_happen_and_lead_where_the_table_says(place: str) -> None:
    make, legal = PLACES[place]
    state = make()
    happened = set()
    for kind, event in EVENTS.items():
        try:
            after = ANALYSIS.advance(state, event)
        except IllegalMove:
            continue
        happened.add(kind)
        check_step(TRANSITIONS[state.step, kind], after.step)
    assert happened == legal


def test_an_outcome_that_does_not_fit_is_a_mistake_of_ours() -> None:
    for effect in (WriteArtifacts("1"), AskPerson("x", "y", "1"), DraftReply("x", "1")):
        with pytest.raises(AssertionError):
            ANALYSIS.record(Play().state, effect, PersonaSpoke("x", BILL))


# -- whatever happens ----------------------------------------------------------------------------

WORDS = [
    *("", "done", "Twenty people.", "go deep"),
    *(
        "What do you mean?",
        "Alex, why?",
        "just the highlights",
        "You forgot the tunnels.",
        "x" * (MAX_ANSWER + 1),
    ),
]


def outcome_of(play: Play, effect: Effect, choice: int) -> Outcome:
    """Of a world in which anything may fail."""
    if isinstance(effect, AskPerson):
        chosen = [PersonAnswered(choice=one.id) for one in effect.choices]
        answers = [*chosen, *chosen, *map(PersonAnswered, WORDS)]
        return answers[choice % len(answers)]
    if play.state.step is Step.ROUNDTABLE:
        return play._at_table(effect, ())
    if choice % 6 == 0 and play.state.step in FAILURES:
        return FAILURES[play.state.step]
    match effect:
        case AskPersona():
            return PersonaSpoke("Who needs it?", BILL)
        case DraftReply("analysis/assess"):
            return assessed("And who else?" if choice % 2 else "")
        case DraftReply("analysis/read"):
            return read("How many." if choice % 3 else "", answers=choice % 2 == 0)
        case DraftReply():
            return replied()
        case ScanWorkspace():
            return TaskDone(WorkspaceScanned("x", DEPTHS[choice % 3]))
        case _:
            return done(play.state, effect)


def done(state: AnalysisState, effect: Effect) -> TaskDone:
    at = state.current.ref.id if state.current else ""
    events: dict[type, AnalysisEvent] = {
        ReadSteps: StepsRead(),
        ScanWorkspace: WorkspaceScanned("x", "standard"),
        LookForImpact: ImpactLooked("x"),
        WriteArtifacts: StepCompleted(at, ("x.md",)),
        AmendArtifacts: FeedbackWritten(()),
        CallBoard: BoardCalled("s"),
        ConveneBoard: BoardAnswered(state.board_question, "s", "f", "r"),
    }
    return TaskDone(events[type(effect)])


FOUND = (
    StepsRead(),
    changed(*STEPS[:3], OWN, *STEPS[3:]),
    changed(*STEPS[:1], *STEPS[2:]),
    changed(*STEPS),
)


def played(choices: Iterable[int], steps: tuple[StepRef, ...] = STEPS) -> Play:
    play = Play.__new__(Play)
    play.events, play.state = [], ANALYSIS.initial
    play.put(AnalysisOpened("offline-mode", "Offline mode", "local", steps, VOICES))
    for choice in choices:
        play.files = FOUND[choice % len(FOUND)]
        pending = ANALYSIS.pending(play.state)
        if not pending:
            break
        try:
            play.settle(outcome_of(play, pending[0], choice))
        except InvalidInput:
            assert isinstance(pending[0], AskPerson)
    return play


@settings(max_examples=100, deadline=None)
@given(choices=st.lists(st.integers(0, 1000), max_size=200), at=st.integers(0, 200))
def test_whatever_happens_the_promises_hold(choices: list[int], at: int) -> None:
    play = played(choices)
    state = ANALYSIS.initial
    asked: set[Effect] = set()
    for number, event in enumerate(play.events):
        before, state = state, ANALYSIS.advance(state, event)
        assert ANALYSIS.decode(ANALYSIS.encode(event)) == event
        check_step(TRANSITIONS[before.step, type(event)], state.step)
        assert sum(not interrupts(effect) for effect in ANALYSIS.pending(state)) <= 1
        assert len(set(state.completed)) == len(state.completed)
        assert set(before.completed) <= set(state.completed)
        assert [record.ref.id for record in state.done] == list(state.completed)
        if isinstance(event, AnswerRead) and event.reply and not event.answers:
            assert before.current is not None
            assert state.current is not None
            *kept, (question, asked_back) = before.current.exchanges
            assert (state.step, state.question) == (Step.ANSWERING, question)
            assert state.current.exchanges == tuple(kept)
            assert state.current.asked_back[-1].text == asked_back
        if state.step is Step.MENU:
            assert state.current is not None
            assert state.current.ref.id == state.completed[-1]
        if state.step is not Step.ROUNDTABLE:
            fresh = set(ANALYSIS.pending(state))
            assert not fresh & asked, "two askings are told apart"
            asked |= fresh
        if number + 1 == at:
            logged = [ANALYSIS.decode(ANALYSIS.encode(each)) for each in play.events[:at]]
            assert ANALYSIS.fold(logged) == state


def test_a_requirement_of_the_matter_is_no_wish_for_a_depth() -> None:
    play = Play(scan="deep").step("The page has to be quick.")
    play.picks("continue")
    assert depth_at(play) == "deep"


def test_what_an_earlier_version_has_read_in_its_own_way_stays_read_so() -> None:
    step = STEPS[0].id
    old = ANALYSIS.decode(
        f'{{"type": "AnswerGiven", "step": "{step}", "text": "It must be quick."}}'.encode()
    )
    state = Play(scan="deep").opens().state
    assert ANALYSIS.advance(state, old).active_depth == "brief"
    assert ANALYSIS.advance(state, AnswerGiven(step, "It must be quick.", "unchanged")).active_depth == "deep"
