"""The fields of workflow.json, by the names that they have there. Nothing else is known here.

What a program other than ours has written may lack fields, or have null in them.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from moot.brainstorm.events import Approach, Level, Part, Request, Triage, Wish
from moot.workflow.events import Batch, Stash, Uncommitted, Verdict


class SavedFields(msgspec.Struct, rename="camel", kw_only=True):
    pass


class SavedSaid(SavedFields):
    role: str
    step: str
    content: str


class SavedQuestion(SavedFields):
    id: str
    text: str
    type: str = "text"
    options: tuple[str, ...] | None = None
    answer: str | None = None


class SavedSection(SavedFields):
    id: str
    title: str
    content: str
    status: str = "pending"


class SavedFailure(SavedFields):
    kind: str
    message: str
    raw: str = ""


class SavedTalk(SavedFields):
    step: str = "scout"
    scout_output: str | None = None
    complexity_level: Level | None = None
    questions: tuple[SavedQuestion, ...] | None = None
    approaches: tuple[Approach, ...] | None = None
    recommendation: str | None = None
    chosen_approach: str | None = None
    design_sections: tuple[SavedSection, ...] | None = None
    conversation_log: tuple[SavedSaid, ...] | None = None
    # What resuming needs besides.
    scout_read: tuple[str, ...] = ()
    triage: Triage | None = None
    batches: tuple[Part, ...] = ()
    splits: tuple[Part, ...] = ()
    because: str = ""
    questions_from: str = ""
    approaches_from: str = ""
    design_from: str = ""
    current_section: int = 0
    visited: tuple[str, ...] = ()
    gone_back_from: tuple[str, ...] = ()
    picked_question: str = ""
    writing: Wish | None = None
    request: Request | None = None


class SavedWorkflow(SavedFields):
    phase: str
    user_description: str
    config: dict[str, Any] | None = None
    brainstorm: SavedTalk | None = None
    design_path: str | None = None
    design_content: str | None = None
    """Only read: another tool writes it."""
    batches: tuple[Batch, ...] | None = None
    current_batch_index: int | None = None
    total_cost_usd: float | None = None
    started_at: str | float | None = None
    error: str | None = None
    # What resuming needs besides.
    id: str = ""
    workspace_checked: bool = False
    uncommitted: Uncommitted | None = None
    set_aside: Literal["", "stash", "branch"] = ""
    set_aside_problem: str = ""
    known_tree: str = ""
    stashes: tuple[Stash, ...] = ()
    created_branch: str = ""
    verdict: Verdict | None = None
    review_summary: str = ""
    revisions: int = 0
    revision_wanted: bool = False
    wishes: str = ""
    open_tasks: str = ""
    failed_task: int = 0
    before_task: str = ""
    failed_with: str = ""
    skipped: tuple[int, ...] = ()
    commenting: bool = False
    rolling_back: bool = False
    scouted: bool = False
    assessment: str = ""
    proposed_batches: tuple[Part, ...] | None = None
    adjusting: bool = False
    adjustment: str = ""
    queued: tuple[str, ...] = ()
    from_queue: bool = False
    waiting: tuple[str, ...] = ()
    next_chosen: bool = False
    failure: SavedFailure | None = None
    stopped: bool = False
    happened: int = 0


ALWAYS = frozenset((
    "phase", "userDescription", "config", "brainstorm", "designPath", "batches", "currentBatchIndex",
    "totalCostUsd", "startedAt", "error",
    "step", "scoutOutput", "complexityLevel", "questions", "approaches", "recommendation", "chosenApproach",
    "designSections", "conversationLog",
))  # fmt: skip
"""In every file. What resuming needs besides is left out where it says nothing."""
