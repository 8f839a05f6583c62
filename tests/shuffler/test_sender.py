"""The Python client: one draw, the same bytes until they are taken, and nothing where anything is amiss."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import shuffledp as sdp
from reference.sealed_field import LENGTH, STARTS, Field, plan_of
from shuffledp.shuffler import keys, oblivious_http, signed
from shuffledp.shuffler.publication import program_text, withdraw
from shuffledp.shuffler.sealing import MEDIA_TYPE, read_header, unpack, unseal
from shuffledp.shuffler.sender import KeptReport, ReportFolder

NOW = STARTS + 2 * LENGTH + 100


class Shuffler:
    """A service that keeps bodies, and answers as it is told: a list of what to do with the next requests."""

    def __init__(self, field: Field) -> None:
        self.publications, self.withdrawals = [field.envelope], []
        self.key, self.number = X25519PrivateKey.generate(), 1
        self.next: list[Any] = []
        self.outer: list[bytes] = []
        self.bodies: list[bytes] = []

    def rotate(self) -> None:
        self.key, self.number = X25519PrivateKey.generate(), self.number + 1

    def get(self, path: str) -> tuple[int, bytes]:
        if path == "/plans":
            return 200, json.dumps({"publications": self.publications, "withdrawals": self.withdrawals}).encode()
        config = oblivious_http.KeyConfig(self.number, self.key.public_key().public_bytes_raw())
        return (200, oblivious_http.encode_configs([config])) if path == "/ohttp-keys" else (404, b"")

    def post(self, path: str, kind: str, raw: bytes) -> tuple[int, bytes]:
        todo = self.next.pop(0) if self.next else 200
        if todo == "rotate":
            self.rotate()
            todo = 200
        self.outer.append(raw)
        if path == "/reports":
            assert kind == MEDIA_TYPE
            self.bodies.append(raw)
            return todo, b'{"stored": 1}'
        assert (path, kind) == ("/ohttp", oblivious_http.REQUEST)
        try:
            _, inner, exchange = oblivious_http.decapsulate(raw, {self.number: oblivious_http.private_key(self.key)})
        except oblivious_http.UnknownKeyError:
            return 400, b"{}"
        request = oblivious_http.decode_message(inner)
        assert isinstance(request, oblivious_http.BinaryRequest) and (request.method, request.path) == (
            "POST",
            "/reports",
        )
        self.bodies.append(request.content)
        answer = oblivious_http.BinaryResponse(status=todo, content=b'{"error": "as the test wants it"}').encode()
        return 200, exchange.seal_answer(answer + bytes(-len(answer) % 256))


@contextmanager
def served(shuffler: Shuffler) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(*shuffler.get(self.path))

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            if shuffler.next[:1] == ["hang up"]:
                shuffler.outer.append(raw)
                shuffler.next.pop(0)
                self.close_connection = True
                return
            self._answer(*shuffler.post(self.path, self.headers["content-type"], raw))

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            if status == 302:
                self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field.make(tmp_path, plan_of("pure-dump:messages=1"))


@pytest.fixture
def shuffler(field: Field) -> Iterator[Shuffler]:
    made = Shuffler(field)
    with served(made) as made.address:  # type: ignore[attr-defined]
        yield made


def sender(field: Field, shuffler: Any, *, now: float = NOW, folder: str = "client", **more: Any) -> sdp.Sender:
    return sdp.Sender(
        field.folder / folder,
        publishers=[field.folder / "analyst/signing.pub"],
        service=shuffler.address,
        clock=lambda: now,
        timeout=5,
        **more,
    )


def messages(field: Field, body: bytes) -> list[bytes | None]:
    digest, period, _ = read_header(body)
    (report,) = unpack(body, report_bytes=field.publication.slots * field.publication.sealed_bytes)
    size, terms = field.publication.sealed_bytes, {"private": field.sealing_key, "digest": digest}
    return [unseal(report.sealed[i : i + size], period=period, **terms) for i in range(0, len(report.sealed), size)]


# -- sending ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [False, True])
def test_a_report_is_drawn_once_and_acknowledged(field: Field, shuffler: Shuffler, plain: bool) -> None:
    one = sender(field, shuffler, plain=plain)
    (publication,) = one.publications()
    assert one.report("pages", "home") and one.report(publication, "search")
    with pytest.raises(
        sdp.ParameterError, match="publication must be one that is offered and trusted now, got 'visits'"
    ):
        one.report("visits", "home")
    (body,) = shuffler.bodies
    digest, period, _ = read_header(body)
    assert (digest.hex(), period) == (field.publication.digest, 2)
    sent = messages(field, body)
    assert len(sent) == 2 and all(len(message) == 1 and message[0] < 5 for message in sent)
    (record,) = (field.folder / "client").glob(f"{digest.hex()[:32]}-2.json")
    assert json.loads(record.read_text())["state"] == "sent" and json.loads(record.read_text())["body"] == ""
    assert record.stat().st_mode & 0o077 == 0


def test_a_failed_report_is_sent_again_with_the_same_bytes_in_a_fresh_layer(field: Field, shuffler: Shuffler) -> None:
    shuffler.next = [503, "hang up", 404, 425]
    one = sender(field, shuffler)
    with pytest.raises(sdp.NotSentError, match=r"got status 503 \(as the test wants it\); it is kept"):
        one.report(field.envelope, "home")
    again = sender(field, shuffler)  # another process, later
    with pytest.raises(sdp.NotSentError, match="must answer, got"):
        again.resend()
    for status in (404, 425):
        with pytest.raises(sdp.NotSentError, match=f"status {status}"):
            again.report(field.envelope, "search")  # the value of the first draw counts
    assert again.resend() == 1 and again.resend() == 0
    assert len(set(shuffler.bodies)) == 1 and len(shuffler.bodies) == 4
    assert len(set(shuffler.outer)) == len(shuffler.outer) == 5


def test_keys_that_were_rotated_are_fetched_again(field: Field, shuffler: Shuffler) -> None:
    shuffler.next = ["rotate"]
    assert sender(field, shuffler).report(field.envelope, "home")
    assert len(shuffler.outer) == 2 and len(shuffler.bodies) == 1


def test_a_new_period_is_a_new_draw_and_an_old_report_is_given_up(field: Field, shuffler: Shuffler) -> None:
    shuffler.next = [503, 503, 410]
    with pytest.raises(sdp.NotSentError):
        sender(field, shuffler).report(field.envelope, "home")
    later = sender(field, shuffler, now=NOW + LENGTH)
    with pytest.raises(sdp.NotSentError):
        later.report(field.envelope, "home")
    with pytest.raises(sdp.NotSentError, match="it is given up"):
        later.resend()  # the older one is too late already and is not sent; the shuffler does not want the other
    assert [read_header(body)[1] for body in shuffler.bodies] == [2, 3, 3]
    assert later.resend() == 0 and not later.report(field.envelope, "home")
    assert not list(ReportFolder(field.folder / "client").unsent())


def test_what_a_relay_answers_ends_no_report(field: Field, shuffler: Shuffler, monkeypatch: Any) -> None:
    """Only the shuffler's own 410, which is sealed, does."""
    one = sender(field, shuffler)
    post = one._post
    monkeypatch.setattr(one, "_post", lambda body, kind: (410, b""))
    with pytest.raises(sdp.NotSentError, match="status 502; it is kept"):
        one.report(field.envelope, "home")
    monkeypatch.setattr(one, "_post", post)
    assert one.resend() == 1


