"""Collecting on all cores: users per second, beside plain numpy on one core, and what a second thread adds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import shuffledp as sdp
from shuffledp._support.threads import thread_count

from . import plain

D, EPS0, N = 128, 2.0, 1_000_000
Row = tuple[str, str, str, bool]


class Work(NamedTuple):
    """A mechanism, its values, the same in plain numpy, and how many million users a second two idle cores must do.

    ``least`` is the wanted ratio to plain numpy; noise in floating point, which is not private, is hard to beat.
    """

    mechanism: Any
    values: Any
    plain: Callable[..., Any]
    wanted: float
    least: float = 1.0


def _works() -> list[Work]:
    rng = np.random.default_rng(0)
    items = rng.integers(0, D, N)
    pairs = np.stack([items, (items + 1 + rng.integers(0, D - 1, N)) % D], axis=1)
    vectors = rng.standard_normal((N // 2, 10))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        Work(sdp.GRR(eps0=EPS0, d=D), np.tile(items, 16), plain.grr, 120.0),
        Work(sdp.Unary(eps0=EPS0, d=D), np.tile(items, 2), plain.unary, 20.0),
        Work(sdp.Subset(eps0=EPS0, d=D), items, plain.subset, 10.0),
        Work(sdp.Laplace(eps0=EPS0), rng.random(4 * N), plain.laplace, 30.0, 0.4),
        Work(sdp.CheuZhilyaev(flip=0.1, d=D, messages=1), items, plain.cheu_zhilyaev, 6.0),
        Work(sdp.Wheel(eps0=EPS0, d=D, s=2), pairs[: N // 2], plain.wheel, 5.0),
        Work(sdp.PrivUnit(eps0=EPS0, dim=10), vectors, plain.privunit, 3.0),
    ]


def _best(call: Callable[[], Any], clock: Callable[[], float], repeat: int) -> float:
    """The shortest of several runs: the least disturbed by the machine."""
    times = []
    for _ in range(repeat):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def rows() -> list[Row]:
    """(what, measured, wanted, reached); wall time on all cores, CPU time beside plain numpy on one."""
    found: list[Row] = []
    for m, values, reference, wanted, least in _works():
        users = len(values) / 1e6

        def run(threads: int | None, m: Any = m, values: Any = values) -> Any:
            return m.estimate(m.privatize(values, threads=threads), threads=threads)

        run(None)
        one = _best(lambda run=run: run(1), time.process_time, 3)
        sample = values[: N // 10]
        theirs = _best(lambda m=m, r=reference, v=sample: r(m, v), time.process_time, 2) * len(values) / len(sample)
        walls = [_best(lambda run=run, k=k: run(k), time.perf_counter, 4) for k in (1, 2, None)]
        name = f"{m.spec}: privatize + estimate"
        rate, gain, ratio = users / walls[2], walls[0] / walls[1], theirs / one
        found += [
            (f"{name}, all cores", f"{rate:.1f}M users/s", f">= {wanted:g}M", rate >= wanted),
            (
                f"{name}, one core / plain numpy",
                f"{ratio:.1f}x ({users / one:.1f}M/s)",
                f">= {least:g}",
                ratio >= least,
            ),
        ]
        if thread_count(None) > 1:
            found.append((f"{name}, two threads / one", f"{gain:.2f}x", ">= 1.6", gain >= 1.6))
    return found


if __name__ == "__main__":
    for what, measured, wished, reached in rows():
        print(f"{'yes' if reached else 'NO ':3} {what:70} {measured:24} {wished}")
