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
from .guess import Guess as Guess
from .guess import guess_epsilon as guess_epsilon
from .pair import ShuffledPair

_STEPS = 150
#: Relative accuracy of a polished root, and the largest number of steps it takes.
_POLISH, _POLISHING = 1e-7, 20
#: How far to the safe side of a tangent's root an answer by the window of counts is placed, in units of tol; and where
#: two looks have given the slope, in units of the usual step to that side.
_SHARP, _NEAR = 0.02, 0.25
#: Laws whose atoms differ by no more than this part have the same lower bound.
_SAME = 1e-12


class Point(NamedTuple):
    """The safe end of the curve at one eps: log delta minus its target, and d log delta / d eps."""

    excess: float
    slope: float


def solve(
    curve: Divergence, delta: float, *, limit: float, tol: float, guess: Guess, seen: tuple[float, Point] | None = None
) -> float:
    """The eps of one curve at delta, on the curve's safe side, to a relative accuracy tol.

    ``limit`` is an eps that is known to be large enough (log of the largest ratio, where the divergence is 0), or inf.
    If nothing smaller passes the check the answer is ``limit`` (0 for a lower curve): never the wrong side.
    ``seen`` is an eps that was looked at before, and what was found there.
    """
    upper = curve.side == "upper"
    log_delta = math.log(delta)
    low, high = 0.0, min(limit, LARGEST_EPSILON)
    answer = limit if upper else 0.0
    nudge = 1.0 + 0.2 * tol if upper else 1.0 - 0.2 * tol  # aim a little to the safe side
    aside = 0.5 * (nudge - 1.0)
    eps, slope = guess.epsilon * nudge, guess.slope
    if upper and (1.0 - 0.3 * tol) * high <= eps < high * nudge:
        eps = high * (1.0 - 0.25 * tol)  # so near the limit that one evaluation may tell that nothing else is left
    if not low < eps < high:
        eps = _middle(low, high)
    excess, eps_before, tangent = (seen[1].excess, seen[0], abs(seen[1].slope)) if seen else (0.0, eps, 0.0)
    rough = not isinstance(curve, Divergence)  # slopes of other curves are estimates
    ends = {"low": math.nan, "high": math.nan}  # excess at the ends of the bracket, where known
    for step in range(_STEPS):
        # Far from the root a coarse evaluation suffices; the answer itself is always evaluated finely.
        fine = min(max(0.3 * tol * eps * slope, 1e-8), 0.02)
        rtol = min(max(fine, 0.05 * abs(excess) if abs(excess) > 0.1 else 0.0), 0.02)
        before, excess_before, tangent_before = eps_before, excess, tangent
        excess, point_slope = look(curve, eps, rtol, log_delta)
        slope, eps_before, tangent = abs(point_slope), eps, abs(point_slope)
        if rough and eps != before and abs(excess) < 0.1 and 0.0 < abs(excess_before) < 1.0:
            # a secant is right in the middle, and from there to here the slope changes as the estimates do
            secant = (excess_before - excess) / (eps - before)
            secant *= 2.0 * tangent / (tangent + tangent_before) if tangent_before else 1.0
            slope = secant if 0.5 * slope < secant < 2.0 * slope else slope
            aside = _NEAR * (nudge - 1.0)
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
                return _at_root(curve, eps, excess / slope, rtol, log_delta, _SHARP * tol)
        if high - low <= 0.3 * tol * high:
            return answer
        if isinstance(curve, Divergence) and curve.polishable:
            aside = _SHARP * tol if upper else -_SHARP * tol
        elif rough and safe:  # slopes are estimated from above, which keeps the next look on this side
            aside = _NEAR * (nudge - 1.0)
        target = (eps + excess / slope) * (1.0 + aside) if slope and math.isfinite(excess) else -1.0
        if upper and target <= 0.0 and low == 0.0 and look(curve, 0.0, 1e-3, log_delta).excess <= 0.0:
            return 0.0
        if safe and upper and target >= high and rtol <= 3.0 * fine:
            return answer  # the root is nearer than the step to the safe side
        if not low < target < high:  # a kink: where the chord meets the target, if that is known
            chord = low + (high - low) * ends["low"] / (ends["low"] - ends["high"]) if low else math.nan
            target = chord * (1.0 + aside)
        # a bisection every twelfth step, whatever the shape of the curve
        eps = target if low < target < high and step % 12 != 11 else _middle(low, high)
        if eps < 1e-15:
            return answer
    return answer


