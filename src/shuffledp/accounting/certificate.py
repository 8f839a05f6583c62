"""Certificates: a small JSON file from which anyone can re-check a guarantee in ball arithmetic.

A certificate states shuffled pairs (for the swap bound victim pairs, each with its types), n, eps and delta, the method
of each proof, and the terms: which law (its hash), which neighbors, what is trusted.  Its numbers are exact decimals.
The file need not be trusted: :func:`verify` recomputes every bound from the stated numbers, and where the mechanism has
a spec it derives the pairs again and compares them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.files import write_whole
from .._support.numbers import exact as _exact
from .._support.numbers import round_down, round_up
from .._support.reading import CERTIFICATE, contained
from .._support.tables import Table
from .._support.text import visible
from ..bounds import BOUNDS
from ..errors import BoundNotApplicableError, CertificationError, ParameterError, VerificationError
from ..mechanisms.base import Mechanism
from ..numerics.family import Answer, Family, Smallest
from .certificate_claim import (
    FORMAT,
    STATEMENT,
    claim_in,
    derived,
    law_hash,
    provable,
    read_claim,
)
from .certificate_steps import MAX_PAIRS, Step, proof_of, proved, refuse_endless, written
from .guarantee import TRUST, Guarantee
from .resolve import Resolved

if TYPE_CHECKING:
    from ..numerics.family import Law
    from ..numerics.proof.pairs import Method, Proof


@dataclass(frozen=True)
class Certificate:
    """Proof that max over the steps of delta(epsilon) <= delta among n messages.

    ``matrix`` is the probability matrix of a finite randomizer, so that its pairs can be derived again.  The terms:
    ``law_sha256`` (of the matrix, or else of the pairs), ``neighbors`` and ``trust``.  ``notes`` is what
    :func:`verify` found out about the label.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> proof = sdp.amplify("general:eps0=1", n=10_000, delta=1e-6, certify=True).certificate
    >>> proof.mechanism, proof.n, bool(proof.proved_delta <= proof.delta)
    ('general:eps0=1', 10000, True)
    """

    mechanism: str
    bound: str
    n: int
    epsilon: Fraction
    delta: Fraction
    steps: tuple[Step, ...]
    matrix: tuple[tuple[float, ...], ...] = ()
    law_sha256: str = ""
    neighbors: str = ""
    trust: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def proved_delta(self) -> Fraction:
        """The largest proved upper bound; at most delta."""
        return max((step.upper for step in self.steps), default=Fraction(0))

    def __repr__(self) -> str:
        """One line: the proved bound and its mechanism."""
        return visible(
            f"<Certificate: delta <= {round_up(self.proved_delta)} at eps = {round_up(self.epsilon)}, "
            f"n = {self.n:,} of {self.mechanism!r} ({self.bound})>"
        )

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        facts = [
            ("mechanism", self.mechanism),
            ("n", f"{self.n:,}"),
            ("eps", round_up(self.epsilon, 9)),
            ("delta (stated)", round_down(self.delta, 9)),
            ("delta (proved)", f"at most {round_up(self.proved_delta, 9)}"),
            ("bound", self.bound),
            ("pairs proved", f"{len(self.steps):,}"),
            ("neighbors", self.neighbors),
            ("SHA-256 of the law", self.law_sha256),
            ("trusted", self.trust),
        ]
        return Table.facts(facts, notes=self.notes).html()

    def __str__(self) -> str:
        """What is proved, in one line; the label is quoted, so that one sees where it ends."""
        return visible(
            f"{self.mechanism!r} with n = {self.n:,} has delta <= {round_up(self.proved_delta, 9)} at "
            f"eps = {round_up(self.epsilon, 9)}, within the stated delta = {round_down(self.delta, 9)}, "
            f"{self.neighbors} (bound: {self.bound})."
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; laws, eps and delta are exact decimals, proved ends are rounded outward."""
        return {
            "format": FORMAT,
            "claim": STATEMENT,
            "mechanism": self.mechanism,
            "law_sha256": self.law_sha256,
            "neighbors": self.neighbors,
            "trust": self.trust,
            "bound": self.bound,
            "n": self.n,
            "epsilon": _exact(self.epsilon),
            "delta": _exact(self.delta),
            **({"matrix": [[_exact(Fraction(x)) for x in row] for row in self.matrix]} if self.matrix else {}),
            "pairs": [written(step) for step in self.steps],
        }

    @classmethod
    def from_dict(cls, data: object, *, shown: str = "the data") -> Certificate:
        """What :meth:`to_dict` gave, checked for its form; :func:`verify` says whether it holds."""
        return cls(**claim_in(data, shown))

    def to_json(self) -> str:
        """The certificate as text."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the file atomically (a reader never sees half of it)."""
        write_whole(path, self.to_json(), name="out")


