"""Trade-off functions, mu and Renyi divergences against all outcomes of small batches, and Gaussian limits."""

from __future__ import annotations

import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sdp
from reference import tradeoffs as oracle
from shuffledp.numerics.composition.conversions import mu_of
from shuffledp.numerics.composition.gaussian import gaussian_tradeoff

LEVELS = [Fraction(0), Fraction(1, 1000), Fraction(1, 100), *(Fraction(k, 50) for k in range(1, 50))]
ORDERS = [1.5, 2.0, 5.0, 20.0]


def random_rows(rng: random.Random, *, holes: bool = False) -> list[list[Fraction]]:
    """A matrix in binary fractions, which doubles hold exactly."""
    inputs, outputs = rng.choice([2, 3]), rng.choice([2, 3])
    rows = []
    for _ in range(inputs):
        cuts = sorted(rng.randrange(0 if holes else 1, 64) for _ in range(outputs - 1))
        row = [Fraction(b - a, 64) for a, b in zip([0, *cuts], [*cuts, 64], strict=True)]
        rows.append(row if holes else [(x + Fraction(1, 8)) / (1 + Fraction(outputs, 8)) for x in row])
    return [[Fraction(float(x)) for x in row] for row in rows]


def mechanism_of(rows: list[list[Fraction]]) -> sdp.FiniteRandomizer:
    return sdp.FiniteRandomizer([[float(x) for x in row] for row in rows])


def true_mu(pairs: list[tuple[oracle.Law, oracle.Law]]) -> float:
    """The largest mu over many eps, in doubles."""
    keys = [list(p) for p, _ in pairs]
    both = [
        (np.array([float(p[k]) for k in at]), np.array([float(q.get(k, 0)) for k in at]))
        for at, (p, q) in zip(keys, pairs, strict=True)
    ]
    top = max(float(np.log(p / q).max()) for p, q in both)
    eps = np.linspace(0.0, top, 60)[:-1]
    heights = np.array([[np.maximum(p - E * q, 0.0).sum() for E in np.exp(eps)] for p, q in both]).max(axis=0)
    return max(mu_of(float(x), float(h)) if x else _mu_at_zero(float(h)) for x, h in zip(eps, heights, strict=True))


def _mu_at_zero(distance: float) -> float:
    """delta_mu(0) is erf(mu / sqrt 8)."""
    from scipy.special import erfinv

    return math.sqrt(8.0) * float(erfinv(distance))


def check_batch(rows: list[list[Fraction]], n: int, bound: str = "auto") -> int:
    """Both sides of every output against all outcomes; the number of comparisons."""
    pairs = list(oracle.laws(rows, n))
    batch = sdp.amplify(mechanism_of(rows), n=n, delta=0.1, bound=bound)
    found, renyi = batch.tradeoff(), batch.renyi_curve(orders=ORDERS)
    levels = np.array([float(x) for x in LEVELS])
    truth = np.array([[float(x) for x in oracle.least_errors(q, p, LEVELS)] for p, q in pairs]).min(axis=0)
    assert np.all(found(levels) <= truth + 1e-12)
    attack = found.attack(levels)
    assert np.all(attack >= truth - 1e-12) and np.all(attack <= 1.0 - levels + 1e-12)
    mu = true_mu(pairs)
    assert found.mu_lower <= found.mu * (1 + 1e-12) and found.mu >= mu * (1 - 1e-9)
    assert found.mu_lower <= mu * 1.01  # the oracle tries few eps
    exact = np.array([max(oracle.renyi(p, q, a) for p, q in pairs) for a in ORDERS])
    assert np.all(renyi.upper >= exact * (1 - 1e-9)) and np.all(renyi.lower <= exact * (1 + 1e-9))
    assert renyi.rho >= (exact / ORDERS).max() * (1 - 1e-9) and renyi.rho_lower <= renyi.rho
    return 2 * len(LEVELS) + 2 + 2 * len(ORDERS) + 1


