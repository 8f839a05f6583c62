"""The swap bound of many rows against one row at a time."""

from __future__ import annotations

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.numerics import solve as single
from shuffledp.numerics.families import swap as one_swap
from shuffledp.numerics.families import swap_many

TOL = 1e-4


def crowd(n: list[float]) -> np.ndarray:
    return np.array(n, dtype=np.float64)


@pytest.mark.parametrize("spec", ["general:eps0=1", "subset:eps0=2,d=16", "grr:eps0=1,d=2", "general:eps0=4"])
def test_the_swap_bound_of_many_rows(spec: str) -> None:
    m = sdp.mechanism(spec)
    try:
        family = m.law.swap()
    except sdp.BoundNotApplicableError:
        from shuffledp.bounds import BOUNDS

        family = BOUNDS["swap-general"].family(m)
    members = family.members(99)
    n = crowd([1, 2, 30, 500, 1e4, 1e6, 1e9])
    for delta in (1e-5, 1e-10):
        found = swap_many.epsilons([members] * n.size, n=n, delta=np.full(n.size, delta), tol=TOL)
        logs = swap_many.log_deltas([members] * n.size, found, n=n, tol=1e-2)
        for i in range(n.size):
            alone = one_swap.largest_epsilon(members, n=int(n[i]), delta=delta, tol=TOL)
            assert found[i] == pytest.approx(alone, rel=2 * TOL)
            curve = max(one_swap.Curve(x, int(n[i]), TOL).log_upper(found[i : i + 1])[0] for x in members)
            limit = single.log_up(max(x.max_ratio for x in members))
            assert curve <= np.log(delta) + 1e-6 or found[i] == limit
            assert logs[i] == pytest.approx(curve, abs=0.02) or found[i] == limit
