"""What a session may be given at any time: evidence, and corrections of what was decided so far.

A flow takes both by `keep_background(advance)`; its state keeps them. Neither moves a session on: whatever
is said next simply knows of it. Refuses to know any format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, get_args

from moot.core.flow import Event, Flow
from moot.core.ledger import Correction, Decided, without_strikes
from moot.errors import IllegalMove
from moot.evidence.items import Evidence


class EvidenceGiven(Event, frozen=True):
    """One that is there already, by origin and hash, is not added again."""

    evidence: tuple[Evidence, ...]


class LedgerCorrected(Event, frozen=True):
    """The person says what holds instead of an entry, that it does not hold, or what holds besides."""

    correction: Correction


BackgroundEvent = EvidenceGiven | LedgerCorrected


@dataclass(frozen=True, slots=True)
class Background:
    """An item's number is its place, so items are never taken out."""

    evidence: tuple[Evidence, ...] = ()
    corrections: tuple[Correction, ...] = ()

    def after(self, event: BackgroundEvent) -> Background:
        match event:
            case EvidenceGiven(given):
                known = {(item.origin, item.sha256) for item in self.evidence}
                new: dict[tuple[str, str], Evidence] = {}
                for item in given:
                    if (item.origin, item.sha256) not in known:
                        new.setdefault((item.origin, item.sha256), item)
                return replace(self, evidence=(*self.evidence, *new.values()))
            case LedgerCorrected(correction):
                return replace(self, corrections=(*self.corrections, correction))


def struck(flow: Flow[Any, Any], state: Any) -> tuple[Decided, ...]:
    """What the person has struck of what was decided so far, as it was before."""
    if not takes_background(flow):
        return ()
    background: Background = state.background
    kept = without_strikes(background.corrections)
    there = {entry.key for entry in flow.ledger(state)}
    before = flow.ledger(state.with_background(replace(background, corrections=kept)))
    return tuple(entry for entry in before if entry.key not in there)


def takes_background(flow: Flow[Any, Any]) -> bool:
    return EvidenceGiven in get_args(flow.events)


class _Given(Protocol):
    """A state that keeps a background."""

    @property
    def background(self) -> Background: ...
    @property
    def is_open(self) -> bool:
        """Whether the session has been opened."""
        ...

    def with_background(self, background: Background) -> Any: ...


S = TypeVar("S", bound=_Given)
E = TypeVar("E", bound=Event)


def keep_background(advance: Callable[[S, E], S]) -> Callable[[S, E | BackgroundEvent], S]:
    """The same flow, which takes evidence and corrections at every step once it is open."""

    def advance_either(state: S, event: E | BackgroundEvent) -> S:
        if not isinstance(event, EvidenceGiven | LedgerCorrected):
            return advance(state, event)
        if not state.is_open:
            raise IllegalMove(type(event).__name__, "unopened", ("its opening",))
        changed: S = state.with_background(state.background.after(event))
        return changed

    return advance_either
