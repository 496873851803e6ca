"""What proxies say of a client: its address, whether it came by TLS, which name it used, who it is.

Anybody can send such headers. They are believed of the proxies that the settings name, and of nobody else,
not of loopback either. Plain ASGI.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

Headers = list[tuple[bytes, bytes]]


class Proxies:
    def __init__(self, app: ASGIApp, *, trusted: Sequence[str], identity_header: str) -> None:
        """`trusted` are addresses and networks. `identity_header` reaches the application from them alone."""
        self._app = app
        self._trusted = [ipaddress.ip_network(one, strict=False) for one in trusted]
        self._identity = identity_header.lower().encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer = scope["client"][0] if scope.get("client") else ""
            said = [one for one in scope["headers"] if one[0] == self._identity]
            trusted = self._trusts(peer)
            if said and not (trusted and len(said) == 1):
                # Of two, one may be the client's own.
                scope = {**scope, "headers": [one for one in scope["headers"] if one[0] != self._identity]}
            if trusted:
                scope = self._as_said(scope, peer)
        await self._app(scope, receive, send)

    def _trusts(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._trusted)

    def _as_said(self, scope: Scope, peer: str) -> Scope:
        headers: Headers = scope["headers"]
        said = {**scope, "client": (self._client(headers, peer), 0)}
        if (scheme := _last(headers, b"x-forwarded-proto")) in ("http", "https"):
            said["scheme"] = scheme
        if host := _last(headers, b"x-forwarded-host"):
            kept = [one for one in headers if one[0] != b"host"]
            said["headers"] = [*kept, (b"host", host.encode("latin-1"))]
        return said

    def _client(self, headers: Headers, peer: str) -> str:
        """Each proxy adds whom it was reached by. The last that is none of ours is the client; what stands
        before it is the client's own word."""
        client = peer
        for address in reversed(_listed(headers, b"x-forwarded-for")):
            try:
                client = str(ipaddress.ip_address(address))
            except ValueError:
                return peer
            if not self._trusts(client):
                break
        return client


def _listed(headers: Headers, name: bytes) -> list[str]:
    said = ",".join(value.decode("latin-1") for key, value in headers if key == name)
    return [part.strip() for part in said.split(",") if part.strip()]


def _last(headers: Headers, name: bytes) -> str:
    return (_listed(headers, name) or [""])[-1]
