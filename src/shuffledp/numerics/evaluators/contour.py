"""The contour evaluator: E[(S)_+] for a sum S of n copies of X, at a cost that does not depend on n.

For any c > 0, with z = c + iy, M(z) = E[exp(z X)] and independent Gaussian noise of deviation s
added to S ("dither"),

    E[(S + sZ)_+] = (1/pi) Integral_0^inf Re[ M(z)^n exp(s^2 z^2 / 2) / z^2 ] dy.

Four facts make the trapezoid sum a two-sided bound on E[(S)_+] (docs/theory.md):

1. Dither only raises E[(S)_+] (Jensen), by at most 0.4 s E[exp(-S^2 / 2s^2)], which is one more sum
   over the same nodes.
2. The untruncated trapezoid sum of step h equals sum_k g(2 pi k / h), g(x) = e^{cx} E[(S - x)_+] >= 0
   (Poisson summation): a coarse step errs upwards only, and the k != 0 terms are bounded in closed form.
3. Beyond the last node the integrand is at most exp(-s^2 y^2 / 2), and for |y| <= pi / range(X) also
   exp(-(2/pi^2) n Var_c(X) y^2), because cos a <= 1 - 2 a^2/pi^2 on [-pi, pi].
4. |M(c+iy)/M(c)|^n <= exp(-n w_i w_j (1 - cos(y (l_i - l_j)))) for any two atoms with tilted weights
   w_i, w_j: between the resonances of one heavy pair no node has to be evaluated.

The event "no clone at all" puts a point mass at S = 0 that adds nothing to E[(S)_+] but would cost
dither; it is removed exactly.  Rounding is added with a running error bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..pair import FloatArray
from ..small_products import product
from . import fourier
from .contour_nodes import LEAST_GROWTH, Line, NDArrayInt, comb, count_nodes, dot, log_nothing, place

NDArrayComplex = np.ndarray[tuple[int, ...], np.dtype[np.complex128]]

#: Each rounding step is charged this much (2^-48 is 16 units in the last place).
ULP = 2.0**-48
#: Nodes x atoms evaluated in one go: more would not fit into the cache.
BATCH_CELLS = 100_000
#: Fast transforms are used from this many atoms and copies on.
_MANY_ATOMS, _ENOUGH_COPIES = 24, 16
#: They may blur M^n by this share of the accuracy asked for, and by this much in any case.
_MOST_DOUBT, _LEAST_DOUBT = 0.05, 1e-8
#: Up to this many atoms the nodes are transformed one atom at a time, beyond that by matrix products.
_FEW_ATOMS = 6
#: log of a divergence below every positive double.
UNDERFLOW = -760.0


class LogBracket(NamedTuple):
    """log of an upper and a lower bound on E[(S)_+]/n, and the derivative of the upper one in eps."""

    upper: FloatArray
    lower: FloatArray
    slope: FloatArray


@np.errstate(all="ignore")  # overflow and cancellation show as inf or NaN, and the answer is then on the safe side
def log_bracket(
    l: FloatArray,
    v: FloatArray | None,
    t: FloatArray,
    n: int | FloatArray,
    rtol: FloatArray,
    most_nodes: float = math.inf,
) -> LogBracket:
    """Bracket log(E[(S)_+]/n) for every row of l, where X = l_j with probability t_j, else 0.

    ``n`` is one number of copies, or one per row; ``t`` is one law, or one per row of l.
    ``v`` (one row, or one per row of l) is -dl/dE, for the slope, which is the derivative in E (0 without v).
    The relative width is about rtol (one value per row) where MAX_NODES suffice.  No claim is made for rows that would
    take more than ``most_nodes``.
    """
    out = LogBracket(np.full(len(l), -np.inf), np.full(len(l), -np.inf), np.zeros(len(l)))
    atoms = t.shape[-1]
    if atoms == 0:
        return out
    active = np.flatnonzero(l.max(axis=1) > 0)  # elsewhere S <= 0
    if active.size == 0:
        return out
    copies = np.broadcast_to(np.asarray(n, dtype=np.float64), len(l))
    own = t if t.ndim == 1 else t[active]
    line = place(l[active], own, copies[active], rtol[active])
    speed = np.broadcast_to(0.0 if v is None else v, l.shape)
    # (x)_+ <= e^{cx} / (e c): where this already underflows, a finer value is not needed.
    chernoff = line.log_peak + np.log(line.c) - 1.0 - np.log(copies[active])
    hopeless = chernoff < UNDERFLOW
    broken = ~(np.isfinite(line.last) & np.isfinite(line.h) & (line.h > 0.0))  # overflow: no claim is made
    out.upper[active[hopeless]] = chernoff[hopeless]
    if most_nodes < math.inf:
        nodes = count_nodes(line.last, line.h, line.kappa, line.pair_gap, line.cut)
        broken |= ~hopeless & (nodes > most_nodes)
    out.upper[active[broken]] = np.inf
    usable = ~hopeless & ~broken
    if not usable.all():
        active, line = active[usable], line.rows(usable)
    for part in [np.zeros(1, dtype=np.int64)] if active.size == 1 else _batches(line, BATCH_CELLS / atoms):
        rows, here = active[part], line if part.size == active.size else line.rows(part)
        mass = t if t.ndim == 1 else t[rows]
        out.upper[rows], out.lower[rows], out.slope[rows] = _sum(l[rows], speed[rows], mass, copies[rows], here)
    unknown = ~(out.upper < np.inf)
    out.upper[unknown], out.slope[unknown] = np.inf, 0.0
    out.lower[np.isnan(out.lower)] = -np.inf
    return out


def _batches(line: Line, most: float) -> list[NDArrayInt]:
    """Consecutive rows that have about this many nodes together."""
    nodes = count_nodes(line.last, line.h, line.kappa, line.pair_gap, line.cut)
    group = np.floor(np.cumsum(nodes) / most).astype(np.int64)
    return np.split(np.arange(nodes.size), np.flatnonzero(np.diff(group)) + 1) if nodes.size else []


def _sum(
    l: FloatArray, v: FloatArray, t: FloatArray, n: FloatArray, line: Line
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The trapezoid sums of every row, and from them log upper, log lower and the slope in E."""
    k, per_row = comb(line)
    row = np.repeat(np.arange(line.c.size), per_row)
    starts = np.cumsum(per_row) - per_row
    c, s, h = line.c, line.s, line.h
    y, c_node, n_node = k * h[row], c[row], n[row]
    scale, grow = np.exp(c[:, None] * l), np.expm1(c[:, None] * l)
    growth = np.maximum(dot(grow, t), LEAST_GROWTH)
    log_mgf = n * np.log1p(growth)
    real, imag, kick, slack = _transform(k, per_row, line, n, l, v, t, scale, grow)
    # In units of the value at y = 0: M(z)^n exp(s^2 z^2/2) has this modulus and phase, c/z is `lean`.
    square = (s * s)[row]
    turn = square * c_node * y
    modulus = np.hypot(1.0 + real, imag)
    small = real < -0.5  # log1p would cancel
    log_modulus = np.log(np.maximum(modulus, 1e-300))
    log_modulus = np.where(small, log_modulus, 0.5 * np.log1p(2.0 * real + real * real + imag * imag))
    size = np.exp(n_node * log_modulus - log_mgf[row] - 0.5 * square * y * y)
    phase = n_node * np.arctan2(imag, 1.0 + real) + turn
    wave = size * np.cos(phase) + 1j * (size * np.sin(phase))
    shrink = 1.0 / (1.0 + (y / c_node) ** 2)  # |c/z|^2
    lean = shrink * (1.0 - 1j * (y / c_node))
    moving = bool(v.any())
    slope_wave = wave * kick / (1.0 + real + 1j * imag) if moving else np.zeros(1)
    nothing = np.exp(log_nothing(t, n) - log_mgf)  # the point mass at S = 0, removed here
    if nothing.max() > 1e-40:
        dust = nothing[row] * np.exp(-0.5 * square * y * y)
        wave -= dust * np.cos(turn) + 1j * (dust * np.sin(turn))
        size += dust
    # Running error bound: an exponent carries n (|z| sum_j t_j |l_j| max(1, e^{c l_j}) + [small]) / |M| roundings.
    load = dot(np.abs(l) * np.maximum(scale, 1.0), t)
    adding = 1.0 + t.shape[-1] / 16.0 if t.shape[-1] > _FEW_ATOMS else 1.0  # roundings of the sum over the atoms
    doubts = adding * load[row] * np.hypot(c_node, y) + small + slack[row]
    rough = size * (16.0 + n_node * doubts / np.maximum(modulus, 1e-300))
    slopes = (slope_wave * lean).real if moving else np.zeros(k.size)
    terms = np.stack([(wave * lean * lean).real, wave.real, slopes, shrink * rough, rough])
    edge = 8.0 + 0.5 * n * (load * c + (growth < -0.5)) / (1.0 + growth)
    first = np.stack([0.5 * (1.0 - nothing)] * 2 + [0.5 * dot(scale * v, t) / (1.0 + growth)] + [edge] * 2)
    filled = np.flatnonzero(per_row)
    if filled.size:
        first[:, filled] += np.add.reduceat(terms, starts[filled], axis=1)
    total, moment, kicks, slip, slip_moment = first
    missed, missed_moment = _missed(line, nothing)
    unit = h / np.pi
    upper = unit * (np.maximum(total, 0.0) + ULP * slip) + missed
    # E[exp(-S^2/2s^2)] = (s / sqrt(2 pi)) Integral M(z)^n exp(s^2 z^2/2) dy, a sum over the same nodes.
    cost = 0.8 * h * (s * c) ** 2 / math.sqrt(2 * math.pi) * (np.maximum(moment, 0.0) + ULP * slip_moment)
    lower = unit * (total - ULP * slip) - missed - cost - missed_moment - _alias(l, t, n, line, upper)
    log_scale = line.log_peak - np.log(n)
    doubt = ULP * (np.abs(line.log_peak) + 2.0 * edge) + 1e-13
    with np.errstate(divide="ignore", invalid="ignore"):
        log_upper = log_scale + np.log(upper) + doubt
        log_lower = np.where(lower > 0, log_scale + np.log(np.maximum(lower, 0.0)) - doubt, -np.inf)
        slope = -np.exp(log_scale + np.log(np.maximum(unit * kicks * n * c, 1e-300)))
    return log_upper, log_lower, slope


