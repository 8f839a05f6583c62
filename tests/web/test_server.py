"""The server as a process: where it listens, what it prints, and what it does with bytes that are no request."""

from __future__ import annotations

import json
import logging
import socket
import time
import urllib.request
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.web.guard import HEADERS


def sent(address: str, content: bytes) -> bytes:
    """What the server answers to these bytes."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=10) as line:
        line.sendall(content)
        found = b""
        while more := line.recv(65536):
            found += more
            if b"\r\n\r\n" in found and b"content-length" not in found.lower():
                break
            head, _, body = found.partition(b"\r\n\r\n")
            lengths = [part for part in head.lower().split(b"\r\n") if part.startswith(b"content-length:")]
            if lengths and len(body) >= int(lengths[0].split(b":")[1]):
                break
        return found


def test_it_listens_on_loopback_and_answers(server: str) -> None:
    assert urlsplit(server).hostname == "127.0.0.1"
    with urllib.request.urlopen(f"{server}api/guarantee?spec=general:eps0=1&n=1e6&delta=1e-8") as answer:
        assert json.load(answer)["shown"]["epsilon"] == "0.004419"
        assert "server" not in answer.headers and answer.headers["server-timing"].startswith("answer;dur=")
        for name, value in HEADERS.items():
            assert answer.headers[name] == value


def test_an_answer_does_not_wait_for_a_receipt(server: str) -> None:
    with httpx.Client(base_url=server, timeout=60) as client:
        spent = []
        for _ in range(40):
            start = time.monotonic()
            client.get("/icon.svg")
            spent.append(time.monotonic() - start)
    assert sorted(spent)[len(spent) // 10] < 0.03  # 0.04 seconds each if headers and body wait for each other


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nBad Header: x\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 40_000 + b"\r\n\r\n",
        b"GET /api/guarantee?spec=%ff%fe&n=%00&delta=\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc",
    ],
)
def test_bytes_that_are_no_request_get_a_4xx(server: str, content: bytes) -> None:
    answer = sent(server, content)
    assert answer.startswith(b"HTTP/1.1 4") and b"Traceback" not in answer and b"root:" not in answer
    with urllib.request.urlopen(server) as page:  # it goes on
        assert page.status == 200


def test_a_taken_port_is_one_sentence(server: str) -> None:
    port = urlsplit(server).port
    result = CliRunner().invoke(main, ["serve", "--port", str(port)])
    assert result.exit_code == 2
    assert result.output.startswith("shuffledp: host and port must be free") and result.output.count("\n") == 1
    assert result.output.endswith("choose another --host or --port.\n")


def test_a_port_that_is_none_is_refused() -> None:
    result = CliRunner().invoke(main, ["serve", "--port", "70000"])
    assert result.exit_code == 2 and "port must lie in [0, 65535]" in result.output


def test_another_host_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the handlers of others stay open."""
    closed: list[bool] = []
    theirs = logging.NullHandler()
    monkeypatch.setattr(theirs, "close", lambda: closed.append(True))
    configs = []
    monkeypatch.setattr(uvicorn.Server, "__init__", lambda self, config: configs.append(config))
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    monkeypatch.setattr("shuffledp.web.server._listening", lambda host, port: socket.create_server(("127.0.0.1", 0)))
    result = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0", "--allow-host", "planner.example"])
    assert result.exit_code == 0 and "can be reached from other machines" in result.output
    assert not configs[0].access_log and configs[0].log_config is None
    assert not closed
    quiet = CliRunner().invoke(main, ["serve"])
    assert "other machines" not in quiet.output and quiet.output.startswith("http://127.0.0.1:")
