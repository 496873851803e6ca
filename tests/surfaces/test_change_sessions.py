"""A change over HTTP, while others work on its files: terminals, editors, and servers that are killed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from moot.changes import review_block
from moot.changes.flow import CUT_OFF, STOPPED
from moot.files.documents import YamlDocument
from moot.files.lock import claimed
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.any_format import AnyFormatClient, Ask
from tests.support.change import write_change
from tests.support.server import Server, serving
from tests.support.shop import Brain, Shop
from tests.support.waiting import until

NEVER = Behaviour(text="…", first_token_delay=600)


@pytest.fixture
def shop(tmp_path: Path, stub: StubServer) -> Shop:
    """With a change that can be reviewed."""
    shop = Shop(tmp_path, stub)
    write_change(place(shop))
    stub.default = Brain()
    return shop


def place(shop: Shop) -> Path:
    return shop.root / "moot" / "changes" / "feat-auth"


def serving_shop(shop: Shop, tmp_path: Path, stub: StubServer) -> Any:
    return serving(tmp_path, stub, "--workspace", str(shop.root), PATH=shop.env["PATH"])


def opened(server: Server) -> AnyFormatClient:
    return AnyFormatClient.begin(server, "change", change="feat-auth")


def asked(client: AnyFormatClient) -> Ask:
    ask = client.asked()
    assert ask is not None
    return ask


def ids(ask: Ask) -> list[str]:
    return [choice["id"] for choice in ask["choices"]]


def chosen(client: AnyFormatClient, choice: str, text: str = "") -> dict[str, Any]:
    """The state that it comes to."""
    client.answer(asked(client), choice=choice, text=text)
    client.follow()
    state: dict[str, Any] = client.session["state"]
    return state


def begin_to(client: AnyFormatClient, choice: str, stub: StubServer, requests: int) -> None:
    """Chooses what takes for ever, until the model has been asked so often."""
    client.answer(asked(client), choice=choice)
    with client.server.streaming("GET", f"{client.path}/events", params={"after": client.newest}) as frames:
        next(frame for frame in frames if frame["type"] == "progress")
        stub.wait(lambda stub: len(stub.requests) == requests)


def verdicts(shop: Shop) -> list[str]:
    return shop.reviews()["feat-auth"]


def test_what_a_terminal_does_in_between_is_noticed(shop: Shop, tmp_path: Path, stub: StubServer) -> None:
    stub.default = Brain(verdicts=["NEEDS_REVISION"])
    with serving_shop(shop, tmp_path, stub) as server:
        client = opened(server)
        chosen(client, "challenge")
        before = asked(client)
        assert ids(before) == ["challenge", "revise", "dismiss-1", "abandon"]
        assert "leaves 1 issue in the way" in before["hint"]
        shop.run("dismiss", "feat-auth", "1", "--because", "The next change.", answers=["y"])
        late = server.post(
            f"{client.path}/answers", {"step": before["step"], "key": before["key"], "choice": "challenge"}
        )
        assert late.status_code == 409, "the question was about files that say something else by now"
        heard = client.follow()
        assert [frame["type"] for frame in heard] == ["state", "asked", "idle"]
        [ask] = heard[1]["asks"]
        assert ids(ask) == ["challenge", "revise", "approve", "abandon"]
        after = chosen(client, "approve", "Good enough.")
        assert after["files"]["standing"]["approved_by"] == "person"
        assert ids(asked(client)) == ["challenge", "revise", "implement", "approve", "reopen", "abandon"]
        shop.run("archive", "feat-auth")
        shop.run("abandon", "feat-auth", "--because", "Nobody wants it.")
        client.follow()
        assert (client.session["state"]["step"], client.asked()) == ("gone", None)


def test_what_a_terminal_is_doing_is_left_alone(shop: Shop, tmp_path: Path, stub: StubServer) -> None:
    with serving_shop(shop, tmp_path, stub) as server:
        client = opened(server)
        ask = asked(client)
        with claimed(place(shop), "challenged"):
            held = server.post(
                f"{client.path}/answers", {"step": ask["step"], "key": ask["key"], "choice": "challenge"}
            )
        assert held.status_code == 409
        assert "being challenged by process" in held.json()["error"]
        assert stub.requests == []
        assert chosen(client, "challenge")["files"]["standing"]["phase"] == "challenged"


def waiting(request: Recorded, words: int) -> Behaviour:
    """A reviewer that never says another word after so many answers of its tools."""
    answered = sum(message.get("role") == "tool" for message in request.messages)
    return NEVER if answered >= words else Brain()(request)


REVIEWS_AND_STAYS = """#!{python}
import json, sys, time
from pathlib import Path
from moot.changes.folder import ChangeFolder
from moot.changes.review_tools import ReviewTools