#: The stated ends of a proof may differ from those found here by this much: other versions of Arb round differently.
_SAME = Fraction(1, 10**9)
#: Bounds that do not use the whole law, and the one that does so in their place.
_WEAKER = {"swap-general": "swap", "variation-ratio": "blanket", "general": "blanket"}
_NOT_COVERED = "looser, because no certificate covers the tightest bound of this mechanism"


def certify(question: Resolved, *, delta: float, tol: float) -> Guarantee:
    """The guarantee of :func:`shuffledp.amplify`, with eps raised (a little) until ball arithmetic proves it.

    The proof covers the honest users.
    """
    subject, n, bound = question.mechanism, question.n, question.bound.name
    if question.crowd.reports_per_user > 1:
        raise CertificationError(
            "a certificate is for one report per user, got reports_per_user = "
            f"{question.crowd.reports_per_user:,}; use certify=False."
        )
    if not provable(question.bound):
        raise CertificationError(f"bound {bound!r} is not one that a certificate can prove; use bound='auto'.")
    families = _analyses(question)
    laws = {name: family.laws(MAX_PAIRS) or () for name, family in families.items()}
    if not laws:
        raise CertificationError(
            f"a certificate covers at most {MAX_PAIRS} distinct laws of one message, and bound {bound!r} of "
            f"{subject.spec} has more laws or other ones; {_instead(subject)}."
        )
    bound, epsilon, steps = _smallest(question, families, laws, delta=delta, tol=tol)
    matrix = tuple(map(tuple, np.asarray(subject.law.identity().get("matrix", ()))))
    certificate = Certificate(
        subject.spec,
        bound,
        n,
        Fraction(epsilon),
        Fraction(delta),
        steps,
        matrix,
        law_hash(matrix, laws[bound]),
        subject.neighbors,
        TRUST,
    )
    count, note = len(laws[bound]), _NOT_COVERED if _leaves_out(question, laws) else ""
    return question.guarantee(
        delta=delta, tol=tol, proved=Answer(epsilon, count, count, note, bound), certificate=certificate
    )


def _instead(subject: Mechanism) -> str:
    """What to do where the law itself is not covered: weaker bounds need less of it."""
    weaker = [repr(name) for name in ("variation-ratio", "general") if _covered(subject, name)]
    if not weaker:
        return "use certify=False: no bound that a certificate covers holds for it"
    return f"try bound={' or '.join(weaker)}"


def _covered(subject: Mechanism, bound: str) -> bool:
    """Whether a certificate can state the laws of this bound, which is nothing without a finite local budget."""
    try:
        return math.isfinite(subject.local_epsilon) and BOUNDS[bound].family(subject).laws(MAX_PAIRS) is not None
    except BoundNotApplicableError:
        return False


def _leaves_out(question: Resolved, laws: Mapping[str, object]) -> bool:
    """Whether "auto" asks a tighter bound than all whose laws a certificate states: swap, or one by the whole law."""
    asked = set(question.family.families) if isinstance(question.family, Smallest) else set()
    return "swap" in asked - laws.keys() or bool(asked - _WEAKER.keys() and not laws.keys() - _WEAKER.keys())


