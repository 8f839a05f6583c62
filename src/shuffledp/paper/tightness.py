"""Section 5 of the paper calls many of its upper bounds exactly tight: which of them are?

For every row that it names: the printed law, the repaired law, the exact blanket, and two lower bounds, at one n.
A printed value below the divergence of a concrete dataset is no bound; one above the exact blanket is not tight.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..mechanisms.categorical.grr import GRR
from ..mechanisms.categorical.hadamard import Hadamard
from ..mechanisms.categorical.local_hash import LocalHash
from ..mechanisms.categorical.subset import Subset
from ..mechanisms.multimessage.balls_into_bins import BallsIntoBins
from ..mechanisms.multimessage.cheu_zhilyaev import CheuZhilyaev
from ..mechanisms.multimessage.mix_dump import MixDump
from ..mechanisms.multimessage.pure_dump import PureDump
from ..mechanisms.numeric.privunit import PrivUnit
from ..mechanisms.sets.pckv_grr import PCKVGRR
from ..mechanisms.sets.wheel import Wheel
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
    return [
        Row("randomized response, more than 2 options", GRR(eps0=eps0, d=16)),
        Row("k-subset, k = 1", Subset(eps0=eps0, d=16, k=1)),
        Row("k-subset, k = 2", Subset(eps0=eps0, d=16, k=2)),
        Row("local hash, l = 4, fresh random hash", LocalHash(eps0=eps0, d=16, l=4)),
        Row("local hash, l = 4, one public hash (= randomized response on 4)", GRR(eps0=eps0, d=4)),
        Row("Hadamard response", Hadamard(eps0=eps0, d=16)),
        Row("PrivUnit, cap 1/2", PrivUnit(eps0=eps0, dim=10, cap=0.5)),
        Row("PrivUnit, cap 1/20", PrivUnit(eps0=eps0, dim=10, cap=0.05)),
        Row("PCKV-GRR", PCKVGRR(eps0=eps0, d=16, l=3)),
        Row("Wheel, length 1/(2s)", Wheel(eps0=eps0, d=16, s=3, w=1.0 / 6.0)),
        Row("Cheu et al., d >= 3, one fake row per user", CheuZhilyaev(flip=0.1, d=16, messages=1)),
        Row("balls-into-bins, d >= 3s", BallsIntoBins(d=16, special=4, messages=1)),
        Row("pureDUMP, d >= 3", PureDump(d=16, messages=1)),
        Row("mixDUMP, d >= 3", MixDump(d=16, flip=0.1, messages=1)),
    ]


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
