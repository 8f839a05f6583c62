"""The law that dominates every type: E(Y - a)_+ is at least that of each of them, at every a, and nearly the least."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.families.swap_join import join
from shuffledp.numerics.pair import FloatArray


def calls(x: FloatArray, t: FloatArray, a: float) -> float:
    """E(X - a)_+, the value 0 taking what is left of the mass."""
    return float(np.maximum(x - a, 0.0) @ t + max(1.0 - t.sum(), 0.0) * max(-a, 0.0))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("types", [1, 2, 6])
def test_dominates_every_type_at_every_point(seed: int, types: int) -> None:
    rng = np.random.default_rng(seed)
    t = rng.dirichlet(np.ones(4), types) * (1.0 - 1e-13)
    x = rng.normal(0.0, 1.0, (types, 4))
    if seed % 2:
        x[:, 0] = x[0, 0]  # values that coincide
    y, mass = join(x[None], t[None])
    assert np.all(mass >= 0.0) and float(mass.sum()) <= 1.0
    for a in [*y[0].tolist(), *x.ravel().tolist(), *rng.normal(0.0, 2.0, 20).tolist()]:
        largest = max(calls(x[k], t[k], a) for k in range(types))
        assert calls(y[0], mass[0], a) >= largest - 1e-15
    span = float(y.max() - y.min())
    for a in x.ravel().tolist():  # the least such law: equal at the values themselves
        largest = max(calls(x[k], t[k], a) for k in range(types))
        assert calls(y[0], mass[0], a) <= largest + 1e-6 * span
