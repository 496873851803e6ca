"""Jobs of one process."""

from __future__ import annotations

import asyncio

from moot.server.local_jobs import LocalJobs


def test_what_is_wanted_in_the_moment_in_which_it_ends_is_done_again() -> None:
    """The two are told of their databases' answers in one round of the loop, the one that ends first."""

    async def main() -> list[str]:
        done: list[str] = []
        answered = asyncio.get_running_loop().create_future()

        async def drive(session: str) -> None:
            if not done:
                await answered
            done.append(session)

        async def tidy_up() -> None: ...

        jobs = LocalJobs(drive, tidy_up)

        async def want_again() -> None:
            await answered
            await jobs.want("one")

        await jobs.want("one")
        await asyncio.sleep(0)
        again = asyncio.ensure_future(want_again())
        await asyncio.sleep(0)
        answered.set_result(None)
        await again
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return done

    assert asyncio.run(main()) == ["one", "one"]
