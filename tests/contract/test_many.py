"""Every registered mechanism: many questions in one call have the answers of single calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import Case, all_cases
from reference.repetition import slow

BOUNDS = ("auto", "blanket", "variation-ratio", "general", "constant-dataset-lower")
TOL = 1e-4
N, DELTA = [[300], [10**6]], [1e-5, 1e-9]


def _one_of_each() -> list[Case]:
    found: dict[str, Case] = {}
    for case in all_cases():
        found.setdefault(case.mechanism.name, case)
    return list(found.values())


def _questions() -> list[Any]:
    """auto of every mechanism; in the quick run the bounds by name of every third one."""
    cases = enumerate(_one_of_each())
    return [(c, b) if b == "auto" or k % 3 == 0 else slow(c, b) for k, c in cases for b in BOUNDS]


@pytest.mark.heavy_cases("planar-laplace:d01=0.5,dmax=2-auto")
@pytest.mark.slow_cases(
    "cheu-zhilyaev:flip=0.2,d=5,messages=1.5-auto",
    "cheu-zhilyaev:flip=0.2,d=5,messages=1.5-variation-ratio",
    "laplace:eps0=0.5-auto",
    "planar-cells:d01=4,dmax=4,across=3,up=2,wide=1.7,high=1.2-auto",
    "poisson-histogram:d=4,indices=1,poisson_per_index=0.3-auto",
    "pure-dump:d=4,messages=1.25-variation-ratio",
    "randomized-response:eps0=0.5-blanket",
)
@pytest.mark.parametrize(("case", "bound"), _questions(), ids=str)
def test_arrays_are_single_calls(case: Case, bound: str) -> None:
    m = case.mechanism
    try:
        many = sdp.amplify(m, n=N, delta=DELTA, bound=bound, tol=TOL)
    except sdp.BoundNotApplicableError:
        with pytest.raises(sdp.BoundNotApplicableError):
            sdp.amplify(m, n=N[0][0], delta=DELTA[0], bound=bound, tol=TOL)
        return
    assert many.shape == (2, 2) and many.kind == ("lower" if bound.endswith("lower") else "upper")
    for i, j in ((0, 0), (0, 1), (1, 1)):
        alone, one = sdp.amplify(m, n=N[i][0], delta=DELTA[j], bound=bound, tol=TOL), many[i, j]
        assert one.epsilon == pytest.approx(alone.epsilon, rel=2.0 * TOL, abs=1e-300) or one.epsilon == alone.epsilon
        assert (one.n, one.delta, one.mechanism, one.trust) == (alone.n, alone.delta, alone.mechanism, alone.trust)
        if bound == "variation-ratio" and 0.0 < one.epsilon < min(m.local_epsilon, 100.0):
            # an independent evaluation, a hundred times as fine, does not find the root above the answer
            fine = sdp.amplify(m, n=N[i][0], delta=DELTA[j], bound=bound, tol=1e-6).epsilon
            assert fine * (1.0 - 2e-6) <= one.epsilon <= fine * (1.0 + 2.0 * TOL)
    if bound == "auto":
        lower = many.lower
        assert np.all(np.isnan(lower) | (lower <= many.epsilon))
        alone = sdp.amplify(m, n=N[1][0], delta=DELTA[1], bound=bound, tol=TOL)
        if alone.lower is None:
            assert math.isnan(lower[1, 1])
        else:
            assert lower[1, 1] == pytest.approx(alone.lower, rel=2.0 * TOL)
