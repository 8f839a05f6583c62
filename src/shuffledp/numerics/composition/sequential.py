"""Sequential composition: eps and delta from privacy profiles and from how often each is used.

*Several reports of every user in one batch* are composed too.  Let each of n users send k reports into one batch, on
values of its own choice, which may coincide.  Suppose that the batch were shuffled in k parts instead: the first report
of every user in the first part, the second ones in the second, and so on.  Whoever sees the k parts can mix them
into the batch, so the parts reveal at least as much.  Each part is a round of n users with one report
each, and the randomness of different parts is independent, so the parts are k rounds over the same users, and their
guarantees compose.  Blanket messages are sent once for all k reports: they are divided among the parts by a public rule
that does not look at the values (``Mechanism.bundled``), and every part counts on its share only.  Counting on all of
them in each part would be wrong: k equal messages move one count by k, which costs as much as k^2 single ones.

No lower bound is claimed for them: the composition is only an upper bound on what the mixed batch reveals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import BoundNotApplicableError, ParameterError
from ..family import Answer, Family, OneByOne
from ..pair import FloatArray, Side
from ..search import bisect
from . import conversions
from .loss_grid import Sum, solve_epsilon
from .profile_curve import COARSE, EMPTY, FINER, Curve, Ladder, Losses, Plan, ladder_for, losses, sampled, symmetric

#: The grid raises the variance of the composed loss by at most this share (eps by half of it), if cells allow it.
_EXTRA = 2e-5
#: Fewest and most cells of the composed law; divided by the root of the number of kinds, each of which costs a
#: transform.
_CELLS = 2**15, 2**20
#: Largest number of cells on one side of 0 of a single loss.
_MOST_CELLS = 2**21
#: How far a window reaches, in deviations, if what a shorter one leaves out matters.
_REACHES = 13.0, 20.0, 40.0, 80.0
#: Share of delta that cutting off tails may cost.
_TAIL = 1e-4
#: Profiles are not followed below this log delta.
_DEEPEST = -459.0
#: Families with more members than this are sampled at fewer eps.
_FEW = 64
#: Expected clones of a symbol up to which a profile is nearly a polygon.
_FEW_CLONES = 150
#: Smaller deltas are refused: profiles are not followed below 1e-200.
LEAST_DELTA = 1e-150
#: A positive delta is at least this, the smallest normal double, so that none underflows.
_LEAST_POSITIVE = 2.0**-1022


#: log delta of a profile at every eps, to a relative accuracy.
Profile = Callable[[FloatArray, float], FloatArray]
#: log delta of many profiles, each at its own eps, to a relative accuracy.
Ask = Callable[[Sequence[Any], Sequence[FloatArray], float], Sequence[FloatArray]]


def one_by_one(profiles: Sequence[Profile], eps: Sequence[FloatArray], tol: float) -> list[FloatArray]:
    """Ask every profile alone: some cannot be asked together."""
    return [profile(at, tol) for profile, at in zip(profiles, eps, strict=True)]


@dataclass
class Kind:
    """A privacy profile that may be used many times.

    ``ask(sources, eps, tol)`` gives upper bounds on log delta of many profiles, each at its own eps: kinds with the
    same function are sampled together.  ``limit`` is an eps at which delta is 0 (inf if there is none); ``slow``
    profiles are sampled at fewer nodes, ``kinked`` ones (few clones, whose profile is nearly a polygon) at more.
    ``once(delta)`` is the eps of a single use, for profiles with a sharper way to it than by sampling.
    """

    source: Any
    limit: float
    slow: bool = False
    kinked: bool = False
    once: Callable[[float], float] | None = None
    ask: Ask = field(default=one_by_one, repr=False)
    curves: dict[Ladder, Curve] = field(default_factory=dict, repr=False)

    def own(self, ladder: Ladder) -> Ladder:
        """The ladder that suits this profile."""
        return COARSE if self.slow else FINER.get(ladder, ladder) if self.kinked else ladder


def sample(kinds: Sequence[Kind], ladder: Ladder, lowest: float) -> list[Curve]:
    """The profiles of all kinds down to ``lowest``; kept, and continued later, because sampling is expensive."""
    own = [kind.own(ladder) for kind in kinds]

    def ask(which: Sequence[int], eps: Sequence[FloatArray]) -> list[FloatArray]:
        return ask_all([kinds[i] for i in which], eps, [own[i].tol for i in which])

    plans = [Plan(kind.limit, mine, lowest) for kind, mine in zip(kinds, own, strict=True)]
    known = [kind.curves.get(mine, EMPTY) for kind, mine in zip(kinds, own, strict=True)]
    found = sampled(ask, plans, known)
    for kind, mine, curve in zip(kinds, own, found, strict=True):
        kind.curves[mine] = curve
    return found


def ask_all(kinds: Sequence[Kind], eps: Sequence[FloatArray], tols: Sequence[float]) -> list[FloatArray]:
    """log delta of every kind at its own eps: in one call for kinds with the same function and accuracy."""
    groups: dict[tuple[Ask, float], list[int]] = {}
    for i, (kind, tol) in enumerate(zip(kinds, tols, strict=True)):
        groups.setdefault((kind.ask, tol), []).append(i)
    out: dict[int, FloatArray] = {}
    for (ask, tol), rows in groups.items():
        out |= zip(rows, ask([kinds[i].source for i in rows], [eps[i] for i in rows], tol), strict=True)
    return [out[i] for i in range(len(kinds))]


def build(
    kinds: Sequence[Kind],
    counts: Sequence[int],
    log_delta: float,
    step: float | None = None,
    ladder: Ladder | None = None,
) -> Sum:
    """The sum of all losses on a common grid, cut where that costs at most a small share of exp(log_delta)."""
    total = float(sum(counts))
    lowest = max(log_delta + math.log(_TAIL) - math.log(max(total, 1.0)), _DEEPEST)
    pairs = [losses(curve, lowest=lowest) for curve in sample(kinds, ladder or ladder_for(len(kinds)), lowest)]
    grid = choose_step(pairs, counts) if step is None else step
    widest = max((float(pair.eps[-1]) for pair in pairs if pair.eps.size), default=0.0)
    if widest > grid * _MOST_CELLS:
        raise ParameterError(
            f"step must be at least {widest / _MOST_CELLS:.3g} for losses up to {widest:.3g}, got {grid!r}; "
            "a finer grid does not fit into memory."
        )
    return Sum([symmetric(pair, grid) for pair in pairs], counts, grid)


def choose_step(pairs: Sequence[Losses], counts: Sequence[int]) -> float:
    """A grid step for these losses: fine enough for _EXTRA, coarse enough for the number of cells.

    Spreading an atom over two cells adds at most step^2/4 to the variance of its loss, step^2/6 on average, and
    never more than about step times the total variation distance.  The largest loss is put on the grid, and the step
    has 30 bits, so that its multiples are exact.
    """
    weight = np.array(counts, dtype=np.float64)
    moment = np.array([pair.second_moment for pair in pairs])
    distance = np.array([pair.distance for pair in pairs])
    top = max((float(pair.eps[-1]) for pair in pairs if pair.eps.size), default=1.0)
    finite = np.isfinite(moment)
    variance = float(weight[finite] @ moment[finite])
    if not variance > 0.0:
        return thirty_bits(top)
    target = _EXTRA * variance

    def fine(step: float) -> bool:
        return float(weight @ np.minimum(step * step / 6.0, distance * step)) <= target

    low = bisect(fine, safe=1e-12 * top, unsafe=top, geometric=True)
    widest = max(min(30.0 * math.sqrt(variance), 2.0 * top * float(weight.sum())), 2.0 * top)
    fewest, most = (cells / math.sqrt(len(pairs)) for cells in _CELLS)
    step = min(max(low, widest / most), widest / fewest)
    return thirty_bits(top / max(1, math.ceil(top / step)))


def thirty_bits(step: float) -> float:
    """The step rounded up to 30 bits, so that its multiples are exact."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.ceil(mantissa * 2.0**30), exponent - 30)


