"""Random rounds for property tests, as dyadic floats so that every sum is exact."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

UNITS = 2**40


class Laws(NamedTuple):
    P0: list[float]
    P1: list[float]
    t: list[float]


def _law(draw: st.DrawFn, k: int, total: int) -> list[float]:
    """k dyadic masses that sum to total / UNITS exactly; some zero, some tiny, some equal."""
    cuts = [draw(st.sampled_from([0, 1, 2, 3, 10, 100, 10_000])) for _ in range(k)]
    heavy = draw(st.integers(0, k - 1))
    cuts[heavy] += 1
    weight = sum(cuts)
    masses = [total * c // weight for c in cuts]
    masses[heavy] += total - sum(masses)
    return [m / UNITS for m in masses]


@st.composite
def rounds(draw: st.DrawFn, most: int = 6) -> Laws:
    """1 to ``most`` symbols; zeros in every law; sum t from 1e-6 to exactly 1; equal and identical symbols."""
    k = draw(st.integers(1, most))
    P0 = _law(draw, k, UNITS)
    kind = draw(st.sampled_from(["free", "same", "swap"]))
    if kind == "free":
        P1 = _law(draw, k, UNITS)
    elif kind == "same":
        P1 = list(P0)
    else:
        P1 = [P0[-1], *P0[1:-1], P0[0]] if k > 1 else list(P0)
    total = draw(st.sampled_from([UNITS, UNITS - 1, UNITS // 2, UNITS // 50, UNITS // 10**6]))
    shape = draw(st.sampled_from(["free", "P1", "least"]))
    if shape == "free":
        t = _law(draw, k, total)
    elif shape == "P1":
        t = [x * (total / UNITS) if total < UNITS else x for x in P1]
    else:
        t = [min(a, b) * (total / UNITS) for a, b in zip(P0, P1, strict=True)]
    return Laws(P0, P1, t)
