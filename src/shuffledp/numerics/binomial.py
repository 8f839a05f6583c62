"""Binomial and Poisson laws, accurate at any n: probabilities, tails, and windows of the numbers that matter.

Differences of log-gammas lose 4e-7 at n = 1e8; Loader's form (C. Loader, "Fast and accurate computation of binomial
probabilities", 2000) writes a probability as Stirling corrections and deviances, every one of them small and computed
without cancellation.  A window is built from the ratios of neighboring masses, outward from the mode, and divided by
its sum: this takes no special function, and every mass has a small *relative* error, even far out in the tail.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .ledger import charge
from .pair import FloatArray, IntArray, Side
from .rows import chunks
from .search import smallest_whole

#: Binomial windows leave out at most this log-probability on either side.
LOG_LEFT_OUT = -110.0
#: Poisson windows reach this many deviations to either side of the mean, and this many numbers further above it.
_DEVIATIONS, _MORE = 12.0, 60
#: Beyond, e^eps is not a double.
_MOST_EPS = 700.0
_EXACT_CORRECTION = np.array(
    [0.0] + [math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi) for k in range(1, 16)]
)


def stirling_correction(k: FloatArray) -> FloatArray:
    """log k! - log(sqrt(2 pi k) (k/e)^k) for k >= 1 (0 at k = 0, which the callers treat separately)."""
    x = np.maximum(k, 16.0)
    y = 1.0 / (x * x)
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188))))) / x
    return np.where(k < 16, _EXACT_CORRECTION[np.minimum(k, 15).astype(np.int64)], series)


def deviance(k: FloatArray, mean: float) -> FloatArray:
    """k log(k / mean) + mean - k >= 0, without cancellation near k = mean."""
    ratio = (k - mean) / (k + mean)  # log(k/mean) = 2 atanh(ratio); k - mean = ratio (k + mean)
    plain = np.where(k > 0, k * np.log(np.where(k > 0, k, 1.0) / mean), 0.0) + mean - k
    square = ratio * ratio
    term, tail = np.ones_like(square), np.zeros_like(square)
    for i in range(1, 12):
        term = term * square
        tail = tail + term / (2 * i + 1)
    return np.where(np.abs(ratio) < 0.1, (k - mean) * ratio + 2.0 * k * ratio * tail, plain)


def log_term(k: FloatArray, mean: float) -> FloatArray:
    """-log Pr[Poisson(mean) = k], a factor of every multinomial probability (inf for k > 0 of mean 0).

    Examples
    --------
    >>> np.exp(-log_term(np.array([0.0, 1.0]), 1.0)).round(4).tolist()
    [0.3679, 0.3679]
    """
    if mean <= 0.0:
        return np.where(k > 0, np.inf, 0.0)
    half_log = 0.5 * np.log(2 * np.pi * np.maximum(k, 1.0))
    return np.asarray(np.where(k > 0, half_log + stirling_correction(k), 0.0) + deviance(k, mean))


def log_multinomial(counts: IntArray | FloatArray, n: int, t: FloatArray) -> FloatArray:
    """log Mult(n; t, 1 - sum t) at each row of counts; the remaining draws of n are "nothing"."""
    counts = np.asarray(counts, dtype=np.int64)
    table = np.column_stack([counts, n - counts.sum(axis=1)])
    means = n * np.append(t, max(0.0, 1.0 - float(np.sum(t))))
    out = np.full(len(table), float(stirling_correction(np.array(float(n)))) + 0.5 * math.log(2 * math.pi * n))
    for k, mean in zip(table.T, means.tolist(), strict=True):
        low = int(k.min(initial=n))
        each = np.arange(low, int(k.max(initial=low)) + 1)  # far fewer numbers than rows, in a table
        out -= log_term(each.astype(np.float64), mean)[k - low] if each.size < k.size else log_term(k * 1.0, mean)
    return out


@charge("tails of a binomial law", "Chernoff: Pr[Bin(n, t) >= k] <= exp(-n KL(k/n || t))")
def log_tail_bound(n: int, t: float, k: float) -> float:
    """log of an upper bound on Pr[Bin(n, t) >= k]: 0 below the mean, -inf above n."""
    if k > n or (t <= 0.0 and k > 0):
        return -math.inf
    if k <= n * t:
        return 0.0
    x = k / n
    second = 0.0 if x >= 1.0 else (1.0 - x) * (math.log1p(-x) - math.log1p(-t))
    return -n * (x * math.log(x / t) + second)


def first_rare(n: int, t: float) -> int:
    """The smallest k >= 1 whose bound on log Pr[Bin(n, t) >= k] is at most LOG_LEFT_OUT; n + 1 if there is none.

    Examples
    --------
    >>> first_rare(1000, 0.5)
    731
    """
    mean, least = n * t, -LOG_LEFT_OUT
    start = mean + least / 3.0 + math.sqrt(least * least / 9.0 + 2.0 * least * mean * (1.0 - t))  # Bernstein's k
    for _ in range(3):  # Newton steps stay above the root
        if not mean < start < n:
            break
        odds = start * (1.0 - t) / ((n - start) * t) if t > 0.0 else math.inf
        start += (log_tail_bound(n, t, start) + least) / math.log(odds) if 1.0 < odds < math.inf else 0.0
    found = smallest_whole(
        lambda k: log_tail_bound(n, t, k) - LOG_LEFT_OUT, low=1, high=n + 1, start=math.ceil(min(start, n + 1.0))
    )
    return found or n + 1


class Window(NamedTuple):
    """A law on start, start + 1, ...: its masses, conditioned on the window, and a bound on Pr[outside]."""

    start: int
    mass: FloatArray
    left_out: float


def ends_of_binomial(size: int, chance: float, other: float) -> tuple[int, int]:
    """The window [start, stop) of Bin(size, chance); ``other`` is 1 - chance, without cancellation."""
    return max(0, size - first_rare(size, other) + 1), first_rare(size, chance)


def ends_of_poisson(mean: float) -> tuple[int, int]:
    """The window [start, stop) of a Poisson number."""
    reach = _DEVIATIONS * math.sqrt(mean)
    return max(math.floor(mean - reach), 0), math.ceil(mean + reach) + _MORE + 1


def binomial(size: int, odds: float) -> Window:
    """Bin(size, p) with p = odds/(1 + odds).

    A mass is a product of at most as many ratios as the window is long; each is right to 6 roundings, one of the odds.

    Examples
    --------
    >>> binomial(2, 1.0).mass.tolist()
    [0.25, 0.5, 0.25]
    """
    other = 1.0 / (1.0 + odds)
    start, stop = ends_of_binomial(size, odds * other, other)
    mode = min(max(int((size + 1) * odds * other), start), stop - 1)
    up = np.arange(mode, stop - 1, dtype=np.float64)
    down = np.arange(mode - 1, start - 1, -1, dtype=np.float64)
    mass = _outward((size - up) / (up + 1.0) * odds, (down + 1.0) / (size - down) / odds)
    return Window(start, mass, outside_window((start > 0) + (stop <= size)))


def poisson(mean: float) -> Window:
    """A Poisson number of this mean.

    Examples
    --------
    >>> poisson(2.0).mass[:3].round(4).tolist()
    [0.1353, 0.2707, 0.2707]
    """
    start, stop = ends_of_poisson(mean)
    mode = min(max(int(mean), start), stop - 1)
    up = np.arange(mode + 1, stop, dtype=np.float64)
    down = np.arange(mode, start, -1, dtype=np.float64)
    return Window(start, _outward(mean / up, down / mean), outside_window(None))


@charge("numbers outside of a window", "Chernoff's bound, binomial.py")
def outside_window(open_ends: int | None) -> float:
    """The probability of all numbers that a window leaves out.

    A binomial window leaves out e^LOG_LEFT_OUT at every open end; adding 1 to the exponent covers its rounding.  A
    Poisson window (None) leaves out e^-72 below, and Pr[> mean + 12 sqrt(mean) + 60] < 1e-30 above, for every mean.
    """
    return 2e-30 if open_ends is None else math.exp(LOG_LEFT_OUT + 1.0) * open_ends


def _outward(up: FloatArray, down: FloatArray) -> FloatArray:
    """Masses that sum to 1 from the ratios above and below the mode."""
    with np.errstate(under="ignore"):
        mass = np.concatenate([np.cumprod(down)[::-1], [1.0], np.cumprod(up)])
        return np.asarray(mass / mass.sum())


class Lines(NamedTuple):
    """rise - (E - 1) fall for every event of a count: D_E is the largest of these lines, rounded up or down.

    2^-50 covers the rounding of e^eps - 1, and of the logarithm that gives eps.
    """

    rise: FloatArray
    fall: FloatArray
    side: Side

    @property
    def _room(self) -> float:
        return 2.0**-50 if self.side == "upper" else -(2.0**-50)

    def delta(self, eps: FloatArray) -> FloatArray:
        """D_E at every eps."""
        tried = np.minimum(eps, _MOST_EPS) if self.side == "upper" else eps
        with np.errstate(over="ignore"):
            growth = np.expm1(tried) * (1.0 - self._room)
            parts = [growth[part, None] for part in chunks(np.full(eps.size, float(self.rise.size)))]
            found = [(self.rise - part * self.fall).max(axis=1, initial=0.0) for part in parts]
        return np.concatenate([np.zeros(0), *found])

    def epsilon(self, delta: float) -> float:
        """The eps at which D_E meets delta; 0 if it is smaller everywhere, inf if it is larger."""
        live = self.rise > delta
        with np.errstate(divide="ignore"):
            ratio = float(((self.rise[live] - delta) / self.fall[live]).max(initial=0.0))
        return math.log1p(ratio) * (1.0 + self._room)
