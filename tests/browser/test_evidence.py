"""Evidence, citations, what was decided so far and what it costs, on the page as its user sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from moot.board.events import AdvisorSpoke, BoardConvened, DecisionPresented
from moot.core.flow import Usage
from tests.stub.script import Behaviour, Recorded, Spent
from tests.stub.server import StubServer
from tests.support.board_page import ENDLESS, FIRST, SECOND, Board, NewBoard, a_session, stored
from tests.support.board_session import MEMBERS, keep
from tests.support.server import BRIEF, DECISION, QUESTIONS, Server, a_board, serving

PLAN = "# Plan\nThe lease ends in May\nNobody has asked the landlord\n"
KEY = "AKIA" + "IOSFODNN7EXAMPLQ"
SECRET = f"region: eu\nname: x\nkey: {KEY}\n"
VIEW = (
    'The plan says "The lease ends in May" [E1:2]. It also says "we may stay forever and a day" [E1:3], '
    "and the survey [E7:1] agrees. Read all of it [E1:2-3, E2]."
)
SUMMARY = "Wait for the landlord [E1:3], whatever [E9] says."
CONDITION = "What the Board recommends holds only if: Ask [E1:3]."

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 900}
LOOKS = [(size, scheme) for size in (DESK, PHONE) for scheme in ("light", "dark")]


# -- what is on the page ---------------------------------------------------------------------------


def offers(page: Page) -> Locator:
    return page.get_by_role("list", name="Evidence to give").get_by_role("listitem")


def ways(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name)


def decided(page: Page) -> Locator:
    return page.locator(".decided .entry")


def given(page: Page) -> Locator:
    return page.locator(".items li")


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def cited_lines(page: Page) -> Locator:
    return page.locator(".item-lines mark .line")


def named(name: str, text: str) -> FilePayload:
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def choose(page: Page, *files: FilePayload) -> None:
    with page.expect_file_chooser() as choosing:
        ways(page, "choose files").click()
    choosing.value.set_files(list(files))


def drop(page: Page, name: str, text: str) -> None:
    """Anywhere on the page, and not only where it says so."""
    page.evaluate(
        """([name, text]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], name));
            for (const type of ["dragover", "drop"])
                document.querySelector("h1").dispatchEvent(
                    new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        [name, text],
    )


def address(page: Page, words: str) -> None:
    ways(page, "name a page or a path").click()
    page.get_by_label("The address of a page").fill(words)
    page.keyboard.press("Enter")


def paste(page: Page, name: str, text: str) -> None:
    ways(page, "paste text").click()
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_label("Name, for citing it").fill(name)
    ways(page, "Add").and_(page.locator(".button")).click()


def press_to(page: Page, name: str) -> None:
    """Tab until what has this name has the focus, as somebody without a mouse does."""
    for _ in range(80):
        page.keyboard.press("Tab")
        here = page.evaluate(
            """() => {
                const at = document.activeElement;
                const label = at?.getAttribute("aria-label") || at?.labels?.[0]?.textContent;
                return label || at?.textContent || "";
            }"""
        )
        if here.strip() == name:
            return
    raise AssertionError(f"no way leads to {name!r} by the Tab key")


def has_focus(page: Page, name: str) -> None:
    expect(page.locator(":focus")).to_have_accessible_name(name)


def fits(page: Page) -> None:
    """Nothing scrolls sideways."""
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= seen


def said_to(stub: StubServer) -> str:
    return "\n".join(request.said for request in stub.requests)


# -- what the stub says ----------------------------------------------------------------------------


def cites(stub: StubServer) -> None:
    """Advisors cite what is there and what is not, and so does the brief."""
    brief = BRIEF | {
        "recommendation": {"summary": SUMMARY, "confidence": "low", "conditions": ["Ask [E1:3]."]}
    }

    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            asked_for: Any = QUESTIONS if "questions" in request.schema["properties"] else brief
            return Behaviour(json_text=json.dumps(asked_for))
        return Behaviour(text=VIEW, usage=Spent(20_000, 50, 18_000))

    stub.default = answer


