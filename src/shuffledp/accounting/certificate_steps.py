"""The steps of a certificate: one law each, a shuffled pair or a victim pair with its types, and how it is proved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CertificationError
from ..numerics.pair import ShuffledPair
from ..numerics.swap.pair import SwapPair

if TYPE_CHECKING:
    from ..numerics.proof.pairs import Method, Proof
    from ..numerics.proof.swap import Proposal

#: A proof covers every distinct law; a mechanism with more of them is refused.
MAX_PAIRS = 64
#: What is added to an eps that balls did not confirm, beside a part of tol: the rounding of a law matters for tiny eps.
_STEPS_UP = tuple(2.0**-k for k in (48, 45, 42, 39, 36, 33))
#: A search for a larger eps ends here, where squares of e^eps are still doubles: there may be no eps that is enough.
_LARGEST = 300.0
#: What a step proves: delta of a shuffled pair, or of a victim pair among others of several types (the swap bound).
Law = ShuffledPair | SwapPair


@dataclass(frozen=True)
class Step:
    """One law of a certificate, the method of its proof, and the proved interval of delta at eps."""

    pair: Law
    method: Method
    lower: Fraction
    upper: Fraction


def proof_of(law: Law, method: Method, n: int, eps: Fraction) -> Proof:
    """The proof of one law in ball arithmetic."""
    from ..numerics.proof import pairs as of_pairs
    from ..numerics.proof import swap as of_swaps

    if isinstance(law, SwapPair):
        return of_swaps.prove(law.types, law.common_mass, n, eps, method)
    return of_pairs.prove(law, n, eps, method)


def refuse_endless(steps: Iterable[tuple[Law, Method]], n: int, eps: Fraction) -> None:
    """Refuse, before computing anything, methods that no proof needs or that would take minutes."""
    from ..numerics.proof import pairs as of_pairs
    from ..numerics.proof import swap as of_swaps

    plain: list[tuple[ShuffledPair, Method]] = []
    more = 0.0
    for law, method in steps:
        if isinstance(law, SwapPair):
            more += of_swaps.work(law.types, method)
        else:
            plain.append((law, method))
    of_pairs.refuse_endless(plain, n, eps, more=more)


def proved(laws: Sequence[Law], *, n: int, epsilon: float, delta: float, tol: float) -> tuple[float, tuple[Step, ...]]:
    """The smallest eps from ``epsilon`` on (about) at which balls prove delta for all laws, and the proofs."""
    swaps = [law for law in laws if isinstance(law, SwapPair)]
    pairs = [law for law in laws if not isinstance(law, SwapPair)]
    if swaps:
        epsilon = _provable(swaps, n, epsilon, delta, tol)
    for step_up in _STEPS_UP:
        exact, target = Fraction(epsilon), Fraction(delta)
        methods = _methods(pairs, swaps, n, epsilon, delta, tol)
        refuse_endless(methods, n, exact)  # what is certified can be verified
        steps = []
        for law, method in methods:
            proof = proof_of(law, method, n, exact)
            steps.append(Step(law, method, proof.lower, proof.upper))
        if all(step.upper <= target for step in steps):
            return epsilon, tuple(steps)
        epsilon = epsilon * (1.0 + 0.3 * tol) + step_up
    raise CertificationError(
        f"ball arithmetic could not confirm eps = {epsilon!r} at delta = {delta!r}; try a larger tol."
    )


def _methods(
    pairs: Sequence[ShuffledPair], swaps: Sequence[SwapPair], n: int, epsilon: float, delta: float, tol: float
) -> list[tuple[Law, Method]]:
    from ..numerics.proof.pairs import choose
    from ..numerics.proof.swap import propose

    return [
        *((pair, choose(pair, n, epsilon, _accuracy(pair, n, epsilon, tol))) for pair in pairs),
        *((member, propose(member, n, epsilon, delta).method) for member in swaps),
    ]


def _provable(members: Sequence[SwapPair], n: int, epsilon: float, delta: float, tol: float) -> float:
    """The smallest eps, in floats, at which a sum of moduli is enough: proofs do not use the phases."""
    from ..numerics.proof.swap import cap, propose

    limit, log_delta = min(cap(members), _LARGEST), math.log(delta)

    def lacking(eps: float) -> float:
        """How much eps is too small by the tangent of log delta; 0 if it is large enough."""
        missing = 0.0
        for member in members:
            found: Proposal = propose(member, n, eps, delta)
            missing = max(missing, (found.log_delta - log_delta) / found.fall)
        return missing

    low, high, stride = None, epsilon, 1.0
    while (missing := lacking(high)) > 0.0:
        if not high < limit:
            raise CertificationError(f"there is no finite eps at delta = {delta!r} to certify; raise n or delta.")
        low, high = high, min(high + stride * max(missing, 0.1 * tol * high), limit)
        stride *= 2.0
    while low is not None and high - low > 0.1 * tol * high:
        middle = 0.5 * (low + high)
        if lacking(middle) > 0.0:
            low = middle
        else:
            high = middle
    return high


def _accuracy(pair: ShuffledPair, n: int, epsilon: float, tol: float) -> float:
    """Relative accuracy in delta worth a third of tol in eps."""
    from ..numerics.curve import PairCurve

    slope = float(
        PairCurve.of([pair], np.array([float(n)]), "upper").at(np.array([epsilon]), np.array([0.02])).slope[0]
    )
    return float(min(max(0.3 * tol * epsilon * slope, 1e-7), 0.02))
