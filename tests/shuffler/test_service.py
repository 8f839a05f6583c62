"""The service in this process: what is let in, what is refused, and what leaves."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from reference.shuffling import LENGTH, START, Clock, World, small_guarantee, small_plan
from shuffledp.protocol.portable import portable
from shuffledp.shuffler import intake, oblivious_http, sealing, signed
from shuffledp.shuffler import service as service_module
from shuffledp.shuffler.keys import base64url
from shuffledp.shuffler.oblivious_http import rotate
from shuffledp.shuffler.publication import program_text
from shuffledp.shuffler.service import Service
from shuffledp.shuffler.store import PeriodKey

pytestmark = pytest.mark.shuffler
TYPE = {"content-type": sealing.MEDIA_TYPE}
OHTTP = {"content-type": oblivious_http.REQUEST}


@pytest.fixture
def world(address: str, tmp_path: Path) -> World:
    return World(tmp_path / "shuffler", store=address)


class Asked:
    """A service and a client of it on one loop; time stands still, and periods are released when a test says so."""

    def __init__(self, service: Service, http: httpx.AsyncClient, world: World) -> None:
        self.service, self.http, self.world = service, http, world

    async def plain(self, body: bytes, **more: str) -> httpx.Response:
        return await self.http.post("/reports", content=body, headers=TYPE | more)

    async def keys(self) -> oblivious_http.KeyConfig:
        return oblivious_http.decode_configs((await self.http.get("/ohttp-keys")).content)[0]

    async def sealed(
        self, body: bytes, config: oblivious_http.KeyConfig | None = None, fields: oblivious_http.Fields = ()
    ) -> oblivious_http.BinaryResponse:
        fields = ((b"content-type", sealing.MEDIA_TYPE.encode()), *fields)
        request = oblivious_http.BinaryRequest(method="POST", path="/reports", fields=fields, content=body)
        raw, exchange = oblivious_http.encapsulate(config or await self.keys(), request.encode())
        answer = await self.http.post("/ohttp", content=raw, headers=OHTTP)
        assert answer.status_code == 200 and answer.headers["content-type"] == oblivious_http.RESPONSE, answer.text
        assert (len(answer.content) - 32) % 256 == 0
        found = oblivious_http.decode_message(exchange.open_answer(answer.content))
        assert isinstance(found, oblivious_http.BinaryResponse)
        return found

    async def metrics(self) -> dict[str, int]:
        lines = (await self.http.get("/metrics")).text.splitlines()
        return {
            line.rpartition(" ")[0].removeprefix("shuffledp_shuffler_"): int(line.rpartition(" ")[2]) for line in lines
        }

    def contributors(self, place: PeriodKey) -> int:
        return next((held.contributors for held in self.service.store.periods() if held.place == place), 0)


def asking(world: World, clock: Clock, test: Callable[[Asked], Awaitable[None]], **more: Any) -> None:
    """Run a test with a service; its background thread looks only when it is told to."""

    async def run() -> None:
        service = Service(world.home, clock=clock, tick=3600, **more)
        service.start()
        transport = httpx.ASGITransport(app=service, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://shuffler") as http:
            try:
                await test(Asked(service, http, world))
            finally:
                await asyncio.to_thread(service.stop)

    asyncio.run(run())


def opened(world: World, folder: Path, digest: bytes, period: int) -> list[bytes | None]:
    """What the analyst finds in a batch, after its manifest was checked."""
    import hashlib

    key = world.home._key.public_key()
    envelope = json.loads((folder / "manifest.json").read_text())
    manifest = signed.open_("shuffledp manifest 1", envelope, {envelope["key"]: key})
    rows: list[bytes] = []
    for file in manifest["files"]:
        raw = (folder / file["name"]).read_bytes()
        assert hashlib.sha256(raw).hexdigest() == file["sha256"]
        found = pq.read_table(folder / file["name"])["sealed"].to_pylist()
        assert len(found) == file["messages"]
        rows += found
    assert manifest["messages"] == len(rows) == manifest["contributors"] * world.slots
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        ["manifest.json", *(f["name"] for f in manifest["files"])]
    )
    return [sealing.unseal(row, private=world.analyst, digest=digest, period=period) for row in rows]


def test_reports_come_in_both_ways_and_leave_as_one_batch(world: World, clock: Clock) -> None:
    digest = world.publish()

    async def test(ask: Asked) -> None:
        for i in range(4):
            body = sealing.pack(digest, 0, [world.report(digest, 0, bytes([i]))])
            if i % 2:
                answer = await ask.plain(body)
                assert (answer.status_code, answer.json()) == (200, {"stored": 1})
            else:
                inner = await ask.sealed(body)
                assert (inner.status, json.loads(inner.content)) == (200, {"stored": 1})
            assert (await ask.plain(body)).json() == {"stored": 1}  # the same again is known
        many = [world.report(digest, 0, bytes([i])) for i in range(4, 50)]
        assert (await ask.plain(sealing.pack(digest, 0, many + many[:3]))).json() == {"stored": 49}
        assert ask.contributors((digest, 0)) == 50
        clock.now = START + LENGTH + 49
        assert ask.service.release_due() == []
        clock.now = START + LENGTH + 50
        (batch,) = ask.service.release_due()
        assert batch.name == f"{digest.hex()}-0"
        found = opened(world, batch, digest, 0)
        assert sorted(m for m in found if m is not None) == [bytes([i]) for i in range(50)]
        assert found.count(None) == 50
        assert ask.service.release_due() == []
        (held,) = ask.service.store.periods()
        assert (held.state, held.contributors) == ("released", 0)
        # even a clock that goes back does not open the period again
        clock.now = START + 10
        assert (await ask.plain(body)).status_code == 410

    asking(world, clock, test)


def test_an_issuer_says_who_may_report(world: World, clock: Clock) -> None:
    digest, asked = world.publish(), []

    class Members:
        def admits(self, token: bytes, place: PeriodKey) -> bool:
            asked.append((token, place))
            return token == b"member"

    async def test(ask: Asked) -> None:
        body = sealing.pack(digest, 0, [world.report(digest, 0, b"a")])
        refused = await ask.plain(body)
        assert refused.status_code == 401 and refused.json()["error"].startswith("the authorization must be")
        assert (await ask.sealed(body)).status == 401 and ask.contributors((digest, 0)) == 0
        assert (await ask.plain(body, authorization="member")).status_code == 200
        assert (await ask.sealed(body, fields=((b"authorization", b"member"),))).status == 200
        assert ask.contributors((digest, 0)) == 1 and {place for _, place in asked} == {(digest, 0)}
        assert (await ask.metrics())['refused_total{reason="token"}'] == 2

    asking(world, clock, test, issuer=Members())


def test_below_the_minimum_nothing_leaves_and_it_is_discarded_in_the_end(world: World, clock: Clock) -> None:
    digest = world.publish()

    async def test(ask: Asked) -> None:
        report = world.report(digest, 0)
        for _ in range(5):  # one contributor, however often
            assert (await ask.plain(sealing.pack(digest, 0, [report] * 5))).status_code == 200
        await ask.plain(sealing.pack(digest, 0, [world.report(digest, 0)]))
        clock.now = START + LENGTH + 499
        assert ask.service.release_due() == []
        assert (await ask.metrics())["overdue_seconds"] == 449
        assert ask.contributors((digest, 0)) == 2
        clock.now += 2
        assert ask.service.release_due() == []
        (held,) = ask.service.store.periods()
        assert (held.state, held.contributors) == ("discarded", 0)
        assert list(world.home.outbox.iterdir()) == []
        assert (await ask.metrics())['periods_total{state="discarded"}'] == 1

    asking(world, clock, test)


def test_what_is_refused(world: World, clock: Clock) -> None:
    digest = world.publish()
    old = world.publish("old", expires=START - 60, starts=START - 10 * LENGTH)
    ending = world.publish("ending", expires=START - 10, starts=START - 10 * LENGTH)

    async def test(ask: Asked) -> None:
        good = sealing.pack(digest, 0, [world.report(digest, 0)])
        cases = {
            400: [b"", b"SDR1", good[:-1], good + b"\0", b"SDR2" + good[4:], sealing.pack(digest, 0, [])],
            404: [sealing.pack(os.urandom(32), 0, [world.report(digest, 0)])],
            410: [sealing.pack(old, 9, [world.report(old, 9)])],
            413: [bytes(sealing.MOST_BYTES + 1)],
            425: [sealing.pack(digest, k, [world.report(digest, 0)]) for k in (1, 5, 2**64 - 1)],
        }
        for status, bodies in cases.items():
            for body in bodies:
                answer = await ask.plain(body)
                assert answer.status_code == status, answer.text
                assert list(answer.json()) == ["error"] and answer.json()["error"].endswith(".")
                if status != 413:
                    inner = await ask.sealed(body)
                    assert inner.status == status and json.loads(inner.content) == answer.json()
        last = sealing.pack(ending, 9, [world.report(ending, 9)])
        assert (await ask.plain(last)).status_code == 200  # it was answered before the plan expired
        clock.now = START + LENGTH + 49
        assert (await ask.plain(good)).status_code == 200  # within the grace
        clock.now = START + LENGTH + 51
        assert (await ask.plain(good)).status_code == 410
        clock.now = START + LENGTH - 299
        assert (await ask.plain(sealing.pack(digest, 1, [world.report(digest, 1)]))).status_code == 200  # a fast clock
        for path, more, status in [
            ("/reports", {"content": good}, 415),
            ("/ohttp", {"content": good, "headers": TYPE}, 415),
            ("/ohttp", {"content": good, "headers": OHTTP}, 400),
            ("/ohttp", {"content": b"", "headers": OHTTP}, 400),
            ("/plans", {}, 405),
            ("/nothing", {}, 404),
        ]:
            assert (await ask.http.post(path, **more)).status_code == status
        for path, status in [("/reports", 404), ("/plans/00", 404), ("/../keys/ohttp.json", 404)]:
            assert (await ask.http.get(path)).status_code == status
        for request, status in [
            (oblivious_http.BinaryRequest(method="GET", path="/reports"), 404),
            (oblivious_http.BinaryRequest(method="POST", path="/reports", content=good), 415),
        ]:
            raw, exchange = oblivious_http.encapsulate(await ask.keys(), request.encode())
            answer = await ask.http.post("/ohttp", content=raw, headers=OHTTP)
            inner = oblivious_http.decode_message(exchange.open_answer(answer.content))
            assert isinstance(inner, oblivious_http.BinaryResponse) and inner.status == status
        raw, exchange = oblivious_http.encapsulate(await ask.keys(), b"no binary HTTP")
        answer = await ask.http.post("/ohttp", content=raw, headers=OHTTP)
        assert oblivious_http.decode_message(exchange.open_answer(answer.content)).status == 400  # type: ignore[union-attr]
        ask.service._committer.flush()
        await asyncio.sleep(0.2)
        refused = {held.place: held.refused for held in ask.service.store.periods()}
        assert refused[digest, 0]["malformed"] == 6 and refused[digest, 0]["late"] == 1
        clock.now = START + LENGTH + 60
        assert (await ask.metrics())['refused_total{reason="early"}'] == 6

    asking(world, clock, test)


def test_a_body_without_an_end_is_not_read_to_the_end(world: World, clock: Clock) -> None:
    async def test(ask: Asked) -> None:
        sent = 0

        async def endless() -> Any:
            nonlocal sent
            while True:
                sent += 1
                yield bytes(1 << 16)

        answer = await ask.http.post("/reports", content=endless(), headers=TYPE)
        assert answer.status_code == 413 and sent < 40

    asking(world, clock, test)


def test_a_body_that_does_not_come_is_not_waited_for(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "PATIENCE", 0.05)

    async def test(ask: Asked) -> None:
        async def slow() -> Any:
            yield b"SDR1"
            await asyncio.sleep(60)

        answer = await asyncio.wait_for(ask.http.post("/reports", content=slow(), headers=TYPE), 10)
        assert answer.status_code == 408 and "must come within" in answer.json()["error"]

    asking(world, clock, test)


def test_replays_and_altered_requests(world: World, clock: Clock) -> None:
    digest = world.publish()

    async def test(ask: Asked) -> None:
        body = sealing.pack(digest, 0, [world.report(digest, 0)])
        request = oblivious_http.BinaryRequest(
            method="POST", path="/reports", fields=((b"content-type", sealing.MEDIA_TYPE.encode()),), content=body
        )
        raw, _ = oblivious_http.encapsulate(await ask.keys(), request.encode())
        both = await asyncio.gather(*(ask.http.post("/ohttp", content=raw, headers=OHTTP) for _ in range(6)))
        assert sorted(answer.status_code for answer in both) == [200] + [409] * 5
        assert (await ask.http.post("/ohttp", content=raw, headers=OHTTP)).status_code == 409
        assert (await ask.sealed(body)).status == 200  # the same report, sealed anew
        assert ask.contributors((digest, 0)) == 1
        for at in (7, 20, 38, 39, len(raw) - 1):
            altered = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
            assert (await ask.http.post("/ohttp", content=altered, headers=OHTTP)).status_code == 400
        wrong = oblivious_http.KeyConfig(
            (await ask.keys()).id, os.urandom(32)
        )  # the id of a key of ours, and another key
        other, _ = oblivious_http.encapsulate(wrong, request.encode())
        assert (await ask.http.post("/ohttp", content=other, headers=OHTTP)).status_code == 400
        # after two rotations its key is erased
        for _ in range(2):
            rotate(world.home.ohttp)
        ask.service._look()
        answer = await ask.http.post("/ohttp", content=raw, headers=OHTTP)
        assert answer.status_code == 400 and answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"].endswith("#ohttp-key")
        (held,) = ask.service.store.periods()
        assert held.refused == {"replayed": 6}

    asking(world, clock, test)


def test_an_old_key_is_served_through_the_overlap(world: World, clock: Clock) -> None:
    digest = world.publish()

    async def test(ask: Asked) -> None:
        old = await ask.keys()
        rotate(world.home.ohttp)
        ask.service._look()
        assert (await ask.keys()).id != old.id
        assert (await ask.sealed(sealing.pack(digest, 0, [world.report(digest, 0)]), old)).status == 200
        assert (await ask.sealed(sealing.pack(digest, 0, [world.report(digest, 0)]))).status == 200

    asking(world, clock, test)


def test_plans_are_listed_renewed_and_withdrawn(world: World, clock: Clock) -> None:
    digest = world.publish()
    world.publish("other")

    async def test(ask: Asked) -> None:
        for i in range(5):
            assert (await ask.plain(sealing.pack(digest, 0, [world.report(digest, 0)]))).status_code == 200, i
        found = (await ask.http.get("/plans")).json()
        assert len(found["publications"]) == 2 and found["withdrawals"] == []
        one = await ask.http.get(f"/plans/{digest.hex()}")
        assert one.json() in found["publications"] and one.headers["access-control-allow-origin"] == "*"
        # the next publication of the name: a batch of its own; at the same time, or with a lower minimum: refused
        later = world.publish(file="later.json", serial=2, starts=START + 10**8, expires=START + 10**9)
        world.publish(file="again.json", serial=3, expires=START + 10**7)
        world.publish(file="lower.json", serial=4, minimum=1)
        (world.home.plans_folder / "broken.json").write_text("{")
        ask.service._look()
        assert set(ask.service._publications.found) >= {digest, later}
        assert len(ask.service._publications.found) == 3 and len(ask.service._publications.problems) == 3
        assert (await ask.plain(sealing.pack(later, 0, [world.report(later, 0)]))).status_code == 425
        assert ask.contributors((digest, 0)) == 5
        world.withdraw(digest)
        ask.service._look()
        assert len(ask.service._publications.problems) == 2  # what was refused beside it is in force now
        listed = (await ask.http.get("/plans")).json()
        assert len(listed["publications"]) == 3 and len(listed["withdrawals"]) == 1
        assert (await ask.http.get(f"/plans/{digest.hex()}")).status_code == 404
        assert (await ask.plain(sealing.pack(digest, 0, [world.report(digest, 0)]))).status_code == 410
        assert ask.service.release_due() == [] and ask.contributors((digest, 0)) == 5

    asking(world, clock, test)


@pytest.mark.parametrize("column", [None, 0, True, 2.5, ["a", "a"], {}])
def test_a_plan_that_cannot_be_run_stops_no_other(world: World, clock: Clock, column: Any) -> None:
    digest = world.publish()
    plan = json.loads(json.dumps(signed_payload(world, digest)["plan"]))
    plan["query"]["column"] = column
    world.publish("hostile", plan=plan)
    (world.home.plans_folder / "nowhere.json").symlink_to("nothing")
    (world.home.publishers / "empty.pub").write_text("")

    async def test(ask: Asked) -> None:
        ask.service._look()
        assert set(ask.service._publications.found) == {digest}
        problems = " ".join(ask.service._publications.problems)
        assert "hostile.json: " in problems and "empty.pub: " in problems and "nowhere.json: " in problems

    asking(world, clock, test)


def signed_payload(world: World, digest: bytes) -> dict[str, Any]:
    return dict(json.loads(signed.read(world.home.plans_folder / "fruit.json")["payload"]))


def test_only_what_was_withdrawn_is_discarded_early(world: World, clock: Clock) -> None:
    """A key that nobody trusts any more holds a period back, until its end; it may be trusted again."""
    digest = world.publish()

    async def test(ask: Asked) -> None:
        for _ in range(3):
            await ask.plain(sealing.pack(digest, 0, [world.report(digest, 0)]))
        key = world.home.publishers / "one.pub"
        text = key.read_text()
        key.unlink()
        ask.service._look()
        clock.now = START + LENGTH + 60
        assert ask.service.release_due(discard=True) == [] and ask.contributors((digest, 0)) == 3
        key.write_text(text)
        ask.service._look()
        assert len(ask.service.release_due()) == 1

    asking(world, clock, test)


def test_a_withdrawal_is_one_in_any_order_of_its_keys(world: World, clock: Clock) -> None:
    digest = world.publish()
    payload = {"reason": "x" * 200, "name": "fruit", "publication": digest.hex(), "version": 1}
    world.drop("withdrawn.json", "shuffledp withdrawal 1", payload | {"format": "shuffledp withdrawal"})

    async def test(ask: Asked) -> None:
        assert digest in ask.service._publications.withdrawals and not ask.service._publications.problems

    asking(world, clock, test)


def test_only_the_key_that_published_withdraws(world: World, clock: Clock) -> None:
    digest = world.publish()
    other = World(world.folder.with_name("other"))
    raw = other.publisher.public_key().public_bytes_raw()
    (world.home.publishers / "two.pub").write_text(f"ed25519 {base64url(raw)}\n")
    other.withdraw(digest)
    (world.home.plans_folder / "theirs.json").write_text((other.home.plans_folder / "fruit-withdrawn.json").read_text())

    async def test(ask: Asked) -> None:
        listed = (await ask.http.get("/plans")).json()
        assert len(listed["publications"]) == 1 and listed["withdrawals"] == []
        assert "must be of a publication that its own key signed, got another's" in str(
            ask.service._publications.problems
        )

    asking(world, clock, test)


def test_a_name_belongs_to_the_key_that_published_it_first(world: World, clock: Clock) -> None:
    other = World(world.folder.with_name("other"))
    raw = other.publisher.public_key().public_bytes_raw()
    (world.home.publishers / "two.pub").write_text(f"ed25519 {base64url(raw)}\n")

    def served(ask: Asked) -> set[bytes]:
        ask.service._look()
        return set(ask.service._publications.found)

    async def test(ask: Asked) -> None:
        mine, theirs = world.publish(), other.publish()
        copy = world.home.plans_folder / "theirs.json"
        copy.write_text((other.home.plans_folder / "fruit.json").read_text())
        assert served(ask) == set()  # nobody was first
        assert str(ask.service._publications.problems).count("must be signed by one key") == 2
        copy.unlink()
        assert served(ask) == {mine}
        copy.write_text((other.home.plans_folder / "fruit.json").read_text())
        world.withdraw(mine)
        assert served(ask) == {mine} and theirs not in ask.service._publications.kept
        assert "must be signed by the key that published it first" in str(ask.service._publications.problems)

    asking(world, clock, test)


def test_of_one_name_one_publication_is_answered_at_a_time(world: World, clock: Clock) -> None:
    async def test(ask: Asked) -> None:
        def served() -> set[bytes]:
            ask.service._look()
            return set(ask.service._publications.found)

        first = world.publish(file="a.json", expires=START + 3000)
        second = world.publish(file="b.json", serial=2, expires=START + 3000)
        assert served() == set()  # neither is known
        assert str(ask.service._publications.problems).count("which is new too") == 2
        (world.home.plans_folder / "b.json").unlink()
        assert served() == {first}
        second = world.publish(file="b.json", serial=2, starts=START + 2999, expires=START + 9000)
        assert served() == {first}  # the one that is remembered
        next_ = world.publish(file="c.json", serial=3, starts=START + 9000, expires=START + 10_000)
        assert served() == {first, next_}
        clock.now = START + 3000.0
        assert served() == {first, second, next_}  # the first has expired

    asking(world, clock, test)


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made["law"].update(keep="f" * 32),
        lambda made: made.update(law={"kind": "same"}),
        lambda made: made["input"]["labels"].reverse(),
    ],
)
def test_a_program_that_is_not_that_of_its_plan_is_not_served(world: World, clock: Clock, change: Any) -> None:
    false = portable(small_plan("fruit", world.slots))
    change(false)
    world.publish(program=program_text(false))

    async def test(ask: Asked) -> None:
        assert (await ask.http.get("/plans")).json()["publications"] == []
        assert "must be that of its plan" in str(ask.service._publications.problems)

    asking(world, clock, test)


def test_a_guarantee_that_is_not_that_of_its_plan_is_not_served(world: World, clock: Clock) -> None:
    true = small_guarantee("fruit", world.slots)
    world.publish(guarantee=true | {"epsilon": 0.01})
    world.publish("other", guarantee=small_guarantee("other", world.slots) | {"local_epsilon": 1.0})

    async def test(ask: Asked) -> None:
        assert (await ask.http.get("/plans")).json()["publications"] == []
        assert str(ask.service._publications.problems).count("the guarantee of the publication must be eps") == 2

    asking(world, clock, test)


def test_plans_of_others_are_not_served(tmp_path: Path, clock: Clock) -> None:
    mine, theirs = World(tmp_path / "mine"), World(tmp_path / "theirs")
    theirs.publish()
    source = theirs.home.plans_folder / "fruit.json"
    (mine.home.plans_folder / "fruit.json").write_text(source.read_text())

    async def test(ask: Asked) -> None:
        assert (await ask.http.get("/plans")).json()["publications"] == []
        assert len(ask.service._publications.problems) == 1

    asking(mine, clock, test)


def test_a_browser_may_ask(world: World, clock: Clock) -> None:
    async def test(ask: Asked) -> None:
        for path in ("/ohttp", "/reports"):
            answer = await ask.http.options(path)
            assert answer.status_code == 204
            assert answer.headers["access-control-allow-origin"] == "*"
            assert "content-type" in answer.headers["access-control-allow-headers"]
            assert "access-control-allow-credentials" not in answer.headers
            answer = await ask.http.post(path, headers={"origin": "https://example.com"})
            assert answer.status_code == 415 and answer.headers["access-control-allow-origin"] == "*"
        answer = await ask.http.get("/health")
        assert answer.json() == {"status": "ok", "failing": "", "plans": 0}
        answer = await ask.http.get("/metrics", headers={"origin": "https://example.com"})  # the operator's alone
        assert answer.status_code == 200 and "access-control-allow-origin" not in answer.headers

    asking(world, clock, test)


def test_a_store_that_fails_is_told_and_tried_again(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = world.publish()

    async def test(ask: Asked) -> None:
        body = sealing.pack(digest, 0, [world.report(digest, 0)])
        add = ask.service.store.add
        for error in (OSError("disk"), MemoryError()):
            monkeypatch.setattr(ask.service.store, "add", lambda *_, e=error: (_ for _ in ()).throw(e))
            answer = await ask.plain(body)
            assert answer.status_code == 503 and answer.headers["retry-after"] == "5"
            inner = await ask.sealed(body)
            assert inner.status == 503 and (b"retry-after", b"5") in inner.fields
            assert (await ask.http.get("/health")).status_code == 503
            assert (await ask.metrics())["store_up"] == 0
        monkeypatch.setattr(ask.service.store, "add", add)
        with monkeypatch.context() as patch:
            patch.setattr(intake, "_MOST_WAITING", 10)  # more may not wait
            assert (await ask.plain(body)).status_code == 503
        assert (await ask.plain(body)).status_code == 200
        assert (await ask.http.get("/health")).status_code == 200

    asking(world, clock, test)


def test_an_internal_error_says_nothing_of_itself(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test(ask: Asked) -> None:
        monkeypatch.setattr(ask.service, "_take", lambda *_: 1 / 0)
        answer = await ask.plain(b"secret")
        assert answer.status_code == 500 and "Zero" not in answer.text and "Traceback" not in answer.text

    asking(world, clock, test)
    assert "secret" not in "".join(capfd.readouterr())
