"""Pages from the network, fetched so that nobody's own machines can be reached through them.

An address may be written in many ways and a name may lead anywhere, also another time: so each is looked up
once, every address that it has must be public, and only those are connected to: that is checked once more
where the connection is made, because two programs may read one address differently. The same holds after each
redirect. Nothing that belongs to the person is sent: no cookie, no login, no proxy. Bounded in
size, time and redirects, also where what is compressed unpacks.
"""

from __future__ import annotations

import asyncio
import codecs
import ipaddress
import re
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit, urlunsplit

from moot.evidence.bounds import Bounds, in_words
from moot.evidence.reading import NotTaken

if TYPE_CHECKING:
    import aiohttp

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LONGEST_URL = 2_000
_REDIRECTS = frozenset([301, 302, 303, 307, 308])
_HEADERS = {
    "user-agent": "moot (reads pages that a person names)",
    "accept": "text/html, text/*, application/json, application/pdf, image/*;q=0.8, */*;q=0.1",
    "accept-encoding": "gzip, deflate",
}
_PIECE = 65_536
_LETTERS = re.compile(
    r"iso8859-\d+|cp\d{3,4}|koi8-[rtu]|mac-[a-z]+|utf-(?:16|32)(?:-[bl]e)?|gb2312|gbk|gb18030|hz|big5(?:hkscs)?|"
    r"euc_(?:jp|kr|jis_2004|jisx0213)|shift_jis(?:_2004|x0213)?|iso2022_(?:jp(?:_\w+)?|kr)|tis-620|johab|"
    r"ptcp154|kz1048"
)
_SAYS_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
_NUMBERS = re.compile(r"(?:0[xX][0-9a-fA-F]*|\d+)(?:\.(?:0[xX][0-9a-fA-F]*|\d+))*\.?")
_NOT_PUBLIC = "leads to an address that is not public, and such are never fetched"


@dataclass(frozen=True, slots=True)
class Page:
    """`url` is where it was found in the end."""

    url: str
    data: bytes
    media_type: str
    charset: str = ""

    @property
    def is_html(self) -> bool:
        return self.media_type in ("text/html", "application/xhtml+xml")


Fetching = Awaitable[Page]
Resolve = Callable[[str, int], Awaitable[list[str]]]


async def fetch(url: str, bounds: Bounds) -> Page:
    """Raises NotTaken."""
    return await Fetcher().fetch(url, bounds)


async def resolve(host: str, port: int) -> list[str]:
    """All addresses of a name."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


def is_public(address: Address) -> bool:
    """Whether it is on the internet and nobody's own: not this machine, its network, or one of many. What
    wraps another address is as public as that one."""
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()), _translated(address))
        if any(one is not None and not is_public(one) for one in wrapped):
            return False
        if address in _NAT64:
            return True
    return address.is_global and not (address.is_multicast or address.is_reserved)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one stands for in a network without IPv4 (RFC 6052), or in the old form
    ::a.b.c.d."""
    if address in _NAT64 or int(address) >> 32 == 0:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def without_secrets(url: str) -> str:
    """Without a login and without its query, which may be one."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))
    except ValueError:
        return "an address"


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Tests look names up elsewhere, and allow what they serve themselves."""

    resolve: Resolve = resolve
    allows: Callable[[Address], bool] = is_public

    async def fetch(self, url: str, bounds: Bounds) -> Page:
        try:
            async with asyncio.timeout(bounds.seconds):
                for _ in range(bounds.redirects + 1):
                    found = await self._look(url, bounds)
                    if isinstance(found, Page):
                        return found
                    url = found
        except TimeoutError:
            raise NotTaken(f"took longer than {bounds.seconds:g} seconds") from None
        raise NotTaken(f"redirects more than {bounds.redirects} times")

    async def _look(self, url: str, bounds: Bounds) -> Page | str:
        """The page, or where it has moved to."""
        import aiohttp

        host, port = _target(url)
        addresses = await self._checked(host, port)
        pinned = _Pinned(addresses)
        connector = aiohttp.TCPConnector(
            resolver=cast("Any", pinned),
            socket_factory=pinned.open_socket,
            use_dns_cache=False,
            force_close=True,
            limit=1,
        )
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            max_line_size=16_384,
            max_field_size=16_384,
        ) as session:
            try:
                async with session.get(url, headers=_HEADERS, allow_redirects=False) as response:
                    return await _answer(url, response, bounds)
            except NotTaken:
                raise
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise NotTaken(f"could not be fetched: {_in_short(error)}") from None

    async def _checked(self, host: str, port: int) -> list[str]:
        """All addresses of a host, each of which is public."""
        try:
            literal = [str(ipaddress.ip_address(host))]
        except ValueError:
            literal = []
        try:
            found = literal or await self.resolve(host, port)
            addresses = [ipaddress.ip_address(one.partition("%")[0]) for one in found]
        except (OSError, UnicodeError, ValueError):
            raise NotTaken("could not be fetched: there is no host of that name") from None
        if not addresses:
            raise NotTaken("could not be fetched: there is no host of that name")
        if not all(map(self.allows, addresses)):
            raise NotTaken(_NOT_PUBLIC)
        return list(map(str, addresses))


