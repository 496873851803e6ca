"""A change's session in the store: the files are what counts, and what is under way is somebody's."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from moot.changes.flow import (
    CHANGE,
    CUT_OFF,
    ChallengeChosen,
    ChangeEvent,
    ChangeGone,
    FilesRead,
    ReviewCounted,
    SessionState,
    Step,
    WorkBegun,
    WorkCutOff,
)
from moot.changes.folder import ChangeFolder
from moot.changes.log import ChangeLog
from moot.changes.looking import Looking
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.changes.service import Changes
from moot.errors import SessionMoved, StoreFailed
from moot.server.sharing import Sharing
from moot.store.database import sqlite_url
from moot.store.sessions import Store, open_store
from tests.support.change import write_change
from tests.support.changes import at_work, reviewed

ID = "change-1"
LATER = "- [ ] Store public keys\n"


class Place:
    """A workspace with one change, and a database."""

    def __init__(self, path: Path, changes: Changes) -> None:
        self.database = sqlite_url(path / "moot.sqlite3")
        self.path = changes.folders.open("feat-auth").path
        self.folder = ChangeFolder("feat-auth", self.path)
        self._changes = changes

    def log(self, store: Store) -> ChangeLog:
        return ChangeLog(store, ID, Looking(self._changes, "feat-auth"))

    @asynccontextmanager
    async def server(self) -> AsyncIterator[Store]:
        async with open_store(self.database) as store:
            await store.ensure(ID, CHANGE.name, "feat-auth")
            yield store


def run(tmp_path: Path, main: Callable[[Place], Awaitable[None]]) -> None:
    root = tmp_path / "project"
    write_change(root / "moot" / "changes" / "feat-auth", "proposed")

    async def within() -> None:
        async with at_work(root) as moot:
            await main(Place(tmp_path, Changes(moot)))

    asyncio.run(within())


def fold(*parts: list[ChangeEvent]) -> SessionState:
    return CHANGE.fold(event for part in parts for event in part)


async def lease(store: Store) -> None:
    """This process drives the session from now on."""
    sharing = Sharing(store)
    await sharing.want(ID, "")
    assert await sharing.take(ID)


def test_the_files_are_read_first_and_then_again_when_somebody_has_changed_them(tmp_path: Path) -> None:
    async def main(place: Place) -> None:
        async with place.server() as store, place.server() as other:
            ours, theirs = place.log(store), place.log(other)
            opened = await ours.read()
            assert [type(event) for event in opened] == [FilesRead]
            assert await ours.news() == []
            assert await theirs.read() == opened
            (place.path / "tasks.md").write_text(LATER, encoding="utf-8")
            changed = await theirs.news()
            assert fold(opened, changed).files.standing.tasks == 1
            assert await ours.news() == changed, "one of them has written it down"
            assert (ours.seq, await ours.news(), await theirs.news()) == (3, [], [])

    run(tmp_path, main)


def test_a_database_that_has_never_heard_of_a_change_learns_it_from_its_files(tmp_path: Path) -> None:
    async def main(place: Place) -> None:
        issue = Issue(Severity.HIGH, "Nobody tests it\x0b.")
        reviewed(place.folder, Review(Verdict.NEEDS_REVISION, (issue,), "Read.", ""))
        async with place.server() as store:
            log = place.log(store)
            state = fold(await log.read())
            assert (state.files.standing.verdict, state.files.as_reviewed) == ("NEEDS_REVISION", True)
            assert [one.number for one in state.files.issues] == [1]
            again = place.log(store)
            assert fold(await again.read()) == state
            assert (await log.news(), await again.news(), again.seq) == ([], [], 2)

    run(tmp_path, main)


def test_a_choice_reaches_whoever_drives_the_session(tmp_path: Path) -> None:
    async def main(place: Place) -> None:
        async with place.server() as asked, place.server() as driver:
            ours, theirs = place.log(asked), place.log(driver)
            opened = await ours.read()
            await ours.append(ChallengeChosen())
            assert await theirs.read() == [*opened, ChallengeChosen()], "nobody has begun: it stands"
            await lease(driver)
            theirs.driving = True
            await theirs.keep(WorkBegun(driver.server))
            assert await theirs.news() == []
            assert await ours.news() == [WorkBegun(driver.server)]
            (place.path / "tasks.md").write_text(LATER, encoding="utf-8")
            assert await ours.news() == [], "what is done there is the work's own doing"
            files = Looking(place._changes, "feat-auth")()
            assert files is not None
            await theirs.keep(ReviewCounted(files, "APPROVED"))
            assert await ours.news() == [ReviewCounted(files, "APPROVED")]

    run(tmp_path, main)


def test_what_a_process_has_begun_that_does_not_drive_any_more_was_cut_off(tmp_path: Path) -> None:
    async def main(place: Place) -> None:
        async with place.server() as gone, place.server() as ours, place.server() as others:
            log, watching = place.log(gone), place.log(others)
            await lease(gone)
            opened = await log.read()
            log.driving = True
            await log.append(ChallengeChosen())
            await log.keep(WorkBegun(gone.server))
            under_way = await watching.read()
            assert fold(under_way).step is Step.CHALLENGING
            await Sharing(gone).release(ID)
            state = fold(await place.log(ours).read())
            assert (state.step, state.chosen, state.problem) == (Step.RESTING, None, CUT_OFF)
            [cut_off] = await watching.news()
            assert isinstance(cut_off, WorkCutOff)
            assert cut_off.files == fold(opened).files
            with pytest.raises(SessionMoved):
                await log.keep(ReviewCounted(cut_off.files))

    run(tmp_path, main)


def test_whoever_drives_it_next_does_not_begin_it_again(tmp_path: Path) -> None:
    async def main(place: Place) -> None:
        async with place.server() as gone, place.server() as next_one:
            log = place.log(gone)
            await log.read()
            await log.append(ChallengeChosen())
            await log.append(WorkBegun(gone.server))
            await lease(next_one)
            follower = place.log(next_one)
            follower.driving = True
            assert fold(await follower.read()).step is Step.RESTING

    run(tmp_path, main)


def test_a_change_that_was_taken_away_is_gone_until_there_is_one_of_its_name(tmp_path: Path) -> None:
    async def main(place: Place) -> None:
        async with place.server() as store:
            log = place.log(store)
            opened = await log.read()
            shutil.move(place.path, tmp_path / "elsewhere")
            gone = await log.news()
            assert gone == [ChangeGone()]
            assert (await log.news(), log.seq) == ([], 3)
            shutil.move(tmp_path / "elsewhere", place.path)
            back = await log.news()
            assert fold(opened, gone, back).step is Step.RESTING

    run(tmp_path, main)


def test_what_could_not_be_read_to_the_end_is_news_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(place: Place) -> None:
        async with place.server() as store, place.server() as other:
            ours, theirs = place.log(store), place.log(other)
            await ours.read()
            await theirs.read()
            await theirs.append(ChallengeChosen())
            await theirs.append(WorkBegun(other.server))

            async def away(*_: object) -> str:
                raise StoreFailed("moot.sqlite3", "it is away")

            with monkeypatch.context() as patched:
                patched.setattr(Sharing, "driver_of", away)
                with pytest.raises(StoreFailed):
                    await ours.news()
            assert (await ours.news())[:2] == [ChallengeChosen(), WorkBegun(other.server)]

    run(tmp_path, main)


def test_a_session_that_was_deleted_is_not_written_to_for_ever(tmp_path: Path) -> None:
    async def main(place: Place) -> None:
        async with place.server() as store:
            log = place.log(store)
            await log.read()
            await store.delete(ID)
            (place.path / "tasks.md").write_text(LATER, encoding="utf-8")
            with pytest.raises(SessionMoved):
                await log.news()

    run(tmp_path, main)
