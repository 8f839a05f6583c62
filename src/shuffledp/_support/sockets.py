"""Addresses to listen on: for the page in the browser and for the shuffler."""

from __future__ import annotations

import ipaddress
import socket

from ..errors import ParameterError


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("::1")
    (True, True, False, True)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens already, so that the address may be told to others."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.create_server((host, port), family=family, backlog=256)
        # inherited by every connection: else the body of an answer waits 40 ms for the receipt of its headers
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"host and port must be free on this machine, got {host!r} and {port} ({reason}); "
            "choose another --host or --port."
        ) from None
