"""The person of a case: what they say, and where. Always the same, so that only the model differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from moot.core.flow import AskPerson, PersonAnswered
from moot.core.runner import UserQuit


@dataclass(frozen=True, slots=True)
class Turn:
    """`at` is the step, as in `--answers`, with wildcards; `to` has to occur in what is asked for. What
    models say from then on is `during` this moment."""

    at: str
    text: str = ""
    choice: str | None = None
    to: str = ""
    during: str = ""

    def fits(self, ask: AskPerson) -> bool:
        fits = fnmatchcase(ask.step, self.at) and self.to in ask.expects
        return fits and (self.choice is None or self._chosen(ask) is not None)

    def answer(self, ask: AskPerson) -> PersonAnswered:
        return PersonAnswered(self.text, self._chosen(ask))

    def _chosen(self, ask: AskPerson) -> str | None:
        """The first of `this|that` which is offered."""
        offered = {choice.id for choice in ask.choices}
        return next((one for one in (self.choice or "").split("|") if one in offered), None)


class NotTaken(Exception):
    """A case says something that its session does not take: a mistake of the case."""


class Script:
    """Says each of its turns once, the first that fits; `otherwise` is said as often as nothing else fits,
    until all turns are used. Then the person leaves."""

    def __init__(
        self,
        turns: Sequence[Turn],
        otherwise: Sequence[Turn] = (),
        begin: Callable[[str], None] | None = None,
    ) -> None:
        self._turns = list(turns)
        self._otherwise = tuple(otherwise)
        self._begin = begin or (lambda _: None)

    @property
    def left(self) -> tuple[Turn, ...]:
        """What was never said."""
        return tuple(self._turns)

    async def answer(self, ask: AskPerson, problem: str | None) -> PersonAnswered:
        if problem is not None:
            raise NotTaken(f"at {ask.step}: {problem}")
        if not self._turns:
            raise UserQuit
        turn = next((turn for turn in self._turns if turn.fits(ask)), None)
        if turn is not None:
            self._turns.remove(turn)
        else:
            turn = next((turn for turn in self._otherwise if turn.fits(ask)), None)
        if turn is None:
            offered = ", ".join(choice.id for choice in ask.choices)
            raise NotTaken(f"nothing to say at {ask.step} ({ask.expects}; {offered})")
        if turn.during:
            self._begin(turn.during)
        return turn.answer(ask)
