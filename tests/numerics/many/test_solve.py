"""The inversion of many curves: an answer was checked at itself, and what does not settle stays open."""

from __future__ import annotations

import numpy as np

from shuffledp.numerics.many.guess import Guesses
from shuffledp.numerics.many.laws import Found
from shuffledp.numerics.many.solve import solve

TOL = 1e-4


class Lines:
    """log delta = top - slope eps; rows in ``vague`` are never narrow."""

    side = "upper"

    def __init__(self, top: np.ndarray, slope: np.ndarray, vague: np.ndarray) -> None:
        self.top, self.slope, self.vague = top, slope, vague
        self.seen: list[tuple[int, float]] = []

    def at(self, rows: np.ndarray, eps: np.ndarray, rtol: np.ndarray) -> Found:
        self.seen += zip(rows.tolist(), eps.tolist(), strict=True)
        value = self.top[rows] - self.slope[rows] * eps
        return Found(value, value, self.slope[rows], ~self.vague[rows])


def test_answers_were_looked_at_and_are_safe() -> None:
    top, slope = np.array([-1.0, -2.0, -3.0, -1.0]), np.array([10.0, 3.0, 50.0, 4.0])
    curves = Lines(top, slope, np.array([False, False, False, True]))
    log_delta, limit = np.full(4, -12.0), np.full(4, 9.0)
    roots = solve(curves, log_delta, limit=limit, tol=TOL, guess=Guesses(np.full(4, 0.7), np.full(4, 5.0)))
    assert roots.open.tolist() == [False, False, False, True]
    for i in range(3):
        assert (i, roots.epsilon[i]) in curves.seen
        true = (top[i] - log_delta[i]) / slope[i]
        assert true <= roots.epsilon[i] <= true * (1.0 + TOL)


def test_nothing_safe_leaves_the_limit() -> None:
    curves = Lines(np.array([5.0]), np.array([1e-3]), np.array([False]))
    guess = Guesses(np.full(1, 0.5), np.full(1, 1.0))
    roots = solve(curves, np.array([-30.0]), limit=np.array([2.0]), tol=TOL, guess=guess)
    assert roots.open[0] or roots.epsilon[0] == 2.0
