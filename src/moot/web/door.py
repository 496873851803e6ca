"""Who is let in, where others can reach the server: by a token, by the cookie that a token buys, or because a
trusted proxy says who it is. Knows how these travel; who people are is known to `moot.store.people`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.types import Scope

from moot.errors import InvalidInput
from moot.store.people import SIGNED_IN_FOR, People, Person, named
from moot.web import wire
from moot.web.openapi import problems

if TYPE_CHECKING:
    from moot.app import Moot

SIGN_IN = "/api/sign-in"
COOKIE = "moot"
MOST_COOKIES = 4
"""Other servers of this host may have left some of the same name."""

PERSON = "moot.person"
"""Where a scope has who it is."""


class Door:
    def __init__(self, moot: Moot, token: str, identity_header: str = "") -> None:
        """`token` is the server's own, the admin's. The header is believed: it gets here from trusted proxies
        alone."""
        self._moot = moot
        self._token = token
        self._identity = identity_header.lower()

    async def people(self) -> People:
        return await self._moot.people(self._token)

    async def who(self, headers: Mapping[str, str]) -> Person | None:
        if self._identity and (said := headers.get(self._identity)) is not None:
            try:
                return named(said)
            except InvalidInput:
                return None
        people = await self.people()
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme == "Bearer" and (person := await people.with_token(token)):
            return person
        for cookie in cookies(headers)[:MOST_COOKIES]:
            if person := await people.with_cookie(cookie):
                return person
        return None

    async def sign_in(self, token: str, *, secure: bool) -> tuple[Person, str] | None:
        """Who it is, and the header that sets the cookie."""
        people = await self.people()
        signed_in = await people.sign_in(token)
        if signed_in is None:
            return None
        person, cookie = signed_in
        await people.note(person.name, "signed in")
        return person, _cookie(cookie, int(SIGNED_IN_FOR.total_seconds()), secure=secure)


def person_of(scope: Scope) -> Person | None:
    """None where nobody signs in: on this machine alone."""
    person: Person | None = scope.get(PERSON)
    return person


def cookies(headers: Mapping[str, str]) -> list[str]:
    # Taken apart by hand: the library's parser gives up on cookies that other servers of this host left.
    parts = [part.strip().partition("=") for part in headers.get("cookie", "").split(";")]
    return [value for name, _, value in parts if name == COOKIE]


def came_by_tls(scope: Scope, headers: Mapping[str, str]) -> bool:
    """A browser says where its page came from, also where the proxy between is not trusted to."""
    return scope.get("scheme") == "https" or headers.get("origin", "").startswith("https://")


def _cookie(value: str, seconds: int, *, secure: bool) -> str:
    tls = "; Secure" if secure else ""
    return f"{COOKIE}={value}; Max-Age={seconds}; HttpOnly; SameSite=Strict; Path=/{tls}"


def add_signing_in(app: FastAPI, door: Door | None) -> None:
    @app.get("/api/me", responses=problems())
    async def me(request: Request) -> wire.MeOut:
        return _me(person_of(request.scope))

    @app.post(SIGN_IN, responses=problems(403, 413))
    async def sign_in(request: Request, response: Response, asked: wire.SignInRequest) -> wire.MeOut:
        if door is None:
            return _me(None)
        secure = came_by_tls(request.scope, request.headers)
        signed_in = await door.sign_in(asked.token, secure=secure)
        if signed_in is None:
            raise HTTPException(401, "This token opens nothing: it is mistyped, or was revoked.")
        person, cookie = signed_in
        response.headers["set-cookie"] = cookie
        return _me(person)

    @app.post("/api/sign-out", status_code=204, responses=problems(403), response_class=Response)
    async def sign_out(request: Request) -> Response:
        person = person_of(request.scope)
        if door is not None and person is not None:
            people = await door.people()
            for cookie in cookies(request.headers)[:MOST_COOKIES]:
                await people.sign_out(cookie)
            await people.note(person.name, "signed out")
        secure = came_by_tls(request.scope, request.headers)
        return Response(status_code=204, headers={"set-cookie": _cookie("", 0, secure=secure)})


def _me(person: Person | None) -> wire.MeOut:
    if person is None:
        return wire.MeOut(name="", admin=True, signs_in=False)
    return wire.MeOut(name=person.name, admin=person.admin, signs_in=True)
