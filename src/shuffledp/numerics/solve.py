"""The only monotone inversion: the eps at which a divergence curve meets delta.

delta(eps) is convex and falling in E = e^eps, so every tangent lies below it.  The curve names the
safe side: an answer of an "upper" curve satisfies upper(eps) <= delta and one of a "lower" curve
satisfies lower(eps) >= delta, both checked at the returned value itself, errors included.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .evaluators.choose import LARGEST_EPSILON, Divergence, Side, law_shift, spread
from .evaluators.screen import log_upper
from .pair import Atoms, ShuffledPair

_STEPS = 150
#: Relative accuracy of a polished root, and the largest number of steps it takes.
_POLISH, _POLISHING = 1e-7, 20
_POWERS = np.array([[1], [2], [3], [4]])


class Guess(NamedTuple):
    """An approximate root, and |d log delta / d eps| there."""

    epsilon: float
    slope: float


class Point(NamedTuple):
    """The safe end of the curve at one eps: log delta minus its target, and d log delta / d eps."""

    excess: float
    slope: float


def solve(curve: Divergence, delta: float, *, limit: float, tol: float, guess: Guess) -> float:
    """The eps of one curve at delta, on the curve's safe side, to a relative accuracy tol.

    ``limit`` is an eps at which the divergence is known to be 0 (log of the largest ratio), or inf.
    If nothing smaller passes the check the answer is ``limit`` (0 for a lower curve): never the wrong side.
    """
    upper = curve.side == "upper"
    log_delta = math.log(delta)
    low, high = 0.0, min(limit, LARGEST_EPSILON)
    answer = limit if upper else 0.0
    nudge = 1.0 + 0.3 * tol if upper else 1.0 - 0.3 * tol  # aim a little to the safe side
    eps, slope = guess.epsilon * nudge, guess.slope
    if not low < eps < high:
        eps = _middle(low, high)
    excess = 0.0
    ends = {"low": math.nan, "high": math.nan}  # excess at the ends of the bracket, where known
    for step in range(_STEPS):
        # Far from the root a coarse evaluation suffices; the answer itself is always evaluated finely.
        fine = min(max(0.3 * tol * eps * slope, 1e-8), 0.02)
        rtol = min(max(fine, 0.05 * abs(excess)), 0.02)
        excess, point_slope = look(curve, eps, rtol, log_delta)
        slope = abs(point_slope)
        safe = excess <= 0.0 if upper else excess >= 0.0
        if safe:
            answer = eps
        if safe or abs(excess) > 3.0 * rtol or rtol <= fine:
            low, high = (eps, high) if excess > 0.0 else (low, eps)
            ends["low" if excess > 0.0 else "high"] = excess
        if safe and slope and rtol <= 1.5 * fine:
            # how far the root can be: the curve is convex in E, so an upper one lies above its tangent
            room = -math.expm1(excess) / (slope * math.exp(excess)) if upper else excess / slope
            if room <= 0.4 * tol * eps:
                return eps
        if high - low <= 0.3 * tol * high:
            return answer
        target = (eps + excess / slope) * (1.0 + 0.5 * (nudge - 1.0)) if slope and math.isfinite(excess) else -1.0
        if upper and target <= 0.0 and low == 0.0 and look(curve, 0.0, 1e-3, log_delta).excess <= 0.0:
            return 0.0
        if not low < target < high:  # a kink: where the chord meets the target, if that is known
            chord = low + (high - low) * ends["low"] / (ends["low"] - ends["high"]) if low else math.nan
            target = chord * (1.0 + 0.5 * (nudge - 1.0))
        # a bisection every twelfth step, whatever the shape of the curve
        eps = target if low < target < high and step % 12 != 11 else _middle(low, high)
        if eps < 1e-15:
            return answer
    return answer


def _middle(low: float, high: float) -> float:
    if low == 0.0:
        return 0.05 * high
    return math.sqrt(low * high) if high > 2.0 * low else 0.5 * (low + high)


def look(curve: Divergence, eps: float, rtol: float, log_delta: float) -> Point:
    """One evaluation on the curve's safe side."""
    bracket = curve.bracket(np.array([eps]), rtol)
    top = float(bracket.upper[0])
    value = top if curve.side == "upper" else float(bracket.lower[0])
    if math.isnan(value):  # NaN never counts as private enough, nor as a proved lower bound
        value = math.inf if curve.side == "upper" else -math.inf
    scale = math.exp(top) if -700.0 < top < 700.0 else math.inf
    return Point(value - log_delta, float(bracket.slope[0]) / scale)


