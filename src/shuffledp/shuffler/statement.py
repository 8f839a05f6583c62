"""The statement of a collected period: signed by the analyst, around what the shuffler signed.

It says which plan and batch, how many sealed messages were refused and why, and what is guaranteed for the number of
users that was reached, with the certificate.  Whoever has the two public keys checks all of it again from scratch; who
signed can still have lied about what only they saw: the shuffler about the number of contributors, the analyst about
what was in the sealed messages.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .._support.json_ready import json_object, json_ready
from .._support.numbers import round_up
from .._support.reading import Kind, contained, mapping, read_json
from ..accounting.amplification import amplify
from ..accounting.certificate import Certificate, verify
from ..accounting.crowd import Crowd
from ..accounting.guarantee import Guarantee, count_of
from ..errors import CertificationError, ParameterError, VerificationError
from ..protocol.plan import Plan
from ..protocol.portable import charge, portable
from . import signed
from .collect import Counts
from .released import manifest_in

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from .released import Released

STATEMENT = Kind("statement", 2**28, "ask the analyst for it again")
CONTEXT = "shuffledp statement 1"
_KEYS = (
    *("format", "version", "plan", "digest", "manifest", "batch_digest", "real", "blank", "refused", "users"),
    *("guarantee", "certificate"),
)
_CLAIM = ("n", "colluding", "epsilon", "delta", "law_delta", "local_epsilon", "bound", "neighbors", "trust")
#: What of delta is left for the law of the mechanism, beside the distance of the law that clients run from it.
_LAW_SHARES = (0.99, 0.5)


def reached(plan: Plan, counts: Counts, *, colluding: int = 0) -> tuple[Guarantee, float]:
    """The guarantee of the users that were reached, and the share of the plan's delta that the mechanism's law takes.

    The rest pays for the distance between that law and the one in whole numbers that clients run
    (:func:`shuffledp.protocol.portable.charge`).
    """
    m, n = plan.query.randomizer, counts.honest(plan)
    terms: dict[str, Any] = {"n": n, "colluding": colluding, "reports_per_user": plan.reports_per_user}
    for share in _LAW_SHARES:
        left = share * plan.delta
        try:
            found = amplify(m, delta=left, certify=True, **terms)
        except CertificationError:
            found = amplify(m, delta=left, **terms)
        if math.isfinite(found.epsilon) and _fits(plan, counts, float(round_up(found.epsilon)), left):
            return found, left
    raise ParameterError(
        f"a statement must have a finite eps for which delta = {plan.delta:g} is enough, got none for {n:,} users of "
        f"whom {colluding:,} collude; collect more users."
    )


def _fits(plan: Plan, counts: Counts, epsilon: float, left: float) -> bool:
    """Whether the plan's delta pays for the mechanism's law and for the distance of that of the clients, exactly."""
    spent = charge(plan, portable(plan), users=counts.contributors, epsilon=epsilon)
    return Fraction(left) + Fraction(spent) <= Fraction(plan.delta)


def state(
    plan: Plan, released: Released, counts: Counts, *, key: Ed25519PrivateKey, colluding: int = 0
) -> dict[str, Any]:
    """The signed statement of a period that was collected."""
    found, left = reached(plan, counts, colluding=colluding)
    claim = {
        **{name: getattr(found, name) for name in _CLAIM if name != "law_delta"},
        "epsilon": float(round_up(found.epsilon)),
        "delta": plan.delta,
        "law_delta": left,
    }
    payload = {
        "format": "shuffledp statement",
        "version": 1,
        "plan": plan.to_dict(),
        "digest": plan.digest,
        "manifest": released.envelope,
        "batch_digest": released.digest,
        "real": counts.real,
        "blank": counts.blank,
        "refused": counts.refused,
        "users": counts.users(plan),
        "guarantee": json_object(claim),
        "certificate": found.certificate.to_dict() if found.certificate else None,
    }
    return signed.sign(CONTEXT, payload, key)


@dataclass(frozen=True)
class Verified:
    """A statement that holds: what it says, who signed it, and its proof (None: computed again, not certified)."""

    payload: dict[str, Any]
    manifest: dict[str, Any]
    proof: Certificate | None
    signers: tuple[str, str]

    def lines(self) -> list[str]:
        """For people."""
        said, manifest, claim = self.payload, self.manifest, self.payload["guarantee"]
        intake = ", ".join(f"{number:,} {reason}" for reason, number in sorted(manifest["refused"].items()) if number)
        bad = ", ".join(f"{number:,} {reason}" for reason, number in said["refused"].items())
        against = f", up to {count_of(claim['colluding'])} colluding" if claim["colluding"] else ""
        proof = "certified" if self.proof else "computed again, not certified: no certificate covers this mechanism"
        return [
            f"Verified: batch {manifest['batch']} of plan {said['digest'][:12]}..., period {manifest['period']}.",
            f"Signed by shuffler {self.signers[0]} and analyst {self.signers[1]}.",
            f"{manifest['contributors']:,} contributors, {said['real']:,} messages, {said['blank']:,} blanks; refused "
            f"by the shuffler: {intake or 'none'}; by the analyst: {bad or 'none'}.",
            f"For the {count_of(claim['n'])} who can have sent proper reports{against}: ({round_up(claim['epsilon'])}, "
            f"{round_up(claim['delta'], 6)})-DP, {claim['neighbors']} ({claim['bound']}; {proof}).",
            *((str(self.proof), *self.proof.notes) if self.proof else ()),
            f"Trusted: {claim['trust']}; both signers about what only they saw.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        keys = dict(zip(("shuffler", "analyst"), self.signers, strict=True))
        return {"verified": True, "certified": self.proof is not None, "keys": keys, **self.payload}


def verify_statement(
    path: str | os.PathLike[str], *, shufflers: Mapping[str, Any], analysts: Mapping[str, Any]
) -> Verified:
    """Check both signatures, all counts and the guarantee again; VerificationError if the statement does not hold."""
    with contained(STATEMENT, str(path)):
        envelope = read_json(path, STATEMENT)
        try:
            said = mapping("statement", signed.open_(CONTEXT, envelope, analysts), needed=_KEYS)
            if (said["format"], said["version"]) != ("shuffledp statement", 1):
                raise ParameterError(f"statement must be of version 1, got {said['version']!r:.20}; update shuffledp.")
            manifest = manifest_in(said["manifest"], shufflers)
        except signed.SignatureError as error:
            raise VerificationError(f"{error}") from None
        plan = Plan.from_dict(said["plan"], verify=False)
        claim = mapping("guarantee of the statement", said["guarantee"], needed=_CLAIM)
        counts = _counts(plan, said, manifest)
        proof = _proved(plan, counts, claim, said["certificate"])
        return Verified(said, manifest, proof, (said["manifest"]["key"], envelope["key"]))


def _counts(plan: Plan, said: dict[str, Any], manifest: dict[str, Any]) -> Counts:
    """What was found, if it adds up to what the shuffler signed."""
    text, refused, slots = said["manifest"]["payload"], said["refused"], int(portable(plan)["slots"])
    numbers = [said["real"], said["blank"], *(refused.values() if isinstance(refused, dict) else [None])]
    if not all(type(x) is int and x >= 0 for x in numbers):
        raise ParameterError("counts of the statement must be whole numbers, got something else; ask for it again.")
    counts = Counts(manifest["contributors"], slots, said["real"], said["blank"], refused)
    for what, got, wanted in (
        ("the digest of its plan", said["digest"], plan.digest),
        ("the plan of the batch", manifest["plan"], plan.digest),
        ("the digest of its batch", said["batch_digest"], hashlib.sha256(text.encode("utf-8")).hexdigest()),
        ("the number of sealed messages", sum(numbers), manifest["messages"]),
        ("the number of slots", manifest["messages"], manifest["contributors"] * slots),
        ("the number of users", said["users"], counts.users(plan)),
    ):
        _refuse_unless(got == wanted, f"{what} must be {wanted}, got {got!r:.80}")
    _refuse_unless(counts.contributors >= manifest["minimum"], "a batch must have its minimum of users, got fewer")
    return counts


def _proved(plan: Plan, counts: Counts, claim: dict[str, Any], certificate: object) -> Certificate | None:
    """The proof of the claim; without a certificate it is computed again."""
    n, colluding, epsilon, left = (claim[key] for key in ("n", "colluding", "epsilon", "law_delta"))
    if not (type(n) is type(colluding) is int and type(epsilon) is type(left) is float and epsilon >= 0 < left):
        raise ParameterError("the guarantee of the statement must hold numbers, got something else; ask for it again.")
    m, honest = plan.query.randomizer, counts.honest(plan)
    who = Crowd.of(honest, colluding=colluding).terms()
    for name, got, wanted in (
        ("n", n, honest),
        ("delta", claim["delta"], plan.delta),
        ("local_epsilon", claim["local_epsilon"], json_ready(m.local_epsilon * plan.reports_per_user)),
        ("neighbors", claim["neighbors"], m.neighbors),
        ("trust", claim["trust"], who["trust"]),
    ):
        _refuse_unless(got == wanted, f"{name} of the guarantee must be {wanted}, got {got!r:.80}")
    _refuse_unless(_fits(plan, counts, epsilon, left), f"delta = {plan.delta!r} must cover the rounding of the law")
    if certificate is None:
        terms: dict[str, Any] = {"n": n, "colluding": colluding, "reports_per_user": plan.reports_per_user}
        again = amplify(m, delta=left, **terms)
        same = again.epsilon <= epsilon and again.bound == claim["bound"]
        _refuse_unless(same, f"eps = {epsilon!r} must be proved again, got {round_up(again.epsilon)} ({again.bound})")
        return None
    _refuse_unless(plan.reports_per_user == 1, "a certificate is for one report per user, got one for a plan of more")
    proof = verify(Certificate.from_dict(certificate, shown="the statement"))
    numbers = proof.n == n - colluding and proof.epsilon <= Fraction(epsilon) and proof.delta <= Fraction(left)
    same = numbers and proof.mechanism == m.spec and proof.bound == claim["bound"]
    _refuse_unless(same, f"the certificate must be of this guarantee, got {proof!r}")
    return proof


def _refuse_unless(holds: bool, said: str) -> None:
    if not holds:
        raise VerificationError(f"{said}; the statement does not hold.")
