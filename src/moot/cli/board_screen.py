"""The board in a terminal: who thinks and who speaks, the words in speaking order, the brief as a document.

Knows how things look. What an input means, and what happens next, the flow decides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from moot.cli.failures import NEXT_STEPS, sentence
from moot.cli.plain import Wrapping, visible
from moot.cli.terminal import bill
from moot.core.flow import AskPersona
from moot.text.small_model import SMALL_MODEL

if TYPE_CHECKING:
    from moot.board.events import Brief
    from moot.board.state import Advisor
    from moot.core.flow import Event, ModelEffect
    from moot.errors import MootError

UNWRAPPED = 10_000
DRAFTS = {QUESTIONS: "The probing questions are being drafted", BRIEF: "The brief is being written"}


# -- waiting -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Voice:
    """Somebody, or something, that is waited for."""

    label: str
    words: int = 0
    done: bool = False
    note: str = ""

    def line(self) -> str:
        doing = "done" if self.done else "speaking" if self.words else "thinking"
        words = f"{self.words:,} words" if self.words else ""
        return f"{self.label:<26} {self.note or doing:<9} {words}".rstrip()


class Waiting:
    """A live list on stderr of everybody who is waited for; without a terminal, a line for each."""

    def __init__(self) -> None:
        self._voices: dict[ModelEffect, Voice] = {}
        self._live: Any = None

    def begin(self, effect: ModelEffect, label: str, model: str) -> None:
        self._voices[effect] = Voice(label)
        if screen.coloured(sys.stderr):
            self.show()
        else:
            screen.say(f"{label} is thinking ({model}) …" if isinstance(effect, AskPersona) else f"{label} …")

    def heard(self, effect: ModelEffect, text: str) -> None:
        voice = self._voices.get(effect)
        if voice is not None:
            voice.words += len(text.split())
            voice.note = ""

    def wait(self, effect: ModelEffect, problem: str) -> None:
        if effect in self._voices:
            self._voices[effect].note = problem
        if not screen.coloured(sys.stderr):
            screen.say(problem)

    def end(self, belongs: Callable[[ModelEffect], bool]) -> None:
        for effect, voice in self._voices.items():
            voice.done = voice.done or belongs(effect)
        if all(voice.done for voice in self._voices.values()):
            self._voices.clear()

    def show(self) -> None:
        """Again, after `hide`, while somebody is still waited for."""
        if self._live is not None or not self._voices or not screen.coloured(sys.stderr):
            return
        from rich.console import Console
        from rich.live import Live

        self._live = Live(
            console=Console(stderr=True),
            get_renderable=self._table,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def hide(self) -> None:
        """Leaves the screen to words."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _table(self) -> Any:
        from rich.text import Text

        lines = [visible(voice.line()) for voice in self._voices.values()]
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis", style="dim")


# -- telling -------------------------------------------------------------------------------------