def _target(url: str) -> tuple[str, int]:
    """Host and port. Refuses every way of writing an address that two programs could read in two ways."""
    if len(url) > LONGEST_URL:
        raise NotTaken(f"is an address of more than {LONGEST_URL:,} characters")
    if any(each.isspace() or not each.isprintable() or each == "\\" for each in url):
        raise NotTaken("is not a web address: it has characters that do not belong into one")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise NotTaken("is not a web address") from None
    if parts.scheme.lower() not in ("http", "https"):
        raise NotTaken("is not fetched: only http and https addresses are")
    if parts.username is not None or parts.password is not None:
        raise NotTaken("has a login in it, and none is ever sent: give it without")
    if not host:
        raise NotTaken("is not a web address: it names no host")
    if _NUMBERS.fullmatch(host) and not _is_plain_ipv4(host):
        raise NotTaken(_NOT_PUBLIC)
    try:
        host = host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        raise NotTaken("is not a web address: it names no host") from None
    return host.rstrip("."), port or (443 if parts.scheme.lower() == "https" else 80)


def _is_plain_ipv4(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True


class _Pinned:
    """Whatever is asked for is at these addresses: a name is not looked up a second time."""

    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:  # noqa: ARG002
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": socket.IPPROTO_TCP,
                "flags": socket.AI_NUMERICHOST,
            }
            for address in self._addresses
        ]

    def open_socket(self, where: aiohttp.AddrInfoType) -> socket.socket:
        """What reads as an address is never looked up, so this is asked of every connection."""
        family, kind, protocol, _, address = where
        if address[0] not in self._addresses:
            raise NotTaken(_NOT_PUBLIC)
        opened = socket.socket(family, kind, protocol)
        opened.setblocking(False)
        return opened

    async def close(self) -> None: ...


# -- the answer ----------------------------------------------------------------------------------


async def _answer(url: str, response: aiohttp.ClientResponse, bounds: Bounds) -> Page | str:
    if response.status in _REDIRECTS:
        where = response.headers.get("location", "")
        if not where:
            raise NotTaken("redirects to nowhere")
        return urljoin(url, where)
    if response.status != 200:
        raise NotTaken(f"could not be fetched: the server answered {response.status}")
    length = response.content_length
    if length is not None and length > bounds.file:
        raise NotTaken(f"{in_words(length)}, at most {in_words(bounds.file)} are taken")
    data = b"".join([piece async for piece in _unpacked(response, bounds.file)])
    kind = (response.content_type or "").lower()
    charset = (response.charset or _charset_within(data)).lower()
    if kind.startswith("text/") or kind.endswith(("json", "xml")):
        data = _as_utf8(data, charset)
    return Page(without_secrets(url), data, kind)


async def _unpacked(response: aiohttp.ClientResponse, most: int) -> AsyncIterator[bytes]:
    """Piece by piece, so that a bomb is noticed as soon as it is too large."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
        raise NotTaken("could not be fetched: it is packed in a way that was not asked for")
    unpack = None if encoding in ("identity", "") else _unpacking(encoding)
    size = 0
    async for piece in response.content.iter_chunked(_PIECE):
        rest = piece
        while rest:
            try:
                part, rest = (
                    (rest, b"")
                    if unpack is None
                    else (unpack.decompress(rest, _PIECE), unpack.unconsumed_tail)
                )
            except zlib.error:
                raise NotTaken("could not be fetched: what it is packed in is damaged") from None
            size += len(part)
            if size > most:
                raise NotTaken(f"more than {in_words(most)}, which is what is taken")
            yield part
            # What unpacks to much leaves the others of this process their turn.
            await asyncio.sleep(0)
    if unpack is not None and not unpack.eof:
        raise NotTaken("could not be fetched: it ends too early")


def _unpacking(encoding: str) -> Any:
    return zlib.decompressobj(zlib.MAX_WBITS | 32 if encoding != "deflate" else zlib.MAX_WBITS)


def _charset_within(data: bytes) -> str:
    """Where the server does not say it, a page may, at its beginning."""
    found = _SAYS_CHARSET.search(data[:4_096])
    return found[1].decode() if found else "utf-8"


def _as_utf8(data: bytes, charset: str) -> bytes:
    """A page says in which letters it is written. What it says wrongly is left to whoever reads it. Of the
    codecs that there are, only those of letters: punycode takes hours for what is a second's download."""
    try:
        codec = codecs.lookup(charset).name
        return data.decode(codec).encode() if _LETTERS.fullmatch(codec) else data
    except (LookupError, UnicodeError):
        return data


def _in_short(error: Exception) -> str:
    import aiohttp

    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return "its certificate is not valid"
        case aiohttp.ClientConnectorError():
            return "its server cannot be reached"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return "its server hung up"
        case _:
            return "its server answered with something that is no page"