def _transform(
    k: NDArrayInt,
    per_row: NDArrayInt,
    line: Line,
    n: FloatArray,
    l: FloatArray,
    v: FloatArray,
    t: FloatArray,
    scale: FloatArray,
    grow: FloatArray,
) -> tuple[FloatArray, FloatArray, NDArrayComplex, FloatArray]:
    """M(z) - 1 = sum_j t_j expm1(z l_j) at the nodes (real, imaginary), and sum_j t_j v_j exp(z l_j).

    The last array is what fast transforms may have added to the error of M, in units of ULP, for each row.
    """
    h, rtol = line.h, line.rtol
    row = np.repeat(np.arange(per_row.size), per_row)
    slack = np.zeros(per_row.size)
    atoms = t.shape[-1]
    if atoms <= _FEW_ATOMS:
        return *_few_atoms(k * h[row], row, l, v, t, scale, grow), slack
    real, imag, kick = np.zeros(k.size), np.zeros(k.size), np.zeros(k.size, dtype=np.complex128)
    slow = np.ones(k.size, dtype=bool)
    moving = bool(v.any())
    if atoms >= _MANY_ATOMS:
        for i in np.flatnonzero(n >= _ENOUGH_COPIES):
            mine = slice(int(per_row[:i].sum()), int(per_row[: i + 1].sum()))
            if not per_row[i] or not fourier.pays(int(per_row[i]), int(k[mine].max()), atoms):
                continue
            mass = t if t.ndim == 1 else t[i]
            weight = mass * scale[i]
            found = fourier.sums(k[mine], float(h[i]), l[i], [weight, weight * v[i]] if moving else [weight])
            if found is None or not n[i] * found[1] <= max(_MOST_DOUBT * rtol[i], _LEAST_DOUBT):
                continue
            values, error = found
            real[mine] = grow[i] @ mass + values[0].real
            imag[mine] = values[0].imag
            kick[mine] = values[-1] + weight @ v[i] if moving else 0.0
            slack[i], slow[mine] = error / ULP, False
    if slow.any():
        real[slow], imag[slow], kick[slow] = _many_atoms(k[slow], h, row[slow], l, v, t, scale, grow)
    return real, imag, kick, slack