@pytest.mark.heavy
def test_random_matrices_against_all_outcomes() -> None:
    rng = random.Random(25)
    bounds = ("auto", "blanket", "blanket") * 3
    checks = sum(check_batch(random_rows(rng), rng.choice([2, 3]), bound) for bound in bounds)
    assert checks >= 1000


@pytest.mark.slow
def test_many_random_matrices_against_all_outcomes() -> None:
    rng = random.Random(26)
    checks = sum(check_batch(random_rows(rng), rng.choice([2, 3, 4, 5])) for _ in range(100))
    assert checks >= 10_000


@pytest.mark.heavy
def test_a_matrix_with_holes_has_no_finite_mu_but_one_with_a_slack() -> None:
    rows = [[Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(0), Fraction(1, 2), Fraction(1, 2)]]
    found = sdp.tradeoff(mechanism_of(rows), n=3)
    assert found.mu == math.inf and "no finite mu" in str(found) and found.to_dict()["mu"] == "inf"
    assert found(0.0) < 1.0  # some outputs reveal the victim
    assert math.isinf(sdp.renyi(mechanism_of(rows), n=3, orders=[2.0]).rho)
    levels = np.array([float(x) for x in LEVELS])
    pairs = list(oracle.laws(rows, 3))
    truth = np.array([[float(x) for x in oracle.least_errors(q, p, LEVELS)] for p, q in pairs]).min(axis=0)
    assert np.all(found(levels) <= truth + 1e-12) and np.all(found.attack(levels) >= truth - 1e-12)
    # where nobody can hide, the slack must cover what is revealed
    revealing = max(float(oracle.divergence(p, q, Fraction(10**9))) for p, q in pairs)
    assert math.isinf(found.mu_with(slack=0.5 * revealing))
    coin = sdp.tradeoff("general:eps0=2", n=1000, bound="general")
    assert 0.0 < coin.mu_with(slack=1e-3) < coin.mu


@pytest.mark.heavy
def test_two_rounds_against_all_outcomes() -> None:
    rows = random_rows(random.Random(7))
    pairs = [(oracle.product(p, p), oracle.product(q, q)) for p, q in oracle.laws(rows, 2)]
    rounds = sdp.Accountant().compose(mechanism_of(rows), n=2, count=2)
    found, levels = rounds.tradeoff(), np.array([float(x) for x in LEVELS])
    truth = np.array([[float(x) for x in oracle.least_errors(q, p, LEVELS)] for p, q in pairs]).min(axis=0)
    assert np.all(found(levels) <= truth + 1e-12) and np.all(found.attack(levels) >= truth - 1e-12)
    assert np.all(found(levels) >= truth - 0.12)
    assert found.mu >= true_mu(pairs) * (1 - 1e-9) and found.mu_lower <= found.mu
    curve = rounds.renyi_curve(orders=ORDERS)
    exact = np.array([max(oracle.renyi(p, q, a) for p, q in pairs) for a in ORDERS])
    assert np.all(curve.upper >= exact * (1 - 1e-9)) and np.all(curve.lower <= exact * (1 + 1e-9))
    assert np.allclose(rounds.renyi(ORDERS), curve.upper, rtol=1e-3)


