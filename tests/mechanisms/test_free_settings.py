"""The setting that a mechanism leaves to calibration: its range, what the mechanism itself would take, its budgets."""

from __future__ import annotations

import itertools
import math

import pytest

import shuffledp as sdp
from shuffledp.mechanisms.registry import find


@pytest.mark.parametrize(
    ("name", "given", "setting", "limits", "frequency"),
    [
        ("subset", {"d": 20}, "k", (1, 19), 1 / 20),
        ("privset", {"d": 20, "s": 3}, "k", (1, 20), 3 / 23),
        ("local-hash", {"d": 20}, "l", (2, 2**31), 1 / 20),
        ("wheel", {"d": 20, "s": 3}, "w", (2.0**-30, (1 - 2.0**-20) / 3), 3 / 20),
    ],
)
def test_settings(name: str, given: dict, setting: str, limits: tuple, frequency: float) -> None:
    cls = find(name)
    free = cls._free_setting(given)
    assert free is not None and (free.low, free.high) == limits and free.frequency == frequency
    for eps0 in (0.1, 1.0, 4.0):
        own = cls(**given, eps0=eps0)
        assert free.start(eps0) == getattr(own, setting) and free.make(free.start(eps0), eps0) == own
        assert free.error(own, 100) == own.variance(100, frequency)  # type: ignore[attr-defined]
    for value in limits:
        assert getattr(free.make(value, 1.0), setting) == value
    assert cls._free_setting({**given, setting: limits[0]}) is None


@pytest.mark.parametrize("d", [2, 5, 20])
def test_levels_of_hadamard_response_cover_every_budget_once(d: int) -> None:
    free = sdp.Hadamard._free_setting({"d": d})
    ranges = [free.budgets(level) for level in range(int(free.low), int(free.high) + 1)]
    assert ranges[0][0] == 1e-9 and ranges[-1][1] == 500.0
    assert all(math.nextafter(last, math.inf) == first for (_, last), (first, _) in itertools.pairwise(ranges))
    for level, ends in enumerate(ranges, start=1):
        for eps0 in (*ends, sum(ends) / 2):
            assert free.make(level, eps0).blocks == 1 << (level - 1) and free.start(eps0) == level


def test_mechanisms_without_a_setting() -> None:
    assert sdp.GRR._free_setting({"d": 4}) is None and sdp.Unary._free_setting({"d": 4}) is None