EVIDENCE = [{"name": "plan.md", "text": PLAN}, {"name": "talk.txt", "text": "We talked."}]


@pytest.fixture
def cited(server: Server, stub: StubServer) -> str:
    """A session with two items, whose advisors cite them."""
    cites(stub)
    return a_session(server, stub, evidence=EVIDENCE)


# -- at the opening --------------------------------------------------------------------------------


def test_files_text_and_pages_are_weighed_one_by_one_and_whole_or_left_out_with_the_reason(
    board: Board, server: Server, stub: StubServer
) -> None:
    page = board.page
    page.goto("/new")
    page.get_by_role("textbox").fill(DECISION)
    choose(page, named("plan.md", PLAN), named("settings.txt", SECRET))
    expect(offers(page)).to_have_count(2)
    drop(page, "dropped.csv", "a,b\n1,2\n")
    paste(page, "talk.txt", "We talked.")
    address(page, "http://127.0.0.1:1/private")
    address(page, "../outside.md")
    drop(page, "again.md", PLAN)
    expect(offers(page)).to_have_count(7)
    told = [
        re.compile(r"plan\.md\d+ tokens.*3 lines, whole"),
        re.compile(r"settings\.txtLeft out: line 3 looks like an AWS access key"),
        re.compile(r"dropped\.csv\d+ tokens.*2 lines, whole"),
        re.compile(r"talk\.txt\d+ tokens.*1 line, whole"),
        re.compile(r"127\.0\.0\.1.*Left out: leads to an address that is not public"),
        re.compile(r"outside\.md.*Left out"),
        re.compile(r"again\.mdLeft out: is the same as plan\.md"),
    ]
    for place, words in enumerate(told):
        expect(offers(page).nth(place)).to_have_text(words)
    expect(
        page.get_by_text(re.compile(r"^3 items, \d+ tokens\. Nothing has been sent yet\.$"))
    ).to_be_visible()
    assert stub.requests == []
    page.get_by_role("button", name="Take back dropped.csv").click()
    expect(offers(page)).to_have_count(6)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Why one?")).to_be_visible()
    page.get_by_role("button", name="Convene the Board").click()
    board.is_at(FIRST)
    expect(board.box).to_be_visible()
    sent = said_to(stub)
    assert "The lease ends in May" in sent
    assert "We talked." in sent
    for never in (KEY, "settings.txt", "dropped.csv", "again.md"):
        assert never not in sent
    kept = stored(server, board.session_id)["evidence"]
    assert [one["name"] for one in kept] == ["plan.md", "talk.txt"]
    page.goto("/new")
    expect(offers(page)).to_have_count(0)


