"""Makes calls to anything but this machine impossible in a Python process that loads this module.

conftest.py loads it into the test process and puts its folder on PYTHONPATH, so that every Python process
started by a test loads it too, by its name. moot starts its own children without PYTHONPATH; for these, the
folder is on PATH as well, and a line in the environment's site-packages, which conftest.py writes, loads
the guard where it finds it there. That reaches interpreters with -I and -E, too. The audit hook cannot be
removed again. It does not reach programs that are not Python, interpreters started with -S, or the look-up
of a host *name* that is given straight to socket.connect (the connection itself is still refused).
"""

from __future__ import annotations

import sys
from typing import Any

_MARK = "_moot_netguard"


def refuse_live_calls(event: str, args: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    match event:
        case "socket.connect" | "socket.sendto" | "socket.sendmsg":
            connection, address = args
            if connection.family.name == "AF_UNIX" or address is None:
                return
            host = address[0]
        case "socket.getaddrinfo" | "socket.gethostbyname" | "socket.gethostbyaddr":
            host = args[0]
        case "socket.getnameinfo":
            host = args[0][0]
        case _:
            return
    if not _is_this_machine(host):
        # Not an OSError: a client would take that for a server that is down, and the test might pass.
        raise RuntimeError(f"tests may not reach the network: {event} to {host!r} was refused")


def _is_this_machine(host: str | bytes | None) -> bool:
    import ipaddress

    name = host.decode(errors="replace") if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


if not hasattr(sys, _MARK):
    setattr(sys, _MARK, True)
    sys.addaudithook(refuse_live_calls)
