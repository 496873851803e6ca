"""A workflow on the terminal: what the brainstormer lays out, what was planned, reviewed and built, the bill.

Knows how things look. What an input means, and what happens next, the flow decides. What is laid out goes to
stdout; everything about the work itself goes to stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from moot.brainstorm import text as words
from moot.brainstorm.events import (
    ApproachesDiscussed,
    BrainstormReply,
    CodeFound,
    Consulted,
    DesignDiscussed,
    QuestionsDiscussed,
    ScoutReported,
    TriageDiscussed,
)
from moot.brainstorm.menu import GoneBack
from moot.brainstorm.state import Situation
from moot.cli import screen
from moot.cli.narrator import bill, tell_unverified
from moot.cli.progress import minutes
from moot.cli.roundtable_screen import RoundtableNarrator
from moot.cli.screen import wrapped
from moot.core.flow import AskPersona
from moot.roundtable.events import ElaborationRecorded, HeldEvent
from moot.workflow import ending
from moot.workflow.events import (
    AttemptFailed,
    BatchBuilt,
    BatchPlanned,
    BatchReviewed,
    BatchRevised,
    BranchCreated,
    BranchedOff,
    ChangesArchived,
    DesignWritten,
    NextBegun,
    PlanDiscussed,
    PlanLaidOut,
    RestQueued,
    ScopeReassessed,
    Stash,
    TaskRolledBack,
    WorkflowFinalized,
    WorkspaceScouted,
    WorkStashed,
)
from moot.workflow.menu import Stopped, TaskSkipped, named, plan_in_words, remaining_in_words
from moot.workflow.state import Phase, Stage, WorkflowState

if TYPE_CHECKING:
    from moot.core.flow import Event, ModelEffect
    from moot.evidence.items import Evidence
    from moot.personas.library import Library
    from moot.roundtable.state import RoundtableState

_AT_WORK = {
    "brainstorm/triage": "assesses the idea",
    "brainstorm/questions": "thinks of questions",
    "brainstorm/approaches": "weighs approaches",
    "brainstorm/design": "designs",
    "brainstorm/revise": "revises",
    "workflow/reassess": "looks at what is left",
    "workflow/discuss-plan": "answers about the plan",
}


class BrainstormNarrator(RoundtableNarrator):
    """`asks` says that a person sees the menus: what is in a menu is not told twice."""

    def __init__(self, library: Callable[[], Library], *, words_to_stdout: bool, asks: bool) -> None:
        super().__init__(library, words_to_stdout=words_to_stdout)
        self._state: Callable[[], WorkflowState] = WorkflowState
        self.asks = asks
        self._shown = ""
        self._code_told: set[str] = set()
        self._began_at = time.monotonic()

    def follow(self, state: Callable[[], WorkflowState]) -> None:
        self._state = state
        self._follow_roundtable()

    def _table(self) -> RoundtableState | None:
        table = self._state().brainstorm.table
        return table if table is not None and table.table is not None else None

    def recall(self) -> None:
        """Where it stands, for somebody who comes back."""
        for line in standing_lines(self._state()):
            screen.say(line, "dim")
        if (told := self._state().open_tasks) and self._state().beneath is Stage.AT_OPEN_TASKS:
            screen.say(wrapped(told, 2))
        self._recall_roundtable()
        self._present()

    def tell_next(self) -> None:
        """Which workflow of the queue begins now."""
        self._line(f"\nNext workflow: {self._state().brainstorm.description}", style="bold")

    def tell(self, what: str) -> None:
        """What is going on outside, a line at a time."""
        self._progress.end_all()
        screen.say(wrapped(what, 2), "dim")
        if screen.coloured(sys.stderr):
            self._progress.begin("outside", "working")

    # -- what the runner tells ---------------------------------------------------------------

    def _doing(self, effect: ModelEffect) -> str:
        if isinstance(effect, AskPersona) or self._table() is not None:
            return super()._doing(effect)
        return f"The brainstormer {_AT_WORK.get(effect.prompt, 'answers')} ({self._model})"

    def happened(self, event: Event) -> None:
        super().happened(event)
        if isinstance(event, HeldEvent):
            if isinstance(event, ElaborationRecorded):
                screen.say(self._so_far().removeprefix(" · "), "dim")
        else:
            self._tell_outcome(event)
            self._tell_cost(event)
            self._tell_citations(event)
        if isinstance(event, GoneBack | Consulted | ElaborationRecorded):
            self._shown = ""
        self._present()

    def _tell_cost(self, event: Event) -> None:
        spoken, cost = getattr(event, "spoken", None), getattr(event, "cost_usd", None)
        if spoken is not None:
            screen.say(f"{bill(spoken)}{self._so_far()}", "dim")
        elif cost:
            screen.say(f"${cost:.4f}{self._so_far()}", "dim")

    def _tell_citations(self, event: Event) -> None:
        """Of what the brainstormer has said and laid out."""
        if isinstance(event, BrainstormReply | ScopeReassessed):
            tell_unverified(self._state().brainstorm.conversation_log[-1].content, self._evidence)

    @property
    def _evidence(self) -> Sequence[Evidence]:
        return self._state().evidence

    def _tell_outcome(self, event: Event) -> None:
        match event:
            case ScoutReported(_, read) | WorkspaceScouted(_, read):
                self._tell_scouted(read)
            case CodeFound(code):
                self._tell_code([one.name for one in reversed(code)])
            case (
                TriageDiscussed(reply)
                | QuestionsDiscussed(reply)
                | ApproachesDiscussed(reply)
                | DesignDiscussed(reply)
            ):
                self._line(f"\nThe brainstormer: {reply}")
            case Consulted(text):
                self._line(f"\n{text}")
            case WorkStashed() | BranchCreated() | BranchedOff():
                self._tell_set_aside(event)
            case NextBegun():
                self.tell_next()
            case AttemptFailed(kind, message, raw):
                # The menu that follows says what happened.
                self._tell_failure(kind, "" if self.asks else message, raw=raw)
            case _:
                self._tell_plan(event)

    def _tell_code(self, names: Sequence[str]) -> None:
        """Each once: most of it is found again for the next request."""
        if new := [name for name in names if name not in self._code_told]:
            screen.say(wrapped(f"Found the code that it is about: {_some(new)}."), "dim")
        self._code_told.update(names)

    def _tell_scouted(self, read: tuple[str, ...]) -> None:
        found = f"read {_some(read)}" if read else "found nothing to read"
        screen.say(wrapped(f"Looked at the workspace: {found}."), "dim")

    def _tell_set_aside(self, event: WorkStashed | BranchCreated | BranchedOff) -> None:
        if isinstance(event, WorkStashed):
            self._line(_stashed(self._state().stashes[-1]))
            return
        back = f" `git switch {event.before}` goes back." if event.before else ""
        self._line(f"Switched to the new branch {event.name}, with the uncommitted work.{back}")

    def _tell_plan(self, event: Event) -> None:
        state = self._state()
        match event:
            case DesignWritten(path):
                self._line(f"\nThe design is in {path}")
            case RestQueued(ids) if ids:
                titles = ", ".join(part.title for part in state.rest.values())
                self._line(f"Queued for later: {titles}")
            case BatchPlanned(change_id):
                self._line(f"\n{_batch(state)}: planned as change {change_id}")
            case BatchReviewed(verdict, summary, high, medium):
                self._line(f"Review of {_batch(state)}: {verdict} ({high} High, {medium} Medium)")
                screen.say(wrapped(summary, 2))
            case PlanLaidOut(plan, True) if not plan.obstacle:
                laid_out = plan_in_words(plan, commits=state.commit_tasks)
                self._line(f"\n{laid_out}\nBuilt without asking, as you have said.")
            case PlanDiscussed(reply, revision):
                offered = f"\nIt would revise: {revision}" if revision else ""
                self._line(f"\nThe brainstormer: {reply}{offered}")
            case BatchRevised():
                self._line(f"{_batch(state)}: the plan was revised")
            case _:
                self._tell_building(event)

    def _tell_building(self, event: Event) -> None:
        state = self._state()
        match event:
            case BatchBuilt(complete, message, done, tasks):
                skipped = "; what was skipped stays open in tasks.md" if complete and done < tasks else ""
                self._line(f"{_batch(state)}: {done} of {tasks} tasks done{skipped}")
                # The menu that follows says what happened, in a line.
                if not complete and not (self.asks and "\n" not in message.strip()):
                    screen.say(wrapped(message, 2))
            case TaskRolledBack(files):
                self._line(f"Rolled back: {', '.join(files) or 'nothing had changed'}")
            case TaskSkipped():
                self._line("Skipped: the task stays open in tasks.md")
            case ScopeReassessed(assessment):
                self._line(f"\n{assessment}")
            case WorkflowFinalized():
                stashed = "".join(f"\n{_stashed(stash)}" for stash in state.stashes)
                self._line(f"\n{ending.headline(state)}{self._so_far()}{stashed}", style="bold")
                for line in ending.in_words(event.summary):
                    self._line(line)
                if not state.commit_tasks:
                    screen.say("Look at what was built with git; moot commits nothing.", "dim")
            case ChangesArchived(archived, problem):
                if archived:
                    self._line(f"Archived: {', '.join(archived)}")
                if problem and not (self.asks and "\n" not in problem):
                    screen.say(wrapped(problem, 2))
            case Stopped():
                self._line("Stopped. Nothing happens until you resume.")

    # -- what is laid out --------------------------------------------------------------------

    def _present(self) -> None:
        """What the menu is about, unless it stands there already."""
        text = self._laid_out(self._state())
        if text and text != self._shown:
            self._line(f"\n{text}")
        self._shown = text or self._shown

    def _laid_out(self, state: WorkflowState) -> str:
        brainstorm = state.brainstorm
        match state.stage:
            case Stage.AT_REASSESSMENT:
                return _left(state)
            case Stage.AT_PLAN | Stage.AT_VERDICT if state.plan is not None:
                return plan_in_words(state.plan, commits=state.commit_tasks)
            case Stage.FINISHED if len(state.waiting) > (1 if self.asks else 0):
                return "Queued: " + ", ".join(state.waiting)
            case Stage.BRAINSTORMING:
                pass
            case _:
                return ""
        match brainstorm.situation:
            case Situation.AT_TRIAGE:
                return words.triage(brainstorm.triage) if brainstorm.triage else ""
            case Situation.AT_QUESTIONS if self.asks:
                return ""
            case Situation.AT_QUESTIONS:
                return f"Questions from the brainstormer:\n{words.questions(brainstorm.questions)}"
            case Situation.AT_APPROACHES:
                offered = (brainstorm.approaches, brainstorm.recommendation, brainstorm.because)
                return f"Approaches:\n{words.approaches(*offered)}"
            case Situation.AT_DESIGN:
                return words.sections(brainstorm.shown_sections)
            case _:
                return ""

    def _so_far(self) -> str:
        cost = self._state().total_cost
        took = minutes(time.monotonic() - self._began_at)
        return f" · {took} so far" + (f", ${cost:.4f} in all" if cost else "")


# -- in words ------------------------------------------------------------------------------------


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f"{', '.join(names[:6])}{more}"


def standing_lines(state: WorkflowState) -> list[str]:
    """Where a workflow stands, for somebody who has been away."""
    idea = next(iter(state.brainstorm.description.strip().splitlines()), "")
    lines = [f"Workflow: {idea[:200]}"]
    where = str(state.brainstorm.step) if state.phase is Phase.BRAINSTORM else _progress(state)
    stopped = ", stopped" if state.stopped else ""
    lines.append(f"Phase: {state.phase}{stopped} ({where})")
    if state.brainstorm.complexity_level:
        lines.append(f"Level: {state.brainstorm.complexity_level}")
    if state.uncommitted is not None:
        lines.append(f"Uncommitted work: {named(state.uncommitted)}; you are asked what to do with it")
    lines.extend(_stashed(stash) for stash in state.stashes)
    if branch := state.build_branch or state.branch:
        lines.append(f"Branch: {branch}")
    if state.design_path:
        lines.append(f"Design: {state.design_path}")
    for number, batch in enumerate(state.batches, start=1):
        change = f" (change {batch.change_id})" if batch.change_id else ""
        lines.append(f"Batch {number}: {batch.status:<8} {batch.title}{change}")
    if state.failure is not None:
        lines.append(f"Failed: {state.failure.message}")
    if state.total_cost:
        lines.append(f"Cost so far: ${state.total_cost:.4f}")
    return lines


def _stashed(stash: Stash) -> str:
    return f'Stashed as "{stash.name}": {named(stash)}. Bring it back with: git stash pop'


def _progress(state: WorkflowState) -> str:
    done = sum(batch.status == "complete" for batch in state.batches)
    return f"{done} of {len(state.batches)} batch{'' if len(state.batches) == 1 else 'es'} complete"


def _batch(state: WorkflowState) -> str:
    return f"Batch {state.current_batch + 1} of {len(state.batches)}, {state.batch.title}"


def _left(state: WorkflowState) -> str:
    left = state.proposed or ()
    if not left:
        return f"{_progress(state)}. Nothing is left to do."
    return f"{_progress(state)}. What is left:\n{remaining_in_words(state)}"
