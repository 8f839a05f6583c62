"""Laws as rows of arrays, each with its own n and eps."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.evaluators import contour
from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.many.laws import Laws
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
THREE = ShuffledPair(P0=[0.6, 0.1, 0.3], P1=[0.1, 0.6, 0.3], t=[0.1, 0.1, 0.3])


def crowd(n: list[float]) -> np.ndarray:
    return np.array(n, dtype=np.float64)


def test_the_contour_with_one_law_per_row_is_the_contour() -> None:
    eps = np.array([0.01, 0.02, 0.005])
    n = crowd([1e5, 3e4, 1e6])
    for pair in (COIN, THREE):
        atoms = pair.atoms
        values, v = atoms.values(eps), np.broadcast_to(atoms.v, (3, atoms.v.size))
        rtol = np.full(3, 1e-3)
        same = contour.log_bracket(values, v, atoms.t, n, rtol)
        rows = contour.log_bracket(values, v, np.tile(atoms.t, (3, 1)), n, rtol)
        for a, b in zip(same, rows, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_laws_of_different_width_do_not_disturb_each_other() -> None:
    eps, n = np.array([0.03, 0.03, 0.1]), crowd([1e4, 1e4, 2e3])
    which = np.array([0, 1, 1])
    for side in ("upper", "lower"):
        found = Laws.of([COIN, THREE], which, n, side).at(np.arange(3), eps, np.full(3, 1e-3))
        for i, pair in enumerate([COIN, THREE, THREE]):
            bracket = Divergence(pair, int(n[i]), side).bracket(eps[i : i + 1], 1e-3)
            expected = bracket.upper[0] if side == "upper" else bracket.lower[0]
            assert found.value[i] == pytest.approx(expected, abs=3e-3)
        assert found.narrow.all()


def test_rows_that_would_take_many_nodes_make_no_claim() -> None:
    values = COIN.atoms.values(np.array([0.1]))
    args = (values, COIN.atoms.v, COIN.atoms.t, 1000, np.array([1e-3]))
    assert contour.log_bracket(*args, most_nodes=1.0).upper[0] == np.inf
    assert contour.log_bracket(*args, most_nodes=1.0).lower[0] == -np.inf
    assert contour.log_bracket(*args, most_nodes=1e5).upper[0] < 0.0
