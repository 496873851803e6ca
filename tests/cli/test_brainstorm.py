"""`moot brainstorm` as a person or a script uses it: the real command, a real repository, real HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from moot.app import Options, opened
from moot.brainstorm.menu import RequestMade
from moot.brainstorm.state import Step
from moot.cli.brainstorm import _converse
from moot.cli.brainstorm_screen import BrainstormNarrator
from moot.cli.costs import Costs
from moot.core.estimate import Asking
from moot.core.flow import AskPerson, PersonAnswered
from moot.core.runner import Participants, Runner, UserQuit
from moot.evidence.gather import NOTHING
from moot.store.database import sqlite_url
from moot.workflow.events import Restored
from moot.workflow.files import SnapshotLog
from moot.workflow.flow import WORKFLOW
from moot.workflow.prompts import PROMPTS
from moot.workflow.service import Workflow
from moot.workflow.snapshot import restored, snapshot
from moot.workflow.state import WorkflowState
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.command import environment
from tests.support.shop import ASKED_ANEW, BATCHES, EXPLORE, IDEA, QUESTIONS, STRAIGHT, Brain, Shop
from tests.support.terminal import CTRL_D, ENTER, at_terminal
from tests.support.workflow import at


@pytest.fixture
def brain(stub: StubServer) -> Brain:
    brain = Brain()
    stub.default = brain
    return brain


@pytest.fixture
def shop(tmp_path: Path, stub: StubServer, brain: Brain) -> Shop:
    del brain
    return Shop(tmp_path, stub)


def asked_for(request: Recorded, field: str) -> bool:
    return request.schema is not None and field in request.schema["properties"]


# -- how much process ----------------------------------------------------------------------------


def test_a_straightforward_idea_needs_two_replies_and_two_decisions(shop: Shop, brain: Brain) -> None:
    ended = shop.brainstormed("A", "A")
    assert ended.code == 0, ended.err
    # The brainstorm's own; the plan and its review follow.
    assert brain.asked == ["level", "sections", "what_changes", "review"]
    assert "Assessment: Straightforward" in ended.out
    assert "A focused change." in ended.out
    assert "One pass removes the codes." in ended.out
    assert shop.workflow["phase"] == "done"
    assert [batch["status"] for batch in shop.workflow["batches"]] == ["complete"]
    assert list(shop.reviews().values()) == [["APPROVED"]]
    assert shop.built == 2, "each of the plan's tasks was done once"


def test_the_scout_has_read_the_workspace_and_says_what(shop: Shop, stub: StubServer) -> None:
    ended = shop.brainstormed("A", "X")
    assert "Looked at the workspace: read README.md, src/review_parser.py." in ended.err
    assert "- src/review_parser.py (2 lines):" in shop.brainstorm["scoutOutput"]
    assert len(shop.brainstorm["scoutOutput"].split()) <= 500
    triage = next(request for request in stub.requests if asked_for(request, "level"))
    assert "src/review_parser.py" in triage.said, "the brainstormer is told what was found"


def test_the_design_document_is_written_and_reaches_the_planner(shop: Shop, stub: StubServer) -> None:
    ended = shop.brainstormed("A", "A")
    path = shop.workflow["designPath"]
    assert path.endswith("-strip-ansi-codes-in-the-review-parser.md")
    assert "One pass removes the codes." in shop.read(path)
    assert path in ended.out
    plan = next(request for request in stub.requests if asked_for(request, "what_changes"))
    assert "A table of hostile inputs." in plan.said


def test_the_level_can_be_overridden_and_rules_the_process(shop: Shop, brain: Brain) -> None:
    shop.brainstormed("E", "S", "A", "S")
    assert brain.asked[:4] == ["level", "questions", "approaches", "sections"]
    assert shop.brainstorm["complexityLevel"] == "exploration"


def test_skipping_to_planning_still_has_the_plan_reviewed(shop: Shop, brain: Brain) -> None:
    ended = shop.brainstormed("S")
    assert ended.code == 0, ended.err
    assert brain.asked == ["level", "what_changes", "review"]
    assert list(shop.reviews().values()) == [["APPROVED"]]


# -- the conversation ----------------------------------------------------------------------------


def test_exploration_with_answers_discussion_and_going_back(
    shop: Shop, brain: Brain, stub: StubServer
) -> None:
    brain.triage = EXPLORE
    replies = (
        "A",
        "3",
        "2",  # the second option
        "1 PostgreSQL",
        "D question 2 makes no sense",
        "S",
        "B",  # from the approaches to the questions
        "S",
        "D what if we combined them?",
        "2",
        "A",
        "B",  # from the second section to the approaches
        "2",
        "S",
    )
    ended = shop.brainstormed(*replies)
    assert ended.code == 0, ended.err
    answers = {question["text"]: question["answer"] for question in shop.brainstorm["questions"]}
    assert answers[QUESTIONS[0]["text"]] == "PostgreSQL"
    assert answers[QUESTIONS[2]["text"]] == "Sessions"
    assert answers[ASKED_ANEW] == "user deferred — use your best judgment"
    assert len(answers) == 3
    assert ended.out.count("The brainstormer: You have a point.") == 2
    assert "[answered: PostgreSQL] What persistence layer do you want?" in ended.out
    assert shop.brainstorm["chosenApproach"] == shop.brainstorm["approaches"][1]["id"]
    # Nothing that was not stale was asked for again.
    assert brain.asked.count("questions") == brain.asked.count("approaches") == 1
    assert brain.asked.count("sections") == 1
    discussed = next(r for r in stub.requests if asked_for(r, "approaches") and asked_for(r, "reply"))
    assert "what if we combined them?" in discussed.said
    assert "PostgreSQL" in discussed.said
    log = [(entry["role"], entry["step"]) for entry in shop.brainstorm["conversationLog"]]
    assert ("user", "questions") in log
    assert ("user", "approaches") in log


def test_a_section_can_be_revised(shop: Shop, brain: Brain, stub: StubServer) -> None:
    brain.triage = EXPLORE
    changed = {"sections": [{"id": "s1", "title": "Parser", "content": "Two passes."}]}
    stub.on(
        lambda r: asked_for(r, "sections") and "two passes, please" in r.said,
        Behaviour(json_text=json.dumps(changed)),
    )
    ended = shop.brainstormed("A", "S", "A", "R two passes, please", "S")
    assert "Two passes." in ended.out
    assert "Two passes." in shop.read(shop.workflow["designPath"])


def test_the_board_is_convened_and_its_brief_joins_the_conversation(shop: Shop, stub: StubServer) -> None:
    brief = {
        "consensus": {"areas": ["Strip early."], "strength": "moderate"},
        "tensions": [],
        "blindSpots": [],
        "recommendation": {"summary": "Do it in one pass.", "confidence": "high", "conditions": []},
    }
    stub.on(lambda r: asked_for(r, "blindSpots"), Behaviour(json_text=json.dumps(brief)))
    ended = shop.brainstormed("O Is one pass enough?", "X")
    assert "Do it in one pass." in ended.out
    assert "has spoken" in ended.err
    [entry] = [e for e in shop.brainstorm["conversationLog"] if e["role"] == "board"]
    assert "Do it in one pass." in entry["content"]


def test_the_roundtable_is_brought_in_and_its_minutes_join_the_conversation(shop: Shop) -> None:
    ended = shop.brainstormed("T Where is it stripped?", "Alex, is that safe?", "done", "X")
    assert "Alex Rivera (Solutions Architect): I see a risk in the edge cases." in ended.out
    [entry] = [e for e in shop.brainstorm["conversationLog"] if e["role"] == "roundtable"]
    assert "Strip early." in entry["content"]
    assert not (shop.root / "moot" / ".roundtable.jsonl").exists()


def test_done_ends_a_roundtable_while_somebody_speaks(shop: Shop, brain: Brain, stub: StubServer) -> None:
    stub.default = lambda request: Behaviour(stall_after=0) if request.schema is None else brain(request)
    with at_terminal("brainstorm", IDEA, env=shop.env, cwd=shop.root) as terminal:
        terminal.wait_for("? helps")
        terminal.type(f"T Where is it stripped?{ENTER}")
        terminal.wait_for("ELABORATION MODE")
        stub.wait(lambda stub: any(request.schema is None for request in stub.requests), timeout=60)
        terminal.type(f"done{ENTER}")
        terminal.wait_for("Wrapping up the discussion.")
        stub.wait(lambda stub: stub.clients_left == 1, timeout=60)
        terminal.wait_for("? helps")
        terminal.type(CTRL_D)
        assert terminal.end() == 0, terminal.seen
    [entry] = [e for e in shop.brainstorm["conversationLog"] if e["role"] == "roundtable"]
    assert entry["content"] == "The discussion of Assessment ended before it began."


def test_a_roundtable_that_is_left_is_resumed_at_its_turn(shop: Shop, stub: StubServer) -> None:
    begun = shop.brainstormed("T Where is it stripped?", "Alex, is that safe?")
    assert begun.code == 1
    before = len(stub.requests)
    ended = shop.resumed("done", "X")
    assert len(stub.requests) == before + 2, "only what it came to was asked for"
    assert "Strip early." in ended.out


# -- what goes wrong -----------------------------------------------------------------------------


def test_an_invalid_reply_is_returned_once_then_shown_raw_with_retry(
    shop: Shop, brain: Brain, stub: StubServer
) -> None:
    stub.script(Behaviour(json_text='{"level": "huge"}'), Behaviour(json_text='{"level": "vast"}'))
    ended = shop.brainstormed({"at": "failed", "reply": "R"}, "A", "A")
    assert ended.code == 0, ended.err
    assert '{"level": "vast"}' in ended.err
    returned = stub.requests[1]
    assert '{"level": "huge"}' in returned.said, "the model was shown what it had said"
    assert "level" in str(returned.messages[-1]), "and the reason"
    assert brain.asked[0] == "level"


def test_abort_saves_and_stops(shop: Shop, stub: StubServer) -> None:
    stub.script(*[Behaviour(json_text="{}")] * 2)
    ended = shop.brainstormed("X")
    assert ended.code == 1
    assert shop.workflow["stopped"] is True
    assert "Saved. Continue with: moot workflow resume" in ended.err
    assert shop.resumed("A", "A").code == 0, "what had failed is tried again"


def test_stopping_saves_and_nothing_is_dispatched_by_itself(shop: Shop, stub: StubServer) -> None:
    ended = shop.brainstormed("X")
    assert ended.code == 0
    assert "Stopped. Nothing happens until you resume." in ended.out
    assert ended.err.casefold().count("saved") == 1
    before = len(stub.requests)
    for command in (("workflow", "status"), ("workflow", "queue"), ("changes",)):
        assert shop.run(*command).code == 0
    other = shop.run("brainstorm", "Another idea", answers=[])
    assert other.code == 1
    assert len(stub.requests) == before
    assert shop.workflow["stopped"] is True


def test_running_out_of_answers_names_the_step_and_is_resumed(shop: Shop, brain: Brain) -> None:
    ended = shop.brainstormed("A")
    assert ended.code == 1
    assert "step 'design' needs an answer" in ended.err
    again = shop.resumed("A")
    assert again.code == 0, again.err
    assert "Resuming the workflow." in again.err
    assert "One pass removes the codes." in again.out, "what is decided about is shown again"
    assert brain.asked.count("sections") == 1


def test_a_wrong_choice_says_what_is_offered(shop: Shop) -> None:
    ended = shop.brainstormed("perhaps")
    assert ended.code == 2
    assert "'perhaps' is none of those offered: A, E, C, D" in ended.err


def test_without_a_terminal_and_answers_it_says_what_is_missing(shop: Shop) -> None:
    ended = shop.run("brainstorm", IDEA)
    assert ended.code == 1
    assert "There is no terminal to ask on" in ended.err


@pytest.mark.parametrize("idea", ["", "   ", "x" * 20_001])
def test_an_idea_that_cannot_be_taken_leaves_nothing_behind(shop: Shop, idea: str) -> None:
    ended = shop.run("brainstorm", idea, answers=[])
    assert ended.code == 2
    assert "idea" in ended.err
    assert not (shop.root / "moot").exists()


def test_a_model_that_cannot_be_reached_costs_nothing_but_time(shop: Shop, tmp_path: Path) -> None:
    shop.env = environment(tmp_path, None, OPENAI_API_KEY="x", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    shop.user_says("[gateway]\nretries = 0\n")
    ended = shop.brainstormed("X")
    assert ended.code == 1
    assert "127.0.0.1:9" in ended.err or "connect" in ended.err.lower()
    assert shop.workflow["userDescription"] == IDEA


# -- around it -----------------------------------------------------------------------------------


def test_the_same_idea_goes_on_and_another_is_refused(shop: Shop) -> None:
    shop.brainstormed("A")
    refused = shop.run("brainstorm", "Something else", answers=["A"])
    assert refused.code == 1
    assert f"Workflow '{IDEA}' already exists" in refused.err
    assert "moot workflow resume" in refused.err
    assert "moot workflow drop" in refused.err
    assert shop.brainstormed("A").code == 0


def test_without_an_idea_the_workflow_goes_on(shop: Shop) -> None:
    nothing = shop.run("brainstorm", answers=[])
    assert nothing.code == 1
    assert "step 'idea' needs an answer (your idea" in nothing.err
    shop.brainstormed("A")
    assert shop.run("brainstorm", answers=["A"]).code == 0


def test_a_finished_workflow_makes_room_for_the_next(shop: Shop) -> None:
    shop.brainstormed("A", "A")
    assert shop.brainstormed("G", "A", "A", idea="Another idea").code == 0
    assert shop.workflow["userDescription"] == "Another idea"
    [kept] = (shop.root / "moot" / "archive" / "workflows").iterdir()
    assert json.loads(kept.read_text(encoding="utf-8"))["userDescription"] == IDEA
    assert len(shop.reviews()) == 2


def test_a_clean_workspace_is_not_remarked_upon(shop: Shop) -> None:
    assert "uncommitted" not in shop.brainstormed("X").err


def test_with_uncommitted_work_an_unattended_run_stops_before_anything_is_paid(
    shop: Shop, brain: Brain
) -> None:
    shop.write("half.py", "unfinished\n")
    for answers in ([], ["A", "A"], ["S"], ["1"]):
        ended = shop.run("brainstorm", IDEA, "--json", answers=answers)
        assert ended.code in (1, 2)
        assert "step 'uncommitted'" in ended.err
        assert "The workspace has uncommitted work (half.py)" in ended.err
        assert "Z = Stash" in ended.err
        assert "moot workflow resume" in ended.err
        assert ended.json["uncommitted"]["files"] == ["half.py"]
    assert brain.asked == []
    assert shop.read("half.py") == "unfinished\n"
    status = shop.run("workflow", "status")
    assert "Uncommitted work: half.py" in status.out
    as_json = shop.run("workflow", "status", "--json").json["workflow"]
    assert (as_json["uncommitted"]["files"], as_json["uncommitted"]["count"]) == (["half.py"], 1)


def test_the_person_can_go_on_with_uncommitted_work(shop: Shop) -> None:
    shop.write("half.py", "unfinished\n")
    assert shop.brainstormed({"at": "uncommitted", "reply": "G"}, "X").code == 0
    assert shop.resumed({"at": "triage", "reply": "A"}, "A").code == 0, "what was accepted is not asked again"
    assert shop.workflow["phase"] == "done"
    assert shop.read("half.py") == "unfinished\n"


def test_uncommitted_work_can_be_stashed_and_comes_back(shop: Shop) -> None:
    shop.write("half.py", "unfinished\n")
    shop.write("README.md", "# Mine\n")
    ended = shop.brainstormed("stash", "A", "A")
    assert ended.code == 0, ended.err
    [stash] = shop.workflow["stashes"]
    assert stash["files"] == ["README.md", "half.py"]
    assert ended.out.count(f'Stashed as "{stash["name"]}": README.md, half.py') == 2, "and again at the end"
    assert "Bring it back with: git stash pop" in ended.out
    assert not (shop.root / "half.py").exists()
    assert shop.read("README.md").startswith("# Shop")
    assert shop.built == 2
    status = shop.run("workflow", "status").out
    assert f'Stashed as "{stash["name"]}"' in status
    shop.git("stash", "pop", "-q")
    assert (shop.read("half.py"), shop.read("README.md")) == ("unfinished\n", "# Mine\n")


def test_uncommitted_work_can_be_taken_along_to_a_new_branch(shop: Shop) -> None:
    shop.git("branch", "-m", "main")
    shop.write("half.py", "unfinished\n")
    ended = shop.brainstormed("N", "X")
    assert ended.code == 0, ended.err
    branch = shop.workflow["createdBranch"]
    assert branch.startswith("moot-strip-ansi-codes-in-the-review-parser-")
    told = " ".join(ended.out.split())
    assert (
        f"Switched to the new branch {branch}, with the uncommitted work. `git switch main` goes back."
        in told
    )
    assert (shop.root / ".git" / "HEAD").read_text(encoding="utf-8") == f"ref: refs/heads/{branch}\n"
    assert shop.read("half.py") == "unfinished\n"


def test_stopping_at_uncommitted_work_changes_nothing_and_asks_again(shop: Shop) -> None:
    shop.write("half.py", "unfinished\n")
    assert shop.brainstormed("X").code == 0
    assert "step 'uncommitted'" in shop.resumed().err
    shop.git("add", "half.py")
    shop.git("commit", "-qm", "Mine")
    assert shop.resumed({"at": "triage", "reply": "X"}).code == 0, "it is committed"


def test_what_cannot_be_stashed_is_asked_about_again_with_the_reason(shop: Shop) -> None:
    shop.write(".gitattributes", "*.bin filter=lfs\n")
    shop.write("large.bin", "bytes\n")
    ended = shop.brainstormed("Z")
    assert "large.bin needs a filter, which moot does not run" in " ".join(ended.err.split())
    assert "step 'uncommitted'" in ended.err
    assert shop.read("large.bin") == "bytes\n"


def test_whoever_resumes_is_asked_about_work_that_has_come_up_meanwhile(shop: Shop, brain: Brain) -> None:
    brain.triage = {**STRAIGHT, "batches": BATCHES}
    assert shop.brainstormed("A", "A", "X").code == 0
    assert shop.built == 2, "of the first batch, and not committed"
    shop.write("notes.md", "mine\n")
    ended = shop.resumed("X")
    assert "Uncommitted work: " not in ended.err, "where it stood before"
    assert shop.workflow["uncommitted"]["files"] == ["notes.md"], "what was built is known"
    assert shop.resumed("Z", {"at": "reassess", "reply": "X"}).code == 0
    assert not (shop.root / "notes.md").exists()
    assert shop.built == 2
    shop.git("stash", "pop", "-q")
    assert shop.read("notes.md") == "mine\n"


def test_a_new_workflow_is_asked_about_what_the_last_one_has_built(shop: Shop) -> None:
    shop.brainstormed("A", "A")
    shop.brainstormed("X", idea="Another idea")
    assert shop.workflow["uncommitted"]["files"] == ["built.txt"], (
        "and nothing that moot has written about it"
    )


def test_work_in_a_hostile_file_is_not_stashed_without_being_asked(shop: Shop) -> None:
    """A workflow that came with the repository says that the person has decided."""
    shop.write("half.py", "unfinished\n")
    said = {"files": [], "count": 0, "tree": "0" * 40}
    saved = {"phase": "brainstorm", "userDescription": IDEA, "setAside": "stash", "uncommitted": said}
    shop.write("moot/workflow.json", json.dumps(saved))
    for way in ("stash", "branch"):
        shop.write("moot/workflow.json", json.dumps({**saved, "setAside": way}))
        ended = shop.resumed()
        assert "the workspace has changed since you were asked" in " ".join(ended.err.split())
        assert "step 'uncommitted'" in ended.err
    assert shop.read("half.py") == "unfinished\n"
    assert not (shop.root / ".git" / "refs" / "stash").exists()


def test_json_is_one_document_and_words_go_elsewhere(shop: Shop) -> None:
    ended = shop.run("brainstorm", IDEA, "--json", answers=["A", "A"])
    assert ended.json["phase"] == "done"
    assert ended.json["batches"][0]["status"] == "complete"
    assert "Assessment: Straightforward" in ended.err


def test_json_of_one_that_cannot_go_on_says_why(shop: Shop) -> None:
    ended = shop.run("brainstorm", IDEA, "--json", answers=["A"])
    assert ended.json["brainstorm"]["step"] == "design"
    assert ended.json["error"]["kind"] == "AnswersExhausted"


def test_what_a_model_says_cannot_act_on_the_terminal(shop: Shop, brain: Brain) -> None:
    brain.triage = {**STRAIGHT, "reasoning": "Fine.\x1b[2J\x1b]0;owned\x07"}
    ended = shop.brainstormed("X")
    assert "Fine." in ended.out
    assert "\x1b" not in ended.out + ended.err


def test_batches_that_are_not_wanted_are_kept_whole(shop: Shop, brain: Brain) -> None:
    brain.triage = {**STRAIGHT, "batches": BATCHES}
    ended = shop.brainstormed("K", "A", "A")
    assert ended.code == 0, ended.err
    assert len(shop.workflow["batches"]) == 1


def test_without_an_idea_and_with_nothing_under_way_it_is_asked_for(shop: Shop) -> None:
    ended = shop.run("brainstorm", answers=[{"at": "idea", "reply": IDEA}, "X"])
    assert ended.code == 0, ended.err
    assert shop.workflow["userDescription"] == IDEA
    assert shop.run("brainstorm", answers=["X"]).code == 0, "what is under way goes on"


class _Wavers:
    """Withdraws what was interrupted, then leaves."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, ask: AskPerson, problem: str | None) -> PersonAnswered:
        assert problem is None
        self.asked.append(ask.step)
        if ask.step == "failed":
            assert "sent by mistake" in ask.expects
            return PersonAnswered(choice="back")
        raise UserQuit


