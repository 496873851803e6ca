"""What a person may give a session at any prompt: evidence by `/with` and `@path`, and what holds by
`/decided`.

Knows how these lines are written, and says what came of them. Refuses to know any format: one whose flow
takes neither says so.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from moot.cli import screen
from moot.cli.screen import wrapped
from moot.core.background import EvidenceGiven, LedgerCorrected, struck, takes_background
from moot.core.flow import PersonGave
from moot.core.ledger import HINT, line, lines, outline, read_correction, whole
from moot.errors import InvalidInput
from moot.evidence.files import MISSING, Reach
from moot.evidence.gather import NOTHING, Gathered, Offer
from moot.evidence.items import Evidence, numbered

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core.background import Background
    from moot.core.flow import AskPerson, Flow, PersonAnswered
    from moot.core.runner import Runner

WITH, DECIDED = "/with", "/decided"
HELP = (
    f"{WITH} PATH… gives evidence to read, and so does @path in your words; {WITH} alone lists what is "
    f"there. {DECIDED} shows what was decided so far, and how to correct it."
)
_COMMAND = re.compile(r"/[a-z]+")
_TAKES_NONE = "this kind of session takes none yet"


async def gather(
    moot: Moot, flow: Flow[Any, Any], given: Sequence[str], text: str = "", there: Sequence[Evidence] = ()
) -> Gathered:
    """What a command was given by `--with`, and what its text names as `@path`; says how much it is, by the
    numbers that it has behind what is `there`. Raises InvalidInput before anything is begun, where something
    is not there."""
    if not takes_background(flow):
        if given:
            raise InvalidInput("--with", _TAKES_NONE)
        return NOTHING
    intake = moot.intake(Reach.ANYWHERE)
    gathered = await intake.gather(map(Offer.typed, given))
    if missing := _missing(gathered):
        raise InvalidInput("--with", missing)
    named = await intake.mentioned(text, gathered.items)
    both = Gathered((*gathered.items, *named.items), (*gathered.left_out, *named.left_out))
    if given and not both.items:
        raise InvalidInput("--with", f"nothing of it can be taken: {'; '.join(map(str, both.left_out))}")
    await _say(moot, both, there)
    return both


def _missing(gathered: Gathered) -> str:
    names = [one.name for one in gathered.left_out if one.why == MISSING]
    return f"{', '.join(names)}: {MISSING}" if names else ""


async def _say(moot: Moot, gathered: Gathered, there: Sequence[Evidence], model: str = "") -> None:
    if not gathered.items and not gathered.left_out:
        return
    screen.say(f"Evidence: {(await moot.weigh(gathered, model)).summary}")
    known = {item.sha256: number for number, item in enumerate(there, start=1)}
    for item in gathered.items:
        number = known.setdefault(item.sha256, len(known) + 1)
        screen.say(f"  E{number}  {item.origin}", "dim")


@dataclass(frozen=True, slots=True)
class Desk:
    """For one session."""

    moot: Moot
    flow: Flow[Any, Any]
    state: Callable[[], Any]

    @classmethod
    def of(cls, moot: Moot, runner: Runner[Any, Any]) -> Desk:
        return cls(moot, runner.flow, lambda: runner.state)

    def takes(self, line: str) -> bool:
        """Whether a line is for here, and no answer. Raises InvalidInput for one that seems to be meant for
        here and is misspelled: as an answer it would be paid for."""
        word = line.strip().partition(" ")[0].lower()
        if word in (WITH, DECIDED):
            return True
        if _COMMAND.fullmatch(word) and (meant := get_close_matches(word, (WITH, DECIDED), n=1, cutoff=0.7)):
            raise InvalidInput(word, f"there is no such command; did you mean {meant[0]}?")
        return False

    async def take(self, ask: AskPerson, line: str) -> PersonGave | None:
        """Carries a line out that is for here. None where there is only something to see."""
        word, _, rest = line.strip().partition(" ")
        if not takes_background(self.flow):
            raise InvalidInput(word, _TAKES_NONE)
        if word.lower() == WITH:
            return await self._with(rest)
        return self._decided(ask, rest.strip())

    async def add_mentioned(self, answer: PersonAnswered) -> PersonAnswered | PersonGave:
        """The answer, with what it names as `@path`."""
        if "@" not in answer.text or not takes_background(self.flow):
            return answer
        there = self._background.evidence
        gathered = await self.moot.intake(Reach.WORKSPACE).mentioned(answer.text, there)
        await self._say(gathered)
        return PersonGave((EvidenceGiven(gathered.items),), answer) if gathered.items else answer

    @property
    def _background(self) -> Background:
        background: Background = self.state().background
        return background

    async def _with(self, named: str) -> PersonGave | None:
        there = self._background.evidence
        try:
            words = shlex.split(named)
        except ValueError:
            raise InvalidInput(WITH, "a quotation mark is not closed") from None
        if not words:
            for number, item in numbered(there):
                screen.say(f"  {number}  {item.origin}")
            screen.say(f"{WITH} PATH… adds {'more' if there else 'evidence'}.", "dim")
            return None
        gathered = await self.moot.intake(Reach.ANYWHERE).gather(map(Offer.typed, words), there)
        if not gathered.items:
            raise InvalidInput(WITH, "; ".join(map(str, gathered.left_out)))
        await self._say(gathered)
        return PersonGave((EvidenceGiven(gathered.items),))

    async def _say(self, gathered: Gathered) -> None:
        await _say(self.moot, gathered, self._background.evidence, getattr(self.state(), "model", ""))

    def _decided(self, ask: AskPerson, words: str) -> PersonGave | None:
        ledger, gone = self.flow.ledger(self.state()), struck(self.flow, self.state())
        if (entry := whole(ledger, words, gone)) is not None:
            screen.say(wrapped(entry))
            return None
        if not words:
            for told in outline(ledger, gone):
                screen.say(wrapped(told))
            if not ledger:
                screen.say("Nothing is decided so far.")
            screen.say(f"{DECIDED} followed by: {HINT}", "dim")
            return None
        correction = read_correction(ledger, self._background.corrections, words, ask.step, gone)
        changed = replace(self._background, corrections=(*self._background.corrections, correction))
        state = self.state().with_background(changed)
        before, after = lines(ledger), lines(self.flow.ledger(state))
        screen.say("Decided so far:")
        for told in (told for told in after if told not in before):
            screen.say(wrapped(told))
        there = {one.key for one in gone}
        for one in struck(self.flow, state):
            if one.key not in there:
                number = f"D{one.number}. " if one.number else ""
                screen.say(wrapped(f"{number}Struck: {line(one)}"), "dim")
        screen.say(f"{DECIDED} shows all of it.", "dim")
        return PersonGave((LedgerCorrected(correction),))
