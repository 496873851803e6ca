"""Tokens, cookies and the log, on both databases."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot.errors import AlreadyThere, InvalidInput, NotFound
from moot.store.database import sqlite_url
from moot.store.people import THE_ADMIN, People, Person, named
from moot.store.sessions import Store, open_store
from tests.store.test_sessions import database, postgresql, with_store  # noqa: F401

ADMIN = "the-token-of-the-admin"


def test_a_cookie_opens_what_the_token_that_bought_it_opens(database: str) -> None:  # noqa: F811
    async def main(store: Store) -> None:
        people = People(store, ADMIN)
        token = await people.add("ada")
        assert await people.with_token(token) == Person("ada")
        assert await people.with_token(ADMIN) == THE_ADMIN
        signed_in, admin = await people.sign_in(token), await people.sign_in(ADMIN)
        assert signed_in
        assert admin
        assert signed_in[0] == await people.with_cookie(signed_in[1]) == Person("ada")
        assert admin[0] == await people.with_cookie(admin[1]) == THE_ADMIN
        for mixed in (await people.with_cookie(token), await people.with_token(signed_in[1])):
            assert mixed is None
        # Whoever starts the server with another token has signed out those who used the old one.
        assert await People(store, "another-token-of-the-admin").with_cookie(admin[1]) is None
        assert await People(store).with_cookie(admin[1]) is None
        await people.revoke("ada")
        assert await people.with_token(token) is None
        assert await people.with_cookie(signed_in[1]) is None
        assert await people.with_cookie(admin[1]) == THE_ADMIN
        with pytest.raises(NotFound):
            await people.revoke("ada")

    with_store(database, main)


def test_a_name_has_one_token(database: str) -> None:  # noqa: F811
    async def main(store: Store) -> None:
        people = People(store)
        tokens = await asyncio.gather(*(people.add("ada") for _ in range(4)), return_exceptions=True)
        assert sum(isinstance(one, str) for one in tokens) == 1
        assert sum(isinstance(one, AlreadyThere) for one in tokens) == 3
        assert [one.name for one in await people.listed()] == ["ada"]

    with_store(database, main)


def test_the_log_is_read_from_its_end(database: str) -> None:  # noqa: F811
    async def main(store: Store) -> None:
        people = People(store)
        for number in range(5):
            await people.note("ada", "convened", f"board-{number}")
        assert [one.session for one in await people.log(2)] == ["board-4", "board-3"]
        assert len(await people.log(100)) == 5

    with_store(database, main)


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_a_name_never_has_a_space_a_control_character_or_the_admin_s_look(name: str) -> None:
    try:
        person = named(name)
    except InvalidInput:
        return
    assert person == Person(name)
    assert 1 <= len(name) <= 64
    assert name.isascii()
    assert name.isprintable()
    assert " " not in name
    assert name.lower() != "admin"


@given(st.lists(st.text(max_size=60), min_size=1, max_size=20))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_other_token_ever_opens(tmp_path: Path, guesses: list[str]) -> None:
    async def main() -> None:
        async with open_store(sqlite_url(tmp_path / "moot.db")) as store:
            people = People(store, ADMIN)
            known = await people.listed()
            token = await people.add(f"ada{len(known)}")
            for guess in (*guesses, token[:-1], token + "=", token.swapcase()):
                assert await people.with_token(guess) is None
                assert await people.with_cookie(guess) is None
                assert await people.sign_in(guess) is None

    asyncio.run(main())