def test_ctrl_c_while_a_comment_is_answered_offers_to_withdraw_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    billed: list[int] = []

    async def sum_up(_: Costs) -> None:
        billed.append(len(person.asked))

    monkeypatch.setattr(Costs, "sum_up", sum_up)
    play = at(Step.QUESTIONS)
    said = play.talk.conversation_log
    play.put(RequestMade("discuss", "sent by mistake"))
    person = _Wavers()

    async def whole() -> WorkflowState:
        nothing: Any = None

        def log() -> Any:
            rules: Any = {"snapshot": snapshot, "restored": restored}
            path, initial = tmp_path / "workflow.json", WORKFLOW.initial
            return SnapshotLog(path, initial=initial, advance=WORKFLOW.advance, **rules)

        first = log()
        await first.read()
        await first.append(Restored(dict(snapshot(play.state))))
        working = asyncio.Event()

        async def speak(*_: object) -> Any:
            working.set()
            await asyncio.Event().wait()

        narrator = BrainstormNarrator(nothing, words_to_stdout=False, asks=True)
        runner: Any = Runner(WORKFLOW, log(), Participants(speak, narrator, person))
        await runner.resume()
        workflow = Workflow(runner, "m", False, Asking("m", PROMPTS, "w"), True)
        async with opened(Options(tmp_path, database=sqlite_url(tmp_path / "moot.db")), {}) as moot:
            running = asyncio.create_task(_converse(moot, workflow, narrator, NOTHING, as_json=False))
            await asyncio.wait_for(working.wait(), 30)
            running.cancel()  # as Ctrl-C does
            await running
        return WORKFLOW.fold(await log().read())

    state = asyncio.run(whole())
    assert person.asked == ["failed", "questions"]
    assert billed == [2], "the bill comes once, when all is over"
    assert state.brainstorm.request is None
    assert state.brainstorm.conversation_log == said