def test_a_relay_gets_the_report_and_a_mirror_is_asked_for_keys(field: Field, shuffler: Shuffler) -> None:
    with served(Shuffler(field)) as other:
        one = sender(field, shuffler, relay=f"{shuffler.address}/ohttp", mirror=shuffler.address)  # type: ignore[attr-defined]
        one._service = other
        assert one.report(field.envelope, "home") and len(shuffler.bodies) == 1


def test_the_law_is_that_of_the_plan(field: Field, shuffler: Shuffler) -> None:
    """Own message and a uniform one, in a random place: how often each option is at each place."""
    import numpy as np

    seen = np.zeros((2, 5))
    for i in range(80):
        one = sender(field, shuffler, plain=True, folder=f"c{i}")
        one.report(field.envelope, "home")
    for body in shuffler.bodies:
        for place, message in enumerate(messages(field, body)):
            seen[place, message[0]] += 1
    share = np.array([0.5 + 0.5 / 5, *[0.5 / 5] * 4])
    assert (np.abs(seen - 80 * share) < 5 * np.sqrt(80 * share * (1 - share))).all()
    assert len({read_header(body)[1] for body in shuffler.bodies}) == 1
    ids = {body[46:62] for body in shuffler.bodies}
    assert len(ids) == 80


# -- failing closed ---------------------------------------------------------------------------------------------------


