"""The swap sum: any line gives a bound, and it is the sum that the theorem states."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.randomizers import floats, random_matrix
from reference.repetition import examples
from reference.swap import Datasets, common_mass, local_delta, theorem_one
from shuffledp.numerics.evaluators import swap
from shuffledp.numerics.evaluators.swap import Line, Waiting

MASSES = (1e-12, 1e-3, 0.1, 0.5, 0.9, 1.0 - 1e-9, 1.0)


def direct(beta: float, n: int, r: float) -> mpmath.mpf:
    """A(r) by its definition, in 40 digits."""
    with mpmath.workdps(40):
        b, x = mpmath.mpf(beta), mpmath.mpf(r)
        return mpmath.fsum(b * (1 - b) ** k * x ** (n - 1 - k) / (n - 1 - k) for k in range(n - 1))


def row(*values: float) -> np.ndarray:
    return np.array([values])


def line(c: float, h: float, s: float) -> Line:
    return Line(np.array([c]), np.array([h]), np.array([s]))


# -- the waiting time ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 10, 57, 300])
@pytest.mark.parametrize("beta", MASSES)
def test_the_sum_over_the_waiting_time(n: int, beta: float) -> None:
    waiting = Waiting.of(beta, n, -200.0)
    for r in (1e-3, 0.1, (1.0 - beta) * (1 + 1e-12) or 0.2, 0.5, 0.97, 1.0, 1.02):
        got = float(waiting.log_sum(np.array([math.log(r)]))[0])
        truth = direct(beta, n, r)
        rest = mpmath.exp(waiting.log_rest) * max(r, 1.0) ** n  # terms that are left to the rest
        assert mpmath.exp(got) + rest >= truth * (1 - mpmath.mpf(10) ** -12)  # log_upper charges the rest
        assert mpmath.exp(got) <= truth * 1.26, (r, float(mpmath.exp(got) / truth))
        if n * beta >= 20.0 and r >= 0.97:  # blocks cost nothing where the bound is sharp
            assert mpmath.exp(got) <= truth * 1.01, (r, float(mpmath.exp(got) / truth))


@pytest.mark.parametrize("n", [2, 3, 40, 10**4, 10**15])
@pytest.mark.parametrize("beta", [1e-9, 0.01, 0.6, 1.0 - 2.0**-45, 1.0])
@pytest.mark.parametrize("target", [0.0, -30.0, -690.0])
def test_blocks_follow_each_other_and_the_rest_is_what_they_leave(n: int, beta: float, target: float) -> None:
    waiting = Waiting.of(beta, n, target)
    assert waiting.first[0] == 0.0 and np.all(waiting.first[1:] == waiting.last[:-1] + 1.0)
    assert np.all(waiting.last >= waiting.first) and waiting.last[-1] <= n - 2 and waiting.fewest >= 1.0
    count = int(waiting.last[-1]) + 1
    assert len(waiting.first) < 200
    if beta < 1.0:
        with mpmath.workdps(40):
            left = count * mpmath.log(1 - mpmath.mpf(beta))
        assert waiting.log_rest >= left
        assert count == n - 1 or beta > 1.0 - 1e-12 or waiting.log_rest <= target - 24.0
    value = waiting.log_sum(np.linspace(-1e-3, 1e-9, 50))
    assert np.all(np.isfinite(value)) and np.all(np.diff(value) >= 0.0)


# -- any line -----------------------------------------------------------------------------------------------------


def hole_free(seed: int) -> list[list[Fraction]]:
    """A random matrix whose types all send every symbol."""
    rng = Random(seed)
    while True:
        matrix = random_matrix(rng)
        if all(entry for r in matrix for entry in r):
            return matrix


@examples(150, 40)
@given(
    st.integers(0, 10**6),
    st.integers(2, 5),
    st.floats(-3.0, 3.0),
    st.floats(-2.0, 2.0),
    st.one_of(st.just(1e-3), st.floats(0.005, 3.0)),
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
)
def test_any_line_gives_a_bound(seed: int, n: int, log_c: float, log_h: float, dither: float, eps: float) -> None:
    matrix, E = hole_free(seed), Fraction(math.exp(eps))
    beta = common_mass(matrix)
    p0, p1 = matrix[:2]
    found = []
    for t in floats(matrix):
        x = (np.array(floats([p0])[0]) - float(E) * np.array(floats([p1])[0])) / np.array(t)
        c = math.exp(log_c) / max(float(np.abs(x).max()), 1e-9)
        found.append((x, np.array(t), c))
    c = min(c for _, _, c in found)  # the same line for all types
    at = Line(*(np.full(len(found), v) for v in (c, c * math.exp(log_h), dither / c)))
    waiting = Waiting.of(float(beta), n, -100.0)
    x, t = np.array([f[0] for f in found]), np.array([f[1] for f in found])
    top = float(swap.log_upper(x, t, waiting, at).max())
    assert top <= float(swap.log_crude(x, t, waiting, at).max()) + 1e-6
    rest = (1 - beta) ** (n - 1) * local_delta(p0, p1, E)
    truth = max(theorem_one(p0, p1, matrix, others, E, beta=beta) for others in Datasets(matrix, n).others) - rest
    assert float(truth) * (1 - 1e-12) <= math.exp(top)


@examples(100, 30)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(-2.0, 2.0), st.floats(-1.5, 1.0), st.floats(0.01, 2.0))
def test_one_law_with_its_phases_is_a_bound_on_any_line(
    seed: int, n: int, log_c: float, log_h: float, s: float
) -> None:
    matrix = hole_free(seed)
    p0, p1, t = matrix[0], matrix[1], matrix[-1]
    beta, E = common_mass(matrix), Fraction(21, 20)
    x = (np.array(floats([p0])[0]) - 1.05 * np.array(floats([p1])[0])) / np.array(floats([t])[0])
    c = math.exp(log_c) / float(np.abs(x).max())
    waiting = Waiting.of(float(beta), n, -100.0)
    at = line(c, c * math.exp(log_h), s / c)
    with_phases = swap.log_upper(x[None], row(*floats([t])[0]), waiting, at, phases=True)
    without = swap.log_upper(x[None], row(*floats([t])[0]), waiting, at)
    rest = (1 - beta) ** (n - 1) * local_delta(p0, p1, E)
    truth = theorem_one(p0, p1, [t], [0] * (n - 1), E, beta=beta) - rest
    assert with_phases[0] <= without[0] + 1e-9
    assert float(truth) * (1 - 1e-12) <= math.exp(with_phases[0])


@pytest.mark.parametrize("phases", [False, True])
@pytest.mark.parametrize(("n", "beta"), [(2, 0.4), (30, 0.4), (30, 1.0), (60, 0.3)])
def test_the_sum_is_that_of_the_theorem(n: int, beta: float, phases: bool) -> None:
    """Node by node in 40 digits; blocks of k may only raise it, and little."""
    x, t = [0.8, -0.3, 0.05], [0.2, 0.5, 0.3]
    waiting = Waiting.of(beta, n, -100.0)
    c, bend = 1.3 / math.sqrt(n), n * 0.17
    at = swap.line_at(np.array([c]), np.array([bend]), 0.3)
    h, s = float(at.h[0]), float(at.s[0])
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for i in range(-200, 201):
            z = mpmath.mpc(c, i * h)
            m = mpmath.fsum(b * mpmath.exp(z * a) for a, b in zip(x, t, strict=True))
            if phases:
                a_of = mpmath.fsum(beta * (1 - beta) ** k * m ** (n - 1 - k) / (n - 1 - k) for k in range(n - 1))
                total += (a_of * mpmath.exp(s * s * z * z / 2) / (z * z)).real
            else:
                total += direct(beta, n, abs(m)) * mpmath.exp(s * s * (c * c - (i * h) ** 2) / 2) / abs(z) ** 2
        truth = float(mpmath.log(total * h / (2 * mpmath.pi)))
    got = float(swap.log_upper(row(*x), row(*t), waiting, at, phases=phases)[0])
    assert truth - 1e-9 <= got <= truth + 0.03


def test_rows_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(3)
    t = rng.dirichlet(np.ones(4), size=40)
    x = rng.normal(size=(40, 4))
    x -= (t * x).sum(axis=1, keepdims=True) + 0.05
    waiting = Waiting.of(0.3, 5000, -30.0)
    c, height, bend = swap.saddle(x, t, 5000.0)
    at = swap.line_at(c, bend, 0.02)
    for phases in (False, True):
        whole = swap.log_upper(x, t, waiting, at, phases=phases)
        single = [swap.log_upper(x[[i]], t[[i]], waiting, at.at(np.array([i])), phases=phases)[0] for i in range(40)]
        assert whole == pytest.approx(single, abs=1e-6)
    for factor in (0.9, 1.1):  # c minimises what saddle returns
        log_m = np.log((t * np.exp((factor * c)[:, None] * x)).sum(axis=1))
        assert np.all(height <= 5000.0 * log_m - 2.0 * np.log(factor * c) + 1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_failed_arithmetic_is_no_claim(scale: float) -> None:
    """Whatever overflows gives inf (or a bound), never NaN."""
    x, t = row(1.0, -0.5) * scale, row(0.3, 0.7)
    for c in (1e-200, 1.0, 1e200):
        value = swap.log_upper(x, t, Waiting.of(0.5, 100, -50.0), line(c, c, 0.1 / c))
        assert not np.isnan(value).any()
