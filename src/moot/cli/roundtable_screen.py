"""A roundtable on the terminal, wherever it is held: who thinks, what was said, what came of it.

What a persona says is shown when it is whole: only then is it known whether it counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from moot.cli import screen
from moot.cli.failures import sentence
from moot.cli.plain import visible
from moot.cli.terminal import Narrator
from moot.roundtable.effects import FRAMING, SYNTHESIS
from moot.roundtable.events import (
    ArtifactsNotUpdated,
    ArtifactsUpdated,
    ElaborationRecorded,
    RoundtableOpened,
    SynthesisDrafted,
)
from moot.roundtable.state import USER, RoundtableState, Said

if TYPE_CHECKING:
    from moot.core.flow import Event
    from moot.personas.library import Library

AT_ROUNDTABLE = {FRAMING: "frames the topic", SYNTHESIS: "sums up"}
"""What its lead is doing."""
_RECALLED = 4
"""How many lines are shown again to somebody who comes back."""


class RoundtableNarrator(Narrator):
    """Tells a session that roundtables are a part of."""

    def __init__(self, library: Callable[[], Library], *, words_to_stdout: bool) -> None:
        super().__init__(library, words_to_stdout=words_to_stdout)
        self._table: RoundtableState | None = None
        """The one that was told of last, until it is on record."""
        self._told = 0

    def _follow_roundtable(self, table: RoundtableState | None) -> None:
        """What was said before this began is not told again."""
        self._table, self._told = table, len(table.transcript) if table else 0

    def _recall_roundtable(self, table: RoundtableState) -> None:
        """What somebody who comes back has to know to answer."""
        for said in table.transcript[-_RECALLED:]:
            self._tell_said(table, said)

    def _tell_roundtable(self, table: RoundtableState | None, event: Event) -> None:
        """What was added to the transcript, then what the end has brought. `table` is None after that."""
        if table is not None:
            if isinstance(event, RoundtableOpened):
                self._told = 0
            self._table = table
            for said in table.transcript[self._told :]:
                # A doubt is put as a question right below.
                if said.speaker != USER and not (said.kind == "doubt" and screen.interactive()):
                    self._tell_said(table, said)
            self._told = len(table.transcript)
        match event:
            case SynthesisDrafted(corrections=corrections) if self._table is not None:
                self._line(f"\n{self._table.minutes()}")
                for correction in corrections:
                    screen.say(f"Put right in the synthesis: {correction}", "dim")
            case ArtifactsUpdated(announcements):
                for line in announcements:
                    self._line(line)
            case ArtifactsNotUpdated(_, message):
                screen.say(sentence(message))
            case ElaborationRecorded(_, message):
                if message:
                    screen.say(message)
                self._table = None

    def _tell_said(self, table: RoundtableState, said: Said) -> None:
        if said.speaker in table.speakers:
            speaker = table.speakers[said.speaker]
            self._line(f"\n{table.line(said)}", f"{speaker.shown} ({speaker.role}):")
        else:
            self._line(f"\n{'You: ' if said.speaker == USER else ''}{said.text}")

    def _line(self, text: str, speaker: str = "", style: screen.Style | None = None) -> None:
        """On a terminal broken between words, with whoever speaks set off."""
        self._stop_spinning()
        shown = screen.styled(screen.wrapped(text) if self._out.isatty() else text, style, self._out)
        if speaker:
            shown = shown.replace(visible(speaker), screen.styled(speaker, "bold", self._out), 1)
        self._write(f"{shown}\n")
