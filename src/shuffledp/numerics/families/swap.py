"""Victim pairs among others of several types, by the swap bound (evaluators/swap.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import BoundNotApplicableError
from ..evaluators import swap
from ..evaluators.choose import LARGEST_EPSILON, Divergence, Side, law_shift, mass_slack, spread
from ..evaluators.contour import LogBracket
from ..guess import Guess, guess_epsilon
from ..pair import Atoms, FloatArray, ShuffledPair
from ..solve import log_up, look, solve
from .base import Answer, Family

#: Dither in units of the tilted deviation: it costs its square over 2 of eps.
FINE, _COARSE = 0.01, 0.05
#: Where one user's X is more than this many steps of the sum, lattices resonate, and other lines may be better.
GRAINY = 0.1
#: A law that dominates every type and saves so much of log delta makes other lines pointless.
_MUCH = 0.05
#: How far off the guess of what another abscissa costs may be.
_UNSURE = 0.03
#: Below this many deviations the modulus costs so much that the law that dominates every type is tried too.
CLOSE = 3.5
#: Fewer free users than this make the bound loose.
FEW_FREE = 60.0
#: It is used if its spread is at most this far above that of the worst type.
_NEARLY = 1.1
#: Any number of shuffled pairs.
_EVERY = 10**9
#: Types x symbols up to which that law is worth its price, and up to which other lines are.
_MOST_JOINED, _MOST_SHARPENED = 256, 1024
#: Values of X nearer to each other than this part of E(X - a)_+ are joined as one: their slopes would be noise.
_COINCIDE = 2.0**-24
#: log of the ratio of deltas from which one type alone shows that the bound is larger; for so many victim pairs.
_WORSE, _FEW_MEMBERS = 0.1, 4
#: Relative accuracy in delta of one look at a bound that may not be needed.
GLANCE = 0.01
#: Expected number of others who send a symbol below which it counts as never sent, if its ratio is above n times that.
RARE, _SWAMPS = 1e-7, 1e3


class Option(NamedTuple):
    """Another line to try: the abscissa over the saddle, and the dither."""

    scale: float
    dither: float


OPTIONS = tuple(
    Option(*option)
    for option in ((0.9, FINE), (1.1, FINE), (1.0, 0.05), (1.0, 0.1), (1.0, 0.2), (0.9, 0.1), (0.9, 0.2), (1.1, 0.1))
)


@dataclass(frozen=True)
class SwapPair:
    """One ordered pair of the victim's values, and every type that another user may be.

    Attributes
    ----------
    types : shuffled pairs, one per type
        P0 and P1 are the victim's laws, t is the law of a user of this type (or a part of it).  Symbols may be merged
        differently from type to type, as long as P0/t and P1/t of merged symbols agree.
    common_mass : float in [0, 1]
        Mass of a part that the laws of all types share; it may be smaller than the largest possible one.
    alone : ShuffledPair, optional
        The victim's message by itself, where P0 and P1 of the types are less telling than it.
    """

    types: tuple[ShuffledPair, ...]
    common_mass: float
    alone: ShuffledPair | None = None

    def thinned(self, chance: float) -> SwapPair:
        """Others take part with this probability: an absent user sends "nothing", which all types share."""
        common = 1.0 - chance + chance * self.common_mass
        return SwapPair(tuple(p.thinned(chance) for p in self.types), common, self.alone)

    @property
    def max_ratio(self) -> float:
        """sup P0/P1 of the victim."""
        return max(pair.max_ratio for pair in (self.types if self.alone is None else (self.alone,)))

    @cached_property
    def victim(self) -> _Laws | None:
        """The victim's message by itself, where the types do not show it."""
        return None if self.alone is None else _Laws.of([_shrunk(self.alone)])

    @cached_property
    def laws(self) -> _Laws:
        """Every type's X, with its masses rounded down."""
        return _Laws.of([_shrunk(pair) for pair in self.types])


def among(types: Sequence[ShuffledPair], blanket: Family) -> SwapPair:
    """One victim pair among these types, whose laws share at least the blanket."""
    covered = blanket.pairs(_EVERY)
    if not types or not covered:
        raise BoundNotApplicableError("the swap bound needs a shuffled pair for every type; use bound='blanket'.")
    return SwapPair(tuple(types), min(common_mass(pair) for pair in covered))


