"""Continuous laws released in cells: FiniteRandomizer.from_cdf, and Gaussian noise."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import shuffledp as sdp
from shuffledp.mechanisms.registry import mechanism_in_file
from shuffledp.numerics.proof.balls import normal_cells

ASK = {"n": 10**4, "delta": 1e-6}
EDGES = [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0]


# -- from_cdf ---------------------------------------------------------------------------------------------------------


def normal(x: float, edges: Any) -> Any:
    return special.ndtr(np.asarray(edges) - x)


def normal_tail(x: float, edges: Any) -> Any:
    return special.ndtr(x - np.asarray(edges))


@pytest.mark.heavy
def test_a_law_in_cells_is_its_matrix() -> None:
    m = sdp.FiniteRandomizer.from_cdf(normal, sf=normal_tail, inputs=[1.0, 0.0, 0.25], edges=EDGES)
    rows = normal_cells([Fraction(1), Fraction(0), Fraction(1, 4)], 1.0, EDGES)
    assert m.probabilities() == pytest.approx(rows, rel=1e-12)
    assert m.inputs() == [1.0, 0.0, 0.25]
    bare = sdp.FiniteRandomizer(m.probabilities())
    assert sdp.amplify(m, **ASK).epsilon == sdp.amplify(bare, **ASK).epsilon
    assert (
        m != bare
        and bare != m
        and m == pickle.loads(pickle.dumps(m))
        and hash(m) == hash(pickle.loads(pickle.dumps(m)))
    )
    assert m.law.identity() == bare.law.identity() and "7 cells" not in m.description and "8 cells" in m.description
    acc = sdp.Accountant()
    acc.compose(m, n=1000, count=2)
    assert acc.epsilon(delta=1e-6) > 0.0


def test_values_are_the_listed_inputs() -> None:
    m = sdp.FiniteRandomizer.from_cdf(normal, inputs=[5.0, 0.0, -1.0], edges=[-1.0, 1.0, 3.0])
    size = 60_000
    for i, x in enumerate(m.inputs()):
        data = m.privatize(np.full(size, x), rng=np.random.default_rng(i)).data
        seen = np.bincount(data, minlength=4)
        assert stats.chisquare(seen, m.probabilities()[i] * size).pvalue > 1e-6
    est = m.estimate(m.privatize([5.0] * 3000 + [-1.0] * 1000, rng=np.random.default_rng(3)))
    assert np.all(np.abs(est.value - [0.75, 0.0, 0.25]) < 5 * est.stderr)
    for bad in ([0.5], [5.0, math.nan], ["a"], [[5.0]], [], 5.0):
        with pytest.raises(sdp.ParameterError) as error:
            m.privatize(bad)
        assert "\n" not in str(error.value) and str(error.value).endswith(".")


def test_releasing_the_number_is_not_covered() -> None:
    """Cells of Gaussian noise have a finite eps0; the density ratio of the number itself has no bound."""
    m = sdp.FiniteRandomizer.from_cdf(normal, sf=normal_tail, inputs=[0.0, 1.0], edges=EDGES)
    assert m.local_epsilon < 4.0
    density = stats.norm.logpdf(10.0, loc=1.0) - stats.norm.logpdf(10.0, loc=0.0)
    assert density > 9.0
    finer = sdp.FiniteRandomizer.from_cdf(normal, sf=normal_tail, inputs=[0.0, 1.0], edges=[*EDGES, 6.0, 8.0])
    assert finer.local_epsilon > m.local_epsilon + 3.0
    assert sdp.amplify(finer, **ASK).epsilon > sdp.amplify(m, **ASK).epsilon


def test_zeros_of_a_bounded_law_are_kept() -> None:
    def low(x: float, edges: Any) -> Any:  # uniform on [x, x + 1]
        return np.clip(np.asarray(edges) - x, 0.0, 1.0)

    def high(x: float, edges: Any) -> Any:
        return np.clip(x + 1.0 - np.asarray(edges), 0.0, 1.0)

    m = sdp.FiniteRandomizer.from_cdf(low, sf=high, inputs=[0.0, 0.5], edges=[0.0, 0.5, 1.0, 1.5])
    assert m.probabilities().tolist() == [[0.0, 0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5, 0.0]]
    assert m.local_epsilon == math.inf


def test_digits_that_are_lost_are_refused_unless_sf_has_them() -> None:
    far = [0.0, 7.0, 8.0]
    with pytest.raises(sdp.ParameterError, match=r"to 10 digits, got .* for \(7, 8\].*pass sf="):
        sdp.FiniteRandomizer.from_cdf(normal, inputs=[0.0], edges=far)
    kept = sdp.FiniteRandomizer.from_cdf(normal, sf=normal_tail, inputs=[0.0, 1.0], edges=far)
    assert kept.probabilities() == pytest.approx(normal_cells([Fraction(0), Fraction(1)], 1.0, far), rel=1e-12)
    with pytest.raises(sdp.ParameterError, match="use wider cells"):
        sdp.FiniteRandomizer.from_cdf(normal, sf=normal_tail, inputs=[0.0], edges=[0.5, 0.5 + 1e-14])
    with pytest.raises(sdp.ParameterError, match="pass sf="):  # the law may end at 1, or be rounded to 1
        sdp.FiniteRandomizer.from_cdf(normal, inputs=[0.0], edges=[0.0, 20.0, 30.0])


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"inputs": []}, "inputs must be a flat list"),
        ({"inputs": [0.0, 0.0]}, "different numbers"),
        ({"inputs": [0.0, -0.0]}, "different numbers"),
        ({"inputs": [math.nan]}, "finite numbers"),
        ({"inputs": ["a"]}, "inputs must be a flat list"),
        ({"edges": []}, "edges must be a flat list"),
        ({"edges": [[0.0]]}, "edges must be a flat list"),
        ({"edges": [0.0, math.inf]}, "finite numbers"),
        ({"edges": [1.0, 0.0]}, "strictly increasing"),
        ({"edges": [0.0, 0.0]}, "strictly increasing"),
        ({"cdf": lambda x, e: 0.5}, "one number per edge"),
        ({"cdf": lambda x, e: ["a"] * len(e)}, "one number per edge"),
        ({"cdf": lambda x, e: [0.5] * (len(e) + 1)}, "one number per edge"),
        ({"cdf": lambda x, e: np.full(len(e), math.nan)}, "probabilities in"),
        ({"cdf": lambda x, e: np.full(len(e), 1.5)}, "probabilities in"),
        ({"cdf": lambda x, e: np.linspace(0.9, 0.1, len(e))}, "must not fall"),
        ({"sf": lambda x, e: np.linspace(0.1, 0.9, len(e))}, "must not rise"),
        ({"sf": lambda x, e: normal_tail(x + 0.1, e)}, "must be 1 - cdf"),
    ],
)  # fmt: skip
def test_one_sentence(given: dict[str, Any], word: str) -> None:
    asked = {"cdf": normal, "inputs": [0.0, 1.0], "edges": EDGES} | given
    with pytest.raises(sdp.ParameterError, match=word) as error:
        sdp.FiniteRandomizer.from_cdf(asked.pop("cdf"), **asked)
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


def test_the_function_cannot_change_the_edges() -> None:
    def greedy(x: float, edges: Any) -> Any:
        found = normal(x, edges)
        edges[:] = 0.0
        return found

    m = sdp.FiniteRandomizer.from_cdf(greedy, inputs=[0.0, 1.0], edges=[0.0, 1.0])
    assert m.edges == (0.0, 1.0)  # type: ignore[attr-defined]


# -- Gaussian ---------------------------------------------------------------------------------------------------------


def test_a_gaussian_is_the_law_of_its_cells() -> None:
    m = sdp.Gaussian(sigma=1.0, low=0.0, high=1.0, inputs=3, edges=EDGES)
    same = sdp.FiniteRandomizer.from_cdf(normal, sf=normal_tail, inputs=[0.0, 0.5, 1.0], edges=EDGES)
    assert m.probabilities() == pytest.approx(same.probabilities(), rel=1e-12)
    assert sdp.amplify(m, **ASK).epsilon == pytest.approx(sdp.amplify(same, **ASK).epsilon, rel=1e-6)
    assert m.inputs == 3 and m.inputs() == [0.0, 0.5, 1.0]  # type: ignore[operator]
    assert m.cells()[0] == (-math.inf, -2.0) and m.cells()[-1] == (3.0, math.inf) and len(m.cells()) == 8
    assert m._columns(np.array([0, 7])).tolist() == [0, 7]


@pytest.mark.heavy
def test_more_noise_is_more_private_and_scale_does_not_matter() -> None:
    eps = [sdp.amplify(sdp.Gaussian(sigma=s), **ASK).epsilon for s in (0.3, 0.5, 1.0, 2.0, 10.0)]
    assert eps == sorted(eps, reverse=True)
    wide = sdp.Gaussian(sigma=200.0, low=-100.0, high=100.0)
    assert sdp.amplify(wide, **ASK).epsilon == pytest.approx(eps[2], rel=1e-9)
    assert wide.local_epsilon == pytest.approx(sdp.Gaussian(sigma=1.0).local_epsilon, rel=1e-9)
    local = [sdp.Gaussian(sigma=s).local_epsilon for s in (0.034, 0.1, 1.0)]
    assert all(math.isfinite(e) for e in local) and local == sorted(local, reverse=True) and local[0] > 400


@pytest.mark.heavy
def test_more_inputs_do_not_change_the_guarantee_much() -> None:
    """The blanket is the smaller of the two ends, and the ends are the worst pair."""
    eps = [sdp.amplify(sdp.Gaussian(sigma=1.0, inputs=k), **ASK).epsilon for k in (2, 3, 5, 9, 17)]
    assert eps == pytest.approx([eps[0]] * 5, rel=1e-3)


def test_the_mean_is_unbiased_between_the_points_of_the_grid() -> None:
    m = sdp.Gaussian(sigma=0.7, low=-1.0, high=3.0, inputs=4, edges=12)
    rows, w = m.probabilities(), m._weights_of_cells
    assert rows @ w == pytest.approx(m.inputs(), abs=1e-12)  # type: ignore[operator]
    rng = np.random.default_rng(1)
    for x in (-1.0, -0.37, 1.9, 3.0):
        est = m.estimate(m.privatize(np.full(200_000, x), rng=rng))
        assert abs(est.value[0] - x) < 4.5 * est.stderr[0]
    exact = (rows * (w - np.array(m.inputs())[:, None]) ** 2).sum(axis=1)  # type: ignore[operator]
    assert exact.max() < m.variance(1) <= exact.max() + (4 / 3) ** 2 / 4 + 1e-12


def test_the_default_is_nearly_as_good_as_the_noise_itself() -> None:
    for sigma in (0.5, 1.0, 3.0):
        assert sigma**2 < sdp.Gaussian(sigma=sigma).variance(1) < 1.1 * sigma**2


@pytest.mark.heavy
def test_calibration_finds_the_smallest_sigma() -> None:
    for subject in ("gaussian", "gaussian:inputs=3,edges=8", sdp.Gaussian(sigma=9.0, low=-5.0, high=5.0)):
        m = sdp.calibrate(subject, n=10**4, epsilon=0.1, delta=1e-6)
        assert 0.0999 <= sdp.amplify(m, n=10**4, delta=1e-6).epsilon <= 0.1
    assert m.low == -5.0 and m.sigma > 3.0
    with pytest.raises(sdp.ImpossibleError, match="sigma"):
        sdp.calibrate("gaussian", n=2, epsilon=1e-9, delta=1e-12)


def test_specs() -> None:
    m = sdp.mechanism("gaussian:sigma=0.5,edges=-1:0.25:2")
    assert m == sdp.Gaussian(sigma=0.5, edges=[-1, 0.25, 2]) == mechanism_in_file(m.spec)
    assert m.spec == "gaussian:sigma=0.5,low=0,high=1,inputs=5,edges=-1:0.25:2"
    assert pickle.loads(pickle.dumps(m)).inputs() == m.inputs()
    acc = sdp.Accountant()
    acc.compose(m, n=1000)
    assert acc.entries[0].reproducible


@pytest.mark.slow
def test_two_sigmas_mix_where_the_cells_are_the_same() -> None:
    cells = [-1.0, 0.0, 1.0, 2.0]
    quiet, loud = (sdp.Gaussian(sigma=s, edges=cells) for s in (1.0, 2.0))
    truth = (loud.probabilities().min(axis=0) / quiet.probabilities().min(axis=0)).min()
    assert truth * (1 - 1e-12) <= loud.law.blanket_ratio(quiet) <= truth
    mixed = sdp.amplify_mixed([(quiet, 5000), (loud, 5000)], delta=1e-6)
    assert 0.0 < mixed.epsilon < quiet.local_epsilon
    with pytest.raises(sdp.BoundNotApplicableError):
        sdp.Gaussian(sigma=1.0).law.blanket_ratio(sdp.Gaussian(sigma=2.0))


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"sigma": 0.01}, "sigma must lie in"),
        ({"sigma": math.nan}, "sigma must be a number"),
        ({"sigma": 1e9}, "sigma must lie in"),
        ({"low": 1.0}, "high must lie in"),
        ({"low": 2.0, "high": 1.0}, "high must lie in"),
        ({"high": math.inf}, "high must lie in"),
        ({"low": 1e9, "high": 1e9 + 1e-3, "sigma": 1e-3}, "more than rounding"),
        ({"inputs": 1}, "inputs must lie in"),
        ({"inputs": 2.5}, "inputs must be a whole number"),
        ({"edges": 1}, "edges must lie in"),
        ({"edges": 4000}, "edges must lie in"),
        ({"edges": "8"}, "number of cells or a list"),
        ({"edges": []}, "strictly increasing"),
        ({"edges": [1.0, 0.0]}, "strictly increasing"),
        ({"edges": [0.0, math.inf]}, "strictly increasing"),
        ({"edges": [0.0, 100.0]}, "every cell a probability"),
        ({"edges": True}, "edges must be"),
    ],
)  # fmt: skip
def test_bad_parameters_in_one_sentence(given: dict[str, Any], word: str) -> None:
    with pytest.raises(sdp.ParameterError, match=word) as error:
        sdp.Gaussian(**({"sigma": 1.0} | given))
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


def test_cells_that_do_not_resolve_the_inputs_are_refused_for_estimates() -> None:
    m = sdp.Gaussian(sigma=1.0, inputs=9, edges=4)
    assert sdp.amplify(m, **ASK).epsilon > 0.0
    with pytest.raises(sdp.ParameterError, match="use more cells or fewer inputs"):
        m.estimate(m.privatize([0.0, 1.0]))
    with pytest.raises(sdp.ParameterError, match=r"must lie in \[0, 1\]"):
        m.privatize([1.2])