@pytest.mark.heavy
@pytest.mark.parametrize("n", [10**6, pytest.param(10**9, marks=pytest.mark.slow)])
def test_many_users_are_gaussian_to_leading_order(n: int) -> None:
    found = sdp.tradeoff("grr:eps0=2,d=16", n=n)
    q = math.exp(2.0)
    V = 2.0 * (q - 1.0) ** 2 / (q + 15.0)  # docs/designs.md
    assert found.mu_leading == pytest.approx(math.sqrt(V / n), rel=1e-12)
    assert found.shuffle_index == pytest.approx(1.0 / math.sqrt(V), rel=1e-12)
    assert found.blanket_index <= found.shuffle_index * (1 + 1e-12)
    assert found.mu_leading * 0.999 <= found.mu_with(slack=1e-12) <= found.mu_leading * 1.01
    assert found.mu_lower <= found.mu <= found.mu_leading * 1.01
    assert found.mu_lower >= found.mu_leading * 0.999
    alpha = np.array([0.01, 0.1, 0.3, 0.5, 0.8])
    limit = gaussian_tradeoff(found.mu_leading, alpha)
    spent = 1.0 - alpha - limit
    assert np.all(np.abs(found(alpha) - limit) <= 0.01 * spent)
    assert np.all(np.abs(found.attack(alpha) - limit) <= 0.01 * spent)
    rho = sdp.renyi("grr:eps0=2,d=16", n=n, orders=[2.0, 10.0])
    assert rho.rho == pytest.approx(0.5 * found.mu_leading**2, rel=0.02)
    assert rho.upper == pytest.approx(0.5 * found.mu_leading**2 * rho.orders, rel=0.005)
    assert rho.lower == pytest.approx(0.5 * found.mu_leading**2 * rho.orders, rel=0.015)


@pytest.mark.heavy
def test_the_squares_of_mu_add_up() -> None:
    one = sdp.tradeoff("grr:eps0=2,d=16", n=10_000)
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=30)
    acc.compose("grr:eps0=2,d=16", n=10_000, count=6)
    many = acc.tradeoff()
    assert many.mu == pytest.approx(6.0 * one.mu, rel=1e-9) and many.mu_leading == pytest.approx(6.0 * one.mu_leading)
    assert many.mu_lower >= 0.97 * many.mu_leading and many.shuffle_index is None
    alpha = np.array([0.01, 0.1, 0.5])
    limit = gaussian_tradeoff(many.mu_leading, alpha)
    assert np.all(np.abs(many(alpha) - limit) <= 0.02 * (1.0 - alpha - limit))
    assert np.all(many.attack(alpha) >= many(alpha))
    assert np.all(np.abs(many.attack(alpha) - limit) <= 0.03 * (1.0 - alpha - limit))
    assert many.mu_with(slack=1e-9) == pytest.approx(many.mu_leading, rel=0.01)
    acc.compose("grr:eps0=2,d=16", n=10_000, count=100)  # what was asked before does not change
    assert many.mu == pytest.approx(6.0 * one.mu, rel=1e-9) and "36 rounds" in many.subject


@pytest.mark.heavy
def test_a_gaussian_event_gives_its_own_mu() -> None:
    events = pytest.importorskip("dp_accounting")
    acc = sdp.Accountant().compose_event(events.GaussianDpEvent(8.0), count=4)
    found = acc.tradeoff()
    assert found.mu == pytest.approx(0.5, rel=1e-12) and found.mu_lower is None and found.attack(0.1) is None
    alpha = np.array([0.01, 0.1, 0.5])
    exact = gaussian_tradeoff(0.5, alpha)
    assert np.all(found(alpha) <= exact) and np.all(found(alpha) >= exact - 2e-3)
    acc.compose("grr:eps0=2,d=16", n=10_000, count=30)
    both = acc.tradeoff()
    squares = 0.25 + 30.0 * sdp.tradeoff("grr:eps0=2,d=16", n=10_000).mu ** 2
    assert both.mu == pytest.approx(math.sqrt(squares), rel=1e-9)
    assert acc.renyi_curve(orders=[2.0]).rho == pytest.approx(0.5 * squares, rel=1e-9)
    laplace = sdp.Accountant().compose_event(events.LaplaceDpEvent(50.0), neighbors="add-or-remove-one")
    assert 0.0 < laplace.tradeoff().mu < 0.08


