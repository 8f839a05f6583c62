"""Work on threads: results in order, the first failure raised, and nothing left running."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import shuffledp as sdp
from shuffledp._support.threads import in_order, thread_count


def ours() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("shuffledp")]


@pytest.mark.parametrize("threads", [1, 2, 3, 50])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
def test_results_are_in_order(threads: int, count: int) -> None:
    def work(i: int) -> int:
        time.sleep(0.001 * (i % 3))
        return i * i

    assert list(in_order(work, count, threads)) == [i * i for i in range(count)]
    assert not ours()


def test_several_threads_do_the_work_and_few_results_wait() -> None:
    seen, running, done = set(), threading.Barrier(3, timeout=10), []

    def work(i: int) -> int:
        if i < 3:
            running.wait()  # three at once, or a timeout
        seen.add(threading.current_thread().name)
        done.append(i)
        return i

    results = in_order(work, 40, 3)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(done) <= 1 + 3 + 3, "pieces are not begun long before their results are taken"
    assert list(results) == list(range(1, 40)) and len(seen) == 3


@pytest.mark.parametrize("error", [ValueError("one"), KeyboardInterrupt(), SystemExit(3)])
def test_a_failure_ends_all_threads(error: BaseException) -> None:
    begun: list[int] = []

    def work(i: int) -> int:
        begun.append(i)
        if i >= 5:
            raise error
        return i

    with pytest.raises(type(error)):
        list(in_order(work, 1000, 2))
    assert not ours() and len(begun) < 20


def test_an_interrupt_of_the_caller_ends_all_threads() -> None:
    def use() -> None:
        results = in_order(lambda i: i, 1000, 2)
        try:
            for i in results:
                if i == 3:
                    raise KeyboardInterrupt
        finally:
            results.close()

    with pytest.raises(KeyboardInterrupt):
        use()
    assert not ours()


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True, float("nan"), 10**9])
def test_bad_numbers_of_threads_in_one_sentence(bad: Any) -> None:
    m = sdp.GRR(eps0=1.0, d=4)
    reports = m.privatize([0, 1, 2])
    for call in (
        lambda: thread_count(bad),
        lambda: m.privatize([0], threads=bad),
        lambda: m.privatize_counts([0], threads=bad),
        lambda: m.estimate(reports, threads=bad),
        lambda: m.estimate(m.tally(reports), threads=bad),
        lambda: m.tally(reports, threads=bad),
        lambda: reports.shuffled(threads=bad),
    ):
        with pytest.raises(sdp.ParameterError, match=r"^threads must") as error:
            call()
        assert "\n" not in str(error.value) and str(error.value).endswith(".")
