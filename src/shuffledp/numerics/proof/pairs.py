"""Proofs for shuffled pairs: the formula of pair.py in ball arithmetic.

The contour sum of contour.py is already an upper bound whatever c, s, h > 0 are: the untruncated
trapezoid sum exceeds the dithered value by positive aliases (Poisson summation), the dithered value
exceeds E[(S)_+] (Jensen), and the nodes left out are bounded.  So a proof needs no adaptive
quadrature: evaluate every node as a ball, add the bound on the rest, and take the upper end.
Where the counts are few they are enumerated in balls instead.

The law is exact (fractions of the stated decimals) and carries the slack of rows.law_shift and pair.mass_slack, so that
the proof also covers the rounding of the law itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import acb, arb

from ...errors import CertificationError
from ..binomial import first_rare
from ..contour import place
from ..line import saddle, tilt
from ..pair import ShuffledPair, mass_slack
from .balls import ball, fraction, largest, precision, smallest

#: Proved at eps - slack: covers the rounding of a law (2^-49) and laws called equal in matrix.py (2^-38).
PROOF_SLACK = Fraction(1, 2**38)
#: The same for delta, relatively.
DELTA_SLACK = Fraction(1, 2**40)
#: The same for the masses of types and of their common part, which are derived with the same comparisons.
MASS_SLACK = Fraction(1, 2**38)
#: The contour is refused beyond this many nodes (some seconds).
MAX_NODES = 300_000
#: Counts are enumerated up to this many rows.
MAX_ROWS = 8_000
#: Most bits (a proof chooses at most 112 + 2 * 50), and most symbols of one pair.
MAX_BITS, MAX_SYMBOLS = 512, 2**14
#: Nodes times symbols, or counts, of all pairs together, at up to 256 bits: 5 microseconds each, less than a minute.
MAX_WORK = 2**23
#: No proof is chosen to be more accurate than this (relative, in delta).
_FINEST = 1e-7
#: A symbol counts as never sent if fewer than _RARE others send it on average and P/t is above _SWAMPS n.
_RARE, _SWAMPS = Fraction(1, 10**7), 1000


@dataclass(frozen=True)
class Method:
    """The method of a proof and its numbers.

    "counts": enumerate at most ``cap`` clones; "contour": abscissa c, dither s, step h and a number of nodes;
    "swap": the same numbers for several types of users (proof/swap.py), and how many ``waits`` are summed;
    "local": sum_j (P0_j - E P1_j)_+, the divergence of one user alone, which shuffling never exceeds.
    """

    kind: str
    bits: int
    cap: int = 0
    c: float = 0.0
    s: float = 0.0
    h: float = 0.0
    nodes: int = 0
    waits: int = 0


@dataclass(frozen=True)
class Proof:
    """delta(eps) <= upper; [lower, upper] provably contains the (dithered) value that was computed."""

    lower: Fraction
    upper: Fraction

    @classmethod
    def of(cls, low: arb, high: arb) -> Proof:
        """From balls; a relative error of P0 scales delta as well: 2^-49 of rounding, 2^-41 of laws called equal."""
        upper = (high * (1 + ball(DELTA_SLACK))).upper()
        lower = low.lower()
        if not upper.is_finite():
            raise CertificationError("the balls grew too wide to prove anything; ask for more bits or a smaller n.")
        least = max(fraction(lower, up=False), Fraction(0)) if lower.is_finite() else Fraction(0)
        return cls(least, fraction(upper, up=True))


@dataclass(frozen=True)
class Law:
    """X at one E in balls, with the exposed part split off."""

    values: list[arb]
    t: list[arb]
    p0: arb  # sum of P0 over the hidden symbols
    exposed: arb
    nothing: arb  # 1 - sum t

    def tilted(self, c: arb) -> Tilted:
        """The law of weight exp(c X)."""
        weights = [t * (c * x).exp() for t, x in zip(self.t, self.values, strict=True)]
        return Tilted(c, self.values, weights, self.nothing, self.nothing + sum(weights, arb(0)))

    @property
    def local(self) -> arb:
        """E[(X)_+] and the exposed part: the divergence of one user alone, which no crowd exceeds."""
        return sum((t * x.max(arb(0)) for t, x in zip(self.t, self.values, strict=True)), self.exposed)


class Tilted(NamedTuple):
    """M(z) on the line through c."""

    c: arb
    values: list[arb]
    weights: list[arb]
    nothing: arb
    top: arb  # M(c)

    def at(self, y: arb) -> acb:
        """M(c + iy)."""
        out = acb(self.nothing)
        for w, x in zip(self.weights, self.values, strict=True):
            out += w * acb(0, y * x).exp()
        return out

    def rest(self, n: int, s: arb, h: arb, nodes: int, square: arb) -> arb:
        """h times the sum over y > nodes h of |M(c+iy)/M(c)|^n exp(-s^2 y^2/2)/(square + y^2), from above.

        Up to pi/range(X) the first factor is at most exp(-(2/pi^2) n Var y^2) (line.block_bounds), beyond at most 1;
        a sum over a falling bound is at most its first term and an integral.
        """
        pi, end, every = arb.pi(), h * nodes, [*self.values, arb(0)]
        moments = [sum((w * x**k for w, x in zip(self.weights, self.values, strict=True)), arb(0)) for k in (1, 2)]
        mean, power = (moment / self.top for moment in moments)
        variance = ((power - mean * mean) * n).lower().max(arb(0))
        cliff = (pi / (largest(every) - smallest(every))).lower()
        far = s * s / 2

        def after(a: arb, y: arb) -> arb:
            return (-a * y * y).exp() / (square + y * y) * (h + 1 / (2 * a * y))

        out = after(far, end.max(cliff) if cliff.is_finite() else end)
        return out + after(2 / (pi * pi) * variance + far, end) if end < cliff else out


def choose(pair: ShuffledPair, n: int, eps: float, rtol: float) -> Method:
    """A method whose upper end is about rtol above the truth; the choice itself needs no trust."""
    symbols, cap = pair.atoms.t.size, _cap(pair, n)
    if math.comb(min(cap, 10**6) + symbols, symbols) <= MAX_ROWS:
        return Method("counts", _bits(n), cap=cap)
    method = _contour(pair, n, eps, rtol) or Method("local", _bits(n))
    if method.nodes > MAX_NODES:
        raise CertificationError(
            f"the proof would need {method.nodes:,} nodes, more than {MAX_NODES:,}; certify a larger delta or a "
            "looser tol."
        )
    return method


def _cap(pair: ShuffledPair, n: int) -> int:
    """How many clones are listed: more have a negligible probability, if "nothing" is the likeliest draw."""
    mass = min(float(pair.atoms.t.sum()), 1.0)
    if 1.0 - mass < float(pair.atoms.t.max(initial=0.0)) or n * mass > MAX_ROWS:
        return n
    return min(first_rare(n - 1, mass), n)


@np.errstate(all="ignore")
def _contour(pair: ShuffledPair, n: int, eps: float, rtol: float) -> Method | None:
    """The contour that floats would use; None where X is never above 0 (beyond rounding)."""
    x, t, users = pair.atoms.values(np.array([eps])), pair.atoms.t[None, :], np.array([float(n)])
    if not x.size or x.max() <= 1e-14 * np.abs(x).max():
        return None
    whole = place(x, t, users, tilt(x, t, saddle(x, t, users)), np.array([rtol]))
    last = float(whole.last[0])
    nodes = int(last) if math.isfinite(last) else 10**18
    c, s, h = (float(part[0]) for part in (whole.at.c, whole.s, whole.h))
    return Method("contour", _bits(n), c=c, s=s, h=h, nodes=nodes)


def _bits(n: int) -> int:
    return 112 + 2 * n.bit_length()


def refuse_endless(steps: Iterable[tuple[ShuffledPair, Method]], n: int, eps: Fraction, *, more: float = 0.0) -> None:
    """Refuse, before computing anything, methods that no proof needs or that would take minutes.

    ``more`` is the work of other proofs of the same certificate, in the same units.
    """
    total = more
    for pair, method in steps:
        p0, p1, t = (np.asarray(law) for law in (pair.P0, pair.P1, pair.t))
        symbols = int(np.count_nonzero(((p0 > 0) | (p1 > 0)) & (t > 0)))  # as in law_at
        if symbols > MAX_SYMBOLS:
            raise CertificationError(f"a pair must have at most {MAX_SYMBOLS:,} symbols, got {symbols:,}; merge some.")
        if method.kind == "contour" and method.nodes > (most := _most_nodes(pair, n, float(eps))):
            raise CertificationError(
                f"the contour must have at most {most:,} nodes, as many as the finest proof needs, got "
                f"{method.nodes:,}; certify again."
            )
        total += _work(method, symbols, n) + t.size
    if total > MAX_WORK:
        raise CertificationError(
            f"the proof of all pairs must take at most {MAX_WORK:,} steps, got {total:.3g}; certify with a looser "
            "tol, or bound='variation-ratio', which has fewer pairs."
        )


def _work(method: Method, symbols: int, n: int) -> float:
    """Steps of one proof, in units of about 5 microseconds."""
    if method.kind == "contour":
        steps = float(method.nodes) * (symbols + 4)
    elif method.kind == "counts":  # sum over j <= k of C(cap + j, j) = C(cap + k + 1, k), at most e^700
        cap = max(min(method.cap, n), 0)
        log_rows = math.lgamma(cap + symbols + 2.0) - math.lgamma(symbols + 1.0) - math.lgamma(cap + 2.0)
        steps = math.exp(min(log_rows, 700.0))
    else:
        steps = float(symbols)
    return steps * max(1.0, method.bits / 256)


def _most_nodes(pair: ShuffledPair, n: int, eps: float) -> int:
    """Nodes of the finest proof that :func:`choose` would make by contour, and a quarter more."""
    line = _contour(pair, n, eps, _FINEST)  # without one, a proof that asks for a contour gets an error message
    return MAX_NODES if line is None else min(MAX_NODES, 64 + math.ceil(1.25 * line.nodes))


def prove(pair: ShuffledPair, n: int, eps: Fraction, method: Method) -> Proof:
    """An interval with delta(eps) <= upper, in exact arithmetic from the pair's stated numbers."""
    if method.kind not in (kinds := sorted((*_METHODS, "local"))):
        raise CertificationError(f"a shuffled pair is proved by {kinds}, got {method.kind!r}; certify again.")
    with precision(method.bits):
        law = law_at(pair, eps)
        if method.kind == "local":
            return Proof.of(arb(0), law.local)
        low, high = _METHODS[method.kind](law, n, method)
        return Proof.of(low + law.exposed, high + law.exposed)