def test_a_path_and_a_folder_of_the_workspace_are_named(
    new_board: NewBoard, stub: StubServer, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("# One\n", encoding="utf-8")
    (tmp_path / "notes" / "two.md").write_text(f"# Two\n{KEY}\n", encoding="utf-8")
    (tmp_path / "notes" / "three.md").write_text("# Three\n", encoding="utf-8")
    with serving(tmp_path, stub, "--no-open") as server:
        page = new_board(server.url).page
        page.goto("/new")
        address(page, "notes")
        expect(offers(page)).to_have_text(
            re.compile(r"notes\d+ tokens.*2 files.*Left out.*two\.md: line 2 looks like")
        )
        address(page, "notes/none.md")
        expect(offers(page).nth(1)).to_have_text(re.compile("Left out"))


def test_what_is_offered_survives_a_reload_and_a_secret_is_not_kept(board: Board, stub: StubServer) -> None:
    page = board.page
    page.goto("/new")
    page.get_by_role("textbox").fill(DECISION)
    choose(page, named("plan.md", PLAN), named("settings.txt", SECRET))
    expect(offers(page).nth(1)).to_contain_text("AWS access key")
    page.reload()
    expect(offers(page)).to_have_text([re.compile(r"plan\.md.*3 lines, whole"), re.compile("AWS access key")])
    expect(page.get_by_role("textbox")).to_have_value(DECISION)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Why one?")).to_be_visible()
    page.reload()
    expect(offers(page)).to_have_count(2)
    assert KEY not in page.evaluate("JSON.stringify({...sessionStorage})")
    assert KEY not in said_to(stub)


def test_other_evidence_asks_other_questions_and_a_step_back_does_not(board: Board, stub: StubServer) -> None:
    page = board.page
    board.present()
    assert len(stub.requests) == 1
    page.get_by_role("link", name="Edit decision").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Why one?")).to_be_visible()
    assert len(stub.requests) == 1
    page.get_by_role("link", name="Edit decision").click()
    choose(page, named("plan.md", PLAN))
    expect(offers(page)).to_contain_text("3 lines, whole")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Why one?")).to_be_visible()
    assert len(stub.requests) == 2
    assert "The lease ends in May" in stub.requests[1].said


def test_what_does_not_go_along_after_all_is_said_before_anything_is_sent(
    board: Board, stub: StubServer
) -> None:
    page = board.page
    board.present()
    choose(page, named("plan.md", PLAN), named("talk.txt", "We talked."))
    expect(offers(page).nth(1)).to_contain_text("whole")
    expect(offers(page).first).to_contain_text("whole")
    stub.requests.clear()

    def leave_one_out(route: Any) -> None:
        told = route.fetch().json()
        told["leftOut"].append({"name": told["taken"].pop()["name"], "why": "has become too large"})
        route.fulfill(json=told)

    page.route("**/api/evidence", leave_one_out, times=1)
    page.get_by_role("button", name="Convene the Board").click()
    expect(page.get_by_role("alert")).to_contain_text("Some of the evidence is left out")
    expect(offers(page).nth(1)).to_contain_text("Left out: has become too large")
    assert stub.requests == []
    page.get_by_role("button", name="Convene the Board").click()
    board.is_at(FIRST)
    assert "We talked." not in said_to(stub)


# -- by keyboard alone -----------------------------------------------------------------------------


def test_by_keyboard_alone_from_the_evidence_to_the_cited_lines_and_a_correction(
    board: Board, server: Server, stub: StubServer
) -> None:
    cites(stub)
    page = board.page
    page.goto("/new")
    page.get_by_role("textbox").focus()
    page.keyboard.type(DECISION)
    press_to(page, "paste text")
    page.keyboard.press("Enter")
    page.keyboard.insert_text(PLAN)
    page.keyboard.press("Tab")
    page.keyboard.type("plan.md")
    page.keyboard.press("Enter")
    expect(offers(page)).to_contain_text("3 lines, whole")
    has_focus(page, "paste text")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    has_focus(page, "paste text")
    press_to(page, "name a page or a path")
    page.keyboard.press("Enter")
    page.keyboard.type("ftp://example.org/x")
    page.keyboard.press("Enter")
    expect(offers(page)).to_have_count(2)
    expect(offers(page).nth(1)).to_contain_text("Left out: is not fetched")
    press_to(page, "Take back ftp://example.org/x")
    page.keyboard.press("Enter")
    expect(offers(page)).to_have_count(1)
    has_focus(page, "choose files")
    press_to(page, "Continue")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Why one?")).to_be_visible()
    press_to(page, "Convene the Board")
    page.keyboard.press("Enter")
    board.is_at(FIRST)
    expect(board.box).to_be_visible()
    press_to(page, "E1:2")
    page.keyboard.press("Enter")
    expect(cited_lines(page)).to_have_text(["The lease ends in May"])
    page.keyboard.press("Escape")
    expect(dialog(page)).to_have_count(0)
    expect(page.locator(":focus")).to_have_text("E1:2")
    press_to(page, "Correct D1")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.type("We move in June.")
    page.keyboard.press("Control+Enter")
    expect(decided(page).first).to_have_text(re.compile(r"D1.*We move in June\."))
    has_focus(page, "Correct D1")
    press_to(page, "Add what else holds")
    page.keyboard.press("Enter")
    page.keyboard.type("Never a database.")
    page.keyboard.press("Control+Enter")
    expect(decided(page)).to_have_count(3)
    has_focus(page, "Add what else holds")
    kept = [one["text"] for one in stored(server, board.session_id)["ledger"]]
    assert kept == ["We move in June.", CONDITION, "Never a database."]


# -- what is cited ---------------------------------------------------------------------------------


def test_citations_lead_to_the_cited_lines_and_say_where_they_were_not_found(
    board: Board, cited: str
) -> None:
    page = board.page
    board.open(cited)
    brackets = board.words.locator(".cites")
    expect(brackets).to_have_text(
        ["[E1:2]", "[E1:3 not in the lines]", "[E7:1 no such item]", "[E1:2-3, E2]"]
    )
    expect(board.words.locator("a.cite")).to_have_text(["E1:2", "E1:3", "E1:2-3", "E2"])
    brackets.nth(3).get_by_role("link", name="E1:2-3").click()
    expect(dialog(page).get_by_role("heading")).to_have_text("E1, plan.md, lines 2 to 3")
    expect(cited_lines(page)).to_have_text(["The lease ends in May", "Nobody has asked the landlord"])
    expect(cited_lines(page).first).to_be_in_viewport()
    dialog(page).get_by_role("button", name="Close").click()
    expect(dialog(page)).to_have_count(0)
    board.is_at(FIRST)
    href = brackets.first.get_by_role("link").get_attribute("href")
    assert href == f"/s/{cited}/evidence/E1/2-2"
    page.goto(href)
    expect(board.heading).to_have_text("E1, plan.md, line 2")
    expect(cited_lines(page)).to_have_text(["The lease ends in May"])
    page.goto(f"/s/{cited}/evidence/E1/90-91")
    expect(page.get_by_text("There is no line 90")).to_be_visible()
    page.goto(f"/s/{cited}/evidence/E44")
    expect(page.get_by_role("alert")).to_contain_text("E44")


def test_replies_and_the_brief_cite_as_views_do_live_and_after_a_reload(board: Board, cited: str) -> None:
    page = board.page
    board.open(cited, SECOND)
    board.challenge("Is that so?")
    reply = page.locator(".turn-advisor .cites")
    expect(reply).to_have_text(["[E1:2]", "[E1:3 not in the lines]", "[E7:1 no such item]", "[E1:2-3, E2]"])
    page.reload()
    expect(reply).to_have_text(["[E1:2]", "[E1:3 not in the lines]", "[E7:1 no such item]", "[E1:2-3, E2]"])
    board.open_brief(cited)
    expect(board.recommendation.locator(".cites")).to_have_text(["[E1:3]", "[E9 no such item]"])
    expect(page.locator(".conditions .cites")).to_have_text("[E1:3]")
    page.reload()
    expect(board.recommendation.locator(".cites")).to_have_text(["[E1:3]", "[E9 no such item]"])
    board.recommendation.get_by_role("link", name="E1:3").click()
    expect(cited_lines(page)).to_have_text(["Nobody has asked the landlord"])
    page.keyboard.press("Escape")
    board.row("The Strategist").click()
    panel = page.locator(f"#{board.row('The Strategist').get_attribute('aria-controls')}")
    expect(panel.locator(".cites")).to_have_count(8)


def test_citations_stay_what_they_are_in_whatever_markdown_stands_around_them(
    board: Board, server: Server, stub: StubServer
) -> None:
    view = "**Bold [E1:2]** 🙂 and\n\n- one [E1:3]\n- `code [E1:1]`\n\n| a | b |\n|---|---|\n| x | [E1] |"
    stub.default = lambda request: (
        Behaviour(json_text=json.dumps(BRIEF)) if request.schema is not None else Behaviour(text=view)
    )
    board.open(a_session(server, stub, evidence=EVIDENCE))
    expect(board.words.locator("a.cite")).to_have_text(["E1:2", "E1:3", "E1"])
    expect(board.words.locator("strong a.cite")).to_have_text("E1:2")
    expect(board.words.locator("td a.cite")).to_have_text("E1")
    expect(board.words.locator("code")).to_have_text("code [E1:1]")
    assert re.search("[\ue000-\uf8ff]", board.words.inner_text()) is None


def test_exports_have_the_evidence_the_ledger_and_what_is_cited(board: Board, cited: str) -> None:
    page = board.page
    board.open(cited)
    ways(page, "Add what else holds").click()
    page.get_by_label("What is to hold from now on").fill("We never buy.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(decided(page)).to_have_count(3)
    board.open_brief(cited)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="HTML").click()
    written = downloading.value.path().read_text(encoding="utf-8")
    assert '<a class="cited" href="#E1-2">[E1:2]</a>' in written
    assert "plan.md" in written
    assert "We never buy." in written
    assert "unverified" in written
    assert "from the provider" in written


# -- what was decided so far, and evidence in the middle -------------------------------------------


def test_what_was_decided_is_corrected_struck_and_added_to_and_whoever_speaks_next_knows(
    board: Board, new_board: NewBoard, server: Server, stub: StubServer, cited: str
) -> None:
    page = board.page
    board.open(cited)
    expect(decided(page).first).to_have_text(re.compile(rf"D1Openyou, the decision{re.escape(DECISION)}"))
    ways(page, "Add what else holds").click()
    page.get_by_label("What is to hold from now on").fill("We never buy.")
    page.get_by_role("button", name="Add", exact=True).click()
    ways(page, "Add what else holds").click()
    page.get_by_label("What is to hold from now on").fill("We stay in Lisbon.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(decided(page)).to_have_count(4)
    page.get_by_role("button", name="Correct D3").click()
    page.get_by_label("What holds instead of D3").fill("We buy nothing this year.")
    page.get_by_role("button", name="Save").click()
    expect(decided(page).nth(2)).to_contain_text("We buy nothing this year.")
    page.get_by_role("button", name="Strike D4").click()
    page.get_by_role("button", name="Keep").click()
    has_focus(page, "Strike D4")
    page.get_by_role("button", name="Strike D4").click()
    page.get_by_role("button", name="Strike", exact=True).click()
    expect(decided(page)).to_have_count(3)
    page.get_by_role("button", name="Bring D4 back").click()
    expect(decided(page)).to_have_count(4)
    page.get_by_role("button", name="Strike D4").click()
    page.get_by_role("button", name="Strike", exact=True).click()
    expect(page.get_by_role("button", name="Bring D4 back")).to_be_visible()
    page.reload()
    left = ["D1", re.escape(f"D2Openthe Board, the brief{CONDITION}"), "D3.*We buy nothing this year."]
    expect(decided(page)).to_have_text([re.compile(one) for one in left])
    stub.requests.clear()
    board.challenge()
    expect(board.turns).to_have_count(2)
    expect(board.next).to_be_enabled()
    (asked,) = stub.requests
    assert "We buy nothing this year." in asked.said
    assert "We never buy." not in asked.said
    assert "We stay in Lisbon." not in asked.said
    # The other tab sees it, and what is decided goes on.
    other = new_board(server.url)
    other.open(cited)
    expect(decided(other.page)).to_have_count(4)
    expect(decided(other.page).nth(3)).to_contain_text("challenge 1, to The Devil's Advocate")


def test_a_correction_that_is_not_kept_says_so_and_keeps_the_words(board: Board, cited: str) -> None:
    page = board.page
    board.open(cited)
    page.get_by_role("button", name="Correct D1").click()
    page.get_by_label("What holds instead of D1").fill("x" * 2001)
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    page.get_by_label("What holds instead of D1").fill("We move.")
    page.route("**/decided", lambda route: route.fulfill(status=409, json={"error": "Somebody else has it."}))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_have_text("Somebody else has it.")
    expect(page.get_by_label("What holds instead of D1")).to_have_value("We move.")


def test_evidence_given_in_the_middle_is_weighed_first_and_known_to_whoever_speaks_next(
    board: Board, server: Server, stub: StubServer, cited: str
) -> None:
    page = board.page
    board.open(cited)
    expect(given(page)).to_have_text([re.compile(r"E1plan\.md.*3 lines"), re.compile(r"E2talk\.txt.*1 line")])
    drop(page, "late.md", "The landlord called.\n")
    drop(page, "plan-again.md", PLAN)
    expect(offers(page)).to_have_text(
        [re.compile(r"late\.md.*1 line, whole"), re.compile(r"Left out: is the same as plan\.md")]
    )
    assert len(stored(server, cited)["evidence"]) == 2
    page.reload()
    expect(offers(page)).to_have_count(2)
    page.get_by_role("button", name="Give it to the board").click()
    expect(given(page)).to_have_count(3)
    expect(given(page).nth(2)).to_have_text(re.compile(r"E3late\.md.*1 line"))
    expect(offers(page)).to_have_count(0)
    stub.requests.clear()
    board.challenge()
    expect(board.next).to_be_enabled()
    expect(board.turns).to_have_count(2)
    assert "The landlord called." in stub.requests[0].said
    page.reload()
    expect(given(page)).to_have_count(3)
    given(page).nth(2).get_by_role("link").click()
    expect(dialog(page).locator(".item-lines")).to_have_text("The landlord called.\n")


# -- what a reply rests on -------------------------------------------------------------------------


def looking(folder: Path, stub: StubServer) -> tuple[str, list[Behaviour]]:
    """A session whose advisors may look into the workspace, and do; none has spoken yet. What they say then
    is the last of these behaviours."""
    (folder / "notes.md").write_text("The lease ends in May.\n", encoding="utf-8")

    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            return Behaviour(json_text=json.dumps(BRIEF))
        if request.tools and not any(one.get("role") == "tool" for one in request.messages):
            return Behaviour(text="", tool_calls=(("read_file", {"path": "notes.md"}),))
        return says[-1]

    says = [Behaviour(text="Not yet.", stall_after=0)]
    stub.default = answer
    presented = DecisionPresented(DECISION, MEMBERS, "independent", "openai:gpt-x", looks=True)
    return keep(folder, [presented, BoardConvened()]), says


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path


def test_what_an_advisor_looks_at_is_shown_while_they_speak_and_kept(
    new_board: NewBoard, stub: StubServer, workspace: Path
) -> None:
    session, says = looking(workspace, stub)
    with serving(workspace, stub, "--no-open") as server:
        board = new_board(server.url)
        page = board.page
        board.open(session, "the-mentor")
        page.get_by_role("button", name="Go on").click()
        rests = page.locator(".advisor-words > .rests")
        expect(rests).to_contain_text("Looking at notes.md")
        page.reload()
        expect(rests).to_contain_text("Looking at notes.md")
        says.append(ENDLESS)
        page.get_by_role("button", name="Stop Mentor").click()
        page.get_by_role("button", name="Ask them again").click()
        expect(board.cursor).to_be_visible()
        expect(rests).to_contain_text("Looked at 1 place in the workspace")
        page.reload()
        expect(board.cursor).to_be_visible()
        expect(rests).to_contain_text("Looked at 1 place in the workspace")
        says.append(Behaviour(text="Not yet."))
        page.get_by_role("button", name="Stop Mentor").click()
        page.get_by_role("button", name="Ask them again").click()
        expect(board.box).to_be_visible()
        expect(rests.get_by_text("Looked at 1 place in the workspace")).to_be_visible()
        page.reload()
        rests.get_by_text("Looked at 1 place in the workspace").click()
        expect(rests.get_by_role("listitem")).to_contain_text("notes.md")
        board.challenge("Sure?")
        reply = page.locator(".turn-advisor .rests")
        expect(reply).to_contain_text("Looked at 1 place in the workspace")
        page.reload()
        expect(reply).to_contain_text("Looked at 1 place in the workspace")


def test_what_there_was_no_room_for_is_said_beside_the_reply(
    new_board: NewBoard, stub: StubServer, workspace: Path
) -> None:
    bill = Usage("openai:gpt-x", 100, 20, None, 900, left_out=("E2 (big.txt)",))
    presented = DecisionPresented(DECISION, MEMBERS, "independent", "openai:gpt-x")
    spoken = [AdvisorSpoke(member.id, "Not yet.", bill) for member in MEMBERS]
    session = keep(workspace, [presented, BoardConvened(), *spoken])
    with serving(workspace, stub, "--no-open") as server:
        board = new_board(server.url)
        board.open(session, "the-mentor")
        rests = board.page.locator(".advisor-words > .rests")
        expect(rests).to_contain_text("Was not told, for want of room unless it says why")
        expect(rests.get_by_role("listitem")).to_have_text("E2 (big.txt)")
        expect(rests.get_by_role("listitem")).to_be_visible()


# -- what it takes, and has cost -------------------------------------------------------------------


def test_what_a_board_takes_is_said_before_anything_is_asked_and_what_it_has_cost_after(
    board: Board, server: Server, stub: StubServer
) -> None:
    cites(stub)
    page = board.page
    page.goto("/new")
    expect(page.get_by_text("The board will take")).to_have_count(0)
    page.get_by_role("textbox").fill(DECISION)
    choose(page, named("plan.md", PLAN))
    expect(offers(page)).to_contain_text("whole")
    asked = {
        "format": "board",
        "opening": {"decision": DECISION, "questions": True},
        "evidence": [{"name": "plan.md", "text": PLAN}],
    }
    foretold = server.post("/api/estimate", asked).json()["summary"]
    expect(page.get_by_text(f"The board will take {foretold}.")).to_be_visible()
    assert stub.requests == []
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Why one?")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^The board will take about [\d,]+ tokens"))).to_be_visible()
    page.get_by_role("button", name="Convene the Board").click()
    board.is_at(FIRST)
    expect(board.box).to_be_visible()
    expect(page.get_by_text("read 20,000, of which 18,000 from the cache")).to_be_visible()
    expect(board.brief_note).to_have_text("Brief ready")
    page.goto(f"/s/{board.session_id}/brief")
    bill = server.get(f"/api/sessions/{board.session_id}/cost").json()["bill"]
    assert bill["cachedTokens"] == 8 * 18_000
    expect(page.locator(".bill")).to_contain_text(bill["summary"])


