"""Answers are kept, asked for once at a time, and never queued without limit; work that nobody waits for stops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from shuffledp.web.pool import BusyError, LongError, Pool
from shuffledp.web.worker import EndedError


class Gate:
    """Work that, if its address begins with "slow", waits until it is let through or stopped."""

    def __init__(self) -> None:
        self.open, self.began, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.calls: list[str] = []
        self.stops = 0

    def start(self) -> None:
        pass

    def ask(self, path: str, given: Mapping[str, str]) -> bytes:
        self.calls.append(path)
        self.began.set()
        if path.startswith("slow"):
            while not self.open.wait(0.01):
                if self.ended.is_set():
                    self.ended.clear()
                    raise EndedError("stopped")
        if path == "bad":
            raise ValueError("no")
        return path.encode()

    def stop(self) -> None:
        self.stops += 1
        self.ended.set()

    def close(self) -> None:
        pass


def run(scene: Callable[[Pool, Gate], Awaitable[Any]], **limits: Any) -> tuple[Any, Gate]:
    """Play a scene with a pool whose workers all are one gate."""
    gate = Gate()

    async def play() -> Any:
        pool = Pool(lambda: gate, **limits)
        try:
            return await asyncio.wait_for(scene(pool, gate), 30)
        finally:
            gate.open.set()
            pool.close()

    return asyncio.run(play()), gate


async def until(done: Callable[[], bool]) -> None:
    while not done():
        await asyncio.sleep(0.005)


def test_the_same_question_is_computed_once() -> None:
    async def scene(pool: Pool, gate: Gate) -> list[bytes]:
        asked = asyncio.gather(*(pool.answer("slow", {"x": "1", "y": "2"}, line="quick") for _ in range(20)))
        await until(gate.began.is_set)
        gate.open.set()
        return [*await asked, await pool.answer("slow", {"y": "2", "x": "1"}, line="quick")]

    found, gate = run(scene)
    assert found == [b"slow"] * 21 and len(gate.calls) == 1


def test_errors_and_unfinished_answers_are_not_kept() -> None:
    async def scene(pool: Pool, gate: Gate) -> None:
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                await pool.answer("bad", {}, line="quick")
        for _ in range(2):
            await pool.answer("part", {}, line="quick", keep=lambda found: found != b"part")
        for _ in range(2):
            await pool.answer("whole", {}, line="quick")

    _, gate = run(scene)
    assert gate.calls == ["bad", "bad", "part", "part", "whole"]


def test_a_full_queue_says_so_and_recovers() -> None:
    async def scene(pool: Pool, gate: Gate) -> bytes:
        first = [asyncio.ensure_future(pool.answer(f"slow{k}", {}, line="quick")) for k in range(2)]
        await until(gate.began.is_set)
        with pytest.raises(BusyError, match="too many questions"):
            await pool.answer("third", {}, line="quick")
        gate.open.set()
        await asyncio.gather(*first)
        return await pool.answer("third", {}, line="quick")

    assert run(scene, most_waiting=2)[0] == b"third"


@pytest.mark.parametrize(("long", "short"), [("slow", "quick"), ("rank", "slow"), ("slow", "slow")])
def test_a_long_answer_holds_up_no_other(long: Any, short: Any) -> None:
    async def scene(pool: Pool, gate: Gate) -> bytes:
        held = asyncio.ensure_future(pool.answer("slow", {}, line=long))
        await until(gate.began.is_set)
        found = await pool.answer("quick", {}, line=short)
        assert not held.done()
        gate.open.set()
        await held
        return found

    assert run(scene)[0] == b"quick"


def test_work_that_takes_too_long_is_stopped() -> None:
    async def scene(pool: Pool, gate: Gate) -> bytes:
        with pytest.raises(LongError, match=r"takes longer than 0\.05 seconds"):
            await pool.answer("slow", {}, line="rank")
        return await pool.answer("next", {}, line="rank")

    found, gate = run(scene, work_seconds=0.05)
    assert found == b"next" and gate.calls == ["slow", "next"]


def test_nobody_waits_for_ever_in_the_queue() -> None:
    async def scene(pool: Pool, gate: Gate) -> None:
        first = asyncio.ensure_future(pool.answer("slow", {}, line="rank"))
        await until(gate.began.is_set)
        with pytest.raises(BusyError, match=r"within 0\.05 seconds"):
            await pool.answer("next", {}, line="rank")
        with pytest.raises(BusyError, match=r"within 0\.05 seconds"):
            await first

    assert run(scene, most_seconds=0.05)[1].calls == ["slow"]


def test_work_that_nobody_waits_for_is_stopped() -> None:
    async def scene(pool: Pool, gate: Gate) -> bytes:
        older = asyncio.ensure_future(pool.answer("slow", {}, line="rank"))
        await until(gate.began.is_set)
        older.cancel()
        return await pool.answer("newer", {}, line="rank")

    found, gate = run(scene, grace_seconds=0.02)
    assert found == b"newer" and gate.stops >= 1 and gate.calls == ["slow", "newer"]


def test_what_waits_in_the_queue_for_nobody_is_never_begun() -> None:
    async def scene(pool: Pool, gate: Gate) -> bytes:
        first = asyncio.ensure_future(pool.answer("slow", {}, line="rank"))
        await until(gate.began.is_set)
        second = asyncio.ensure_future(pool.answer("second", {}, line="rank"))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        gate.open.set()
        await first
        return await pool.answer("third", {}, line="rank")

    found, gate = run(scene)
    assert found == b"third" and gate.calls == ["slow", "third"]


def test_work_that_is_asked_for_again_goes_on() -> None:
    async def scene(pool: Pool, gate: Gate) -> bytes:
        first = asyncio.ensure_future(pool.answer("slow", {}, line="rank"))
        await until(gate.began.is_set)
        first.cancel()
        again = asyncio.ensure_future(pool.answer("slow", {}, line="rank"))
        await asyncio.sleep(0.1)  # longer than the grace
        stopped = gate.stops
        gate.open.set()
        assert not stopped
        return await again

    found, gate = run(scene, grace_seconds=0.02)
    assert found == b"slow" and gate.calls == ["slow"]


def test_a_client_that_leaves_does_not_take_the_answer_from_another() -> None:
    async def scene(pool: Pool, gate: Gate) -> bytes:
        first = asyncio.ensure_future(pool.answer("slow", {}, line="quick"))
        second = asyncio.ensure_future(pool.answer("slow", {}, line="quick"))
        await until(gate.began.is_set)
        first.cancel()
        await asyncio.sleep(0.1)  # longer than the grace
        gate.open.set()
        return await second

    found, gate = run(scene, grace_seconds=0.02)
    assert found == b"slow" and gate.calls == ["slow"]


def test_a_worker_that_ends_by_itself_is_an_internal_error() -> None:
    async def scene(pool: Pool, gate: Gate) -> None:
        asked = asyncio.ensure_future(pool.answer("slow", {}, line="quick"))
        await until(gate.began.is_set)
        gate.ended.set()
        with pytest.raises(RuntimeError, match="which nobody asked for"):
            await asked

    run(scene)
