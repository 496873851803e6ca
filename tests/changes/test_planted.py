"""Whatever is said anywhere about a change is known to whoever drafts, revises or reviews it later."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from moot.changes.binding import Binding
from moot.changes.challenge import Challenging
from moot.changes.decisions import Deciding
from moot.changes.folder import ChangeFolder
from moot.changes.review_tools import ReviewTools
from moot.changes.service import Changes
from moot.changes.state_file import Said, note_said
from moot.core.ledger import Decided, Kind
from moot.core.model_effects import NO_ROOM, ask_with_eyes
from moot.evidence.items import Evidence
from moot.llm.context import needed_tokens
from moot.llm.messages import Request
from moot.repo.eyes import Eyes
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.change import DRAFT, HIGH, appending, write_change
from tests.support.changes import MODEL, STAMP, at_the_stub, silent
from tests.support.planted import Look, Planting, left_out

CHANGE = "moot/changes/passkeys"
FILES = ("proposal.md", "specs/sign-in.md", "tasks.md")


def is_draft(request: Recorded) -> bool:
    return request.schema is not None


def is_review(request: Recorded) -> bool:
    return "append_review" in request.tools


@dataclass
class Facts:
    """The same facts for both who work on a change: each has tools of its own."""

    stub: StubServer
    root: Path
    drafters: Planting = field(init=False)
    reviewers: Planting = field(init=False)

    def __post_init__(self) -> None:
        self.root.mkdir()
        (self.root / CHANGE).mkdir(parents=True)
        folder = ChangeFolder("passkeys", self.root / CHANGE)
        review = ReviewTools(folder, self.root, lambda: STAMP, silent)
        self.drafters = Planting(self.stub, *Eyes(self.root, 1_000, 1_000_000).tools())
        self.reviewers = Planting(self.stub, *review.tools())

    def plant(self, place: str, drafter: Look | None = None, reviewer: Look | None = None) -> str:
        self.drafters.plant(place, *filter(None, [drafter]))
        return self.reviewers.plant(place, *filter(None, [reviewer]))

    def in_file(self, place: str, name: str) -> str:
        """A file of the workspace."""
        return self.plant(place, ("read_file", {"path": name}), ("read_file", {"path": f"@/{name}"}))

    def in_change(self, place: str, name: str) -> str:
        """A file of the change."""
        drafter = ("read_file", {"path": f"{CHANGE}/{name}"})
        return self.plant(place, drafter, ("read_file", {"path": name}))

    def begin(self, place: str) -> None:
        self.drafters.begin(place)
        self.reviewers.begin(place)

    def unknown(self, since: int, but: str = "") -> list[str]:
        """By the requests that were made since, of the files as they are now; all facts but one that is said
        only by the reply."""

        def of(kind: Callable[[Recorded], bool]) -> Callable[[Recorded], bool]:
            return lambda request: request.number > since and kind(request)

        found = [
            *self.drafters.unknown(concerns=of(is_draft)),
            *self.reviewers.unknown(concerns=of(is_review)),
        ]
        return [one for one in found if not (but and one.startswith(f"{but}:"))]


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def drafts(**fields: Any) -> Behaviour:
    return Behaviour(json_text=json.dumps(DRAFT | fields))


def reviews(issue: str, summary: str, *points: str) -> tuple[Behaviour | Callable[..., Behaviour], ...]:
    files = ("AGENTS.md", "design.md", "proposal.md", "specs/sign-in.md", "tasks.md")
    coverage = [{"point": point, "state": "covered", "where": "proposal.md"} for point in points]
    given: Mapping[str, Any] = {
        "verdict": "NEEDS_REVISION",
        "issues": [{**HIGH, "description": issue}],
        "summary": summary,
        "coverage": coverage,
    }
    return (
        Behaviour(tool_calls=tuple(("read_file", {"path": path}) for path in files)),
        appending(given),
    )


def edit_all(facts: Facts, place: Path) -> None:
    """The person writes in each file of the change."""
    edit(
        place / "proposal.md",
        "Passwords get",
        f"{facts.in_change('edited proposal', 'proposal.md')} They get",
    )
    edit(place / "specs/sign-in.md", "How a", f"{facts.in_change('edited spec', 'specs/sign-in.md')} How a")
    edit(place / "tasks.md", "Send links", facts.in_change("edited task", "tasks.md"))
    edit(place / "design.md", "## Keys\n", f"## Keys\n\n- {facts.in_change('edited design', 'design.md')}\n")


def test_a_fact_at_each_place_is_known_ever_after(stub: StubServer, tmp_path: Path) -> None:
    facts = Facts(stub, tmp_path / "project")
    root, place = facts.root, facts.root / CHANGE
    put(root / "README.md", f"# Shop\n\n{facts.in_file('README', 'README.md')}\n")
    put(root / "CONTRIBUTING.md", f"# House rules\n\n{facts.in_file('house rule', 'CONTRIBUTING.md')}\n")
    body = facts.in_file("function body", "src/login.py")
    put(root / "src/login.py", f"def sign_in(password):\n    # {body}\n    return True\n")
    notes = facts.in_change("evidence", "design.md")
    evidence = Evidence("notes.txt", "notes.txt", "sha256:1", "text/plain", notes)
    bound = Binding(
        f"# Passkeys\n\n## Keys\n\n- {facts.in_change('design', 'design.md')}\n",
        (Decided("q1", Kind.REJECTED, facts.in_change("decision", "design.md"), "person", "triage"),),
        (evidence,),
    )
    wish = facts.plant("wish")

    async def work() -> list[str]:
        async with at_the_stub(stub, root) as moot:
            changes, lost = Changes(moot), list[str]()
            challenging = Challenging(changes)
            stub.script(drafts(summary=facts.in_change("draft", "earlier/1/proposal.md")))
            await changes.propose("passkeys", f"Passkeys for sign_in. {wish}", silent, bound)
            lost += facts.unknown(0, but="draft")

            edit_all(facts, place)
            issue, summary = (
                facts.in_change("issue", "proposal.md"),
                facts.in_change("summary", "proposal.md"),
            )
            stub.script(*reviews(issue, summary, "P1", "P2", "D1"))
            await challenging.challenge("passkeys", "model", silent)
            said_by_then = ("README", "house rule", "function body", "wish", "design", "decision", "evidence")
            edited = ("edited proposal", "edited spec", "edited task", "edited design")
            lost += facts.reviewers.unknown(*said_by_then, *edited, concerns=is_review)
            because = facts.plant("reason for a dismissal")
            Deciding(changes).dismiss("passkeys", 1, because, silent)

            feedback, since = facts.plant("feedback"), len(stub.requests)
            stub.script(drafts(summary=facts.in_change("revised draft", "earlier/2/proposal.md")))
            await changes.repropose("passkeys", f"Shorter. {feedback}", silent)
            lost += facts.unknown(since, but="revised draft")

            own = Decided("own:1", Kind.DECIDED, facts.in_change("correction", "design.md"), "person", "")
            changes.bind("passkeys", Binding(decided=(own,)), silent)
            since = len(stub.requests)
            stub.script(*reviews("Another one.", "No.", "P1", "P2", "D1", "D2"))
            await challenging.challenge("passkeys", "model", silent)
            lost += facts.unknown(since, but="revised draft")
            since = len(stub.requests)
            stub.script(drafts())
            await changes.repropose("passkeys", "Once more.", silent)
            return lost + facts.unknown(since)

    assert asyncio.run(work()) == []
    assert len(stub.requests) == 7


# -- at the window's edge ------------------------------------------------------------------------


def windowed(tokens: int) -> str:
    return f'[windows]\n"{MODEL}" = {tokens}\n'


NO_LOOK = NO_ROOM.left_out


@pytest.mark.parametrize(
    ("beyond", "missing"),
    [
        (0, ()),
        (-1, ()),
        (1, ("the file CONTRIBUTING.md",)),
        (2_000, ("the file CONTRIBUTING.md", "the file README.md")),
    ],
)
def test_beyond_the_window_a_drafter_is_given_the_oldest_last_of_all_and_everybody_hears_of_it(
    stub: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beyond: int, missing: tuple[str, ...]
) -> None:
    """At the size of the request, one above it, and one and many below."""
    root, sizes = tmp_path / "project", list[int]()
    put(root / "README.md", "# Shop\n" + "It sells hats. " * 300)
    put(root / "CONTRIBUTING.md", "# House rules\n" + "Write tests. " * 300)
    asking = ask_with_eyes

    async def measuring(request: Request, *rest: Any) -> Any:
        sizes.append(needed_tokens(replace(request, looks=0, tools_tokens=0)))
        return await asking(request, *rest)

    monkeypatch.setattr("moot.changes.service.ask_with_eyes", measuring)
    stub.default = drafts()
    told: list[str] = []

    async def propose(settings: str) -> ChangeFolder:
        async with at_the_stub(stub, root, settings) as moot:
            return await Changes(moot).propose("passkeys", "Passkeys for all of them.", told.append)

    asyncio.run(propose(""))
    told.clear()
    shutil.rmtree(root / "moot")
    folder = asyncio.run(propose(windowed(sizes[0] - beyond)))
    assert sizes[0] == sizes[1]
    assert left_out(stub.requests[-1]) == missing, "the model is told"
    (call,) = folder.state().calls
    assert call.left_out == (*missing, *NO_LOOK), "it is kept"
    because = "was not given, because it would not have fitted: "
    assert f"{because}{'; '.join((*missing, *NO_LOOK))}" in told, "and the person is told"


def test_beyond_the_window_a_reviewer_is_told_what_it_was_not_given(stub: StubServer, tmp_path: Path) -> None:
    root, told = tmp_path / "project", list[str]()
    write_change(root / CHANGE, "proposed")
    folder = ChangeFolder("passkeys", root / CHANGE)
    folder.update_state(lambda data: note_said(data, Said("proposal", "A long wish. " * 1_500)))
    (built,) = reviews("Not yet.", "No.")[1:2]
    reads = Behaviour(tool_calls=tuple(("read_file", {"path": path}) for path in FILES))
    stub.script(reads, built)

    async def challenge() -> None:
        async with at_the_stub(stub, root, windowed(20_000)) as moot:
            await Challenging(Changes(moot)).challenge("passkeys", "model", told.append)

    asyncio.run(challenge())
    missing = ("what the change was drafted from",)
    assert left_out(stub.requests[0]) == missing
    assert folder.state().calls[-1].left_out == missing
    assert f"was not given, because it would not have fitted: {missing[0]}" in told
