"""Certificates: a small JSON file from which anyone can re-check a guarantee in ball arithmetic.

A certificate states shuffled pairs (their numbers as exact decimals), n, eps and delta, the method of each proof, and
the terms: which law (its hash), which neighbours, what is trusted.  The file need not be trusted: :func:`verify`
recomputes every bound from the stated numbers, and where the mechanism has a spec it derives the pairs again and
compares them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import validation as check
from .._support.by_name import by_name
from .._support.files import write_whole
from .._support.numbers import exact as _exact
from .._support.numbers import round_down, round_up
from .._support.reading import CERTIFICATE, as_written, contained, mapping, read_json
from .._support.tables import Table
from .._support.text import visible
from ..errors import CertificationError, ParameterError, ShuffleDPError, VerificationError
from ..numerics.families.base import Answer
from ..numerics.pair import ShuffledPair
from .certificate_claim import FORMAT, MAX_PAIRS, OLD_FORMAT, STATEMENT, derived, law_hash, provable
from .guarantee import TRUST, Guarantee
from .resolve import Resolved

if TYPE_CHECKING:
    from ..numerics.evaluators.certified import Method


@dataclass(frozen=True)
class Step:
    """One shuffled pair of a certificate, the method of its proof, and the proved interval of delta at eps."""

    pair: ShuffledPair
    method: Method
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True)
class Certificate:
    """Proof that max over the steps of delta(epsilon) <= delta among n messages.

    ``matrix`` is the probability matrix of a finite randomizer, so that its pairs can be derived again.  The terms:
    ``law_sha256`` (of the matrix, or else of the pairs), ``neighbours`` and ``trust``.  ``notes`` is what
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
    neighbours: str = ""
    trust: str = ""
    format: str = FORMAT
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
            ("neighbours", self.neighbours),
            ("SHA-256 of the law", self.law_sha256),
            ("trusted", self.trust),
        ]
        return Table.facts(facts, notes=self.notes).html()

    def __str__(self) -> str:
        """What is proved, in one line; the label is quoted, so that one sees where it ends."""
        return visible(
            f"{self.mechanism!r} with n = {self.n:,} has delta <= {round_up(self.proved_delta, 9)} at "
            f"eps = {round_up(self.epsilon, 9)}, within the stated delta = {round_down(self.delta, 9)}, "
            f"{self.neighbours} (bound: {self.bound})."
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; laws, eps and delta are exact decimals, proved ends are rounded outward."""
        return {
            "format": self.format,
            "claim": STATEMENT,
            "mechanism": self.mechanism,
            "law_sha256": self.law_sha256,
            "neighbours": self.neighbours,
            "trust": self.trust,
            "bound": self.bound,
            "n": self.n,
            "epsilon": _exact(self.epsilon),
            "delta": _exact(self.delta),
            **({"matrix": [[_exact(Fraction(x)) for x in row] for row in self.matrix]} if self.matrix else {}),
            "rounds": [
                {
                    **{key: [_exact(Fraction(float(x))) for x in np.asarray(getattr(s.pair, key))] for key in _LAW},
                    "method": _method_dict(s.method),
                    "proved": [round_down(s.lower, 25), round_up(s.upper, 25)],
                }
                for s in self.steps
            ],
        }

    def to_json(self) -> str:
        """The certificate as text."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the file atomically (a reader never sees half of it)."""
        write_whole(path, self.to_json(), name="out")


_LAW = ("P0", "P1", "t")
_TERMS = ("law_sha256", "neighbours", "trust")
#: Keys of every format, and the additional keys of this one.
_KEYS = ("format", "claim", "mechanism", "bound", "n", "epsilon", "delta", "rounds")
#: Keys of a method besides its kind and bits.
_METHOD = {"counts": ("cap",), "contour": ("c", "s", "h", "nodes"), "local": ()}
_WHOLE = ("bits", "cap", "nodes")
#: Figures before and after the point: the exact decimal of a double has up to 1074.
_FIGURES = 1200


def certify(question: Resolved, *, delta: float, tol: float) -> Guarantee:
    """The guarantee of :func:`shuffledp.amplify`, with eps raised (a little) until ball arithmetic proves it.

    The proof covers the honest users; the certificate format has no random participation.
    """
    from ..numerics.evaluators.certified import choose, prove, refuse_endless

    subject, n, bound = question.mechanism, question.n, question.bound.name
    if question.crowd.reports_per_user > 1:
        raise CertificationError(
            "a certificate is for one report per user, got reports_per_user = "
            f"{question.crowd.reports_per_user:,}; use certify=False."
        )
    if question.crowd.participation < 1.0:
        raise CertificationError(
            f"a certificate is for a batch of known size, got participation = {question.crowd.participation!r}; "
            "certify the size of the batch with participation = 1."
        )
    if not provable(question.bound):
        raise CertificationError(f"bound {bound!r} is not one that a certificate can prove; use bound='auto'.")
    members = question.family.pairs(MAX_PAIRS)
    if members is None:
        raise CertificationError(
            f"a certificate covers at most {MAX_PAIRS} distinct laws with a fixed number of messages, and bound "
            f"{bound!r} of {subject.spec} has more or another form; try bound='variation-ratio' or 'general'."
        )
    epsilon = question.epsilon(delta=delta, tol=0.5 * tol).epsilon
    if not np.isfinite(epsilon):
        raise CertificationError(
            f"there is no finite eps at delta = {round_down(delta, 6)} to certify; raise n or delta."
        )
    for _ in range(4):
        exact, target = Fraction(epsilon), Fraction(delta)
        methods = [choose(pair, n, epsilon, _accuracy(pair, n, epsilon, tol)) for pair in members]
        refuse_endless(zip(members, methods, strict=True), n, exact)  # what is certified can be verified
        steps = []
        for pair, method in zip(members, methods, strict=True):
            proof = prove(pair, n, exact, method)
            steps.append(Step(pair, method, proof.lower, proof.upper))
        if all(step.upper <= target for step in steps):
            matrix = tuple(map(tuple, np.asarray(subject.identity().get("matrix", ()))))
            terms = (law_hash(matrix, members), subject.neighbours, TRUST)
            certificate = Certificate(subject.spec, bound, n, exact, target, tuple(steps), matrix, *terms)
            proved = Answer(epsilon, len(members), len(members))
            return question.guarantee(delta=delta, tol=tol, proved=proved, certificate=certificate)
        epsilon *= 1.0 + 0.3 * tol
    raise CertificationError(
        f"ball arithmetic could not confirm eps = {epsilon!r} at delta = {delta!r}; try a larger tol."
    )


@by_name
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
        raise ParameterError(f"source must be a certificate or the path of one, got {type(source).__name__}.")
    if isinstance(source, Certificate):
        return _verified(source)
    with contained(CERTIFICATE, str(source)):
        return _verified(_read(Path(source)))


def _verified(claim: Certificate) -> Certificate:
    from ..numerics.evaluators.certified import Proof, prove, refuse_endless

    distinct = dict.fromkeys((step.pair, step.method) for step in claim.steps)  # a pair stated twice is proved once
    if len(distinct) > MAX_PAIRS:
        raise VerificationError(
            f"a certificate covers at most {MAX_PAIRS} distinct laws, and this one states {len(distinct):,}; "
            "certify again."
        )
    refuse_endless(distinct, claim.n, claim.epsilon)
    claim = derived(claim)
    proofs: dict[tuple[ShuffledPair, Method], Proof] = {}
    steps = []
    for number, step in enumerate(claim.steps):
        key = (step.pair, step.method)
        if key not in proofs:
            proofs[key] = prove(step.pair, claim.n, claim.epsilon, step.method)
        proof = proofs[key]
        if proof.upper > claim.delta:
            raise VerificationError(
                f"pair {number} has delta up to {round_up(proof.upper, 9)} at eps = {round_up(claim.epsilon, 9)}, "
                f"more than the stated {round_down(claim.delta, 9)}; the certificate does not hold."
            )
        steps.append(replace(step, lower=proof.lower, upper=proof.upper))
    return replace(claim, steps=tuple(steps))


def _accuracy(pair: ShuffledPair, n: int, epsilon: float, tol: float) -> float:
    """Relative accuracy in delta worth a third of tol in eps."""
    from ..numerics.evaluators.choose import Divergence

    bracket = Divergence(pair, n).bracket(np.array([epsilon]), 0.02)
    value = float(np.exp(max(float(bracket.upper[0]), -700.0)))
    return float(min(max(0.3 * tol * epsilon * abs(float(bracket.slope[0])) / value, 1e-7), 0.02))


def _read(path: Path) -> Certificate:
    data = read_json(path, CERTIFICATE)
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, OLD_FORMAT):
        raise ParameterError(
            f"certificate must have format {FORMAT!r}, got another file in {str(path)!r}; certify again."
        )
    new = data["format"] == FORMAT
    try:
        terms = _TERMS if new else ()
        whole = mapping("certificate", data, needed=(*_KEYS, *terms), optional=("matrix",))
        if new and whole["claim"] != STATEMENT:
            raise VerificationError(f"claim must be {STATEMENT!r}, got {str(whole['claim'])[:200]!r}; certify again.")
        steps = []
        for item in _listed(whole["rounds"], "rounds"):
            given = mapping("round", item, needed=(*_LAW, "method", "proved"))
            law = {key: [_double(x) for x in _listed(given[key], key)] for key in _LAW}
            low, high = (_decimal(text, low=0, high=10**9) for text in _listed(given["proved"], "proved"))
            steps.append(Step(ShuffledPair(**law), _method(given["method"]), low, high))
        if not isinstance(whole["mechanism"], str) or not isinstance(whole["bound"], str):
            raise ValueError("mechanism or bound")
        return Certificate(
            mechanism=whole["mechanism"],
            bound=whole["bound"],
            n=check.users(whole["n"]),
            epsilon=_decimal(whole["epsilon"], low=0, high=1000),
            delta=_decimal(whole["delta"], low=0, high=1),
            steps=tuple(steps),
            matrix=tuple(tuple(_double(x) for x in _listed(row, "row")) for row in whole.get("matrix", ())),
            **{key: whole[key] for key in terms},
            format=whole["format"],
        )
    except (TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, ShuffleDPError) and str(error).startswith("certificate must "):
            raise
        reason = str(error).rstrip(".?")
        raise ParameterError(
            f"certificate must be a complete {FORMAT} file, got a malformed entry ({reason:.200}) in {str(path)!r}; "
            "certify again."
        ) from None


def _method(raw: object) -> Method:
    """The stated method, with exactly the keys of its kind."""
    from ..numerics.evaluators.certified import MAX_BITS, MAX_NODES, Method

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


def _listed(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list")
    return value


def _decimal(text: object, *, low: int, high: int) -> Fraction:
    """A decimal in [low, high], as written."""
    value = as_written(text, figures=_FIGURES, exponent=4) if isinstance(text, str) and "/" not in text else None
    if value is None or not low <= value <= high:
        raise ValueError(f"{text!s:.40} is not in [{low}, {high}]")
    return value


def _double(text: object) -> float:
    """The double that an exact decimal states; a decimal that is not a double is refused."""
    exact = _decimal(text, low=0, high=2)
    if Fraction(float(exact)) != exact:
        raise ValueError(f"{text!s:.40} is not an exact double")
    return float(exact)


def _method_dict(method: Method) -> dict[str, Any]:
    return {"kind": method.kind, "bits": method.bits} | {key: getattr(method, key) for key in _METHOD[method.kind]}
