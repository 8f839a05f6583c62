"""A family: the largest delta over its members, found without a fine look at each."""

from __future__ import annotations

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.resolve import resolve
from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.families.base import PairSet

TOL = 1e-4


@pytest.mark.parametrize(
    ("spec", "n"),
    [("metric-laplace:d01=1,dmax=4", 20_000), ("metric-laplace:d01=3,dmax=3", 500), ("laplace:eps0=2", 900)],
)
def test_the_profile_is_the_largest_of_all_members(spec: str, n: int) -> None:
    mechanism = sdp.mechanism(spec)
    family = resolve(mechanism, "blanket", Crowd(1)).family
    members = family.pairs(100)
    assert isinstance(family, PairSet) and members
    eps = np.geomspace(1e-3, 0.9 * mechanism.local_epsilon, 12)
    every = [Divergence(round_, n).bracket(eps, TOL) for round_ in members]
    found = family.log_delta(eps, n=n, tol=TOL, side="upper")
    assert np.allclose(found, np.max([b.upper for b in every], axis=0), rtol=0.0, atol=1e-9)
    assert np.all(found >= np.max([b.lower for b in every], axis=0))


def test_only_the_leaders_are_looked_at_finely(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = sdp.mechanism("metric-laplace:d01=1,dmax=4")
    family = resolve(mechanism, "blanket", Crowd(1)).family
    fine: list[int] = []
    plain = Divergence.bracket

    def counted(self: Divergence, eps: np.ndarray, rtol: float) -> object:
        fine.extend([1] * len(eps) if np.all(np.asarray(rtol) <= TOL) else [])
        return plain(self, eps, rtol)

    monkeypatch.setattr(Divergence, "bracket", counted)
    eps = np.geomspace(1e-3, 0.3, 12)
    family.log_delta(eps, n=20_000, tol=TOL, side="upper")
    assert eps.size <= len(fine) <= 0.5 * eps.size * len(family.pairs(100) or ())