def _few_atoms(
    y: FloatArray, row: NDArrayInt, l: FloatArray, v: FloatArray, t: FloatArray, scale: FloatArray, grow: FloatArray
) -> tuple[FloatArray, FloatArray, NDArrayComplex]:
    """The same sums atom by atom, without cancellation."""
    real, imag, kick = np.zeros(y.size), np.zeros(y.size), np.zeros(y.size, dtype=np.complex128)
    moving = bool(v.any())
    for j in range(t.shape[-1]):
        share = t[j] if t.ndim == 1 else t[row, j]
        angle = y * l[row, j]
        sine, half = np.sin(angle), np.sin(0.5 * angle)
        lost = 2.0 * half * half  # 1 - cos, without cancellation
        e = scale[row, j]
        sine *= e
        real += (grow[row, j] - e * lost) * share
        imag += sine * share
        if moving:
            kick += (e * (1.0 - lost) + 1j * sine) * (v[row, j] * share)
    return real, imag, kick


def _many_atoms(
    k: NDArrayInt,
    h: FloatArray,
    row: NDArrayInt,
    l: FloatArray,
    v: FloatArray,
    t: FloatArray,
    scale: FloatArray,
    grow: FloatArray,
) -> tuple[FloatArray, FloatArray, NDArrayComplex]:
    """The same by matrix products: with k = B a + b and f(y) = e^(iyl) - 1, f(y + y') = f(y) + f(y') + f(y) f(y').

    Neither factor cancels where y l is small, so the error is a few roundings of |y l| for every atom, as for single
    sines, and that of a sum over the atoms.
    """
    found, kick = np.zeros(k.size, dtype=np.complex128), np.zeros(k.size, dtype=np.complex128)
    for i in range(len(l)):
        at = slice(*np.searchsorted(row, [i, i + 1]))
        if at.start == at.stop:
            continue
        block = math.isqrt(at.stop - at.start) + 1
        coarse, a = np.unique(k[at] // block, return_inverse=True)
        b = k[at] % block
        mass = t if t.ndim == 1 else t[i]
        weight = mass * scale[i]
        start, step = _turned(coarse * (block * h[i]), l[i]), _turned(np.arange(block) * h[i], l[i])
        both = product(start * weight, step.T)
        found[at] = (
            float(grow[i] @ mass) + (start * weight).sum(axis=1)[a] + (step * weight).sum(axis=1)[b] + both[a, b]
        )
        if v[i].any():
            kick[at] = product((1.0 + start) * (weight * v[i]), (1.0 + step).T)[a, b]
    return found.real, found.imag, kick


def _turned(y: FloatArray, l: FloatArray) -> NDArrayComplex:
    """e^(iyl) - 1, without cancellation."""
    angle = y[:, None] * l
    half = np.sin(0.5 * angle)
    return np.asarray(-2.0 * half * half + 1j * np.sin(angle))


def _missed(line: Line, nothing: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What the nodes that are not evaluated can add, in units of the peak, for F and for z^2 F / c^2.

    Skipped nodes inside the comb and nodes past the last one are below exp(-cut); the sums over
    them are compared with integrals (the bounds fall with y).
    """
    c, s, h = line.c, line.s, line.h
    end = line.last * h
    cliff = np.pi / line.width
    dither = 0.5 * s * s
    # past the cliff the dither alone, before it Gaussian decay as well; the removed point mass decays by the dither
    rate = np.stack([dither, (2.0 / np.pi**2) * line.variance + dither, dither])
    y = np.stack([np.maximum(end, cliff), end, end])
    share = np.stack([np.ones_like(end), end < cliff, nothing])
    # sum over nodes > y of h exp(-rate y^2) {1, c^2/y^2} <= first term + integral
    tails = np.where(share == 0.0, 0.0, share * np.exp(-rate * y * y) * (h + 1.0 / (2.0 * rate * y)))
    # skipped inside the comb: at most `last` nodes, each below 2 exp(-cut), and |c/z|^2 sums to < 2 + pi c / 2h
    skipped = np.exp(-line.cut) * 2.0 * h
    inside = skipped * np.minimum(line.last, 2.0 + np.pi * c / (2.0 * h))
    scale = 0.8 * (s * c) ** 2 / math.sqrt(2 * math.pi)
    return (
        ((tails * (c / y) ** 2).sum(axis=0) + inside) / np.pi,
        scale * (tails.sum(axis=0) + skipped * line.last),
    )


def _alias(l: FloatArray, t: FloatArray, n: FloatArray, line: Line, upper: FloatArray) -> FloatArray:
    """Bound on sum over k != 0 of g(2 pi k / h), in units of the peak (fact 2)."""
    c, s = line.c, line.s
    period = 2.0 * np.pi / line.h
    q = np.exp(-c * period)
    # k < 0: e^{-ckx} E[(S + kx)_+] <= e^{-ckx} (E[(S)_+] + kx)
    with np.errstate(over="ignore"):
        far = np.exp(np.log(period) - c * period - line.log_peak)
        left = upper * q / (1.0 - q) + far / (1.0 - q) ** 2
        # k > 0: (x)_+ <= e^{bx} / (e b) for any b > c; a Gaussian and a Poisson-like choice of b
        right = np.full_like(c, np.inf)
        for gain in (0.7 * period / (line.variance + s * s), 14.0 / period):
            b = c + gain
            log_mgf = n * np.log1p(dot(np.expm1(b[:, None] * l), t)) + 0.5 * (s * b) ** 2
            fall = np.exp(-gain * period)
            right = np.minimum(right, np.exp(log_mgf - line.log_peak - gain * period) / (math.e * b * (1.0 - fall)))
    return np.asarray(left + right)
