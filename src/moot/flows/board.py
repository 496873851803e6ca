"""The Board: a decision, probing questions, advisors, challenges, and a brief that keeps the dissent.

Where a session stands is derived from what has happened, never stored: see `BoardState.step`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

import msgspec

from moot.errors import IllegalMove, InvalidInput
from moot.flows.flow import (
    AskPerson,
    AskPersona,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Event,
    Flow,
    Option,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
    Spoken,
)

MAX_DECISION = 5_000
MAX_CHALLENGE = 2_000
MAX_CHALLENGES = 10
MAX_ANSWERS = 10
MAX_ANSWER = 1_000
MAX_MEMBERS = 20
MAX_FILE_NAME = 1_000
RECORD_ENDINGS = (".md", ".json", ".html")

Mode = Literal["independent", "sequential"]


# -- the brief -----------------------------------------------------------------------------------


class Consensus(msgspec.Struct, frozen=True):
    areas: tuple[str, ...]
    strength: Literal["strong", "moderate", "weak"]


class Tension(msgspec.Struct, frozen=True):
    between: tuple[str, ...]
    issue: str
    implication: str


class Recommendation(msgspec.Struct, frozen=True):
    summary: str
    confidence: Literal["high", "moderate", "low"]
    conditions: tuple[str, ...]


class Brief(msgspec.Struct, frozen=True, rename="camel"):
    consensus: Consensus
    tensions: tuple[Tension, ...]
    blind_spots: tuple[str, ...]
    recommendation: Recommendation


# -- what happens --------------------------------------------------------------------------------


class Member(msgspec.Struct, frozen=True):
    """An advisor as the session knows it, so that a record stays readable when a file is renamed."""

    id: str
    name: str
    role: str
    contribution: str


class Question(msgspec.Struct, frozen=True):
    id: str
    question: str
    hint: str = ""


class Answer(msgspec.Struct, frozen=True):
    question: str
    answer: str


class DecisionPresented(Event, frozen=True):
    """`members` are in speaking order. `model` is the session's: challenges and brief keep to it."""

    decision: str
    members: tuple[Member, ...]
    mode: Mode
    model: str


class QuestionsDrafted(Event, frozen=True):
    questions: tuple[Question, ...]
    spoken: Spoken


class QuestionsFailed(Event, frozen=True):
    kind: str
    message: str
    retry_after: float | None = None


class QuestionAnswered(Event, frozen=True):
    """One probing question, in its turn; an empty answer skips it."""

    question: str
    answer: str


class BoardConvened(Event, frozen=True):
    answers: tuple[Answer, ...] = ()


class AdvisorSpoke(Event, frozen=True):
    persona: str
    text: str
    spoken: Spoken


class AdvisorFailed(Event, frozen=True):
    persona: str
    kind: str
    message: str


class AdvisorRetried(Event, frozen=True):
    persona: str


class ChallengeMade(Event, frozen=True):
    persona: str
    text: str


class ChallengeReplied(Event, frozen=True):
    persona: str
    text: str
    spoken: Spoken


class ChallengeWithdrawn(Event, frozen=True):
    """The person went on before the reply was whole, or the reply failed: as if it had not been made.
    `kind` and `message` say why, where it failed."""

    persona: str
    kind: str = ""
    message: str = ""
    retry_after: float | None = None


class AdvisorPassed(Event, frozen=True):
    """The person has heard enough of this advisor, and turns to the next."""

    persona: str


class BriefRequested(Event, frozen=True):
    """Somebody wants to read the brief, or wants a failed one tried again."""


class BriefDrafted(Event, frozen=True):
    brief: Brief
    spoken: Spoken


class BriefFailed(Event, frozen=True):
    kind: str
    message: str
    raw: str = ""
    retry_after: float | None = None


class RecordRequested(Event, frozen=True):
    """Somebody wants the record in a file."""

    file: str


BoardEvent = (
    DecisionPresented
    | QuestionsDrafted
    | QuestionsFailed
    | QuestionAnswered
    | BoardConvened
    | AdvisorSpoke
    | AdvisorFailed
    | AdvisorRetried
    | ChallengeMade
    | ChallengeReplied
    | ChallengeWithdrawn
    | AdvisorPassed
    | BriefRequested
    | BriefDrafted
    | BriefFailed
    | RecordRequested
)


class Step(StrEnum):
    UNOPENED = "unopened"
    QUESTIONS = "questions"
    ANSWERS = "answers"
    ADVISORS = "advisors"
    BRIEF = "brief"
    REVIEW = "review"


_EARLIER = (Step.ADVISORS, Step.BRIEF, Step.REVIEW)