def common_mass(pair: ShuffledPair) -> float:
    """The mass of t, rounded down: of the common part, for a pair over the blanket."""
    return float(np.sum(pair.t)) * (1.0 - mass_slack(np.size(pair.t)))


class SwapSet:
    """The largest swap bound over some ordered victim pairs."""

    def __init__(self, members: Sequence[SwapPair]) -> None:
        self._members = tuple(members)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the members."""
        only_upper(side)
        count = len(self._members)
        return Answer(largest_epsilon(self._members, n=n, delta=delta, tol=tol), count, count)

    def smaller(self, most: float, *, n: int, delta: float, tol: float) -> Answer | None:
        """Its answer if that is clearly below another one, ``most``; else None, usually after one evaluation."""
        if self._worst_alone(most, n, delta):
            return None
        if len(self._members) != 1:
            if self.log_delta(np.array([most]), n=n, tol=GLANCE, side="upper")[0] > math.log(delta) + 3.0 * GLANCE:
                return None
            return self.epsilon(n=n, delta=delta, tol=tol, side="upper")
        (member,) = self._members
        curve, limit, log_delta = Curve(member, n, tol), log_up(member.max_ratio), math.log(delta)
        at = look(curve, most, 1e-3, log_delta)  # type: ignore[arg-type]
        if at.excess > 0.0 or not at.slope:
            return None
        guess = Guess(most + at.excess / abs(at.slope), abs(at.slope))
        if at.excess < -1.0 or guess.epsilon < 0.5 * most:  # far away
            guess = _first_guess(curve, delta, limit)
        return Answer(solve(curve, delta, limit=limit, tol=tol, guess=guess), 1, 1)  # type: ignore[arg-type]

    def _worst_alone(self, eps: float, n: int, delta: float) -> bool:
        """Whether delta is larger for others of one type alone, as many as are left without the displaced ones.

        That is an estimate of the bound from below, which only saves asking it.
        """
        for member in self._members if len(self._members) <= _FEW_MEMBERS else ():
            left = int(n - 1.0 / member.common_mass) if member.common_mass * n > 1.0 else 1
            for pair in member.types:
                found = Divergence(pair, left, "lower").point(eps, 1e-3)
                if found is not None and found.lower > math.log(delta) + _WORSE:
                    return True
        return False

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the members, for every eps."""
        only_upper(side)
        best = np.full(eps.shape, -np.inf)
        if not eps.size:
            return best
        for member in sorted(self._members, key=widest, reverse=True) if eps.size == 1 else self._members:
            curve = Curve(member, n, tol / 30.0)
            if eps.size == 1 and best[0] > -np.inf and curve.screened(float(eps[0])) <= best[0]:
                continue
            best = np.maximum(best, curve.log_upper(eps))
        return falling(eps, best)

    @staticmethod
    def together(
        families: Sequence[SwapSet], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
    ) -> list[Answer]:
        """One answer per row (families/pool.py)."""
        from .swap_many import epsilons

        only_upper(side)
        found = epsilons([family._members for family in families], n=n, delta=delta, tol=tol)
        return [Answer(x, len(f._members), len(f._members)) for x, f in zip(found.tolist(), families, strict=True)]

    @staticmethod
    def log_deltas_together(
        families: Sequence[SwapSet], eps: FloatArray, *, n: FloatArray, tol: float, side: Side
    ) -> FloatArray:
        """One log delta per row (families/pool.py)."""
        from .swap_many import log_deltas

        only_upper(side)
        return log_deltas([family._members for family in families], eps, n=n, tol=tol)

    @property
    def quick(self) -> bool:
        """Whether many eps at once cost little."""
        return sum(np.size(pair.t) for member in self._members for pair in member.types) <= _MOST_SHARPENED

    def loose_for(self, n: int) -> bool:
        """Whether the users who are displaced are too many of n for the bound to be sharp."""
        return any(n * member.common_mass < FEW_FREE for member in self._members)

    def pairs(self, most: int) -> None:
        """None: a member is not one shuffled pair but several types."""
        return None

    def members(self, most: int) -> Sequence[SwapPair] | None:
        """The victim pairs, if there are at most ``most``."""
        return self._members if len(self._members) <= most else None

    def thinned(self, chance: float) -> SwapSet:
        """Every other user takes part with this probability, independently."""
        return SwapSet([member.thinned(chance) for member in self._members])


