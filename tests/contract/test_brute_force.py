"""Every dataset of a few users, all pairs of neighbors: no sound bound is below the truth, no lower bound above."""

from __future__ import annotations

import itertools
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure
from reference.poisson_histogram import _law as poisson_law
from reference.poisson_histogram import _sets
from reference.randomizers import Matrix, Truth, floats
from reference.repetition import slow
from reference.small_rounds import composed, neighbors, worst

EPS = np.array([0.0, 0.05, 0.3, 0.7, 1.2, 2.0])
UPPER = ("auto", "blanket", "swap", "variation-ratio", "general", "swap-general", "clone")


def parallel(*parts: tuple[float, str]) -> Any:
    return sdp.Parallel(list(parts))


CASES = [
    (sdp.PCKVGRR(eps0=1.0, d=1, l=1), 3),
    (sdp.PCKVGRR(eps0=2.0, d=2, l=1), 2),
    (sdp.PCKVGRR(eps0=0.5, d=2, l=2), 2),
    (sdp.Duchi(eps0=1.0, dim=2), 3),
    (sdp.Duchi(eps0=2.0, dim=3), 2),
    (sdp.Harmony(eps0=1.0, dim=2), 3),
    (sdp.Harmony(eps0=2.0, dim=3), 2),
    (sdp.WindowVector(eps0=1.0, dim=2, d=3, cells=1), 3),
    (sdp.WindowVector(eps0=2.0, dim=2, d=3, cells=2), 2),
    (sdp.HierarchicalGRR(eps0=1.0, d=3, branching=2), 3),
    (sdp.HierarchicalGRR(eps0=2.0, d=4, branching=2), 2),
    (sdp.HierarchicalGRR(eps0=1.0, d=5, branching=3), 2),
    (parallel((0.25, "grr:eps0=1,d=2"), (0.75, "grr:eps0=2,d=2")), 3),
    (parallel((0.5, "grr:eps0=1,d=3"), (0.5, "randomized-response:eps0=0.5")), 2),
    (sdp.Joint(["grr:eps0=1,d=2", "grr:eps0=0.5,d=2"]), 2),
    (sdp.SamplingRappor(eps0=1.0, d=3, s=1), 3),
    (sdp.SamplingRappor(eps0=2.0, d=3, s=2), 2),
    (sdp.PrivSet(eps0=1.0, d=3, s=1), 3),
    (sdp.RandomizedResponse(eps0=1.5), 4),
    (sdp.Hadamard(eps0=1.0, d=3), 3),
    (sdp.Subset(eps0=1.0, d=4, k=2), 2),
    slow(sdp.HierarchicalGRR(eps0=1.5, d=4, branching=2), 3),
    slow(sdp.Duchi(eps0=1.0, dim=3), 3),
    slow(sdp.WindowVector(eps0=2.0, dim=3, d=3, cells=1), 2),
    slow(sdp.Joint(["grr:eps0=1,d=2", "grr:eps0=0.5,d=2"]), 3),
    slow(parallel((0.3, "grr:eps0=1,d=3"), (0.7, "unary:eps0=2,d=2")), 3),
]


@pytest.mark.heavy
@pytest.mark.slow_cases("randomized-response:eps0=1.5-4")
@pytest.mark.parametrize(("m", "n"), CASES, ids=lambda x: x.spec if isinstance(x, sdp.Mechanism) else str(x))
def test_no_bound_is_on_the_wrong_side(m: Any, n: int) -> None:
    truth = np.array(worst(m.probabilities(), n, np.exp(EPS).tolist()))
    for bound in UPPER:
        try:
            upper = sdp.profile(m, n=n, epsilon=EPS, bound=bound)
        except sdp.BoundNotApplicableError:
            continue
        assert np.all(truth <= upper * (1.0 + 1e-9) + 1e-13), bound
    try:
        lower = sdp.profile(m, n=n, epsilon=EPS, side="lower")
    except sdp.BoundNotApplicableError:
        return
    assert np.all(lower <= truth * (1.0 + 1e-9) + 1e-13)
    for delta in (0.3, 0.05, 1e-3):
        found = sdp.amplify(m, n=n, delta=delta)
        at = worst(m.probabilities(), n, [float(np.exp(found.epsilon))])[0]
        assert at <= delta * (1.0 + 1e-9)


#: Whole-number weights of the outputs of an input, by kind.
KINDS = {
    "smooth": lambda rng: rng.randint(20, 60),
    "zeros": lambda rng: rng.choice([0, 1, 3, 9]),
    "levels": lambda rng: rng.choice([1, 1, 4]),
    "near": lambda rng: 10**6 + rng.randint(0, 3),
    "far": lambda rng: rng.choice([1, 30, 10**4, 10**7]),
}


def small_matrix(rng: Random, kind: str) -> Matrix:
    """2 or 3 inputs, 2 to 4 outputs; sometimes 5 inputs, which are searched and not listed."""
    inputs, outputs = rng.choice([2, 3, 3, 3, 5]), rng.choice([2, 3, 4])
    rows = [[KINDS[kind](rng) for _ in range(outputs)] for _ in range(inputs)]
    return [[Fraction(entry, sum(row)) for entry in row] for row in rows if sum(row)] or small_matrix(rng, kind)