def guess_epsilon(atoms: Atoms, n: int, delta: float, limit: float) -> Guess:
    """A failed guess does no harm: the search only starts there."""
    try:
        with np.errstate(all="ignore"):
            return _saddle_guess(atoms, n, delta, limit)
    except (ArithmeticError, ValueError):
        eps = 0.5 * min(limit, 1.0)
        return Guess(eps, 1.0 / eps)


def _saddle_guess(atoms: Atoms, n: int, delta: float, limit: float) -> Guess:
    """eps by the saddle-point approximation of delta, with its first correction: good to 1e-5 for large n."""
    log_delta = math.log(delta)
    eps = _gaussian_guess(atoms, n, delta)
    if not 0.0 < eps < limit:
        eps = 0.5 * min(limit, 1.0)
    fall = 1.0 / eps
    if not atoms.t.size:
        return Guess(eps, fall)
    t, gap, v = atoms.t, atoms.gap, atoms.v
    c = 0.0
    low, high = 0.0, min(limit, LARGEST_EPSILON)
    for _ in range(40):
        values = gap - math.expm1(eps) * v
        top = float(values.max())
        if top <= 0.0:
            high = eps
            eps = 0.5 * (low + eps)
            continue
        if c == 0.0:
            mean, square = float(t @ values), float(t @ (values * values))
            c = (math.sqrt((n * mean) ** 2 + 8.0 * n * square) - n * mean) / (2.0 * n * square)
        c = min(c, 500.0 / top)
        weight = t * np.exp(c * values)
        total = 1.0 + float(t @ np.expm1(c * values))
        # moments of the tilted law, then derivatives of phi(c) = n K(c) - 2 log c
        m1, m2, m3, m4 = ((weight * values**_POWERS).sum(axis=1) / total).tolist()
        pull = n * m1 - 2.0 / c
        bend = n * max(m2 - m1 * m1, 0.0) + 2.0 / c**2
        third = n * (m3 - 3.0 * m1 * m2 + 2.0 * m1**3) - 4.0 / c**3
        fourth = n * (m4 - 4.0 * m1 * m3 - 3.0 * m2**2 + 12.0 * m1**2 * m2 - 6.0 * m1**4) + 12.0 / c**4
        curl = fourth / (8.0 * bend**2) - 5.0 * third**2 / (24.0 * bend**3)
        log_value = n * math.log1p(float(t @ np.expm1(c * values))) - 2.0 * math.log(c) - 0.5 * pull * pull / bend
        log_value += math.log1p(min(max(curl, -0.5), 0.5)) - 0.5 * math.log(2.0 * math.pi * bend)
        excess = log_value - math.log(n) - log_delta
        fall = math.exp(eps) * c * n * float(weight @ v) / total
        c = min(max(c - pull / bend, 0.3 * c), 3.0 * c)
        if not (fall > 0.0 and math.isfinite(fall) and math.isfinite(excess)):
            return Guess(eps, 1.0 / eps)
        low, high = (eps, high) if excess > 0.0 else (low, eps)
        new = eps + excess / fall
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - eps) <= 2e-3 * eps and abs(pull) <= 0.01 * math.sqrt(bend):
            return Guess(new, fall)
        eps = new
        if high - low <= 1e-3 * high:
            low, high = 0.0, min(limit, LARGEST_EPSILON)
    return Guess(eps, fall)


def _gaussian_guess(atoms: Atoms, n: int, delta: float) -> float:
    """eps by the leading order delta ~ (sigma/sqrt n) (phi(u) - u Phi(-u)), u = sqrt(n) (E - 1)/sigma."""
    sigma = math.sqrt(float(atoms.t @ (atoms.gap * atoms.gap)) / n)
    if not sigma > 0.0:
        return 0.0
    target = math.log(delta) - math.log(sigma)
    u = 1.0
    for _ in range(40):
        tail = 0.5 * math.erfc(u / math.sqrt(2.0))
        value = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi) - u * tail
        if value <= 0.0:
            u *= 0.7
            continue
        new = min(max(u + (math.log(value) - target) * value / tail, 0.2 * u), 36.0)
        if abs(new - u) < 1e-2 * u:
            break
        u = new
    return math.log1p(u * sigma)