def law_at(pair: ShuffledPair, eps: Fraction, *, n: int = 0) -> Law:
    """X at e^(eps - slack), its masses rounded down.

    With ``n``, t is the law of one type of n users: it carries MASS_SLACK as well, and symbols that hardly anyone sends
    and that would swamp the law count as never sent.
    """
    p0, p1, t = ([Fraction(float(x)) for x in np.asarray(a)] for a in (pair.P0, pair.P1, pair.t))
    ratio = ball(eps - PROOF_SLACK).exp()
    shrink = 1 - Fraction(mass_slack(len(t))) - (MASS_SLACK if n else 0)
    values, masses, exposed, hidden_p0, total = [], [], arb(0), arb(0), Fraction(0)
    for a, b, mass in zip(p0, p1, t, strict=True):
        if a == 0 and b == 0:
            continue
        gain = ball(a) - ratio * ball(b)
        if mass == 0 or (0 < n * mass < _RARE and max(a, b) > _SWAMPS * n * mass):
            exposed += gain.max(arb(0))
            continue
        values.append(gain / ball(mass * shrink))
        masses.append(ball(mass * shrink))
        hidden_p0 += ball(a)
        total += mass * shrink
    return Law(values, masses, hidden_p0, exposed, ball(1 - total))


def line_of(method: Method, what: str, most: int) -> list[arb]:
    """c, s and h of a method, checked."""
    line = (method.c, method.s, method.h)
    if not all(math.isfinite(x) and x > 0.0 for x in line) or not 1 <= method.nodes <= most:
        raise CertificationError(f"the {what} needs finite c, s, h > 0 and 1 to {most:,} nodes; certify again.")
    return [ball(Fraction(x)) for x in line]


