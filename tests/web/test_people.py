"""The door of a server for a team: who is let in, whose sessions they see, what is kept of what they did."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moot.config import parse
from moot.errors import ConfigInvalid
from tests.stub.script import Behaviour
from tests.stub.server import StubServer, running_stub
from tests.support.command import Ended, environment, moot
from tests.support.ready import SET
from tests.support.server import DECISION, Server, a_board, serving
from tests.web.test_guards import Answered, ask

SESSIONS, SESSION, ME = "/api/board/sessions", "/api/board/session", "/api/me"
SIGN_IN, SIGN_OUT = "/api/sign-in", "/api/sign-out"
ADMIN = "the-token-of-the-admin"


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        yield stub


@dataclass(frozen=True)
class Team:
    folder: Path
    server: Server
    tokens: dict[str, str]

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def database(self) -> Path:
        return self.folder / "data" / "moot" / "moot.sqlite3"

    def people(self, *arguments: str) -> Ended:
        return moot("people", *arguments, env=environment(self.folder), cwd=self.folder)

    def get(self, who: str, path: str) -> Answered:
        return ask(self.url, "GET", path, Authorization=f"Bearer {self.tokens[who]}")

    def post(self, who: str, path: str, body: Any, **headers: str) -> Answered:
        return ask(self.url, "POST", path, body, Authorization=f"Bearer {self.tokens[who]}", **headers)

    def session(self, who: str) -> str:
        return str(told(self.post(who, SESSION, {"decision": DECISION}))[0]["sessionId"])

    def listed(self, who: str) -> list[str]:
        return [one["id"] for one in json.loads(self.get(who, SESSIONS).body)["sessions"]]

    def cookie(self, who: str, **headers: str) -> str:
        answered = ask(self.url, "POST", SIGN_IN, {"token": self.tokens[who]}, **headers)
        assert answered.status == 200
        return answered.headers["set-cookie"].split("; ")[0]


def told(answered: Answered) -> list[dict[str, Any]]:
    assert answered.status == 200, answered.body
    lines = answered.body.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


@contextmanager
def a_team(folder: Path, stub: StubServer, config: str = "") -> Iterator[Team]:
    a_board(stub)
    settings = folder / "config" / "moot"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(config, encoding="utf-8")
    tokens = {"admin": ADMIN}
    for name in ("ada", "bob"):
        ended = moot("people", "add", name, env=environment(folder), cwd=folder)
        assert ended.code == 0, ended.err
        tokens[name] = ended.out.strip()
    with serving(folder, stub, "--name", "moot.example", MOOT_TOKEN=ADMIN) as server:
        yield Team(folder, server, tokens)


@pytest.fixture(scope="module")
def team(stub: StubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with a_team(tmp_path_factory.mktemp("team"), stub) as team:
        yield team


# -- tokens ----------------------------------------------------------------------------------------


def test_a_token_is_shown_once_and_kept_nowhere(team: Team) -> None:
    token = team.tokens["ada"]
    assert len(token) >= 43, "256 bits"
    listed = team.people("list", "--json")
    assert [one["name"] for one in listed.json["people"]] == ["ada", "bob"]
    assert token not in listed.out
    cookie = team.cookie("ada").partition("=")[2]
    with closing(sqlite3.connect(team.database)) as connection:
        kept = "\n".join(connection.iterdump())
    for secret in (token, cookie, ADMIN):
        assert secret not in kept


@pytest.mark.parametrize("name", ["", "admin", "Admin", "a b", "a\nb", "-x", "x" * 65, "ünï", "<b>"])
def test_a_name_that_could_be_mistaken_is_refused(name: str, team: Team) -> None:
    ended = team.people("add", "--", name)
    assert ended.code == 2
    assert "Traceback" not in ended.err


def test_a_name_is_given_once(team: Team) -> None:
    ended = team.people("add", "ada")
    assert ended.code == 1
    assert "already exists" in ended.err
    assert "people revoke ada" in ended.err
    assert team.people("revoke", "nobody").code == 1


def test_each_is_known_by_name(team: Team) -> None:
    for who, admin in (("ada", False), ("bob", False), ("admin", True)):
        assert json.loads(team.get(who, ME).body) == {"name": who, "admin": admin, "signsIn": True}


def test_on_this_machine_alone_nobody_signs_in(stub: StubServer, tmp_path: Path) -> None:
    with serving(tmp_path, stub) as server:
        assert server.get(ME).json() == {"name": "", "admin": True, "signsIn": False}


# -- whose sessions --------------------------------------------------------------------------------


def test_a_person_sees_and_touches_their_own_sessions_and_those_of_nobody(team: Team) -> None:
    ada, bob, nobody_s = team.session("ada"), team.session("bob"), team.session("admin")
    assert {ada, nobody_s} <= set(team.listed("ada"))
    assert bob not in team.listed("ada")
    assert {ada, bob, nobody_s} <= set(team.listed("admin"))
    spoken = next(
        one for one in json.loads(team.get("bob", f"{SESSIONS}/{bob}").body)["session"]["responses"]
    )
    challenge = {
        "sessionId": bob, "personaId": spoken["personaId"], "decision": DECISION, "priorChallenges": [],
        "initialResponse": spoken["content"], "challengeText": "Why?",
    }  # fmt: skip
    brief = {"sessionId": bob, "decision": DECISION, "responses": [spoken]}
    for answered in (
        team.get("ada", f"{SESSIONS}/{bob}"),
        team.get("ada", f"{SESSIONS}/{bob}/events"),
        team.get("ada", f"{SESSIONS}/{bob}/export"),
        team.post("ada", f"{SESSIONS}/{bob}/retry", {"personaId": spoken["personaId"]}),
        team.post("ada", f"{SESSIONS}/{bob}/stop", {}),
        team.post("ada", f"{SESSIONS}/{bob}/stop", {"personaId": spoken["personaId"]}),
        team.post("ada", f"{SESSIONS}/{bob}/go-on", {}),
        team.post("ada", "/api/board/challenge", challenge),
        team.post("ada", "/api/board/brief", brief),
        ask(team.url, "DELETE", f"{SESSIONS}/{bob}", Authorization=f"Bearer {team.tokens['ada']}"),
    ):
        assert answered.status == 404, "as if it were not there"
        assert answered.error == f"Session '{bob}' not found"
    assert team.get("bob", f"{SESSIONS}/{bob}").status == 200
    assert team.get("ada", f"{SESSIONS}/{nobody_s}").status == 200
    assert team.get("admin", f"{SESSIONS}/{bob}").status == 200


def test_only_the_admin_uses_formats_that_write_files(team: Team) -> None:
    begun = {"format": "analysis", "opening": {"item": "Offline mode"}}
    for format_ in ("analysis", "workflow", "change"):
        refused = team.post("ada", "/api/sessions", {**begun, "format": format_})
        assert (refused.status, refused.error) == (
            403,
            f"Only whoever runs this server may use its workspace, as for: {format_}",
        )
    assert not (team.folder / "moot").exists()
    answered = team.post("admin", "/api/sessions", begun)
    assert answered.status == 201, answered.body
    path = f"/api/sessions/{json.loads(answered.body)['session']['id']}"
    log = team.folder / "moot" / "items" / "offline-mode" / "session.jsonl"
    before = log.read_text(encoding="utf-8")
    answer = {"step": "00-01", "key": "1", "text": "Ten."}
    for action, body in (("answers", answer), ("stop", {}), ("go-on", {})):
        assert team.post("ada", f"{path}/{action}", body).status == 404
    # What models have read in the workspace for it, it may say.
    for more in ("", "/events", "/cost", "/evidence/E1"):
        assert team.get("ada", f"{path}{more}").status == 404, "as if it were not there"
    everything = json.loads(team.get("ada", "/api/sessions").body)["sessions"]
    assert "analysis" not in {one["format"] for one in everything}
    assert log.read_text(encoding="utf-8") == before


SECRET = "The till is under the oak."


def test_no_model_and_no_path_shows_the_workspace_to_whoever_may_not_use_it(
    team: Team, stub: StubServer
) -> None:
    (team.folder / "till.md").write_text(f"# Till\n\n{SECRET}\n", encoding="utf-8")
    a_board(stub)
    before = len(stub.requests)
    spoken = told(team.post("ada", SESSION, {"decision": "Where is the till? See till.md."}))
    session, first = spoken[0]["sessionId"], next(one for one in spoken if one["type"] == "persona_start")
    view = "".join(
        one["token"] for one in spoken if one.get("personaId") == first["personaId"] and "token" in one
    )
    challenge = {
        "sessionId": session, "personaId": first["personaId"], "decision": DECISION, "priorChallenges": [],
        "initialResponse": view, "challengeText": "What does `till.md` say?",
    }  # fmt: skip
    told(team.post("ada", "/api/board/challenge", challenge))
    asked = stub.requests[before:]
    assert len(asked) > 8
    assert [request.tools for request in asked if "read_file" in request.tools] == []
    assert not any(SECRET in request.said for request in asked)

    items = [{"path": "till.md"}, {"path": str(team.folder / "till.md")}, {"path": "../till.md"}]
    weighed = json.loads(team.post("ada", "/api/evidence", {"items": items}).body)
    assert weighed["taken"] == []
    assert all("only by whoever runs it" in one["why"] for one in weighed["leftOut"])
    theirs = json.loads(team.post("admin", "/api/evidence", {"items": items[:1]}).body)
    assert [one["name"] for one in theirs["taken"]] == ["till.md"], "it is there"


# -- signing in ------------------------------------------------------------------------------------


def test_signing_in_gives_a_cookie_that_is_not_the_token(team: Team) -> None:
    answered = ask(team.url, "POST", SIGN_IN, {"token": team.tokens["ada"]})
    assert json.loads(answered.body) == {"name": "ada", "admin": False, "signsIn": True}
    cookie, *attributes = answered.headers["set-cookie"].split("; ")
    assert sorted(attributes) == ["HttpOnly", "Max-Age=1209600", "Path=/", "SameSite=Strict"]
    assert team.tokens["ada"] not in cookie
    assert json.loads(ask(team.url, "GET", ME, Cookie=cookie).body)["name"] == "ada"
    assert cookie != team.cookie("ada"), "another browser has another"
    gone = ask(team.url, "POST", SIGN_OUT, {}, Cookie=cookie, Origin=team.url)
    assert gone.status == 204
    assert gone.headers["set-cookie"].startswith("moot=; Max-Age=0")
    assert ask(team.url, "GET", ME, Cookie=cookie).status == 401


def test_the_cookie_is_for_tls_alone_where_the_page_came_by_tls(team: Team) -> None:
    host = {"Host": "moot.example", "Origin": "https://moot.example"}
    answered = ask(team.url, "POST", SIGN_IN, {"token": team.tokens["ada"]}, **host)
    assert "Secure" in answered.headers["set-cookie"].split("; ")


def test_no_other_site_can_sign_anybody_in(team: Team) -> None:
    body = {"token": team.tokens["ada"]}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answered = ask(team.url, "POST", SIGN_IN, body, **headers)
        assert answered.status == 403
        assert "set-cookie" not in answered.headers
        visited = ask(team.url, "GET", f"/?token={body['token']}", **headers)
        assert (visited.status, visited.headers["location"]) == (303, "/")
        assert "set-cookie" not in visited.headers


def test_a_wrong_token_signs_nobody_in(team: Team) -> None:
    for token in ("", "x", team.tokens["ada"][:-1], "é" * 8, team.tokens["ada"] + "x"):
        answered = ask(team.url, "POST", SIGN_IN, {"token": token})
        assert answered.status == 401, token
        assert answered.error == "This token opens nothing: it is mistyped, or was revoked."
        assert "set-cookie" not in answered.headers


def test_a_cookie_expires(team: Team) -> None:
    cookie = team.cookie("ada")
    assert ask(team.url, "GET", ME, Cookie=cookie).status == 200
    with closing(sqlite3.connect(team.database)) as connection, connection:
        connection.execute("UPDATE sign_ins SET until = '2026-01-01 00:00:00.000000'")
    assert ask(team.url, "GET", ME, Cookie=cookie).status == 401


def test_the_page_can_be_loaded_to_sign_in_and_nothing_else(team: Team) -> None:
    assert b'<div id="root">' in ask(team.url, "GET", "/").body
    assert ask(team.url, "GET", "/s/board-x").status == 200
    for path in (ME, SESSIONS, "/api/model", "/api/nothing", "/openapi.json", "/docs"):
        assert ask(team.url, "GET", path).status == 401, path


# -- revoked ---------------------------------------------------------------------------------------


def test_who_is_revoked_is_out_at_once(stub: StubServer, tmp_path: Path) -> None:
    with a_team(tmp_path, stub) as team:
        cookie, other = team.cookie("ada"), team.cookie("bob")
        session = team.session("ada")
        assert team.people("revoke", "ada").code == 0
        assert team.get("ada", ME).status == 401
        assert ask(team.url, "GET", ME, Cookie=cookie).status == 401
        assert ask(team.url, "POST", SIGN_IN, {"token": team.tokens["ada"]}).status == 401
        assert ask(team.url, "GET", ME, Cookie=other).status == 200
        assert team.get("admin", f"{SESSIONS}/{session}").status == 200, "their sessions stay"
        again = team.people("add", "ada").out.strip()
        assert again != team.tokens["ada"]
        assert ask(team.url, "GET", ME, Cookie=cookie).status == 401, "a new token, and nothing of the old"


def test_a_stream_that_is_open_ends_when_its_listener_is_revoked(
    stub: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SET, "moot.web.guards.LOOK_AGAIN_SECONDS=0.5")
    with a_team(tmp_path, stub) as team:
        stub.default = Behaviour(text="word " * 5000, pace=50)
        bearer = {"Authorization": f"Bearer {team.tokens['ada']}"}
        with team.server.streaming("POST", SESSION, json={"decision": DECISION}, headers=bearer) as events:
            next(event for event in events if event["type"] == "persona_token")
            assert team.people("revoke", "ada").code == 0
            assert [event["type"] for event in events if event["type"] in ("idle", "session_complete")] == []
        stub.wait(lambda s: s.open_streams == 0, 20)


# -- what was done ---------------------------------------------------------------------------------


def test_who_did_what_is_kept(stub: StubServer, tmp_path: Path) -> None:
    with a_team(tmp_path, stub) as team:
        cookie = team.cookie("ada")
        made = told(ask(team.url, "POST", SESSION, {"decision": DECISION}, Cookie=cookie))
        session = made[0]["sessionId"]
        ask(team.url, "GET", f"{SESSIONS}/{session}/export", Cookie=cookie)
        ask(team.url, "DELETE", f"{SESSIONS}/{session}", Authorization=f"Bearer {ADMIN}")
        ask(team.url, "POST", SIGN_OUT, {}, Cookie=cookie)
        team.people("revoke", "bob")
        log = team.people("log", "--json").json["actions"]
        assert [(one["person"], one["action"], one["session"]) for one in log[::-1]] == [
            ("terminal", "added ada", ""),
            ("terminal", "added bob", ""),
            ("ada", "signed in", ""),
            ("ada", "convened", session),
            ("ada", "exported", session),
            ("admin", "deleted", session),
            ("ada", "signed out", ""),
            ("terminal", "revoked bob", ""),
        ]
        shown = team.people("log", "--limit", "1").out
        assert shown.split(maxsplit=2)[2].split() == ["terminal", "revoked", "bob"]
        assert DECISION not in json.dumps(log)


# -- a proxy that knows who it is ------------------------------------------------------------------


def test_a_trusted_proxy_says_who_it_is(stub: StubServer, tmp_path: Path) -> None:
    config = '[server]\ntrusted_proxies = ["127.0.0.1"]\nidentity_header = "X-Remote-User"\n'
    with a_team(tmp_path, stub, config) as team:
        said = {"X-Remote-User": "carol@example.org"}
        assert json.loads(ask(team.url, "GET", ME, **said).body)["name"] == "carol@example.org"
        session = told(ask(team.url, "POST", SESSION, {"decision": DECISION}, **said))[0]["sessionId"]
        assert team.get("ada", f"{SESSIONS}/{session}").status == 404
        for wrong in ("admin", "", "a b", "<b>", "x" * 65):
            assert ask(team.url, "GET", ME, **{"X-Remote-User": wrong}).status == 401, wrong
        assert team.get("ada", ME).status == 200, "a token still opens"


@pytest.mark.parametrize("proxies", ["[]", '["10.0.0.0/8"]'])
def test_nobody_else_is_believed_about_who_it_is(proxies: str, stub: StubServer, tmp_path: Path) -> None:
    config = f"[server]\ntrusted_proxies = {proxies}\n"
    if proxies != "[]":
        config += 'identity_header = "X-Remote-User"\n'
    with a_team(tmp_path, stub, config) as team:
        assert ask(team.url, "GET", ME, **{"X-Remote-User": "ada"}).status == 401


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('identity_header = "X-Remote-User"', "trusted_proxies"),
        ('trusted_proxies = ["nginx"]', "nginx"),
        ('trusted_proxies = ["127.0.0.1"]\nidentity_header = "a b"', "identity_header"),
    ],
)
def test_settings_that_would_trust_nobody_or_everybody_are_refused(settings: str, said: str) -> None:
    with pytest.raises(ConfigInvalid, match=said):
        parse(f"[server]\n{settings}\n", "config.toml")