def compared(seed: int) -> int:
    """auto, swap, blanket and the lower bound of one random matrix among a few users, and how many were compared."""
    rng = Random(seed)
    matrix = small_matrix(rng, rng.choice(list(KINDS)))
    n = rng.randint(1, 3 if len(matrix) == 5 else 5)
    m, count, delta = sdp.FiniteRandomizer(floats(matrix)), 0, rng.choice([0.3, 0.01])
    truth = Truth(matrix, n)
    for eps in (0.0, rng.choice([1e-7, 1e-3, 0.1]), rng.uniform(0.2, 2.0)):
        most, least = (truth.divergence(E) for E in exp_enclosure(eps))
        assert Fraction(float(sdp.profile(m, n=n, epsilon=eps, side="lower"))) <= most, (seed, eps)
        for bound in UPPER[:3]:
            try:
                upper = float(sdp.profile(m, n=n, epsilon=eps, bound=bound))
            except sdp.BoundNotApplicableError:
                continue
            assert Fraction(upper) >= least, (seed, eps, bound)
            count += 1
    for bound in UPPER[:2]:
        found = sdp.amplify(m, n=n, delta=delta, bound=bound).epsilon
        assert found > 100.0 or truth.divergence(exp_enclosure(found)[1]) <= Fraction(delta), (seed, bound)
    return count + 5


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 102))])
def test_matrices_against_every_dataset_in_fractions(part: int) -> None:
    """20 matrices in the quick run, 2,040 in the full one."""
    assert sum(compared(seed) for seed in range(20 * part, 20 * part + 20)) > 200


@pytest.mark.slow_cases("harmony:eps0=1,dim=1-3-2")
@pytest.mark.parametrize(
    ("m", "n", "reports"),
    [
        (sdp.GRR(eps0=1.0, d=3), 2, 2),
        (sdp.RandomizedResponse(eps0=1.0), 3, 2),
        (sdp.RandomizedResponse(eps0=2.0), 2, 3),
        (sdp.Harmony(eps0=1.0, dim=1), 3, 2),
        slow(sdp.Unary(eps0=1.0, d=2), 2, 3),
        slow(sdp.GRR(eps0=0.5, d=3), 3, 2),
    ],
    ids=lambda x: x.spec if isinstance(x, sdp.Mechanism) else str(x),
)
def test_several_reports_per_user(m: Any, n: int, reports: int) -> None:
    truth = np.array(worst(m.probabilities(), n, np.exp(EPS).tolist(), reports))
    upper = sdp.profile(m, n=n, epsilon=EPS, reports_per_user=reports)
    assert np.all(truth <= upper * (1.0 + 1e-9) + 1e-13)


ROUNDS = [
    ((sdp.GRR(eps0=1.0, d=3), 2), (sdp.GRR(eps0=0.5, d=2), 3)),
    ((sdp.RandomizedResponse(eps0=1.0), 3), (sdp.RandomizedResponse(eps0=1.0), 3)),
    ((sdp.Harmony(eps0=1.0, dim=2), 2), (sdp.GRR(eps0=1.0, d=2), 2), (sdp.RandomizedResponse(eps0=2.0), 2)),
    ((sdp.PCKVGRR(eps0=1.0, d=1, l=1), 2), (sdp.GRR(eps0=1.0, d=2), 4)),
]


@pytest.mark.slow_cases(
    "grr:eps0=1,d=3+grr:eps0=0.5,d=2",
    "pckv-grr:eps0=1,d=1,l=1+grr:eps0=1,d=2",
    "randomized-response:eps0=1+randomized-response:eps0=1",
)
@pytest.mark.parametrize("rounds", ROUNDS, ids=lambda r: "+".join(m.spec for m, _ in r))
def test_rounds_together(rounds: Any) -> None:
    """All datasets of every round, all pairs of the victim's values in every round: the profile of the product."""
    pairs = []
    for m, n in rounds:
        laws = itertools.chain.from_iterable(
            itertools.permutations(each, 2) for each in neighbors(m.probabilities(), n)
        )
        pairs.append(sorted(laws, key=lambda pair: -float(np.maximum(pair[0] - 1.3 * pair[1], 0.0).sum()))[:6])
    accountant = sdp.Accountant()
    for m, n in rounds:
        accountant.compose(m, n=n)
    for eps in (0.0, 0.3, 0.9, 1.6):
        ratio = float(np.exp(eps))
        truth = max(composed(choice, ratio) for choice in itertools.product(*pairs))
        assert truth <= accountant.delta(epsilon=eps) * (1.0 + 1e-9) + 1e-13
    for delta in (0.2, 0.01):
        ratio = float(np.exp(accountant.epsilon(delta=delta)))
        assert max(composed(choice, ratio) for choice in itertools.product(*pairs)) <= delta * (1.0 + 1e-9)


@pytest.mark.heavy
@pytest.mark.slow_cases("2-2-0.25")
@pytest.mark.parametrize(("d", "indices", "mean"), [(2, 1, 0.5), (2, 2, 0.25)])
def test_poisson_histograms_together(d: int, indices: int, mean: float) -> None:
    """Two rounds of Poisson histograms: every pair of sets in each, all counts up to where nothing is left."""
    n = 3
    m = sdp.PoissonHistogram(d=d, poisson_per_index=mean, indices=indices)
    held = [poisson_law(d, s, n * mean)[(slice(0, 16),) * d].reshape(-1) for s in _sets(d, indices)]
    pairs = list(itertools.permutations(held, 2))
    accountant = sdp.Accountant().compose(m, n=n, count=2)
    for eps in (0.0, 0.5, 1.5, 3.0):
        truth = max(composed([pair, pair], float(np.exp(eps))) for pair in pairs[:12])
        assert truth <= accountant.delta(epsilon=eps) * (1.0 + 1e-9) + 1e-13
        one = max(composed([pair], float(np.exp(eps))) for pair in pairs)
        assert one <= float(sdp.profile(m, n=n, epsilon=eps)) * (1.0 + 1e-9) + 1e-13
