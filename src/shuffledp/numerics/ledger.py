"""The soundness ledger: every error that an answer may contain is charged by one function, marked ``@charge``.

Whoever reads the functions of :data:`CHARGES` in order has read everything that keeps an eps from being too small:
how the law is rounded, what a sum leaves out, what each evaluator and each search adds.  docs/proofs.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Charge(NamedTuple):
    """What a function charges for, where the inequality is proved, and the function itself."""

    error: str
    proof: str
    function: Callable[..., object]


#: In the order in which the modules are read.
CHARGES: list[Charge] = []


def charge(error: str, proof: str) -> Callable[[F], F]:
    """Mark the one function that charges for an error.

    Examples
    --------
    >>> charge("rounding", "docs/proofs.md").__name__
    'note'
    """

    def note(function: F) -> F:
        CHARGES.append(Charge(error, proof, function))
        return function

    return note
