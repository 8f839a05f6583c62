"""Bounds that the authors of two multi-message protocols state for them: closed forms and a numerical search.

Their classes and scipy are imported where they are used: every query loads this module, and few need them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..numerics.binomial import log_multinomial
from ..numerics.pair import FloatArray
from .base import Question, log_over

#: Counts up to this many are summed one by one; more are grouped, each group at its worst member.
_MOST_COUNTS = 2_000
#: 30 times the measured relative error of scipy's incomplete beta function; the mass left outside a window of counts.
_BETA_ERROR, _OUTSIDE = 1e-9, 1e-30


def cheu_zhilyaev(ask: Question) -> float:
    """Cheu, Zhilyaev (IEEE S&P 2022), Claim 3.2: f(1-f) = 33/(5 m) coth(eps/2)^2 log(4/delta), m blanket rows."""
    from ..mechanisms.multimessage.cheu_zhilyaev import CheuZhilyaev

    m = ask.mechanism
    if not isinstance(m, CheuZhilyaev):
        raise ask.refuse(m.name)
    rows = m.law.other_messages(ask.n)
    square = m.flip * (1.0 - m.flip) * 5.0 * rows / (33.0 * log_over(4.0, ask.delta))
    if square <= 1.0:
        raise ask.refuse(f"{rows:,} blanket rows at flip = {m.flip:g} and delta = {ask.delta:g}")
    return 2.0 * math.atanh(1.0 / math.sqrt(square))


def balls_formula(ask: Question) -> float:
    """Luo, Wang, Yi (CCS 2022): eps = sqrt(32 log(2/delta) d/(m s)) with m blanket messages."""
    from ..mechanisms.multimessage.balls_into_bins import BallsIntoBins

    m = ask.mechanism
    if not isinstance(m, BallsIntoBins):
        raise ask.refuse(m.name)
    blankets = m.law.other_messages(ask.n)
    eps = math.sqrt(32.0 * log_over(2.0, ask.delta) * m.d / (blankets * m.special)) if blankets else math.inf
    if eps > 3.0:
        raise ask.refuse(f"eps = {eps:.4g} with {blankets:,} blanket messages")
    return eps


def balls_search(
    mechanism: Mechanism, n: int, refuse: Callable[[str], BoundNotApplicableError]
) -> Callable[[FloatArray], FloatArray]:
    """delta <= Pr[X1 >= ceil(E X2 - 1)], X1 and X2 the blanket messages in the special bins of the two items.

    The authors' code draws X1 and X2 independently, which is right in the limit of many bins; in fact they are
    multinomial (the more messages in one set of bins, the fewer in the other), and only that law gives a bound for
    every d and s.
    """
    from ..mechanisms.multimessage.balls_into_bins import BallsIntoBins

    if not isinstance(mechanism, BallsIntoBins):
        raise refuse(mechanism.name)
    m, share = mechanism.law.other_messages(n), mechanism.special / mechanism.d
    if m == 0:
        raise refuse("no blanket message")
    reach = float(_reach(m * share))
    low, high = max(0, math.floor(m * share - reach)), min(m, math.ceil(m * share + reach))
    edges = np.unique(np.linspace(low, high + 1, min(high + 1 - low, _MOST_COUNTS) + 1).astype(np.int64))
    first, size = edges[:-1].astype(np.float64), np.diff(edges).astype(np.float64)
    chance = _group_chances(first, size, m, share)

    def curve(eps: FloatArray) -> FloatArray:
        return np.array([_log_exceeding(first, chance, m, share, float(e)) for e in eps])

    return curve


def _group_chances(first: FloatArray, size: FloatArray, m: int, share: float) -> FloatArray:
    """Pr[X2 in the group]: its pmf, or for groups of several counts the largest pmf of its two ends and the mode."""

    def pmf(k: FloatArray) -> FloatArray:
        return np.exp(log_multinomial(k[:, None], m, np.array([share])))

    mode = np.clip(math.floor((m + 1) * share), first, first + size - 1)
    return np.asarray(size * pmf(mode) * (1.0 + 1e-9))


def _log_exceeding(first: FloatArray, chance: FloatArray, m: int, share: float, eps: float) -> float:
    """log Pr[X1 >= ceil(E X2 - 1)]; given X2 = x the count X1 is Bin(m - x, share/(1-share)), so it falls with x."""
    from scipy import special  # type: ignore[import-untyped]

    need = np.ceil(math.exp(min(eps, 40.0)) * first * (1.0 - 1e-15) - 1.0)
    left, odds = m - first, min(share / (1.0 - share), 1.0)
    reach = _reach(left * odds)
    tail = np.where(need <= np.maximum(left * odds - reach, 0.0), 1.0, 0.0)  # 1 is an upper bound; 0 is in _OUTSIDE
    live = (tail == 0.0) & (need <= np.minimum(left, left * odds + reach))
    tail[live] = special.betainc(need[live], left[live] - need[live] + 1.0, odds) * (1.0 + _BETA_ERROR)
    return math.log(float(chance @ tail) + 2.0 * _OUTSIDE)


def _reach(mean: FloatArray | float) -> FloatArray:
    """How far a binomial count strays from its mean, except with probability 1e-30 (Chernoff)."""
    return np.asarray(13.0 * np.sqrt(mean) + 80.0)
