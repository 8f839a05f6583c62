"""What one false report can do: brute force, by replacing a report by any other that is accepted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import Case, all_cases
from shuffledp.mechanisms.codecs import Category, Numbers
from shuffledp.mechanisms.randomizer import Randomizer

RUNNABLE = [c for c in all_cases() if isinstance(c.mechanism, Randomizer)]
USERS, PLACES, OTHERS = 60, 4, 30


def others(m: Any, case: Case) -> np.ndarray:
    """Reports of many inputs, and the ends of the dtype where reports are numbers."""
    values, _ = case.data(2000)
    found = m.privatize(values, rng=np.random.default_rng(2)).data
    found = found[np.random.default_rng(3).permutation(len(found))[:OTHERS]]
    if isinstance(m.codec, Numbers) and m.codec.dtype.kind in "iu" and m.codec.dtype.itemsize < 8:
        ends = np.iinfo(m.codec.dtype)
        extreme = [np.full(m.codec.shape, end, dtype=m.codec.dtype) for end in (ends.min, ends.max)]
        return np.concatenate([found, np.array(extreme)])
    return found


@pytest.mark.slow_cases("prefix-*")
@pytest.mark.one_setting
@pytest.mark.parametrize("case", RUNNABLE, ids=str)
def test_no_report_moves_an_entry_further_than_is_stated(case: Case) -> None:
    m = case.mechanism
    values, _ = case.data(USERS)
    data = m.privatize(values, rng=np.random.default_rng(1)).data
    if len(m.estimate(data, users=USERS).value.shape) == 0:
        return
    stated, reached = np.zeros(0), 0.0
    candidates = others(m, case)
    for place in np.linspace(0, len(data) - 1, PLACES).astype(int):
        for own in (None, candidates[-1]):  # the report that is there, and an extreme one that is replaced
            start = data.copy()
            if own is not None:
                start[place] = own
            before = m.estimate(start, users=USERS)
            stated = before.poisoned(1)
            for other in candidates:
                changed = start.copy()
                changed[place] = other
                moved = np.abs(m.estimate(changed, users=USERS).value - before.value)
                assert np.all(moved <= stated * (1 + 1e-9) + 1e-12)
                reached = max(reached, float(np.max(moved / np.where(stated > 0, stated, 1.0))))
    if isinstance(m.codec, Category) and m.codec.size == 1:  # all messages are alike: a false one is one more
        more = m.estimate(np.append(data, data[:1]), users=USERS).value - m.estimate(data, users=USERS).value
        assert more == pytest.approx(stated, rel=1e-9)
    # and the bound is of the right size, where reports are not numbers without limit
    elif np.all(np.isfinite(stated)) and not (isinstance(m.codec, Numbers) and m.codec.dtype.itemsize == 8):
        assert reached > 0.45


def test_many_false_reports_and_the_sentence() -> None:
    m = sdp.GRR(eps0=1.0, d=4)
    found = m.estimate(m.privatize([0] * 500 + [1] * 500))
    one = 1.0 / (1000 * (math.e - 1) / (math.e + 3))
    assert found.poisoned(1) == pytest.approx(np.full(4, one))
    assert found.poisoned(30) == pytest.approx(30 * found.poisoned(1)) and not found.poisoned(0).any()
    # thirty clients who agree reach it nearly
    data = np.asarray(m.privatize([0] * 1000, rng=np.random.default_rng(0)).data)
    lying = data.copy()
    lying[np.flatnonzero(data == 0)[:30]] = 3
    assert m.estimate(lying).value[3] - m.estimate(data).value[3] == pytest.approx(found.poisoned(30)[3])
    assert found.lies() == "One false report moves an entry by at most 0.00333; m of them by at most m times that."
    assert "false message" in found.lies("message")
    with pytest.raises(sdp.ParameterError, match="ask the one before it"):
        found.consistent().poisoned(1)
    assert found.consistent().lies() == "" and found.top(2).poisoned(1).shape == (2,)
    far = sdp.PlanarLaplace(d01=1.0, dmax=2.0)
    assert "without limit" in far.estimate(far.privatize(np.zeros((5, 2)))).lies()
