"""Leading types and others: the same bound as all types together, whichever lead."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from shuffledp.errors import BoundNotApplicableError
from shuffledp.numerics.families.swap import SwapPair, SwapSet
from shuffledp.numerics.families.swap_led import LedSwap
from shuffledp.numerics.pair import ShuffledPair

ROWS = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]])
TYPES = [ShuffledPair(P0=ROWS[0], P1=ROWS[1], t=t) for t in ROWS]
COMMON = 0.6


@pytest.mark.parametrize(("n", "delta"), [(300, 1e-4), (5_000, 1e-6), (10**7, 1e-9)])
def test_same_answer_as_all_types_together(n: int, delta: float) -> None:
    whole = SwapSet([SwapPair(tuple(TYPES), COMMON)]).epsilon(n=n, delta=delta, tol=1e-6, side="upper").epsilon
    for lead in range(4):
        others = [pair for k, pair in enumerate(TYPES) if k != lead]
        led = LedSwap([TYPES[lead]], others, COMMON)
        found = led.epsilon(n=n, delta=delta, tol=1e-6, side="upper").epsilon
        assert found == pytest.approx(whole, rel=1e-3)  # types that exceed the leading ones join them
        assert led.log_delta(np.array([found]), n=n, tol=1e-6, side="upper")[0] <= np.log(delta) + 1e-9


def test_no_dataset_exceeds_it_whichever_types_lead() -> None:
    """All datasets of 25 users, those in which the leading types are missing too."""
    n, eps = 25, np.array([0.1, 0.4])
    # two symbols carry all that distinguishes, so counts of symbols 0 and 1 are enough
    for lead in range(4):
        led = LedSwap([TYPES[lead]], [p for k, p in enumerate(TYPES) if k != lead], COMMON)
        bound = np.exp(led.log_delta(eps, n=n, tol=1e-6, side="upper"))
        for held in itertools.combinations_with_replacement(range(4), 2):
            others = [ROWS[held[i % 2]] for i in range(n - 1)]
            for e, most in zip(np.exp(eps), bound, strict=True):
                signed = np.zeros((n + 1, n + 1))
                c = ROWS[0] - e * ROWS[1]
                signed[1, 0], signed[0, 1], signed[0, 0] = c
                for r in others:
                    grown = r[2] * signed
                    grown[1:] += r[0] * signed[:-1]
                    grown[:, 1:] += r[1] * signed[:, :-1]
                    signed = grown
                assert np.maximum(signed, 0.0).sum() <= most


def test_types_are_kept_when_fewer_take_part() -> None:
    led = LedSwap(TYPES[:1], TYPES[1:], COMMON)
    thin = led.thinned(0.5)
    assert thin.leading.common_mass == pytest.approx(0.8)
    members = thin.members(1)
    assert members is not None
    assert len(members[0].types) == 4
    eps = [f.epsilon(n=5_000, delta=1e-6, tol=1e-5, side="upper").epsilon for f in (led, thin)]
    assert eps[0] < eps[1]


def test_few_users_and_edges() -> None:
    led = LedSwap(TYPES[:1], (), COMMON)
    local = np.log(np.maximum(ROWS[0] - np.exp(0.2) * ROWS[1], 0.0).sum())
    for n in (1, 5):
        assert led.log_delta(np.array([0.2]), n=n, tol=1e-6, side="upper")[0] == pytest.approx(local, rel=1e-6)
    assert led.log_delta(np.array([]), n=100, tol=1e-6, side="upper").size == 0
    assert led.loose_for(50)
    assert not led.loose_for(500)
    assert led.pairs(10) is None
    assert led.epsilon(n=10**6, delta=0.3, tol=1e-3, side="upper").epsilon == 0.0
    with pytest.raises(BoundNotApplicableError, match="upper bound"):
        led.epsilon(n=10, delta=0.1, tol=1e-3, side="lower")
