"""Choosing a mechanism: CPU time of ``recommend``, all mechanisms calibrated, and how near predictions are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import shuffledp as sdp

from .rows import Row, cpu

#: Options of a histogram, and the CPU seconds that one ranking may take.
LIMITS = {16: 0.5, 500: 0.5, 10**4: 1.0, 10**6: 2.0}
#: Users and eps of a mean in [-1, 1] -> n times the squared error of Laplace noise and of the design for the shuffle
#: model; the CPU seconds of such a ranking.
MEANS = {
    (10**4, 0.1): (1.820, 1.0505),
    (10**4, 1.0): (0.2325, 0.0529),
    (10**6, 0.5): (0.0911, 0.00460),
    (10**6, 1.0): (0.0730, 0.00203),
}
MEAN_LIMIT = 0.5


def histograms() -> Iterator[Row]:
    """One round, every mechanism for options."""
    for d, limit in LIMITS.items():
        asked = partial(sdp.recommend, "histogram", n=10**6, d=d, epsilon=1.0, delta=1e-8)
        used, ranked = cpu(asked, 3), len(asked().choices)
        shown = f"{used:.2f} s, {ranked} mechanisms ranked"
        yield Row(f"`recommend` histogram, n = 1e6, d = {d:g}, eps = 1", shown, f"< {limit:g} s", used < limit)


def means() -> Iterator[Row]:
    """The first choice of one message per user, by the planner's own error."""
    for (n, epsilon), (laplace, design) in MEANS.items():
        asked = partial(sdp.recommend, "mean", n=n, epsilon=epsilon, delta=1e-8, low=-1, high=1, messages=1)
        used, best = cpu(asked, 3), asked().best
        size = n * best.error**2
        shown = f"{best.mechanism}: {size:.4g}, {laplace / size:.2g} times less than Laplace noise; {used:.2f} s"
        kept = size <= 1.03 * design and used < MEAN_LIMIT and 0.9995 * epsilon <= best.epsilon <= epsilon
        wanted = f"<= {design:g} + 3 %, < {MEAN_LIMIT:g} s"
        yield Row(f"`recommend` mean in [-1, 1], n = {n:g}, eps = {epsilon:g}: n x error^2", shown, wanted, kept)


def others() -> Iterator[Row]:
    """Other targets and tasks."""
    for what, asked in (
        ("histogram, d = 500, error = 1e-4", partial(sdp.recommend, "histogram", d=500, error=1e-4)),
        ("range, d = 256", partial(sdp.recommend, "range", d=256, epsilon=1.0)),
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
    yield from means()
    yield from others()
