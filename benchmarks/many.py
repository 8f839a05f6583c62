"""Many answers in one call: 1,000 answers as arrays of n or delta, and sweeps of 1,000 points."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import shuffledp as sdp

from .rows import Row, compared, cpu

ROWS = 1000
MECHANISMS = {
    "general:eps0=1": ("variation-ratio", "auto"),
    "grr:eps0=2,d=64": ("blanket", "variation-ratio", "auto"),
    "subset:eps0=2,d=64": ("blanket", "variation-ratio", "auto"),
}
#: From few users on, and up to where eps reaches 0 (delta(0) is about 1e-3 here).
USERS, DELTAS = np.floor(np.geomspace(1e2, 1e12, ROWS)), np.geomspace(1e-15, 1e-3, ROWS)


def answers() -> Iterator[Row]:
    """One call with an array."""
    for spec, bounds in MECHANISMS.items():
        for bound in bounds:
            asked = partial(sdp.amplify, spec, bound=bound)
            for axis, terms in (
                ("n = 1e2 to 1e12", {"n": USERS, "delta": 1e-8}),
                ("delta = 1e-15 to 1e-3", {"n": 10**6, "delta": DELTAS}),
            ):
                spent = cpu(partial(asked, **terms), 3)
                yield compared.row(f"1,000 answers, {spec}, {bound}, {axis}", spent, 1.5)


def sweeps() -> Iterator[Row]:
    """One bound along one axis."""
    users, deltas = np.floor(np.geomspace(1e3, 1e9, ROWS)).astype(int).tolist(), DELTAS.tolist()
    budgets = np.linspace(0.1, 5.0, ROWS).tolist()
    for spec, bound, axis, terms in (
        ("grr:eps0=2,d=64", "blanket", "n", {"n": users}),
        ("grr:eps0=2,d=64", "swap", "n", {"n": users}),
        ("subset:eps0=2,d=64", "blanket", "delta", {"delta": deltas}),
        ("general", "general", "eps0", {"eps0": budgets}),
        ("grr:d=64", "blanket", "eps0", {"eps0": budgets}),
        ("subset:d=64", "blanket", "eps0", {"eps0": budgets}),
    ):
        spent = cpu(partial(sdp.sweep, spec, bounds=[bound], **{"n": 10**6, "delta": 1e-8, **terms}), 3)
        yield compared.row(f"sweep of 1,000 points, {spec}, {bound}, over {axis}", spent, 1.5)


def rows() -> Iterator[Row]:
    """All of them."""
    yield from answers()
    yield from sweeps()
