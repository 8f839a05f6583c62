"""The product of Poisson counts: the truth lies inside a narrow bracket, at every mean, and errors are charged."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.poisson_histogram import truth
from reference.repetition import examples
from shuffledp.numerics.poisson.histogram import PoissonShift
from shuffledp.numerics.poisson.losses import above, below
from shuffledp.numerics.poisson.one_count import PoissonSteps, _events

EPS = np.array([0.0, 0.1, 0.4, 1.0, 2.0, 3.5])


def bracket(family: PoissonShift, n: int = 1, eps: np.ndarray = EPS) -> tuple[np.ndarray, np.ndarray]:
    upper, lower = (np.exp(family.log_delta(eps, n=n, tol=1e-4, side=side)) for side in ("upper", "lower"))
    return upper, lower


@pytest.mark.slow_cases("2-2-*", "3-3-*", "3-2-1.0", "3-2-2.7")
@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 2.7])
@pytest.mark.parametrize(("d", "most"), [(2, 1), (3, 1), (3, 2), (3, 3), (2, 2)])
def test_the_truth_of_all_pairs_of_sets_is_inside_the_bracket(d: int, most: int, mu: float) -> None:
    upper, lower = bracket(PoissonShift(mean=mu, d=d, most=most))
    true = np.array([truth(d, most, mu, math.exp(e)) for e in EPS])
    assert np.all(true <= upper * (1 + 1e-9) + 1e-14) and np.all(lower <= true * (1 + 1e-9) + 1e-14)
    assert upper == pytest.approx(true, rel=3e-3, abs=1e-9) and lower == pytest.approx(true, rel=3e-2, abs=1e-6)


def test_four_counts_move_together() -> None:
    """Two indices for two others: the maximum is not that of one index."""
    upper, lower = bracket(PoissonShift(mean=0.5, d=4, most=2), eps=EPS[:4])
    true = np.array([truth_of_four(math.exp(e)) for e in EPS[:4]])
    assert np.all(lower <= true * (1 + 1e-9)) and np.all(true <= upper * (1 + 1e-9))
    assert upper == pytest.approx(true, rel=3e-3)


def truth_of_four(ratio: float) -> float:
    """Both of A raised against both of B, counts up to 20 at a mean of one half."""
    k = np.arange(20)
    plain = np.array([math.exp(i * math.log(0.5) - 0.5 - math.lgamma(i + 1.0)) for i in k])
    own = np.append(0.0, plain[:-1])
    p = np.einsum("i,j,k,l", own, own, plain, plain)
    q = np.einsum("i,j,k,l", plain, plain, own, own)
    return float(np.maximum(p - ratio * q, 0.0).sum())


@pytest.mark.slow_cases("1000-100000000.0", "1000-1000000000000.0", "1000-40.0")
@pytest.mark.parametrize("mu", [40.0, 1245.12, 3e4, 1e8, 1e12])
@pytest.mark.parametrize("k", [1, 18, 1000])
def test_brackets_are_narrow_and_cost_nothing_more_for_large_means(k: int, mu: float) -> None:
    family = PoissonShift(mean=mu / 1000, d=10**6, most=k)
    upper, lower = (family.epsilon(n=1000, delta=1e-10, tol=1e-4, side=side).epsilon for side in ("upper", "lower"))
    if math.isinf(upper):  # an index that nobody else sends: Pr[N = 0] = e^-mu
        assert k * math.exp(-mu) > 1e-10 and math.isinf(lower)
    else:
        assert lower <= upper <= lower * (1 + 5e-4)


def test_the_shipped_parameters() -> None:
    """Check values of an independent computation with a loss grid of 5e-6."""
    shipped = {"n": 10**6, "delta": 1e-10, "tol": 1e-5, "side": "upper"}
    whole = PoissonShift(mean=0.00124512, d=10**6, most=18)
    assert whole.epsilon(**shipped).epsilon == pytest.approx(0.99815, abs=2e-5)
    assert PoissonShift(mean=0.00124512, d=10**6, most=1).epsilon(**shipped).epsilon == pytest.approx(0.2241, abs=5e-5)
    assert PoissonShift(mean=0.0012407, d=10**6, most=18).epsilon(**shipped).epsilon == pytest.approx(1.0, abs=5e-5)


@pytest.mark.slow
@examples(25)
@given(
    mu=st.floats(20.0, 1e6),
    k=st.integers(1, 40),
    more=st.floats(1.001, 3.0),
    log_delta=st.floats(-25.0, -3.0),
)
def test_more_noise_is_more_private_and_more_indices_less(mu: float, k: int, more: float, log_delta: float) -> None:
    def eps(mean: float, most: int, n: int = 1) -> float:
        family = PoissonShift(mean=mean, d=200, most=most)
        return family.epsilon(n=n, delta=math.exp(log_delta), tol=1e-4, side="upper").epsilon

    slack = 1 + 2e-4  # of the grids, which differ
    assert eps(mu * more, k) <= eps(mu, k) * slack
    assert eps(mu, k, n=2) <= eps(mu, k) * slack
    assert eps(mu, k) <= eps(mu, k + 1) * slack


@pytest.mark.heavy
def test_few_indices_in_all_take_the_worst_numbers() -> None:
    """With d < 2k the sets overlap: never more than d counts move, and never fewer than for a smaller k."""

    def delta(d: int, k: int) -> float:
        return float(PoissonShift(mean=30.0, d=d, most=k).log_delta(np.array([0.5]), n=1, tol=1e-4, side="upper")[0])

    assert delta(4, 2) <= delta(5, 3) <= delta(6, 3) and delta(6, 3) == delta(9, 3)
    many = PoissonShift(mean=1000.0, d=200, most=180)  # more candidates than are tried
    low, high = (many.epsilon(n=1, delta=1e-6, tol=1e-3, side=side).epsilon for side in ("lower", "upper"))
    assert low <= high <= low * 1.03


def test_without_noise_nothing_is_hidden() -> None:
    for mean in (0.0, 1e-200, 1e-30):
        family = PoissonShift(mean=mean, d=10, most=2)
        assert math.isinf(family.epsilon(n=5, delta=0.5, tol=1e-4, side="upper").epsilon)
        assert bracket(family, n=5)[0] == pytest.approx(1.0)
    assert PoissonShift(mean=5.0, d=10, most=1).epsilon(n=1, delta=0.9, tol=1e-4, side="upper").epsilon == 0.0


def test_an_index_that_nobody_else_sends_sets_a_floor() -> None:
    family = PoissonShift(mean=10.0, d=10, most=3)
    floor = -math.expm1(3 * math.log1p(-math.exp(-10.0)))
    for side, toward in (("upper", 1e-6), ("lower", -1e-6)):
        found = family.epsilon(n=1, delta=floor * (1 - 1e-3), tol=1e-4, side=side).epsilon
        assert math.isinf(found)
        far = math.exp(float(family.log_delta(np.array([30.0]), n=1, tol=1e-4, side=side)[0]))
        assert far == pytest.approx(floor, rel=2e-4) and (far - floor) * toward >= -1e-12
    assert math.isfinite(family.epsilon(n=1, delta=2.0 * floor, tol=1e-4, side="upper").epsilon)


@pytest.mark.parametrize("mu", [0.7, 30.0, 5e5])
def test_masses_from_above_and_below_enclose_those_of_the_poisson_law(mu: float) -> None:
    """At most one in all from below, at least one from above, and the mean of Q/P on the right side."""
    terms = {"step": 0.01 / math.sqrt(mu), "lowest": -40.0, "width": 0.02}
    for raised in (True, False):
        for make, sign in ((above, 1.0), (below, -1.0)):
            found = make(mu, raised=raised, **terms)
            total = float(found.mass.sum()) + found.infinite
            assert sign * (total - 1.0) >= -1e-12 and total == pytest.approx(1.0, abs=1e-5)


# -- one count that is raised by several -------------------------------------------------------------------------------


@cache
def _totals(mean: int) -> list[Fraction]:
    """Pr[Poisson(mean) < k] for k up to 400, in fractions."""
    masses = [mean**k * (math.factorial(399) // math.factorial(k)) for k in range(400)]  # in units of e^-mean / 399!
    return [Fraction(part, sum(masses)) for part in accumulate(masses, initial=0)]  # to a relative 1e-200


@pytest.mark.parametrize("mean", [0, 1, 2, 40])
@pytest.mark.parametrize("units", [1, 2, 5, 12])
def test_events_are_on_the_right_side_of_the_truth(mean: int, units: int) -> None:
    """Masses in units of e^-mean by their definition, sums in fractions, against _events from above and from below."""
    total = _totals(mean)
    (rise, fall, _), (less, more, _) = (_events(float(mean), units, side) for side in ("upper", "lower"))
    inside, seen = len(less) // 2, 0
    for K in range(1, min(inside, 200)):
        own = total[K] - total[max(K - units, 0)]
        for at, other in ((K - 1, 1 - total[K]), (inside + K - 1, total[max(K - units, 0)])):
            assert Fraction(less[at]) <= own <= Fraction(rise[at]) and Fraction(fall[at]) <= other <= Fraction(more[at])
            if own > 1e-20:
                seen += 1
                assert rise[at] == pytest.approx(less[at], rel=1e-9)
    assert seen and (rise[-1], fall[-1]) == (2e-30, 0.0)  # what the window leaves out


def test_the_largest_shift_is_the_worst() -> None:
    """All shifts in fractions, mean 2, both directions: that by r costs most, and is the answer."""
    mass = [Fraction(2**k, math.factorial(k)) for k in range(80)]
    for units, E in itertools.product((1, 2, 3, 6), (Fraction(1), Fraction(3, 2), Fraction(4))):
        costs = []
        for s in range(1, units + 1):
            moved = [Fraction(0)] * s + mass[:-s]
            both = ((mass, moved), (moved, mass))
            costs.append(max(sum(max(a - E * b, Fraction(0)) for a, b in zip(*laws, strict=True)) for laws in both))
        assert costs == sorted(costs)
        eps = np.array([math.log(E)])
        for side in ("upper", "lower"):
            found = PoissonSteps(mean=1.0, most=units).log_delta(eps, n=2, tol=1e-4, side=side)
            assert math.exp(found[0]) == pytest.approx(float(costs[-1]) * math.exp(-2.0), rel=1e-9)
