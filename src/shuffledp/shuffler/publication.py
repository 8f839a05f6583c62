"""Publications: a plan as clients get it, signed, with its law in whole numbers, its periods and who may open reports.

A publication starts, expires, and can be withdrawn; of one name the greatest serial counts.  Period k lasts from
``starts + k length`` up to ``starts + (k+1) length``, in seconds since 1970.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from .._support import validation as check
from .._support.json_ready import json_object
from .._support.numbers import round_up
from .._support.reading import mapping
from ..errors import ParameterError
from ..protocol.plan import Plan, content_digest
from ..protocol.portable import charge, portable
from . import sealing, signed
from .keys import base64url, unbase64url

CONTEXT, WITHDRAWAL = "shuffledp publication 1", "shuffledp withdrawal 1"
VERSION = 1
#: The share of delta that the rounding of laws and full slots may take, as planned and where more users came than that.
_SHARE, _SHARE_OF_MORE = 0.01, 0.5
#: Times are whole seconds up to this.
_LAST = 2**42
_KEYS = (
    *("format", "version", "serial", "name", "plan", "digest", "portable", "minimum", "starts", "length", "grace"),
    *("expires", "dispose", "analyst", "guarantee"),
)
_PORTABLE = ("columns", "input", "law", "encoding", "message_bytes", "slots", "reports_per_user")


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
    if not name or not name.isprintable() or len(name) > 200:
        raise ParameterError(f"name must be a line of readable text, got {name!r:.60}; name the plan.")
    _refuse_large(made)
    least = plan.smallest_batch
    grace = _seconds("grace", grace)
    payload = {
        "format": "shuffledp publication",
        "version": VERSION,
        "serial": check.whole("serial", serial, low=0),
        "name": name,
        "plan": plan.to_dict(),
        "digest": plan.digest,
        "portable": made,
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
    """The signed withdrawal of a publication, and of all of its name with this serial or a smaller one."""
    what = {"digest": publication.digest, "name": publication.name, "serial": publication.serial, "reason": reason}
    return signed.sign(WITHDRAWAL, {"format": "shuffledp withdrawal", "version": VERSION, **what}, key)


@dataclass(frozen=True)
class Withdrawal:
    """Publications of this name with this serial or a smaller one are void."""

    name: str
    serial: int
    reason: str = ""

    @classmethod
    def read(cls, envelope: object, trusted: Mapping[str, Ed25519PublicKey]) -> Self:
        """Of an envelope that a trusted key signed."""
        given = _payload(WITHDRAWAL, envelope, trusted, ("format", "version", "digest", "name", "serial", "reason"))
        return cls(given["name"], check.whole("serial of the withdrawal", given["serial"], low=0), str(given["reason"]))

    def voids(self, publication: Publication) -> bool:
        """Whether it withdraws this one."""
        return self.name == publication.name and publication.serial <= self.serial


@dataclass(frozen=True, kw_only=True)
class Publication:
    """A publication whose signature was verified; its fields are those of the document.

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
    >>> found.period_at(4000), found.window(1), found.sealed_bytes, found.digest == plan.digest
    (1, (3600, 7200), 50, True)
    """

    envelope: Any
    serial: int
    name: str
    digest: str
    portable: dict[str, Any]
    minimum: int
    starts: int
    length: int
    grace: int
    expires: int
    dispose: int
    analyst: str
    guarantee: dict[str, Any]
    plan_text: str

    @classmethod
    def read(cls, envelope: object, trusted: Mapping[str, Ed25519PublicKey]) -> Self:
        """Of an envelope that a trusted key signed; whether it holds at this time is another question."""
        given = _payload(CONTEXT, envelope, trusted, _KEYS)
        mapping("portable of the publication", given["portable"], needed=_PORTABLE)
        mapping("guarantee of the publication", given["guarantee"], needed=("epsilon", "delta", "local_epsilon"))
        analyst = mapping("analyst of the publication", given["analyst"], needed=["sealing"])["sealing"]
        plan = given["plan"] if isinstance(given["plan"], dict) else {}
        fewest = plan.get("minimum_batch") or plan.get("users")  # for fewer, its guarantee does not hold
        least = dict.fromkeys(("serial", "starts", "grace", "dispose"), 0) | {"length": 1, "expires": 1}
        least["minimum"] = fewest if type(fewest) is int else 1
        whole = {key: check.whole(f"{key} of the publication", given[key], low=low) for key, low in least.items()}
        for key in ("slots", "message_bytes", "reports_per_user"):
            check.whole(f"{key} of the publication", given["portable"][key], low=1)
        _refuse_large(given["portable"])
        if given["digest"] != content_digest(given["plan"]):
            raise ParameterError("digest of the publication must be that of its plan, got another; publish it again.")
        _x25519(analyst)
        plan_text = json.dumps(given["plan"], ensure_ascii=False)
        kept: dict[str, Any] = {key: given[key] for key in ("name", "digest", "portable", "guarantee")} | whole
        return cls(envelope=envelope, analyst=analyst, plan_text=plan_text, **kept)

    @property
    def slots(self) -> int:
        """Sealed messages of a report."""
        return int(self.portable["slots"])

    @property
    def sealed_bytes(self) -> int:
        """Bytes of a sealed message."""
        return int(self.portable["message_bytes"]) + sealing.OVERHEAD

    @property
    def sealing(self) -> X25519PublicKey:
        """To whom messages are sealed."""
        return _x25519(self.analyst)

    @cached_property
    def plan(self) -> Plan:
        """The plan, its guarantee not verified yet."""
        return Plan.from_dict(json.loads(self.plan_text), verify=False)

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

    def current(self, now: float, *, newest: int = 0, withdrawn: int = -1) -> int:
        """The period of this time, if a client may answer now.

        newest, withdrawn : the greatest serial of this name that was seen, and that was withdrawn
        """
        if self.serial <= withdrawn:
            self._refuse(f"not be withdrawn, got serial {self.serial}, which is; wait for a new one.")
        if self.serial < newest:
            self._refuse(f"be the newest, serial {newest}, got {self.serial}; fetch it.")
        return self.period_at(now)

    def _refuse(self, must: str) -> NoReturn:
        raise ParameterError(f"publication {self.name!r:.60} must {must}")

    def verify(self) -> None:
        """Compute law and guarantee again from the plan, and refuse others: for who publishes or collects."""
        plan = Plan.from_dict(json.loads(self.plan_text))
        made = portable(plan)
        if json.loads(json.dumps(made)) != self.portable:
            raise ParameterError(
                "portable of the publication must be the law of its plan, got another; publish it again."
            )
        true, stated = guarantee_of(plan, made), self.guarantee
        said = stated["epsilon"]
        if not isinstance(said, float) or said < true["epsilon"] or stated | {"epsilon": true["epsilon"]} != true:
            raise ParameterError(
                f"the guarantee of the publication must be eps = {true['epsilon']} at delta = {true['delta']:g} and "
                f"eps0 = {true['local_epsilon']}, got {said!r:.40} at {stated['delta']!r:.40} and "
                f"{stated['local_epsilon']!r:.40}; publish it again."
            )


def _payload(
    context: str, envelope: object, trusted: Mapping[str, Ed25519PublicKey], needed: tuple[str, ...]
) -> dict[str, Any]:
    """The fields of a signed document of this format and version."""
    given, kind = signed.open_(context, envelope, trusted), context.split()[1]
    stated = given.get("version")
    if given.get("format") != f"shuffledp {kind}" or isinstance(stated, bool) or stated != VERSION:
        raise ParameterError(f"version of the {kind} must be {VERSION}, got {stated!r:.40}; update shuffledp.")
    found = mapping(kind, given, needed=needed)
    if not isinstance(found["name"], str) or not found["name"]:
        raise ParameterError(f"name of the {kind} must be a text, got {found['name']!r:.40}; publish it again.")
    return found


def _x25519(text: object) -> X25519PublicKey:
    try:
        return X25519PublicKey.from_public_bytes(unbase64url(text))
    except ValueError:
        raise ParameterError(
            f"sealing of the analyst must be an X25519 key, got {text!r:.60}; publish it again."
        ) from None
