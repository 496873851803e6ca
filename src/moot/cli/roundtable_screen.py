"""A roundtable in the terminal, wherever it is held: who thinks, what was said, what came of it.

What a persona says is shown when it is whole: only then is it known whether it counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.cli import screen
from moot.cli.failures import sentence
from moot.cli.narrator import Narrator, tell_unverified
from moot.core.flow import AskPersona
from moot.roundtable.effects import CHECK, FRAMING, SYNTHESIS
from moot.roundtable.events import (
    ArtifactsNotUpdated,
    ArtifactsUpdated,
    ElaborationRecorded,
    SynthesisDrafted,
)
from moot.roundtable.state import TURNS, USER, RoundtableState, Said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.core.flow import Event, ModelEffect
    from moot.evidence.items import Evidence

_AT_WORK = {
    FRAMING: "frames the topic",
    CHECK: "looks up what was decided and contradicted",
    SYNTHESIS: "sums up",
}
_RECALLED = 4
"""How many lines are shown again to somebody who comes back."""


class RoundtableNarrator(Narrator):
    """Tells a session that roundtables are a part of."""

    _told = 0
    """How much of the transcript was told."""

    def _table(self) -> RoundtableState | None:
        """The roundtable that is held, if one is."""
        raise NotImplementedError

    @property
    def _evidence(self) -> Sequence[Evidence]:
        """What is there to be cited."""
        raise NotImplementedError

    def _follow_roundtable(self) -> None:
        """What was said before this began is not told again."""
        table = self._table()
        self._told = len(table.transcript) if table else 0

    def _recall_roundtable(self) -> bool:
        """What somebody who comes back has to know to answer."""
        table = self._table()
        if table is not None:
            for said in table.transcript[-_RECALLED:]:
                self._tell_said(table, said)
        return table is not None

    def _doing(self, effect: ModelEffect) -> str:
        if isinstance(effect, AskPersona):
            return f"{self._library().persona(effect.persona).shown} is thinking ({self._model})"
        table = self._table()
        assert table is not None
        return f"{table.lead.shown} {_AT_WORK.get(effect.prompt, 'is thinking')}"

    def happened(self, event: Event) -> None:
        super().happened(event)
        table = self._table()
        if table is not None:
            for said in table.transcript[self._told :]:
                # The person knows what they said, and a doubt is put to them as a question right below.
                if said.speaker != USER and not (said.kind == "doubt" and screen.interactive()):
                    self._tell_said(table, said)
                    tell_unverified(said.text, self._evidence)
        self._follow_roundtable()
        match event:
            case SynthesisDrafted(corrections=corrections) if table is not None:
                self._line(f"\n{table.minutes()}")
                for correction in corrections:
                    screen.say(f"Corrected in the synthesis: {correction}", "dim")
            case ArtifactsUpdated(announcements, unknown):
                for line in announcements:
                    self._line(line)
                self._tell_not_there(unknown)
            case ArtifactsNotUpdated(_, message):
                screen.say(sentence(message))
            case ElaborationRecorded(_, message) if message:
                screen.say(message)

    def _not_there(self, text: str) -> tuple[str, ...]:  # noqa: ARG002
        """What somebody at the table has cited that is not there, where the session looks that up."""
        return ()

    def _tell_not_there(self, cited: tuple[str, ...]) -> None:
        if cited:
            screen.say(f"Cited, but not there: {'; '.join(cited)}.")

    def _tell_said(self, table: RoundtableState, said: Said) -> None:
        if (speaker := table.speakers.get(said.speaker)) is not None:
            self._line(f"\n{table.line(said)}", speaker=f"{speaker.shown} ({speaker.role}):")
            if said.kind in TURNS:
                self._tell_not_there(self._not_there(said.text))
        else:
            self._line(f"\n{'You: ' if said.speaker == USER else ''}{said.text}")
