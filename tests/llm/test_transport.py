"""Certificates are checked, and those that the environment names are trusted."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from moot.llm.transport import Transport


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this machine, made by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return file


@asynccontextmanager
async def serving(certificate: Path) -> AsyncIterator[str]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="here")

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        yield f"{site.name.rsplit(':', 1)[0]}:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


def fetched(certificate: Path) -> str:
    async def fetch() -> str:
        async with serving(certificate) as url, httpx2.AsyncClient(transport=Transport(4)) as client:
            return (await client.get(url)).text

    return asyncio.run(fetch())


def test_a_server_that_nobody_vouches_for_is_not_spoken_to(certificate: Path) -> None:
    with pytest.raises(
        httpx2.ConnectError, match=r"the certificate of 127\.0\.0\.1 is not valid: self-signed"
    ):
        fetched(certificate)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:{port}/", "^127.0.0.1:{port}: connection refused$"),
        ("https://127.0.0.1:{plain}/", "^127.0.0.1:{plain} does not speak TLS as it should$"),
    ],
)
def test_why_a_server_is_not_reached_is_said_in_words(url: str, why: str) -> None:
    async def fetch() -> None:
        async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
            ports = {"port": free.getsockname()[1], "plain": server.sockets[0].getsockname()[1]}
            async with server, httpx2.AsyncClient(transport=Transport(4)) as client:
                with pytest.raises(httpx2.ConnectError, match=why.format(**ports)):
                    await client.get(url.format(**ports))

    asyncio.run(fetch())


def test_a_host_that_nobody_knows_is_said_to_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> None:
        raise OSError("Name or service not known")

    async def fetch() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
        async with httpx2.AsyncClient(transport=Transport(4)) as client:
            await client.get("http://nobody.invalid/")

    with pytest.raises(httpx2.ConnectError, match=r"^there is no host nobody\.invalid, or no network to"):
        asyncio.run(fetch())


def test_a_certificate_that_the_environment_names_is_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert fetched(certificate) == "here"
