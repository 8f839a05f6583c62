"""A first guess at eps by the saddle-point approximation of delta; nothing rests on it but where a search starts."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from .evaluators.choose import LARGEST_EPSILON
from .few_atoms import Few
from .pair import Atoms, FloatArray

X = TypeVar("X")
#: The largest first correction with which the approximation of delta is trusted as a first estimate.
_GOOD = 0.2
_POWERS = np.array([[1], [2], [3], [4]])
_ROOT_TAU, _ROOT_TWO, _TAU = math.sqrt(2.0 * math.pi), math.sqrt(2.0), 2.0 * math.pi


class Guess(NamedTuple):
    """An approximate root, |d log delta / d eps| there, and the saddle point of the transform (0 if not known)."""

    epsilon: float
    slope: float
    abscissa: float = 0.0


class _Moments(NamedTuple):
    """M(c) - 1, the first four moments of X under the tilted law, and the mean of v."""

    growth: float
    m1: float
    m2: float
    m3: float
    m4: float
    v: float


class _Law(Protocol[X]):
    """What the iteration asks of a law; X holds its values."""

    def values(self, growth: float) -> X:
        """X at E = 1 + growth."""

    def top(self, x: X) -> float:
        """The largest value."""

    def spread(self) -> float:
        """sum of t gap^2."""

    def moments(self, x: X, c: float) -> _Moments:
        """Of the law tilted by e^(cX)."""


class _InFloats:
    """A law of a few atoms."""

    def __init__(self, few: Few) -> None:
        self.values = few.values
        self._t, self._v, self._gap = few.t, few.v, few.gap

    def top(self, x: list[float]) -> float:
        return max(x)

    def spread(self) -> float:
        return sum(t * g * g for g, t in zip(self._gap, self._t, strict=True))

    def moments(self, x: list[float], c: float) -> _Moments:
        total = m1 = m2 = m3 = m4 = speed = 0.0
        for y, v, t in zip(x, self._v, self._t, strict=True):
            grown = t * math.expm1(c * y)
            total += grown
            weight = grown + t
            speed += weight * v
            weight *= y
            m1 += weight
            weight *= y
            m2 += weight
            weight *= y
            m3 += weight
            m4 += weight * y
        scale = 1.0 / (1.0 + total)
        return _Moments(total, m1 * scale, m2 * scale, m3 * scale, m4 * scale, speed * scale)


class _InArrays:
    """A law of any number of atoms."""

    def __init__(self, atoms: Atoms) -> None:
        self._atoms = atoms

    def values(self, growth: float) -> FloatArray:
        return np.asarray(self._atoms.gap - growth * self._atoms.v)

    def top(self, x: FloatArray) -> float:
        return float(x.max())

    def spread(self) -> float:
        return self._atoms.spread

    def moments(self, x: FloatArray, c: float) -> _Moments:
        t = self._atoms.t
        weight = t * np.exp(c * x)
        total = float(t @ np.expm1(c * x))
        m1, m2, m3, m4 = ((weight * x**_POWERS).sum(axis=1) / (1.0 + total)).tolist()
        return _Moments(total, m1, m2, m3, m4, float(weight @ self._atoms.v) / (1.0 + total))


def guess_epsilon(atoms: Atoms | Few, n: int, delta: float, limit: float) -> Guess:
    """eps by the saddle-point approximation; a failed guess does no harm."""
    few = atoms if isinstance(atoms, Few) else atoms.few
    try:
        if few is not None:
            return _saddle_guess(_InFloats(few), n, delta, limit)
        if isinstance(atoms, Atoms) and atoms.t.size:
            with np.errstate(all="ignore"):
                return _saddle_guess(_InArrays(atoms), n, delta, limit)
    except (ArithmeticError, ValueError):
        pass
    eps = 0.5 * min(limit, 1.0)
    return Guess(eps, 1.0 / eps)


def guess_log_delta(atoms: Atoms, n: float, eps: float) -> float | None:
    """log delta at one eps by the saddle-point approximation; None where it is not good to a few percent of delta.

    Examples
    --------
    >>> from shuffledp.numerics.pair import ShuffledPair
    >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
    >>> round(guess_log_delta(coin.atoms, 10**5, 0.0142), 2)
    -13.9
    """
    if atoms.zero0.size or not atoms.t.size:
        return None
    try:
        if atoms.few is not None:
            return _log_delta_at(_InFloats(atoms.few), n, eps)
        with np.errstate(all="ignore"):
            return _log_delta_at(_InArrays(atoms), n, eps)
    except (ArithmeticError, ValueError):
        return None


def _log_delta_at(law: _Law[X], n: float, eps: float) -> float | None:
    """The approximation at its saddle."""
    x = law.values(math.expm1(eps))
    top = law.top(x)
    if top <= 0.0:
        return None
    _, mean, square, *_ = law.moments(x, 0.0)
    c = (math.sqrt((n * mean) ** 2 + 8.0 * n * square) - n * mean) / (2.0 * n * square)
    for _ in range(40):
        c = min(c, 500.0 / top)
        at = _Saddle.of(law.moments(x, c), n, c)
        if abs(at.pull) <= 0.01 * math.sqrt(at.bend):
            good = abs(at.curl) <= _GOOD and math.isfinite(at.log_value)
            return at.log_value - math.log(n) if good else None
        c = min(max(c - at.pull / at.bend, 0.3 * c), 3.0 * c)
    return None


class _Saddle(NamedTuple):
    """phi(c) = n K(c) - 2 log c near its minimum: two derivatives, the first correction, and log(n delta)."""

    pull: float
    bend: float
    curl: float
    log_value: float

    @classmethod
    def of(cls, moments: _Moments, n: float, c: float) -> _Saddle:
        """From the moments of the law tilted by e^(cX)."""
        total, m1, m2, m3, m4, _ = moments
        pull = n * m1 - 2.0 / c
        bend = n * max(m2 - m1 * m1, 0.0) + 2.0 / c**2
        third = n * (m3 - 3.0 * m1 * m2 + 2.0 * m1**3) - 4.0 / c**3
        fourth = n * (m4 - 4.0 * m1 * m3 - 3.0 * m2**2 + 12.0 * m1**2 * m2 - 6.0 * m1**4) + 12.0 / c**4
        curl = fourth / (8.0 * bend**2) - 5.0 * third**2 / (24.0 * bend**3)
        log_value = n * math.log1p(total) - 2.0 * math.log(c) - 0.5 * pull * pull / bend
        log_value += math.log1p(min(max(curl, -0.5), 0.5)) - 0.5 * math.log(_TAU * bend)
        q = c * c * bend  # what is left of the correction if X is Gaussian, fitted
        return cls(pull, bend, curl, log_value - 5.0 / (q * q * (q + 15.0 + 120.0 / q)))


def _saddle_guess(law: _Law[X], n: int, delta: float, limit: float) -> Guess:
    """eps by the saddle-point approximation of delta, with its first correction: good to 1e-5 for large n."""
    log_target = math.log(delta) + math.log(n)
    eps = _gaussian_guess(math.sqrt(law.spread() / n), delta)
    if not 0.0 < eps < limit:
        eps = 0.5 * min(limit, 1.0)
    fall = 1.0 / eps
    c = 0.0
    low, high = 0.0, min(limit, LARGEST_EPSILON)
    for _ in range(40):
        x = law.values(math.expm1(eps))
        top = law.top(x)
        if top <= 0.0:
            high = eps
            eps = 0.5 * (low + eps)
            continue
        if c == 0.0:
            _, mean, square, *_ = law.moments(x, 0.0)
            c = (math.sqrt((n * mean) ** 2 + 8.0 * n * square) - n * mean) / (2.0 * n * square)
        c = min(c, 500.0 / top)
        moments = law.moments(x, c)
        at = _Saddle.of(moments, n, c)
        pull, bend, excess = at.pull, at.bend, at.log_value - log_target
        fall = math.exp(eps) * c * n * moments.v
        c = min(max(c - pull / bend, 0.3 * c), 3.0 * c)
        if not (fall > 0.0 and math.isfinite(fall) and math.isfinite(excess)):
            return Guess(eps, 1.0 / eps)
        low, high = (eps, high) if excess > 0.0 else (low, eps)
        new = eps + excess / fall
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - eps) <= 3e-4 * eps and abs(pull) <= 0.01 * math.sqrt(bend):
            return Guess(new, fall, c)
        eps = new
        if high - low <= 1e-3 * high:
            low, high = 0.0, min(limit, LARGEST_EPSILON)
    return Guess(eps, fall, c)


def _gaussian_guess(sigma: float, delta: float) -> float:
    """eps by the leading order delta ~ sigma (phi(u) - u Phi(-u)), u = (E - 1)/sigma."""
    if not sigma > 0.0:
        return 0.0
    target = math.log(delta) - math.log(sigma)
    u = math.sqrt(max(-2.0 * target - 4.0, 1.0))  # phi(u)/u^2, roughly
    for _ in range(40):
        tail = 0.5 * math.erfc(u / _ROOT_TWO)
        value = math.exp(-0.5 * u * u) / _ROOT_TAU - u * tail
        if value <= 0.0:
            u *= 0.7
            continue
        new = min(max(u + (math.log(value) - target) * value / tail, 0.2 * u), 36.0)
        if abs(new - u) < 1e-2 * u:
            break
        u = new
    return math.log1p(u * sigma)
