from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import uvloop

from moot.agents import Order
from moot.agents.process import Ended, run
from moot.errors import ReviewerCrashed, ReviewerMissing, ReviewerTimedOut
from tests.support.fake_agents import Fake, Run, is_running

LOOPS: tuple[Callable[[], asyncio.AbstractEventLoop], ...] = (asyncio.new_event_loop, uvloop.new_event_loop)


async def started(
    fake: Fake, hear: Callable[[Mapping[str, Any]], None] = lambda _: None, within: float = 20
) -> Ended:
    return await run("fake", [str(fake.program)], Order("", Path("/"), within), fake.env, hear)


async def running(fake: Fake) -> asyncio.Task[Ended]:
    """A run whose program has said its first word, and so has its child."""
    first = asyncio.Event()
    task = asyncio.ensure_future(started(fake, lambda _: first.set()))
    await asyncio.wait_for(first.wait(), 20)
    return task


def dies(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("loop", LOOPS)
def test_each_json_object_is_heard_in_order_and_other_words_are_kept(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    fake = Fake(tmp_path, "fake", Run(['{"a": 1}', "not json", "[1]", "", '{"b": "ü"}'], "oh no\n", code=3))
    heard: list[Mapping[str, Any]] = []
    with asyncio.Runner(loop_factory=loop) as runner:
        ended = runner.run(started(fake, heard.append))
    assert heard == [{"a": 1}, {"b": "ü"}]
    assert ended.code == 3
    assert sorted(ended.last_words.split("\n")) == ["", "[1]", "not json", "oh no"]


def test_a_line_of_several_megabytes_is_one_object(tmp_path: Path) -> None:
    text = "x" * 5_000_000
    fake = Fake(tmp_path, "fake", Run(['{"text": "' + text + '"}', '{"after": true}']))
    heard: list[Mapping[str, Any]] = []
    asyncio.run(started(fake, heard.append))
    assert heard == [{"text": text}, {"after": True}]


def test_an_endless_line_ends_the_run(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run(["x" * 9_000_000]))
    with pytest.raises(ReviewerCrashed, match="a line of more than 8,388,608 bytes"):
        asyncio.run(started(fake))


def test_only_the_end_of_much_noise_is_kept(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run(stderr="noise\n" * 100_000 + "the end"))
    words = asyncio.run(started(fake)).last_words
    first, _, kept = words.partition("\n")
    assert first == "[the 596,008 bytes before this are left out]", "what is missing is said"
    assert len(kept) <= 4000
    assert words.endswith("noise\nthe end")


def test_events_are_heard_while_the_program_still_runs(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run(['{"first": true}'], hangs=True))

    async def until_first() -> None:
        task = await running(fake)
        assert not task.done()
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(until_first())


def test_what_the_listener_raises_ends_the_run(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run(['{"a": 1}'], hangs=True, child=True))

    def hear(_: Mapping[str, Any]) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        asyncio.run(started(fake, hear))
    assert dies(fake.child)


def test_what_the_listener_raises_at_the_very_end_is_not_lost(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run(['{"a": 1}']))

    def hear(_: Mapping[str, Any]) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        asyncio.run(started(fake, hear))


def test_a_program_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run(hangs=True, child=True))
    with pytest.raises(ReviewerTimedOut, match=r"fake: it was stopped after 1\.5 s"):
        asyncio.run(started(fake, within=1.5))
    assert dies(fake.child)


def test_a_child_that_ignores_the_polite_signal_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.agents.process._POLITE", 0.2)
    fake = Fake(tmp_path, "fake", Run(['{"first": true}'], hangs=True, child=True, stubborn=True))

    async def cancelled() -> None:
        task = await running(fake)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert dies(fake.child)


def test_cancelling_twice_does_not_wait_for_politeness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.agents.process._POLITE", 600)
    fake = Fake(tmp_path, "fake", Run(['{"first": true}'], hangs=True, child=True, stubborn=True))

    async def cancelled() -> None:
        task = await running(fake)
        task.cancel()
        await asyncio.wait({task}, timeout=0.1)
        assert not task.done()
        task.cancel()
        await asyncio.wait({task}, timeout=10)
        assert task.cancelled()

    asyncio.run(cancelled())
    assert dies(fake.child)


def test_a_child_that_outlives_its_program_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run(['{"a": 1}'], child=True))
    ended = asyncio.run(started(fake))
    assert ended.code == 0
    assert dies(fake.child)


@pytest.mark.parametrize("loop", LOOPS)
def test_cancelling_leaves_no_process_and_no_open_file(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    fake = Fake(tmp_path, "fake", Run(['{"first": true}'], hangs=True, child=True))

    async def cancelled() -> None:
        before = open_files()
        task = await running(fake)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)  # closed pipes are let go of in the loop's next turn
        assert open_files() <= before + 1  # the first process of a loop may open one for all of them

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(cancelled())
    assert dies(fake.child)


def test_the_program_gets_the_text_the_folder_and_exactly_the_environment(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run())
    text = "Grüße\n" * 50_000

    async def go() -> None:
        await run("fake", [str(fake.program), "-x", "a b"], Order(text, tmp_path, 20), fake.env)

    asyncio.run(go())
    noted = fake.started()
    assert noted["arguments"] == ["-x", "a b"]
    assert noted["stdin"] == text
    assert noted["cwd"] == os.path.realpath(tmp_path)
    assert noted["env"].items() >= fake.env.items()
    assert "HOME" not in noted["env"]


def test_a_program_that_is_not_there_is_missing(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run())
    fake.program.unlink()
    with pytest.raises(ReviewerMissing, match="fake: it cannot be started: No such file or directory"):
        asyncio.run(started(fake))


def test_a_program_that_may_not_be_run_is_missing(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "fake", Run())
    fake.program.chmod(0o644)
    with pytest.raises(ReviewerMissing, match="Permission denied"):
        asyncio.run(started(fake))
