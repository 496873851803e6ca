"""Pages: what is connected to, what is sent, and what comes of an answer. Whatever is hostile about them is
in test_hostile_items.py."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.evidence import urls
from moot.evidence.bounds import STANDARD, Bounds
from moot.evidence.reading import NotTaken
from moot.evidence.urls import Page, is_public, without_secrets
from tests.support import hostile_server
from tests.support.hostile_server import Hostile, page


@pytest.fixture(scope="module")
def web() -> Iterator[Hostile]:
    with hostile_server.running() as web:
        yield web


def fetch(web: Hostile, url: str, bounds: Bounds = STANDARD) -> Page:
    return asyncio.run(web.fetcher.fetch(url, bounds))


def test_an_address_that_is_read_in_two_ways_is_not_connected_to(
    web: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the check and the connection disagreed on which host this names."""
    monkeypatch.setattr(urls, "_target", lambda _: ("public.example", web.port))
    with pytest.raises(NotTaken, match="not public"):
        fetch(web, f"http://127.0.0.1:{web.inner_port}/")
    assert web.reached == 0


def test_a_name_is_looked_up_once_for_each_step_of_the_way(web: Hostile) -> None:
    web.lookups.clear()
    web.pages["/there"] = page(b"words")
    web.pages["/here"] = b"HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
    found = fetch(web, web.url("/here"))
    assert (found.url, found.data) == (web.url("/there"), b"words")
    assert web.lookups == {"public.example": 2}


def test_nothing_of_the_persons_is_sent(web: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{web.inner_port}")
    web.requests.clear()
    web.pages["/cookie"] = (
        b"HTTP/1.1 302 Found\r\nLocation: /there\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    )
    web.pages["/there"] = page(b"words")
    fetch(web, web.url("/cookie"))
    assert web.reached == 0
    assert len(web.requests) == 2
    for head in web.requests:
        names = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:] if line}
        assert names == {b"host", b"user-agent", b"accept", b"accept-encoding", b"connection"}


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)],
)
def test_what_is_packed_is_unpacked(web: Hostile, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    web.pages["/packed"] = page(pack(b"words"), "text/plain", f"Content-Encoding: {encoding}")
    assert fetch(web, web.url("/packed")).data == b"words"


@pytest.mark.parametrize(
    ("charset", "data", "read"),
    [
        ("latin-1", b"caf\xe9", "café"),
        ("windows-1251", "Привет".encode("cp1251"), "Привет"),
        ("shift_jis", "日本".encode("shift_jis"), "日本"),
        ("utf-8", "é".encode(), "é"),
    ],
)
def test_a_page_is_read_in_the_letters_that_it_names(
    web: Hostile, charset: str, data: bytes, read: str
) -> None:
    web.pages["/letters"] = page(data, f"text/plain; charset={charset}")
    assert fetch(web, web.url("/letters")).data.decode() == read


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="iso-8859-1">',
        "<META CharSet=latin1>",
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">',
    ],
)
def test_where_the_server_does_not_say_it_the_page_does(web: Hostile, head: str) -> None:
    web.pages["/meta"] = page(f"<html><head>{head}</head><p>café".encode("latin-1"), "text/html")
    assert "café" in fetch(web, web.url("/meta")).data.decode()
    web.pages["/meta"] = page(f"{head}<p>café".encode(), "text/html; charset=utf-8")
    assert "café" in fetch(web, web.url("/meta")).data.decode(), "the server's word counts"


@pytest.mark.parametrize("charset", ["punycode", "unicode_escape", "rot13", "zlib", "utf-7", "no-such"])
def test_what_is_no_letters_is_left_as_it_is(web: Hostile, charset: str) -> None:
    data = rb"+AGE- \u0061 abc-"
    web.pages["/codec"] = page(data, f"text/plain; charset={charset}")
    assert fetch(web, web.url("/codec")).data == data


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "204 Nothing", "401 Who"])
def test_what_is_no_page_is_said(web: Hostile, status: str) -> None:
    web.pages["/status"] = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()
    with pytest.raises(NotTaken, match=f"the server answered {status[:3]}"):
        fetch(web, web.url("/status"))


def test_a_redirect_to_nowhere_and_a_server_that_is_not_there(web: Hostile) -> None:
    web.pages["/nowhere"] = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(NotTaken, match="redirects to nowhere"):
        fetch(web, web.url("/nowhere"))
    with pytest.raises(NotTaken, match="its server cannot be reached"):
        fetch(web, "http://public.example:9/")


def test_where_a_page_was_found_is_told_without_what_may_be_secret(web: Hostile) -> None:
    web.pages["/found?key=abc"] = page(b"words")
    assert fetch(web, web.url("/found?key=abc")).url == web.url("/found")
    assert without_secrets("https://me:pw@a.example/b?c=d#e") == "https://a.example/b"
    assert without_secrets("http://[::1") == "an address"


@given(st.ip_addresses(v=4))
def test_no_wrapping_makes_an_address_public(address: Any) -> None:
    number = int(address)
    wrapped = (
        f"::ffff:{address}",
        f"::{address}",
        f"64:ff9b::{address}",
        str(ipaddress.IPv6Address((0x2002 << 112) | (number << 80))),
    )
    if not is_public(address):
        assert not any(is_public(ipaddress.ip_address(one)) for one in wrapped)


_OWN = """
127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 100.64.0.0/10 0.0.0.0/8 224.0.0.0/4
240.0.0.0/4 198.18.0.0/15 fe80::/10 fc00::/7 ff00::/8 ::1/128 ::/128 2001:db8::/32
"""


@given(st.sampled_from(_OWN.split()), st.data())
def test_nobodys_own_address_is_public(network: str, data: st.DataObject) -> None:
    assert not is_public(data.draw(st.ip_addresses(network=network)))


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::808:808"]
)
def test_the_internets_addresses_are(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