def test_a_session_that_rests_says_what_it_takes_to_go_on(
    new_board: NewBoard, stub: StubServer, workspace: Path
) -> None:
    presented = DecisionPresented(DECISION, MEMBERS, "independent", "openai:gpt-x")
    session = keep(workspace, [presented, BoardConvened()])
    with serving(workspace, stub, "--no-open") as server:
        board = new_board(server.url)
        board.open(session, "the-mentor")
        expect(board.page.locator(".paused")).to_contain_text(
            re.compile("To go on takes about [0-9,]+ tokens")
        )
        assert stub.requests == []


# -- at any width, by day and by night -------------------------------------------------------------


def everywhere(board: Board, cited: str) -> Iterator[str]:
    """Every page that has to do with evidence, one after the other."""
    page = board.page
    long = "a-name-without-any-room-to-break-it-" * 6
    page.goto("/new")
    page.get_by_role("textbox").fill(DECISION)
    choose(page, named(f"{long}.md", PLAN), named("settings.txt", SECRET))
    expect(offers(page).nth(1)).to_contain_text("AWS access key")
    ways(page, "paste text").click()
    yield "the decision"
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Why one?")).to_be_visible()
    yield "the questions"
    board.open(cited)
    if page.locator(".desk-toggle").get_attribute("aria-expanded") == "false":
        page.locator(".desk-toggle").click()
    ways(page, "name a page or a path").click()
    ways(page, "Correct D1").click()
    yield "an advisor, with all that stands beside them"
    board.words.get_by_role("link", name="E1:2-3").click()
    expect(cited_lines(page)).to_have_count(2)
    yield "the cited lines"
    page.goto(f"/s/{cited}/evidence/E1/2-3")
    expect(cited_lines(page)).to_have_count(2)
    yield "an item"
    board.open_brief(cited)
    expect(board.recommendation).to_be_visible()
    yield "the brief"


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_nothing_scrolls_sideways_and_all_can_be_read(
    size: Any, scheme: Any, new_board: NewBoard, server: Server, cited: str
) -> None:
    board = new_board(server.url, viewport=size, color_scheme=scheme)
    seen: list[str] = []
    for where in everywhere(board, cited):
        fits(board.page)
        faint = unreadable(board.page)
        assert faint == [], where
        seen.append(where)
    assert len(seen) == 6


