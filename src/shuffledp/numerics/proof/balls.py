"""Ball arithmetic (Arb, by python-flint): what every proof needs of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

from ...errors import CertificationError

#: The precision of python-flint is global: one proof at a time.
_PRECISION = threading.Lock()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """All balls have so many bits inside; another thread's proof waits."""
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
