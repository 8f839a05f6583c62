"""Answers are kept, asked for once at a time, and never queued without limit."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping

import pytest

from shuffledp.web.pool import BusyError, Pool


def test_the_same_question_is_computed_once() -> None:
    calls: list[str] = []

    def work(path: str, given: Mapping[str, str]) -> bytes:
        calls.append(path)
        time.sleep(0.05)
        return b"answer"

    async def ask() -> list[bytes]:
        pool = Pool(work)
        found = await asyncio.gather(*(pool.answer("a", {"x": "1", "y": "2"}, line="quick") for _ in range(20)))
        found.append(await pool.answer("a", {"y": "2", "x": "1"}, line="quick"))
        pool.close()
        return list(found)

    assert asyncio.run(ask()) == [b"answer"] * 21 and len(calls) == 1


def test_errors_and_unfinished_answers_are_not_kept() -> None:
    calls: list[str] = []

    def work(path: str, given: Mapping[str, str]) -> bytes:
        calls.append(path)
        if len(calls) == 1:
            raise ValueError("no")
        return b"part" if len(calls) == 2 else b"whole"

    async def ask() -> list[bytes]:
        pool = Pool(work)
        with pytest.raises(ValueError, match="no"):
            await pool.answer("a", {}, line="quick")
        found = [await pool.answer("a", {}, line="quick", keep=lambda found: found == b"whole") for _ in range(3)]
        pool.close()
        return found

    assert asyncio.run(ask()) == [b"part", b"whole", b"whole"] and len(calls) == 3


class Gate:
    """Work that waits until it is let through."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, path: str, given: Mapping[str, str]) -> bytes:
        if path.startswith("slow"):
            self.open.wait(10)
        return path.encode()


def test_a_full_queue_says_so_and_recovers() -> None:
    gate = Gate()

    async def ask() -> None:
        pool = Pool(gate, most_waiting=2)
        first = [asyncio.ensure_future(pool.answer(f"slow{k}", {}, line="quick")) for k in range(2)]
        await asyncio.sleep(0.01)
        with pytest.raises(BusyError, match="too many questions"):
            await pool.answer("third", {}, line="quick")
        gate.open.set()
        await asyncio.gather(*first)
        assert await pool.answer("third", {}, line="quick") == b"third"
        pool.close()

    asyncio.run(ask())


def test_a_long_answer_holds_up_no_short_one() -> None:
    gate = Gate()

    async def ask() -> bytes:
        pool = Pool(gate)
        slow = asyncio.ensure_future(pool.answer("slow", {}, line="slow"))
        quick = await pool.answer("quick", {}, line="quick")
        gate.open.set()
        await slow
        pool.close()
        return quick

    assert asyncio.run(ask()) == b"quick"


def test_nobody_waits_for_ever() -> None:
    gate = Gate()

    async def ask() -> None:
        pool = Pool(gate, most_seconds=0.05)
        with pytest.raises(BusyError, match="takes longer than"):
            await pool.answer("slow", {}, line="slow")
        gate.open.set()
        pool.close()

    asyncio.run(ask())


def test_a_client_that_leaves_does_not_take_the_answer_from_another() -> None:
    gate = Gate()

    async def ask() -> bytes:
        pool = Pool(gate)
        first = asyncio.ensure_future(pool.answer("slow", {}, line="quick"))
        second = asyncio.ensure_future(pool.answer("slow", {}, line="quick"))
        await asyncio.sleep(0.01)
        first.cancel()
        gate.open.set()
        found = await second
        pool.close()
        return found

    assert asyncio.run(ask()) == b"slow"
