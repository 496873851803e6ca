"""Booked equals spent: real servers and commands, load, clients who leave, broken replies, kills."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from tests.chaos.play import Client, Cluster, listen_all
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.change import write_change
from tests.support.cluster import Postgres
from tests.support.command import Ended, environment, moot
from tests.support.server import BRIEF, DECISION, QUESTIONS, Server, serving
from tests.support.waiting import until

INPUT_NANO, OUTPUT_NANO = 3_000, 15_000
"""Of one token, in billionths of a dollar."""
CENT = 10_000_000
NAME = "anthropic:claude-sonnet-5-5"
PRICES = f'[prices."{NAME}"]\ninput = 3.0\noutput = 15.0\n'
WORDS = "yes" + " yes" * 399
"""Four letters a token, as they are estimated."""


def settings(folder: Path, text: str = "") -> None:
    place = folder / "config" / "moot"
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.toml").write_text(f"{text}\n{PRICES}", encoding="utf-8")


def on_anthropic(stub: StubServer) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": stub.anthropic_base_url, "MOOT_MODEL": NAME}


@contextmanager
def server_of(folder: Path, stub: StubServer, text: str = "") -> Iterator[Server]:
    settings(folder, text)
    with serving(folder, stub, "--grace", "0", **on_anthropic(stub)) as server:
        yield server


def command(folder: Path, stub: StubServer, *arguments: str, **more: Any) -> Ended:
    env = environment(folder, stub, **on_anthropic(stub))
    return moot(*arguments, env=env, cwd=folder, **more)


def a_slow_board(stub: StubServer, pace: float, words: int = 400) -> None:
    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            shape = QUESTIONS if "questions" in request.schema["properties"] else BRIEF
            return Behaviour(json_text=json.dumps(shape))
        return Behaviour(text=WORDS[: 4 * words - 1], pace=pace)

    stub.default = answer


def spent(stub: StubServer) -> int:
    """What the stub would bill, in billionths of a dollar."""
    sent = [exchange.spent for exchange in stub.exchanges]
    return sum(one.input_tokens * INPUT_NANO + one.output_tokens * OUTPUT_NANO for one in sent)


def booked(folder: Path) -> list[sqlite3.Row]:
    with sqlite3.connect(folder / "data" / "moot" / "moot.sqlite3") as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute("SELECT * FROM attempts ORDER BY began_at").fetchall()


def total(rows: list[sqlite3.Row]) -> int:
    return sum(row["nano_usd"] or 0 for row in rows)


def settled(folder: Path, stub: StubServer) -> list[sqlite3.Row]:
    """All rows, once everything has ended on both sides."""

    def over() -> bool:
        rows = booked(folder)
        ended = all(row["lease_until"] is None for row in rows)
        return ended and stub.open_streams == 0 and len(rows) == len(stub.requests)

    until(over)
    return booked(folder)


def together(times: int, do: Callable[[int], None]) -> None:
    failures: list[BaseException] = []

    def one(number: int) -> None:
        try:
            do(number)
        except BaseException as failed:
            failures.append(failed)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_twelve_boards_at_once_book_what_they_spend_to_the_last_billionth(
    tmp_path: Path, stub: StubServer
) -> None:
    a_slow_board(stub, pace=0)
    with server_of(tmp_path, stub) as server:

        def board(_: int) -> None:
            with httpx2.Client(timeout=60) as client:
                own = Server(server.url, server.process, client)
                assert "session_complete" in [event["type"] for event in own.session()]

        together(12, board)
        rows = settled(tmp_path, stub)
        assert len(stub.requests) == 12 * 9
        assert total(rows) == spent(stub)
        assert {row["outcome"] for row in rows} == {"ok"}
        assert not any(row["estimated"] for row in rows)
        assert len({row["session"] for row in rows}) == 12
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(20)
    report = command(tmp_path, stub, "spending", "--json").json
    assert [round(day["costUsd"] * 1e9) for day in report["days"]] == [spent(stub)]
    assert [model["name"] for model in report["models"]] == [NAME]
    assert len(report["sessions"]) == 12


def test_twelve_boards_left_early_are_booked_with_what_was_said_by_then(
    tmp_path: Path, stub: StubServer
) -> None:
    # Each advisor says thirty words and falls silent, so that nothing is on its way when the clients leave.
    stub.default = Behaviour(text=WORDS, pace=100, stall_after=30)
    said = 8 * len("yes" + " yes" * 29)
    with server_of(tmp_path, stub) as server:
        all_speak = threading.Barrier(12)

        def board(_: int) -> None:
            with httpx2.Client(timeout=60) as client:
                own = Server(server.url, server.process, client)
                with own.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
                    heard = 0
                    while heard < said:
                        heard += len(next(events).get("token", ""))
                    all_speak.wait(60)

        together(12, board)
        stub.wait(lambda s: s.open_streams == 0, 60)
        rows = settled(tmp_path, stub)
    assert len(rows) == 12 * 8
    assert {row["outcome"] for row in rows} == {"CancelledError"}
    assert all(row["estimated"] for row in rows)
    assert [row["output_tokens"] for row in rows] == [30] * 96
    known = [exchange.spent.input_tokens for exchange in stub.exchanges]
    assert sorted(row["input_tokens"] for row in rows) == sorted(known)
    assert total(rows) == spent(stub) > 0


def test_boards_left_in_the_middle_of_every_sentence_are_booked_to_the_cent(
    tmp_path: Path, stub: StubServer
) -> None:
    """All advisors go on speaking while the clients leave: at most the word that was being sent is lost."""
    stub.default = Behaviour(text=WORDS, pace=100)
    with server_of(tmp_path, stub) as server:

        def board(_: int) -> None:
            with httpx2.Client(timeout=60) as client:
                own = Server(server.url, server.process, client)
                with own.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
                    heard = 0
                    while heard < 8 * 120:
                        heard += len(next(events).get("token", ""))

        together(12, board)
        stub.wait(lambda s: s.open_streams == 0, 60)
        rows = settled(tmp_path, stub)
    assert len(rows) == 12 * 8
    assert 0 <= spent(stub) - total(rows) < CENT, (total(rows), spent(stub))
    assert spent(stub) > 20 * CENT


def test_retries_broken_replies_re_asks_and_left_challenges_are_all_booked(
    tmp_path: Path, stub: StubServer
) -> None:
    """Each advisor meets another misfortune; each request that a provider would bill is there once."""
    fates = [
        Behaviour(status=529),
        Behaviour(text=WORDS, cut_after=0),
        Behaviour(text=WORDS, truncate_after=200),
        Behaviour(text=WORDS, error_event_after=150),
        Behaviour(text=WORDS, garbage_after=395),
        Behaviour(text="", stop="refused"),
        Behaviour(text=WORDS, cut_after=300),
        Behaviour(text=WORDS),
    ]
    stub.script(*fates)
    stub.on(lambda r: r.schema is not None, Behaviour(json_text="{}"), Behaviour(json_text=json.dumps(BRIEF)))
    stub.default = Behaviour(text=WORDS, pace=0)
    with server_of(tmp_path, stub, "[gateway]\nretries = 2") as server:
        events = server.session()
        assert "session_complete" in [event["type"] for event in events]
        session = events[0]["sessionId"]
        spoke = next(e["personaId"] for e in events if e["type"] == "persona_complete")
        stub.default = Behaviour(text=WORDS, stall_after=20)
        asked = {
            "sessionId": session,
            "personaId": spoke,
            "decision": DECISION,
            "initialResponse": WORDS,
            "challengeText": "Really?",
            "priorChallenges": [],
        }
        before = len(stub.requests)
        with server.streaming("POST", "/api/board/challenge", json=asked) as heard:
            said = 0
            while said < len("yes" + " yes" * 19):
                said += len(next(heard).get("token", ""))
        stub.wait(lambda s: s.open_streams == 0, 60)
        rows = settled(tmp_path, stub)
        assert len(stub.requests) == before + 1
    assert {row["session"] for row in rows} == {session}
    outcomes = {row["outcome"] for row in rows}
    assert {"ok", "ProviderDown", "StreamBroken", "CancelledError"} <= outcomes
    assert abs(total(rows) - spent(stub)) < CENT // 10, (total(rows), spent(stub))


def test_what_a_killed_server_had_under_way_is_booked_by_the_next(tmp_path: Path, stub: StubServer) -> None:
    a_slow_board(stub, pace=50)
    with server_of(tmp_path, stub) as server:
        with (
            suppress(httpx2.HTTPError),
            server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events,
        ):
            next(events)
            until(
                lambda: len(booked(tmp_path)) == 8 and all(r["output_tokens"] > 100 for r in booked(tmp_path))
            )
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(10)
    stub.wait(lambda s: s.open_streams == 0, 60)
    left = booked(tmp_path)
    assert all(row["lease_until"] is not None and row["nano_usd"] is None for row in left)
    # Its lease is over after a while; nobody has to wait for that here.
    with sqlite3.connect(tmp_path / "data" / "moot" / "moot.sqlite3") as connection:
        connection.execute("UPDATE attempts SET lease_until = 1.0")
    report = command(tmp_path, stub, "spending", "--json").json
    rows = booked(tmp_path)
    assert [row["outcome"] for row in rows] == ["abandoned"] * 8
    assert report["days"][0]["estimatedRequests"] == 8
    known = [exchange.spent.input_tokens for exchange in stub.exchanges]
    assert sorted(row["input_tokens"] for row in rows) == sorted(known)
    assert 0 <= spent(stub) - total(rows) < CENT, (total(rows), spent(stub))
    # A second look changes nothing.
    assert command(tmp_path, stub, "spending", "--json").json == report


def test_three_servers_that_are_killed_while_all_speak_book_what_they_spend_to_the_cent(
    tmp_path: Path, stub: StubServer
) -> None:
    # Of each reply, what was said since it was last noted is lost: a few words.
    a_slow_board(stub, pace=10)
    for number in range(3):
        settings(tmp_path / f"machine-{number}")
    postgres = Postgres()
    try:
        cluster = Cluster(tmp_path, stub, 3, "--database", postgres.url, **on_anthropic(stub))
        with cluster.running():
            clients = [Client(number, cluster, random.Random(number)) for number in range(6)]

            def all_are_noted() -> bool:
                said = "SELECT count(*) FROM attempts WHERE output_tokens > 0"
                with psycopg.connect(postgres.url) as connection:
                    return connection.execute(said).fetchone() == (48,)

            async def kill_them_while_they_speak() -> None:
                listening = asyncio.create_task(listen_all(clients, 6))
                await asyncio.to_thread(until, all_are_noted)
                for victim in range(3):
                    await asyncio.to_thread(cluster.kill, victim)
                for victim in range(3):
                    await asyncio.to_thread(cluster.start_again, victim)
                stub.hurry()
                await listening

            asyncio.run(kill_them_while_they_speak())
        stub.wait(lambda s: s.open_streams == 0, 60)
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            # What was killed is settled when its lease is over; nobody has to wait for that here.
            connection.execute("UPDATE attempts SET lease_until = 1.0 WHERE lease_until IS NOT NULL")
        report = command(tmp_path / "machine-0", stub, "spending", "--json", "--database", postgres.url).json
    finally:
        postgres.close()
    assert all(client.done for client in clients)
    [day] = report["days"]
    assert day["requests"] == len(stub.requests) == 48 + 6 * 9
    short = spent(stub) - round(day["costUsd"] * 1e9)
    assert 0 <= short < CENT, (short, spent(stub))


def test_a_board_stops_at_its_session_s_limit_and_says_so(tmp_path: Path, stub: StubServer) -> None:
    a_slow_board(stub, pace=0)
    # A view costs $0.006 for its 400 words, and its prompt.
    with server_of(tmp_path, stub, "[limits]\nsession_usd = 0.02") as server:
        events = server.session(mode="sequential")
        failed = [event for event in events if event["type"] == "persona_error"]
        assert failed
        assert "[limits] session_usd stops it at $0.02" in failed[-1]["message"]
        rows = settled(tmp_path, stub)
        assert total(rows) == spent(stub)
        most = max(row["nano_usd"] for row in rows)
        assert 20_000_000 <= total(rows) < 20_000_000 + most, "passed by one reply at most"
        session, spoke = events[0]["sessionId"], next(e for e in events if e["type"] == "persona_complete")
        asked = {
            "sessionId": session,
            "personaId": spoke["personaId"],
            "decision": DECISION,
            "initialResponse": WORDS,
            "challengeText": "Really?",
            "priorChallenges": [],
        }
        refused = server.post("/api/board/challenge", asked)
        assert refused.status_code == 429
        assert "session_usd" in refused.json()["error"]
        assert len(stub.requests) == len(rows), "nobody was asked"
        # Another session has its own.
        assert any(e["type"] == "persona_complete" for e in server.session(mode="sequential"))
    # With a higher limit, what was refused can be asked for again.
    with server_of(tmp_path, stub, "[limits]\nsession_usd = 1.0") as server:
        path = f"/api/board/sessions/{session}"
        again = {"personaId": failed[-1]["personaId"]}
        assert server.post(f"{path}/retry", again).status_code == 202
        with server.streaming("GET", f"{path}/events", headers={"Last-Event-ID": "0"}) as heard:
            assert any(
                e["type"] == "persona_complete" and e["personaId"] == again["personaId"] for e in heard
            )


def test_a_limit_that_cannot_be_counted_is_refused_on_every_surface(tmp_path: Path, stub: StubServer) -> None:
    place = tmp_path / "config" / "moot"
    place.mkdir(parents=True)
    (place / "config.toml").write_text("[limits]\nday_usd = 5.0\n", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    write_change(tmp_path / "moot" / "changes" / "feat-auth", "proposed")
    said = f"nobody knows what {NAME} costs"
    with serving(tmp_path, stub, "--grace", "0", **on_anthropic(stub)) as server:
        refused = server.post("/api/board/session", {"decision": DECISION})
        assert refused.status_code == 400
        assert said in refused.json()["error"]
    for arguments in (
        ("ask", "the-strategist", "Should we?"),
        ("board", DECISION, "--no-questions", "--json"),
        ("proposal", "feat-two", "Say more."),
        ("challenge", "feat-auth", "--engine", "model"),
    ):
        ended = command(tmp_path, stub, *arguments)
        assert (ended.code, said in ended.err + ended.out) == (1, True), (arguments, ended)
    assert stub.requests == []


def test_every_format_counts(tmp_path: Path, stub: StubServer) -> None:
    settings(tmp_path, "[limits]\nday_tokens = 1")
    answers = tmp_path / "answers.yaml"
    answers.write_text("- c\n- c\n- c\n", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    write_change(tmp_path / "moot" / "changes" / "feat-auth", "proposed")
    first = command(tmp_path, stub, "ask", "the-strategist", "Should we?")
    assert first.code == 0, first
    for arguments in (
        ("proposal", "feat-two", "Say more."),
        ("challenge", "feat-auth", "--engine", "model"),
        ("ask", "the-strategist", "And now?"),
        ("board", DECISION, "--no-questions", "--json"),
        ("analyze", "Billing", "--answers", str(answers)),
        ("brainstorm", "Rewrite the billing", "--answers", str(answers)),
    ):
        ended = command(tmp_path, stub, *arguments)
        assert "[limits] day_tokens stops them at 1" in ended.err + ended.out, (arguments, ended)
    assert len(stub.requests) == 1
