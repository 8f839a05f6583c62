"""What is bad, large or hostile gets a 4xx and one sentence of JSON; nothing of the machine is shown or opened."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from reference.asgi import Client
from shuffledp.mechanisms.registry import names
from shuffledp.web import answers, guard
from shuffledp.web.addresses import ANSWERS, MOST_PATH
from shuffledp.web.app import create_app
from shuffledp.web.guard import HEADERS, Guard
from shuffledp.web.pool import Pool

GRR = {"spec": "grr:eps0=2,d=64", "n": "1e5", "delta": "1e-7"}
PATHS = ["/", "/app.js", *ANSWERS, "/api/download/plan.json", "/nothing"]


def refused(answer: Any, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    said = answer.json()["error"]
    assert isinstance(said, str) and said and "Traceback" not in said and "\n" not in said and said.endswith((".", "?"))
    return str(said)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"n": "0"}, "n"),
        ({"n": "ten"}, "n"),
        ({"n": "1e16"}, "n"),
        ({"n": "nan"}, "n"),
        ({"n": "1.5"}, "n"),
        ({"n": ""}, "n"),
        ({"delta": "2"}, "delta"),
        ({"delta": "-1e-9"}, "delta"),
        ({"delta": "1e9/n"}, "delta"),
        ({"delta": "/n"}, "delta"),
        ({"dropouts": "1"}, "dropouts"),
        ({"dropouts": "inf"}, "dropouts"),
        ({"dropouts": "5"}, "dropouts"),
        ({"dropouts": "100%"}, "dropouts"),
        ({"dropouts": "%"}, "dropouts"),
        ({"dropouts": "5%%"}, "dropouts"),
        ({"dropouts": "-1%"}, "dropouts"),
        ({"rounds": "0"}, "rounds"),
        ({"rounds": "1e6"}, "rounds"),
        ({"rounds": "2.5"}, "rounds"),
        ({"spec": ""}, "spec"),
        ({"spec": "grr:eps0=-1,d=4"}, "eps0"),
        ({"spec": "grr:eps0=1,d=1e9"}, "d"),
        ({"spec": "duchi:eps0=1,dim=1e9"}, "dim"),
        ({"spec": "x" * 400}, "spec"),
    ],
)
def test_a_bad_value_is_named(client: Client, change: dict[str, str], word: str) -> None:
    answer = client.get("/api/guarantee", params={**GRR, **change})
    assert refused(answer).startswith(f"{word} must ") and answer.json()["parameter"] == word


@pytest.mark.parametrize(
    "spec",
    [
        "finite:/etc/passwd",
        "FINITE:matrix.csv",
        "joint:questions.json",
        "joint:<grr:eps0=1,d=4; finite:/etc/passwd>",
        "parallel:/etc/shadow",
        "exponential-metric:1,/etc/passwd",
        "os:system:eps0=1",
        "subprocess:Popen:ls",
        "grr:eps0=1,d=4,file=/etc/passwd",
        "grr:../../etc/passwd",
        "grr",
        "grr:eps0=1,d=4\x00",
        "\u202egrr:eps0=1",
        "<script>alert(1)</script>",
        "grr:eps0=1,eps0=2,d=4",
        "grr:eps0=\u0661,d=4",
    ],
)
def test_a_spec_opens_no_file_and_imports_no_code(client: Client, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(*args: object, **more: object) -> Any:
        raise AssertionError(f"opened {args[0]!r}")

    names()  # installed plug-ins are looked for once
    monkeypatch.setattr(Path, "open", no_file)
    monkeypatch.setattr(Path, "read_bytes", no_file)
    monkeypatch.setattr(builtins, "open", no_file)
    for path in ("/api/guarantee", "/api/curves", "/api/rank", "/api/download/plan.json"):
        said = refused(client.get(path, params={**GRR, "spec": spec}))
        assert "root:" not in said


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/api/guarantee", {**GRR, "over": "n"}),
        ("/api/guarantee", {**GRR, "__class__": "1"}),
        ("/api/curves", {**GRR, "over": "everything"}),
        ("/api/curves", {**GRR, "points": "1e5"}),
        ("/api/curves", {**GRR, "points": "2"}),
        ("/api/rank", {**GRR, "task": "everything"}),
        ("/api/rank", {**GRR, "task": "histogram"}),
        ("/api/rank", {**GRR, "task": "histogram", "d": "1e12"}),
        ("/api/rank", {**GRR, "task": "histogram", "d": "4", "epsilon": "-1"}),
        ("/api/rank", {**GRR, "task": "histogram", "d": "4", "messages": "none"}),
        ("/api/download/plan.json", {**GRR, "task": "histogram", "d": "1e6"}),
        ("/api/download/plan.json", {**GRR, "task": "histogram", "d": "64", "choice": "999"}),
        ("/api/download/plan.json", {**GRR, "task": "histogram", "d": "64", "choice": "/etc/passwd"}),
    ],
)
def test_what_a_question_does_not_take_is_refused(client: Client, path: str, given: dict[str, str]) -> None:
    refused(client.get(path, params=given))


def test_a_parameter_twice_is_refused(client: Client) -> None:
    assert "twice" in refused(client.get("/api/guarantee?n=5&n=6&spec=general:eps0=1&delta=0.1"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_only_questions_are_answered(client: Client, path: str, method: str) -> None:
    answer = client.request(method, path)
    assert refused(answer, 405).startswith("the method must be GET or HEAD") and answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/..%2f..%2fapp.py",
        "/static/index.html",
        "/app.py",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/api",
        "/api/",
        "/api/guarantee/",
        "/api/download/../guarantee.json",
        "/index.html%00",
        "/\u202e",
    ],
)
def test_there_is_nothing_else(client: Client, path: str) -> None:
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code == 404 and "root:" not in answer.text
    refused(answer, 404)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        "10.0.0.1",
        "",
        "127.0.0.1:80:80",
        "[::1",
        "a@127.0.0.1",
    ],
)
def test_another_name_is_refused(client: Client, path: str, host: str) -> None:
    refused(client.get(path, headers={"host": host}), 421)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:9", "LOCALHOST", "[::1]:8000", "127.9.9.9"])
def test_its_own_names_are_taken(client: Client, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


def test_more_names_are_taken_if_told(pool: Pool) -> None:
    wide = Client(create_app(pool, hosts=["planner.example"], loopback=False), base_url="http://10.1.2.3:8000")
    assert wide.get("/").status_code == 200
    assert wide.get("/", headers={"host": "Planner.example:80"}).status_code == 200
    assert wide.get("/", headers={"host": "evil.example"}).status_code == 421


def test_long_requests_are_refused(client: Client) -> None:
    refused(client.get("/" + "a" * MOST_PATH + "b"), 414)
    refused(client.get("/api/guarantee?spec=" + "a" * MOST_PATH), 414)
    refused(client.get("/", headers={"x-long": "a" * guard.MOST_HEADERS}), 431)


def test_a_body_is_refused(client: Client) -> None:
    refused(client.request("GET", "/api/guarantee", content=b"x" * 1000), 413)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_pages_of_others_get_no_answer(client: Client, site: str) -> None:
    refused(client.get("/api/guarantee", params=GRR, headers={"sec-fetch-site": site}), 403)
    assert client.get("/", headers={"sec-fetch-site": site}).status_code == 200  # a link to the page may be followed


@pytest.mark.parametrize("path", PATHS)
def test_every_response_carries_the_security_headers(client: Client, path: str) -> None:
    for answer in (client.get(path), client.post(path), client.get(path, headers={"host": "evil.example"})):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "access-control-allow-origin" not in answer.headers


def test_the_policy_is_self_and_the_page_obeys_it(client: Client) -> None:
    assert HEADERS["content-security-policy"].startswith("default-src 'self';")
    text = client.get("/").text
    assert "style=" not in text and "onclick" not in text and "<script>" not in text
    assert "http://" not in text and "https://" not in text


def test_head_is_answered_without_a_body(client: Client) -> None:
    for path in ("/", "/api/mechanisms"):
        answer = client.head(path)
        assert answer.status_code == 200 and answer.content == b""


def test_an_internal_error_says_nothing_of_the_inside(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    def broken(asked: object) -> Any:
        raise RuntimeError("secret /home/somebody/file")

    monkeypatch.setattr(answers, "guarantee", broken)
    answer = client.get("/api/guarantee", params={**GRR, "n": "12345"})
    said = refused(answer, 500)
    assert "secret" not in said and answer.headers["x-content-type-options"] == "nosniff"


def test_a_guard_speaks_http_only() -> None:
    import asyncio

    async def never(*args: object) -> None:
        raise AssertionError("reached")

    asyncio.run(Guard(never)({"type": "websocket"}, never, never))
