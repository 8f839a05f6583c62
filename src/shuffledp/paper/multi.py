"""Figures 3 and 4: multi-message protocols, tuned by the claim of their authors and then analyzed."""

from __future__ import annotations

import math
from typing import Any

from ..mechanisms.multimessage.balls_into_bins import BallsIntoBins
from ..mechanisms.multimessage.cheu_zhilyaev import CheuZhilyaev
from ..numerics.pair import ShuffledPair
from .curves import CORE, TOL, Series, curves

CLOSED = (
    Series("analytic", "analytic (Theorem 4.2, repaired)", ("analytic",)),
    Series("analytic-published", "analytic, as in the appendix", ("analytic-published",)),
    Series("asymptotic", "asymptotic (Theorem 4.3, proved)", ("asymptotic",)),
    Series("asymptotic-published", "asymptotic, as printed", ("asymptotic-published",)),
)
CLAIM = Series("claim", "the authors' claim, evaluated", ("cheu-zhilyaev",))
FORMULA = Series("claim", "the authors' formula, evaluated", ("balls-formula",))
SEARCH = Series("search", "the authors' numerical search", ("balls-search",))
ROWS = Series("rows", "exact blanket, fake rows only", ())


def flip_probability(claimed: float, n: int, delta: float) -> float | None:
    """f of Cheu and Zhilyaev, Claim 3.2, with one fake row per user; None where no f reaches ``claimed``.

    f (1-f) = 33/(5n) coth(claimed/2)^2 log(4/delta).

    Examples
    --------
    >>> round(flip_probability(1.0, 10**4, 1e-6), 5), flip_probability(0.1, 10**4, 1e-6)
    (0.04943, None)
    """
    product = 6.6 / n / math.tanh(claimed / 2.0) ** 2 * math.log(4.0 / delta)
    # the smaller root of f - f^2 = product, without cancellation
    return None if product >= 0.25 else 2.0 * product / (1.0 + math.sqrt(1.0 - 4.0 * product))


def rows_only(mechanism: CheuZhilyaev, *, n: int, delta: float) -> float:
    """eps of the exact law in which the n fake rows alone hide the victim (what the paper counts).

    Examples
    --------
    >>> m = CheuZhilyaev(flip=flip_probability(1.0, 10**4, 1e-6), d=16, messages=1)
    >>> round(1.0 / rows_only(m, n=10**4, delta=1e-6), 2)
    4.42
    """
    f, g = mechanism.flip, 1.0 - mechanism.flip  # bits of (x0, x1): 10, 01, 11, 00
    pair = ShuffledPair(
        P0=[g * g, f * f, f * g, f * g], P1=[f * f, g * g, f * g, f * g], t=[f * g, f * g, f * f, g * g]
    )
    return mechanism.law.among([pair]).epsilon(n=n, delta=delta, tol=TOL, side="upper").epsilon


def cheu_panel(settings: dict[str, Any]) -> dict[str, Any]:
    """eps of every analysis against the eps' that Claim 3.2 promises for the same flip probability."""
    n, d, delta = settings["n"], settings["d"], settings["delta"]
    flips = [flip_probability(x, n, delta) for x in settings["x"]]
    makes = [None if f is None else CheuZhilyaev(flip=f, d=d, messages=1) for f in flips]
    found = curves((*CORE, *CLOSED, CLAIM), makes, n=n, delta=delta)
    found[ROWS.key] = ROWS.drawn([None if m is None else rows_only(m, n=n, delta=delta) for m in makes])
    found["flip"] = {"label": "flip probability", "bounds": [], "value": flips}
    return found


def blanket_messages(claimed: float, ratio: float, delta: float) -> int:
    """The number of messages that the authors of balls-into-bins ask for: 32 log(2/delta) (d/s)/claimed^2.

    Examples
    --------
    >>> blanket_messages(1.0, 16, 1e-6)
    7429
    """
    return math.ceil(32.0 * math.log(2.0 / delta) * ratio / claimed**2)


def balls_panel(settings: dict[str, Any]) -> dict[str, Any]:
    """eps of every analysis against the eps' that the authors' formula promises for the same number of messages."""
    d, special, delta = settings["d"], settings["special"], settings["delta"]
    totals = [blanket_messages(x, d / special, delta) for x in settings["x"]]
    makes = [BallsIntoBins(d=d, special=special, total_messages=total) for total in totals]
    found = curves((*CORE, *CLOSED, FORMULA, SEARCH), makes, n=totals, delta=delta)
    found["messages"] = {"label": "blanket messages", "bounds": [], "value": totals}
    return found