def test_what_was_decided_is_seen_and_corrected_at_every_menu(
    shop: Shop, brain: Brain, stub: StubServer
) -> None:
    brain.triage = {**EXPLORE, "batches": BATCHES}
    menus = {"triage": "A", "questions": "S", "approaches": "A", "design": "S", "reassess": "X"}
    replies = [
        {"at": step, "reply": reply}
        for step, answer in menus.items()
        for reply in (f"/decided Only {step}.", answer)
    ]
    ended = shop.brainstormed(*replies)
    assert ended.code == 0, ended.err
    corrections = shop.workflow["ledgerCorrections"]
    assert [(one["text"], one["at"]) for one in corrections] == [(f"Only {at}.", at) for at in menus]
    assert ended.err.count("Decided so far:") == len(menus)
    known = [[f"Only {at}." in one.said for at in menus] for one in stub.requests]
    for asked, before in zip(known, [[False] * 5, *known], strict=False):
        assert all(now or not then for now, then in zip(asked, before, strict=True)), "none is forgotten"
    assert [any(column) for column in zip(*known, strict=True)] == [True, True, True, True, False]


def test_the_brainstormer_looks_into_the_workspace_and_what_it_has_read_is_shown_and_kept(
    shop: Shop, brain: Brain, stub: StubServer
) -> None:
    reads = Behaviour(tool_calls=(("read_file", {"path": "README.md"}),))

    def looking(request: Recorded) -> Behaviour:
        looks = "read_file" in request.tools and "append_review" not in request.tools
        has_looked = any(message.get("role") == "tool" for message in request.messages)
        return reads if looks and not has_looked else brain(request)

    stub.default = looking
    brain.triage = {**STRAIGHT, "batches": BATCHES}
    ended = shop.brainstormed("D why parse()?", "A", "A", "X")
    assert ended.code == 0, ended.err
    assert "reads README.md 1–3" in ended.err
    kept = [
        one.get("read", []) for one in shop.brainstorm["conversationLog"] if one["role"] == "brainstormer"
    ]
    assert len(kept) == 4, "the assessment, the discussion, the design and the reassessment"
    assert all("README.md 1–3" in read for read in kept)
    assert "body of parse() in src/review_parser.py:1-2" in kept[1]
    answered = [
        one
        for one in stub.requests
        if "append_review" not in one.tools and any(said.get("role") == "tool" for said in one.messages)
    ]
    assert len(answered) == 5, "whoever plans looks as well"
    assert all("Reviews parcels." in one.said for one in answered)
