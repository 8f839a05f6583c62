"""The smallest of several analyses, for many rows."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.accounting.resolve import subject_of
from shuffledp.numerics.families import pool
from shuffledp.numerics.families.smallest import Smallest

TOL = 1e-4


def crowd(n: list[float]) -> np.ndarray:
    return np.array(n, dtype=np.float64)


@pytest.mark.parametrize("spec", ["general:eps0=1", "subset:eps0=2,d=16", "unary:eps0=4,d=8"])
def test_every_row_is_answered_as_one(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FEW_ROWS", 1)
    family = subject_of(spec).family(subject_of(spec).bound("auto"))
    assert isinstance(family, Smallest)
    n, delta = crowd([2, 20, 300, 5000, 1e6, 1e9, 1e4]), np.array([1e-5] * 6 + [0.5])
    found = pool.epsilons([family] * n.size, n=n, delta=delta, tol=TOL, side="upper")
    for answer, users, target in zip(found, n, delta, strict=True):
        alone = family.epsilon(n=int(users), delta=float(target), tol=TOL, side="upper")
        assert answer.epsilon == pytest.approx(alone.epsilon, rel=2 * TOL)
        # of two analyses within the tolerance either may be named; the one that is named gives the answer
        named = family.families[answer.bound].epsilon(n=int(users), delta=float(target), tol=TOL, side="upper")
        assert answer.epsilon == pytest.approx(named.epsilon, rel=2 * TOL)
        assert answer.bound == alone.bound or named.epsilon == pytest.approx(alone.epsilon, rel=2 * TOL)
