"""E[(mean of n copies of X)_+] of many rows by a dithered trapezoid sum, at a cost that does not depend on n.

For any c > 0, with z = c + iy, M(z) = E exp(zX) and independent Gaussian noise of deviation s added to the sum S
("dither"),

    E[(S + sZ)_+] = (1/pi) Integral_0^inf Re[ M(z)^n exp(s^2 z^2 / 2) / z^2 ] dy.

Dither only raises E[(S)_+] (Jensen).  The trapezoid sum of step h over all nodes equals sum_k g(2 pi k/h) with g(x) =
e^(cx) E[(S - x)_+] >= 0 (Poisson summation), so a coarse step only raises it too.  Every other error, and what a lower
value subtracts for dither and step, has its own function below.

The event that nobody sends any symbol puts a point mass at S = 0, which adds nothing to E[(S)_+] but would cost
dither; it is removed exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import tuning
from .ledger import charge
from .line import LEAST_GROWTH, Tilt, block_bounds, blocks, in_parts, saddle, tilt, whole_blocks
from .pair import FloatArray, Side
from .rows import ULP, chunks, take_rows


class Sum(NamedTuple):
    """What one trapezoid sum is made of, by row."""

    x: FloatArray
    t: FloatArray
    n: FloatArray
    at: Tilt
    s: FloatArray  # dither
    h: FloatArray  # step
    last: FloatArray  # the last node that may be evaluated
    cut: FloatArray  # nodes below e^-cut of the peak are bounded, not evaluated

    @property
    def log_peak(self) -> FloatArray:
        """log of the integrand at y = 0."""
        return np.asarray(self.n * self.at.log_m + 0.5 * (self.s * self.at.c) ** 2 - 2.0 * np.log(self.at.c))

    @property
    def nothing(self) -> FloatArray:
        """The point mass at S = 0, in units of M(c)^n."""
        return np.asarray(np.exp(self.n * (np.log1p(-np.minimum(self.t.sum(axis=1), 1.0)) - self.at.log_m)))


@np.errstate(all="ignore")  # an overflow becomes inf or NaN, for which nothing is claimed
def log_delta(
    x: FloatArray, t: FloatArray, n: FloatArray, rtol: FloatArray, side: Side, c: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """log delta of every row on the named side, to about a relative rtol, and the abscissas that were used.

    ``c`` is about where the saddles are, if that is known.
    """
    upper = side == "upper"
    at = tilt(x, t, saddle(x, t, n, c))
    idle = x.max(axis=1) <= 0.0
    value, open_ = np.full(len(x), np.nan), np.arange(len(x))
    finer = np.ones(len(x))  # where S has heavy points or a long tail, dither and step cost more than for a normal law
    for _ in range(tuning.REFINEMENTS):
        whole = place(x[open_], t[open_], n[open_], take_rows(at, open_), rtol[open_], finer)
        crude = chernoff(whole)
        live = ~(idle[open_] | (crude < tuning.UNDERFLOW)) & np.isfinite(whole.last * whole.h)
        known = np.where(np.isnan(crude), np.inf, crude) if upper else np.full(open_.size, -np.inf)
        whole, cost = whole._replace(last=np.where(live, whole.last, 0.0)), np.zeros(open_.size)
        for part in chunks(np.ceil(whole.last / tuning.BLOCK) * x.shape[1] + tuning.BLOCK) if live.any() else ():
            found, cost[part] = evaluate(take_rows(whole, part), upper=upper)
            better = np.fmin(known[part], found) if upper else np.fmax(known[part], found)
            known[part] = np.where(live[part], better, known[part])
        value[open_] = (np.fmin if upper else np.fmax)(value[open_], known)
        loose = np.flatnonzero(live & (whole.last < _most_nodes(rtol[open_])) & (cost > 2.0 * rtol[open_]))
        if not loose.size:
            break
        finer, open_ = 4.0 * finer[loose], open_[loose]
    return np.where(idle, -np.inf, value), at.c


def place(
    x: FloatArray, t: FloatArray, n: FloatArray, at: Tilt, rtol: FloatArray, finer: FloatArray | float = 1.0
) -> Sum:
    """Dither, step and last node for which dither and aliases cost about rtol; every choice is sound.

    This holds where S is nearly Gaussian; where S has heavy points or a long tail, both must be ``finer``.
    """
    c, variance = at.c, n * at.variance
    cut, digits = tuning.MARGIN - np.log(rtol), 3.5 - np.log(rtol)
    s = np.minimum(np.sqrt(rtol) / c, tuning.WIDEST_DITHER * at.width) / finer
    sigma = np.sqrt(variance + s * s)
    left = digits - n * at.log_m + 2.0 * np.log1p(c * sigma) + 1.0
    h = 2.0 * np.pi / np.maximum(np.sqrt(2.0 * digits + 6.0) * sigma, left / c) / finer**0.25
    last, most = np.sqrt(2.0 * cut) / (s * h), _most_nodes(rtol)
    s, last = s * np.maximum(last / most, 1.0), np.minimum(last, most)
    early = np.sqrt(cut / ((2.0 / np.pi**2) * variance + 0.5 * s * s)) / h
    cliff = np.pi / at.width
    last = np.where((early * h <= cliff) & (0.5 * (s * cliff) ** 2 >= cut), np.minimum(early, last), last)
    return Sum(x, t, n, at, s, h, whole_blocks(last), cut)


def _most_nodes(rtol: FloatArray) -> FloatArray:
    """A Gaussian sum needs nodes in proportion to 1/sqrt(rtol); a law that needs far more gets a wider dither."""
    return tuning.MOST_NODES / np.sqrt(np.maximum(rtol / tuning.FINEST, 1.0))


def evaluate(whole: Sum, *, upper: bool) -> tuple[FloatArray, FloatArray]:
    """log of the upper or the lower value of every row, and the part of it that dither and step cost."""
    x, n, at, s, h = whole.x, whole.n, whole.at, whole.s, whole.h
    c, nothing, doubt = at.c, whole.nothing, peak_rounding(whole)
    row, number = blocks(whole.last)
    if row.size > 2 * len(x):
        start, bound = block_bounds(x, at, h, row, number)
        # the point mass is subtracted at every node, and may exceed M^n where the other atoms cancel it
        size = np.maximum(n[row] * np.log(bound), np.log(nothing)[row])
        live = (size - 0.5 * (s[row] * start) ** 2 > -whole.cut[row]) | (number == 0)
        row, number = row[live], number[live]
    total, moment, slip, slip_moment = np.zeros((4, len(x)))
    for node in in_parts(x, at, h, row, number):
        r, y = node.row[:, None], node.y
        decay = -0.5 * (s[r] * y) ** 2
        turn = (s * s * c)[r] * y
        size = np.exp(n[r] * node.log_size + decay)
        phase = n[r] * node.phase + turn
        wave, sine = size * np.cos(phase), size * np.sin(phase)
        dust = nothing[r] * np.exp(decay)
        wave -= dust * np.cos(turn)
        sine -= dust * np.sin(turn)
        rough = sum_rounding(size, n[r] * node.doubt) + sum_rounding(dust, doubt[r])
        lean = y / c[r]
        shrink = 1.0 / (1.0 + lean * lean)  # |c/z|^2
        terms = shrink * shrink * (wave * (1.0 - lean * lean) + 2.0 * sine * lean)  # Re[wave (c/z)^2]
        for out, term in ((total, terms), (slip, shrink * rough), (moment, wave), (slip_moment, rough)):
            out += np.bincount(node.row, term.sum(axis=1), len(x))
    total -= 0.5 * (1.0 - nothing)  # the node 0 counts half
    moment = np.maximum(moment - 0.5 * (1.0 - nothing), 0.0)
    missed, missed_moment = unevaluated_nodes(whole, nothing)
    most = h / np.pi * (np.maximum(total, 0.0) + slip) + missed
    price = dither_price(whole, h * (moment + slip_moment) + missed_moment)
    log_scale = whole.log_peak - np.log(n)
    coarse, fine = aliases(whole, most), dither_price(whole, h * np.maximum(moment - slip_moment, 0.0))
    if upper:
        return log_scale + np.log(most) + doubt, (fine + coarse) / most
    least = h / np.pi * (total - slip) - missed - price - coarse
    return log_scale + np.log(least) - doubt, (fine + coarse) / most


@charge("rounding of the terms of the trapezoid sum", "docs/proofs.md, Lemma 9")
def sum_rounding(size: FloatArray, doubt: FloatArray | float) -> FloatArray:
    """A term M^n carries n times the relative error of M, and some roundings of its own."""
    return np.asarray(size * (doubt + 16.0 * ULP))


@charge("rounding of M(c)^n in front of the sum", "docs/proofs.md, Lemma 9")
def peak_rounding(whole: Sum) -> FloatArray:
    """The exponent n log M(c) carries n c sum t|x|max(1, e^(cx))/M(c) roundings, and one of its own size."""
    return np.asarray(ULP * (np.abs(whole.log_peak) + 2.0 * whole.n * whole.at.load * whole.at.c + 16.0) + 1e-13)


@charge("rounding of M(c)^n in Chernoff's bounds", "docs/proofs.md, Lemma 9")
def log_power(whole: Sum, b: FloatArray) -> FloatArray:
    """n log M(b) from above: every e^(bx) carries |bx| + 1 roundings, the sum a few."""
    power = b[:, None] * whole.x
    growth = np.expm1(power)
    log_m = np.log1p(np.maximum((whole.t * growth).sum(axis=1), LEAST_GROWTH))
    grown = 1.0 + growth
    doubt = (whole.t * (np.abs(power) * grown + np.maximum(grown, 1.0))).sum(axis=1) + 1.0
    return np.asarray(whole.n * (log_m + ULP * (np.abs(log_m) + doubt * np.exp(-log_m))))


def chernoff(whole: Sum) -> FloatArray:
    """(x)_+ <= e^(cx)/(e c), so delta <= M(c)^n/(e c n).

    It needs neither dither nor a sum over nodes, whose roundings may exceed delta near the limit.
    """
    value = log_power(whole, whole.at.c) - np.log(whole.at.c) - 1.0 - np.log(whole.n)
    return np.asarray(value + ULP * (np.abs(value) + 2.0))


@charge("nodes of the trapezoid sum that are not evaluated", "docs/proofs.md, Lemma 8")
def unevaluated_nodes(whole: Sum, nothing: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An upper value of what they add, in units of the peak, to the sum and to the sum of z^2 F/c^2 (without h/pi).

    Beyond the last node the integrand is at most exp(-s^2 y^2/2), and up to pi/range(X) also exp(-(2/pi^2) n Var y^2);
    sums over falling bounds are at most their first term and an integral.  Skipped blocks hold at most ``last`` nodes,
    with M^n and the point mass each below exp(-cut), and |c/z|^2 sums to at most 2 + pi c/(2h).
    """
    c, s, h, last = whole.at.c, whole.s, whole.h, whole.last
    end, cliff, dither = (last + 1.0) * h, np.pi / whole.at.width, 0.5 * s * s
    bell = (2.0 / np.pi**2) * whole.n * whole.at.variance + dither
    near, far = np.zeros(c.size), np.zeros(c.size)
    for share, y, rate in (
        (1.0, np.maximum(end, cliff), dither),
        (end < cliff, end, bell),
        (nothing, end, dither),
    ):
        tail = share * np.exp(-rate * y * y) * (h + 1.0 / (2.0 * rate * y))
        near, far = near + tail * (c / y) ** 2, far + tail
    skipped = 2.0 * h * np.exp(-whole.cut)
    return (near + skipped * np.minimum(last, 2.0 + np.pi * c / (2.0 * h))) / np.pi, far + skipped * last