def _at_root(curve: Divergence, eps: float, move: float, rtol: float, log_delta: float, aside: float) -> float:
    """A solution, moved to the root itself where that costs next to nothing (window.py); ``move`` leads to it."""
    if not (isinstance(curve, Divergence) and curve.polishable) or abs(move) <= 3.0 * aside * eps:
        return eps
    upper = curve.side == "upper"
    better = (eps + move) * (1.0 + aside if upper else 1.0 - aside)
    if better <= 0.0 or (better < eps) != upper:
        return eps
    excess = look(curve, better, rtol, log_delta).excess
    return better if (excess <= 0.0 if upper else excess >= 0.0) else eps


def _middle(low: float, high: float) -> float:
    if low == 0.0:
        return 0.05 * high
    return math.sqrt(low * high) if high > 2.0 * low else 0.5 * (low + high)


def look(curve: Divergence, eps: float, rtol: float, log_delta: float) -> Point:
    """One evaluation on the curve's safe side."""
    found = curve.point(eps, rtol) if isinstance(curve, Divergence) else None
    if found is not None:
        value = found.upper if curve.side == "upper" else found.lower
        tilt = eps - found.upper  # the slope is in E
        return Point(value - log_delta, found.slope * math.exp(tilt) if tilt < 700.0 else 0.0)
    bracket = curve.bracket(np.array([eps]), rtol)
    top = float(bracket.upper[0])
    value = top if curve.side == "upper" else float(bracket.lower[0])
    if math.isnan(value):  # NaN never counts as private enough, nor as a proved lower bound
        value = math.inf if curve.side == "upper" else -math.inf
    scale = math.exp(top) if -700.0 < top < 700.0 else math.inf
    return Point(value - log_delta, float(bracket.slope[0]) / scale)


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
    for place, pair in enumerate(members):
        limit = log_up(pair.max_ratio)
        if limit <= best or (side == "lower" and place and _alike(pair, members[place - 1])):
            continue
        curve = Divergence(pair, n, side)
        if best > 0.0 and (_screened(curve, best, delta) or look(curve, best, 1e-3, math.log(delta)).excess <= 0.0):
            continue
        if zero_suffices(curve, delta):
            continue
        if math.isinf(limit) and curve.floor > delta * (1.0 + 1e-12):
            return math.inf
        guess = guess_epsilon(curve.atoms, n, delta, limit)
        if guess.epsilon < best:
            guess = guess._replace(epsilon=best)
        curve.start_at(guess.abscissa)
        found = solve(curve, delta, limit=limit, tol=tol, guess=guess)
        best = max(best, found if curve.in_floats or curve.few_clones is None else polished(curve, found, delta, tol))
    return best


def _alike(one: ShuffledPair, other: ShuffledPair) -> bool:
    """Whether two laws of a few atoms are the same but for roundings and the order of their atoms."""
    mine, theirs = one.atoms.few, other.atoms.few
    if mine is None or theirs is None or len(mine.t) != len(theirs.t):
        return False
    each = (sorted(zip(few.gap, few.v, few.t, strict=True)) for few in (mine, theirs))
    return all(abs(a - b) <= _SAME * abs(a) for p, q in zip(*each, strict=True) for a, b in zip(p, q, strict=True))


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
    if delta < 0.3 * math.sqrt(curve.atoms.spread / curve.n):
        return False
    found = curve.point(0.0, 1e-3)
    upper = float(curve.bracket(np.array([0.0]), 1e-3).upper[0]) if found is None else found.upper
    return upper <= math.log(delta)
