"""The swap bound of a matrix at many eps is that at single ones, and asks for little memory at a time."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.families import swap_curves
from shuffledp.numerics.families.swap import Curve, SwapSet
from shuffledp.numerics.families.swap_curves import ChunkedCurve
from shuffledp.numerics.families.swap_matrix import SwapMatrix, _every_pair

from .test_swap_moments import shaped


@pytest.mark.parametrize("name", ["random", "tiny", "band"])
def test_many_eps_are_as_single_pairs(name: str) -> None:
    rows = shaped(name, 5)
    eps = np.linspace(0.0, 0.5, 40)
    mine = SwapMatrix(rows).log_delta(eps, n=3000, tol=1e-3, side="upper")
    theirs = SwapSet(_every_pair(rows)).log_delta(eps, n=3000, tol=1e-3, side="upper")
    if 3000 * SwapMatrix(rows).common_mass < 25.0:
        assert np.all(mine == 0.0)  # no claim
    else:
        assert np.all(mine >= theirs - 2e-3) and np.all(mine <= np.maximum(theirs, -750.0) + 0.03)


def test_curves_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = SwapMatrix(shaped("random", 1))
    pair = matrix.member(0, 1)
    eps = np.linspace(0.01, 0.2, 25)
    whole = Curve(pair, 2000, 1e-4).bracket(eps, 1.0)
    monkeypatch.setattr(swap_curves, "_CELLS", 4 * 30)
    for part, want in zip(ChunkedCurve(pair, 2000, 1e-4).bracket(eps, 1.0), whole, strict=True):
        assert part == pytest.approx(want, rel=1e-9)


def test_screens_are_upper_values() -> None:
    matrix = SwapMatrix(shaped("random", 8))
    curves = swap_curves.SwapCurves(matrix, 2000, 1e-5)
    order = curves.order()
    values = np.array([curves.curve(int(p)).bracket(np.array([0.05]), 1.0).upper[0] for p in order])
    found = curves.screened(order, 0.05, float(values.max()) - 3.0, float(values.max()))
    assert np.all(found >= values - 2e-3) and np.isinf(found[values.argmax()])
