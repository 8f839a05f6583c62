"""Section 5 of the paper calls many of its upper bounds exactly tight: which of them are?

For every row that it names: the printed law, the repaired law, the exact blanket, and two lower bounds, at one n.
A printed value below the divergence of a concrete dataset is not a bound; one above the exact blanket is not tight.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import mechanism as parse
from .curves import CORE, best_epsilon


class Row(NamedTuple):
    """A condition of the paper, and a mechanism that meets it."""

    claim: str
    mechanism: Mechanism


def rows(eps0: float) -> list[Row]:
    """The rows that section 5 names, with parameters inside the stated conditions.

    Examples
    --------
    >>> [row.mechanism.spec for row in rows(3.0)][:2]
    ['grr:eps0=3,d=16', 'subset:eps0=3,d=16,k=1']
    """
    local = {
        "randomized response, more than 2 options": "grr:d=16",
        "k-subset, k = 1": "subset:d=16,k=1",
        "k-subset, k = 2": "subset:d=16,k=2",
        "local hash, l = 4, fresh random hash": "local-hash:d=16,l=4",
        "local hash, l = 4, one public hash (= randomized response on 4)": "grr:d=4",
        "Hadamard response": "hadamard:d=16",
        "PrivUnit, cap 1/2": "privunit:dim=10,cap=0.5",
        "PrivUnit, cap 1/20": "privunit:dim=10,cap=0.05",
        "PCKV-GRR": "pckv-grr:d=16,l=3",
        "Wheel, length 1/(2s)": f"wheel:d=16,s=3,w={1.0 / 6.0!r}",
    }
    several = {
        "Cheu et al., d >= 3, one fake row per user": "cheu-zhilyaev:flip=0.1,d=16,messages=1",
        "balls-into-bins, d >= 3s": "balls-into-bins:d=16,special=4,messages=1",
        "pureDUMP, d >= 3": "pure-dump:d=16,messages=1",
        "mixDUMP, d >= 3": "mix-dump:d=16,flip=0.1,messages=1",
    }
    specs = {claim: f"{spec},eps0={eps0!r}" for claim, spec in local.items()} | several
    return [Row(claim, parse(spec)) for claim, spec in specs.items()]


def judge(published: float, blanket: float, dataset: float, *, tol: float) -> str:
    """What the numbers say: "tight", "not a bound", "not tight", or "open" between dataset and blanket.

    Examples
    --------
    >>> judge(0.50891, 0.50979, 0.50969, tol=1e-5), judge(0.5, 0.5, 0.5, tol=1e-5)
    ('not a bound', 'tight')
    >>> judge(0.6, 0.5, 0.4, tol=1e-5), judge(0.5, 0.5, 0.4, tol=1e-5)
    ('not tight', 'open')
    """
    if published < dataset * (1.0 - tol):
        return "not a bound"
    if published <= dataset * (1.0 + tol):
        return "tight"
    return "not tight" if published > blanket * (1.0 + tol) else "open"


def table(settings: dict[str, Any]) -> dict[str, Any]:
    """The five values of every row, and the verdict on "exactly tight".

    ``own_test``: whether the printed upper bound equals the two-count lower bound, the paper's criterion.
    """
    n, delta, tol = settings["n"], settings["delta"], settings["tol"]
    found = []
    for claim, mechanism in rows(settings["eps0"]):
        eps = {s.key: best_epsilon(s.bounds, mechanism, n=n, delta=delta, tol=tol) for s in CORE}
        known = {key: value for key, value in eps.items() if value is not None}
        if len(known) < len(CORE):
            raise BoundNotApplicableError(
                f"{mechanism.spec} must have all five bounds, got {', '.join(known)}; name another mechanism."
            )
        verdict = judge(known["published"], known["blanket"], known["dataset"], tol=10.0 * tol)
        ratio = mechanism.variation_ratio()
        top = 1.0 if math.isinf(ratio.p) else (ratio.p - 1.0) / (ratio.p + 1.0)
        remainder = ratio.beta < top * (1.0 - 1e-12)
        found.append(
            {
                "claim": claim,
                "mechanism": mechanism.spec,
                "remainder": remainder,  # s > 0: the printed and the repaired law differ
                "own_test": abs(known["published"] / known["two-counts"] - 1.0) <= 10.0 * tol,
                "epsilon": known,
                "verdict": verdict,
            }
        )
    return {"rows": found}