TRANSITIONS: dict[tuple[Step, type[Event]], tuple[Step, ...]] = {
    (Step.UNOPENED, DecisionPresented): (Step.QUESTIONS,),
    (Step.QUESTIONS, QuestionsDrafted): (Step.ANSWERS,),
    (Step.QUESTIONS, QuestionsFailed): (Step.ANSWERS,),
    (Step.QUESTIONS, BoardConvened): (Step.ADVISORS,),
    (Step.ANSWERS, QuestionAnswered): (Step.ANSWERS,),
    (Step.ANSWERS, BoardConvened): (Step.ADVISORS,),
    (Step.ADVISORS, AdvisorSpoke): (Step.ADVISORS, Step.BRIEF, Step.REVIEW),
    (Step.ADVISORS, AdvisorFailed): (Step.ADVISORS, Step.BRIEF, Step.REVIEW),
    **{(step, AdvisorRetried): (Step.ADVISORS,) for step in _EARLIER},
    **{(step, ChallengeMade): (step,) for step in _EARLIER},
    **{(step, ChallengeReplied): (step,) for step in _EARLIER},
    **{(step, ChallengeWithdrawn): (step,) for step in _EARLIER},
    (Step.BRIEF, BriefDrafted): (Step.REVIEW,),
    (Step.BRIEF, BriefFailed): (Step.REVIEW,),
    (Step.REVIEW, AdvisorPassed): (Step.REVIEW,),
    (Step.REVIEW, BriefRequested): (Step.BRIEF, Step.REVIEW),
    (Step.REVIEW, RecordRequested): (Step.REVIEW,),
}
"""Which event may happen where, and the steps that it can lead to: which of them follows from the state."""


# -- the state -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exchange:
    """A challenge and its reply; at most one in a session is without its reply, and it is the latest."""

    challenge: str
    reply: str | None = None
    spoken: Spoken | None = None


@dataclass(frozen=True, slots=True)
class Advisor:
    member: Member
    text: str | None = None
    spoken: Spoken | None = None
    failure: AdvisorFailed | None = None
    attempts: int = 1
    exchanges: tuple[Exchange, ...] = ()
    passed: bool = False

    @property
    def settled(self) -> bool:
        return self.text is not None or self.failure is not None

    @property
    def replied(self) -> tuple[Exchange, ...]:
        """Only what is complete."""
        return tuple(exchange for exchange in self.exchanges if exchange.reply is not None)

    @property
    def challenged(self) -> bool:
        """Whether a challenge waits for its reply."""
        return len(self.replied) < len(self.exchanges)


@dataclass(frozen=True, slots=True)
class BoardState:
    decision: str = ""
    mode: Mode = "independent"
    model: str = ""
    questions: tuple[Question, ...] | None = None
    questions_failure: QuestionsFailed | None = None
    answered: tuple[Answer, ...] = ()
    """One for each probing question that has had its turn, skipped ones too."""
    convened: bool = False
    answers: tuple[Answer, ...] = ()
    advisors: tuple[Advisor, ...] = ()
    brief: Brief | None = None
    brief_basis: int = 0
    brief_failure: BriefFailed | None = None
    brief_requested: bool = False
    brief_read: bool = False
    challenges_made: int = 0
    bills: tuple[Spoken, ...] = ()

    @property
    def step(self) -> Step:
        if not self.decision:
            return Step.UNOPENED
        if not self.convened:
            return Step.QUESTIONS if self.questions is None else Step.ANSWERS
        if not all(advisor.settled for advisor in self.advisors):
            return Step.ADVISORS
        first_is_due = self.brief is None and self.brief_failure is None and self.contributions > 0
        return Step.BRIEF if first_is_due or self.brief_requested else Step.REVIEW

    @property
    def contributions(self) -> int:
        """Everything that a brief is made from: first views and replies."""
        return sum((advisor.text is not None) + len(advisor.replied) for advisor in self.advisors)

    @property
    def turns(self) -> int:
        return self.contributions

    @property
    def brief_stale(self) -> bool:
        return self.brief is not None and self.brief_basis != self.contributions

    @property
    def next_question(self) -> Question | None:
        rest = (self.questions or ())[len(self.answered) :]
        return rest[0] if rest else None

    @property
    def floor(self) -> Advisor | None:
        """Whom the person hears out next, on their way to the brief."""
        unheard = (a for a in self.advisors if a.text is not None and not a.passed)
        return None if self.brief_read else next(unheard, None)

    def advisor(self, persona: str) -> Advisor:
        for advisor in self.advisors:
            if advisor.member.id == persona:
                return advisor
        raise InvalidInput("personaId", f"{persona[:80]!r} is not an advisor of this session")

    def _with(self, changed: Advisor) -> BoardState:
        advisors = tuple(changed if a.member.id == changed.member.id else a for a in self.advisors)
        return replace(self, advisors=advisors)

    def _without_open_exchange(self) -> BoardState:
        return replace(self, advisors=tuple(replace(a, exchanges=a.replied) for a in self.advisors))


