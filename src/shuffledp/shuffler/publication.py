"""Publications: a plan as clients get it, signed, with its program in whole numbers, its periods and who opens reports.

A publication is named by the digest of all that was signed.  This digest is in every sealed message, batch and
statement, so that nobody is counted who answered another publication.  What follows from the plan (program, least
minimum, guarantee) is derived from it wherever a publication is read, and anything else is refused.

A publication starts, expires, and can be withdrawn by whoever signed it; of one name the greatest serial counts.
Period k lasts from ``starts + k length`` up to ``starts + (k+1) length``, in seconds since 1970.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, NoReturn, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from .._support import validation as check
from .._support.json_ready import json_object
from .._support.numbers import round_up
from .._support.reading import mapping
from ..errors import ParameterError, ShuffleDPError
from ..protocol.plan import Plan
from ..protocol.portable import charge, portable
from . import sealing, signed
from .keys import base64url, identity, unbase64url

CONTEXT, WITHDRAWAL = "shuffledp publication 1", "shuffledp withdrawal 1"
VERSION = 1
#: The share of delta that the rounding of laws and full slots may take, as planned and where more users came than that.
_SHARE, _SHARE_OF_MORE = 0.01, 0.5
#: Room for another platform's last digits in the local eps.
_ROUNDING = 1e-12
#: What a hostile plan may raise beside refusals.
_UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
#: Times are whole seconds up to this.
_LAST = 2**42
_GUARANTEE = ("epsilon", "delta", "local_epsilon")
_DIGEST = re.compile("[0-9a-f]{64}")
_KEYS = (
    *("format", "version", "serial", "name", "plan", "program", "minimum", "starts", "length", "grace"),
    *("expires", "dispose", "analyst", "guarantee"),
)


def publish(
    plan: Plan,
    key: Ed25519PrivateKey,
    analyst: X25519PublicKey,
    *,
    serial: int,
    starts: int,
    length: int,
    expires: int,
    grace: int = 0,
    dispose: int | None = None,
    minimum: int | None = None,
    name: str = "",
) -> dict[str, Any]:
    """The signed publication of a plan.

    plan : what is asked; its name, unless another is given, is that of the publication
    key, analyst : who signs, and to whom messages are sealed
    serial : greater than that of all earlier publications of this name
    starts, length, expires : seconds since 1970, seconds of a period, and when nothing is answered any more
    grace : seconds after a period in which its reports still come in
    dispose : seconds after a period, then one with too few contributors is discarded; a week unless stated
    minimum : the least number of contributors of a batch, not below that of the plan

    The guarantee is that of what clients run: delta is the plan's, and eps is computed at what the rounding of their
    laws leaves of it (docs/shuffler/laws.md), rounded up.
    """
    made = portable(plan)
    name = name or plan.name
    _named(name, "name", "name the plan")
    _refuse_large(made)
    least = plan.smallest_batch
    grace = _seconds("grace", grace)
    payload = {
        "format": "shuffledp publication",
        "version": VERSION,
        "serial": check.whole("serial", serial, low=0),
        "name": name,
        "plan": plan.to_dict(),
        "program": program_text(made),
        "minimum": check.whole("minimum", least if minimum is None else minimum, low=least, hint="it is the plan's"),
        "starts": _seconds("starts", starts),
        "length": _seconds("length", length, low=1),
        "grace": grace,
        "expires": _seconds("expires", expires, low=starts + 1, hint="it expires after it starts"),
        "dispose": _seconds("dispose", max(grace, 7 * 86400) if dispose is None else dispose, low=grace),
        "analyst": {"sealing": base64url(analyst.public_bytes_raw())},
        "guarantee": guarantee_of(plan, made),
    }
    return signed.sign(CONTEXT, payload, key)


def program_text(made: Mapping[str, Any]) -> str:
    """Return a program as publications hold it: as text, so that its digest is the same in every language."""
    return json.dumps(made, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _refuse_large(made: Mapping[str, Any]) -> None:
    size = made["slots"] * (made["message_bytes"] + sealing.OVERHEAD)
    if size > (room := sealing.MOST_BYTES - sealing.HEADER_BYTES - sealing.ID_BYTES):
        raise ParameterError(
            f"a sealed report must have at most {room:,} bytes, got {size:,} in {made['slots']:,} slots; use a "
            "mechanism of fewer or shorter messages."
        )


def guarantee_of(plan: Plan, made: Mapping[str, Any], *, users: int = 0) -> dict[str, Any]:
    """At the plan's delta, of which the distance of the laws takes some, at an eps that is not below the result."""
    from ..accounting.amplification import amplify

    m, rows, share = plan.query.randomizer, plan.reports_per_user, _SHARE_OF_MORE if users > plan.users else _SHARE
    epsilon = least = float(round_up(plan.epsilon))
    if not math.isfinite(epsilon):
        raise ParameterError("a plan must have a finite eps to be published, got inf; raise users or delta.")
    while True:
        spent = charge(plan, made, users=max(plan.users, users), epsilon=epsilon)
        if spent > share * plan.delta:
            raise ParameterError(
                f"the laws that clients run must cost at most {share:.0%} of delta, got {spent:.3g} of "
                f"{plan.delta:g}; raise delta or ask fewer users."
            )
        left = math.nextafter(plan.delta - spent, 0.0)
        found = amplify(m, n=plan.smallest_batch, delta=left, reports_per_user=rows)
        if (stated := max(float(round_up(found.epsilon)), least)) <= epsilon:
            return json_object({"epsilon": epsilon, "delta": plan.delta, "local_epsilon": found.local_epsilon})
        epsilon = stated