def refuse_tiny(delta: float, what: str = "a composition", instead: str = "a larger delta") -> None:
    """Raise if delta is smaller than any that profiles are sampled to."""
    if delta < LEAST_DELTA:
        raise ParameterError(
            f"delta must be at least {LEAST_DELTA:g} for {what}, got {delta!r}; profiles are not computed below it: "
            f"use {instead}."
        )


def epsilon(kinds: Sequence[Kind], counts: Sequence[int], delta: float, ladder: Ladder | None = None) -> float:
    """An upper bound on the eps of the composition at delta; inf if there is no finite one."""
    most = pure_epsilon(kinds, counts)
    if most == 0.0:
        return 0.0
    once = single(kinds, counts).once if sum(counts) == 1 else None
    if once is not None:
        return min(once(delta), most)
    return epsilon_of(build(kinds, counts, math.log(delta), ladder=ladder), delta, most)


def epsilon_of(whole: Sum, delta: float, most: float) -> float:
    """An upper bound on the eps of a sum of losses at delta; ``most`` is an eps that holds for every delta, or inf."""
    if not whole.reach:
        return 0.0 if whole.infinite * (1.0 + 1e-9) <= delta else most
    end = min(most, (whole.reach + 1) * whole.step)
    theta = whole.tilt_for_delta(delta)
    for reach in _REACHES:  # what a window leaves out is added in any case, and should be little compared with delta
        window = whole.window(theta, reach=reach)
        if window.beyond <= 1e-3 * delta:
            break
    found = solve_epsilon(window, delta, upper=True, most=end)
    for _ in range(3):  # where round-off matters (a large delta), tilt for the eps that was found instead
        if not found < math.inf or window.round_off(found) <= 1e-6 * delta:
            break
        window = whole.window(whole.tilt_for_epsilon(found), found)
        found = min(found, solve_epsilon(window, delta, upper=True, most=end))
    return min(found, most)


