"""How much may happen at once; a slow listener harms nobody; what nobody needs is cleared away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moot.board.events import BoardConvened, BoardEvent, Brief, DecisionPresented, Member
from moot.board.frames import FORMAT
from moot.board.service import ActiveBoard
from moot.board.state import BoardState, Step
from moot.config import Limits, ServerSettings
from moot.core.flow import AskPersona, Drafted, ModelEffect, Outcome, PersonaSpoke, Usage
from moot.core.runner import Speak, Speech
from moot.errors import LimitReached
from moot.server import Client, Hub, Service
from moot.server.frame_buffer import BATCH_BYTES, KEEP_FRAMES, FrameBuffer
from moot.server.sharing import Sharing
from moot.store.database import sqlite_url
from moot.store.sessions import Frame, open_store
from tests.support.server import BRIEF

NAMES = ("ann", "bob", "cyd")
NO_TENSIONS = msgspec.convert({**BRIEF, "tensions": []}, Brief)


def opening(mode: Any = "independent") -> list[BoardEvent]:
    members = tuple(Member(name, name.title(), "advisor", "challenger") for name in NAMES)
    return [DecisionPresented("Should we?", members, mode, "openai:m"), BoardConvened()]


class Models(Service[BoardState, BoardEvent]):
    """Say a word, cost so much a reply, and hold back until they may speak."""

    format = FORMAT

    def __init__(self, usd: float = 0.0) -> None:
        self.usd = usd
        self.asked: list[str] = []
        self.may_speak = asyncio.Event()
        self.may_speak.set()
        self._asked = asyncio.Condition()

    async def until_asked(self, times: int) -> None:
        async with self._asked:
            await self._asked.wait_for(lambda: len(self.asked) >= times)

    def speak(self, _model: str, _session: object = None) -> tuple[Speak, bool]:
        return self.answer, False

    async def answer(self, effect: ModelEffect, _: Any, speech: Speech) -> Outcome:
        self.asked.append(effect.persona if isinstance(effect, AskPersona) else effect.prompt)
        async with self._asked:
            self._asked.notify_all()
        await self.may_speak.wait()
        bill = Usage("openai:m", 1, 1, self.usd, 1)
        if isinstance(effect, AskPersona):
            speech.said("Yes.")
            return PersonaSpoke("Yes.", bill)
        return Drafted(NO_TENSIONS, bill)


@asynccontextmanager
async def running(
    place: Path, models: Models, limits: Limits | None = None, **settings: Any
) -> AsyncIterator[Hub]:
    async with open_store(sqlite_url(place / "moot.sqlite3")) as store:
        hub = Hub(store, [models], ServerSettings(**settings), limits)
        await hub.start()
        try:
            yield hub
        finally:
            await hub.close()


async def told(hub: Hub, live: ActiveBoard, after: int = 0) -> list[dict[str, Any]]:
    return [
        {"id": frame.seq, **json.loads(frame.body)}
        async for batch in hub.stream(live, after, go_on=True)
        for frame in batch
    ]


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 30))


# -- listening -------------------------------------------------------------------------------------


def test_listening_begins_nothing_also_not_what_a_crash_has_cut_off(tmp_path: Path) -> None:
    async def main() -> None:
        models = Models()
        async with running(tmp_path, models) as hub:
            live = await hub.begin(FORMAT, opening())
            assert live.session is not None
            # Somebody wanted it driven, and whoever did has gone without a word.
            await Sharing(hub.store).want(live.session.id, "")
            async with live.listening():
                # As it does once a second, for as long as a slow client reads.
                await hub._cluster._read_frames([live])
                assert not live.is_under_way
            assert models.asked == []
            await told(hub, live)
            assert live.state.step is Step.REVIEW

    run(main())


# -- at once ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(sessions=2), "no more sessions than 2 may be under way"),
        (Limits(sessions_per_client=2), "no more than 2 of your sessions"),
    ],
)
def test_one_session_too_many_is_refused_and_can_be_tried_again(
    tmp_path: Path, limits: Limits, words: str
) -> None:
    async def main() -> None:
        models = Models()
        models.may_speak.clear()
        async with running(tmp_path, models, limits) as hub:
            active_sessions = [await hub.begin(FORMAT, opening(), Client("one")) for _ in range(2)]
            listening = [asyncio.create_task(told(hub, live)) for live in active_sessions]
            await models.until_asked(6)
            with pytest.raises(LimitReached, match=words) as refused:
                await hub.begin(FORMAT, opening(), Client("one"))
            assert refused.value.retry_after
            assert len(await hub.store.sessions()) == 2, "nothing is stored of it"
            await hub.admit("one", active_sessions[0])
            if limits.sessions_per_client:
                await hub.admit("another")
            models.may_speak.set()
            await asyncio.gather(*listening)
            assert (await told(hub, await hub.begin(FORMAT, opening(), Client("one"))))[-1]["type"] == (
                "session_complete"
            )

    run(main())


# -- slow listeners --------------------------------------------------------------------------------


def test_a_listener_who_falls_behind_reads_on_from_the_store(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_store(sqlite_url(tmp_path / "moot.sqlite3")) as store:
            session = await store.create("board", "t")
            buffer = FrameBuffer()
            total = 6 * KEEP_FRAMES
            done = False
            slow = buffer.after(0, store, session.id, lambda: done)
            heard: list[Frame] = []
            for first in range(1, total, 500):
                frames = [Frame(session.id, seq, b"%d" % seq) for seq in range(first, first + 500)]
                await store.append_frames(frames)
                buffer.tell(frames)
                assert len(buffer._kept) <= 2 * KEEP_FRAMES
                if first == 1:
                    heard.extend(await anext(slow))
            done = True
            async for batch in slow:
                heard.extend(batch)
            assert [frame.seq for frame in heard] == list(range(1, total + 1))
            buffer.drop()
            again = [
                frame.seq
                async for batch in buffer.after(17, store, session.id, lambda: True)
                for frame in batch
            ]
            assert again == list(range(18, total + 1))

    run(main())


@pytest.mark.parametrize("kept", [True, False], ids=["in memory", "in the store"])
def test_however_much_there_is_a_listener_is_handed_little_at_once(
    tmp_path: Path,
    kept: bool,
) -> None:
    async def main() -> None:
        async with open_store(sqlite_url(tmp_path / "moot.sqlite3")) as store:
            session = await store.create("board", "t")
            buffer = FrameBuffer()
            frames = [Frame(session.id, seq, b"x" * 10_000) for seq in range(1, 51)]
            await store.append_frames(frames)
            buffer.tell(frames)
            if not kept:
                buffer.drop()
            batches = [batch async for batch in buffer.after(0, store, session.id, lambda: True)]
            assert [frame for batch in batches for frame in batch] == frames
            assert max(len(batch) for batch in batches) * 10_000 < BATCH_BYTES + 10_000

    run(main())


# -- clearing away ---------------------------------------------------------------------------------


def test_what_was_told_long_ago_is_cleared_away_and_told_anew_from_the_log(tmp_path: Path) -> None:
    async def main() -> None:
        models = Models()
        async with running(tmp_path, models) as hub:
            live = await hub.begin(FORMAT, opening())
            first = await told(hub, live)
            assert live.session is not None
            await hub.tidy_up()
            assert await told(hub, live) == first, "not yet"
            future = datetime.now(UTC) + timedelta(hours=1)
            assert await hub.store.clear_frames(future) == 1
            assert await hub.store.clear_frames(future) == 0
            assert await hub.store.frames(live.session.id) == []
            last = first[-1]["id"]
            assert await hub.store.last_frame(live.session.id) == last
        async with running(tmp_path, models) as hub:
            live = await hub.live(live.session)
            assert live.state.step is Step.REVIEW
            anew = await told(hub, live, after=last - 3)
            assert [e["id"] for e in anew] == list(range(last + 1, last + 1 + len(anew)))
            assert _facts(anew) == _facts(first)
            for after in (0, 5, last):
                assert await told(hub, live, after) == anew
        assert models.asked.count("ann") == 1

    run(main())


def _facts(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What a client knows when it has heard these."""
    said: dict[str, str] = {}
    for event in events:
        if event["type"] == "persona_token":
            said[event["personaId"]] = said.get(event["personaId"], "") + event["token"]
    types: Callable[[str], int] = [event["type"] for event in events].count
    counted = {kind: types(kind) for kind in ("session_start", "persona_complete", "session_complete")}
    return {"said": said, "brief": [e["brief"] for e in events if e["type"] == "brief_complete"], **counted}


def test_who_leaves_in_the_moment_of_a_change_just_leaves() -> None:
    async def main() -> None:
        buffer = FrameBuffer()
        waiting = asyncio.ensure_future(buffer.until(lambda: False))
        await asyncio.sleep(0)
        waiting.cancel()
        buffer.look_again()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())


def test_what_is_written_while_the_store_is_asked_for_what_was_cleared_away_is_told() -> None:
    buffer = FrameBuffer(newest=7)
    new = [Frame("s", 8, b"{}"), Frame("s", 9, b"{}")]

    class Cleared:
        async def frames(self, *_: object, **__: object) -> list[Frame]:
            buffer.tell(new)
            return []

    async def main() -> list[Frame]:
        store: Any = Cleared()
        return [frame async for batch in buffer.after(3, store, "s", lambda: True) for frame in batch]

    assert asyncio.run(main()) == new
