"""Who may use a server that others reach: people, their tokens, browsers that are signed in, what was done.

Knows tokens and cookies only as hashes. Refuses to know HTTP, and what a session is about.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from moot.errors import AlreadyThere, InvalidInput, NotFound
from moot.store import tables
from moot.store.sessions import Store

ADMIN = "admin"
"""How the one who has the server's own token is shown. Nobody else can have that name."""

SIGNED_IN_FOR = timedelta(days=14)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is known to a server."""

    name: str
    admin: bool = False

    @property
    def sees_only(self) -> str | None:
        """Whose sessions they see besides those that are nobody's; None for all."""
        return None if self.admin else self.name

    @property
    def owns_as(self) -> str:
        """Whose the sessions are that they begin. The admin's are everybody's."""
        return "" if self.admin else self.name


THE_ADMIN = Person(ADMIN, admin=True)


@dataclass(frozen=True, slots=True)
class Added:
    name: str
    added_at: datetime


@dataclass(frozen=True, slots=True)
class Action:
    at: datetime
    person: str
    action: str
    session: str


def named(name: str) -> Person:
    """A person by a name that is to be trusted."""
    if not _NAME.fullmatch(name) or name.lower() == ADMIN:
        raise InvalidInput(
            "NAME",
            f"{name[:80]!r} cannot be a person's: use letters, digits and . _ @ + -, at most 64, "
            f"and not '{ADMIN}'",
        )
    return Person(name)


class People:
    def __init__(self, store: Store, admin_token: str | None = None) -> None:
        """`admin_token` opens everything: the server's own."""
        self._store = store
        self._admin = _hash(admin_token) if admin_token else None

    # -- who there is ------------------------------------------------------------------------

    async def add(self, name: str) -> str:
        """The new person's token, which nobody can be told again."""
        named(name)
        token = secrets.token_urlsafe(32)
        now = datetime.now(UTC)
        try:
            row = insert(tables.people).values(name=name, token_hash=_hash(token), added_at=now)
            await self._store.run(row)
        except IntegrityError:
            raise AlreadyThere("person", name) from None
        return token

    async def listed(self) -> list[Added]:
        kept = tables.people.c
        rows = await self._store.read(select(kept.name, kept.added_at).order_by(kept.name))
        return [Added(*row) for row in rows]

    async def revoke(self, name: str) -> None:
        """From now on neither their token nor a cookie that it bought opens anything."""
        kept = tables.people.c
        gone = await self._store.run(
            delete(tables.people).where(kept.name == name).returning(kept.token_hash)
        )
        if not gone:
            raise NotFound("person", name, tuple(one.name for one in await self.listed()))
        await self._store.run(
            delete(tables.sign_ins).where(tables.sign_ins.c.token_hash == gone[0].token_hash)
        )

    # -- who it is ---------------------------------------------------------------------------

    async def with_token(self, token: str) -> Person | None:
        return await self._whose(_hash(token)) if token else None

    async def with_cookie(self, cookie: str) -> Person | None:
        """A cookie opens what the token that bought it opens, as long as it does."""
        if not cookie:
            return None
        kept = tables.sign_ins.c
        query = select(kept.token_hash).where(
            kept.cookie_hash == _hash(cookie), kept.until > datetime.now(UTC)
        )
        rows = await self._store.read(query)
        return await self._whose(rows[0].token_hash) if rows else None

    async def _whose(self, token_hash: str) -> Person | None:
        if self._admin is not None and hmac.compare_digest(token_hash, self._admin):
            return THE_ADMIN
        kept = tables.people.c
        rows = await self._store.read(select(kept.name).where(kept.token_hash == token_hash))
        return Person(rows[0].name) if rows else None

    async def sign_in(self, token: str) -> tuple[Person, str] | None:
        """Who it is, and a cookie; None where the token opens nothing."""
        person = await self.with_token(token)
        if person is None:
            return None
        cookie, now = secrets.token_urlsafe(32), datetime.now(UTC)
        await self._store.run(delete(tables.sign_ins).where(tables.sign_ins.c.until <= now))
        await self._store.run(
            insert(tables.sign_ins).values(
                cookie_hash=_hash(cookie), token_hash=_hash(token), until=now + SIGNED_IN_FOR
            )
        )
        return person, cookie

    async def sign_out(self, cookie: str) -> None:
        await self._store.run(delete(tables.sign_ins).where(tables.sign_ins.c.cookie_hash == _hash(cookie)))

    # -- who did what ------------------------------------------------------------------------

    async def note(self, person: str, action: str, session: str = "") -> None:
        now = datetime.now(UTC)
        await self._store.run(
            insert(tables.actions).values(at=now, person=person, action=action, session=session)
        )

    async def log(self, limit: int) -> Sequence[Action]:
        """Newest first."""
        kept = tables.actions.c
        query = select(kept.at, kept.person, kept.action, kept.session).order_by(kept.id.desc()).limit(limit)
        return [Action(*row) for row in await self._store.read(query)]


def _hash(secret: str) -> str:
    """Plain SHA-256 is enough for what is random and long: there is nothing to guess."""
    return hashlib.sha256(secret.encode()).hexdigest()