def single(kinds: Sequence[Kind], counts: Sequence[int]) -> Kind:
    """The only kind that is used."""
    return next(kind for kind, count in zip(kinds, counts, strict=True) if count)


def delta(kinds: Sequence[Kind], counts: Sequence[int], eps: float) -> float:
    """An upper bound on the delta of the composition at eps."""
    if eps >= pure_epsilon(kinds, counts):
        return 0.0
    best = 1.0
    if sum(counts) == 1:
        value = ask_all([single(kinds, counts)], [np.array([eps])], [1e-4])[0]
        best = min(math.exp(float(value[0])) * (1.0 + 1e-12), 1.0)
    for log_delta in (-20.0, -60.0, -180.0, _DEEPEST):
        whole = build(kinds, counts, log_delta)
        best = min(best, whole.around(eps).delta(eps, upper=True))
        if whole.infinite <= 1e-3 * best:
            break
    return max(best, _LEAST_POSITIVE)


def pure_epsilon(kinds: Sequence[Kind], counts: Sequence[int]) -> float:
    """The sum of the local guarantees: basic composition, which needs no delta."""
    return basic_composition((kind.limit, count) for kind, count in zip(kinds, counts, strict=True))


def basic_composition(guarantees: Iterable[tuple[float, int]]) -> float:
    """The sum of count * eps over pairs (eps, count): exact where a float can hold it, else rounded up.

    Examples
    --------
    >>> basic_composition([(2.0, 2)]), basic_composition([(0.1, 3)])
    (4.0, 0.30000000000000004)
    """
    terms = list(guarantees)
    if any(math.isinf(eps) for eps, _ in terms):
        return math.inf
    exact = sum((count * Fraction(eps) for eps, count in terms), Fraction(0))
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def renyi_curve(
    kinds: Sequence[Kind], counts: Sequence[int], orders: FloatArray, ladder: Ladder | None = None
) -> FloatArray:
    """Upper values of the Renyi divergence of the composition: the sum over the rounds."""
    total = np.zeros(orders.shape)
    for curve, count in zip(sample(kinds, ladder or ladder_for(len(kinds)), -math.inf), counts, strict=True):
        total += count * conversions.from_curve(curve, orders)
    return total * (1.0 + 1e-14)


def kind_of(
    family: Family,
    source: Any,
    *,
    n: int,
    limit: float,
    ask: Ask = one_by_one,
    once: Callable[[float], float] | None = None,
) -> Kind:
    """A profile to be composed, sampled as finely as its family allows; other parameters as in :class:`Kind`."""
    pairs = family.pairs(_FEW)
    clones = [(n - 1) * float(pair.atoms.t.min(initial=np.inf)) for pair in pairs or ()]
    kinked = pairs is not None and all(number < _FEW_CLONES for number in clones)
    return Kind(source, limit, slow=not family.quick, kinked=kinked, once=once, ask=ask)


class Bundle(OneByOne):
    """``reports`` rounds of one family over the same users; ``limit`` is the local guarantee of one report.

    Examples
    --------
    >>> from ..family import PairSet
    >>> from ..pair import ShuffledPair
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> four = Bundle(coin, reports=4, limit=np.log(3.0))
    >>> [round(f.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 2) for f in (coin, four)]
    [0.17, 0.35]
    """

    def __init__(self, family: Family, *, reports: int, limit: float) -> None:
        self._family, self._reports, self._limit = family, reports, limit

    def _kind(self, n: int, side: Side) -> Kind:
        """One part."""
        if side == "lower":
            raise BoundNotApplicableError(
                "no lower bound is known for several reports per user; ask for the upper side, or for one report."
            )

        def log_delta(eps: FloatArray, tol: float) -> FloatArray:
            value = self._family.log_delta(eps, n=n, tol=tol, side="upper")
            return np.where(eps >= self._limit, -np.inf, np.minimum(value, 0.0))

        return kind_of(self._family, log_delta, n=n, limit=self._limit)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The eps of all parts together."""
        kind = self._kind(n, side)
        refuse_tiny(delta, "several reports per user")
        return Answer(epsilon([kind], [self._reports], delta), 1, 1)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta of all parts together, for every eps."""
        kind = self._kind(n, side)
        with np.errstate(divide="ignore"):
            found = [np.log(delta([kind], [self._reports], float(x))) for x in eps.reshape(-1)]
        return np.array(found).reshape(eps.shape)

    def covers(self, n: int) -> bool:
        """Whether one part does."""
        return self._family.covers(n)
