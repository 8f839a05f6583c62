"""Ball arithmetic (Arb, by python-flint): what every proof needs of it, and the probabilities of normal cells."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

from ...errors import CertificationError
from ..pair import FloatArray

#: The precision of python-flint is global: one proof at a time.
_PRECISION = threading.Lock()
#: Binary digits of a probability that are proved before it is rounded to a double, and the precision of the first try.
_DIGITS, _FIRST = 60, 128


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Inside, all balls have this many bits; proofs of other threads wait."""
    with _PRECISION:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def ball(x: Fraction) -> arb:
    """The ball around a fraction."""
    return arb(fmpq(x.numerator, x.denominator))


def largest(values: Sequence[arb]) -> arb:
    """The largest of some balls, at least one."""
    out = values[0]
    for x in values[1:]:
        out = out.max(x)
    return out


def smallest(values: Sequence[arb]) -> arb:
    """The smallest of some balls, at least one."""
    return -largest([-x for x in values])


def fraction(x: arb, *, up: bool) -> Fraction:
    """The exact value of an exact ball; beyond 2^+-4000 it is rounded to the named side, or refused."""
    mantissa, exponent = x.man_exp()
    m, size = int(mantissa), int(mantissa).bit_length() + int(exponent)
    if m and size < -4000:
        return Fraction(1, 2**4000) if up and m > 0 else Fraction(0)
    if m and size > 4000:
        raise CertificationError("the bound that this method gives is astronomically large; certify again.")
    e = int(exponent)
    return Fraction(m * 2**e) if e >= 0 else Fraction(m, 2**-e)


def normal_cells(centers: Sequence[Fraction], sigma: float, edges: Sequence[float]) -> FloatArray:
    """Row i: the probabilities of (-inf, e_0], (e_0, e_1], ..., (e_m, inf) under a normal law around center i.

    In the upper tail a difference of two values of a cumulative distribution function loses all its digits, and an eps
    is made of ratios of such differences.  Here every difference is between two tails on their own side of the center,
    and the precision is raised until 60 binary digits are proved; the result is rounded once.

    Examples
    --------
    >>> normal_cells([Fraction(0)], 1.0, [-1.0, 1.0]).round(4).tolist()
    [[0.1587, 0.6827, 0.1587]]
    >>> float(normal_cells([Fraction(0)], 1.0, [10.0])[0, 1])
    7.619853024160525e-24
    """
    places = [Fraction(edge) for edge in edges]
    with precision(_FIRST):
        return np.array([_cells(center, Fraction(sigma), places) for center in centers])


def _cells(center: Fraction, sigma: Fraction, edges: Sequence[Fraction]) -> list[float]:
    bits = _FIRST
    while True:
        ctx.prec = bits
        root = arb(2).sqrt()
        offsets = [(edge - center) / sigma for edge in edges]
        scaled = [ball(z) / root for z in offsets]
        # the tail on the edge's own side of the center: below it, else above it
        tails = [(-s if z < 0 else s).erfc() / 2 for z, s in zip(offsets, scaled, strict=True)]
        below = [z < 0 for z in offsets]
        cells = [tails[0] if below[0] else 1 - tails[0]]
        for j in range(len(edges) - 1):
            if below[j] == below[j + 1]:
                cells.append(tails[j + 1] - tails[j] if below[j] else tails[j] - tails[j + 1])
            else:
                cells.append(1 - tails[j] - tails[j + 1])
        cells.append(1 - tails[-1] if below[-1] else tails[-1])
        if all(cell.rel_accuracy_bits() >= _DIGITS for cell in cells):
            return [float(cell) for cell in cells]
        bits *= 2
