from collections.abc import Callable
from typing import Any

import numpy as np

from contract.cases import Case
from shuffledp.mechanisms.numeric.binomial import Binomial
from shuffledp.mechanisms.numeric.duchi import Duchi
from shuffledp.mechanisms.numeric.gaussian import Gaussian
from shuffledp.mechanisms.numeric.harmony import Harmony
from shuffledp.mechanisms.numeric.hybrid import Hybrid
from shuffledp.mechanisms.numeric.laplace import Laplace
from shuffledp.mechanisms.numeric.privunit import PrivUnit
from shuffledp.mechanisms.numeric.window import Levels, Piecewise, Window
from shuffledp.mechanisms.numeric.window_vector import WindowVector


def scalars(n: int) -> tuple[Any, Any]:
    """Users between 0.2 and 0.9, off the grid."""
    values = 0.2 + 0.7 * np.arange(n) / n
    return values, values.mean(keepdims=True)


def between(low: float, high: float) -> Callable[[int], tuple[Any, Any]]:
    """The same on another range."""

    def data(n: int) -> tuple[Any, Any]:
        values = low + (high - low) * scalars(n)[0]
        return values, values.mean(keepdims=True)

    return data


def vectors(dim: int) -> Callable[[int], tuple[Any, Any]]:
    """Coordinate j near a value of its own between -0.9 and 0.9."""

    def data(n: int) -> tuple[Any, Any]:
        center = np.linspace(-0.9, 0.9, dim) if dim > 1 else np.array([0.3])
        values = center + 0.1 * np.sin(np.arange(n))[:, None]
        return values, values.mean(axis=0)

    return data


def directions(dim: int) -> Callable[[int], tuple[Any, Any]]:
    """Unit vectors around one direction."""

    def data(n: int) -> tuple[Any, Any]:
        values = np.arange(1.0, dim + 1) + 0.3 * np.sin(np.arange(n)[:, None] * np.arange(1, dim + 1))
        values /= np.linalg.norm(values, axis=1, keepdims=True)
        return values, values.mean(axis=0)

    return data


# The matrix of Laplace has 1025 columns: its law is checked on coarser grids in tests/mechanisms/test_numeric.py
CASES = [
    *(Case(Laplace(eps0=e), scalars, same_law=False) for e in (0.5, 1.0, 3.0)),
    *(Case(Duchi(eps0=e, dim=d), vectors(d)) for e, d in ((1.0, 1), (0.5, 2), (1.0, 3))),
    # from dim 4 on the lower bound is better than that of the matrix, which looks at fewer datasets
    *(Case(Duchi(eps0=e, dim=d), vectors(d), same_law=False) for e, d in ((2.0, 4), (3.0, 5))),
    *(Case(Harmony(eps0=e, dim=d), vectors(d)) for e, d in ((1.0, 1), (0.5, 2), (2.0, 3), (4.0, 5))),
    *(
        Case(PrivUnit(eps0=e, dim=d, cap=c), directions(d), enumerable=False, same_law=False)
        for e, d, c in ((1.0, 2, None), (2.0, 3, None), (4.0, 20, None), (1.0, 5, 0.05), (2.0, 4, 0.7))
    ),
    # the matrix of more than 8 inputs or 64 cells tries fewer datasets, as it does for FiniteRandomizer itself
    *(
        Case(Gaussian(sigma=s, low=low, high=high, inputs=k, edges=e), between(low, high))
        for s, low, high, k, e in (
            (1.0, 0.0, 1.0, 2, 4),
            (0.5, 0.0, 1.0, 3, 8),
            (2.0, -1.0, 3.0, 5, 16),
            (1.0, -1.0, 1.0, 2, (-1.5, 0.0, 0.5, 2.0)),
        )
    ),
    # GRR's law, which that of a small matrix agrees with (tests/mechanisms/test_window.py: of larger ones too)
    *(Case(Window(eps0=e, d=d, cells=b), between(-1.0, 1.0)) for e, d, b in ((1.0, 3, 2), (3.0, 3, 1), (2.0, 4, 2))),
    # as of Duchi, the lower bound is better than that of the matrix
    *(
        Case(WindowVector(eps0=e, dim=k, d=d, cells=b), vectors(k), same_law=False)
        for e, k, d, b in ((1.0, 2, 3, 1), (2.0, 2, 3, 2), (1.5, 3, 4, 1))
    ),
    *(Case(Levels(eps0=e, d=d), between(-1.0, 1.0)) for e, d in ((1.0, 2), (3.0, 4))),
    *(Case(m, between(-1.0, 1.0), same_law=False) for m in (Window(eps0=5.0), Piecewise(eps0=2.0), Hybrid(eps0=3.0))),
    *(
        Case(Binomial(flips=n, stretch=b, shape=t, noise=g, inputs=k), between(-1.0, 1.0))
        for n, b, t, g, k in ((2, 1.159, 0.15, 0.5217, 3), (1, 1.0, 0.5, 0.2, 2), (4, 1.2, 0.33, 0.28, 5))
    ),
]