@charge("dither, in a lower value", "docs/proofs.md, Lemma 7")
def dither_price(whole: Sum, moment: FloatArray) -> FloatArray:
    """Dither raises E[(S)_+] by at most 0.4 s E[exp(-S^2/2s^2)] = 0.4 (s^2/sqrt(2 pi)) Integral M^n e^(s^2 z^2/2) dy.

    The integral is one more sum over the same nodes, ``moment``, in units of the peak over c^2.
    """
    return np.asarray(0.8 * (whole.s * whole.at.c) ** 2 / np.sqrt(2.0 * np.pi) * moment)


@charge("step of the trapezoid sum, in a lower value", "docs/proofs.md, Lemma 6")
def aliases(whole: Sum, upper: FloatArray) -> FloatArray:
    """A bound on the sum of g(2 pi k/h) over k != 0, g(x) = e^(cx) E[(S - x)_+], in units of the peak.

    k < 0: e^(-ckx) E[(S + kx)_+] <= e^(-ckx) (E[(S)_+] + kx).  k > 0: (x)_+ <= e^(bx)/(e b) for any b > c; a Gaussian
    and two Poisson-like choices of b are tried.
    """
    at, s = whole.at, whole.s
    period = 2.0 * np.pi / whole.h
    q = np.exp(-at.c * period)
    left = upper * q / (1.0 - q) + np.exp(np.log(period) - at.c * period - whole.log_peak) / (1.0 - q) ** 2
    right = np.full(at.c.size, np.inf)
    for gain in (0.7 * period / (whole.n * at.variance + s * s), 14.0 / period, 28.0 / period):
        b = at.c + gain
        log_mgf = log_power(whole, b) + 0.5 * (s * b) ** 2
        fall = np.exp(-gain * period)
        right = np.fmin(right, np.exp(log_mgf - whole.log_peak - gain * period) / (np.e * b * (1.0 - fall)))
    return np.asarray((left + right) * np.exp(peak_rounding(whole)))  # the peak, too, is rounded