# -- advance -------------------------------------------------------------------------------------


def advance(state: BoardState, event: BoardEvent) -> BoardState:
    if (state.step, type(event)) not in TRANSITIONS:
        allowed = tuple(kind.__name__ for at, kind in TRANSITIONS if at is state.step)
        raise IllegalMove(type(event).__name__, state.step, allowed)
    match event:
        case DecisionPresented():
            return _present(event)
        case QuestionsDrafted(questions, spoken):
            return replace(state, questions=questions, bills=(*state.bills, spoken))
        case QuestionsFailed():
            # The questions are a help, not a hurdle: without them the board can still be convened.
            return replace(state, questions=(), questions_failure=event)
        case QuestionAnswered(question, text):
            asked = state.next_question
            if asked is None or asked.id != question:
                raise IllegalMove(type(event).__name__, f"{state.step}, {question}")
            answer = Answer(asked.question, text)
            _check_answers((answer,))
            return replace(state, answered=(*state.answered, answer))
        case BoardConvened(answers):
            _check_answers(answers)
            given = tuple(answer for answer in answers if answer.answer.strip())
            return replace(state, convened=True, answers=given)
        case BriefRequested():
            # A first brief that failed needs no request of its own: without its failure it is due again.
            return replace(state, brief_requested=state.brief_stale, brief_failure=None, brief_read=True)
        case RecordRequested(file):
            _check_record_file(file)
            return state
        case BriefDrafted(brief, spoken):
            return replace(
                state,
                brief=brief,
                brief_basis=state.contributions,
                brief_requested=False,
                bills=(*state.bills, spoken),
            )
        case BriefFailed():
            return replace(state, brief_failure=event, brief_requested=False)
        case _:
            return _at_the_table(state, event)


def _at_the_table(
    state: BoardState,
    event: AdvisorSpoke
    | AdvisorFailed
    | AdvisorRetried
    | ChallengeMade
    | ChallengeReplied
    | ChallengeWithdrawn
    | AdvisorPassed,
) -> BoardState:
    """What an advisor says, or is told."""
    advisor = state.advisor(event.persona)
    match event:
        case AdvisorSpoke(_, text, spoken) if not advisor.settled:
            said = replace(advisor, text=text, spoken=spoken)
            return replace(state._with(said), bills=(*state.bills, spoken))
        case AdvisorFailed() if not advisor.settled:
            return state._with(replace(advisor, failure=event))
        case AdvisorRetried() if advisor.failure is not None:
            return state._with(replace(advisor, failure=None, attempts=advisor.attempts + 1))
        case ChallengeMade(_, text):
            _check_challenge(advisor, text)
            # A new challenge takes the floor: one that still waits for its reply is as if never made.
            cleared = state._without_open_exchange()
            advisor = cleared.advisor(event.persona)
            made = replace(advisor, exchanges=(*advisor.exchanges, Exchange(text)))
            return replace(cleared._with(made), challenges_made=state.challenges_made + 1)
        case ChallengeReplied(_, text, spoken) if advisor.challenged:
            replied = replace(advisor.exchanges[-1], reply=text, spoken=spoken)
            done = replace(advisor, exchanges=(*advisor.replied, replied))
            return replace(state._with(done), bills=(*state.bills, spoken))
        case ChallengeWithdrawn() if advisor.challenged:
            return state._without_open_exchange()
        case AdvisorPassed() if advisor.text is not None and not advisor.passed:
            return state._with(replace(advisor, passed=True))
        case _:
            raise IllegalMove(type(event).__name__, f"{state.step}, {advisor.member.id}")


def _present(event: DecisionPresented) -> BoardState:
    check_text("decision", event.decision, MAX_DECISION)
    if not 1 <= len(event.members) <= MAX_MEMBERS:
        raise InvalidInput(
            "panel", f"has {len(event.members)} members; 1 to {MAX_MEMBERS} can sit on a board"
        )
    if len({member.id for member in event.members}) < len(event.members):
        raise InvalidInput("panel", "names an advisor twice")
    return BoardState(
        decision=event.decision,
        mode=event.mode,
        model=event.model,
        advisors=tuple(Advisor(member) for member in event.members),
    )