def _seconds(name: str, value: object, *, low: int = 0, hint: str = "it counts seconds") -> int:
    return check.whole(name, value, low=low, high=_LAST, hint=hint)


def withdraw(publication: Publication, key: Ed25519PrivateKey, *, reason: str = "") -> dict[str, Any]:
    """Return the signed withdrawal of a publication; only the key that published it can withdraw it."""
    if identity(key.public_key()) != publication.key:
        raise ParameterError(
            f"key must be the one that signed the publication, {publication.key}, got {identity(key.public_key())}; "
            "only its publisher can withdraw it."
        )
    what = {"publication": publication.digest, "name": publication.name, "reason": reason}
    return signed.sign(WITHDRAWAL, {"format": "shuffledp withdrawal", "version": VERSION, **what}, key)


@dataclass(frozen=True)
class Withdrawal:
    """The publication with this digest is void, if this key signed it."""

    publication: str
    key: str
    name: str
    reason: str = ""

    @classmethod
    def read(cls, envelope: object, trusted: Mapping[str, Ed25519PublicKey]) -> Self:
        """Read an envelope that a trusted key signed."""
        keys = ("format", "version", "publication", "name", "reason")
        given = _checked(WITHDRAWAL, signed.open_(WITHDRAWAL, envelope, trusted), keys)
        digest, reason = given["publication"], given["reason"]
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest) or not isinstance(reason, str):
            raise ParameterError(
                f"a withdrawal must name a publication by its digest, got {digest!r:.80}; withdraw it again."
            )
        return cls(digest, envelope["key"], given["name"], reason)  # type: ignore[index]

    def voids(self, publication: Publication) -> bool:
        """Return True if this withdraws the publication."""
        return (self.publication, self.key) == (publication.digest, publication.key)


@dataclass(frozen=True, kw_only=True)
class Publication:
    """A publication whose signature or digest was verified, and all that follows from its plan.

    Attributes
    ----------
    envelope, digest, key : the document, its digest, and the name of the key that signed it
    plan, program : the plan, and what its clients run, derived from it
    program_digest : SHA-256 of the program's text, which pages pin whose client cannot derive it
    analyst : the public key that messages are sealed to

    Examples
    --------
    >>> import shuffledp as sdp
    >>> from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    >>> from shuffledp.shuffler.keys import trusted
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> plan = sdp.Plan(query=fruit, users=10_000, delta=1e-6, name="fruit")
    >>> key, analyst = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
    >>> made = publish(plan, key, analyst.public_key(), serial=1, starts=0, length=3600, expires=86400)
    >>> found = Publication.read(made, trusted([key.public_key()]))
    >>> found.period_at(4000), found.window(1), found.sealed_bytes, found.plan.digest == plan.digest
    (1, (3600, 7200), 50, True)
    """

    envelope: Any
    digest: str
    key: str
    plan: Plan
    program: dict[str, Any]
    program_digest: str
    serial: int
    name: str
    minimum: int
    starts: int
    length: int
    grace: int
    expires: int
    dispose: int
    analyst: str
    guarantee: dict[str, Any]

    @classmethod
    def read(cls, envelope: object, trusted: Mapping[str, Ed25519PublicKey]) -> Self:
        """Read an envelope that a trusted key signed."""
        return cls._of(envelope, signed.open_(CONTEXT, envelope, trusted))

    @classmethod
    def with_digest(cls, envelope: object, digest: str) -> Self:
        """Read an envelope whose digest a trusted party signed, such as in a manifest; the publisher may be unknown."""
        if signed.digest(CONTEXT, envelope) != digest:
            raise ParameterError(f"publication must be that of the batch, {digest}, got another; ask for it again.")
        return cls._of(envelope, signed.payload_of(CONTEXT, envelope))

    @classmethod
    def _of(cls, envelope: Any, payload: dict[str, Any]) -> Self:
        given = _checked(CONTEXT, payload, _KEYS)
        stated = mapping(
            "guarantee of the publication", given["guarantee"], needed=("epsilon", "delta", "local_epsilon")
        )
        analyst = mapping("analyst of the publication", given["analyst"], needed=["sealing"])["sealing"]
        _x25519(analyst)
        try:
            plan = Plan.from_dict(given["plan"], verify=False)
            made = portable(plan)
        except ShuffleDPError:
            raise
        except _UNREADABLE as error:  # whatever it is, the files of other publishers must still be read
            raise ParameterError(
                f"the plan of the publication must be one that can be run, got {type(error).__name__} "
                f"({str(error)[:200]}); publish another."
            ) from None
        if program_text(made) != given["program"]:
            raise ParameterError("program of the publication must be that of its plan, got another; publish it again.")
        _refuse_large(made)
        _refuse_smaller(stated, _guarantee_of_file(json.dumps(given["plan"])), plan, made)
        least = dict.fromkeys(("serial", "starts", "grace", "dispose"), 0) | {"length": 1, "expires": 1}
        least["minimum"] = plan.smallest_batch  # for fewer, the plan's guarantee does not hold
        whole = {key: check.whole(f"{key} of the publication", given[key], low=low) for key, low in least.items()}
        return cls(
            envelope=envelope,
            digest=signed.digest(CONTEXT, envelope),
            key=envelope["key"],
            plan=plan,
            program=made,
            program_digest=sha256(given["program"].encode("utf-8")).hexdigest(),
            name=given["name"],
            analyst=analyst,
            guarantee=stated,
            **whole,
        )

    @property
    def slots(self) -> int:
        """Sealed messages of a report."""
        return int(self.program["slots"])

    @property
    def sealed_bytes(self) -> int:
        """Bytes of a sealed message."""
        return int(self.program["message_bytes"]) + sealing.OVERHEAD

    @property
    def sealing(self) -> X25519PublicKey:
        """To whom messages are sealed."""
        return _x25519(self.analyst)

    def window(self, period: int) -> tuple[int, int]:
        """When a period begins and ends."""
        first = self.starts + period * self.length
        return first, first + self.length

    def period_at(self, now: float) -> int:
        """The period of this time; refused before the publication starts and once it has expired."""
        if now < self.starts:
            self._refuse("have started, got one that has not; check the clock.")
        if now >= self.expires:
            self._refuse("not have expired, got one that has; fetch a new one.")
        return int(now - self.starts) // self.length

    def _refuse(self, must: str) -> NoReturn:
        raise ParameterError(f"publication {self.name!r:.60} must {must}")


