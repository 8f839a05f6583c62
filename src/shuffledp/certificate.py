"""Certificates: a small JSON file from which anyone can re-check a guarantee in ball arithmetic.

A certificate states rounds (their numbers as exact decimals), n, eps and delta, how each proof goes, and the terms:
which law (its hash), which neighbours, what is trusted.  Nothing in it has to be trusted: :func:`verify` recomputes
every bound from the stated numbers, and where the mechanism has a spec it derives the rounds again and compares them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _validation as check
from ._files import write_whole
from ._numbers import exact as _exact
from ._numbers import round_down, round_up
from ._text import visible
from .bounds import BOUNDS
from .certificate_claim import FORMAT, MAX_ROUNDS, OLD_FORMAT, STATEMENT, derived, law_hash, provable
from .core.round import Round
from .errors import CertificationError, ParameterError, ShuffleDPError, VerificationError
from .guarantee import TRUST, Guarantee
from .mechanisms.base import Mechanism
from .mechanisms.finite import FiniteRandomizer
from .subject import make_guarantee

if TYPE_CHECKING:
    from .core.certified import Method


@dataclass(frozen=True)
class Step:
    """One round of a certificate, how its proof goes, and the proved interval of delta at eps."""

    round: Round
    method: Method
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True)
class Certificate:
    """Proof that max over the steps of delta(epsilon) <= delta among n messages.

    ``matrix`` is the probability matrix of a finite randomizer, so that its rounds can be derived again.  The terms:
    ``law_sha256`` (of the matrix, or else of the rounds), ``neighbours`` and ``trust``.  ``notes`` is what
    :func:`verify` has to say of the label.

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

    def __str__(self) -> str:
        """What is proved, in one line; the label is quoted, so that it ends where it ends."""
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
                    **{key: [_exact(Fraction(float(x))) for x in np.asarray(getattr(s.round, key))] for key in _LAW},
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
        """Write the file in one piece (a reader never sees half of it)."""
        write_whole(path, self.to_json(), name="out")


_LAW = ("P0", "P1", "t")
_TERMS = ("law_sha256", "neighbours", "trust")
_KEYS = ("format", "claim", "mechanism", *_TERMS, "bound", "n", "epsilon", "delta", "rounds")
#: What a proof of each kind needs beside its precision.
_METHODS = {"counts": ("cap",), "contour": ("c", "s", "h", "nodes"), "local": ()}


def certify(subject: Mechanism, *, n: int, delta: float, bound: str, tol: float) -> Guarantee:
    """The guarantee of :func:`shuffledp.amplify`, with eps raised (a little) until ball arithmetic proves it."""
    from .core.certified import choose, prove

    chosen = BOUNDS[bound]
    if not provable(chosen):
        raise CertificationError(f"bound {bound!r} is not one that a certificate can prove; use bound='auto'.")
    members = chosen.family(subject).rounds(MAX_ROUNDS)
    if members is None:
        raise CertificationError(
            f"a certificate covers at most {MAX_ROUNDS} distinct laws with a fixed number of messages, and bound "
            f"{bound!r} of {subject.spec} has more or another form; try bound='variation-ratio' or 'general'."
        )
    epsilon = chosen.epsilon(subject, n=n, delta=delta, tol=0.5 * tol).epsilon
    if not np.isfinite(epsilon):
        raise CertificationError(
            f"there is no finite eps at delta = {round_down(delta, 6)} to certify; raise n or delta."
        )
    for _ in range(4):
        exact, target = Fraction(epsilon), Fraction(delta)
        steps = []
        for round_ in members:
            method = choose(round_, n, epsilon, _accuracy(round_, n, epsilon, tol))
            proof = prove(round_, n, exact, method)
            steps.append(Step(round_, method, proof.lower, proof.upper))
        if all(step.upper <= target for step in steps):
            made = make_guarantee(subject, chosen, n=n, delta=delta, epsilon=epsilon, tol=tol)
            matrix = tuple(map(tuple, np.asarray(subject.matrix))) if isinstance(subject, FiniteRandomizer) else ()
            terms = (law_hash(matrix, members), subject.neighbours, TRUST)
            proof_file = Certificate(subject.spec, bound, n, exact, target, tuple(steps), matrix, *terms)
            return replace(made, certified=True, certificate=proof_file, evaluated=len(members), members=len(members))
        epsilon *= 1.0 + 0.3 * tol
    raise CertificationError(
        f"ball arithmetic could not confirm eps = {epsilon!r} at delta = {delta!r}; try a larger tol."
    )


