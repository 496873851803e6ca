"""Work that is cancelled is cancelled once, and let finish what it does on its way out."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from moot.mcp.working import to_its_end


def test_cancelled_work_puts_everything_away_before_the_request_ends() -> None:
    done: list[str] = []

    async def work() -> None:
        try:
            done.append("began")
            await asyncio.sleep(60)
        finally:
            for step in ("closed", "written"):
                await asyncio.sleep(0.01)
                done.append(step)

    async def request() -> None:
        with anyio.CancelScope() as scope:
            asyncio.get_running_loop().call_later(0.01, scope.cancel)
            await to_its_end(work())
        assert scope.cancelled_caught
        assert done == ["began", "closed", "written"]

    asyncio.run(request())


def test_work_that_is_not_cancelled_gives_what_it_gives() -> None:
    async def work(number: int) -> int:
        if not number:
            raise ValueError("nothing")
        return number

    assert asyncio.run(to_its_end(work(7))) == 7
    with pytest.raises(ValueError, match="nothing"):
        asyncio.run(to_its_end(work(0)))


def test_work_that_fails_on_its_way_out_disturbs_nobody() -> None:
    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("too late")

    async def request() -> None:
        with anyio.CancelScope() as scope:
            asyncio.get_running_loop().call_later(0.01, scope.cancel)
            await to_its_end(work())
        assert scope.cancelled_caught

    asyncio.run(request())
