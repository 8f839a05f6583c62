"""M(c + iy), with an error that covers the exact value."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from shuffledp.numerics.evaluators import swap_nodes
from shuffledp.numerics.evaluators.swap_moduli import from_growth, moduli, raised


def _exact(x: np.ndarray, t: np.ndarray, z: mpmath.mpc) -> mpmath.mpc:
    """M - 1, the mass that is left having X = 0."""
    return mpmath.fsum(mpmath.mpf(w) * mpmath.expm1(z * mpmath.mpf(v)) for v, w in zip(x, t, strict=True))


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize(("scale", "c"), [(1.0, 0.7), (1e-4, 30.0), (3.0, 2.0)])
def test_the_error_covers_the_exact_value(products: bool, scale: float, c: float, monkeypatch) -> None:
    monkeypatch.setattr(swap_nodes, "pays", lambda rows, nodes, values: products)
    rng = np.random.default_rng(int(10 * c))
    x, t = scale * rng.normal(size=(2, 6)), rng.dirichlet(np.ones(6), 2)
    y = (1.7 / scale) * np.arange(9) / 9.0 * np.ones((2, 1))
    found = moduli(x, t, np.full(2, c), y)
    top = raised(found.log_modulus, found.modulus, found.doubt)
    with mpmath.workdps(50):
        for row in range(2):
            for k in range(9):
                exact = _exact(x[row], t[row], mpmath.mpc(c, y[row, k]))
                assert abs(exact - mpmath.mpc(complex(found.growth[row, k]))) <= found.doubt[row, k] + 1e-18
                assert mpmath.log(abs(1 + exact)) <= mpmath.mpf(float(top[row, k])) + mpmath.mpf(2) ** -52
                assert found.doubt[row, k] <= 1e-9 * float(found.modulus[row].max())


def test_small_moduli_do_not_cancel() -> None:
    growth = np.array([[-1.0 + 1e-9 + 0j, 1e-12 + 0j, 0j]])
    found = from_growth(growth, np.zeros((1, 3)))
    assert found.modulus[0, 0] == pytest.approx(1e-9, rel=1e-6) and found.log_modulus[0, 1] == pytest.approx(1e-12)
    assert found.log_modulus[0, 2] == 0.0
