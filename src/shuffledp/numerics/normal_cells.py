"""Probabilities of cells under normal laws, correct to the last digits also where they are tiny.

A difference of two values of a cumulative distribution function loses all its digits in the upper tail, and a ratio of
two such differences is what an eps is made of.  Here every difference is one of two tails on its own side, in ball
arithmetic whose precision is raised until 60 binary digits are proved; the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .pair import FloatArray

#: Binary digits of a probability that are proved before it is rounded to a double, and the precision of the first try.
_DIGITS, _FIRST = 60, 128


def normal_cells(centres: Sequence[Fraction], sigma: float, edges: Sequence[float]) -> FloatArray:
    """Row i: the probabilities of (-inf, e_0], (e_0, e_1], ..., (e_m, inf) under a normal law around centre i.

    Examples
    --------
    >>> normal_cells([Fraction(0)], 1.0, [-1.0, 1.0]).round(4).tolist()
    [[0.1587, 0.6827, 0.1587]]
    >>> float(normal_cells([Fraction(0)], 1.0, [10.0])[0, 1])
    7.619853024160525e-24
    """
    from .proof.balls import precision

    places = [Fraction(edge) for edge in edges]
    with precision(_FIRST):
        return np.array([_row(centre, Fraction(sigma), places) for centre in centres])


def _row(centre: Fraction, sigma: Fraction, edges: Sequence[Fraction]) -> list[float]:
    from flint import arb, ctx, fmpq

    bits = _FIRST
    while True:
        ctx.prec = bits
        root = arb(2).sqrt()
        offsets = [(edge - centre) / sigma for edge in edges]
        scaled = [arb(fmpq(z.numerator, z.denominator)) / root for z in offsets]
        # the tail on the edge's own side of the centre: below it, else above it
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
