"""The board in a terminal: who thinks and who speaks, the words in speaking order, the brief as a document.

Knows how things look. What an input means, and what happens next, the flow decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from moot.board.events import (
    AdvisorFailed,
    AdvisorRetried,
    AdvisorSpoke,
    BoardStopped,
    BriefDrafted,
    BriefFailed,
    BriefRequested,
    ChallengeReplied,
    ChallengeWithdrawn,
    ConditionTicked,
    QuestionsDrafted,
    QuestionsFailed,
    RecordRequested,
)
from moot.board.flow import ADVISOR, BRIEF, CHALLENGE, QUESTIONS
from moot.board.state import BoardState, Step
from moot.cli import screen
from moot.cli.narrator import Narrator, tell_bill, tell_unverified
from moot.cli.plain import visible
from moot.core.flow import AskPersona
from moot.evidence.citations import mark
from moot.text.small_model import SMALL_MODEL

if TYPE_CHECKING:
    from moot.board.events import Brief
    from moot.board.state import Advisor
    from moot.core.flow import Event, ModelEffect
    from moot.evidence.items import Evidence
    from moot.personas.library import Library

DRAFTS = {QUESTIONS: "The probing questions are being drafted", BRIEF: "The brief is being written"}


class BoardNarrator(Narrator):
    """Tells a session. Several advisors at once are told one after the other, each when it is whole; one who
    speaks alone is heard word by word. Only words and the brief go to stdout."""

    def __init__(
        self, library: Callable[[], Library], export: Callable[[str], None], *, words_to_stdout: bool
    ) -> None:
        super().__init__(library, words_to_stdout=words_to_stdout)
        self.brief_told = False
        self._tiny = False
        self._export = export
        self._words: dict[ModelEffect, int] = {}
        """How many words of each reply have come."""
        self._told: set[str] = set()
        self._state: Callable[[], BoardState] = BoardState

    def follow(self, state: Callable[[], BoardState], *, tiny: bool) -> None:
        """What has been said so far is told again, but it is not the result of this run."""
        self._tiny = tiny
        self._state = state
        for advisor in state().advisors:
            if advisor.settled:
                self._told.add(advisor.member.id)
                screen.say("\n".join(recounted(advisor)))

    @property
    def _evidence(self) -> Sequence[Evidence]:
        return self._state().background.evidence

    def _doing(self, effect: ModelEffect) -> str:
        if isinstance(effect, AskPersona):
            return f"{self._state().advisor(effect.persona).member.shown} is thinking ({self._model})"
        return DRAFTS[effect.prompt]

    def began(self, effect: ModelEffect, attempt: int) -> None:  # noqa: ARG002
        if effect in self._words:
            # It begins again: what was said so far is no part of the reply.
            self._end_words(" …")
        self._words[effect] = 0
        self._progress.begin(effect, self._doing(effect))

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:  # noqa: ARG002
        if not isinstance(effect, AskPersona):
            return
        advisor = self._state().advisor(effect.persona)
        if effect.prompt == ADVISOR and self._state().mode == "independent":
            self._words[effect] += len(text.split())
            heard = f"{self._words[effect]:,} words"
            self._progress.change(effect, f"{advisor.member.shown} is speaking: {heard}")
            return
        if self._wrapping is None:
            self._introduce(advisor)
        self._speak(text)

    def happened(self, event: Event) -> None:
        self._progress.hide()
        for effect in [one for one in self._words if _settles(event, one)]:
            self._progress.end(effect)
            del self._words[effect]
        was_heard = self._wrapping is not None
        self._end_words()
        match event:
            case AdvisorSpoke() | AdvisorFailed():
                self._tell_whole(was_heard=was_heard)
            case AdvisorRetried(persona):
                self._told -= (
                    {persona}
                    if persona
                    else {one.member.id for one in self._state().advisors if not one.settled}
                )
            case ChallengeReplied(persona, text, usage):
                if not was_heard:
                    # Another process has asked for it.
                    self._speak_whole(self._state().advisor(persona), text)
                tell_bill(usage)
                tell_unverified(text, self._evidence)
            case QuestionsDrafted(asked, usage):
                tell_bill(usage)
                screen.say(f"{len(asked)} probing questions, one after the other.", "dim")
            case BriefDrafted(_, usage):
                tell_bill(usage)
                self._tell_brief()
            case BriefRequested():
                self._tell_brief()
            case BriefFailed(kind, message, raw, wait):
                self._tell_failure(kind, message, raw=raw, wait=wait)
            case QuestionsFailed(kind, message, wait) | ChallengeWithdrawn(_, kind, message, wait):
                self._tell_failure(kind, message, wait=wait)
            case ConditionTicked():
                screen.say("\n".join(condition_lines(self._state(), screen.columns())))
            case RecordRequested(file):
                self._export(file)
        self._progress.show()

    def tell_brief(self) -> None:
        state = self._state()
        if state.brief is not None:
            self.brief_told = True
            brief = brief_lines(state, state.brief, self._measure, tiny=self._tiny)
            self._write("\n" + "\n".join(brief) + "\n")

    def _introduce(self, advisor: Advisor) -> None:
        name = screen.styled(advisor.member.shown, "bold", self._out)
        self._begin_words(f"\n{name} · {visible(advisor.member.role)}\n\n")

    def _speak_whole(self, advisor: Advisor, text: str) -> None:
        self._introduce(advisor)
        self._speak(text)
        self._end_words()

    def _tell_whole(self, *, was_heard: bool) -> None:
        """In speaking order, whoever is complete and has only complete ones before them."""
        for advisor in self._state().advisors:
            if not advisor.settled:
                return
            if advisor.member.id not in self._told:
                self._told.add(advisor.member.id)
                self._tell(advisor, was_heard=was_heard)

    def _tell(self, advisor: Advisor, *, was_heard: bool) -> None:
        if advisor.failure is not None:
            self._tell_silence(advisor, advisor.failure)
            return
        assert advisor.text is not None
        assert advisor.usage is not None
        if self._state().mode == "independent" or not was_heard:
            self._speak_whole(advisor, advisor.text)
        tell_bill(advisor.usage)
        tell_unverified(advisor.text, self._evidence)

    def _tell_silence(self, advisor: Advisor, failure: AdvisorFailed) -> None:
        """A reason that several share, such as a refused key, is said with the first of them."""
        first = next(
            one for one in self._state().failed if one.failure and one.failure.message == failure.message
        )
        name = advisor.member.shown
        if first is advisor:
            told = f"{name} did not answer. {failure.message}"
            self._tell_failure(failure.kind, told, wait=failure.retry_after)
        else:
            screen.say(f"{name} did not answer, for the same reason as {first.member.shown}.")

    def _tell_brief(self) -> None:
        """Once it is up to date and somebody wants to read it."""
        state = self._state()
        if state.step is Step.REVIEW and state.brief_read:
            self.tell_brief()


def _settles(event: Event, effect: ModelEffect) -> bool:
    match event:
        case AdvisorSpoke(persona) | AdvisorFailed(persona):
            return isinstance(effect, AskPersona) and effect.persona == persona and effect.prompt == ADVISOR
        case ChallengeReplied() | ChallengeWithdrawn():
            return effect.prompt == CHALLENGE
        case QuestionsDrafted() | QuestionsFailed() | BriefDrafted() | BriefFailed():
            return effect.prompt in DRAFTS
        case BoardStopped():
            return effect.prompt != CHALLENGE
        case _:
            return False


# -- documents -----------------------------------------------------------------------------------


def recounted(advisor: Advisor) -> Iterator[str]:
    """What an advisor said before, and what was said to them."""
    name = advisor.member.shown
    yield f"{name}:"
    yield mark(advisor.text, advisor.evidence) if advisor.text is not None else "did not answer."
    for exchange in advisor.replied:
        yield f"\nYou:\n{exchange.challenge}"
        yield f"\n{name}:\n{mark(exchange.reply or '', exchange.evidence)}"
    yield ""


def brief_lines(state: BoardState, brief: Brief, columns: int, *, tiny: bool = False) -> Iterator[str]:
    """The brief as a document: what to do first, then what it rests on, then what it does not know."""
    recommendation, consensus = brief.recommendation, brief.consensus

    def marked(text: str) -> str:
        return mark(text, state.brief_evidence)

    yield "THE BOARD'S BRIEF"
    if tiny:
        yield from _hung("", SMALL_MODEL, columns)
    if state.brief_stale:
        yield "Out of date: advisors have spoken since it was written."
    yield f"\nRecommendation (confidence: {recommendation.confidence})"
    yield from _hung("", marked(recommendation.summary), columns)
    yield f"\nAgreement ({consensus.strength})"
    yield from _points(map(marked, consensus.areas), columns)
    yield "\nTensions"
    for tension in brief.tensions:
        yield from _hung("- ", f"{' / '.join(tension.between)}: {marked(tension.issue)}", columns)
        yield from _hung("  ", marked(tension.implication), columns)
    if not brief.tensions:
        yield "None were found."
    yield "\nBlind spots"
    yield from _points(map(marked, brief.blind_spots), columns)
    yield "\nConditions"
    yield from condition_lines(state, columns)
    silent = [a for a in state.advisors if a.failure is not None]
    if silent:
        yield "\nWho did not answer"
        yield from _points((a.member.shown for a in silent), columns)


def condition_lines(state: BoardState, columns: int) -> Iterator[str]:
    """With the numbers by which they are ticked."""
    for number, (condition, ticked) in enumerate(state.conditions, start=1):
        yield from _hung(
            f"{number}. [{'x' if ticked else ' '}] ", mark(condition, state.brief_evidence), columns
        )
    if not state.conditions:
        yield "None were found."


def _points(items: Iterable[str], columns: int) -> Iterator[str]:
    listed = list(items)
    for item in listed:
        yield from _hung("- ", item, columns)
    if not listed:
        yield "None were found."


def _hung(mark: str, text: str, columns: int) -> Iterator[str]:
    return screen.hung(mark, visible(" ".join(text.split())), columns)
