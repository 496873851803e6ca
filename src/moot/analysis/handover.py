"""What an analysis hands to a change: its decisions under their numbers, and its artifacts. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from moot.analysis.flow import ANALYSIS
from moot.analysis.ledger import NOT_ANALYSED, ledger, was_taken_back
from moot.analysis.state import AnalysisState
from moot.core.background import struck
from moot.core.conversation import PERSON
from moot.core.handover import Handover, Origin, with_struck
from moot.core.ledger import Decided, Kind


def hand_over(
    state: AnalysisState, slug: str, title: str, about: str, artifacts: Mapping[str, str], words: str
) -> Handover:
    """`words` are what the person asks for; without any, it is the whole item."""
    idea = "\n\n".join(filter(None, (title, about.strip())))
    asked = [f"{words}\n\nThis is about the item that was analysed:\n{idea}" if words else idea]
    if left := [f"- {ref.id} {ref.title}" for ref in state.steps if state.is_due(ref)]:
        asked.append(
            "The analysis goes on. Nobody has looked into these steps of it yet:\n" + "\n".join(left)
        )
    entries = with_struck(ledger(state), struck(ANALYSIS, state))
    decided = tuple(map(_as_it_binds, entries))
    origin = Origin("analysis", slug, title)
    return Handover(origin, "\n\n".join(asked), decided, state.background.evidence, artifacts)


def _as_it_binds(entry: Decided) -> Decided:
    """What was taken back is known, and binds nobody; what was not analysed is an open question."""
    if entry.key.startswith(NOT_ANALYSED) and entry.by == PERSON:
        return replace(entry, kind=Kind.OPEN)
    return replace(entry, kind=Kind.SAID) if was_taken_back(entry) else entry