@lru_cache(maxsize=1024)
def _guarantee_of_file(text: str) -> dict[str, Any]:
    """Return the guarantee of a publication of the plan in this file, after verifying the plan's own."""
    plan = Plan.from_dict(json.loads(text))
    return guarantee_of(plan, portable(plan))


def _refuse_smaller(stated: dict[str, Any], true: dict[str, Any], plan: Plan, made: Mapping[str, Any]) -> None:
    """Refuse a stated guarantee that is not proved here, or that has another delta or local eps.

    Another platform computes eps in other last digits, which rounding up may carry further: then delta decides.
    """
    said, local, right = stated["epsilon"], stated["local_epsilon"], true["local_epsilon"]
    floats = isinstance(local, float) and isinstance(right, float)  # else it is "inf"
    alike = math.isclose(local, right, rel_tol=_ROUNDING) if floats else local == right
    alike = alike and isinstance(said, float) and stated["delta"] == true["delta"]
    enough = alike and said >= true["epsilon"]  # NaN is not
    if alike and 0.0 <= said < true["epsilon"]:
        enough = plan._proves(said, spent=charge(plan, made, users=plan.users, epsilon=said))
    if not enough:
        raise ParameterError(
            f"the guarantee of the publication must be eps = {true['epsilon']} at delta = {true['delta']:g} and "
            f"eps0 = {true['local_epsilon']}, got {said!r:.40} at {stated['delta']!r:.40} and "
            f"{stated['local_epsilon']!r:.40}; publish it again."
        )


def _checked(context: str, given: dict[str, Any], needed: tuple[str, ...]) -> dict[str, Any]:
    """Refuse another format, version or set of keys."""
    kind, stated = context.split()[1], given.get("version")
    if given.get("format") != f"shuffledp {kind}" or isinstance(stated, bool) or stated != VERSION:
        raise ParameterError(f"version of the {kind} must be {VERSION}, got {stated!r:.40}; update shuffledp.")
    found = mapping(kind, given, needed=needed)
    _named(found["name"], f"name of the {kind}", "publish it again")
    return found


def _named(name: object, what: str, advice: str) -> None:
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > 200:
        raise ParameterError(f"{what} must be a line of readable text, got {name!r:.60}; {advice}.")


def _x25519(text: object) -> X25519PublicKey:
    try:
        return X25519PublicKey.from_public_bytes(unbase64url(text))
    except ValueError:
        raise ParameterError(
            f"sealing of the analyst must be an X25519 key, got {text!r:.60}; publish it again."
        ) from None