def unreadable(page: Page) -> Sequence[str]:
    """Words of what has to do with evidence whose contrast is below 4.5 : 1."""
    found: list[str] = page.evaluate(
        """() => {
            const channels = (text) => {
                const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
                context.fillStyle = text;
                context.fillRect(0, 0, 1, 1);
                return [...context.getImageData(0, 0, 1, 1).data];
            };
            const light = ([r, g, b]) => {
                const part = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
                return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
            };
            const behind = (at) => {
                for (; at; at = at.parentElement) {
                    const colour = channels(getComputedStyle(at).backgroundColor);
                    if (colour[3] === 255) return colour;
                }
                return channels(getComputedStyle(document.documentElement).backgroundColor);
            };
            const ours = ".offers *, .offered *, .desk *, .desk-toggle *, .cites *, .rests *, " +
                ".item-within *, .item-page *, .bill, .foretold";
            return [...document.querySelectorAll(ours)]
                .filter((at) => at.checkVisibility() && !at.matches(":disabled, svg, svg *, mark"))
                .filter((at) => [...at.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
                .filter((at) => {
                    const one = light(channels(getComputedStyle(at).color));
                    const other = light(behind(at));
                    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5;
                })
                .map((at) => `${at.className || at.tagName}: ${at.textContent.slice(0, 40)}`);
        }"""
    )
    return found