def test_two_processes_send_one_draw(field: Field, shuffler: Shuffler) -> None:
    shuffler.next = [503] * 8
    kept = [0] * 8

    def answer(i: int) -> None:
        with pytest.raises(sdp.NotSentError):
            sender(field, shuffler).report(field.envelope, "home")
        kept[i] = 1

    threads = [threading.Thread(target=answer, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(kept) == 8 and len(shuffler.bodies) == 8 and len(set(shuffler.bodies)) == 1


def _keep(folder: str, i: int, out: Any) -> None:
    kept = ReportFolder(folder)
    out.put([kept.create(KeptReport(64 * "a", p, 1e12, "kept", bytes([i]))).body for p in range(40)])


def test_processes_that_race_keep_one_report_each_period(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    out: Any = spawn.Queue()
    workers = [spawn.Process(target=_keep, args=(str(tmp_path), i, out)) for i in range(3)]
    for worker in workers:
        worker.start()
    found = [out.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert found[0] == found[1] == found[2]
    assert not list(tmp_path.glob(".*.part"))


def test_another_plan_of_the_name_waits_until_the_answered_period_is_over(field: Field, shuffler: Shuffler) -> None:
    assert sender(field, shuffler).report(field.envelope, "home")
    newer = Field.make(field.folder, plan_of("pure-dump:messages=2"), serial=2)
    moved = Field.make(field.folder, plan_of("pure-dump:messages=1"), serial=3, starts=STARTS + LENGTH // 2)
    for other in (newer, moved):
        refuses(sender(field, shuffler), other.envelope, "must be the one that this period was answered with")
    assert len(shuffler.bodies) == 1
    assert sender(field, shuffler, now=STARTS + 3 * LENGTH).report(moved.envelope, "home")


def refuses(one: sdp.Sender, envelope: object, said: str) -> None:
    with pytest.raises(sdp.ShuffleDPError, match=said):
        one.report(envelope, "home")


def test_publications_that_are_not_trusted_are_not_answered(field: Field, shuffler: Shuffler, tmp_path: Path) -> None:
    one = sender(field, shuffler)
    stranger = Field.make(tmp_path / "stranger", plan_of())
    refuses(one, stranger.envelope, "signed by a key that is trusted")
    refuses(one, {**field.envelope, "payload": field.envelope["payload"].replace("home", "Home")}, "signature")
    refuses(one, None, "signed document")
    refuses(sender(field, shuffler, now=STARTS - 1), field.envelope, "must have started")
    refuses(sender(field, shuffler, now=STARTS + 100 * LENGTH), field.envelope, "must not have expired")
    newer = Field.make(field.folder, plan_of("pure-dump:messages=2"), serial=2)
    one.admitted(newer.envelope)
    refuses(sender(field, shuffler), field.envelope, "must be the newest, serial 2, got 1")
    other = Field.make(field.folder, plan_of("pure-dump:messages=3"), serial=2)
    refuses(one, other.envelope, "serial 2 of 'pages' must be one publication, got another")
    shuffler.publications = [field.envelope, newer.envelope, stranger.envelope]
    assert [found.serial for found in one.publications()] == [2] and len(one.refused) == 2
    key = keys.signing(field.folder / "analyst/signing.key")
    shuffler.withdrawals = [withdraw(newer.publication, key, reason="a mistake"), {"payload": "no"}]
    assert one.publications() == []
    refuses(sender(field, shuffler), newer.envelope, "must not be withdrawn")
    assert not shuffler.outer


def test_a_name_belongs_to_the_key_that_the_client_saw_first(field: Field, shuffler: Shuffler, tmp_path: Path) -> None:
    stranger = Field.make(tmp_path / "stranger", plan_of(), serial=9)
    trust = [folder / "analyst/signing.pub" for folder in (field.folder, stranger.folder)]
    one = sdp.Sender(
        tmp_path / "both",
        publishers=trust,
        service=shuffler.address,
        clock=lambda: NOW,  # type: ignore[attr-defined]
    )
    assert one.report(field.envelope, "home")
    refuses(one, stranger.envelope, "must be signed by the key of those before")
    key = keys.signing(stranger.folder / "analyst/signing.key")
    payload = {"format": "shuffledp withdrawal", "version": 1, "publication": field.publication.digest}
    forged = signed.sign("shuffledp withdrawal 1", payload | {"name": "pages", "reason": "rivalry"}, key)
    shuffler.withdrawals = [forged]
    shuffler.publications = [field.envelope]
    assert [found.digest for found in one.publications()] == [field.publication.digest]


def test_a_withdrawal_is_remembered_though_the_service_hides_it(field: Field, shuffler: Shuffler) -> None:
    shuffler.publications = [field.envelope]
    key = keys.signing(field.folder / "analyst/signing.key")
    shuffler.withdrawals = [withdraw(field.publication, key)]
    assert sender(field, shuffler).publications() == []
    shuffler.withdrawals = []
    assert sender(field, shuffler).publications() == []
    refuses(sender(field, shuffler), field.envelope, "must not be withdrawn")


@pytest.mark.parametrize(
    "change",
    [
        {"slots": 2**40},
        {"reports_per_user": 2**53},
        {"reports_per_user": 2},
        {"law": {"kind": "same"}},
        {"law": {"kind": "uniform", "size": 0}},
        {"law": {"kind": "keep"}},
        {"law": {"kind": "uniform", "size": "many"}},
        {"encoding": {"kind": "number", "bytes": 2**40}},
        {"input": {"kind": "bins"}},
    ],
)
def test_a_signed_program_that_is_not_that_of_its_plan_is_refused(
    field: Field, shuffler: Shuffler, change: Any
) -> None:
    said = "program of the publication must be that of its plan, got another"
    payload = json.loads(field.envelope["payload"])
    payload["program"] = program_text(json.loads(payload["program"]) | change)
    key = keys.signing(field.folder / "analyst/signing.key")
    refuses(sender(field, shuffler), signed.sign("shuffledp publication 1", payload, key), said)
    assert not shuffler.outer
    mended = Field.make(field.folder, plan_of("grr:eps0=1"), serial=2)  # nothing was answered, so it need not wait
    assert sender(field, shuffler).report(mended.envelope, "home")


def test_without_a_place_to_remember_nothing_is_sent(field: Field, shuffler: Shuffler, monkeypatch: Any) -> None:
    taken = field.folder / "taken"
    taken.write_text("")
    with pytest.raises(sdp.ShuffleDPError, match="a client must remember what it sent"):
        sender(field, shuffler, folder="taken")
    one = sender(field, shuffler)
    (field.folder / "client" / f"{field.publication.digest[:32]}-2.json").write_text('{"version": 1}')
    refuses(one, field.envelope, "kept report")
    (field.folder / "client/publications.json").write_text("[]")
    refuses(one, field.envelope, "a seen plan must be")
    two = sender(field, shuffler, folder="no links")

    def no_links(*args: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    refuses(two, field.envelope, "nothing is sent: choose a folder on a disk with links")
    assert not shuffler.outer


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"service": "http://shuffler.example"}, "service must be an address that starts with https"),
        ({"service": "ftp://127.0.0.1"}, "service must be an address"),
        ({"service": "https://"}, "service must be an address"),
        ({"service": None}, "service must be an address"),
        ({"relay": "http://relay.example"}, "relay must be an address"),
        ({"relay": "https://relay.example", "plain": True}, "plain must be left out"),
        ({"publishers": []}, "publishers must hold at least one public key"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(sdp.ParameterError, match=said):
        sdp.Sender(tmp_path, **{"publishers": ["ed25519 " + 43 * "A"], "service": "https://shuffler.example", **given})


def test_redirections_and_nonsense_are_not_followed(field: Field, shuffler: Shuffler) -> None:
    shuffler.next = [302]
    with pytest.raises(sdp.NotSentError, match="status 302"):
        sender(field, shuffler, plain=True).report(field.envelope, "home")
    shuffler.get = lambda path: (200, b"[]")  # type: ignore[method-assign]
    with pytest.raises(sdp.NotSentError, match="must be a list of plans"):
        sender(field, shuffler).publications()
    with pytest.raises(sdp.NotSentError, match="application/ohttp-keys"):
        sender(field, shuffler).report(field.envelope, "home")
    shuffler.get = lambda path: (503, b"")  # type: ignore[method-assign]
    with pytest.raises(sdp.NotSentError, match="got status 503"):
        sender(field, shuffler).publications()


def test_signed_with_another_context_is_no_publication(field: Field, shuffler: Shuffler) -> None:
    key = keys.signing(field.folder / "analyst/signing.key")
    made = signed.sign("shuffledp statement 1", json.loads(field.envelope["payload"]), key)
    refuses(sender(field, shuffler), made, "must have the signature")
