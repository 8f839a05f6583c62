"""Bounds for users with budgets of their own, read for arbitrary randomizers: a batch that they do not hold for."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import shuffledp as sdp
from reference.places import ROOT

#: eps that the program released with arXiv:2407.18157 gives for 9,900 users at 0.5 and 100 at 1, at this delta: its
#: own bound for Laplace noise, and its rendering of that of arXiv:2312.14388.
PUBLISHED = (0.0333, 0.0468)
DELTA = 1e-5
FEW = 100


def delta_of(eps: float) -> float:
    """What 100 users of randomized response at eps0 = 1 leak of one of them, by binomials.

    The other 9,900 send symbols that none of these sends, from data that are the same in both worlds: their counts
    have the same law, and are independent of the counts of the 100.
    """
    lie = 1.0 / (1.0 + math.e)
    ones = np.arange(FEW + 1)
    worst = 0.0
    for held in range(FEW):  # how many of the other 99 hold 1
        some, rest = binom.pmf(ones, held, 1.0 - lie), binom.pmf(ones, FEW - 1 - held, lie)
        others = np.convolve(some, rest)[:FEW]
        if_0, if_1 = (np.convolve(others, [1.0 - chance, chance]) for chance in (lie, 1.0 - lie))
        for p, q in ((if_0, if_1), (if_1, if_0)):
            worst = max(worst, float(np.maximum(p - math.exp(eps) * q, 0.0).sum()))
    return worst


def test_users_whose_symbols_nobody_else_sends_hide_among_themselves_only() -> None:
    assert delta_of(0.4078) > DELTA > delta_of(0.4079)
    assert all(delta_of(eps) > 1000 * DELTA for eps in PUBLISHED)
    alone = sdp.amplify("randomized-response:eps0=1", n=FEW, delta=DELTA)
    assert alone.lower is not None and 0.4078 < alone.lower <= alone.epsilon < 0.4079


def test_the_library_does_not_let_them_hide_among_others() -> None:
    """The whole batch as one: two classes of matrices with disjoint columns."""
    many, few = math.exp(0.5) / (1.0 + math.exp(0.5)), math.e / (1.0 + math.e)
    matrices = (
        [[many, 1.0 - many, 0.0, 0.0], [1.0 - many, many, 0.0, 0.0]],
        [[0.0, 0.0, few, 1.0 - few], [0.0, 0.0, 1.0 - few, few]],
    )
    classes = [(sdp.FiniteRandomizer(matrix=matrix), n) for matrix, n in zip(matrices, (9900, FEW), strict=True)]
    found = sdp.amplify_mixed(classes, delta=DELTA)
    assert 0.4078 < found.classes[1].epsilon < 0.42 and found.epsilon == found.classes[1].epsilon


@pytest.mark.parametrize("number", ["0.4078", "9,900", "0.0333", "0.0468", "2312.14388", "2407.18157"])
def test_the_page_says_so(number: str) -> None:
    assert number in Path(ROOT, "docs/paper.md").read_text("utf-8")