server = {{"name": "moot_review", "status": "connected"}}
init = {{"type": "system", "subtype": "init", "session_id": "s", "model": "m", "mcp_servers": [server]}}
print(json.dumps(init), flush=True)
[config] = [one.partition("=")[2] for one in sys.argv if one.startswith("--mcp-config=")]
run = json.loads(config)["mcpServers"]["moot_review"]["args"][-1]
tools = ReviewTools(ChangeFolder("feat-auth", Path({place!r})), Path.cwd(), lambda: "now", print, run)
tools.give()
tools.append_review("APPROVED", [], "Fine.")
time.sleep(600)
"""


def put_a_reviewer_that_stays(shop: Shop) -> None:
    """A program that appends its review, and does not end."""
    program = Path(shop.env["PATH"].partition(":")[0]) / "claude"
    program.write_text(
        REVIEWS_AND_STAYS.format(python=sys.executable, place=str(place(shop))), encoding="utf-8"
    )
    program.chmod(0o755)
    shop.user_says('[review]\nengine = "claude"\n')


@pytest.mark.parametrize("reviewed", [[], ["APPROVED"]], ids=["before", "behind"])
def test_a_server_that_is_killed_in_a_challenge_leaves_it_resting(
    reviewed: list[str], shop: Shop, tmp_path: Path, stub: StubServer
) -> None:
    """Also where the review is written, and not yet counted: it is, when the person chooses the next time."""
    stub.default = lambda request: waiting(request, 0)
    if reviewed:
        put_a_reviewer_that_stays(shop)
    requests = 0 if reviewed else 1
    with serving_shop(shop, tmp_path, stub) as first:
        client = opened(first)
        begin_to(client, "challenge", stub, requests)
        until(lambda: verdicts(shop) == reviewed)
        first.kill()
    assert verdicts(shop) == reviewed
    stub.default = Brain()
    with serving_shop(shop, tmp_path, stub) as second:
        client.server = second
        # Until its lease has run out, the killed server might be at work.
        until(lambda: not client.session["live"])
        state = client.session["state"]
        assert (state["step"], state["chosen"], state["problem"]) == ("resting", None, CUT_OFF)
        assert state["files"]["standing"]["waiting"] == bool(reviewed)
        client.follow(go_on=True)
        assert len(stub.requests) == requests, "nothing is begun again by itself"
        state = chosen(client, "challenge")
        assert (state["files"]["standing"]["phase"], state["problem"]) == ("challenged", "")
    assert verdicts(shop) == ["APPROVED"]
    assert len(stub.requests) == (0 if reviewed else 3), "no review is paid for twice"


def test_a_challenge_that_is_stopped_can_be_chosen_again(
    shop: Shop, tmp_path: Path, stub: StubServer
) -> None:
    stub.default = lambda request: waiting(request, 0)
    with serving_shop(shop, tmp_path, stub) as server:
        client = opened(server)
        begin_to(client, "challenge", stub, 1)
        assert server.post(f"{client.path}/stop").status_code == 204
        stub.wait(lambda stub: stub.open_streams == 0)
        state = client.session["state"]
        assert (state["step"], state["problem"]) == ("resting", STOPPED)
        assert not client.session["paused"]
        stub.default = Brain()
        assert chosen(client, "challenge")["files"]["standing"]["phase"] == "challenged"
    assert verdicts(shop) == ["APPROVED"]


def test_what_fails_is_said_and_can_be_chosen_again(shop: Shop, tmp_path: Path, stub: StubServer) -> None:
    shop.user_says("[limits]\nsession_tokens = 0\n")
    with serving_shop(shop, tmp_path, stub) as server:
        client = opened(server)
        state = chosen(client, "challenge")
        assert "session_tokens" in state["problem"]
        assert (state["step"], ids(asked(client))) == (
            "resting",
            ["challenge", "revise", "approve", "abandon"],
        )
        assert stub.requests == [], "it was refused before it was sent"
        (place(shop) / "tasks.md").unlink()
        assert "tasks.md:1: the file is missing" in asked(client)["hint"]
        assert ids(asked(client)) == ["draft", "revise", "abandon"]
        (place(shop) / "STATE.yaml").write_text("phase: [", encoding="utf-8")
        assert client.asked() is None
        assert "STATE.yaml" in client.session["state"]["files"]["standing"]["problem"]


def test_a_draft_that_failed_is_begun_again_with_the_same_words(
    shop: Shop, tmp_path: Path, stub: StubServer
) -> None:
    stub.default = Behaviour(status=400, error_message="no")
    with serving_shop(shop, tmp_path, stub) as server:
        nameless = server.post("/api/sessions", {"format": "change", "opening": {"change": "A B"}})
        assert (nameless.status_code, nameless.json()["error"][:9]) == (400, "change id")
        taken = server.post(
            "/api/sessions", {"format": "change", "opening": {"change": "feat-auth", "description": "Keys."}}
        )
        assert (taken.status_code, "already exists" in taken.json()["error"]) == (400, True)
        client = AnyFormatClient.begin(server, "change", change="feat-keys", description="Keys.")
        client.follow(go_on=True)
        assert client.session["state"]["problem"]
        [draft] = [choice for choice in asked(client)["choices"] if choice["id"] == "draft"]
        assert draft["suggestions"] == ["Keys."]
        stub.default = Brain()
        state = chosen(client, "draft", draft["suggestions"][0])
        assert (state["problem"], state["message"][:8]) == ("", "Drafted:")
    calls = YamlDocument.load(place(shop).with_name("feat-keys") / "STATE.yaml")["telemetry"]["calls"]
    assert [call["outcome"] for call in calls] == ["RequestRejected", "ok"]
    assert review_block.blocks(shop.read("moot/changes/feat-keys/proposal.md")) == ()
