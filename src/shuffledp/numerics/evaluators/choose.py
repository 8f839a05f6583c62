"""One function in front of the evaluators: bracket D_E of a shuffled pair, exactly or on the contour.

Rounding of the *law* is charged here, once for all mechanisms: entries of P0 and P1 that are right to
a relative 2^-50 move eps by at most 2^-49, and shrinking t is always sound (delta falls with t), so
upper values use t (1 - slack) at eps - slack and lower values eps + slack.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from ..pair import LAW_SLACK, Atoms, FloatArray, ShuffledPair
from ..pair import mass_slack as mass_slack
from . import contour, exact
from .contour import LogBracket
from .few_clones import FEW, FewClones
from .in_floats import InFloats
from .window_plan import Value

Side = Literal["upper", "lower"]

#: e^eps beyond this is not formed: upper values stop falling here, lower ones are those of eps -> inf.
LARGEST_EPSILON = 200.0
#: A table up to this size is built at once; a larger one only where the contour is not accurate enough.
QUICK_ROWS = 8_000
#: A table up to this size is built at once even if there are many of them.
TINY_ROWS = 256
#: Relative width of a bracket by the enumeration of few clones that is not compared with the contour.
_SHARP = 1e-8
#: A relative accuracy from which enumerating many counts does not pay, and a number of eps beyond which it does not.
_COARSE, _SEVERAL = 1e-3, 8
#: Expected number of others sending a symbol below which it counts as never sent.
_RARE_UPPER, _RARE_LOWER = 1e-7, 1e-12
#: That costs at most the victim's mass on these symbols; it is kept if it is below this share of delta.
_NEGLIGIBLE = 1e-9
#: Beyond this ratio P/t to n, one draw of a symbol outweighs everything else, and it stays exposed.
_SWAMPS = 1e3


class Divergence:
    """D_E(P || Q) of one shuffled pair among n messages, as a bracket in logarithms, for any eps.

    Examples
    --------
    >>> curve = Divergence(ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25]), n=1)
    >>> upper = curve.bracket(np.array([0.0]), rtol=1e-6).upper
    >>> bool(abs(np.exp(upper[0]) - 0.5) < 1e-9)
    True
    """

    def __init__(self, pair: ShuffledPair, n: int, side: Side = "upper", *, slopes: bool = True) -> None:
        self.n = n
        self.side = side
        #: whether brackets of many eps have slopes; they may cost a third of the time
        self.slopes = slopes
        self.max_ratio = pair.max_ratio
        atoms = pair.shrunk if side == "upper" else pair.atoms
        self._sign = -1.0 if side == "upper" else 1.0
        few = atoms.few
        if few is not None and n * min(few.t) >= _RARE_UPPER:  # no symbol is rare on either side
            self._take(atoms, 0.0)
        else:
            self._take(*_expose_rare(atoms, n, side, 0.0))
        #: the same curve with rare symbols left in the law, for where exposing them would cost too much
        self._kept: Divergence | None = None
        if self.atoms is not atoms:
            whole, lost = _expose_rare(atoms, n, side, _SWAMPS * n)
            if whole.t.size > self.atoms.t.size:
                self._kept = copy.copy(self)
                self._kept._take(whole, lost)

    def _take(self, atoms: Atoms, lost: float) -> None:
        #: the law, and the probability that it is not: that somebody sends a symbol which was taken out
        self.atoms, self._lost = atoms, lost
        self._row_count: float | None = None
        self._table: exact.Table | None = None
        #: the same law in plain floats, where that is faster
        few = None if atoms.zero0.size else atoms.few
        self._floats = None if few is None else InFloats(few, self.n, self.side == "upper", lambda: self.few_clones)
        #: whether the last point was found in plain floats
        self.in_floats = False

    def start_at(self, abscissa: float) -> None:
        """Where the saddle point is, roughly: it saves a search."""
        if self._floats is not None:
            self._floats.abscissa = abscissa

    @property
    def _rows(self) -> float:
        """Rows of the table of all counts; inf where it would be far too large."""
        if self._row_count is None:
            n, atoms = self.n, self.atoms
            self._row_count = math.inf if n * atoms.outside > exact.MAX_ROWS else exact.rows_needed(atoms, n)
        return self._row_count

    @property
    def floor(self) -> float:
        """delta at eps -> inf; see :func:`floor`."""
        exposed = floor(self.atoms, self.n) * (1.0 - self._lost)
        return exposed if self._kept is None else min(exposed, self._kept.floor)

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """log upper, log lower and d(upper)/d(eps); relative width about rtol where that is possible.

        The safe end is ``upper`` for side="upper" and ``lower`` for side="lower".
        """
        eps = np.atleast_1d(np.asarray(eps, dtype=np.float64))
        huge = eps > LARGEST_EPSILON
        if huge.any():
            return self._beyond(eps, huge, rtol)
        shifted = eps + self._sign * law_shift(eps)
        wanted = np.broadcast_to(np.asarray(rtol, dtype=np.float64), shifted.shape)
        found = self._hidden(shifted, wanted)
        if self.atoms.zero0.size:
            found = self._expose(found, shifted)
        return found if self._kept is None else self._with_rare(found, self._kept, eps, shifted, wanted)

    def point(self, eps: float, rtol: float) -> Value | None:
        """What :meth:`bracket` gives at one eps, in plain floats and much faster; None where only that one applies.

        The slope is the derivative in E.
        """
        self.in_floats = False
        if self._floats is None or self._kept is not None or not 0.0 <= eps <= LARGEST_EPSILON:
            return None
        growth = math.expm1(eps + self._sign * (LAW_SLACK + 2.0**-51 * eps))
        found = self._floats.bracket(growth, rtol)
        if found is None or (found.upper - found.lower > 2.0 * rtol and found.upper > contour.UNDERFLOW):
            return None
        self.in_floats = True
        return found

    @property
    def polishable(self) -> bool:
        """Whether evaluations are sharp and cost next to nothing, so that a search may end on the root itself."""
        return self._floats is not None and self._floats.sharp

    def _with_rare(
        self, found: LogBracket, kept: Divergence, eps: FloatArray, shifted: FloatArray, rtol: FloatArray
    ) -> LogBracket:
        """The better of two sound answers, where the rare symbols that were exposed are not negligible."""
        rare = self.atoms.exposed(shifted) - kept.atoms.exposed(shifted)
        with np.errstate(under="ignore"):
            at = np.flatnonzero(rare > _NEGLIGIBLE * np.exp(np.minimum(found.upper, 0.0)))
        if not at.size:
            return found
        other = kept.bracket(eps[at], rtol[at])
        better = other.upper < found.upper[at] if self.side == "upper" else other.lower > found.lower[at]
        for mine, theirs in zip(found, other, strict=True):
            mine[at[better]] = theirs[better]
        return found

    def _beyond(self, eps: FloatArray, huge: np.ndarray, rtol: FloatArray | float) -> LogBracket:
        """The divergence falls with eps, towards :func:`floor`."""
        found = self.bracket(np.minimum(eps, LARGEST_EPSILON), rtol)
        with np.errstate(divide="ignore"):
            least = np.log(self.floor) - 1e-12
        return found._replace(lower=np.where(huge, np.minimum(least, found.upper), found.lower))

    def _hidden(self, eps: FloatArray, rtol: FloatArray) -> LogBracket:
        """The part E[(mean X)_+] over symbols that others send too."""
        if self._rows <= QUICK_ROWS:
            best = self._from_table(eps)
            loose = _loose(best, rtol)
            if not loose.size:
                return best
            return _merge(best, self._on_contour(eps[loose], rtol[loose]), loose)
        summed = self._floats.brackets(eps, rtol) if eps.size > 1 and self._floats is not None else None
        if summed is None:
            return self._in_arrays(eps, rtol)
        loose = _loose(summed, rtol)
        return _merge(summed, self._in_arrays(eps[loose], rtol[loose]), loose) if loose.size else summed

    def _in_arrays(self, eps: FloatArray, rtol: FloatArray) -> LogBracket:
        """The same without windows: few clones, the contour, and something finer where they are too wide."""
        few = self.few_clones
        if few is None or not (few.quick or (eps.size <= _SEVERAL and float(rtol.min(initial=np.inf)) < _COARSE)):
            best = self._on_contour(eps, rtol)
        else:
            best = _where_usable(few, eps)
            loose = _loose(best, np.minimum(rtol, _SHARP))  # used only if sharp: never looser than the contour alone
            if loose.size:
                best = _merge(best, self._on_contour(eps[loose], rtol[loose]), loose)
        loose = _loose(best, rtol)
        if not loose.size:
            return best
        if self._rows <= exact.MAX_ROWS:
            return _merge(best, self._from_table(eps[loose]), loose)
        return _merge(best, self._on_contour(eps[loose], rtol[loose] / 8.0), loose)  # once more, finer

    @cached_property
    def few_clones(self) -> FewClones | None:
        """The few-clones enumeration, where the most revealing symbols are rare; None where it does not help."""
        if self._rows <= QUICK_ROWS or (self.n - 1) * self.atoms.t.min(initial=np.inf) >= FEW:
            return None
        return FewClones.of(self.atoms, self.n)

    @property
    def enumerable(self) -> bool:
        """Whether an evaluation enumerates few clones only and costs next to nothing."""
        return self.few_clones is not None and self.few_clones.quick

    def sharp(self, eps: float) -> LogBracket | None:
        """The bracket at eps if it takes milliseconds and its relative width is below _SHARP; else None."""
        few, at = self.few_clones, np.array([eps]) + self._sign * law_shift(np.array([eps]))
        if few is None or eps > LARGEST_EPSILON or not few.usable(at)[0]:
            return None
        found = few.log_bracket(at)
        if self.atoms.zero0.size:
            found = self._expose(found, at)
        return found if found.upper[0] - found.lower[0] <= _SHARP else None

    def _on_contour(self, eps: FloatArray, rtol: FloatArray) -> LogBracket:
        """Bracket on the contour, after setting aside the atoms of which a single draw makes S <= 0."""
        values = self.atoms.values(eps)
        deadly = values <= -(self.n - 1) * np.maximum(values.max(axis=1, keepdims=True), 0.0)
        if not deadly.any():
            return self._sum(values, eps, rtol, slice(None), 1.0)
        out = LogBracket(*(np.full(eps.size, fill) for fill in (-np.inf, -np.inf, 0.0)))
        for pattern in np.unique(deadly, axis=0):
            rows = np.flatnonzero((deadly == pattern).all(axis=1))
            spared = max(0.0, 1.0 - float(self.atoms.t[pattern].sum()))
            part = self._sum(values[rows], eps[rows], rtol[rows], ~pattern, spared)
            for mine, theirs in zip(out, part, strict=True):
                mine[rows] = theirs
        return out

    def _sum(
        self, values: FloatArray, eps: FloatArray, rtol: FloatArray, keep: np.ndarray | slice, spared: float
    ) -> LogBracket:
        """The atoms kept, given that none of the others is drawn: that has probability spared^n."""
        v, t = self.atoms.v[keep], self.atoms.t[keep]
        if not t.size or spared <= 0.0:
            return LogBracket(*(np.full(eps.size, fill) for fill in (-np.inf, -np.inf, 0.0)))
        found = contour.log_bracket(values[:, keep], v if self.slopes else None, t / spared, self.n, rtol)
        chance = self.n * math.log(spared) if spared < 1.0 else 0.0
        doubt = 4e-16 * self.n * (1.0 / spared - 1.0) + 2e-16 * abs(chance)  # rounding of spared, n times
        with np.errstate(under="ignore"):
            slope = found.slope * np.exp(eps) * math.exp(chance)
        return LogBracket(found.upper + (chance + doubt), found.lower + (chance - doubt), slope)

    def _from_table(self, eps: FloatArray) -> LogBracket:
        if self._table is None:
            self._table = exact.build(self.atoms, self.n)
        return exact.log_bracket(self._table, eps)

    def _expose(self, hidden: LogBracket, eps: FloatArray) -> LogBracket:
        """Add the symbols that nobody else sends, and Jensen's E[(mean X)_+] >= (E X)_+."""
        atoms = self.atoms
        with np.errstate(divide="ignore"):
            drift = np.log(np.maximum(atoms.values(eps) @ atoms.t, 0.0)) - 1e-12
            extra = np.log(atoms.exposed(eps))
        return LogBracket(
            np.logaddexp(hidden.upper, extra + 1e-14),
            np.logaddexp(np.maximum(hidden.lower, drift) + math.log1p(-self._lost), extra - 1e-14),
            hidden.slope + atoms.exposed_slope(eps),
        )