def test_the_desk_stays_as_it_was_left(board: Board, server: Server, stub: StubServer) -> None:
    a_board(stub)
    session = a_session(server, stub)
    page = board.page
    board.open(session)
    toggle = page.locator(".desk-toggle")
    expect(toggle).to_have_accessible_name("2 decided so far no evidence")
    expect(toggle).to_have_attribute("aria-expanded", "true")
    toggle.click()
    expect(page.locator(".desk")).to_have_count(0)
    page.reload()
    expect(board.box).to_be_visible()
    expect(page.locator(".desk")).to_have_count(0)
    expect(toggle).to_have_attribute("aria-expanded", "false")


def test_advisors_look_into_the_workspace_where_the_person_ticks_it_and_not_else(
    board: Board, stub: StubServer
) -> None:
    page = board.page
    board.present()
    look = page.get_by_label("Advisors may look into the workspace")
    expect(look).not_to_be_checked()
    assert stub.requests[-1].tools == (), "and neither does who asks the questions"
    before = page.locator(".foretold")
    expect(before).to_be_visible()
    look.check()
    page.reload()
    expect(look).to_be_checked()
    stub.requests.clear()
    page.get_by_role("button", name="Convene the Board").click()
    board.is_at(FIRST)
    expect(board.box).to_be_visible()
    assert all("read_file" in request.tools for request in stub.requests if request.schema is None)
    board.present()
    expect(look).not_to_be_checked()
    assert "read_file" not in stub.requests[-1].tools
    page.get_by_role("button", name="Convene the Board").click()
    expect(board.box).to_be_visible()
    assert "read_file" not in stub.requests[-1].tools


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_a_screenshot_is_pasted_anywhere_and_seen_again(board: Board, server: Server, cited: str) -> None:
    page = board.page
    board.open(cited)
    expect(board.box).to_be_visible()
    page.evaluate(
        """(pixel) => {
            const bytes = Uint8Array.from(atob(pixel), (letter) => letter.charCodeAt(0));
            const clipboardData = new DataTransfer();
            clipboardData.items.add(new File([bytes], "image.png", { type: "image/png" }));
            document.body.dispatchEvent(
                new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
        }""",
        PIXEL,
    )
    expect(offers(page)).to_have_text(re.compile(r"image\.png[\d,]+ tokens.*image"))
    page.get_by_role("button", name="Give it to the board").click()
    expect(given(page).nth(2)).to_contain_text("image.png")
    given(page).nth(2).get_by_role("link").click()
    picture = dialog(page).get_by_role("img", name="image.png")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") == 1
    kept = server.get(f"/api/sessions/{cited}/evidence/E3").json()
    assert kept["image"] == PIXEL
