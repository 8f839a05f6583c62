"""The panels of figures 1 to 5: mechanisms along an axis, and eps of every analysis of them.

Figures 1 and 2 have one message per user (subset selection, optimal local hash), figures 3 and 4 several, tuned by the
claim of their authors and then analyzed, and in figure 5 every user is on one random level of a tree.
"""

from __future__ import annotations

import math
from typing import Any

from ..mechanisms.categorical.local_hash import LocalHash
from ..mechanisms.categorical.subset import Subset
from ..mechanisms.composite.hierarchical_grr import HierarchicalGRR
from ..mechanisms.known.variation_ratio import VariationRatio
from ..mechanisms.multimessage.balls_into_bins import BallsIntoBins
from ..mechanisms.multimessage.cheu_zhilyaev import CheuZhilyaev
from ..numerics.pair import ShuffledPair
from .curves import CORE, SWAP, TOL, Series, best_epsilon, curves

#: The paper's baselines; where a bound does not apply, or gives a larger eps, the local guarantee is used (ratio 1).
BASELINES = (
    Series("stronger-clone", "stronger clone", ("general", "local")),
    Series("clone", "clone", ("clone", "local")),
    Series("specific", "privacy blanket, specific (exact b, c)", ("blanket-hoeffding", "blanket-bennett", "local")),
    Series(
        "specific-gamma",
        "privacy blanket, specific ($\\gamma$ only)",
        ("blanket-hoeffding-gamma", "blanket-bennett-gamma", "local"),
    ),
    Series("generic", "privacy blanket, general", ("blanket-hoeffding-generic", "blanket-bennett-generic", "local")),
    Series("efmrtt19", "EFMRTT19", ("efmrtt19", "local")),
)


def subset(eps0: float, d: int) -> Subset:
    """Subset selection with k = ceil(d/(e^eps0 + 1)) (the library's default takes the better of the neighbors).

    Examples
    --------
    >>> subset(1.0, 16).k
    5
    """
    return Subset(eps0=eps0, d=d, k=max(1, math.ceil(d / (math.exp(eps0) + 1.0))))


def local_hash(eps0: float, d: int) -> LocalHash:
    """Optimal local hash, l = round(e^eps0 + 1).

    Examples
    --------
    >>> local_hash(2.0, 16).l
    8
    """
    return LocalHash(eps0=eps0, d=d)


def single_panel(settings: dict[str, Any]) -> dict[str, Any]:
    """All curves of one panel: eps against eps0."""
    family = {"subset": subset, "local-hash": local_hash}[settings["mechanism"]]
    made = [family(eps0, settings["d"]) for eps0 in settings["x"]]
    return curves((*CORE, SWAP, *BASELINES), made, n=settings["n"], delta=settings["delta"])


# -- several messages per user: figures 3 and 4 -----------------------------------------------------------------------

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


# -- one level of a tree per user: figure 5 ---------------------------------------------------------------------------

BASIC = Series("basic", "basic parallel composition", ("general",))
_PRINTED = ("variation-ratio-published",)


def spread(eps0: float, options: float) -> float:
    """beta of randomized response: (e-1)/(e + options - 1).

    Examples
    --------
    >>> round(spread(1.0, 2), 4)
    0.4621
    """
    return math.expm1(eps0) / (math.exp(eps0) + options - 1.0)


def printed_epsilon(eps0: float, beta: float, *, n: int, delta: float) -> float | None:
    """eps of the printed law with p = q = e^eps0 and this beta.

    Examples
    --------
    >>> round(printed_epsilon(1.0, spread(1.0, 2), n=10**4, delta=1e-6), 4)
    0.0432
    """
    p = math.exp(eps0)
    return best_epsilon(_PRINTED, VariationRatio(p=p, beta=beta, q=p), n=n, delta=delta)


def levels_panel(settings: dict[str, Any]) -> dict[str, Any]:
    """All curves of one panel.

    ``separate``: fixed groups of floor(n/H) users per level, the paper's best (d leaves) and worst (2 nodes) level.
    ``released``: the authors' program (github.com/wangsw/PrivacyAmplification, unifiedamplification.py, commit 1c74c8a)
    sets beta to the last term, (e-1)/(e+d-1)/H, instead of adding the terms up; and its worst separate level has
    n/H^2 users, because n is divided by H once for the best level and again for the worst.
    """
    n, d, delta = settings["n"], settings["d"], settings["delta"]
    levels = d.bit_length() - 1
    found = curves((*CORE, BASIC), [HierarchicalGRR(eps0=x, d=d) for x in settings["x"]], n=n, delta=delta)
    more = (
        ("separate-best", "separate groups, best level", lambda e: spread(e, d), n // levels),
        ("separate-worst", "separate groups, worst level", lambda e: spread(e, 2), n // levels),
        ("released", "authors' program: advanced", lambda e: spread(e, d) / levels, n),
        ("released-worst", "authors' program: separate, worst", lambda e: spread(e, 2), n // levels // levels),
    )
    for key, label, beta, users in more:
        eps = [printed_epsilon(x, beta(x), n=users, delta=delta) for x in settings["x"]]
        found[key] = {"label": label, "bounds": list(_PRINTED), "users": users, "epsilon": eps}
    return found
