"""A workflow played without a world: replies are made up from what is asked, and folded at once.

What a reply says names what it was made from, so that a test can tell a fresh one from one that was kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from moot.brainstorm.effects import LookAtCode
from moot.brainstorm.events import CodeFound, Consulted, ScoutReported
from moot.brainstorm.state import BrainstormState, Step
from moot.core.flow import (
    AskPerson,
    AskPersona,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Event,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
    Task,
    TaskDone,
    TaskFailed,
    Usage,
)
from moot.llm.context import fit, shared_texts
from moot.llm.messages import Request
from moot.roundtable.events import ArtifactsUpdated, ElaborationRecorded, RoundtableOpened, Speaker
from moot.workflow.events import (
    BatchBuilt,
    BatchPlanned,
    BatchReviewed,
    BatchRevised,
    BranchCreated,
    BranchedOff,
    ChangesArchived,
    CommandKept,
    DesignWritten,
    Plan,
    PlanLaidOut,
    QueueFoundEmpty,
    QueueLeft,
    RestQueued,
    TaskRolledBack,
    WorkflowFinalized,
    WorkflowOpened,
    WorkspaceChecked,
    WorkspaceScouted,
    WorkStashed,
)
from moot.workflow.flow import WORKFLOW, WorkflowEvent
from moot.workflow.prompts import PROMPTS
from moot.workflow.state import Stage, WorkflowState
from tests.support.roundtable import Turn, check_reply, minutes_reply

BILL = Usage("stub:model", 100, 50, 0.01, 900)
IDEA = "Strip ANSI codes in the review parser"
OPENED = WorkflowOpened("w-1", IDEA, "2026-11-15T12:00:00Z", {"model": "stub:model"})
BATCHES = (
    {"title": "Test baseline", "description": "Know what fails today."},
    {"title": "Cross-task validation", "description": "Wire it into execute."},
)
SPLITS = (
    {"title": "New endpoint", "description": "Serve the reviews."},
    {"title": "Help texts", "description": "Rewrite the help of the command line."},
)

PLAN = Plan(
    "Codes are stripped.", ("Strip them", "Test it"), estimate="2 tasks", can_branch=True, text="# Strip"
)
REFUSED = replace(PLAN, obstacle="its last review says no", issues=("I1 (High): No.",))

SPEAKERS = (
    Speaker("maya", "Maya Okonkwo", "Maya", "Product", "PM", "people"),
    Speaker("alex", "Alex Rivera", "Alex", "Solutions Architect", "Architect", "risks"),
)

Value = Mapping[str, Any]
Reply = Value | Event | str
Replies = dict[str, Reply | Callable[[WorkflowState], Reply]]
"""What a model replies, by the name of the prompt; what a task leads to, by the name of its class; what a
persona says, by the name of the prompt."""


def triage(level: str = "exploration", /, **scope: Any) -> Value:
    return {"type": "triage", "level": level, "reasoning": f"It is {level}.", "suggestedSkips": [], **scope}


def _questions(state: WorkflowState) -> Value:
    talk = state.brainstorm
    asked = [{"text": f"{talk.level} {talk.subject} {n}?"} for n in range(talk.question_limits[0])]
    return {"questions": asked}


def _approaches(state: WorkflowState) -> Value:
    told = " ".join(each.answer for each in state.brainstorm.questions)
    offered = [{"title": f"Way {n}", "summary": f"Made from {told}", "tradeoffs": "Slow."} for n in (1, 2)]
    return {"approaches": offered, "recommendation": 2, "because": "it is plain"}


def _design(state: WorkflowState) -> Value:
    talk = state.brainstorm
    made_from = f"{talk.level} {talk.chosen_approach} {[each.answer for each in talk.questions]}"
    sections = [
        {"title": f"Part {n}", "content": f"Made from {made_from}"} for n in range(talk.section_limits[0])
    ]
    return {"sections": sections}


def _asked_again(talk: BrainstormState) -> list[Value]:
    """All of them as they were: whatever is answered is only repeated."""
    return [{"id": each.id, "text": each.text} for each in talk.questions]


def _changed(state: WorkflowState) -> Value:
    talk = state.brainstorm
    assert talk.request is not None
    sections = [
        {"id": each.id, "content": f"{each.content} {talk.request.text}"} for each in talk.shown_sections
    ]
    return {"reply": "As you say.", "sections": sections}


def said(state: WorkflowState, by: str) -> Turn:
    """What somebody has said first at the roundtable, or somebody else."""
    table = state.brainstorm.table
    assert table is not None
    one = next((one for one in table.statements if one.by == by), table.statements[0])
    return one.number, one.by, one.text


REPLIES: Replies = {
    "CheckWorkspace": WorkspaceChecked((), "1111"),
    "StashChanges": WorkStashed("moot: before 'x' (1234)", ("half.py",)),
    "CreateBranch": BranchCreated("moot-x-1234", "main"),
    "ScoutWorkspace": lambda state: ScoutReported(f"Looked {state.happened} times.", ("README.md",)),
    "ScoutAgain": lambda state: WorkspaceScouted(f"Looked {state.happened} times.", ("README.md",)),
    "LookAtCode": CodeFound(),
    "brainstorm/triage": triage(),
    "brainstorm/questions": _questions,
    "brainstorm/approaches": _approaches,
    "brainstorm/design": _design,
    "brainstorm/discuss-triage": {"reply": "I see it so.", **triage()},
    "brainstorm/discuss-questions": lambda state: {
        "reply": "They stay.",
        "questions": _asked_again(state.brainstorm),
        "replaces": [],
    },
    "brainstorm/discuss-approaches": lambda state: {
        "reply": "They stay.",
        "approaches": [
            {"id": each.id, "title": each.title, "summary": each.summary, "tradeoffs": each.tradeoffs}
            for each in state.brainstorm.approaches
        ],
        "recommendation": 1,
        "because": "of what you said",
    },
    "brainstorm/discuss-design": {"reply": "Which of the two?", "sections": []},
    "brainstorm/revise": _changed,
    "ConveneBoard": Consulted("The Board says: wait.", 0.5),
    "OpenRoundtable": lambda state: RoundtableOpened(
        state.brainstorm.step, "Roundtable", IDEA, SPEAKERS, "maya", 10, str(state.happened), "Files."
    ),
    "roundtable/framing": {"summary": "It is about codes.", "focus_question": "Where?"},
    "roundtable/contribution": "Conflicts are shown.",
    "roundtable/check": check_reply(),
    "roundtable/synthesis": lambda state: minutes_reply(
        "They agreed on little.", ("They agreed on little.", said(state, "Alex"))
    ),
    "InsertInsights": ArtifactsUpdated(()),
    "RecordElaboration": ElaborationRecorded(saved=True),
    "QueueRest": lambda state: RestQueued(tuple(state.rest)),
    "LeaveQueue": QueueLeft(),
    "WriteDesign": DesignWritten("moot/designs/2026-11-15-strip.md"),
    "PlanBatch": lambda state: BatchPlanned(f"change-{state.current_batch}", 1.0),
    "ReviewPlan": BatchReviewed("APPROVED", "Sound.", cost_usd=2.0),
    "LayOutPlan": lambda state: PlanLaidOut(
        PLAN if state.verdict == "APPROVED" else REFUSED, unattended=True
    ),
    "KeepTests": lambda state: CommandKept(state.tests_chosen),
    "BranchOff": BranchedOff("moot-build-x-1234", "main"),
    "workflow/discuss-plan": {"reply": "It is in task 2.", "revision": "Put it first."},
    "RevisePlan": BatchRevised(),
    "BuildBatch": BatchBuilt(complete=True, tasks_done=2, tasks=2),
    "RollBackTask": TaskRolledBack(("app.py",)),
    "FinalizeWorkflow": WorkflowFinalized(),
    "ArchiveChanges": ChangesArchived(("change-0",)),
    "TakeNext": QueueFoundEmpty(),
    "workflow/reassess": lambda state: {
        "assessment": "As planned.",
        "batches": [{"title": each.title, "description": each.description} for each in state.left_over],
    },
}


def targets(led_to: Any) -> tuple[Any, ...]:
    """Of an entry of a table: one, or those among which the state decides."""
    return led_to if isinstance(led_to, tuple) else (led_to,)


@dataclass
class Play:
    replies: Replies = field(default_factory=dict)
    state: WorkflowState = WORKFLOW.initial
    events: list[WorkflowEvent] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    """Prompts and tasks, as they were asked for."""
    finds_code: bool = True
    """Whoever is asked something is shown the code at once, which is none of what is `done`."""

    def put(self, event: WorkflowEvent) -> Play:
        self.state = WORKFLOW.advance(self.state, event)
        self.events.append(event)
        if self.finds_code and isinstance(next(iter(self.effects), None), LookAtCode):
            found: Any = self.replies.get("LookAtCode", REPLIES["LookAtCode"])
            return self.put(found)
        return self

    def open(self, event: WorkflowOpened = OPENED) -> Play:
        return self.put(event).settle()

    @property
    def talk(self) -> BrainstormState:
        return self.state.brainstorm

    @property
    def step(self) -> Step:
        return self.state.brainstorm.step

    @property
    def effects(self) -> tuple[Effect, ...]:
        return WORKFLOW.pending(self.state)

    @property
    def asked(self) -> AskPerson:
        (effect,) = self.effects
        assert isinstance(effect, AskPerson), f"{effect} is not for the person"
        return effect

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(choice.id for choice in self.asked.choices)

    def choose(self, *choices: str) -> Play:
        """What the person chooses at one question after the other; `discuss: Why?` has words with it."""
        for choice in choices:
            id_, _, text = choice.partition(": ")
            self.answer(PersonAnswered(text, id_))
        return self

    def write(self, *texts: str) -> Play:
        """Words of their own."""
        for text in texts:
            self.answer(PersonAnswered(text))
        return self

    def answer(self, answer: PersonAnswered) -> Play:
        return self.put(WORKFLOW.record(self.state, self.asked, answer)).settle()

    def settle(self) -> Play:
        """Lets models and the program do what is theirs, until it is the person's turn or nobody's. At a
        roundtable they have nothing to add."""
        while self.effects and (self.at_roundtable or not isinstance(self.effects[0], AskPerson)):
            self.perform()
        return self

    @property
    def at_roundtable(self) -> bool:
        return self.state.stage is Stage.BRAINSTORMING and self.talk.table is not None

    def perform(self) -> Play:
        effect = self.effects[0]
        if self.at_roundtable and isinstance(effect, AskPerson):
            return self.put(WORKFLOW.record(self.state, effect, PersonAnswered(choice="done")))
        assert isinstance(effect, DraftReply | AskPersona | Task)
        name = type(effect).__name__ if isinstance(effect, Task) else effect.prompt
        self.done.append(name)
        reply = self.replies.get(name, REPLIES[name])
        value = reply(self.state) if callable(reply) else reply
        if isinstance(effect, AskPersona):
            assert isinstance(value, str)
            return self.put(WORKFLOW.record(self.state, effect, PersonaSpoke(value, BILL)))
        if isinstance(effect, DraftReply):
            drafted = Drafted(msgspec.convert(value, PROMPTS.replies[name]), BILL)
            return self.put(WORKFLOW.record(self.state, effect, drafted))
        return self.put(WORKFLOW.record(self.state, effect, TaskDone(value)))

    def fail(self) -> Play:
        """What is due does not succeed."""
        effect = self.effects[0]
        if isinstance(effect, AskPersona):
            return self.put(WORKFLOW.record(self.state, effect, PersonaFailed("Overloaded", "it is busy")))
        if isinstance(effect, DraftReply):
            return self.put(
                WORKFLOW.record(self.state, effect, DraftFailed("DraftInvalid", "no JSON", "Well, …"))
            )
        return self.put(WORKFLOW.record(self.state, effect, TaskFailed("NotFound", "it is gone")))


def at(step: Step, level: str = "exploration", /, **replies: Any) -> Play:
    """Opened, and taken to the menu of a step by the shortest way."""
    play = Play({"brainstorm/triage": triage(level), **replies}).open()
    way = {Step.TRIAGE: (), Step.QUESTIONS: ("agree",), Step.APPROACHES: ("agree", "finish")}
    way[Step.DESIGN] = (*way[Step.APPROACHES], "approach-1")
    if level == "straightforward":
        assert step in (Step.TRIAGE, Step.DESIGN)
        return play.choose(*("agree",) if step is Step.DESIGN else ())
    return play.choose(*way[step])


def due(state: WorkflowState) -> Request:
    """What is about to be sent to a model."""
    (effect,) = WORKFLOW.pending(state)
    assert isinstance(effect, DraftReply), f"{effect} is not for a model"
    return PROMPTS.drafts[effect.prompt](state, small=False)[0]


def whole(request: Request) -> str:
    """All that it says to a model whose window is large enough."""
    sent = fit(request, 10**9, "model").request
    return "\n\n".join((*shared_texts(sent), sent.system, *(message.text for message in sent.messages)))