def _by_contour(law: Law, n: int, method: Method) -> tuple[arb, arb]:
    c, s, h = line_of(method, "contour", MAX_NODES)
    alone = law.nothing**n if law.nothing > 0 else arb(0)
    line, half, total = law.tilted(c), s * s / 2, arb(0)
    for k in range(method.nodes + 1):
        z = acb(c, h * k)
        term = ((line.at(h * k) ** n - alone) * (half * z * z).exp() / (z * z)).real
        total += term / 2 if k == 0 else term
    sum_ = total * h / arb.pi()
    # the nodes past the last one (contour.unevaluated_nodes); the point mass at 0 counts as a law that does not vary
    point = Tilted(c, [], [], law.nothing, law.nothing)
    rest = line.top**n * line.rest(n, s, h, method.nodes, arb(0)) + alone * point.rest(n, s, h, method.nodes, arb(0))
    missed = rest * (half * c * c).exp() / arb.pi()
    upper = sum_ + missed
    return (sum_ - missed - _aliases(law, n, c, s, h, upper)) / n, upper / n


def _aliases(law: Law, n: int, c: arb, s: arb, h: arb, upper: arb) -> arb:
    """Bound on sum over k != 0 of g(2 pi k / h) (contour.aliases); only the lower end needs it."""
    period = 2 * arb.pi() / h
    q = (-c * period).exp()
    left = upper * q / (1 - q) + period * q / (1 - q) ** 2
    b = 2 * c
    right = law.tilted(b).top ** n * (s * s * b * b / 2).exp() * q / (arb(1).exp() * b * (1 - q))
    return left + right


