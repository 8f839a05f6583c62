"""Balls: exact numbers in and out, the precision restored, and the safe side where an exponent is out of range."""

from __future__ import annotations

from fractions import Fraction

import flint
import pytest
from flint import arb

import shuffledp as sdp
from shuffledp.numerics.proof.balls import ball, fraction, largest, precision, smallest


def test_the_precision_is_restored_also_after_an_error() -> None:
    before = flint.ctx.prec
    with precision(333):
        assert flint.ctx.prec == 333
    with pytest.raises(ZeroDivisionError), precision(222):
        Fraction(1, 0)
    assert flint.ctx.prec == before
    with precision(111):  # the lock is free again
        assert flint.ctx.prec == 111


def test_a_ball_holds_its_fraction() -> None:
    for x in (Fraction(1, 3), Fraction(-7, 10**30), Fraction(0), Fraction(2**80 + 1, 3)):
        found = ball(x)
        assert fraction(found.lower(), up=False) <= x <= fraction(found.upper(), up=True)


def test_the_largest_and_the_smallest() -> None:
    values = [arb(2), arb(-3), arb(1)]
    assert largest(values) == 2 and smallest(values) == -3


def test_exponents_out_of_range_go_to_the_safe_side() -> None:
    tiny = arb(2) ** -5000
    assert fraction(tiny.upper(), up=True) == Fraction(1, 2**4000) and fraction(tiny.lower(), up=False) == 0
    assert fraction((-tiny).upper(), up=True) == 0
    assert fraction(arb(0), up=True) == 0 and fraction(arb(3) / 4, up=True) == Fraction(3, 4)
    with pytest.raises(sdp.CertificationError, match=r"astronomically large; certify again\.$"):
        fraction((arb(2) ** 5000).upper(), up=True)
