"""An enclosure of D_E of a round in ball arithmetic (python-flint), at n far beyond fractions.

The counts h of n draws weigh Mult(h) (sum_j h_j l_j)_+ / n, l_j = (P0_j - E P1_j)/t_j.  All but two
categories are enumerated; the two most frequent ones are summed outward from the largest term, and every
sum is closed with a geometric remainder.  Rows that cannot matter are bounded (Chernoff) and added as balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx, fmpq

PRECISION = 192
#: Everything left out is below this part of the sum.
RELATIVE = 2.0**-52
MAX_ROWS = 3_000_000


def exact(value: float | Fraction | int) -> arb:
    fraction = Fraction(value)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def round_divergence(
    P0: Sequence[float], P1: Sequence[float], t: Sequence[float], n: int, eps: float | Fraction
) -> arb:
    """A ball that contains D_{e^eps} of the round among n messages."""
    ctx.prec = PRECISION
    E = exact(eps).exp()
    total, values, chances = arb(0), [], []
    for a, b, c in zip(P0, P1, t, strict=True):
        gain = exact(a) - E * exact(b)
        if a == 0 and b == 0:
            continue
        if c == 0:
            total += gain.max(arb(0))
        else:
            values.append(gain / exact(c))
            chances.append(Fraction(c))
    nothing = 1 - sum(chances, Fraction(0))
    if nothing < 0:
        raise ValueError("t sums to more than 1")
    if nothing > 0:
        values.append(arb(0))
        chances.append(nothing)
    if not chances:
        return total
    return total + _expected_positive_part(values, chances, n) / n


def log_divergence(P0: Sequence[float], P1: Sequence[float], t: Sequence[float], n: int, eps: float) -> arb:
    """The logarithm of :func:`round_divergence` (a float cannot hold 1e-400)."""
    return round_divergence(P0, P1, t, n, eps).log()


def _expected_positive_part(values: list[arb], chances: list[Fraction], n: int) -> arb:
    if len(values) == 1:
        return (values[0] * n).max(arb(0))
    if all(v <= 0 for v in values):
        return arb(0)
    order = sorted(range(len(values)), key=lambda j: chances[j])
    values, chances = [values[j] for j in order], [chances[j] for j in order]
    b, a = len(values) - 2, len(values) - 1
    cap, beyond = _outer_cap(chances, n)
    outer = _compositions(cap, b)
    bounds = _row_bounds(outer, values, chances, n)
    shift = float(bounds.max())
    unit, sum_, left = arb(shift).exp(), arb(0), np.exp(bounds - shift)
    ranking = np.argsort(-bounds)
    remaining = np.cumsum(left[ranking][::-1])[::-1]
    log_chances = [exact(c).log() for c in chances]
    for place, row in enumerate(ranking):
        missing = unit * (float(remaining[place]) * (1 + 1e-6) + 1e-300)
        if missing < RELATIVE * sum_:
            sum_ += missing.union(arb(0))
            break
        sum_ += _inner_sum([int(k) for k in outer[row]], values, chances, log_chances, n, a, b)
    largest = max(float(v.upper()) for v in values)
    if beyond > -math.inf:
        sum_ += (arb(beyond).exp() * n * max(largest, 0.0)).union(arb(0))
    return sum_


def _outer_cap(chances: list[Fraction], n: int) -> tuple[int, float]:
    """Largest number of draws outside the two frequent categories, and log Pr of more (<= -1500)."""
    if len(chances) == 2:
        return 0, -math.inf
    rate = float(sum(chances[:-2]))
    for cap in range(math.ceil(n * rate), n):
        x = (cap + 1) / n
        tail = 0.0 if x >= 1 else (1 - x) * (math.log1p(-x) - math.log1p(-rate))
        chernoff = -n * (x * math.log(x / rate) + tail)
        if x > rate and chernoff < -1500.0:
            return cap, chernoff * (1 - 1e-9)
        if cap > 20_000:
            raise ValueError("too many counts for the ball oracle")
    return n, -math.inf


def _compositions(cap: int, k: int) -> np.ndarray:
    if math.comb(cap + k, k) > MAX_ROWS:
        raise ValueError("too many counts for the ball oracle")
    rows, left = np.zeros((1, 0)), np.array([cap])
    for _ in range(k):
        parent = np.repeat(np.arange(left.size), left + 1)
        value = np.concatenate([np.arange(m + 1) for m in left])
        rows, left = np.column_stack([rows[parent], value]), left[parent] - value
    return rows


def _row_bounds(outer: np.ndarray, values: list[arb], chances: list[Fraction], n: int) -> np.ndarray:
    """log of an upper bound on what each row adds (floats, with room for their rounding)."""
    gain = np.array([float(v) for v in values])
    t = np.array([float(c) for c in chances])
    m = n - outer.sum(axis=1)
    lgamma = np.frompyfunc(math.lgamma, 1, 1)
    log_mass = math.lgamma(n + 1.0) + m * math.log(t[-2] + t[-1]) - lgamma(m + 1.0).astype(float)
    for j in range(outer.shape[1]):
        log_mass = log_mass + outer[:, j] * math.log(t[j]) - lgamma(outer[:, j] + 1.0).astype(float)
    base = outer @ gain[:-2] + m * gain[-1]
    step = gain[-2] - gain[-1]
    reach = np.maximum(base, base + m * step)
    q = t[-2] / (t[-2] + t[-1])
    with np.errstate(all="ignore"):
        need = np.clip(-base / step, 0.0, m) if step else np.zeros_like(m)
        x = np.where(m > 0, need / np.maximum(m, 1), q)
        kl = np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / q), 0.0)
        kl = kl + np.where(x < 1, (1 - x) * np.log((1 - np.where(x < 1, x, 0)) / (1 - q)), 0.0)
        away = (x > q) if step > 0 else (x < q)
        log_value = np.log(reach)
    bound = log_mass - np.where(away, m * np.maximum(kl, 0.0), 0.0) + log_value
    room = 1e-3 + 1e-13 * (math.lgamma(n + 1.0) + n)
    slack = 1e-12 * (np.abs(outer) @ np.abs(gain[:-2]) + m * (abs(gain[-1]) + abs(gain[-2])))
    tiny = np.log(np.maximum(slack, 1e-300)) + log_mass
    return np.logaddexp(np.where(reach > 0, bound, -np.inf), tiny) + room


@lru_cache(maxsize=100_000)
def _log_factorial(k: int) -> arb:
    return arb(k + 1).lgamma()


def _inner_sum(
    outer: list[int], values: list[arb], chances: list[Fraction], log_chances: list[arb], n: int, a: int, b: int
) -> arb:
    """sum over h of category b (m - h of category a) of Mult * (S)_+, from the largest term outward."""
    m = n - sum(outer)
    base = sum((values[j] * k for j, k in enumerate(outer)), arb(0)) + values[a] * m
    step = values[b] - values[a]
    low, high = 0, m
    if not step.contains(0):
        root = -base / step
        near = math.floor(float(root.mid())) if abs(float(root.mid())) < 1e17 else (0 if root < 0 else m)
        if step > 0:
            low = min(max(0, near - 2), m)
        else:
            high = max(min(m, near + 3), 0)
    odds = exact(chances[b] / chances[a])
    start = min(max(math.floor((m + 1) * float(chances[b] / (chances[a] + chances[b]))), low), high)
    log_mass = _log_factorial(n) - _log_factorial(start) - _log_factorial(m - start)
    log_mass += log_chances[b] * start + log_chances[a] * (m - start)
    for j, k in enumerate(outer):
        log_mass += log_chances[j] * k - _log_factorial(k)
    top = log_mass.exp()
    total = top * (base + step * start).max(arb(0))
    size = abs(step)
    for direction, end in ((1, high), (-1, low)):
        mass, h = top, start
        while h != end:
            ratio = odds * (m - h) / (h + 1) if direction > 0 else arb(h) / (odds * (m - h + 1))
            mass, h = mass * ratio, h + direction
            here = (base + step * h).max(arb(0))
            total += mass * here
            if ratio < 0.9:
                rest = mass * (here + size) * ratio / (1 - ratio) ** 2
                if rest < RELATIVE * total:
                    total += rest.union(arb(0))
                    break
    return total