def _by_counts(law: Law, n: int, method: Method) -> tuple[arb, arb]:
    """sum_h Mult(h) (h.l)_+ / n over at most ``cap`` clones, the rest added above."""
    k, cap = len(law.values), min(method.cap, n)
    if k == 0:
        return arb(0), arb(0)
    if cap < 0:
        raise CertificationError(f"cap must be a number of clones >= 0, got {cap}; certify again.")
    if math.comb(cap + k, k) > 100 * MAX_ROWS:
        raise CertificationError(f"cap must keep the table below {100 * MAX_ROWS:,} rows, got {cap}; certify again.")
    powers = [[arb(1)] for _ in range(k)]  # t_j^h / h!
    for j in range(k):
        for i in range(1, cap + 1):
            powers[j].append(powers[j][-1] * law.t[j] / i)
    # n! / (n - C)! * nothing^(n - C), in balls
    falling = [arb(1)]
    for i in range(cap):
        falling.append(falling[-1] * (n - i))
    rest = [falling[i] * law.nothing ** (n - i) for i in range(cap + 1)]
    total = arb(0)

    stack = [(0, cap, arb(1), arb(0))]  # no recursion: there may be thousands of symbols
    while stack:
        j, left, weight, value = stack.pop()
        if j == k:
            total += weight * rest[cap - left] * value.max(arb(0))
            continue
        stack += [(j + 1, left - i, weight * powers[j][i], value + i * law.values[j]) for i in range(left, -1, -1)]
    return total / n, total / n + (_left_out(law, n, cap) if cap < n else arb(0))


def _left_out(law: Law, n: int, cap: int) -> arb:
    """Chernoff's bound on Pr[at least ``cap`` of n-1 others send a symbol], times sum P0."""
    mass, x = 1 - law.nothing, ball(Fraction(cap, n - 1)) if n > 1 else arb(1)
    if not x > mass:
        return law.p0
    rate = x * (x / mass).log() + ((1 - x) * ((1 - x) / law.nothing).log() if x < 1 else arb(0))
    return (-(n - 1) * rate).exp() * law.p0


_METHODS = {"counts": _by_counts, "contour": _by_contour}