def largest_epsilon(members: Sequence[SwapPair], *, n: int, delta: float, tol: float) -> float:
    """The largest eps over some victim pairs."""
    best = 0.0
    for member in sorted(members, key=widest, reverse=True):
        best = max(best, epsilon_of(member, n=n, delta=delta, tol=tol, least=best))
    return best


def epsilon_of(member: SwapPair, *, n: int, delta: float, tol: float, least: float = 0.0) -> float:
    """eps of one victim pair; ``least`` or less if that is enough."""
    limit = log_up(member.max_ratio)
    if limit <= least:
        return least
    curve = Curve(member, n, tol)
    log_delta = math.log(delta)
    if least > 0.0 and curve.screened(least) <= log_delta:
        return least
    spread_out = min(widest(member), 1e300)
    likely = least > 0.0 or delta >= 0.3 * math.sqrt(spread_out / n)
    if likely and look(curve, least, 1e-3, log_delta).excess <= 0.0:  # type: ignore[arg-type]
        return least
    return solve(curve, delta, limit=limit, tol=tol, guess=_first_guess(curve, delta, limit))  # type: ignore[arg-type]


def _first_guess(curve: Curve, delta: float, limit: float) -> Guess:
    """eps of the worst type alone, and what dither and modulus cost: the first evaluation is then often the last."""
    member, worst = curve.member, max(curve.member.types, key=spread)
    guess = guess_epsilon(worst.atoms, max(int(curve.n - 1.0 / max(member.common_mass, 1e-15)), 1), delta, limit)
    return guess._replace(epsilon=guess.epsilon * (1.0 + 0.5 * curve.dither**2 + 3e-5))


class Rows(NamedTuple):
    """Laws of X (eps, type, symbol), what is exposed (eps, type); the leading type, its saddle and its bend (eps)."""

    x: FloatArray
    t: FloatArray
    alone: FloatArray
    worst: np.ndarray
    c: FloatArray
    bend: FloatArray
    #: log of a sum that is of no use: with it the bound is above the local delta
    useless: FloatArray

    def at(self, rows: np.ndarray) -> Rows:
        """Some of them."""
        return Rows(*(part[rows] for part in self))

    @property
    def deviations(self) -> FloatArray:
        """How many deviations of the sum the abscissa is from 0."""
        return np.asarray(self.c * np.sqrt(self.bend))

    @property
    def grain(self) -> FloatArray:
        """How many deviations of the sum one user's X may be."""
        own = self.x[np.arange(len(self.x)), self.worst]
        return np.asarray((own.max(axis=1) - own.min(axis=1)) / np.sqrt(np.maximum(self.bend, 1e-300)))


def largest(here: Rows, waiting: swap.Waiting, option: Option) -> FloatArray:
    """max over types of log(U + what is exposed): the leading type, then those that may exceed it."""
    rows, types, symbols = here.x.shape
    at, worst, bare = np.arange(rows), here.worst, np.log(here.alone)
    line = swap.line_at(option.scale * here.c, here.bend, option.dither)
    first = swap.log_upper(here.x[at, worst], here.t[at, worst], waiting, line)
    value: FloatArray = np.asarray(np.logaddexp(first, bare[at, worst]))
    useful = ~(value >= here.useless)
    if types == 1 or not useful.any():
        return value
    each = np.repeat(at, types)
    laws = here.x.reshape(-1, symbols), here.t.reshape(-1, symbols)
    screen = swap.log_screen(*laws, waiting.at(each), line.at(each))
    open_ = ~(np.logaddexp(screen.reshape(rows, types), bare) <= value[:, None])
    open_[at, worst] = False
    open_ &= useful[:, None]
    row, kind = np.nonzero(open_)
    if row.size:
        other = swap.log_upper(here.x[row, kind], here.t[row, kind], waiting.at(row), line.at(row))
        np.maximum.at(value, row, np.logaddexp(other, bare[row, kind]))
    return value


def dither_for(tol: float) -> float:
    """The dither, in units of the tilted deviation, that suits a relative accuracy ``tol`` of eps."""
    return min(max(math.sqrt(tol), FINE), _COARSE)