@pytest.mark.heavy
def test_a_guarantee_an_accountant_and_a_programme_give_the_same() -> None:
    asked = {
        "version": 1,
        "target": {"epsilon": 1, "delta": "1e-8"},
        "rounds": [{"mechanism": "general:eps0=1", "users": 1000}],
    }
    batch = sdp.amplify("general:eps0=1", n=1000, delta=1e-8)
    several = sdp.amplify("general:eps0=1", n=[500, 1000], delta=1e-8)
    check = sdp.check(asked)
    here = [batch, several[1], sdp.Accountant().compose("general:eps0=1", n=1000), check]
    alpha = np.array([0.01, 0.3])
    whole = sdp.tradeoff("general:eps0=1", n=1000)
    for one in here:
        found = one.tradeoff()
        assert np.array_equal(found(alpha), whole(alpha)) and found.mu_lower == whole.mu_lower
        assert one.profile(epsilon=0.05).upper == batch.profile(epsilon=0.05).upper
    assert check.tradeoff().mu == pytest.approx(whole.mu, rel=1e-12)
    assert check.renyi_curve(orders=[2.0]).upper == batch.renyi_curve(orders=[2.0]).upper
    assert "accountant" not in check.to_dict() and "question" not in batch.to_dict()
    assert "question" not in several.to_dict()
    asked["rounds"] = [{"mechanism": "general", "users": 1000, "count": 4}]
    found = sdp.calibrate_programme(asked)
    assert found.profile(epsilon=0.1).upper == found.check.profile(epsilon=0.1).upper
    assert "4 rounds" in found.profile(epsilon=0.1).subject
    table = check.profile()
    eps = sdp.amplify("general:eps0=1", n=1000, delta=float(table.upper[8])).epsilon
    assert eps == pytest.approx(table.epsilon[8], rel=2e-3) and np.all(table.lower <= table.upper)
    assert sdp.profile("general:eps0=1", n=1000, epsilon=table.epsilon) == pytest.approx(table.upper, rel=1e-3)


@pytest.mark.heavy
def test_crowds_count() -> None:
    asked = {"mechanism": "general:eps0=1", "bound": "general"}
    usual, whole = sdp.tradeoff(**asked, n=10_000), sdp.tradeoff(**asked, n=9000)
    less = sdp.tradeoff(**asked, n=10_000, dropouts=600, colluding="4%")
    assert less(0.1) == whole(0.1) and less.mu == whole.mu and less.n == 9000
    assert "of whom up to 600 users (6 %) may drop out" in str(less)
    twice = sdp.tradeoff(**asked, n=10_000, reports_per_user=4)
    assert twice.mu == pytest.approx(2.0 * usual.mu, rel=1e-9) and "4 reports each" in twice.subject
    assert twice.attack(0.1) is None and twice.mu_lower is None and twice.beta_attack is None
    assert "beta of an attack" not in twice.table().text() and twice.to_frame()["beta_attack"].isna().all()


def test_nothing_is_revealed() -> None:
    blind = sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]])
    found = sdp.tradeoff(blind, n=10)
    assert found.mu == 0.0 and found([0.0, 0.25, 1.0]).tolist() == pytest.approx([1.0, 0.75, 0.0], abs=1e-12)
    assert sdp.renyi(blind, n=10, orders=[2.0, 4.0]).upper.tolist() == [0.0, 0.0]
    assert sdp.amplify(blind, n=10, delta=1e-6).profile().upper.tolist() == [0.0]


@pytest.mark.heavy
def test_results_are_tables_and_can_be_kept() -> None:
    found = sdp.tradeoff("general:eps0=1", n=1000, alpha=[0.1, 0.5])
    assert list(found.to_frame().columns) == ["alpha", "beta", "beta_attack"]
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.beta, found.beta) and again.mu == found.mu and again(0.2) == found(0.2)
    curve = sdp.renyi("general:eps0=1", n=1000, orders=[2.0, 3.0])
    assert list(curve.to_frame().columns) == ["order", "upper", "lower"] and "rho" in str(curve)
    assert set(curve.to_dict()) == {
        "subject",
        "n",
        "neighbors",
        "trust",
        "orders",
        "upper",
        "lower",
        "rho",
        "rho_lower",
    }
    profile = sdp.amplify("general:eps0=1", n=1000, delta=1e-6).profile(epsilon=[0.1, 3.0])
    assert profile.upper[1] == 0.0 and list(profile.to_frame().columns) == ["epsilon", "upper", "lower"]
    assert profile.to_dict()["upper"] == profile.upper.tolist() and len(profile.to_csv().splitlines()) == 3
    assert repr(found).startswith("<TradeOff of 1,000 users of general:eps0=1: beta >= 0.94")
    assert repr(curve) == "<RenyiCurve of 1,000 users of general:eps0=1: 2 orders>"
    assert repr(profile) == "<PrivacyProfile of 1,000 users of general:eps0=1: 2 eps>"


