"""Which weights are found, and that a pull gives whole files or none."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from moot.errors import (
    KeyRefused,
    NoLocalModel,
    ProviderDown,
    RateLimited,
    RequestRejected,
    StreamBroken,
    Unreachable,
)
from moot.gateway.weights import CATALOGUE, Entry, find_weights, pull, pulled_weights

CONTENT = b"GGUF" + bytes(range(256)) * 1_000
ENTRY = Entry("small", "someone/small-GGUF", "small.gguf", len(CONTENT), 100, "MIT", "For tests.")


def gguf(path: Path, size: int = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF")
    os.truncate(path, size)
    return path


# -- which weights there are ---------------------------------------------------------------------


def test_without_anything_else_the_built_in_weights_are_used(tmp_path: Path) -> None:
    weights = find_weights(None, tmp_path)
    assert (weights.source, weights.tiny) == ("builtin", True)
    assert weights.path.name == "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_the_latest_pulled_weights_come_before_the_built_in_ones(tmp_path: Path) -> None:
    os.utime(gguf(tmp_path / "older.gguf"), (1_000, 1_000))
    os.utime(gguf(tmp_path / "newer.gguf"), (2_000, 2_000))
    assert find_weights(None, tmp_path).name == "newer"
    assert [weights.name for weights in pulled_weights(tmp_path)] == ["newer", "older"]


def test_pulled_weights_can_be_named(tmp_path: Path) -> None:
    os.utime(gguf(tmp_path / "qwen2.5-0.5b-instruct-q4_k_m.gguf", 400_000_000), (1_000, 1_000))
    gguf(tmp_path / "newer.gguf")
    weights = find_weights("qwen2.5-0.5b", tmp_path)
    assert (weights.name, weights.source, weights.tiny) == ("qwen2.5-0.5b", "pulled", False)


def test_a_configured_file_comes_before_pulled_weights(tmp_path: Path) -> None:
    gguf(tmp_path / "cache" / "pulled.gguf")
    mine = gguf(tmp_path / "mine.gguf")
    weights = find_weights(str(mine), tmp_path / "cache")
    assert (weights.path, weights.source) == (mine, "configured")


def test_a_configured_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoLocalModel, match=r"nowhere\.gguf are not there"):
        find_weights(str(tmp_path / "nowhere.gguf"), tmp_path)


def test_a_configured_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.gguf").write_text("Dear model", encoding="utf-8")
    with pytest.raises(NoLocalModel, match=r"letter\.gguf are no GGUF file"):
        find_weights(str(tmp_path / "letter.gguf"), tmp_path)


def test_a_name_of_the_catalogue_that_was_not_pulled_says_how_to_pull_it(tmp_path: Path) -> None:
    with pytest.raises(NoLocalModel, match="moot models pull qwen3-4b"):
        find_weights("qwen3-4b", tmp_path)


def test_without_any_weights_it_says_how_to_get_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(NoLocalModel, match=r"moot models pull NAME.* or connect a model with a key"):
        find_weights(None, tmp_path)


def test_an_unfinished_download_is_not_taken_for_weights(tmp_path: Path) -> None:
    gguf(tmp_path / "small.gguf.part")
    assert pulled_weights(tmp_path) == ()


def test_the_catalogue_names_each_entry_once() -> None:
    assert (
        len({entry.name for entry in CATALOGUE}) == len({entry.file for entry in CATALOGUE}) == len(CATALOGUE)
    )


# -- fetching them -------------------------------------------------------------------------------


@dataclass
class Hub:
    """A hub with one file and one mood."""

    content: bytes = CONTENT
    announced: bytes | None = None
    etag: str = '"blob-1"'
    cut_after: int | None = None
    ignores_ranges: bool = False
    status: int = 0
    retry_after: str = ""
    seen: list[tuple[int, int]] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    if_ranges: list[str] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def progress(self, done: int, total: int) -> None:
        self.seen.append((done, total))
        if done == self.cut_after:
            self.arrived.set()

    async def resolve(self, request: web.Request) -> web.StreamResponse:
        if self.status:
            return web.Response(status=self.status, headers={"Retry-After": self.retry_after})
        if request.path.startswith("/renamed/"):
            raise web.HTTPTemporaryRedirect("/someone/small-GGUF/resolve/main/small.gguf")
        announced = self.announced or self.content
        linked = {
            "X-Linked-Size": str(len(announced)),
            "X-Linked-Etag": f'"{hashlib.sha256(announced).hexdigest()}"',
        }
        raise web.HTTPFound("/store/blob", headers=linked)

    async def blob(self, request: web.Request) -> web.StreamResponse:
        self.ranges.append(request.headers.get("Range", ""))
        self.if_ranges.append(request.headers.get("If-Range", ""))
        start = 0
        if self.ranges[-1] and not self.ignores_ranges and self.if_ranges[-1] in ("", self.etag):
            start = int(self.ranges[-1].removeprefix("bytes=").removesuffix("-"))
        body = self.content[start:]
        response = web.StreamResponse(status=206 if start else 200, headers={"ETag": self.etag})
        response.content_length = len(body)
        if start:
            size = len(self.content)
            response.headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        await response.prepare(request)
        await response.write(body[: self.cut_after])
        if self.cut_after is not None and request.transport is not None:
            # Not earlier: what a client has not read when the connection breaks, it never sees.
            await self.arrived.wait()
            request.transport.close()
        return response


@asynccontextmanager
async def serving(hub: Hub) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{owner}/{repo}/resolve/main/{file}", hub.resolve)
    app.router.add_get("/store/blob", hub.blob)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def pulled_from(hub: Hub, cache: Path, entry: Entry = ENTRY) -> tuple[Path, list[tuple[int, int]]]:
    async def run() -> Path:
        async with serving(hub) as endpoint:
            return await pull(entry, cache, hub.progress, endpoint)

    return asyncio.run(run()), hub.seen


def interrupt(cache: Path, after: int = 100_000) -> None:
    with pytest.raises(StreamBroken):
        pulled_from(Hub(cut_after=after), cache)
    assert (cache / "small.gguf.part").read_bytes() == CONTENT[:after]


def names(cache: Path) -> list[str]:
    return sorted(file.name for file in cache.iterdir())


def test_a_pull_gives_the_bytes_of_the_hub(tmp_path: Path) -> None:
    path, seen = pulled_from(Hub(), tmp_path / "cache")
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (256_004, 256_004)
    assert names(tmp_path / "cache") == ["small.gguf"]


def test_an_interrupted_pull_resumes_where_it_stopped(tmp_path: Path) -> None:
    interrupt(tmp_path)
    hub = Hub()
    path, seen = pulled_from(hub, tmp_path)
    assert path.read_bytes() == CONTENT
    assert (hub.ranges, hub.if_ranges) == (["bytes=100000-"], ['"blob-1"'])
    assert seen[0][0] > 100_000
    assert names(tmp_path) == ["small.gguf"]


def test_a_server_that_ignores_ranges_is_read_from_the_start(tmp_path: Path) -> None:
    interrupt(tmp_path)
    path, seen = pulled_from(Hub(ignores_ranges=True), tmp_path)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (256_004, 256_004)


def test_a_changed_etag_restarts_the_download(tmp_path: Path) -> None:
    interrupt(tmp_path)
    hub = Hub(etag='"blob-2"')
    path, _ = pulled_from(hub, tmp_path)
    assert path.read_bytes() == CONTENT
    assert hub.if_ranges == ['"blob-1"']


def test_other_weights_under_the_same_name_restart_the_download(tmp_path: Path) -> None:
    interrupt(tmp_path)
    hub = Hub(content=b"GGUF" + b"new" * 50_000)
    path, _ = pulled_from(hub, tmp_path)
    assert path.read_bytes() == b"GGUF" + b"new" * 50_000
    assert hub.ranges == [""]


def test_bytes_of_unknown_origin_are_not_continued(tmp_path: Path) -> None:
    (tmp_path / "small.gguf.part").write_bytes(b"x" * 1_000)
    hub = Hub()
    path, _ = pulled_from(hub, tmp_path)
    assert path.read_bytes() == CONTENT
    assert hub.ranges == [""]


def test_a_download_that_only_lacks_its_name_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "small.gguf.part").write_bytes(CONTENT)
    note = {"sha256": hashlib.sha256(CONTENT).hexdigest(), "etag": ""}
    (tmp_path / "small.gguf.part.json").write_text(json.dumps(note), encoding="utf-8")
    hub = Hub()
    path, _ = pulled_from(hub, tmp_path)
    assert path.read_bytes() == CONTENT
    assert hub.ranges == []


def test_a_wrong_checksum_is_refused_and_the_part_removed(tmp_path: Path) -> None:
    with pytest.raises(StreamBroken, match="announced checksum"):
        pulled_from(Hub(announced=CONTENT[:-1] + b"!"), tmp_path)
    assert names(tmp_path) == []


def test_more_bytes_than_announced_are_refused_and_removed(tmp_path: Path) -> None:
    with pytest.raises(StreamBroken, match="256,004 of 256,000 bytes"):
        pulled_from(Hub(announced=CONTENT[:-4]), tmp_path)
    assert names(tmp_path) == []


def test_a_renamed_repository_is_followed(tmp_path: Path) -> None:
    renamed = Entry("small", "renamed/small-GGUF", "small.gguf", len(CONTENT), 100, "MIT", "For tests.")
    path, _ = pulled_from(Hub(), tmp_path, renamed)
    assert path.read_bytes() == CONTENT


def test_a_pull_that_fails_leaves_weights_of_an_earlier_pull_alone(tmp_path: Path) -> None:
    (tmp_path / "small.gguf").write_bytes(b"GGUF earlier")
    interrupt(tmp_path)
    assert (tmp_path / "small.gguf").read_bytes() == b"GGUF earlier"


@pytest.mark.parametrize(
    ("status", "kind"), [(404, RequestRejected), (401, KeyRefused), (429, RateLimited), (503, ProviderDown)]
)
def test_each_refusal_of_the_hub_has_its_error(status: int, kind: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(kind, match=f"small: the hub answered {status}") as caught:
        pulled_from(Hub(status=status, retry_after="7"), tmp_path)
    assert caught.value.retry_after == 7.0  # type: ignore[attr-defined]


def test_a_hub_that_cannot_be_reached_is_unreachable(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(Hub()) as endpoint:
            gone = endpoint
        await pull(ENTRY, tmp_path, lambda _done, _total: None, gone)

    with pytest.raises(Unreachable, match="no connection"):
        asyncio.run(run())


def test_the_environment_can_name_another_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> Path:
        async with serving(Hub()) as endpoint:
            monkeypatch.setenv("HF_ENDPOINT", endpoint)
            return await pull(ENTRY, tmp_path, lambda _done, _total: None)

    assert asyncio.run(run()).read_bytes() == CONTENT
