"""Many rows at once against one row at a time, and against enclosures in ball arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.ball_oracle import round_divergence
from reference.repetition import examples
from shuffledp.numerics import solve as single
from shuffledp.numerics.evaluators import contour
from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.evaluators.swap import Waiting
from shuffledp.numerics.evaluators.swap_rows import Waitings
from shuffledp.numerics.families import pool, swap_many
from shuffledp.numerics.families import swap as one_swap
from shuffledp.numerics.families.base import PairSet
from shuffledp.numerics.many import pairs as many
from shuffledp.numerics.many.laws import Laws
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
THREE = ShuffledPair(P0=[0.6, 0.1, 0.3], P1=[0.1, 0.6, 0.3], t=[0.1, 0.1, 0.3])
BARE = ShuffledPair(P0=[0.7, 0.3, 0.0], P1=[0.2, 0.7, 0.1], t=[0.2, 0.0, 0.1])
SHARP = ShuffledPair(P0=[0.5, 0.5], P1=[0.0, 1.0], t=[0.3, 0.5])
TOL = 1e-4


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


@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("pairs", [[COIN], [THREE], [COIN, THREE], [THREE, THREE.swapped()], [BARE], [SHARP, COIN]])
def test_eps_is_that_of_one_row(pairs: list[ShuffledPair], side: str) -> None:
    n = crowd([1, 2, 7, 60, 400, 3000, 1e5, 1e7, 1e10, 1e13])
    for delta in (1e-3, 1e-7, 1e-12, 0.5):
        found = many.epsilons([pairs] * n.size, n=n, delta=np.full(n.size, delta), tol=TOL, side=side)
        for eps, users in zip(found, n, strict=True):
            expected = single.epsilon(pairs, n=int(users), delta=delta, tol=TOL, side=side)
            assert eps == pytest.approx(expected, rel=TOL) or eps == expected, (users, delta)


@pytest.mark.parametrize("pair", [COIN, THREE])
def test_the_safe_side_is_proved_by_an_enclosure(pair: ShuffledPair) -> None:
    """upper(eps) <= delta and lower(eps) >= delta at the returned eps itself, in ball arithmetic."""
    n = crowd([50, 300, 1000])
    for delta in (1e-4, 1e-8):
        deltas = np.full(n.size, delta)
        upper = many.epsilons([[pair]] * n.size, n=n, delta=deltas, tol=TOL, side="upper")
        lower = many.epsilons([[pair]] * n.size, n=n, delta=deltas, tol=TOL, side="lower")
        for users, high, low in zip(n, upper, lower, strict=True):
            laws = [np.asarray(x).tolist() for x in (pair.P0, pair.P1, pair.t)]
            assert round_divergence(*laws, int(users), float(high)) <= delta
            assert round_divergence(*laws, int(users), float(low)) >= delta
            assert high <= low * (1.0 + 2.0 * TOL)


@examples(60)
@given(
    st.floats(0.02, 0.98),
    st.floats(0.05, 1.0),
    st.lists(st.integers(1, 10**12), min_size=2, max_size=6),
    st.floats(1e-14, 0.3),
)
def test_eps_falls_with_n(p: float, share: float, sizes: list[int], delta: float) -> None:
    pair = ShuffledPair(P0=[p, 1 - p], P1=[1 - p, p], t=[share * min(p, 1 - p)] * 2)
    n = np.sort(crowd([float(x) for x in sizes]))
    eps = many.epsilons([[pair]] * n.size, n=n, delta=np.full(n.size, delta), tol=TOL, side="upper")
    assert np.all(eps[1:] <= eps[:-1] * (1.0 + TOL))
    assert np.all(eps <= single.pair_limit(pair))


def test_log_delta_is_that_of_one_row() -> None:
    n, eps = crowd([1, 30, 1000, 1e6, 1e9, 1e6]), np.array([0.3, 0.5, 0.1, 0.004, 1e-4, 300.0])
    for pairs in ([COIN, THREE], [BARE], [SHARP]):
        for side in ("upper", "lower"):
            found = many.log_deltas([pairs] * n.size, eps, n=n, tol=1e-3, side=side)
            for i in range(n.size):
                expected = PairSet(pairs).log_delta(eps[i : i + 1], n=int(n[i]), tol=1e-3, side=side)[0]
                assert found[i] == pytest.approx(expected, abs=4e-3) or found[i] == expected


def test_waiting_rows_are_those_of_single_ones() -> None:
    common, n, target = np.array([0.3, 0.01, 1.0, 1.0 - 2.0**-45]), crowd([50, 1e6, 20, 70]), np.full(4, -18.0)
    rows = Waitings.of_rows(common, n, target)
    assert np.all(rows.at(np.array([2, 0])).others == [19.0, 49.0])
    log_r = np.array([-0.2, 1e-6, 0.3, 0.01])
    phase = np.array([0.3, 1e-5, 0.2, 0.1])
    log_m = log_r + 1j * phase
    growth, peak, size = np.exp(log_m) - 1.0, np.zeros(4), np.ones(4)
    for i in range(4):
        alone = Waiting.of(float(common[i]), int(n[i]), -18.0)
        assert rows.log_rest[i] == pytest.approx(alone.log_rest, rel=1e-12)
        assert rows.fewest[i] == alone.fewest
        at = slice(i, i + 1)
        assert rows.log_sum(log_r)[i] == pytest.approx(alone.log_sum(log_r[at])[0], rel=1e-11)
        expected = alone.sum(growth[at], log_m[at], peak[at], size[at])[0]
        assert rows.sum(growth, log_m, peak, size)[i] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("spec", ["general:eps0=1", "subset:eps0=2,d=16", "grr:eps0=1,d=2", "general:eps0=4"])
def test_the_swap_bound_of_many_rows(spec: str) -> None:
    m = sdp.mechanism(spec)
    try:
        family = m.swap()
    except sdp.BoundNotApplicableError:
        from shuffledp.bounds import BOUNDS

        family = BOUNDS["swap-general"].family(m)
    members = family.members(99)
    n = crowd([1, 2, 30, 500, 1e4, 1e6, 1e9])
    for delta in (1e-5, 1e-10):
        found = swap_many.epsilons([members] * n.size, n=n, delta=np.full(n.size, delta), tol=TOL)
        logs = swap_many.log_deltas([members] * n.size, found, n=n, tol=1e-2)
        for i in range(n.size):
            alone = one_swap.largest_epsilon(members, n=int(n[i]), delta=delta, tol=TOL)
            assert found[i] == pytest.approx(alone, rel=2 * TOL)
            curve = max(one_swap.Curve(x, int(n[i]), TOL).log_upper(found[i : i + 1])[0] for x in members)
            limit = single.log_up(max(x.max_ratio for x in members))
            assert curve <= np.log(delta) + 1e-6 or found[i] == limit
            assert logs[i] == pytest.approx(curve, abs=0.02) or found[i] == limit


def test_a_subclass_that_answers_in_its_own_way_is_asked() -> None:
    class Fixed(PairSet):
        def epsilon(self, **terms: object):  # type: ignore[no-untyped-def, override]
            return super().epsilon(**terms)._replace(epsilon=7.0)  # type: ignore[arg-type]

    count = 3 * pool.FEW_ROWS
    families = [Fixed([COIN]), PairSet([COIN])] * (count // 2)
    n = np.full(count, 1000.0)
    found = pool.epsilons(families, n=n, delta=np.full(count, 1e-6), tol=TOL, side="upper")
    assert {a.epsilon for a in found[::2]} == {7.0}
    assert all(0.16 < a.epsilon < 0.18 for a in found[1::2])
