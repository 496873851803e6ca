"""`moot analyze` as a person or a script uses it: the real command, a real repository, real HTTP."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moot.files.lock import claimed
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.analysis import ASKED_BACK, EXPLAINED, reply
from tests.support.command import MOOT, Ended, environment, moot
from tests.support.ready import Popen
from tests.support.roundtable import check_reply, minutes_reply


def speaking(request: Recorded) -> Behaviour:
    said = reply(request.system, request.said, request.schema)
    return Behaviour(text=said) if request.schema is None else Behaviour(json_text=said)


# One step of each phase, and two roundtables.
SHORT: list[Any] = [
    *("Twenty people.", "E", "Alex, what about conflicts?", "done", "You forgot the tunnels.", "S"),
    *(
        "Twenty people.",
        "S",
        "Twenty people.",
        "E",
        "done",
        "S",
        "Twenty people.",
        "S",
        "Twenty people.",
        "S",
    ),
]
OF_THE_PERSON = ("AnswerGiven", "MenuChosen", "FeedbackGiven", "PersonSpokeUp", "PersonLeft", "PersonSilent")


class Project:
    def __init__(self, folder: Path, stub: StubServer) -> None:
        self.root = folder / "reader"
        (self.root / "src").mkdir(parents=True)
        self.write("src/sync.py", "def sync_offline(document):\n    return document\n")
        self.write("src/page.html", "<p>Reader</p>\n")
        self.write("README.md", "# Reader\n\nReads documents, offline too.\n")
        git = ("git", "-C", str(self.root), "-c", "user.name=t", "-c", "user.email=t@example.org")
        for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
            subprocess.run([*git, *arguments], check=True)
        self.env = environment(folder, stub)
        self.item = self.root / "moot" / "items" / "offline-mode"
        self._folder = folder

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.item / name).read_text(encoding="utf-8")

    @property
    def meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = json.loads(self.read("meta.json"))
        return meta

    def events(self) -> list[dict[str, Any]]:
        """The log, without what no two runs have in common."""
        return [_timeless(json.loads(line)) for line in self.read("session.jsonl").splitlines()]

    def files(self) -> dict[str, str]:
        """The artifacts and meta.json, without the times."""
        return {
            path.name: _TIME.sub("TIME", path.read_text(encoding="utf-8"))
            for path in sorted(self.item.iterdir())
            if path.name != "session.jsonl"
        }

    def killed_at(self, stub: StubServer, request: int, answers: list[Any]) -> str:
        """Killed while the model thinks about the request of that number. What was on the screen by then."""
        file = self._folder / "answers.yaml"
        file.write_text(json.dumps(answers), encoding="utf-8")
        before = len(stub.requests)
        command = [*MOOT, "analyze", "Offline mode", "--answers", str(file)]
        with (self._folder / "out").open("w+", encoding="utf-8") as out:
            process = Popen(command, env=self.env, cwd=self.root, stdout=out, stderr=out)
            try:
                stub.wait(lambda stub: len(stub.requests) >= before + request, timeout=60)
            finally:
                process.kill()
                process.wait()
            out.seek(0)
            return out.read()

    def run(self, *arguments: str, answers: list[Any] | None = None, timeout: float = 300) -> Ended:
        more: tuple[str, ...] = ()
        if answers is not None:
            file = self._folder / "answers.yaml"
            file.write_text(json.dumps(answers), encoding="utf-8")
            more = ("--answers", str(file))
        return moot(*arguments, *more, env=self.env, cwd=self.root, timeout=timeout)


_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def _timeless(value: Any) -> Any:
    match value:
        case dict():
            return {key: _timeless(part) for key, part in value.items() if key != "duration_ms"}
        case list():
            return [_timeless(part) for part in value]
        case str():
            return _TIME.sub("TIME", value)
        case _:
            return value


@pytest.fixture
def project(tmp_path: Path, stub: StubServer) -> Project:
    stub.default = speaking
    return Project(tmp_path, stub)


def test_a_whole_analysis_with_two_roundtables(project: Project, stub: StubServer) -> None:
    """All five phases of a real repository, by --answers alone."""
    answers: list[Any] = []
    for number in range(24):
        answers.append("People on trains, about twenty of them.")
        if number in (0, 11):
            answers += ["E", "Alex, what about conflicts?", "done"]
        answers.append("C")
    ended = project.run("analyze", "Offline mode", "--json", answers=answers)
    assert ended.code == 0, ended.err
    assert ended.json["status"] == "analyzed"
    assert len(ended.json["steps_completed"]) == 24
    assert [e["step"] for e in ended.json["elaborations"]] == ["00-01", "02-01"]
    assert project.meta["analysis_status"] == "analyzed"
    assert len(project.meta["phases_completed"]) == 5
    assert len(project.meta["elaborations"]) == 2
    scan = project.read("quick-scan.md")
    assert "### Elaboration Insights (Step 00-01: Scope Estimation)" in scan
    assert "- [Alex] Conflicts need a visible list." in scan
    assert json.loads(project.read("user-stories.json"))[0]["id"] == "US-001"
    assert project.read("traceability-matrix.csv").count("\n") == 2
    opening = next(r for r in stub.requests if "You lead one step" in r.system)
    assert "src/sync.py" in opening.system, "the quick scan cites the workspace"


def test_it_is_resumed_where_it_was_with_a_greeting(project: Project) -> None:
    begun = project.run("analyze", "Offline mode", answers=["Twenty people.", "E", "done", "C"])
    assert begun.code == 1
    assert "needs an answer" in begun.err
    again = project.run("analyze", "offline-mode", answers=["About ten files.", "C"])
    assert "Maya Chen: Welcome back. Last time we completed Scope Estimation." in again.out
    assert "roundtable discussion on Scope Estimation" in again.out
    assert "Let us pick up from Keyword Search." in again.out
    assert project.meta["steps_completed"] == ["00-01", "00-02"]


def test_feedback_is_added_and_nothing_is_lost(project: Project) -> None:
    ended = project.run("analyze", "Offline mode", answers=["Twenty.", "You forgot the tunnels."])
    assert "You are right, I have added that." in ended.out
    text = project.read("quick-scan.md")
    assert text.count("What the step has settled for quick-scan.md") == 2
    assert "<!-- Step 00-01, feedback 1 -->" in text


def test_what_was_changed_by_hand_and_what_is_cited_but_not_there_is_said(
    project: Project, stub: StubServer
) -> None:
    def invents(request: Recorded) -> Behaviour:
        said = speaking(request)
        if request.schema is None:
            return Behaviour(text="By F-9 and step 77-01, who needs it?")
        drafted = json.loads(said.json_text or "{}")
        if "contents" in drafted:
            drafted["contents"] = {"quick-scan.md": "It is in `src/sync.py:900`. [E3]"}
        return Behaviour(json_text=json.dumps(drafted))

    stub.default = invents
    ended = project.run("analyze", "Offline mode", answers=["Twenty people."])
    assert "Cited, but not there: F-9 (no file defines it); step 77-01 (there is none)." in ended.err
    missing = "[E3] (no such item); src/sync.py:900 (the file has 2 lines)"
    assert f"Cited, but not there: {missing}." in ended.err
    written = project.read("quick-scan.md")
    (project.item / "quick-scan.md").write_text(f"{written}\nTrams count, too.\n", encoding="utf-8")
    ended = project.run("analyze", "offline-mode", "--json", answers=["C", "Forty."])
    assert "Changed by hand: quick-scan.md: 1 line new. That is what holds from here on." in ended.err
    assert "<changed-by-hand>" in stub.requests[-1].said
    assert "+ Trams count, too." in stub.requests[-1].said
    assert "Cited, but not there: src/sync.py:900 (the file has 2 lines)" in stub.requests[-1].said
    assert ended.json["changed_by_hand"][0]["added"] == ["Trams count, too."]
    assert (
        "Changed by hand: quick-scan.md" in project.run("analyze", "offline-mode", answers=["/decided"]).err
    )


def test_a_question_within_a_step_is_answered_and_is_no_answer(project: Project, stub: StubServer) -> None:
    answers = [ASKED_BACK, ASKED_BACK, "Thirty an hour."]
    ended = project.run("analyze", "Offline mode", "--json", answers=answers)
    assert ended.err.count(EXPLAINED) == 2
    [step] = ended.json["steps"]
    assert [exchange["answered"] for exchange in step["exchanges"]] == ["Thirty an hour."]
    assert step["asked_back"] == [{"asked": ASKED_BACK, "replied": EXPLAINED}] * 2
    assert "throughput" not in project.read("quick-scan.md").lower()
    notes = next(request for request in stub.requests if "You take the notes" in request.system)
    assert EXPLAINED in notes.said, "the answer may lean on what was explained"


def test_a_question_at_the_menu_is_answered_and_nothing_is_written(project: Project) -> None:
    ended = project.run("analyze", "Offline mode", answers=["Twenty.", ASKED_BACK])
    assert EXPLAINED in ended.out
    assert "feedback 1" not in project.read("quick-scan.md")
    assert ended.err.count("Written: ") == 1


BRIEF = {
    "consensus": {"areas": ["Storage is cheap."], "strength": "moderate"},
    "tensions": [],
    "blindSpots": [],
    "recommendation": {"summary": "Let the reader pay.", "confidence": "high", "conditions": []},
}


def asks_for_brief(request: Recorded) -> bool:
    return request.schema is not None and "blindSpots" in request.schema["properties"]


def test_the_board_is_convened_on_an_open_question(project: Project, stub: StubServer) -> None:
    stub.on(asks_for_brief, Behaviour(json_text=json.dumps(BRIEF)))
    answers = ["Twenty.", "E", "Team, what do you think?", "done", "B", "1", "C"]
    ended = project.run("analyze", "Offline mode", answers=answers)
    assert "The Board on: Who pays for the storage?" in ended.out
    assert "Let the reader pay." in ended.out
    [file] = [path.name for path in project.item.iterdir() if path.name.startswith("board-")]
    assert not file.startswith("board-board-")
    assert f"[{file}]({file})" in project.read("quick-scan.md")
    before, _, after = ended.err.partition("The Board is asked: Who pays for the storage?")
    assert "has spoken" not in before
    assert "has spoken" in after
    advised = next(one for one in stub.requests if asks_for_brief(one))
    assert advised.said.count("#### Key Insights") == 1, "the Board reads the minutes in the artifact"


def test_a_board_whose_brief_failed_is_taken_up_again_and_nobody_speaks_twice(
    project: Project, stub: StubServer
) -> None:
    written = Behaviour(json_text=json.dumps(BRIEF))
    stub.on(asks_for_brief, Behaviour(status=400, error_message="no"), written)
    begun = project.run("analyze", "Offline mode", answers=["Twenty.", "E", "done", "B", "1"])
    assert begun.code == 1
    assert "The brief could not be written" in begun.err
    assert "Check the model's name" in begun.err, "advice on what happened"
    before = len(stub.requests)
    again = project.run("analyze", "offline-mode", answers=["r"])
    assert "Let the reader pay." in again.out
    assert [asks_for_brief(request) for request in stub.requests[before:]] == [True]


def test_a_model_that_fails_can_be_tried_again(project: Project, stub: StubServer) -> None:
    stub.script(Behaviour(status=400, error_message="no"))
    ended = project.run("analyze", "Offline mode", answers=[{"at": "failed", "reply": "r"}, "Twenty."])
    assert "Maya asks" in ended.out
    assert project.meta["steps_completed"] == ["00-01"]


def test_items_says_how_far_each_is(project: Project) -> None:
    assert "No items yet" in project.run("items").err
    project.run("analyze", "Offline mode", answers=["Twenty."])
    (project.root / "moot" / "items" / "broken").mkdir()
    (project.root / "moot" / "items" / "broken" / "meta.json").write_text("{", encoding="utf-8")
    listed = project.run("items")
    assert listed.code == 0
    assert "offline-mode" in listed.out
    assert "partial" in listed.out
    assert "broken" in listed.out
    assert "meta.json" in listed.out


def stalling(at: int) -> Callable[[Recorded], Behaviour]:
    """Goes silent at the request of that number."""

    def answer(request: Recorded) -> Behaviour:
        return Behaviour(stall_after=0) if request.number == at else speaking(request)

    return answer


def test_killed_for_real_while_a_model_thinks_it_goes_on_to_the_same_end(
    project: Project, stub: StubServer
) -> None:
    ended = project.run("analyze", "Offline mode", answers=SHORT)
    assert ended.code == 0, ended.err
    undisturbed, files, calls = project.events(), project.files(), len(stub.requests)
    assert [event["type"] for event in undisturbed].count("ElaborationRecorded") == 2
    # An opening, notes, a framing, a contribution, a synthesis, feedback, and the last of all.
    framing = next(n for n, r in enumerate(stub.requests, 1) if "focus_question" in str(r.schema))
    synthesis = next(n for n, r in enumerate(stub.requests, 1) if "one_line" in str(r.schema))
    for request in (1, 2, framing, framing + 1, synthesis, synthesis + 1, calls):
        shutil.rmtree(project.item)
        stub.reset()
        stub.default = stalling(request)
        seen = project.killed_at(stub, request, SHORT)
        if request == framing:
            assert "ELABORATION MODE" in seen, "the introduction is there before any model is asked"
        before = project.events()
        given = sum(event["type"] in OF_THE_PERSON for event in before)
        assert before == undisturbed[: len(before)]
        stub.default = speaking
        again = project.run("analyze", "Offline mode", answers=SHORT[given:])
        assert again.code == 0, again.err
        assert project.events() == undisturbed, request
        assert {**project.files(), "meta.json": ""} == {**files, "meta.json": ""}
        assert len(stub.requests) == calls + 1, "nothing but what was under way is asked for again"


def test_ctrl_c_in_a_roundtable_keeps_everything_and_it_goes_on_at_its_turn(
    project: Project, stub: StubServer
) -> None:
    stub.default = stalling(5)
    file = project.root.parent / "answers.yaml"
    file.write_text(json.dumps(["Twenty people.", "E"]), encoding="utf-8")
    command = [*MOOT, "analyze", "Offline mode", "--answers", str(file)]
    process = Popen(command, env=project.env, cwd=project.root, stderr=subprocess.PIPE, text=True)
    stub.wait(lambda stub: len(stub.requests) >= 5, timeout=60)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Saved. Continue with: moot analyze offline-mode" in err
    stub.default = speaking
    again = project.run("analyze", "offline-mode", answers=["done"])
    assert "Let us pick up our roundtable on Scope Estimation where it was." in again.out
    assert "Alex Rivera (Solutions Architect): I see two approaches" in again.out, "what was said last"
    assert "**Turns**: 3 | **Exit**: user-initiated" in again.out


def requests_by(stub: StubServer) -> Counter[str]:
    """How often a model was asked for what, in a roundtable."""
    kinds: Counter[str] = Counter()
    for request in stub.requests:
        fields = (request.schema or {}).get("properties", {})
        if "focus_question" in fields:
            kinds["framing"] += 1
        elif "disagreements" in fields:
            kinds["check"] += 1
        elif "one_line" in fields:
            kinds["synthesis"] += 1
        elif "You sit at a table" in request.system:
            kinds["contribution"] += 1
    return kinds


def test_a_roundtable_of_ten_turns_costs_ten_contributions_a_check_a_round_and_two_more_requests(
    project: Project, stub: StubServer
) -> None:
    answers = ["Twenty.", "E", "What do you all think?", "And the costs?", "Go on.", "C"]
    ended = project.run("analyze", "Offline mode", answers=answers)
    assert "**Turns**: 10 | **Exit**: turn-limit" in ended.out
    assert ended.out.count("We are nearing the end of our discussion time.") == 1
    kinds = requests_by(stub)
    assert (kinds["framing"], kinds["check"], kinds["synthesis"]) == (1, 3, 1)
    assert kinds["contribution"] <= 10


def test_the_worst_of_models_makes_a_roundtable_cost_at_most_one_asking_more_each(
    project: Project, stub: StubServer
) -> None:
    """It uses forbidden words for ever, and gets everything typed wrong in a new way each time."""
    wrong = itertools.cycle(
        [
            "no JSON",
            json.dumps(minutes_reply("we talked", ("Something.", (1, "", "Nobody has said this.")))),
        ]
    )
    settled = ("So it is", "", (1, "Maya", "We have decided this."))
    invented = itertools.cycle(["no JSON", json.dumps(check_reply([settled]))])
    lots = itertools.count()

    def worst(request: Recorded) -> Behaviour:
        fields = (request.schema or {}).get("properties", {})
        if "focus_question" in fields:
            return Behaviour(json_text="no JSON")
        if "disagreements" in fields:
            return Behaviour(json_text=next(invented))
        if "one_line" in fields:
            return Behaviour(json_text=next(wrong))
        if "You sit at a table" in request.system:
            word = "throughput, a delightful look and business value"
            return Behaviour(
                text=f"{word}: {next(lots)} {hashlib.sha256(str(next(lots)).encode()).hexdigest()}"
            )
        return speaking(request)

    stub.default = worst
    answers = ["Twenty.", "E", *["What about errors?"] * 9]
    ended = project.run("analyze", "Offline mode", answers=answers)
    assert "turn-limit" in ended.out
    kinds = requests_by(stub)
    assert kinds["framing"] == 2
    assert kinds["synthesis"] == 2
    assert ended.out.count("No decision, because turn 1 does not say “We have decided this.”: So it is") == 1
    assert kinds["check"] == 6, "a check a round, and each returned once"
    assert "So it is" not in project.read("quick-scan.md")
    assert kinds["contribution"] <= 20
    returned = [event for event in project.events() if event["type"] == "ContributionReturned"]
    assert returned, "forbidden words were asked about"


def test_a_turn_limit_that_makes_no_sense_is_ten_and_that_is_said(project: Project) -> None:
    project.item.mkdir(parents=True)
    begun = {"title": "Offline mode", "elaboration_config": {"max_turns": "many"}}
    (project.item / "meta.json").write_text(json.dumps(begun), encoding="utf-8")
    ended = project.run("analyze", "offline-mode", answers=["Twenty.", "E", "done"])
    assert "max_turns has to be a whole number of at least 3, not 'many': 10 turns are taken" in ended.out
    assert "Turn limit: 10 exchanges." in ended.out


def test_the_same_roundtable_twice_in_a_second_leaves_two_records(project: Project) -> None:
    project.run("analyze", "Offline mode", answers=["Twenty.", "E", "done", "E", "done"])
    first, second = project.meta["elaborations"]
    assert project.read("quick-scan.md").count("### Elaboration Insights (Step 00-01") == 2
    # The record's time is when it was written, after everything that was said.
    assert first["opened_at"] < first["timestamp"] < second["opened_at"] < second["timestamp"]


def test_skipped_steps_can_be_taken_up_at_the_end_or_later(project: Project) -> None:
    ended = project.run("analyze", "Offline mode", answers=SHORT)
    assert ended.code == 0
    assert "The analysis is finished but for what was skipped." in ended.err
    again = project.run("analyze", "offline-mode", answers=["t", "Twenty people."])
    assert "finished but for 19 skipped steps" in again.out
    assert "Step 00-02: Keyword Search" in again.out
    assert project.meta["steps_completed"][-1] == "00-02"


def test_somebody_who_comes_back_sees_the_question_again(project: Project) -> None:
    project.run("analyze", "Offline mode", answers=[])
    again = project.run("analyze", "offline-mode", answers=[])
    assert "Maya Chen (Business Analyst): Maya asks: 1. Who needs it?" in again.out


def test_a_log_that_was_cut_off_is_said_and_goes_on(project: Project) -> None:
    project.run("analyze", "Offline mode", answers=["Twenty."])
    log = project.item / "session.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    again = project.run("analyze", "offline-mode", answers=[])
    assert "session.jsonl ends in the middle of an event" in again.err
    assert project.meta["steps_completed"] == ["00-01"]
    assert project.read("quick-scan.md").count("<!-- Step 00-01 -->") == 1


def test_numbers_that_an_earlier_version_gave_are_said_to_be_others_now(project: Project) -> None:
    project.run("analyze", "Offline mode", answers=["Twenty."])
    file = project.item / "quick-scan.md"
    file.write_text(project.read("quick-scan.md") + "\nBy D4.\n", encoding="utf-8")
    said = "quick-scan.md: what is cited there as D1, D2, … was numbered by an earlier version"
    assert said not in project.run("analyze", "offline-mode", answers=[]).err
    log = project.item / "session.jsonl"
    log.write_text(log.read_text("utf-8").replace('"keeps_numbers":true', '"keeps_numbers":false'), "utf-8")
    assert said in project.run("analyze", "offline-mode", answers=[]).err


def test_words_of_the_person_change_the_depth_and_that_is_said(project: Project) -> None:
    ended = project.run("analyze", "Offline mode", answers=["Twenty. Please be thorough."])
    assert "From here on the analysis is deep." in ended.err


def test_a_depth_that_the_description_asks_for_is_the_one_from_the_beginning(project: Project) -> None:
    ended = project.run(
        "analyze", "Offline mode", "--about", "On trains. Let's go deep.", answers=["Twenty."]
    )
    assert "Looked at the workspace: a deep analysis should do." in ended.err


def test_without_an_answer_for_the_menu_everything_so_far_is_kept(project: Project) -> None:
    ended = project.run("analyze", "Offline mode", "--json", answers=["Twenty."])
    assert ended.code == 1
    assert ended.json["error"]["kind"] == "AnswersExhausted"
    assert project.meta["steps_completed"] == ["00-01"], "before the menu shows"


def test_a_whole_analysis_on_the_embedded_model(tmp_path: Path, stub: StubServer) -> None:
    """Real generations: one step of each phase, and a roundtable of the fewest turns, of which the person has
    the last."""
    project = Project(tmp_path, stub)
    project.item.mkdir(parents=True)
    begun = {"title": "Offline mode", "elaboration_config": {"max_turns": 3}}
    (project.item / "meta.json").write_text(json.dumps(begun), encoding="utf-8")
    answers = [
        *("People on trains read it. About twenty of them.", "E", "Go on.", "S"),
        *("They lose their notes.", "S"),
        *("The reader and its queue.", "S"),
        *("One store on the phone.", "S"),
        *("A queue and a list.", "S"),
    ]
    ended = project.run(
        "analyze", "offline-mode", "--model", "local", "--json", answers=answers, timeout=1200
    )
    assert ended.code == 0, ended.err
    assert ended.json["steps_completed"] == ["00-01", "01-01", "02-01", "03-01", "04-01"]
    assert [e["turn_count"] for e in project.meta["elaborations"]] == [3]
    assert stub.requests == []
    scan = project.read("quick-scan.md")
    assert "People on trains read it. About twenty of them." in scan
    assert "### Elaboration Insights (Step 00-01: Scope Estimation)" in scan
    assert re.search(r"^- \[Alex\] .+[.!?]$", scan, re.MULTILINE), "a sentence of who said it"


# -- which item is meant -------------------------------------------------------------------------

LONG = "Let people on trains read and annotate their documents without a network"


@pytest.mark.parametrize(
    "titles", [("C++", "C#"), (f"{LONG}, on phones", f"{LONG}, on tablets"), ("読む app", "書く app")]
)
def test_titles_that_only_look_alike_are_different_items(project: Project, titles: tuple[str, ...]) -> None:
    for title in (*titles, titles[-1]):
        project.run("analyze", title, answers=[])
    metas = [json.loads(file.read_text()) for file in project.item.parent.glob("*/meta.json")]
    assert sorted(meta["title"] for meta in metas) == sorted(titles)


def test_the_same_title_in_another_spelling_is_the_same_item(project: Project) -> None:
    for title in ("Offline mode", "offline  MODE.", "offline-mode"):
        project.run("analyze", title, answers=[])
    assert [folder.name for folder in project.item.parent.iterdir()] == ["offline-mode"]


def test_more_about_an_item_that_has_been_begun_is_said_to_be_ignored(project: Project) -> None:
    project.run("analyze", "Offline mode", "--about", "On trains.", answers=[])
    ended = project.run("analyze", "Offline mode", "--about", "In tunnels.", answers=[])
    assert "--about is not used" in ended.err
    assert project.meta["description"] == "On trains."


def test_more_about_an_item_of_another_tool_is_added(project: Project) -> None:
    project.item.mkdir(parents=True)
    (project.item / "meta.json").write_text('{"slug": "offline-mode"}', encoding="utf-8")
    ended = project.run("analyze", "offline-mode", "--about", "In tunnels.", answers=[])
    assert "--about" not in ended.err
    assert project.meta["description"] == "In tunnels."
    assert project.events()[0]["description"] == "In tunnels."


def test_a_second_process_is_told_at_the_start_who_works_on_the_item(project: Project) -> None:
    project.run("analyze", "Offline mode", answers=[])
    with claimed(project.item, "analysed", "item"):
        ended = project.run("analyze", "Offline mode", answers=["Twenty people."])
    assert ended.code != 0
    assert "Item 'offline-mode' is being analysed by process" in ended.err
    assert not any(event["type"] == "AnswerGiven" for event in project.events())
    assert project.run("analyze", "Offline mode", answers=["Twenty people."]).err.count("analysed by") == 0
    assert any(event["type"] == "AnswerGiven" for event in project.events())
