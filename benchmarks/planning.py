"""Choosing a mechanism: CPU time of ``recommend``, all mechanisms calibrated, and how near predictions are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import shuffledp as sdp

from .rows import Row, cpu

#: Options of a histogram, and the CPU seconds that one ranking may take.
LIMITS = {16: 0.5, 500: 0.5, 10**4: 1.0, 10**6: 2.0}


def histograms() -> Iterator[Row]:
    """One round, every mechanism for options."""
    for d, limit in LIMITS.items():
        asked = partial(sdp.recommend, "histogram", n=10**6, d=d, epsilon=1.0, delta=1e-8)
        used, ranked = cpu(asked, 3), len(asked().choices)
        shown = f"{used:.2f} s, {ranked} mechanisms ranked"
        yield Row(f"`recommend` histogram, n = 1e6, d = {d:g}, eps = 1", shown, f"< {limit:g} s", used < limit)


def others() -> Iterator[Row]:
    """Other targets and tasks."""
    for what, asked in (
        ("histogram, d = 500, error = 1e-4", partial(sdp.recommend, "histogram", d=500, error=1e-4)),
        ("range, d = 256", partial(sdp.recommend, "range", d=256, epsilon=1.0)),
        ("mean", partial(sdp.recommend, "mean", epsilon=1.0)),
        ("sets, d = 1000, size = 10", partial(sdp.recommend, "sets", d=1000, size=10, epsilon=1.0)),
    ):
        used = cpu(partial(asked, n=10**6, delta=1e-8), 1)
        yield Row(f"`recommend` {what}, n = 1e6", f"{used:.2f} s", "", None)
    start = time.process_time()
    found = sdp.recommend("histogram", n=970_000, d=64, epsilon=1.0, delta=1e-8, rounds=13)
    used = time.process_time() - start
    shown = f"{used:.1f} s; eps of the best {found.best.epsilon:.4f}"
    yield Row("`recommend` histogram, d = 64, 13 rounds", shown, "", None)


def rows() -> Iterator[Row]:
    """All of them."""
    yield from histograms()
    yield from others()
