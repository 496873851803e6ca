"""The text of a PDF or of a page, read in a process of its own, with bounds on its time and memory.

A PDF is a program in all but name: a small one can unpack to gigabytes. A page can be written so that a
parser never ends. Whatever they do, they do it there. Run as `python -m moot.evidence.apart KIND PAGES BYTES
SECONDS`, this is that process.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from moot.evidence.bounds import in_words
from moot.evidence.html_text import convert
from moot.processes import module_command

if TYPE_CHECKING:
    from moot.evidence.bounds import Bounds

_MEMORY = 1 << 30
_KINDS = {"pdf": "a PDF", "html": "a page"}


class Unreadable(Exception):
    """Why there is no text of it, in words for the person."""


def text_of(kind: str, data: bytes, bounds: Bounds) -> str:
    """Of a "pdf", page by page, each under its number; of "html" in UTF-8, as a reader sees it. Raises
    Unreadable."""
    limits = (str(bounds.pages), str(bounds.text), str(max(1, round(bounds.seconds))))
    what = _KINDS[kind]
    try:
        done = subprocess.run(
            module_command("moot.evidence.apart", kind, *limits),
            input=data,
            capture_output=True,
            timeout=bounds.seconds + 5,
            env={"PATH": os.defpath},
            check=False,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Unreadable(f"is {what} that takes longer than {bounds.seconds:g} seconds to read") from None
    except ValueError:
        raise Unreadable(f"is {what} that cannot be read in {bounds.seconds:g} seconds and 1 GB") from None
    if problem := answer.get("problem"):
        raise Unreadable(str(problem))
    return str(answer["text"])


# -- in the process of its own -------------------------------------------------------------------


def _pdf(data: bytes, pages: int, most: int) -> dict[str, str]:
    import io

    from pypdf import PdfReader

    logging.disable(logging.CRITICAL)
    document = PdfReader(io.BytesIO(data))
    if document.is_encrypted and not document.decrypt(""):
        return {"problem": "is a PDF with a password"}
    if (count := len(document.pages)) > pages:
        return {"problem": f"is a PDF of {count:,} pages, at most {pages:,} are taken"}
    texts: list[str] = []
    size = 0
    for number, page in enumerate(document.pages, start=1):
        text = (page.extract_text() or "").strip()
        size += len(text.encode("utf-8", "replace"))
        if size > most:
            return {"problem": f"is a PDF with more text than {in_words(most)}, which is what is taken"}
        if text:
            texts.append(f"[page {number}]\n{text}")
    if not texts:
        return {"problem": "is a PDF without text (scanned, perhaps): give its pages as images"}
    return {"text": "\n\n".join(texts).encode("utf-8", "replace").decode()}


def _read(kind: str, pages: int, most: int) -> dict[str, str]:
    data = sys.stdin.buffer.read()
    try:
        return {"text": convert(data.decode())} if kind == "html" else _pdf(data, pages, most)
    except ModuleNotFoundError:
        return {"problem": "is a PDF, and what reads PDFs is not installed: run `pip install pypdf`"}
    except (Exception, RecursionError, MemoryError):
        return {"problem": f"is {_KINDS[kind]} that cannot be read"}


def _main(kind: str, pages: str, most: str, seconds: str) -> None:
    import resource

    limits = {resource.RLIMIT_CPU: int(seconds), resource.RLIMIT_AS: _MEMORY, resource.RLIMIT_CORE: 0}
    for what, limit in limits.items():
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (limit, limit))
    sys.stdout.write(json.dumps(_read(kind, int(pages), int(most))))


if __name__ == "__main__":
    _main(*sys.argv[1:5])
