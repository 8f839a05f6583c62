"""The swap bound: the others hide the victim with their whole laws, not with their common part only.

One user i* of the others whose report does not depend on her value is enough.  Exchange her report for the victim's:
then every slot of a set S of others, i* unknown among them, holds a report of its owner's own law except one, which
holds the victim's.  So with X_i = (P0 - E P1)(J_i) / R_{x_i}(J_i) and beta the mass of the common part of all laws
(docs/swap.md, Theorem 1)

    delta(E) <= sum_{k=0}^{n-2} beta (1-beta)^k E[(mean of X_i over n-1-k others)_+] + (1-beta)^{n-1} local(E).

Theorem 2 makes this a maximum over the *types* x that the others may hold: for any c, h > 0 and s >= 0, the same for
all x,

    delta(E) <= max_x U(x) + (1-beta)^{n-1} local(E),
    U(x) = (h/2 pi) sum_{y in hZ} exp(s^2 (c^2 - y^2)/2) / (c^2 + y^2) A(|M_x(c+iy)|),
    A(r) = sum_{k=0}^{n-2} beta (1-beta)^k r^{n-1-k} / (n-1-k),      M_x(z) = E exp(z X).

It is a finite sum of positive terms: every (c, h, s) gives a bound, and there is no quadrature error.

If one law Y dominates X of every type in convex order, E[(mean)_+] is largest when everybody has Y, and the modulus
is not needed: the trapezoid sum of Re[A(M_Y(z)) e^{s^2 z^2/2} / z^2] is a bound too, since each of its summands k is
a sum of non-negative numbers by Poisson summation (contour.py, fact 2).  That is sharper for small eps.

Every function works on rows: one row per eps and type, ``x`` its values and ``t`` their probabilities (0 otherwise).
"""

from __future__ import annotations

import math

import numpy as np

from ..pair import FloatArray
from . import swap_far, swap_few
from .swap_lines import Line as Line
from .swap_lines import line_at as line_at
from .swap_lines import saddle as saddle
from .swap_moduli import moduli as moduli
from .swap_moduli import raised as raised
from .waiting import GROWTH as GROWTH
from .waiting import NEGLIGIBLE as NEGLIGIBLE
from .waiting import SUMMING as SUMMING
from .waiting import ULP as ULP
from .waiting import Waiting as Waiting

#: Node counts: by the Gaussian tail of M for many users, and at most.
_FEW_NODES, MOST_NODES = 15, 4096
#: Nodes that the Gaussian tail of M bounds by e^-this of the first one are not needed.
_NO_MORE = 40.0
#: Rows x nodes x values evaluated at once, and up to how many of them the calls cost more than the arithmetic.
_CELLS, _FEW_CELLS = 400_000, 20_000
#: Laws of more values than this are looked at in blocks of nodes; of fewer, every node costs little.
_FEW_VALUES = 8


@np.errstate(all="ignore")
def log_crude(x: FloatArray, t: FloatArray, waiting: Waiting, line: Line) -> FloatArray:
    """log of an upper value of U from M(c) alone: |M(c+iy)| <= M(c), and the sum over y of 1/(c^2+y^2)."""
    weights = line.h / (2.0 * np.pi * line.c**2) + 0.5 / line.c  # the node 0, and an integral for the others
    value = waiting.log_sum(_log_growth(x, t, line.c)) + 0.5 * (line.s * line.c) ** 2 + np.log(weights) + 1e-9
    return np.where(np.isnan(value), np.inf, value)


@np.errstate(all="ignore")
def log_screen(x: FloatArray, t: FloatArray, waiting: Waiting, line: Line) -> FloatArray:
    """log of an upper value of U from M(c) and the tilted variance alone, without a sum over nodes."""
    tilted = _tilted(x, t, line.c)
    return log_screened(_log_growth(x, t, line.c), tilted.variance, tilted.span, waiting, line)


@np.errstate(all="ignore")
def log_screened(log_m: FloatArray, variance: FloatArray, span: FloatArray, waiting: Waiting, line: Line) -> FloatArray:
    """An upper value of log U given upper values of log M(c) and of the range, and a lower one of the variance V.

    |M(c+iy)/M(c)|^2 = E cos(y(X - X')) under the tilted law, and cos a <= 1 - a^2/2 + a^4/24, so that it is at most
    exp(-V y^2 (1 - span^2 y^2/12)); for |y| <= pi/span also at most exp(-(4/pi^2) V y^2) (contour.py, fact 3);
    beyond, the dither bounds the terms.
    """
    c, h, s = line.c, line.h, line.s
    copies = waiting.fewest
    close = 10.0 / np.sqrt(variance * copies)
    flat = np.maximum(1.0 - (span * close) ** 2 / 12.0, 4.0 / np.pi**2)
    cliff = np.pi / span * (1.0 - 1e-12)
    close = np.minimum(close, cliff)
    rate = 0.5 * variance * copies * flat + 0.5 * s * s
    slow = (2.0 / np.pi**2) * variance * copies
    near = _gaussian_sum(rate, c, h) / h
    middle = 2.0 * np.exp(-slow * close**2) * (1.0 / (c * c + close**2) + np.arctan2(c, close) / (c * h))
    far = 2.0 * np.exp(-0.5 * (s * cliff) ** 2) * (1.0 / (c * c + cliff**2) + np.arctan2(c, cliff) / (c * h))
    sharp = np.log(h / (2.0 * np.pi) * (near + middle + far))
    crude = np.log(h / (2.0 * np.pi * c * c) + 0.5 / c)  # |M(c+iy)| <= M(c) only
    value = waiting.log_sum(log_m) + 0.5 * (s * c) ** 2 + np.fmin(sharp, crude) + 1e-9
    return np.where(np.isnan(value), np.inf, value)


