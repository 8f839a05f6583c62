"""The leading curve at many eps is that of every curve at every eps."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.families.base import PairSet, both_directions
from shuffledp.numerics.families.leaders import Listed, largest
from shuffledp.numerics.pair import ShuffledPair


def pairs(seed: int, count: int, zeros: bool = False) -> list[ShuffledPair]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        p0, p1 = rng.dirichlet(np.full(4, 5.0), size=2)
        t = 0.8 * np.minimum(p0, p1) * rng.random(4)
        if zeros:
            t[rng.integers(4)] = 0.0
        found += both_directions(ShuffledPair(p0, p1, t))
    return found


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("n", [40, 3000])
def test_no_curve_is_lost(n: int, zeros: bool) -> None:
    members = pairs(n, 12, zeros)
    curves = [Divergence(pair, n) for pair in members]
    eps = np.concatenate([np.linspace(0.0, 1.2, 90), [0.3, 3.0, 80.0]])
    found = largest(Listed(curves), eps, 1e-4)
    upper = np.max([c.bracket(eps, 1e-4).upper for c in curves], axis=0)
    lower = np.max([c.bracket(eps, 1e-6).lower for c in curves], axis=0)
    assert np.all(found >= lower - 1e-12)
    assert np.all(found <= np.maximum(upper, -750.0) + 3e-4)


def test_the_leader_may_change() -> None:
    """One pair leads at small eps, another, with rare telling symbols, at large ones."""
    often = ShuffledPair([0.6, 0.4], [0.4, 0.6], [0.3, 0.3])
    rarely = ShuffledPair([0.5, 0.49, 0.01], [0.5, 0.4999, 0.0001], [0.4, 0.4, 0.0001])
    third = ShuffledPair([0.55, 0.45], [0.45, 0.55], [0.3, 0.3])
    eps = np.linspace(0.0, 2.0, 300)
    curves = [Divergence(pair, 100) for pair in (often, rarely, third)]
    each = np.array([c.bracket(eps, 1e-4).upper for c in curves])
    assert set(each.argmax(axis=0).tolist()) >= {0, 1}
    found = largest(Listed(curves), eps, 1e-4)
    assert found == pytest.approx(np.maximum(each.max(axis=0), -750.0), abs=3e-4)


def test_members_that_cannot_lead_are_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    strong = ShuffledPair([0.7, 0.3], [0.3, 0.7], [0.3, 0.3])
    weak = [ShuffledPair([0.5 + e, 0.5 - e], [0.5, 0.5], [0.4, 0.4]) for e in (0.01, 0.02, 0.03)]
    curves = [Divergence(pair, 1000) for pair in (*weak, strong)]
    asked = []
    plain = Divergence.bracket
    monkeypatch.setattr(Divergence, "bracket", lambda self, *a: asked.append(self) or plain(self, *a))
    largest(Listed(curves), np.linspace(0.0, 0.4, 400), 1e-4)
    assert set(asked) == {curves[-1]}


def test_sets_of_pairs_at_many_eps() -> None:
    members = pairs(5, 6)
    eps = np.linspace(0.0, 1.0, 300)
    many = PairSet(members).log_delta(eps, n=800, tol=1e-4, side="upper")
    some = PairSet(members).log_delta(eps[::60], n=800, tol=1e-4, side="upper")
    assert many[::60] == pytest.approx(some, abs=2e-4)


def test_points_in_any_order_and_shape() -> None:
    curves = [Divergence(pair, 200) for pair in pairs(1, 3)]
    eps = np.array([[0.5, 0.1], [0.1, 0.9]])
    found = largest(Listed(curves), eps, 1e-4)
    assert found.shape == (2, 2) and found[0, 1] == found[1, 0] > found[0, 0] > found[1, 1]
