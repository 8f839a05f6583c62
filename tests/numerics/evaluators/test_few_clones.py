"""The enumeration of few clones: brackets the true divergence, is sharp where the contour is not, and never looser."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sdp
from reference.fractions_oracle import round_enclosure
from reference.rounds import Laws, rounds
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.resolve import resolve
from shuffledp.numerics.evaluators import few_clones
from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.evaluators.few_clones import FewClones
from shuffledp.numerics.pair import ShuffledPair

EPS = st.sampled_from([0.0, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0])


def check(laws: Laws, n: int, eps: float, rows: int) -> None:
    """Enumerate as many symbols as fit into so many rows, bound the others."""
    atoms = ShuffledPair(*laws).atoms
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_clones, "MOST_ROWS", rows)
        patch.setattr(few_clones, "QUICK_ROWS", rows)
        few = FewClones.of(atoms, n) if atoms.t.size else None
    if few is None:
        return
    bracket = few.log_bracket(np.array([eps]))
    low, high = round_enclosure(*laws, n, eps)
    bare = Fraction(float(atoms.exposed(np.array([eps]))[0]))
    room = Fraction(1e-13) * (1 + bare)  # rounding of u, v themselves belongs to choose.py
    assert Fraction(math.exp(bracket.upper[0])) >= (high - bare) * (1 - Fraction(1e-12)) - room
    assert Fraction(math.exp(bracket.lower[0])) <= (low - bare) * (1 + Fraction(1e-12)) + room


@settings(max_examples=200, deadline=None)
@given(laws=rounds(4), n=st.integers(1, 10), eps=EPS, rows=st.sampled_from([3, 8, 20, 200_000]))
def test_brackets_the_fraction(laws: Laws, n: int, eps: float, rows: int) -> None:
    check(laws, n, eps, rows)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(laws=rounds(4), n=st.integers(1, 14), eps=st.floats(0.0, 6.0), rows=st.integers(2, 300))
def test_brackets_the_fraction_slow(laws: Laws, n: int, eps: float, rows: int) -> None:
    check(laws, n, eps, rows)


@pytest.mark.parametrize("chance", [1e-3, 0.02, 0.5, 0.97])
@pytest.mark.parametrize("n", [1, 7, 60, 400])
def test_noise_is_bounded_on_both_sides(n: int, chance: float) -> None:
    """extra(y) against E[(noise - y)_+] of a binomial number, in full."""
    k = np.arange(n + 1)
    mass = np.array([math.comb(n, int(j)) * chance ** int(j) * (1.0 - chance) ** (n - int(j)) for j in k])
    noise = k - n * chance
    spread, most = math.sqrt(n * chance * (1.0 - chance)), max(chance, 1.0 - chance)
    y = spread * np.array([0.0, 0.01, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0])
    bound = few_clones._extra(y, np.full(y.shape, spread), np.full(y.shape, most))
    for side in (noise, -noise):
        true = np.maximum(side[None, :] - y[:, None], 0.0) @ mass
        assert np.all(bound >= true * (1.0 - 1e-9) - 1e-16)
    assert np.all(np.diff(bound) <= 0.0)  # falls: what rows far away are bounded by


FEW = [
    ("grr:eps0=20,d=64", 4 * 10**9, (0.1, 1.0, 3.0, 5.0, 10.0)),
    ("unary:eps0=20,d=64", 10**9, (0.1, 1.0, 3.0, 8.0)),
    ("unary:eps0=20,d=64", 150_000, (1.0, 8.0, 15.0, 19.5)),
    ("subset:eps0=20,d=64,k=8", 4 * 10**9, (1.0, 5.0, 12.0)),
    ("hierarchical-grr:eps0=17.7,d=64", 10**9, (1.0, 5.0, 8.0)),
]


@pytest.mark.parametrize(("spec", "n", "eps"), FEW)
def test_sharp_and_consistent_with_the_contour(spec: str, n: int, eps: tuple[float, ...]) -> None:
    mechanism = sdp.mechanism(spec)
    for round_ in resolve(mechanism, "auto", Crowd(1)).family.pairs(10) or ():
        curve = Divergence(round_, n)
        at = np.array(eps)
        found = curve.bracket(at, 1e-4)
        assert np.all(found.upper - found.lower <= 1e-8)  # the contour: 1e-5 to infinity
        contour = curve._on_contour(at, np.full(at.shape, 1e-4))
        assert np.all(contour.lower <= found.upper) and np.all(found.lower <= contour.upper)
        step = 1e-6 * at  # the slope is that of the upper value
        ahead, behind = (np.exp(curve.bracket(at + x, 1e-4).upper) for x in (step, -step))
        assert np.allclose((ahead - behind) / (2.0 * step), found.slope, rtol=1e-3)


@pytest.mark.parametrize(
    ("spec", "n", "delta"), [("grr:eps0=20,d=64", 4468984474, 1e-4), ("general:eps0=20", 10**10, 1e-6)]
)
def test_the_answer_is_the_root(spec: str, n: int, delta: float) -> None:
    """eps is proved by its upper value, and a relative 1e-6 less is refuted by a lower one."""
    mechanism = sdp.mechanism(spec)
    eps = sdp.amplify(mechanism, n=n, delta=delta, bound="variation-ratio").epsilon
    round_ = (resolve(mechanism, "variation-ratio", Crowd(1)).family.pairs(1) or ())[0]
    curve = Divergence(round_, n)
    assert curve.bracket(np.array([eps]), 1e-9).upper[0] <= math.log(delta)
    assert curve.bracket(np.array([eps * (1.0 - 1e-6)]), 1e-9).lower[0] > math.log(delta)


@pytest.mark.parametrize("spec", ["grr:eps0=20,d=64", "unary:eps0=20,d=64", "subset:eps0=20,d=64,k=8"])
def test_a_value_does_not_depend_on_its_neighbours(spec: str) -> None:
    """Up to the tolerance: many eps are evaluated by chords, few of them one by one."""
    found = np.concatenate([sdp.profile(spec, n=10**9, epsilon=np.full(size, 0.25)) for size in (1, 3, 7, 40)])
    assert found == pytest.approx(found[0], rel=1e-4)


def test_not_used_where_clones_are_many() -> None:
    mechanism = sdp.mechanism("grr:eps0=2,d=64")
    round_ = (resolve(mechanism, "blanket", Crowd(1)).family.pairs(1) or ())[0]
    assert FewClones.of(round_.atoms, 10**6) is None
    assert Divergence(round_, 10**6).sharp(0.1) is None
