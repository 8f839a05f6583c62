"""Every bound by name.  A name that is not here is refused with the nearest one; nothing falls back."""

from __future__ import annotations

from .. import _validation as check
from ..core.family import Answer
from ..core.round import FloatArray
from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from .numeric import Bound, alone_family, general_family, published_family, variation_ratio_family

_PAPER = "Wang et al., PVLDB 2024"


class _Local(Bound):
    """No shuffling: eps is the local guarantee, whatever n and delta are."""

    def epsilon(self, mechanism: Mechanism, *, n: int, delta: float, tol: float) -> Answer:
        return Answer(mechanism.local_epsilon, 0, 0)

    def log_delta(self, mechanism: Mechanism, eps: FloatArray, *, n: int, tol: float) -> FloatArray:
        return super().log_delta(mechanism, eps, n=1, tol=tol)


BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        Bound(
            name="blanket",
            title="exact privacy blanket, maximum over input pairs",
            citation="Balle, Bell, Gascon, Nissim, CRYPTO 2019, evaluated without tail bounds",
            side="upper",
            sound=True,
            family=lambda m: m.blanket(),
        ),
        Bound(
            name="variation-ratio",
            title="variation-ratio reduction, repaired",
            citation=f"{_PAPER}, Theorem 4.7 with t = (p alpha, p alpha, s)/q",
            side="upper",
            sound=True,
            family=variation_ratio_family,
        ),
        Bound(
            name="variation-ratio-published",
            title="variation-ratio reduction as printed (not a bound)",
            citation=f"{_PAPER}, Theorems 4.1, 4.7, 4.8",
            side="upper",
            sound=False,
            family=published_family,
        ),
        Bound(
            name="variation-ratio-lower",
            title="lower bound by two counts",
            citation=f"{_PAPER}, Theorem 5.1 with the six masses",
            side="lower",
            sound=True,
            family=lambda m: m.two_counts(),
        ),
        Bound(
            name="general",
            title="stronger clone: uses eps0 only",
            citation="Feldman, McMillan, Talwar, SODA 2023",
            side="upper",
            sound=True,
            family=general_family,
        ),
        _Local(
            name="local",
            title="the local guarantee, no shuffling",
            citation="definition",
            side="upper",
            sound=True,
            family=alone_family,
        ),
    )
}


def names() -> list[str]:
    """Every name that ``bound=`` takes."""
    return ["auto", *BOUNDS]


def find(name: str, mechanism: Mechanism) -> Bound:
    """The bound of that name; "auto" is the tightest sound one that the mechanism's knowledge allows."""
    if name != "auto":
        return BOUNDS[check.one_of("bound", name, names())]
    try:
        mechanism.blanket()
    except BoundNotApplicableError:
        return BOUNDS["variation-ratio"]
    return BOUNDS["blanket"]
