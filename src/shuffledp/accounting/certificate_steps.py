"""The steps of a certificate: one law each, how it is proved, and how it is written.

A law is a shuffled pair, or a victim pair with its types.  In JSON every number of it is an exact decimal, and nothing
else is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.numbers import exact, round_down, round_up
from .._support.reading import as_written, mapping
from ..errors import CertificationError
from ..numerics.pair import ShuffledPair
from ..numerics.search import bisect
from ..numerics.swap.pair import SwapPair

if TYPE_CHECKING:
    from ..numerics.family import Law
    from ..numerics.proof.pairs import Method, Proof
    from ..numerics.proof.swap import Proposal

#: A proof covers every distinct law; a mechanism with more of them is refused.
MAX_PAIRS = 256
#: What is added to an eps that balls did not confirm, beside a part of tol: the rounding of a law matters for tiny eps.
_STEPS_UP = tuple(2.0**-k for k in (48, 45, 42, 39, 36, 33))
#: The most that one such step adds to eps, in units of tol.
_FARTHEST = 5.0
#: A search for a larger eps ends here, where squares of e^eps are still doubles: there may be no eps that is enough.
_LARGEST = 300.0
_LAW = ("P0", "P1", "t")
_TYPES = ("types", "common_mass")
#: Keys of a method besides its kind and bits.
_METHOD = {
    "counts": ("cap",),
    "contour": ("c", "s", "h", "nodes"),
    "swap": ("c", "s", "h", "nodes", "waits"),
    "local": (),
}
_WHOLE = ("bits", "cap", "nodes", "waits")
#: Figures before and after the point: the exact decimal of a double has up to 1074.
_FIGURES = 1200


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
    if swaps := [law for law in laws if isinstance(law, SwapPair)]:
        epsilon = _provable(swaps, n, epsilon, delta, tol)
    last, over = epsilon, 0.0
    for attempt, step_up in enumerate(_STEPS_UP):
        stated, target = Fraction(epsilon), Fraction(delta)
        methods = [(law, _method_for(law, n, epsilon, delta, tol, attempt)) for law in laws]
        refuse_endless(methods, n, stated)  # what is certified can be verified
        steps = []
        for law, method in methods:
            proof = proof_of(law, method, n, stated)
            steps.append(Step(law, method, proof.lower, proof.upper))
        if all(step.upper <= target for step in steps):
            return epsilon, tuple(steps)
        excess, more = float(max(step.upper for step in steps) - target), 0.3 * tol * epsilon + step_up
        if excess < over:  # the secant says how much eps lacks: more nodes alone may never be enough
            more = max(more, min(1.05 * excess * (epsilon - last) / (over - excess), _FARTHEST * tol * epsilon))
        last, over, epsilon = epsilon, excess, epsilon + more
    raise CertificationError(
        f"ball arithmetic could not confirm eps = {epsilon!r} at delta = {delta!r}; try a larger tol."
    )


def _method_for(law: Law, n: int, epsilon: float, delta: float, tol: float, attempt: int) -> Method:
    """A method that is about to prove the law; floats propose it, and nothing rests on them.

    Floats bound the nodes beyond the last one more sharply than balls: a later attempt takes twice as many nodes.
    """
    from ..numerics.proof import pairs, swap

    if isinstance(law, SwapPair):
        method = swap.propose(law, n, epsilon, delta).method
        return replace(method, nodes=min(method.nodes << attempt, swap.MAX_NODES))
    return pairs.choose(law, n, epsilon, _accuracy(law, n, epsilon, tol))


def _provable(members: Sequence[SwapPair], n: int, epsilon: float, delta: float, tol: float) -> float:
    """The smallest eps, in floats, at which one of the lines of a proof is enough."""
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
    if low is None:
        return high
    return bisect(lambda eps: not lacking(eps) > 0.0, safe=high, unsafe=low, close=lambda eps: 0.1 * tol * eps)


def _accuracy(pair: ShuffledPair, n: int, epsilon: float, tol: float) -> float:
    """Relative accuracy in delta worth a third of tol in eps."""
    from ..numerics.curve import PairCurve

    slope = float(
        PairCurve.of([pair], np.array([float(n)]), "upper").at(np.array([epsilon]), np.array([0.02])).slope[0]
    )
    return float(min(max(0.3 * tol * epsilon * slope, 1e-7), 0.02))


# -- as JSON -----------------------------------------------------------------------------------------------------


def written(step: Step) -> dict[str, Any]:
    """One step, JSON-ready; the proved ends are rounded outward."""
    method = step.method
    return {
        **law_written(step.pair),
        "method": {"kind": method.kind, "bits": method.bits}
        | {key: getattr(method, key) for key in _METHOD[method.kind]},
        "proved": [round_down(step.lower, 25), round_up(step.upper, 25)],
    }


def law_written(law: Law) -> dict[str, Any]:
    """A law in exact decimals."""
    if isinstance(law, SwapPair):
        return {"types": [law_written(pair) for pair in law.types], "common_mass": exact(Fraction(law.common_mass))}
    return {key: [exact(Fraction(float(x))) for x in np.asarray(getattr(law, key))] for key in _LAW}


def step_of(raw: object) -> Step:
    """A step as a file states it."""
    several = isinstance(raw, dict) and any(key in raw for key in _TYPES)
    given = mapping("pair", raw, needed=(*(_TYPES if several else _LAW), "method", "proved"))
    low, high = (decimal(text, low=0, high=10**9) for text in listed(given["proved"], "proved"))
    return Step(_swap(given) if several else _pair(given), _method(given["method"]), low, high)


def _pair(given: dict[str, Any]) -> ShuffledPair:
    return ShuffledPair(**{key: [double(x) for x in listed(given[key], key)] for key in _LAW})


def _swap(given: dict[str, Any]) -> SwapPair:
    from ..numerics.proof.swap import MAX_TYPES

    if len(several := listed(given["types"], "types")) > MAX_TYPES:
        raise ValueError(f"a pair has at most {MAX_TYPES:,} types, not {len(several):,}")
    types = tuple(_pair(mapping("type", item, needed=_LAW)) for item in several)
    return SwapPair(types, double(given["common_mass"]))


def _method(raw: object) -> Method:
    """The stated method, with exactly the keys of its kind."""
    from ..numerics.proof.pairs import MAX_BITS, MAX_NODES, Method

    kind = raw.get("kind") if isinstance(raw, dict) else None
    if kind not in _METHOD:
        raise ValueError("method")
    given = mapping("method", raw, needed=("kind", "bits", *_METHOD[kind]))
    numbers: dict[str, Any] = {key: given[key] for key in given if key != "kind"}
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int if key in _WHOLE else int | float):
            raise ValueError(key)
    numbers = {key: value if key in _WHOLE else float(value) for key, value in numbers.items()}
    method = Method(kind, **numbers)
    if not 64 <= method.bits <= MAX_BITS or not 0 <= method.nodes <= MAX_NODES:
        raise ValueError("bits or nodes")
    return method


def listed(value: object, name: str) -> list[Any]:
    """A list, or ValueError."""
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list")
    return value


def decimal(text: object, *, low: int, high: int) -> Fraction:
    """A decimal in [low, high], as written."""
    value = as_written(text, figures=_FIGURES, exponent=4) if isinstance(text, str) and "/" not in text else None
    if value is None or not low <= value <= high:
        raise ValueError(f"{text!s:.40} is not in [{low}, {high}]")
    return value


def double(text: object) -> float:
    """The double that an exact decimal states; a decimal that is not a double is refused."""
    value = decimal(text, low=0, high=2)
    if Fraction(float(value)) != value:
        raise ValueError(f"{text!s:.40} is not an exact double")
    return float(value)