def brackets_over_one_blanket(
    curves: Sequence[Divergence], eps: FloatArray, rtol: FloatArray | float
) -> list[LogBracket] | None:
    """Brackets of curves with the same t, on the contour at once; some may be wider than asked for.

    None where one of them has a tiny table of counts, or needs more than the contour.
    """
    t, fewest = curves[0].atoms.t, min(curve.n for curve in curves)
    shifted = eps + curves[0]._sign * law_shift(eps)
    if (
        any(curve.atoms.zero0.size or curve._rows <= TINY_ROWS for curve in curves)
        or fewest * t.min(initial=1.0) < _RARE_UPPER
        or bool(np.any(eps > LARGEST_EPSILON))
    ):
        return None
    values = np.concatenate([curve.atoms.values(shifted) for curve in curves])
    if np.any(values <= -(fewest - 1) * np.maximum(values.max(axis=1, keepdims=True), 0.0)):  # deadly
        return None
    wanted = np.broadcast_to(np.asarray(rtol, dtype=np.float64), shifted.shape)
    v, n = (np.repeat(x, eps.size, axis=0) for x in ([c.atoms.v for c in curves], [float(c.n) for c in curves]))
    found = contour.log_bracket(values, v, t, n, np.tile(wanted, len(curves)))
    upper, lower, slope = (x.reshape(len(curves), -1) for x in found)
    with np.errstate(under="ignore"):
        slope = slope * np.exp(shifted)
    return [LogBracket(*parts) for parts in zip(upper, lower, slope, strict=True)]


