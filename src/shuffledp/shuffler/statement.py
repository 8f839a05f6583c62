"""The statement of a collected period: signed by the analyst, around what the shuffler signed.

It says which plan and batch, how many sealed messages were refused and why, and what is guaranteed for the number of
users that was reached, with the certificate.  Whoever has the two public keys checks all of it again from scratch; who
signed can still have lied about what only they saw: the shuffler about the number of contributors, the analyst about
what was in the sealed messages.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .._support.json_ready import json_ready
from .._support.numbers import round_up
from .._support.reading import Kind, contained, mapping, read_json
from ..accounting.amplification import amplify
from ..accounting.certificate import Certificate, verify
from ..accounting.crowd import Crowd
from ..accounting.guarantee import Guarantee, count_of
from ..errors import CertificationError, ParameterError, VerificationError
from ..protocol.portable import charge
from . import signed
from .collect import Counts
from .publication import Publication
from .release import manifest_in

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from .release import ReleasedBatch

STATEMENT = Kind("statement", 2**28, "ask the analyst for it again")
CONTEXT = "shuffledp statement 1"
_KEYS = ("format", "version", "publication", "manifest", "real", "blank", "refused", "guarantee", "certificate")
_CLAIM = ("colluding", "epsilon", "law_delta", "bound")
#: What of delta is left for the law of the mechanism, beside the distance of the law that clients run from it.
_LAW_SHARES = (0.99, 0.5)


def reached(publication: Publication, counts: Counts, *, colluding: int = 0) -> tuple[Guarantee, float]:
    """The guarantee of the users that were reached, and the share of the plan's delta that the mechanism's law takes.

    The rest pays for the distance between that law and the one in whole numbers that clients run
    (:func:`shuffledp.protocol.portable.charge`).
    """
    plan = publication.plan
    m, n = plan.query.randomizer, counts.honest(plan)
    terms: dict[str, Any] = {"n": n, "colluding": colluding, "reports_per_user": plan.reports_per_user}
    for share in _LAW_SHARES:
        left = share * plan.delta
        try:
            found = amplify(m, delta=left, certify=True, **terms)
        except CertificationError:
            found = amplify(m, delta=left, **terms)
        if math.isfinite(found.epsilon) and _delta_suffices(publication, counts, float(round_up(found.epsilon)), left):
            return found, left
    raise ParameterError(
        f"a statement must have a finite eps for which delta = {plan.delta:g} is enough, got none for {n:,} users of "
        f"whom {colluding:,} collude; collect more users."
    )


def _delta_suffices(publication: Publication, counts: Counts, epsilon: float, left: float) -> bool:
    """Return True if the plan's delta pays for the mechanism's law and for its distance from that of the clients."""
    spent = charge(publication.plan, publication.program, users=counts.contributors, epsilon=epsilon)
    return Fraction(left) + Fraction(spent) <= Fraction(publication.plan.delta)


def state(released: ReleasedBatch, counts: Counts, *, key: Ed25519PrivateKey, colluding: int = 0) -> dict[str, Any]:
    """Return the signed statement of a period that was collected."""
    found, left = reached(released.publication, counts, colluding=colluding)
    payload = {
        "format": "shuffledp statement",
        "version": 1,
        "publication": released.publication.envelope,
        "manifest": released.envelope,
        "real": counts.real,
        "blank": counts.blank,
        "refused": counts.refused,
        "guarantee": {
            "colluding": colluding,
            "epsilon": float(round_up(found.epsilon)),
            "law_delta": left,
            "bound": found.bound,
        },
        "certificate": found.certificate.to_dict() if found.certificate else None,
    }
    return signed.sign(CONTEXT, payload, key)


@dataclass(frozen=True)
class Verified:
    """A statement that holds.

    Attributes
    ----------
    payload, publication, manifest : what the analyst signed, and the documents in it
    guarantee, users : the guarantee with all that follows from plan and counts, and for whom the answer was estimated
    proof : of the guarantee; None if it was computed again and is not certified
    signers : shuffler and analyst
    """

    payload: dict[str, Any]
    publication: Publication
    manifest: dict[str, Any]
    guarantee: dict[str, Any]
    users: int
    proof: Certificate | None
    signers: tuple[str, str]

    def lines(self) -> list[str]:
        """Return the statement in sentences."""
        said, manifest, claim = self.payload, self.manifest, self.guarantee
        intake = ", ".join(f"{number:,} {reason}" for reason, number in sorted(manifest["refused"].items()) if number)
        bad = ", ".join(f"{number:,} {reason}" for reason, number in said["refused"].items())
        against = f", up to {count_of(claim['colluding'])} colluding" if claim["colluding"] else ""
        proof = "certified" if self.proof else "computed again, not certified: no certificate covers this mechanism"
        return [
            f"Verified: batch {manifest['batch']} of plan {self.publication.plan.digest}, period {manifest['period']}.",
            f"Signed by shuffler {self.signers[0]} and analyst {self.signers[1]}, who name publication "
            f"{self.publication.digest} of publisher {self.publication.key}, with the program of this plan (whether "
            "that publisher signed it is not checked here).",
            f"{manifest['contributors']:,} contributors, {said['real']:,} messages, {said['blank']:,} blanks; refused "
            f"by the shuffler: {intake or 'none'}; by the analyst: {bad or 'none'}.",
            f"For the {count_of(claim['n'])} who can have sent proper reports{against}: ({round_up(claim['epsilon'])}, "
            f"{round_up(claim['delta'], 6)})-DP, {claim['neighbors']} ({claim['bound']}; {proof}).",
            *((str(self.proof), *self.proof.notes) if self.proof else ()),
            f"Trusted: {claim['trust']}; both signers about what only they saw.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything ready for JSON."""
        keys = dict(zip(("shuffler", "analyst"), self.signers, strict=True))
        found = {"verified": True, "certified": self.proof is not None, "keys": keys, **self.payload}
        return found | {"users": self.users, "guarantee": self.guarantee}