def check_text(field: str, text: str, most: int) -> None:
    """A text of exactly the limit passes."""
    if not text.strip():
        raise InvalidInput(field, "is empty")
    _check_fits(field, text, most)


def _check_fits(field: str, text: str, most: int) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidInput(field, "contains bytes that are no UTF-8 text")
    if len(text) > most:
        raise InvalidInput(field, f"has {len(text):,} characters; at most {most:,} are taken")


def _check_answers(answers: tuple[Answer, ...]) -> None:
    if len(answers) > MAX_ANSWERS:
        raise InvalidInput("answers", f"has {len(answers)} items; at most {MAX_ANSWERS} are taken")
    for number, answer in enumerate(answers):
        _check_fits(f"answers[{number}].question", answer.question, MAX_ANSWER)
        _check_fits(f"answers[{number}].answer", answer.answer, MAX_ANSWER)


def _check_challenge(advisor: Advisor, text: str) -> None:
    check_text("challengeText", text, MAX_CHALLENGE)
    if advisor.text is None:
        raise InvalidInput("personaId", f"{advisor.member.name} has not spoken yet")
    if len(advisor.replied) > MAX_CHALLENGES:
        raise InvalidInput(
            "priorChallenges",
            f"{advisor.member.name} has replied to {len(advisor.replied)} challenges; "
            f"at most {MAX_CHALLENGES} may come before another",
        )


def _check_record_file(file: str) -> None:
    _check_fits("file", file, MAX_FILE_NAME)
    if not file.lower().endswith(RECORD_ENDINGS):
        raise InvalidInput("file", f"{file!r} must end in {', '.join(RECORD_ENDINGS)}")


# -- pending and record --------------------------------------------------------------------------


def pending(state: BoardState) -> tuple[Effect, ...]:
    return tuple(_wanted(state))


def _wanted(state: BoardState) -> Iterator[Effect]:
    step = state.step
    if step is Step.QUESTIONS:
        yield DraftReply(QUESTIONS, "1")
    if step is Step.ADVISORS:
        speaking = [advisor for advisor in state.advisors if not advisor.settled]
        for advisor in speaking[:1] if state.mode == "sequential" else speaking:
            yield AskPersona(advisor.member.id, ADVISOR, str(advisor.attempts))
    if step in _EARLIER:
        for advisor in state.advisors:
            if advisor.challenged:
                yield AskPersona(advisor.member.id, CHALLENGE, str(state.challenges_made))
    if step is Step.BRIEF:
        # What it is made from is part of the asking: a reply that comes in meanwhile begins it anew.
        yield DraftReply(BRIEF, str(state.contributions))
    if step is Step.ANSWERS:
        yield _ask_for_answer(state)
    if step is Step.REVIEW and not any(advisor.challenged for advisor in state.advisors):
        yield _ask_for_challenge(state, state.floor) if state.floor else _ask_what_next(state)


QUESTIONS, ADVISOR, CHALLENGE, BRIEF = "board/questions", "board/advisor", "board/challenge", "board/brief"
"""Names of prompts."""


def record(state: BoardState, effect: Effect, outcome: Outcome) -> BoardEvent:
    match effect, outcome:
        case DraftReply(prompt="board/questions"), Drafted(value, spoken):
            # Numbered by the program: a model's ids would be one more thing to get wrong.
            asked = [{**one, "id": f"q{n}"} for n, one in enumerate(value["questions"], start=1)]
            return QuestionsDrafted(msgspec.convert(asked, tuple[Question, ...]), spoken)
        case DraftReply(prompt="board/questions"), DraftFailed(kind, message, _, retry_after):
            return QuestionsFailed(kind, message, retry_after)
        case AskPersona(persona, "board/advisor"), PersonaSpoke(text, spoken):
            return AdvisorSpoke(persona, text, spoken)
        case AskPersona(persona, "board/advisor"), PersonaFailed(kind, message):
            return AdvisorFailed(persona, kind, message)
        case AskPersona(persona, "board/challenge"), PersonaSpoke(text, spoken):
            return ChallengeReplied(persona, text, spoken)
        case AskPersona(persona, "board/challenge"), PersonaFailed(kind, message, retry_after):
            return ChallengeWithdrawn(persona, kind, message, retry_after)
        case DraftReply(prompt="board/brief"), Drafted(value, spoken):
            return BriefDrafted(msgspec.convert(value, Brief), spoken)
        case DraftReply(prompt="board/brief"), DraftFailed(kind, message, raw, retry_after):
            return BriefFailed(kind, message, raw, retry_after)
        case AskPerson(step="answers"), PersonAnswered(text):
            return _answered(state, text.strip())
        case AskPerson(step="challenge"), PersonAnswered(text) if state.floor is not None:
            return _challenged(state, state.floor, text.strip())
        case AskPerson(step="review"), PersonAnswered(text):
            return _chosen(state, text.strip())
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