def spread(pair: ShuffledPair) -> float:
    """sum (P0 - P1)^2 / t: the leading order of eps is proportional to its root (inf if exposed)."""
    atoms = pair.atoms
    if np.any(atoms.zero0 > atoms.zero1):
        return math.inf
    return atoms.spread


def floor(atoms: Atoms, n: int) -> float:
    """delta at eps -> inf: the victim sends a symbol with P1 = 0 and nobody sends one with P1 > 0.

    sum_{P1_j = 0} P0_j (1 - sum_{P1_j > 0} t_j)^(n-1), plus the exposed symbols with P1_j = 0.
    """
    telling = atoms.v == 0.0
    hiding = min(float(atoms.t[~telling].sum()) * (1.0 + 1e-13), 1.0)  # rounded up, the floor down
    alone = math.exp((n - 1) * math.log1p(-hiding)) if hiding < 1.0 else float(n == 1)
    return float(atoms.u[telling] @ atoms.t[telling]) * alone + float(atoms.zero0[atoms.zero1 == 0.0].sum())


def law_shift(eps: FloatArray) -> FloatArray:
    """How far the rounding of P0, P1 and of e^eps can move eps."""
    return np.asarray(LAW_SLACK + 2.0**-51 * eps)


def _expose_rare(atoms: Atoms, n: int, side: Side, least_ratio: float) -> tuple[Atoms, float]:
    """Count symbols that others almost never send (n t_j tiny) as exposed, if P/t is at least ``least_ratio``.

    Where P/t is far above n it would swamp the law, and the symbol reveals the victim.  Where it is not, many such
    symbols may together have more mass than delta and yet reveal nobody.

    Upper: t_j -> 0 is sound and costs at most the victim's mass on j.  Lower: let m be the mass of all these symbols in
    t.  Where nobody sends any of them, which has probability (1-m)^(n-1) >= 1 - n m for the others, they send the other
    symbols by the law t/(1-m).  Where j is the only one of them that is seen, the divergence is at least
    P0_j (1 - n m) - E (P1_j + n t_j).  These events are disjoint.  n m is returned beside the law (0 for an upper one).
    """
    rare = n * atoms.t < (_RARE_UPPER if side == "upper" else _RARE_LOWER)
    rare &= np.maximum(atoms.u, atoms.v) >= least_ratio
    if not rare.any():
        return atoms, 0.0
    mass, keep = atoms.t[rare], ~rare
    gone, lost = (float(mass.sum()), n * float(mass.sum()) * (1.0 + 1e-9)) if side == "lower" else (0.0, 0.0)
    scale = 1.0 - gone
    exposed = Atoms(
        u=atoms.u[keep] * scale,
        v=atoms.v[keep] * scale,
        gap=atoms.gap[keep] * scale,
        t=atoms.t[keep] / scale,
        zero0=np.concatenate([atoms.zero0, atoms.u[rare] * mass]) * (1.0 - lost),
        zero1=np.concatenate([atoms.zero1, atoms.v[rare] * mass + (n * mass if side == "lower" else 0.0)]),
    )
    return exposed, lost