def verify_statement(
    path: str | os.PathLike[str], *, shufflers: Mapping[str, Any], analysts: Mapping[str, Any]
) -> Verified:
    """Check both signatures, all counts and the guarantee again; VerificationError if the statement does not hold."""
    with contained(STATEMENT, str(path)):
        envelope = read_json(path, STATEMENT)
        try:
            said = mapping("statement", signed.open_(CONTEXT, envelope, analysts), needed=_KEYS)
            if said["format"] != "shuffledp statement" or type(said["version"]) is not int or said["version"] != 1:
                raise ParameterError(f"statement must be of version 1, got {said['version']!r:.20}; update shuffledp.")
            manifest = manifest_in(said["manifest"], shufflers)
        except signed.SignatureError as error:
            raise VerificationError(f"{error}") from None
        publication = Publication.with_digest(said["publication"], manifest["publication"])
        claim = mapping("guarantee of the statement", said["guarantee"], needed=_CLAIM)
        counts = _counts(publication, said, manifest)
        full = _guarantee(publication, counts, claim)
        proof = _proof(publication, counts, full, said["certificate"])
        signers = said["manifest"]["key"], envelope["key"]
        return Verified(said, publication, manifest, full, counts.users(publication.plan), proof, signers)


def _counts(publication: Publication, said: dict[str, Any], manifest: dict[str, Any]) -> Counts:
    """Return the counts, after checking that they add up to the manifest."""
    refused, slots = said["refused"], publication.slots
    numbers = [said["real"], said["blank"], *(refused.values() if isinstance(refused, dict) else [None])]
    if not all(type(x) is int and x >= 0 for x in numbers):
        raise ParameterError("counts of the statement must be whole numbers, got something else; ask for it again.")
    counts = Counts(manifest["contributors"], slots, said["real"], said["blank"], refused)
    for what, got, wanted in (
        ("the number of sealed messages", sum(numbers), manifest["messages"]),
        ("the number of slots", manifest["messages"], manifest["contributors"] * slots),
    ):
        _refuse_unless(got == wanted, f"{what} must be {wanted}, got {got!r:.80}")
    _refuse_unless(counts.contributors >= publication.minimum, "a batch must have its minimum of users, got fewer")
    return counts


def _guarantee(publication: Publication, counts: Counts, claim: dict[str, Any]) -> dict[str, Any]:
    """Return the claim with all that follows from plan and counts, after checking that it can be meant."""
    colluding, epsilon, left = (claim[key] for key in ("colluding", "epsilon", "law_delta"))
    if not (type(colluding) is int and type(epsilon) is type(left) is float and epsilon >= 0 < left):
        raise ParameterError("the guarantee of the statement must hold numbers, got something else; ask for it again.")
    plan = publication.plan
    m, n = plan.query.randomizer, counts.honest(plan)
    trust = Crowd.of(n, colluding=colluding, reports_per_user=plan.reports_per_user).terms()["trust"]
    said = f"delta = {plan.delta!r} must cover the rounding of the law"
    _refuse_unless(_delta_suffices(publication, counts, epsilon, left), said)
    local = json_ready(m.local_epsilon * plan.reports_per_user)
    return {**claim, "n": n, "delta": plan.delta, "local_epsilon": local, "neighbors": m.neighbors, "trust": trust}


def _proof(publication: Publication, counts: Counts, claim: dict[str, Any], certificate: object) -> Certificate | None:
    """Return the proof of the claim; without a certificate it is computed again."""
    plan, (n, colluding, epsilon, left) = (
        publication.plan,
        (claim[key] for key in ("n", "colluding", "epsilon", "law_delta")),
    )
    m = plan.query.randomizer
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