# -- the person ----------------------------------------------------------------------------------

CONVENE = Option("c", "Convene the board now")
TO_THE_BRIEF = Option("b", "Go to the brief")


def _ask_for_answer(state: BoardState) -> AskPerson:
    question = state.next_question
    if question is None:
        return AskPerson(Step.ANSWERS, "c to convene the board", "convene", (CONVENE,))
    asked = f"{question.question} ({question.hint})" if question.hint else question.question
    return AskPerson(Step.ANSWERS, asked, question.id, (Option("", "Skip this question"), CONVENE))


def _answered(state: BoardState, text: str) -> BoardEvent:
    question = state.next_question
    if text.lower() == CONVENE.key:
        return BoardConvened(state.answered)
    if question is None:
        raise InvalidInput("answer", "there is no question to answer: c convenes the board")
    last = len(state.answered) + 1 == len(state.questions or ())
    if last:
        return BoardConvened((*state.answered, Answer(question.question, text)))
    return QuestionAnswered(question.id, text)


def _ask_for_challenge(state: BoardState, advisor: Advisor) -> AskPerson:
    after = _after(state, advisor)
    go_on = Option("", f"Go on to {after.member.name}" if after else TO_THE_BRIEF.label)
    options = (go_on, TO_THE_BRIEF) if after else (go_on,)
    occasion = f"{advisor.member.id} {state.challenges_made}"
    return AskPerson("challenge", f"a challenge to {advisor.member.name}", occasion, options, optional=True)


def _after(state: BoardState, advisor: Advisor) -> Advisor | None:
    return state._with(replace(advisor, passed=True)).floor


def _challenged(state: BoardState, advisor: Advisor, text: str) -> BoardEvent:
    if text.lower() == TO_THE_BRIEF.key or not (text or _after(state, advisor)):
        return BriefRequested()
    return ChallengeMade(advisor.member.id, text) if text else AdvisorPassed(advisor.member.id)


def _ask_what_next(state: BoardState) -> AskPerson:
    spoke = [f"{n} {a.member.name}" for n, a in enumerate(state.advisors, start=1) if a.text is not None]
    options = [Option("NUMBER TEXT", f"Challenge an advisor: {', '.join(spoke)}")] if spoke else []
    options += [
        Option(f"r {number}", f"Ask {advisor.member.name} again")
        for number, advisor in enumerate(state.advisors, start=1)
        if advisor.failure is not None
    ]
    if spoke:
        current = state.brief is not None and not state.brief_stale
        options.append(Option("b", "Show the brief" if current else "Write the brief anew"))
    options.append(Option("e FILE", f"Export the record: {', '.join(RECORD_ENDINGS)}"))
    occasion = f"{state.contributions} {state.challenges_made} {len(state.bills)}"
    return AskPerson(Step.REVIEW, "what next", occasion, tuple(options), optional=True)


def _chosen(state: BoardState, text: str) -> BoardEvent:
    word, _, rest = text.partition(" ")
    rest = rest.strip()
    match word.lower():
        case "b" if not rest:
            if state.contributions == 0:
                raise InvalidInput("b", "no advisor has spoken, so there is nothing to write a brief from")
            return BriefRequested()
        case "e" if rest:
            return RecordRequested(rest)
        case "r":
            return AdvisorRetried(_failed(state, rest).member.id)
        case number if rest and (advisor := _numbered(state, number.rstrip(":"))):
            return ChallengeMade(advisor.member.id, rest)
    raise InvalidInput("choice", f"{text[:80]!r} is none of those offered")


def _numbered(state: BoardState, number: str) -> Advisor | None:
    numbers = {str(n): advisor for n, advisor in enumerate(state.advisors, start=1)}
    return numbers.get(number)


def _failed(state: BoardState, number: str) -> Advisor:
    failed = [advisor for advisor in state.advisors if advisor.failure is not None]
    advisor = _numbered(state, number) if number else next(iter(failed), None)
    if advisor is None or advisor not in failed:
        raise InvalidInput("r", "name the number of an advisor who did not answer")
    return advisor


BOARD: Flow[BoardState, BoardEvent] = Flow(
    name="board", initial=BoardState(), events=BoardEvent, advance=advance, pending=pending, record=record
)