def verify(source: Certificate | str | Path) -> Certificate:
    """Re-check a certificate from scratch; returns it with freshly proved intervals, or raises VerificationError.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> g = sdp.amplify("general:eps0=1", n=10_000, delta=1e-6, certify=True)
    >>> bool(verify(g.certificate).proved_delta <= g.delta)
    True
    """
    from .core.certified import prove

    if not isinstance(source, Certificate | str | Path):
        raise ParameterError(f"source must be a certificate or the path of one, got {type(source).__name__}.")
    claim = source if isinstance(source, Certificate) else _read(Path(source))
    claim = derived(claim)
    steps = []
    for number, step in enumerate(claim.steps):
        proof = prove(step.round, claim.n, claim.epsilon, step.method)
        if proof.upper > claim.delta:
            raise VerificationError(
                f"round {number} has delta up to {round_up(proof.upper, 9)} at eps = {round_up(claim.epsilon, 9)}, "
                f"more than the stated {round_down(claim.delta, 9)}; the certificate does not hold."
            )
        steps.append(replace(step, lower=proof.lower, upper=proof.upper))
    return replace(claim, steps=tuple(steps))


def _accuracy(round_: Round, n: int, epsilon: float, tol: float) -> float:
    """Relative accuracy in delta worth a third of tol in eps."""
    from .core.evaluate import Divergence

    bracket = Divergence(round_, n).bracket(np.array([epsilon]), 0.02)
    value = float(np.exp(max(float(bracket.upper[0]), -700.0)))
    return float(min(max(0.3 * tol * epsilon * abs(float(bracket.slope[0])) / value, 1e-7), 0.02))


def _read(path: Path) -> Certificate:
    from .core.certified import MAX_NODES, Method

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError):
        raise ParameterError(f"certificate must be a readable JSON file, got {str(path)!r}; check the path.") from None
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, OLD_FORMAT):
        raise ParameterError(
            f"certificate must have format {FORMAT!r}, got another file in {str(path)!r}; certify again."
        )
    new = data["format"] == FORMAT
    try:
        if new:
            _only(data, _KEYS, optional=("matrix",))
            if data["claim"] != STATEMENT:
                raise VerificationError(
                    f"claim must be {STATEMENT!r}, got {str(data['claim'])[:200]!r}; certify again."
                )
        steps = []
        for item in data["rounds"]:
            raw = item["method"]
            if new:
                _only(item, (*_LAW, "method", "proved"))
                _only(raw, ("kind", "bits", *_METHODS.get(str(raw["kind"]), ())))
            method = Method(
                kind=str(raw["kind"]),
                bits=int(raw["bits"]),
                cap=int(raw.get("cap", 0)),
                c=float(raw.get("c", 0.0)),
                s=float(raw.get("s", 0.0)),
                h=float(raw.get("h", 0.0)),
                nodes=int(raw.get("nodes", 0)),
            )
            if method.kind not in ("counts", "contour", "local") or not 64 <= method.bits <= 4096:
                raise ValueError("method")
            if not 0 <= method.nodes <= MAX_NODES:
                raise ValueError("nodes")
            law = {key: [_double(text) for text in item[key]] for key in _LAW}
            low, high = (_decimal(text, low=0, high=10**9) for text in item["proved"])
            steps.append(Step(Round(**law), method, low, high))
        if not isinstance(data["mechanism"], str) or not isinstance(data["bound"], str):
            raise ValueError("mechanism or bound")
        return Certificate(
            mechanism=data["mechanism"],
            bound=data["bound"],
            n=check.users(data["n"]),
            epsilon=_decimal(data["epsilon"], low=0, high=1000),
            delta=_decimal(data["delta"], low=0, high=1),
            steps=tuple(steps),
            matrix=tuple(tuple(_double(x) for x in row) for row in data.get("matrix", ())),
            **{key: data[key] for key in _TERMS if new},
            format=data["format"],
        )
    except ShuffleDPError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise ParameterError(
            f"certificate must be a complete {FORMAT} file, got a malformed entry ({error}) in {str(path)!r}; "
            "certify again."
        ) from None


def _only(entry: Any, needed: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Refuse keys that are missing, and those that nobody would check."""
    keys, wanted = set(entry), set(needed)
    for wrong, what in ((wanted - keys, "missing"), (keys - wanted - set(optional), "unknown")):
        if wrong:
            raise ValueError(f"{what} key {min(wrong)[:40]!r}")


def _decimal(text: object, *, low: int, high: int) -> Fraction:
    """A decimal in [low, high] of reasonable length."""
    value = Decimal(str(text))
    if not value.is_finite() or not low <= value <= high or abs(value.adjusted()) > 2000:
        raise ValueError(f"{text!s:.40} is not in [{low}, {high}]")
    return Fraction(value)


def _double(text: object) -> float:
    """The double that an exact decimal states; a decimal that is no double is refused."""
    value = float(str(text))
    if Fraction(value) != Fraction(Decimal(str(text))):
        raise ValueError(f"{text} is not an exact double")
    return value


def _method_dict(method: Method) -> dict[str, Any]:
    return {"kind": method.kind, "bits": method.bits} | {key: getattr(method, key) for key in _METHODS[method.kind]}
