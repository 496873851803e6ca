"""What a workflow writes down: the design document, and the names of changes, stashes and branches.

Markdown made of what was said and confirmed, in a fixed order. Knows no file and no date.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from moot.brainstorm import text as words
from moot.brainstorm.ledger import accepted_skips
from moot.brainstorm.state import BrainstormState
from moot.core import ledger
from moot.workflow.ledger import entries
from moot.workflow.state import WorkflowState

DECIDED_HEADING = "## Decided so far"
_SLUG = re.compile(r"[^a-z0-9]+")


def title(state: WorkflowState) -> str:
    """What the workflow is about, in a line."""
    return state.brainstorm.title


def title_of(saved: Mapping[str, Any]) -> str:
    """Of a workflow that waits in the queue."""
    return BrainstormState(description=str(saved.get("userDescription") or "")).title


def slug(text: str, most: int = 48) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _SLUG.sub("-", plain).strip("-")[:most].strip("-") or "idea"


def change_id(state: WorkflowState) -> str:
    """Of the current batch: the same whenever it is asked for, and another for every workflow."""
    told = f"{state.id}\n{state.current_batch}\n{state.batch.title}"
    mark = hashlib.blake2s(told.encode("utf-8", "replace"), digest_size=2).hexdigest()
    return f"{slug(state.batch.title)}-{mark}"


def stash_name(state: WorkflowState) -> str:
    """Of the work that the person decides about: the same whenever it is asked for."""
    return f"moot: before '{slug(title(state))}' ({_decision(state)})"


def branch_name(state: WorkflowState) -> str:
    return f"moot-{slug(title(state))}-{_decision(state)}"


def build_branch_name(state: WorkflowState) -> str:
    """Of the branch that the current batch, and what follows it, is built on."""
    told = f"{state.id}\n{state.current_batch}"
    mark = hashlib.blake2s(told.encode("utf-8", "replace"), digest_size=2).hexdigest()
    return f"moot-build-{slug(title(state), 40)}-{mark}"


def _decision(state: WorkflowState) -> str:
    assert state.uncommitted is not None
    told = f"{state.id}\n{state.uncommitted.tree}"
    return hashlib.blake2s(told.encode("utf-8", "replace"), digest_size=4).hexdigest()


# -- the design document -------------------------------------------------------------------------


def design_document(state: WorkflowState, *, with_ledger: bool = True) -> str:
    talk = state.brainstorm
    whole = f"\n\nIt is one part of a larger idea: {talk.description}" if talk.splits else ""
    parts = [f"# {title(state)}", f"## Idea\n\n{talk.subject}{whole}", *_decisions(state)]
    if with_ledger and (decided := entries(state)):
        parts.append(f"{DECIDED_HEADING}\n\n" + "\n".join(f"- {ledger.line(entry)}" for entry in decided))
    if talk.design_sections and not talk.design_stale:
        parts.append(words.sections(talk.design_sections))
    if len(state.batches) > 1:
        listed = (
            f"{n}. **{batch.title}**: {batch.description}" for n, batch in enumerate(state.batches, start=1)
        )
        parts.append("## Batches\n\n" + "\n".join(listed))
    if state.rest:
        elsewhere = (f"- **{part.title}**: {part.description}" for part in state.rest.values())
        parts.append("## Not part of this\n\nThese are workflows of their own:\n\n" + "\n".join(elsewhere))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _decisions(state: WorkflowState) -> list[str]:
    talk, parts = state.brainstorm, []
    if talk.complexity_level and talk.triage:
        level = words.LEVEL_NAMES[talk.complexity_level]
        skips = "; ".join(accepted_skips(talk))
        left_out = f"\n\nLeft out, as was agreed: {skips}" if skips else ""
        parts.append(f"## Assessment\n\n{level}. {talk.triage.reasoning}{left_out}")
    if talk.chosen is not None:
        weighed = f"\n\nTradeoffs: {talk.chosen.tradeoffs}" if talk.chosen.tradeoffs else ""
        parts.append(f"## Approach: {talk.chosen.title}\n\n{talk.chosen.summary}{weighed}")
    return parts