def _gaussian_sum(rate: FloatArray, c: FloatArray, h: FloatArray) -> FloatArray:
    """An upper value of h sum over y in hZ of g(y) = e^(-rate y^2)/(c^2 + y^2).

    By Poisson summation it is sum_k G(2 pi k/h), where G(0) = (pi/c) erfcx(c sqrt(rate)), erfcx(x) <=
    (2/sqrt(pi))/(x + sqrt(x^2 + 4/pi)) (DLMF 7.8.2), and G(w) = (pi/c) E e^(-c|w - N|), N Gaussian of variance 2 rate,
    is at most (pi/c) (e^(rate c^2 - c w) + Pr[N > w]).
    """
    root = c * np.sqrt(rate)
    centre = 2.0 / math.sqrt(math.pi) / (root + np.sqrt(root * root + 4.0 / math.pi))
    w = 2.0 * math.pi / h
    alias = 2.0 * (np.exp(rate * c * c - c * w) / -np.expm1(-c * w) + 2.0 * np.exp(-w * w / (4.0 * rate)))
    return np.asarray(math.pi / c * (centre + alias))


@np.errstate(all="ignore")
def log_upper(x: FloatArray, t: FloatArray, waiting: Waiting, line: Line, *, phases: bool = False) -> FloatArray:
    """log U of every row; inf where the arithmetic fails.  With ``phases`` the row's law must dominate every type."""
    peak = waiting.log_sum(_log_growth(x, t, line.c))
    nodes, tail = _nodes(x, t, waiting, line, peak, phases)
    nodes = np.maximum(nodes, 1)  # where the arithmetic failed the tail is not a number
    out = np.full(len(x), np.inf)
    if not phases and 0 < int(nodes.sum()) * x.shape[1] <= _FEW_CELLS:
        out = np.log(swap_few.sums(x, t, waiting, line, nodes, peak) + tail) + peak
        nodes = nodes[:0]
    for part in _alike(nodes, _CELLS / x.shape[1]):
        total = _sum(x[part], t[part], waiting.at(part), line.at(part), int(nodes[part[-1]]), peak[part], phases)
        out[part] = np.log(total + tail[part]) + peak[part]
    value = out + np.log(line.h / (2.0 * np.pi)) + 0.5 * (line.s * line.c) ** 2 + 1e-11
    return np.where(np.isnan(value), np.inf, value)


def _alike(nodes: np.ndarray, most: float) -> list[np.ndarray]:
    """Rows with about as many nodes, at most ``most`` nodes together; the last one of a part has most of them."""
    if nodes.size <= 1:
        return [np.arange(nodes.size)] if nodes.size else []
    order = np.argsort(nodes, kind="stable")
    sizes = np.maximum(nodes[order], 1)
    parts, start = [], 0
    while start < order.size:
        end = int(np.searchsorted(sizes, 2 * sizes[start], side="right"))
        end = min(end, start + max(1, int(most / sizes[end - 1])))
        parts.append(order[start:end])
        start = end
    return parts


def _log_growth(x: FloatArray, t: FloatArray, c: FloatArray) -> FloatArray:
    """log M(c), rounded up."""
    exponent = c[:, None] * x
    growth = (t * np.expm1(exponent)).sum(axis=1)
    doubt = ULP * (t * np.abs(exponent) * np.exp(np.maximum(exponent, 0.0))).sum(axis=1)
    log_m = np.where(growth < -0.5, np.log(np.maximum(1.0 + growth, 1e-300)), np.log1p(np.maximum(growth, -0.5)))
    return raised(log_m, 1.0 + growth, doubt)


