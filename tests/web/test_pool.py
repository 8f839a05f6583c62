"""Answers are kept, asked for once at a time, and never queued without limit."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from shuffledp.web.pool import BusyError, Pool


def test_the_same_question_is_computed_once() -> None:
    calls: list[int] = []

    def work() -> bytes:
        calls.append(1)
        time.sleep(0.05)
        return b"answer"

    async def ask() -> list[bytes]:
        pool = Pool()
        found = await asyncio.gather(*(pool.answer("key", work) for _ in range(20)))
        found.append(await pool.answer("key", work))
        pool.close()
        return list(found)

    assert asyncio.run(ask()) == [b"answer"] * 21 and len(calls) == 1


def test_errors_and_unfinished_answers_are_not_kept() -> None:
    calls: list[int] = []

    def work() -> bytes:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("no")
        return b"part" if len(calls) == 2 else b"whole"

    async def ask() -> list[bytes]:
        pool = Pool()
        with pytest.raises(ValueError, match="no"):
            await pool.answer("key", work)
        found = [await pool.answer("key", work, keep=lambda content: content == b"whole") for _ in range(3)]
        pool.close()
        return found

    assert asyncio.run(ask()) == [b"part", b"whole", b"whole"] and len(calls) == 3


def test_a_full_queue_says_so_and_recovers() -> None:
    gate = threading.Event()

    def work() -> bytes:
        gate.wait(10)
        return b""

    async def ask() -> None:
        pool = Pool(most_waiting=2)
        first = [asyncio.ensure_future(pool.answer(k, work)) for k in range(2)]
        await asyncio.sleep(0.01)
        with pytest.raises(BusyError):
            await pool.answer("third", work)
        gate.set()
        await asyncio.gather(*first)
        assert await pool.answer("third", work) == b""
        pool.close()

    asyncio.run(ask())


def test_a_long_answer_holds_up_no_short_one() -> None:
    gate = threading.Event()

    async def ask() -> bytes:
        pool = Pool()
        slow = asyncio.ensure_future(pool.answer("slow", lambda: b"slow" if gate.wait(10) else b"", line="slow"))
        quick = await pool.answer("quick", lambda: b"quick")
        gate.set()
        await slow
        pool.close()
        return quick

    assert asyncio.run(ask()) == b"quick"


def test_a_client_that_leaves_does_not_take_the_answer_from_another() -> None:
    gate = threading.Event()

    async def ask() -> bytes:
        pool = Pool()
        first = asyncio.ensure_future(pool.answer("key", lambda: b"answer" if gate.wait(10) else b""))
        second = asyncio.ensure_future(pool.answer("key", lambda: b"never"))
        await asyncio.sleep(0.01)
        first.cancel()
        gate.set()
        found = await second
        pool.close()
        return found

    assert asyncio.run(ask()) == b"answer"
