"""Where a case is held: a workspace and a database of its own, the model to be judged, and what it says.

Everything runs through moot's own services and prompts. Nothing here is said to a model but what the case's
person says.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from evals.person import Script, Turn
from evals.transcripts import Bill, Reply
from moot.app import Moot, Options, opened
from moot.core.flow import Event, ModelEffect, Usage
from moot.errors import MootError

_NANO = 1_000_000_000
_BILLS = ("spoken", "usage")
_FAILED = "Failed"
_NOT_SHOWN = ("PersonaSilent", "ContributionReturned", "SynthesisReturned")
"""What a model said and a person never reads."""


class SessionFailed(Exception):
    """The session did not get to the end of its case, so there is nothing to score."""


class Record:
    """A listener that keeps whole replies, each with the moment in which it was given."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.failures: list[str] = []
        self.moment = ""
        self.speaker: Callable[[Event], str] = lambda event: str(getattr(event, "persona", ""))

    def began(self, effect: ModelEffect, attempt: int) -> None: ...

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None: ...

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None: ...

    def looks(self, effect: ModelEffect, attempt: int, what: str) -> None: ...

    def happened(self, event: Event) -> None:
        name = type(event).__name__
        if name.endswith(_FAILED):
            self.failures.append(f"{name}: {getattr(event, 'message', '')}")
        if name in _NOT_SHOWN:
            return
        usage = next(
            (bill for field in _BILLS if isinstance(bill := getattr(event, field, None), Usage)), None
        )
        if usage is None:
            return
        value = msgspec.to_builtins(event)
        spent = {"type", *_BILLS}
        kept = {field: part for field, part in value.items() if field not in spent}
        self.add(name, kept, self.speaker(event), usage.looked_at)

    def add(self, kind: str, value: dict[str, Any], by: str = "", looked_at: tuple[str, ...] = ()) -> None:
        self.replies.append(Reply(kind, value, self.moment, by, looked_at))

    def begin(self, moment: str) -> None:
        self.moment = moment


class Room:
    def __init__(self, moot: Moot) -> None:
        self.moot = moot
        self.record = Record()
        self.scripts: list[Script] = []

    @property
    def root(self) -> Path:
        return self.moot.workspace.root

    def script(self, turns: Sequence[Turn], otherwise: Sequence[Turn] = ()) -> Script:
        made = Script(turns, otherwise, self.record.begin)
        self.scripts.append(made)
        return made

    def check_complete(self) -> None:
        """Raises what kept the person from saying all that the case has them say."""
        left = [turn for script in self.scripts for turn in script.left]
        if left:
            why = f"; {self.record.failures[-1]}" if self.record.failures else ""
            raise SessionFailed(f"ended before {left[0].at!r} was reached{why}")

    async def bill(self) -> Bill:
        lines = (await self.moot.spending())["days"]
        return Bill(
            sum(line.requests for line in lines),
            sum(line.tokens_in for line in lines),
            sum(line.tokens_out for line in lines),
            sum(line.nano_usd for line in lines) / _NANO,
            sum(line.unpriced for line in lines),
        )


@asynccontextmanager
async def open_room(
    files: Mapping[str, str], model: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[Room]:
    """With a workspace of these files, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="moot-evals-") as folder:
        workspace = Path(folder, "workspace")
        _write(files, workspace)
        database = f"sqlite:///{Path(folder, 'moot.sqlite3')}"
        async with opened(Options(workspace, model=model, database=database), env) as moot:
            yield Room(moot)


def _write(files: Mapping[str, str], folder: Path) -> None:
    folder.mkdir()
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