def pair_limit(pair: ShuffledPair) -> float:
    """The eps from which the divergence of this pair is 0, whatever the others do."""
    return log_up(pair.max_ratio)


def log_up(ratio: float) -> float:
    """log of a ratio of probabilities, rounded up; 0 for ratios up to 1."""
    return math.log(ratio) * (1.0 + 2.0**-50) + 2.0**-50 if ratio > 1.0 else 0.0


def epsilon(pairs: Iterable[ShuffledPair], *, n: int, delta: float, tol: float, side: Side) -> float:
    """The largest eps over several pairs; a pair that does not raise the current answer costs one evaluation."""
    best = 0.0
    members = list(pairs)
    if len(members) > 1:  # the most distinguishable first: the others then often cost one evaluation
        members.sort(key=spread, reverse=True)
        if side == "lower" and n >= 1000:  # any subset is a valid lower bound
            enough = 0.9 * spread(members[0])
            members = [pair for pair in members if spread(pair) >= enough]
    for pair in members:
        limit = log_up(pair.max_ratio)
        if limit <= best:
            continue
        curve = Divergence(pair, n, side)
        if best > 0.0 and (_screened(curve, best, delta) or look(curve, best, 1e-3, math.log(delta)).excess <= 0.0):
            continue
        if zero_suffices(curve, delta):
            continue
        if math.isinf(limit) and curve.floor > delta * (1.0 + 1e-12):
            return math.inf
        guess = guess_epsilon(curve.atoms, n, delta, limit)
        guess = guess._replace(epsilon=max(guess.epsilon, best))
        found = solve(curve, delta, limit=limit, tol=tol, guess=guess)
        best = max(best, found if curve.few_clones is None else polished(curve, found, delta, tol))
    return best


def polished(curve: Divergence, found: float, delta: float, tol: float) -> float:
    """A solution, moved to the root itself where evaluations are sharp and cost next to nothing (few_clones.py).

    The curve is convex in E, so that Newton's steps from the left of the root stay on its left; the last step goes a
    little to the safe side of the curve, and is taken only if the check passes there.
    """
    upper, log_delta = curve.side == "upper", math.log(delta)
    ratio = math.exp(found * (1.0 - tol)) if 0.0 < found <= LARGEST_EPSILON else math.inf
    for _ in range(_POLISHING):
        bracket = curve.sharp(math.log(ratio)) if 1.0 < ratio < math.inf else None
        if bracket is None or not bracket.slope[0] < 0.0:
            return found
        step = (math.exp(float(bracket.upper[0])) - delta) / -float(bracket.slope[0])
        ratio *= 1.0 + step  # the tangent in E, whose slope is that in eps over E
        if abs(step) <= 0.1 * _POLISH * math.log(max(ratio, 1.0)):
            break
    if not 1.0 < ratio < math.inf:
        return found
    better = math.log(ratio) * (1.0 + _POLISH if upper else 1.0 - _POLISH)
    bracket = curve.sharp(better) if (better < found) == upper else None
    if bracket is None:
        return found
    safe = bracket.upper[0] <= log_delta if upper else bracket.lower[0] >= log_delta
    return better if safe else found


def exceeds(pair: ShuffledPair, eps: float, *, n: int, delta: float) -> bool:
    """Whether one evaluation fails to prove that the divergence at eps is at most delta."""
    return look(Divergence(pair, n, "upper"), eps, 1e-3, math.log(delta)).excess > 0.0


def _screened(curve: Divergence, eps: float, delta: float) -> bool:
    """A cheap upper bound at eps is small enough already (see screen.py)."""
    if curve.side == "lower" or curve.atoms.zero0.size or eps > LARGEST_EPSILON:
        return False
    shifted = np.array([eps]) - law_shift(np.array([eps]))
    with np.errstate(all="ignore"):
        return bool(log_upper(curve.atoms.values(shifted), curve.atoms.t, curve.n)[0] <= math.log(delta))


def zero_suffices(curve: Divergence, delta: float) -> bool:
    """delta(0) <= delta, so that eps = 0; evaluated only where the leading order makes it likely."""
    likely = delta >= 0.3 * math.sqrt(float(curve.atoms.t @ curve.atoms.gap**2) / curve.n)
    return likely and bool(curve.bracket(np.array([0.0]), 1e-3).upper[0] <= math.log(delta))