class BoardNarrator:
    """Tells a session. Several advisors at once are told one after the other, each when it is whole; one who
    speaks alone is heard word by word. Only words and the brief go to stdout."""

    def __init__(self, export: Callable[[str], None], *, words_to_stdout: bool) -> None:
        self.brief_told = False
        self._model = ""
        self._tiny = False
        self._export = export
        self._out = sys.stdout if words_to_stdout else sys.stderr
        self._waiting = Waiting()
        self._wrapping: Wrapping | None = None
        self._told: set[str] = set()
        self._state: Callable[[], BoardState] = BoardState

    def follow(self, model: str, state: Callable[[], BoardState], *, tiny: bool) -> None:
        """What has been said so far is told again, but it is not the result of this run."""
        self._model = model
        self._tiny = tiny
        self._state = state
        for advisor in state().advisors:
            if advisor.settled:
                self._told.add(advisor.member.id)
                screen.say("\n".join(recounted(advisor)))

    def began(self, effect: ModelEffect, attempt: int) -> None:  # noqa: ARG002
        if isinstance(effect, AskPersona):
            self._waiting.begin(effect, self._state().advisor(effect.persona).member.shown, self._model)
        else:
            self._waiting.begin(effect, DRAFTS[effect.prompt], self._model)

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:  # noqa: ARG002
        self._waiting.heard(effect, text)
        if not isinstance(effect, AskPersona) or self._together(effect):
            return
        if self._wrapping is None:
            self._begin_words(self._state().advisor(effect.persona))
        self._speak(text)

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:
        self._waiting.wait(effect, f"{why}; asking again in {seconds:.0f} s")

    def happened(self, event: Event) -> None:
        self._waiting.hide()
        self._waiting.end(lambda effect: _settles(event, effect))
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
                screen.say(bill(usage), "dim")
            case QuestionsDrafted(_, usage):
                screen.say(bill(usage), "dim")
            case BriefDrafted(_, usage):
                screen.say(bill(usage), "dim")
                self._tell_brief()
            case BriefRequested():
                self._tell_brief()
            case BriefFailed(kind, message, raw, wait):
                screen.say(raw)
                self._tell_failure(kind, message, wait)
            case QuestionsFailed(kind, message, wait) | ChallengeWithdrawn(_, kind, message, wait):
                self._tell_failure(kind, message, wait)
            case ConditionTicked():
                screen.say("\n".join(condition_lines(self._state(), screen.columns())))
            case RecordRequested(file):
                self._export(file)
        self._waiting.show()

    def close(self) -> None:
        """Leaves the screen tidy when the words stop in the middle."""
        self._waiting.hide()
        self._end_words(" …")

    def tell_brief(self) -> None:
        state = self._state()
        if state.brief is not None:
            self.brief_told = True
            measure = screen.columns() if self._out.isatty() else UNWRAPPED
            self._write("\n" + "\n".join(brief_lines(state, state.brief, measure, tiny=self._tiny)) + "\n")

    def _together(self, effect: AskPersona) -> bool:
        return effect.prompt == ADVISOR and self._state().mode == "independent"

    def _begin_words(self, advisor: Advisor) -> None:
        self._waiting.hide()
        self._wrapping = Wrapping(screen.columns() if self._out.isatty() else UNWRAPPED)
        name = screen.styled(advisor.member.shown, "bold", self._out)
        self._write(f"\n{name} · {visible(advisor.member.role)}\n\n")

    def _speak(self, text: str) -> None:
        assert self._wrapping is not None
        self._write(self._wrapping.feed(visible(text)))

    def _end_words(self, mark: str = "") -> None:
        if self._wrapping is not None:
            self._write(f"{self._wrapping.end()}{mark}\n")
            self._wrapping = None

    def _speak_whole(self, advisor: Advisor, text: str) -> None:
        self._begin_words(advisor)
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
        failure = advisor.failure
        if failure is not None:
            self._tell_silence(advisor, failure)
            return
        assert advisor.text is not None
        assert advisor.usage is not None
        if self._state().mode == "independent" or not was_heard:
            self._speak_whole(advisor, advisor.text)
        screen.say(bill(advisor.usage), "dim")

    def _tell_silence(self, advisor: Advisor, failure: AdvisorFailed) -> None:
        """A reason that several share, such as a refused key, is said with the first of them."""
        first = next(
            one for one in self._state().failed if one.failure and one.failure.message == failure.message
        )
        name = advisor.member.shown
        if first is advisor:
            self._tell_failure(failure.kind, f"{name} did not answer. {failure.message}", failure.retry_after)
        else:
            screen.say(f"{name} did not answer, for the same reason as {first.member.shown}.")

    def _tell_brief(self) -> None:
        """Once it is up to date and somebody wants to read it."""
        state = self._state()
        if state.step is Step.REVIEW and state.brief_read:
            self.tell_brief()

    def _tell_failure(self, kind: str, message: str, wait: float | None) -> None:
        advice = f"Try again in {wait:.0f} s." if wait and wait >= 1 else NEXT_STEPS.get(kind, "")
        screen.say(f"\n{sentence(message)} {advice}".rstrip())

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


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
    yield advisor.text if advisor.text is not None else "did not answer."
    for exchange in advisor.replied:
        yield f"\nYou:\n{exchange.challenge}"
        yield f"\n{name}:\n{exchange.reply}"
    yield ""


def brief_lines(state: BoardState, brief: Brief, columns: int, *, tiny: bool = False) -> Iterator[str]:
    """The brief as a document: what to do first, then what it rests on, then what it does not know."""
    recommendation, consensus = brief.recommendation, brief.consensus
    yield "THE BOARD'S BRIEF"
    if tiny:
        yield from _hung("", SMALL_MODEL, columns)
    if state.brief_stale:
        yield "Out of date: advisors have spoken since it was written."
    yield f"\nRecommendation (confidence: {recommendation.confidence})"
    yield from _hung("", recommendation.summary, columns)
    yield f"\nAgreement ({consensus.strength})"
    yield from _points(consensus.areas, columns)
    yield "\nTensions"
    for tension in brief.tensions:
        yield from _hung("- ", f"{' / '.join(tension.between)}: {tension.issue}", columns)
        yield from _hung("  ", tension.implication, columns)
    if not brief.tensions:
        yield "None were found."
    yield "\nBlind spots"
    yield from _points(brief.blind_spots, columns)
    yield "\nConditions"
    yield from condition_lines(state, columns)
    silent = [a for a in state.advisors if a.failure is not None]
    if silent:
        yield "\nWho did not answer"
        yield from _points(tuple(a.member.shown for a in silent), columns)


def condition_lines(state: BoardState, columns: int) -> Iterator[str]:
    """With the numbers by which they are ticked."""
    for number, (condition, ticked) in enumerate(state.conditions, start=1):
        yield from _hung(f"{number}. [{'x' if ticked else ' '}] ", condition, columns)
    if not state.conditions:
        yield "None were found."


def _points(items: tuple[str, ...], columns: int) -> Iterator[str]:
    for item in items:
        yield from _hung("- ", item, columns)
    if not items:
        yield "None were found."


def _hung(mark: str, text: str, columns: int) -> Iterator[str]:
    """Wrapped, with every line but the first below the first's text."""
    wrapping = Wrapping(columns - len(mark))
    lines = (wrapping.feed(visible(" ".join(text.split()))) + wrapping.end()).split("\n")
    yield mark + lines[0]
    yield from (" " * len(mark) + line for line in lines[1:])