def _analyses(question: Resolved) -> dict[str, Family]:
    """The bounds that may be proved, by name: those that "auto" compares, or the one that was asked for.

    eps0 or (p, beta, q) alone may prove a far larger eps than the law: only where a certificate does not cover the law.
    """
    family = question.family
    if not isinstance(family, Smallest):
        return _stated({question.bound.name: family})
    found = _stated({name: f for name, f in family.families.items() if _WEAKER.get(name) not in family.families})
    if not found.keys() - _WEAKER:
        names = [name for name in _WEAKER if name not in found and _covered(question.mechanism, name)]
        found |= {name: question.left.family(BOUNDS[name]) for name in names}
    return found


def _stated(families: Mapping[str, Family]) -> dict[str, Family]:
    """Those whose laws a certificate can state."""
    return {name: family for name, family in families.items() if family.laws(MAX_PAIRS) is not None}


def _smallest(
    question: Resolved, families: Mapping[str, Family], laws: Mapping[str, Sequence[Law]], *, delta: float, tol: float
) -> tuple[str, float, tuple[Step, ...]]:
    """The bound that proves the smallest eps, that eps, and its steps.

    Proofs of the swap bound try other lines than floats do, so they may need a larger eps, or than another bound.
    """
    asked = {
        name: family.epsilon(n=question.n, delta=delta, tol=0.5 * tol, side="upper").epsilon
        for name, family in families.items()
    }
    if not math.isfinite(min(*asked.values(), question.left.cap)):
        raise CertificationError(
            f"there is no finite eps at delta = {round_down(delta, 6)} to certify; raise n or delta."
        )
    best: tuple[str, float, tuple[Step, ...]] | None = None
    for name in sorted(asked, key=lambda name: asked[name]):
        start = min(asked[name], question.left.cap)
        if best is None or start < best[1]:
            epsilon, steps = proved(laws[name], n=question.n, epsilon=start, delta=delta, tol=tol)
            if best is None or epsilon < best[1]:
                best = (name, epsilon, steps)
    if best is None:
        raise CertificationError(f"no bound of {question.mechanism.spec} can be proved; use bound='general'.")
    return best


def verify(source: Certificate | str | Path) -> Certificate:
    """Re-check a certificate from scratch; returns it with freshly proved intervals, or raises VerificationError.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> g = sdp.amplify("general:eps0=1", n=10_000, delta=1e-6, certify=True)
    >>> bool(verify(g.certificate).proved_delta <= g.delta)
    True
    """
    if not isinstance(source, Certificate | str | Path):
        raise ParameterError(f"source must be a certificate or the path of one, got {type(source).__name__}; pass one.")
    if isinstance(source, Certificate):
        return _verified(source)
    with contained(CERTIFICATE, str(source)):
        return _verified(Certificate(**read_claim(Path(source))))


def _verified(claim: Certificate) -> Certificate:
    distinct = dict.fromkeys((step.pair, step.method) for step in claim.steps)  # a pair stated twice is proved once
    if len(distinct) > MAX_PAIRS:
        raise VerificationError(
            f"a certificate covers at most {MAX_PAIRS} distinct laws, and this one states {len(distinct):,}; "
            "certify again."
        )
    refuse_endless(distinct, claim.n, claim.epsilon)
    claim = derived(claim)
    proofs: dict[tuple[Law, Method], Proof] = {}
    steps = []
    for number, step in enumerate(claim.steps):
        key = (step.pair, step.method)
        if key not in proofs:
            proofs[key] = proof_of(step.pair, step.method, claim.n, claim.epsilon)
        proof = proofs[key]
        if proof.upper > claim.delta:
            raise VerificationError(
                f"pair {number} has delta up to {round_up(proof.upper, 9)} at eps = {round_up(claim.epsilon, 9)}, "
                f"more than the stated {round_down(claim.delta, 9)}; the certificate does not hold."
            )
        if not (proof.lower >= step.lower * (1 - _SAME) and proof.upper <= step.upper * (1 + _SAME)):
            raise VerificationError(
                f"pair {number} is stated to have been proved between {round_down(step.lower, 9)} and "
                f"{round_up(step.upper, 9)}, more than its method proves ({round_down(proof.lower, 9)} to "
                f"{round_up(proof.upper, 9)}); certify again."
            )
        steps.append(replace(step, lower=proof.lower, upper=proof.upper))
    return replace(claim, steps=tuple(steps))
