"""One turn of a session: something is done to it, it is driven until it rests, and what was said is told.

For callers who wait for the end instead of listening. Whoever leaves meanwhile loses nothing that is
complete. Refuses to know any format: each says which of its events are told.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from moot.core.flow import AskPersona, Event, ModelEffect
from moot.errors import NotFound

if TYPE_CHECKING:
    from moot.personas.library import Library
    from moot.sessions.service import Sessions, Standing

_OF_BILL = ("looked_at", "left_out")
_UNTOLD = ("type", "spoken", "kind", "cost_usd", "retry_after")


@dataclass(frozen=True, slots=True)
class Said:
    """`what` names the event, and `content` is what it holds besides words."""

    what: str
    by: str
    text: str
    failure: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """How a session stands after it, what was said in it, and why it ended early, where it did."""

    standing: Standing
    said: tuple[Said, ...]
    problem: str


async def take_turn(
    sessions: Sessions,
    library: Library,
    session_id: str,
    act: Callable[[], Awaitable[None]],
    tell: Callable[[str], None],
) -> Turn:
    """`act` is what the caller does to the session; `tell` hears how it comes along."""
    live = await sessions.live(session_id, looks=True)
    heard = _Heard(sessions.formats[live.format.flow.name].told, library, tell)
    async with live.listening():
        after = live.seq
        with live.followed_by(heard):
            await act()
            async for frames in sessions.hub.stream(live, after, go_on=False):
                for frame in frames:
                    heard.read(msgspec.json.decode(frame.body))
            # What happened in another process.
            await live.runner.catch_up()
    return Turn(await sessions.standing(session_id), tuple(heard.said), heard.problem)


@dataclass
class _Heard:
    told: Collection[type[Event]]
    library: Library
    tell: Callable[[str], None]
    said: list[Said] = field(default_factory=list)
    problem: str = ""
    speaker: str = ""
    """Whom an event is by that names nobody."""

    def began(self, effect: ModelEffect) -> None:
        self.speaker = effect.persona if isinstance(effect, AskPersona) else ""
        if self.speaker:
            self.tell(f"{self._name(self.speaker)} speaks")

    def happened(self, event: Event) -> None:
        if not isinstance(event, tuple(self.told)) or not getattr(event, "is_news", True):
            return
        plain = msgspec.to_builtins(event)
        content = {name: value for name, value in plain.items() if name not in _UNTOLD}
        content |= {name: (plain.get("spoken") or {}).get(name) for name in _OF_BILL}
        failed = hasattr(event, "kind")
        by = content.pop("persona", self.speaker if "text" in content else "")
        said = Said(
            what=type(event).__name__,
            by=self._name(by),
            text=content.pop("text", ""),
            failure=content.pop("message", "") if failed else "",
            content={name: value for name, value in content.items() if value not in ("", None, [], {})},
        )
        self.said.append(said)
        self.tell(f"{said.by} has spoken" if said.by and said.text else _in_words(said.what))

    def read(self, frame: Mapping[str, Any]) -> None:
        """What is no event: where it is driven elsewhere, also who speaks."""
        match frame:
            case {"type": "progress", "text": str(text)}:
                self.tell(text)
            case {"type": "task_start", "task": str(task)}:
                self.tell(_in_words(task))
            case {"type": "looked", "what": str(what)}:
                self.tell(f"reads {what}")
            case {"type": "speech_start", "personaId": str(persona)}:
                self.speaker = persona
            case {"type": "error", "message": str(message)}:
                self.problem = message

    def _name(self, persona: str) -> str:
        try:
            return self.library.persona(persona).shown if persona else ""
        except NotFound:
            return persona


def _in_words(name: str) -> str:
    """BatchPlanned: Batch planned."""
    return re.sub(r"(?<=[a-z])[A-Z]", lambda capital: f" {capital[0].lower()}", name)
