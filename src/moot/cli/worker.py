"""`moot worker`: drives sessions that servers on the same PostgreSQL have begun, and serves nobody itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.cli.running import DatabaseOption, LogFormatOption, ModelOption, WorkspaceOption, run
from moot.cli.serve import NEEDS_POSTGRESQL, fast_loop

if TYPE_CHECKING:
    from moot.app import Moot


def worker(
    log_format: LogFormatOption = None,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Drive sessions for servers on the same PostgreSQL."""

    async def command(moot: Moot) -> int:
        import asyncio

        from moot.cli import screen
        from moot.errors import InvalidInput
        from moot.sessions import open_sessions
        from moot.telemetry import logs

        chosen = log_format.value if log_format else moot.config.user.telemetry.log_format
        logs.set_up(chosen)
        if not moot.shared_database:
            raise InvalidInput("--database", NEEDS_POSTGRESQL)
        async with moot.telemetry(), open_sessions(moot):
            ready = "moot works"
            if chosen == "json":
                logs.note(ready)
            else:
                screen.say(f"{ready}  (Ctrl-C to stop)")
            await moot.warm_up()
            await asyncio.get_running_loop().create_future()
        return 0

    run(command, workspace=workspace, model=model, database=database, loop=fast_loop(), serves=True)
