"""How tools use sessions: with the ones of all calls open, to the work's end, and with a next step in what is
said when it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from moot.errors import Busy, InvalidInput, MootError, NotFound, NotNow, StillEnding
from moot.mcp.working import to_its_end
from moot.repo.reading import in_words

if TYPE_CHECKING:
    from pathlib import Path

    from moot.sessions import Sessions, SharedSessions

T = TypeVar("T")

SessionId = Annotated[str, Field(max_length=64, description="As begin_session or list_sessions gave it.")]


@dataclass(frozen=True, slots=True)
class Calls:
    shared: SharedSessions
    root: Path

    async def use(self, what: Callable[[Sessions], Awaitable[T]]) -> T:
        async def work() -> T:
            async with self.shared.open() as sessions:
                return await what(sessions)

        with _saying_what_next(self.root):
            return await to_its_end(work())


@contextmanager
def _saying_what_next(root: Path) -> Iterator[None]:
    try:
        yield
    except (Busy, StillEnding, InvalidInput, NotFound, NotNow) as error:
        if not (following := _next_after(error)):
            raise
        raise ToolError(f"{in_words(error, root)} {following}") from error


def _next_after(error: MootError) -> str:
    match error:
        case Busy() | StillEnding():
            return "Ask the person to end it there, or wait until it has ended; then try again."
        case InvalidInput(field="choice" | "answer"):
            return "What may be answered is in the asks of get_session."
        case NotFound(kind="session"):
            return "list_sessions gives those that there are."
        case NotNow():
            return "Call get_session for that."
        case _:
            return ""