def _near_zero(scale: float, away: float) -> float:
    """log of a Gaussian sum of |M|/|z|^2 at ``scale`` times the saddle point, which is ``away`` deviations from 0.

    That is n K(c) + log(erfcx(c sigma / sqrt 2) / c), and n K - 2 log c has its minimum at the saddle point.
    """
    x = scale * away / math.sqrt(2.0)
    log_erfcx = x * x + math.log(math.erfc(x)) if x < 5.0 else -math.log(x * math.sqrt(math.pi))
    return 0.5 * (1.0 - scale) ** 2 * (away * away + 2.0) + math.log(scale) + log_erfcx


class Curve:
    """The swap bound of one victim pair among n users, in the form that the solver asks for."""

    side: Side = "upper"

    def __init__(self, member: SwapPair, n: int, tol: float) -> None:
        """``tol`` is the relative accuracy wanted of eps; that of delta is about 30 times as much."""
        self.member, self.n = member, n
        self.dither = dither_for(tol)
        #: the line that is tried first, and others, until the best one at some eps is known
        self._main = Option(1.0, self.dither)
        self._options: Sequence[Option] = OPTIONS
        #: whether a law that dominates every type may help, and the share of the nodes far from 0 at the last eps
        self._join = True
        self._far: float | None = None

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """log delta (the lower end makes no claim), and its slope in eps."""
        at = np.atleast_1d(np.asarray(eps, dtype=np.float64))
        upper, fall = self._evaluate(np.minimum(at, LARGEST_EPSILON))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return LogBracket(upper, np.full(at.shape, -np.inf), -fall * np.exp(upper))

    def log_upper(self, eps: FloatArray) -> FloatArray:
        """log delta at every eps."""
        return self._evaluate(np.minimum(np.asarray(eps, dtype=np.float64), LARGEST_EPSILON))[0]

    def _waiting(self, log_target: float) -> swap.Waiting:
        """How many others are looked at in vain, up to where it does not matter for a delta of e^log_target."""
        return swap.Waiting.of(self.member.common_mass, self.n, min(log_target, 0.0))

    @np.errstate(all="ignore")
    def screened(self, eps: float) -> float:
        """A cheap upper value of log delta at one eps."""
        if self.n <= 2 or self.member.common_mass <= 0.0:
            return 0.0
        at = np.array([min(eps, LARGEST_EPSILON)])
        x, t, alone = self.member.laws.at(at - law_shift(at), self.n)
        copies = max(self.n - 1.0 / self.member.common_mass, 1.0)
        c, height, bend = swap.saddle(x[0], t[0], copies)
        worst = int(np.where(np.isfinite(height), height, -np.inf).argmax())
        line = swap.line_at(c[[worst]], bend[[worst]], self.dither).at(np.zeros(len(c), dtype=np.int64))
        waiting = self._waiting(max(float(height[worst]) - math.log(self.n), -740.0))
        value = np.logaddexp(swap.log_screen(x[0], t[0], waiting, line), np.log(alone[0])).max()
        return float(np.logaddexp(value, waiting.log_rest)) if value == value else math.inf

    @np.errstate(all="ignore")
    def _evaluate(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log delta and -d(log delta)/d(eps), roughly."""
        shifted = eps - law_shift(eps)
        laws = self.member.laws
        x, t, alone = laws.at(shifted, self.n)  # eps, type, symbol
        own = (x, t, alone) if self.member.victim is None else self.member.victim.at(shifted, self.n)
        local = np.log(np.minimum((np.maximum(own[0], 0.0) * own[1]).sum(axis=2).max(axis=1) + own[2].max(axis=1), 1.0))
        local += 1e-13
        if self.n <= 2 or self.member.common_mass <= 0.0:  # one other hides nothing: E[(X)_+] is the local delta
            return local, np.ones(eps.size)
        rows, types, symbols = x.shape
        copies = max(self.n - 1.0 / self.member.common_mass, 1.0)
        flat_x, flat_t = x.reshape(-1, symbols), np.ascontiguousarray(t).reshape(-1, symbols)
        c, height, bend = (a.reshape(rows, types) for a in swap.saddle(flat_x, flat_t, copies))
        worst = np.where(np.isfinite(height), height, -np.inf).argmax(axis=1)
        pick = (np.arange(rows), worst)
        target = float(np.min(np.maximum(height[pick] - math.log(self.n), -740.0), initial=0.0))
        waiting = self._waiting(target)
        useless = local + (math.log(-math.expm1(waiting.log_rest)) if waiting.log_rest < 0.0 else -math.inf)
        here = Rows(x, t, alone, worst, c[pick], bend[pick], useless)
        self._far = None
        value = largest(here, waiting, self._main if rows == 1 else Option(1.0, self.dither))
        if x[0].size <= _MOST_SHARPENED:
            self._sharpen(value, here, waiting, copies)
        total = np.logaddexp(value, waiting.log_rest + local)
        weight = t[pick] * np.exp(here.c[:, None] * x[pick])
        fall = np.exp(eps) * here.c * copies * (weight * laws.v[worst]).sum(axis=1) / (weight.sum(axis=1) + 1e-300)
        total = np.where(np.isnan(total), np.inf, total)
        total[local == -np.inf] = -np.inf  # nothing of the victim's is ever above E times the other law
        return np.minimum(total, local), fall

    def _sharpen(self, value: FloatArray, here: Rows, waiting: swap.Waiting, copies: float) -> None:
        """Improve rows few deviations away, by one dominating law or near the saddle, and those on a coarse lattice."""
        close = here.deviations < CLOSE
        one = value.size == 1
        if self._join and here.x[0].size <= _MOST_JOINED:
            covered = np.flatnonzero(close & (here.alone.max(axis=1) == 0.0))
            if covered.size:
                found = joined(here.x[covered], here.t[covered], waiting, copies, self.dither)
                close[covered[found < value[covered]]] = False
                if one:  # what helps at this eps will do for those nearby
                    self._join = bool(found[0] < value[0])
                    self._options = () if found[0] < value[0] - _MUCH else self._options
                value[covered] = np.minimum(value[covered], found)
        grainy = here.grain > GRAINY
        first, chosen = float(value[0]), None
        for option in self._options:
            wanted = close if option.dither == FINE else grainy
            if one and wanted[0] and not self._may_gain(option, here, waiting, first - float(value[0])):
                continue
            rows = np.flatnonzero(wanted)
            if rows.size:
                found = largest(here.at(rows), waiting, option)
                if found[0] < value[rows[0]]:
                    chosen = option
                value[rows] = np.minimum(value[rows], found)
        if one and (close | grainy).any():
            self._main, self._options = chosen or self._main, ()

    def _may_gain(self, option: Option, here: Rows, waiting: swap.Waiting, gained: float) -> bool:
        """Whether another line may be better: a guess from what it costs near 0 and saves far from 0."""
        away = float(here.deviations[0])
        if option.dither == FINE:
            return gained == 0.0 and _near_zero(option.scale, away) < _near_zero(1.0, away) + _UNSURE
        if self._far is None:
            own = (0, int(here.worst[0]))
            line = swap.line_at(here.c, here.bend, self.dither)
            self._far = swap.far_share(here.x[own][None], here.t[own][None], waiting, line)
        price = 0.5 * (option.dither**2 - self.dither**2) * (option.scale * away) ** 2
        price += 0.3 * (1.0 - option.scale) ** 2 * away * away
        return price + gained < -math.log1p(-min(self._far, 0.999999)) + 1e-7


def joined(
    x: FloatArray, t: FloatArray, waiting: swap.Waiting, copies: float | FloatArray, dither: float
) -> FloatArray:
    """The bound by one law that dominates every type; inf where that is much wider than the types."""
    y, mass = join(x, t)
    out = np.full(len(y), np.inf)
    wide = (mass * y * y).sum(axis=1)
    good = np.flatnonzero(wide <= _NEARLY * (t * x * x).sum(axis=2).max(axis=1))
    if good.size:
        users = np.broadcast_to(np.asarray(copies, dtype=np.float64), len(y))[good]
        c, _, bend = swap.saddle(y[good], mass[good], users)
        line = swap.line_at(c, bend, dither)
        out[good] = swap.log_upper(y[good], mass[good], waiting.at(good), line, phases=True)
    return out


def join(x: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least law on the values of all types that dominates each type in increasing convex order, row by row.

    E(X - a)_+ of every type is convex in a, and linear between the values.  The largest of them at each value, joined
    by straight lines, is convex again: the same function of a law on these values, whose masses are the changes of
    slope.  They cancel, so the function is summed again from the masses, and all values are raised by the range times
    the largest relative shortfall: as E(Y - a)_+ <= range Pr[Y > a], that repairs it at every a.
    """
    rows = len(x)
    points = np.sort(np.concatenate([x.reshape(rows, -1), np.zeros((rows, 1))], axis=1), axis=1)
    least = np.zeros((rows, points.shape[1]))
    for k in range(x.shape[1]):
        calls = np.maximum(x[:, k, None, :] - points[:, :, None], 0.0) @ t[:, k, :, None]
        nothing = np.maximum(1.0 - t[:, k].sum(axis=1), 0.0)[:, None] * np.maximum(-points, 0.0)
        least = np.maximum(least, calls[:, :, 0] + nothing)
    step = np.diff(points, axis=1)
    span = (points[:, -1] - points[:, 0])[:, None]
    distinct = step > _COINCIDE * least[:, :-1] + 1e-12 * span
    slope = np.where(distinct, np.diff(least, axis=1) / np.where(distinct, step, 1.0), np.nan)
    slope = np.concatenate([np.full((rows, 1), -1.0), slope, np.zeros((rows, 1))], axis=1)
    for i in range(1, slope.shape[1]):  # values that coincide: the slope before them goes on, which raises the lower
        slope[:, i] = np.where(np.isnan(slope[:, i]), slope[:, i - 1], slope[:, i])
    mass = np.maximum(np.diff(slope, axis=1), 0.0)
    mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1.0) * (1.0 + 1e-15)  # a law, whatever the slopes lost
    calls = (np.maximum(points[:, None, :] - points[:, :, None], 0.0) @ mass[:, :, None])[:, :, 0]
    calls += np.maximum(1.0 - mass.sum(axis=1), 0.0)[:, None] * np.maximum(-points, 0.0)
    short = np.where(least > 0.0, least / np.maximum(calls, 1e-300), 1.0).max(axis=1) - 1.0
    return points + span * (np.maximum(short, 0.0)[:, None] + 1e-12), mass