def _where_usable(few: FewClones, eps: FloatArray) -> LogBracket:
    """The hidden part by the enumeration of few clones; no claim is made where that bracket is wide."""
    out = LogBracket(np.full(eps.size, np.inf), np.full(eps.size, -np.inf), np.zeros(eps.size))
    usable = few.usable(eps)
    if usable.any():
        for mine, theirs in zip(out, few.log_bracket(eps[usable]), strict=True):
            mine[usable] = theirs
    return out


def _loose(bracket: LogBracket, rtol: FloatArray) -> np.ndarray:
    """Where the bracket is wider than asked for (one that underflows counts as narrow enough)."""
    with np.errstate(invalid="ignore"):
        gap = bracket.upper - bracket.lower
    return np.flatnonzero(~(gap <= 2.0 * rtol) & (bracket.upper > contour.UNDERFLOW))


def _merge(first: LogBracket, second: LogBracket, at: np.ndarray) -> LogBracket:
    """Both brackets hold, so their intersection does."""
    upper, lower, slope = first.upper.copy(), first.lower.copy(), first.slope.copy()
    better = ~(second.upper >= upper[at])
    upper[at] = np.fmin(upper[at], second.upper)
    lower[at] = np.fmax(lower[at], second.lower)
    slope[at] = np.where(better, second.slope, slope[at])
    return LogBracket(upper, lower, slope)