def _nodes(
    x: FloatArray, t: FloatArray, waiting: Waiting, line: Line, peak: FloatArray, phases: bool
) -> tuple[np.ndarray, FloatArray]:
    """How many nodes y = h, 2h, ... are summed, and what bounds all later ones (in the units of the peak).

    Beyond any node the dither alone bounds the terms, as |M(c+iy)| <= M(c).  For many users the terms are below
    exp(-(2/pi^2) V y^2 per copy) for y <= pi/range (contour.py, fact 3) before the dither takes over.  Elsewhere blocks
    of nodes that add nothing are left out (swap_far.py).
    """
    c, h, s = line.c, line.h, line.s
    tilted = _tilted(x, t, c)
    cliff = np.pi / tilted.span * (1.0 - 1e-12)
    rate = (2.0 / np.pi**2) * tilted.variance * waiting.fewest
    least = np.maximum(np.ceil(np.sqrt(_NO_MORE / rate) / h), _FEW_NODES)
    few = h * least
    quick = (s * cliff >= 9.0) & (few < cliff) & (least <= MOST_NODES)
    middle = 2.0 * np.exp(-rate * few * few) / ((c * c + few * few) * 2.0 * rate * few * h)
    reach = np.sqrt(2.0 * np.log(np.maximum(1e7 * s * c * c / h, 10.0))) / s  # the rest is then about 1e-7 of the sum
    count = np.where(quick, least, np.minimum(np.ceil(reach / h), MOST_NODES)).astype(np.int64)
    last = np.where(quick, cliff, count * h)
    beyond = 2.0 * np.exp(-0.5 * (s * last) ** 2) / (c * c + last * last) * (1.0 + 1.0 / (h * s * s * last))
    tail = np.asarray(beyond + np.where(quick, middle, 0.0))
    if x.shape[1] > _FEW_VALUES and int(count.sum()) * x.shape[1] > _FEW_CELLS:
        count, rest = swap_far.shortened(x, t, waiting, line, tilted, count, peak, moduli=not phases)
        tail = tail + rest
    return count, tail * (1.0 + 1e-9)


def _tilted(x: FloatArray, t: FloatArray, c: FloatArray) -> swap_far.Tilted:
    """Mass, deviation, variance (rounded down) and range of the tilted law; "nothing" counts as the value 0."""
    weight = t * np.exp(c[:, None] * x)
    nothing = np.maximum(1.0 - t.sum(axis=1), 0.0)
    total = weight.sum(axis=1) + nothing
    live = t > 0.0
    high = np.maximum(np.where(live, x, -np.inf).max(axis=1), np.where(nothing > 0.0, 0.0, -np.inf))
    low = np.minimum(np.where(live, x, np.inf).min(axis=1), np.where(nothing > 0.0, 0.0, np.inf))
    mean = (weight * x).sum(axis=1) / total
    apart = np.abs(x - mean[:, None])
    load = weight * apart
    variance = ((load * apart).sum(axis=1) + nothing * mean * mean) / total * (1.0 - 1e-9)
    change = (load.sum(axis=1) + nothing * np.abs(mean)) * (1.0 + 1e-9)
    return swap_far.Tilted(total, change, variance, np.maximum(high - low, 1e-300))


def _sum(
    x: FloatArray, t: FloatArray, waiting: Waiting, line: Line, nodes: int, peak: FloatArray, phases: bool
) -> FloatArray:
    """The trapezoid sum over |y| <= nodes h, in units of e^peak (and without e^{s^2 c^2/2} h/(2 pi))."""
    y = line.h[:, None] * np.arange(nodes + 1)
    growth, doubt, modulus, log_modulus = moduli(x, t, line.c, y)
    weight = np.exp(-0.5 * (line.s[:, None] * y) ** 2) / (line.c[:, None] ** 2 + y * y)
    weight[:, 1:] *= 2.0
    top = peak[:, None]
    if not phases:
        log_r = raised(log_modulus, modulus, doubt)
        size = log_sums(waiting, log_r)
        return np.asarray((weight * np.exp(size - top)).sum(axis=1) * (1.0 + SUMMING))
    log_r = raised(log_modulus, modulus, doubt)
    size = np.exp(log_sums(waiting, log_r) - top)
    wave = size.astype(np.complex128)  # far below the peak the modulus will do
    live = size > 1e-25
    log_m = (log_modulus + 1j * np.arctan2(growth.imag, 1.0 + growth.real))[live]
    here = waiting.at(np.nonzero(live)[0])
    wave[live] = here.sum(growth[live], log_m, np.broadcast_to(top, y.shape)[live], size[live])
    rough = np.expm1(np.minimum(np.reshape(waiting.others, (-1, 1)) * (log_r - log_modulus), 50.0)) + SUMMING
    # e^{s^2 z^2/2}/z^2 = weight e^{i s^2 c y} (conj z)^2/|z|^2
    z = line.c[:, None] + 1j * y
    twist = np.exp(1j * (line.s * line.s * line.c)[:, None] * y) * (z.conj() / np.abs(z)) ** 2
    blur = rough + ULP * (1.0 + (line.s * line.s * line.c)[:, None] * y)
    common = np.reshape(waiting.common_mass, (-1, 1))
    if common.min() < 1.0:  # 1 - rho is known up to doubt, and the sum over k divides by it
        blur += (doubt + ULP) / np.maximum(np.abs(common + growth), 1e-7)
    return np.asarray((weight * ((wave * twist).real + size * blur)).sum(axis=1))


def log_sums(waiting: Waiting, log_r: FloatArray) -> FloatArray:
    """log A(r) at every node; far below the first node one value stands for all, which is sound: A rises with r."""
    least = log_r[:, 0] - 60.0 / waiting.fewest
    live = log_r > least[:, None]
    out = np.broadcast_to(waiting.log_sum(least)[:, None], log_r.shape).copy()
    out[live] = waiting.at(np.nonzero(live)[0]).log_sums(log_r[live])
    return out