class _Laws(NamedTuple):
    """The laws of X of all types, filled up with symbols of no mass to one width: (type, symbol)."""

    gap: FloatArray
    v: FloatArray
    ratio: FloatArray
    t: FloatArray
    exposed: Sequence[Atoms]

    @classmethod
    def of(cls, atoms: Sequence[Atoms]) -> _Laws:
        width = max(a.t.size for a in atoms)
        gap, v, ratio, t = (np.zeros((len(atoms), max(width, 1))) for _ in range(4))
        for k, a in enumerate(atoms):
            gap[k, : a.t.size], v[k, : a.t.size], t[k, : a.t.size] = a.gap, a.v, a.t
            ratio[k, : a.t.size] = np.maximum(a.u, a.v)
        return cls(gap, v, ratio, t, atoms)

    def at(self, eps: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """X and its masses (eps, type, symbol), and the mass that is exposed (eps, type).

        A symbol that others almost never send, and that would swamp the law, counts as never sent: a part of a law is
        as good as the law.
        """
        growth = np.expm1(eps)[:, None, None]
        x = self.gap - growth * self.v
        alone = np.zeros((eps.size, len(self.exposed)))
        for k, a in enumerate(self.exposed):
            if a.zero0.size:
                alone[:, k] = a.exposed(eps)
        rare = (n * self.t < RARE) & (self.ratio > _SWAMPS * n)
        t = np.where(rare, 0.0, self.t)
        if rare.any():
            alone = alone + (np.maximum(x, 0.0) * (self.t - t)).sum(axis=2)
            x = np.where(rare, 0.0, x)
        return x, np.broadcast_to(t, x.shape), alone


def falling(eps: FloatArray, log_delta: FloatArray) -> FloatArray:
    """The smallest value at any smaller eps: the true delta falls with eps, an upper bound on it need not."""
    order = np.argsort(eps, kind="stable")
    out = np.empty_like(log_delta)
    out[order] = np.minimum.accumulate(log_delta[order])
    return out


def only_upper(side: Side) -> None:
    """The swap bound says nothing from below."""
    if side != "upper":
        raise BoundNotApplicableError("the swap bound is an upper bound; take the lower one from constant datasets.")


def widest(member: SwapPair) -> float:
    """The largest spread of any type."""
    return max(spread(pair) for pair in member.types)


def _shrunk(pair: ShuffledPair) -> Atoms:
    """The atoms of a pair with their masses rounded down."""
    a = pair.atoms
    factor = 1.0 - mass_slack(np.size(pair.t))
    return Atoms(a.u / factor, a.v / factor, a.gap / factor, a.t * factor, a.zero0, a.zero1)
