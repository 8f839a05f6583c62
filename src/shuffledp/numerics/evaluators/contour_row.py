"""One row of the contour evaluator for a few atoms: the same sums and charges, with plain floats around the nodes.

contour.py evaluates many rows at once; for one row nearly all of its time is the cost of calls.  Here everything that
is one number per row is a float, and only what is one number per node is an array.  The facts are those of contour.py,
the choices those of contour_nodes.py; the comb of fact 4 is that of the pair of atoms with the fewest nodes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..few_atoms import Few, Tilt
from ..pair import FloatArray
from .contour import ULP, UNDERFLOW
from .contour_nodes import MARGIN, WIDE
from .window_plan import Value

#: More nodes before the comb than this are left to the evaluator of many rows.
MOST_NODES = 20_000
_PI, _TAU = math.pi, 2.0 * math.pi
_ROOT_TAU = math.sqrt(_TAU)


class Place(NamedTuple):
    """Abscissa, dither, step, the last node that matters, and where nodes are bounded and not evaluated."""

    c: float
    s: float
    h: float
    last: int
    cut: float
    growth: float
    log_mgf: float
    variance: float
    width: float
    #: half the width of a tooth of the comb and the distance between two, in nodes; inf, 1 where all are evaluated
    half: float
    pitch: float
    nodes: float

    def cost(self, atoms: int) -> float:
        """Microseconds for one or two sums over the nodes, roughly."""
        return 110.0 + self.nodes * (0.07 + 0.07 * atoms)


@np.errstate(all="ignore")  # overflow shows as inf or NaN, and no claim is made then
def log_bracket(few: Few, x: list[float], n: int, at: Place) -> Value | None:
    """Bracket log(E[(S)_+]/n), where X = x_j with probability t_j, else 0; None where numbers are out of range."""
    try:
        log_peak = at.log_mgf + 0.5 * (at.s * at.c) ** 2 - 2.0 * math.log(at.c)
        chernoff = log_peak + math.log(at.c) - 1.0 - math.log(n)
        if chernoff < UNDERFLOW:
            return Value(chernoff, -math.inf, 0.0)
        found = _sum(x, few.v, few.t, n, at, log_peak)
    except (ArithmeticError, ValueError):
        return None
    return found if found.upper < math.inf and found.lower == found.lower else None


def place(x: list[float], t: tuple[float, ...], at: Tilt, n: int, rtol: float) -> Place | None:
    """c, s and h so that dither and step cost about rtol (relative), given the law tilted near the saddle.

    See contour_nodes.place; None where there are too many nodes.
    """
    c, growth = at.c, at.growth
    cut, digits = MARGIN - math.log(rtol), 3.5 - math.log(rtol)
    variance = n * at.variance
    width = max(*x, 0.0) - min(*x, 0.0)
    s = min(math.sqrt(rtol) / c, WIDE * width)
    log_mgf = n * math.log1p(growth)
    sigma = math.sqrt(variance + s * s)
    left = digits - log_mgf + 2.0 * math.log1p(c * sigma) + 1.0
    h = _TAU / max(math.sqrt(2.0 * digits + 6.0) * sigma, left / c)
    reach = math.sqrt(2.0 * cut) / (s * h)
    # fact 3 ends the sum early where the Gaussian decay holds up to the last node
    early = math.ceil(math.sqrt(cut / ((2.0 / _PI**2) * variance + 0.5 * s * s)) / h)
    if early * h <= _PI / width and 0.5 * (s * _PI / width) ** 2 >= cut:
        if early > MOST_NODES:
            return None
        return Place(c, s, h, early, cut, growth, log_mgf, variance, width, math.inf, 1.0, early)
    if reach > MOST_NODES:
        return None
    last, nodes, half, pitch = math.ceil(reach), reach, math.inf, 1.0
    rest = max(0.0, 1.0 - sum(t))
    nothing = math.exp(n * math.log1p(-sum(t)) - log_mgf) if rest > 0.0 else 0.0
    if nothing <= math.exp(-cut):  # the comb bounds M(z)^n, not the point mass removed from it
        nodes, half, pitch = _teeth([*x, 0.0], [*at.weights, rest / (1.0 + growth)], n, cut, h, last)
    return Place(c, s, h, last, cut, growth, log_mgf, variance, width, half, pitch, nodes)


def _teeth(x: list[float], weights: list[float], n: int, cut: float, h: float, last: int) -> tuple[float, float, float]:
    """The fewest nodes that the comb of any pair of atoms leaves (fact 4); its half width and pitch."""
    best, half, pitch = float(last), math.inf, 1.0
    for i in range(len(x)):
        for j in range(i):
            gap, kappa = abs(x[i] - x[j]), n * weights[i] * weights[j] * (1.0 - 1e-9)
            if not (gap > 0.0 and 2.0 * kappa > cut):
                continue
            apart = _TAU / (gap * h)
            own = 0.5 * apart * math.sqrt(0.5 * cut / kappa) * (1.0 + 1e-9) + 1e-6
            nodes = own + math.floor((last + own) / apart) * (2.0 * own + 1.0)
            if nodes < best:
                best, half, pitch = nodes, own, apart
    return best, half, pitch


def _nodes(place: Place) -> FloatArray:
    """The numbers k >= 1 of the nodes to evaluate."""
    if place.last <= 64 or place.half == math.inf:
        return np.arange(1.0, place.last + 1.0)
    if place.half + place.last < place.pitch:  # only the tooth at 0
        return np.arange(1.0, min(math.ceil(place.half), place.last) + 1.0)
    k = np.arange(1.0, place.last + 1.0)
    turns = k * (1.0 / place.pitch)
    return k[np.abs(turns - np.rint(turns)) <= place.half / place.pitch + 1e-12 * place.last]


def _sum(x: list[float], v: tuple[float, ...], t: tuple[float, ...], n: int, place: Place, log_peak: float) -> Value:
    """The trapezoid sum with its charges, as contour._sum."""
    c, s, h, growth, log_mgf = place.c, place.s, place.h, place.growth, place.log_mgf
    k = _nodes(place)
    y = k * h
    square = s * s
    weights = [mass * math.exp(c * value) for value, mass in zip(x, t, strict=True)]
    kicked = [weight * fall for weight, fall in zip(weights, v, strict=True)]
    base = sum(mass * math.expm1(c * value) for value, mass in zip(x, t, strict=True))
    load = sum(abs(value) * max(weight, mass) for value, weight, mass in zip(x, weights, t, strict=True))
    speed = sum(kicked)
    angle = np.multiply.outer(x, y)
    sine = np.sin(angle)
    angle *= 0.5
    lost = np.sin(angle, out=angle)
    lost *= lost  # (1 - cos)/2, without cancellation
    both = np.array((weights, kicked))
    (real, kick_real), (imag, kick_imag) = both @ lost, both @ sine
    real *= -2.0
    real += base
    kick_real *= -2.0
    kick_real += speed
    # in units of the value at y = 0: M(z)^n exp(s^2 z^2/2) has this modulus and phase
    whole = real + 1.0
    norm = imag * imag
    excess = real * (real + 2.0)
    excess += norm
    norm += whole * whole
    small = real < -0.5
    log_modulus = np.log1p(excess)
    some_small = bool(small.any())
    if some_small:
        log_modulus = np.where(small, np.log(np.maximum(norm, 1e-300)), log_modulus)
    decay = y * y
    decay *= -0.5 * square
    size = log_modulus * (0.5 * n)
    size -= log_mgf
    size += decay
    np.exp(size, out=size)
    phase = np.arctan2(imag, whole)
    phase *= n
    phase += y * (square * c)
    wave_real, wave_imag = size * np.cos(phase), size * np.sin(phase)
    # the slope: wave * kick / M * (c/z), c/z = shrink (1 - i y/c)
    lean = y / c
    shrink = 1.0 / (1.0 + lean * lean)
    down_real = (kick_real * whole + kick_imag * imag) / norm
    down_imag = (kick_imag * whole - kick_real * imag) / norm
    kicks = float(
        (shrink * (wave_real * (down_real + down_imag * lean) + wave_imag * (down_real * lean - down_imag))).sum()
    )
    sum_t = sum(t)
    nothing = math.exp(n * math.log1p(-sum_t) - log_mgf) if sum_t < 1.0 else 0.0
    if nothing > 1e-40:
        dust = nothing * np.exp(decay)
        turn = y * (square * c)
        wave_real -= dust * np.cos(turn)
        wave_imag -= dust * np.sin(turn)
        size += dust
    # (c/z)^2 = shrink^2 ((1 - lean^2) - 2 i lean)
    moment = float(wave_real.sum()) + 0.5 * (1.0 - nothing)
    wave_real *= 1.0 - lean * lean
    wave_imag *= 2.0 * lean
    wave_real += wave_imag
    wave_real *= shrink * shrink
    total = float(wave_real.sum()) + 0.5 * (1.0 - nothing)
    # running error bound: an exponent carries n (|z| sum_j t_j |x_j| max(1, e^{c x_j}) + [small]) / |M| roundings
    doubts = np.sqrt(y * y + c * c)
    doubts *= load
    if some_small:
        doubts += small
    doubts /= np.sqrt(np.maximum(norm, 1e-300))
    doubts *= n
    doubts += 16.0
    doubts *= size
    edge = 8.0 + 0.5 * n * (load * c + (growth < -0.5)) / (1.0 + growth)
    slip_moment = edge + float(doubts.sum())
    doubts *= shrink
    slip = edge + float(doubts.sum())
    kicks += 0.5 * speed / (1.0 + growth)
    return _bracket(x, t, n, place, log_peak, nothing, (total, moment, kicks, slip, slip_moment, edge))


def _bracket(
    x: list[float],
    t: tuple[float, ...],
    n: int,
    place: Place,
    log_peak: float,
    nothing: float,
    sums: tuple[float, float, float, float, float, float],
) -> Value:
    """log upper, log lower and the slope in E from the sums, with what is missed and aliased."""
    c, s, h = place.c, place.s, place.h
    total, moment, kicks, slip, slip_moment, edge = sums
    missed, missed_moment = _missed(place, nothing)
    unit = h / _PI
    upper = unit * (max(total, 0.0) + ULP * slip) + missed
    cost = 0.8 * h * (s * c) ** 2 / _ROOT_TAU * (max(moment, 0.0) + ULP * slip_moment)
    lower = unit * (total - ULP * slip) - missed - cost - missed_moment - _alias(x, t, n, place, log_peak, upper)
    log_scale = log_peak - math.log(n)
    doubt = ULP * (abs(log_peak) + 2.0 * edge) + 1e-13
    return Value(
        log_scale + math.log(upper) + doubt,
        log_scale + math.log(lower) - doubt if lower > 0.0 else -math.inf,
        -math.exp(log_scale + math.log(max(unit * kicks * n * c, 1e-300))),
    )


def _missed(place: Place, nothing: float) -> tuple[float, float]:
    """What the nodes that are not evaluated can add, as contour._missed."""
    c, s, h = place.c, place.s, place.h
    end, cliff, dither = place.last * h, _PI / place.width, 0.5 * s * s
    near = moments = 0.0
    beyond = max(end, cliff)
    cases = [(1.0, beyond, dither), (nothing, end, dither)]
    if end < cliff:
        cases.append((1.0, end, (2.0 / _PI**2) * place.variance + dither))
    for share, y, rate in cases:
        if share:
            tail = share * math.exp(-rate * y * y) * (h + 1.0 / (2.0 * rate * y))
            near += tail * (c / y) ** 2
            moments += tail
    skipped = math.exp(-place.cut) * 2.0 * h
    near += skipped * min(place.last, 2.0 + _PI * c / (2.0 * h))
    return near / _PI, 0.8 * (s * c) ** 2 / _ROOT_TAU * (moments + skipped * place.last)


def _alias(x: list[float], t: tuple[float, ...], n: int, place: Place, log_peak: float, upper: float) -> float:
    """Bound on sum over k != 0 of g(2 pi k / h), in units of the peak (contour.py, fact 2)."""
    c, s = place.c, place.s
    period = _TAU / place.h
    q = math.exp(-c * period)
    left = upper * q / (1.0 - q) + math.exp(min(math.log(period) - c * period - log_peak, 700.0)) / (1.0 - q) ** 2
    right = math.inf
    for gain in (0.7 * period / (place.variance + s * s), 14.0 / period):
        b = c + gain
        if b * max(x) > 700.0:
            continue
        log_mgf = n * math.log1p(sum(m * math.expm1(b * value) for value, m in zip(x, t, strict=True)))
        exponent = log_mgf + 0.5 * (s * b) ** 2 - log_peak - gain * period
        fall = math.exp(-gain * period)
        if exponent < 700.0:
            right = min(right, math.exp(exponent) / (math.e * b * (1.0 - fall)))
    return left + right
