"""A session in the terminal: who answers, how it ended, and what is said at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from moot.cli import failures, screen
from moot.cli.answers import FirstSays, NoPerson, ScriptedPerson, read_answers
from moot.cli.command import SIGTERM
from moot.cli.costs import Costs
from moot.cli.desk import Desk
from moot.cli.menu_lines import TypingPerson, answerable
from moot.cli.person import TerminalPerson
from moot.core.background import EvidenceGiven
from moot.errors import AnswersExhausted, InvalidInput, MootError, SessionMoved
from moot.evidence.gather import NOTHING, Gathered

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from moot.app import Moot
    from moot.cli.menu_lines import LineReader
    from moot.cli.narrator import Narrator
    from moot.core.estimate import Asking
    from moot.core.flow import ModelEffect, Outcome, Task
    from moot.core.runner import Runner, Speech


@contextmanager
def answering(answers: Path | None, first: str | None = None) -> Iterator[TypingPerson]:
    """A scripted person, or the one at the terminal, or nobody; `first` is said before all else. At the end,
    says what was not needed."""

    def typing(reader: LineReader) -> TypingPerson:
        return TypingPerson(reader if first is None else FirstSays(first, reader))

    if answers is None:
        yield typing(TerminalPerson() if screen.interactive() else NoPerson())
        return
    scripted = ScriptedPerson(read_answers(answers))
    yield typing(scripted)
    if (rested := scripted.rested_at) is not None:
        screen.say(f"{answers} has no reply left for step '{rested.step}' ({answerable(rested)}).", "dim")
    if scripted.unused():
        screen.say(f"Replies of {answers} that were not needed: {scripted.unused()}.")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a conversation came to rest: everything so far is kept, whatever it says here."""

    interrupted: bool = False
    """By Ctrl-C, or by a signal that says that everything has to end."""
    must_end: bool = False
    error: MootError | None = None
    costs: Costs | None = None

    def report(
        self, document: Callable[[], dict[str, Any]], hint: str, *, as_json: bool, failed: bool
    ) -> int:
        """Prints the document of --json and how to continue; the exit code."""
        if as_json:
            costs = self.costs.document() if self.costs else {}
            error = {"error": failures.document(self.error)} if self.error else {}
            screen.show_json({**document(), **costs, **error})
        if hint:
            screen.say(hint, "dim")
        if self.interrupted:
            return failures.INTERRUPTED
        if self.error is not None:
            return failures.exit_code(self.error)
        return failures.FAILED if failed else failures.DONE


async def converse(
    moot: Moot,
    runner: Runner[Any, Any],
    narrator: Narrator,
    asking: Asking,
    given: Gathered = NOTHING,
    goes_on: Callable[[Ended], Awaitable[bool]] | None = None,
) -> Ended:
    """Runs a session until it rests, and says what it is going to cost and has cost. `given` is evidence that
    it is to have from the beginning. Where it `goes_on` after it has ended, it is run once more, and the bill
    comes after that."""
    costs = Costs(moot, runner.flow, asking, narrator.note, narrator.release)
    narrator.hold()
    runner.speak = costs.foretelling(runner.speak)
    ended = await _converse(moot, runner, narrator, given)
    if goes_on is not None and await goes_on(ended):
        ended = await _converse(moot, runner, narrator, NOTHING)
    if not ended.must_end:
        await costs.sum_up()
    return replace(ended, costs=costs)


def _watch(runner: Runner[Any, Any], works: Callable[[], None]) -> None:
    """Says so before anything is done that the person waits for."""
    speak, work = runner.speak, runner.work

    async def speaking(effect: ModelEffect, state: Any, speech: Speech) -> Outcome:
        works()
        return await speak(effect, state, speech)

    async def working(effect: Task[Any], state: Any) -> Outcome:
        works()
        return await work(effect, state)

    runner.speak, runner.work = speaking, working


async def _converse(moot: Moot, runner: Runner[Any, Any], narrator: Narrator, given: Gathered) -> Ended:
    if isinstance(runner.person, TypingPerson):
        runner.person.desk = Desk.of(moot, runner)
        _watch(runner, runner.person.works)
    try:
        if given.items:
            await runner.put(EvidenceGiven(given.items))
        await runner.run()
    except asyncio.CancelledError as cancelled:
        return Ended(interrupted=True, must_end=SIGTERM in cancelled.args)
    except (AnswersExhausted, InvalidInput) as unanswered:
        narrator.close()
        failures.report(unanswered)
        return Ended(error=unanswered)
    except SessionMoved as moved:
        narrator.close()
        screen.say(failures.sentence(f"{moved}; what it wrote there stays"))
        return Ended(error=moved)
    finally:
        narrator.close()
    return Ended(interrupted=runner.left is not None and runner.left.interrupted)
