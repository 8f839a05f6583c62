"""Sequential composition: privacy profiles, and how often each is used, give eps, delta and a lower bound on eps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import ParameterError
from ..pair import FloatArray
from ..search import bisect
from . import renyi
from .fixed_pair import PairLosses, rounded_down
from .loss_grid import Sum, Window, solve_epsilon
from .profile_curve import (
    COARSE,
    FINE,
    FINEST,
    MEDIUM,
    Curve,
    Ladder,
    Losses,
    losses,
    on_grid,
    sampling,
    second_moment,
)

#: The grid raises the variance of the composed loss by at most this share (eps by half of it), if cells allow it.
_EXTRA = 2e-5
#: Fewest and most cells of the composed law; divided by the root of the number of kinds, each of which costs a
#: transform.
_CELLS = 2**15, 2**20
#: Cells of a lower bound, which needs a finer grid.
_LOWER_CELLS = 2**20
#: Largest number of cells on one side of 0 of a single loss.
_MOST_CELLS = 2**21
#: Share of delta that cutting off tails may cost.
_TAIL = 1e-4
#: Profiles are sampled down to a log delta that is a multiple of this, so that samples can be used again.
_DEPTH_STEP, _DEEPEST = 20.0, -459.0
#: Where a profile with kinks is sampled.
_FINER = {COARSE: MEDIUM, MEDIUM: FINE, FINE: FINEST}
#: Smaller deltas are refused: profiles are not followed below 1e-200.
LEAST_DELTA = 1e-150


#: log delta of many profiles, each at its own eps.
Together = Callable[[Sequence[Any], Sequence[FloatArray], float], Sequence[FloatArray]]


@dataclass
class Kind:
    """A privacy profile that may be used many times: ``log_delta(eps, tol)`` is an upper bound on it.

    ``limit`` is an eps at which delta is 0 (inf if there is none); ``slow`` profiles are sampled at fewer nodes,
    ``kinked`` ones (few clones, whose profile is nearly a polygon) at more.  ``once(delta)`` is the eps of a single
    use, where there is a sharper way to it than through the profile.  ``together(sources, eps, tol)`` gives what
    ``log_delta`` of every kind with these sources gives at its own eps, in one call; kinds with the same function are
    sampled together.
    """

    log_delta: Callable[[FloatArray, float], FloatArray]
    limit: float
    slow: bool = False
    kinked: bool = False
    once: Callable[[float], float] | None = None
    source: Any = None
    together: Together | None = field(default=None, repr=False)
    curves: dict[tuple[Ladder, float], Curve] = field(default_factory=dict, repr=False)

    def curve(self, ladder: Ladder, lowest: float) -> Curve:
        """The sampled profile; kept, because sampling is the expensive part."""
        return sample([self], ladder, lowest)[0]

    def own(self, ladder: Ladder) -> Ladder:
        """The ladder that suits this profile."""
        return COARSE if self.slow else _FINER[ladder] if self.kinked else ladder


def sample(kinds: Sequence[Kind], ladder: Ladder, lowest: float) -> list[Curve]:
    """The profiles of all kinds, sampled together where they can be asked together and were not sampled before."""
    new = {id(kind): kind for kind in kinds if (kind.own(ladder), lowest) not in kind.curves}
    open_ = [(kind, sampling(limit=kind.limit, ladder=kind.own(ladder), lowest=lowest)) for kind in new.values()]
    wanted = [next(asking) for _, asking in open_]
    while open_:
        values = _ask([kind for kind, _ in open_], wanted, ladder)
        still, wanted = [], []
        for (kind, asking), value in zip(open_, values, strict=True):
            try:
                wanted.append(asking.send(value))
                still.append((kind, asking))
            except StopIteration as done:
                kind.curves[kind.own(ladder), lowest] = done.value
        open_ = still
    return [kind.curves[kind.own(ladder), lowest] for kind in kinds]


def _ask(kinds: Sequence[Kind], eps: Sequence[FloatArray], ladder: Ladder) -> list[FloatArray]:
    """log delta of every kind at its own eps: in one call for kinds with the same function and accuracy."""
    out: list[FloatArray] = [np.zeros(0)] * len(kinds)
    groups: dict[tuple[Together, float], list[int]] = {}
    for i, kind in enumerate(kinds):
        tol = kind.own(ladder).tol
        if kind.together is None:
            out[i] = kind.log_delta(eps[i], tol)
        else:
            groups.setdefault((kind.together, tol), []).append(i)
    for (together, tol), rows in groups.items():
        for i, value in zip(rows, together([kinds[i].source for i in rows], [eps[i] for i in rows], tol), strict=True):
            out[i] = value
    return out


def _ladder(kinds: int) -> Ladder:
    return FINE if kinds <= 8 else MEDIUM if kinds <= 64 else COARSE


def build(kinds: Sequence[Kind], counts: Sequence[int], log_delta: float, step: float | None = None) -> Sum:
    """The sum of all losses on a common grid, cut where that costs at most a small share of exp(log_delta)."""
    total = float(sum(counts))
    lowest = log_delta + math.log(_TAIL) - math.log(max(total, 1.0))
    depth = max(math.floor(lowest / _DEPTH_STEP) * _DEPTH_STEP, _DEEPEST)
    ladder = _ladder(len(kinds))
    pairs = [losses(curve, lowest=max(lowest, depth)) for curve in sample(kinds, ladder, depth)]
    grid = choose_step(pairs, counts) if step is None else step
    widest = max((float(pair.eps[-1]) for pair in pairs if pair.eps.size), default=0.0)
    if widest > grid * _MOST_CELLS:
        raise ParameterError(
            f"step must be at least {widest / _MOST_CELLS:.3g} for losses up to {widest:.3g}, got {grid!r}; "
            "a finer grid does not fit into memory."
        )
    return Sum([on_grid(pair, grid) for pair in pairs], counts, grid)


def choose_step(pairs: Sequence[Losses], counts: Sequence[int]) -> float:
    """A grid step for these losses: fine enough for _EXTRA, coarse enough for the number of cells.

    Spreading an atom over two cells adds at most step^2/4 to the variance of its loss, step^2/6 on average, and
    never more than about step times the total variation distance.  The largest loss is put on the grid, and the step
    has 30 bits, so that its multiples are exact.
    """
    weight = np.array(counts, dtype=np.float64)
    moment = np.array([second_moment(pair) for pair in pairs])
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


def epsilon(kinds: Sequence[Kind], counts: Sequence[int], delta: float) -> float:
    """An upper bound on the eps of the composition at delta; inf if there is no finite one."""
    most = pure_epsilon(kinds, counts)
    if most == 0.0:
        return 0.0
    single = [kind for kind, count in zip(kinds, counts, strict=True) if count]
    if sum(counts) == 1 and single[0].once is not None:
        return min(single[0].once(delta), most)
    return epsilon_of(build(kinds, counts, math.log(delta)), delta, most)


def epsilon_of(whole: Sum, delta: float, most: float) -> float:
    """An upper bound on the eps of a sum of losses at delta; ``most`` is one that holds for any delta, or inf."""
    if not whole.reach:
        return 0.0 if whole.infinite * (1.0 + 1e-9) <= delta else most
    end = min(most, (whole.reach + 1) * whole.step)
    window = _wide_enough(whole, whole.tilt_for_delta(delta), delta)
    found = solve_epsilon(window, delta, upper=True, most=end)
    for _ in range(3):  # where round-off matters (a large delta), tilt for the eps found instead
        if not found < math.inf or window.round_off(found) <= 1e-6 * delta:
            break
        window = whole.window(whole.tilt_for_epsilon(found), found)
        found = min(found, solve_epsilon(window, delta, upper=True, most=end))
    return min(found, most)


def _wide_enough(whole: Sum, theta: float, delta: float) -> Window:
    """A window that leaves out little compared with delta (what it leaves out is added in any case)."""
    window = whole.window(theta)
    for reach in (20.0, 40.0, 80.0):
        if window.beyond <= 1e-3 * delta:
            break
        window = whole.window(theta, reach=reach)
    return window


def delta(kinds: Sequence[Kind], counts: Sequence[int], eps: float) -> float:
    """An upper bound on the delta of the composition at eps."""
    if eps >= pure_epsilon(kinds, counts):
        return 0.0
    best = 1.0
    if sum(counts) == 1:
        single = next(kind for kind, count in zip(kinds, counts, strict=True) if count)
        best = min(math.exp(float(single.log_delta(np.array([eps]), 1e-4)[0])) * (1.0 + 1e-12), 1.0)
    for log_delta in (-20.0, -60.0, -180.0, _DEEPEST):
        whole = build(kinds, counts, log_delta)
        best = min(best, delta_of(whole, eps))
        if whole.infinite <= 1e-3 * best:
            break
    return best


def delta_of(whole: Sum, eps: float) -> float:
    """An upper bound on the delta of a sum of losses at eps."""
    if not whole.reach:
        return whole.infinite * (1.0 + 1e-9)
    return whole.window(whole.tilt_for_epsilon(eps), eps).delta(eps, upper=True)


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


def renyi_curve(kinds: Sequence[Kind], counts: Sequence[int], orders: FloatArray) -> FloatArray:
    """Upper values of the Renyi divergence of the composition: the sum over the rounds."""
    total = np.zeros(orders.shape)
    for kind, count in zip(kinds, counts, strict=True):
        total += count * renyi.from_curve(kind.curve(_ladder(len(kinds)), -math.inf), orders)
    return total * (1.0 + 1e-14)


def lower_epsilon(pairs: Sequence[PairLosses], counts: Sequence[int], delta: float, upper: float) -> float:
    """A lower bound on the eps of the composition of fixed pairs; ``upper`` is a known upper bound on it.

    Every loss is moved down by up to one step, so eps by up to half a step per round on average.
    """
    if not 0.0 < upper < math.inf or not pairs:
        return 0.0
    total = float(sum(counts))
    largest = max(float(np.abs(pair.loss).max()) for pair in pairs)
    step = max(0.004 * upper / total, 2.0 * upper / _LOWER_CELLS, 2.0 * largest / _LOWER_CELLS)
    return lower_epsilon_of(Sum([rounded_down(pair, step) for pair in pairs], counts, step), delta, upper)


def lower_epsilon_of(whole: Sum, delta: float, upper: float) -> float:
    """A lower bound on the eps of a sum of losses whose profile is below the true one."""
    if not whole.reach:
        return 0.0
    theta, found = whole.tilt_for_delta(delta), 0.0
    for _ in range(6):  # any tilt is valid; one that is too strong leaves nothing but round-off near the answer
        found = solve_epsilon(whole.window(theta), delta, upper=False, most=upper)
        if found > 0.0:
            break
        theta *= 0.25
    return found