@pytest.mark.heavy
def test_figures_take_axes_and_words() -> None:
    matplotlib = pytest.importorskip("matplotlib.figure")
    axes = matplotlib.Figure().subplots()
    found = sdp.tradeoff("general:eps0=1", n=1000)
    assert found.plot(ax=axes, labels={"an attack": "Neyman-Pearson"}) is axes.figure
    assert "Neyman-Pearson" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert sdp.renyi("general:eps0=1", n=1000, orders=[2.0, 8.0]).plot(width=3.3).axes
    assert sdp.Accountant().compose("general:eps0=1", n=1000, count=3).profile(epsilon=[0.0, 0.1]).plot().axes
    holes = sdp.FiniteRandomizer([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    assert len(sdp.tradeoff(holes, n=3).plot().axes[0].lines) == 3  # no Gaussian one


BAD = {
    "alpha must hold finite numbers between 0 and 1, got 1.5; leave such values out.": {"alpha": 1.5},
    "alpha must hold finite numbers between 0 and 1, got 'x'; leave such values out.": {"alpha": "x"},
    "alpha must hold finite numbers between 0 and 1, got [[1], [1, 2]]; leave such values out.": {
        "alpha": [[1], [1, 2]]
    },
    "bound must be a proved upper bound to give a trade-off function, got 'constant-dataset-lower', which is a lower "
    "bound; use bound='auto'.": {"bound": "constant-dataset-lower"},
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_is_refused_in_a_sentence(sentence: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        sdp.tradeoff("grr:eps0=1,d=4", n=100, **BAD[sentence])
    assert str(error.value) == sentence


def test_further_bad_input() -> None:
    found = sdp.tradeoff("grr:eps0=1,d=4", n=100)
    for slack in (0.0, 0.7):
        with pytest.raises(sdp.ParameterError, match="slack must lie in"):
            found.mu_with(slack=slack)
    with pytest.raises(sdp.ParameterError, match=r"orders must hold finite numbers in \(1, 1e15\], got 1.0; leave"):
        sdp.renyi("grr:eps0=1,d=4", n=100, orders=1.0)
    guarantee = sdp.amplify("grr:eps0=1,d=4", n=100, delta=1e-6)
    with pytest.raises(sdp.ParameterError, match=r"epsilon must hold finite numbers >= 0, got -1.0; leave such values"):
        guarantee.profile(epsilon=-1.0)
    with pytest.raises(sdp.ParameterError, match=r"got a copy; ask shuffledp.tradeoff or shuffledp.renyi"):
        pickle.loads(pickle.dumps(guarantee)).tradeoff()
    lower = sdp.amplify("grr:eps0=1,d=4", n=100, delta=1e-6, bound="constant-dataset-lower")
    with pytest.raises(sdp.ParameterError, match="must be a proved upper bound"):
        lower.tradeoff()


def test_a_test_that_never_errs_one_way_where_e_to_the_eps_overflows() -> None:
    found = sdp.Accountant().compose("grr:eps0=300,d=2", n=3, count=5).tradeoff()
    assert found(0.0) == 0.0 and found.attack(0.0) == 1.0
    assert np.isfinite(found.attack(np.array([0.0, 1e-9, 1.0]))).all()
