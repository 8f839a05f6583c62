"""Many rounds together, and an audit."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import shuffledp as sdp

from .rows import Row, cpu


def _composed(accountant: sdp.Accountant) -> float:
    return accountant.epsilon(delta=1e-6)


def _different(rounds: int) -> sdp.Accountant:
    accountant = sdp.Accountant()
    for i in range(rounds):
        accountant.compose(sdp.GRR(eps0=1.0 + i / rounds, d=16), n=10_000 + 7 * i)
    return accountant


def rows() -> Iterator[Row]:
    """All of them."""
    same = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=1000)
    for name, make in (("1,000 equal rounds", lambda: same), ("1,000 different rounds", lambda: _different(1000))):
        spent = cpu(lambda make=make: _composed(make()), 1)
        yield Row(f"`Accountant.epsilon`, {name}", f"{spent:.2f} s", "< 1 s", spent < 1)
    random = np.random.default_rng(0)

    def leaky(value: int) -> np.ndarray:
        bits = random.random(100) < 0.27
        bits[value] = True  # the true bit is never flipped
        return bits

    start = time.process_time()
    found = sdp.audit(leaky, inputs=range(6), eps0=2.0)
    spent = time.process_time() - start
    yield Row(
        "`audit`: a unary encoder that never flips the true bit, d = 100",
        f"{'found' if found.violated else 'NOT found'} in {spent:.1f} s (eps0 >= {found.lower:.1f}, claimed 2)",
        "< 10 s",
        found.violated and spent < 10,
    )
