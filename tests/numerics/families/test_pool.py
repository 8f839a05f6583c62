"""Rows of one kind are answered together, the others one by one."""

from __future__ import annotations

import numpy as np

from shuffledp.numerics.families import pool
from shuffledp.numerics.families.base import PairSet
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
TOL = 1e-4


def test_a_subclass_that_answers_in_its_own_way_is_asked() -> None:
    class Fixed(PairSet):
        def epsilon(self, **terms: object):  # type: ignore[no-untyped-def, override]
            return super().epsilon(**terms)._replace(epsilon=7.0)  # type: ignore[arg-type]

    count = 3 * pool.FEW_ROWS
    families = [Fixed([COIN]), PairSet([COIN])] * (count // 2)
    n = np.full(count, 1000.0)
    found = pool.epsilons(families, n=n, delta=np.full(count, 1e-6), tol=TOL, side="upper")
    assert {a.epsilon for a in found[::2]} == {7.0}
    assert all(0.16 < a.epsilon < 0.18 for a in found[1::2])
