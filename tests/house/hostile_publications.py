"""Writes clients/vectors/publications: what publishers and shufflers may serve, and what a client makes of it.

python -m house.hostile_publications

Every file is one case: the publications and withdrawals that are served at a time, what was served before (``seen``),
the publishers that are trusted, and the verdict of both clients about the name "fruit".  They differ where only Python
can derive from the plan what a publication must say, and where a page pins a program, which only JavaScript needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import shuffledp as sdp
from house.hostile_programs import programs
from reference.places import ROOT
from shuffledp.protocol.portable import portable
from shuffledp.queries.base import Query
from shuffledp.shuffler import keys, signed
from shuffledp.shuffler.publication import CONTEXT, WITHDRAWAL, Publication, program_text, publish, withdraw

FOLDER = ROOT / "clients" / "vectors" / "publications"
PUBLISHER, SECOND, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in (1, 2, 4))
ANALYST = X25519PrivateKey.from_private_bytes(b"\3" * 32)
TRUSTED = [PUBLISHER.public_key(), SECOND.public_key()]
NOW = 1_010_000
TIMES: dict[str, Any] = {"serial": 3, "starts": 1_000_000, "length": 3600, "expires": 2_000_000, "grace": 600}
ACCEPTED, REFUSED = "accepted", "refused"
Q = sdp.queries

Envelope = dict[str, Any]
Change = Callable[[dict[str, Any]], object]


def _fruit(mechanism: str = "grr:eps0=2") -> Query:
    return Q.Histogram(column="fruit", labels=["apple", "pear"], mechanism=mechanism)


def _plan(query: Query | None = None, **more: Any) -> sdp.Plan:
    terms: dict[str, Any] = {"users": 10_000, "delta": 1e-6, "name": "fruit"}
    return sdp.Plan(query=query or _fruit(), **terms | more)


def _published(plan: sdp.Plan | None = None, key: Ed25519PrivateKey = PUBLISHER, **more: Any) -> Envelope:
    return publish(plan or _plan(), key, ANALYST.public_key(), **TIMES | more)


@cache
def _honest() -> str:
    return json.dumps(_published())


def honest() -> Envelope:
    """The publication that the hostile ones begin as."""
    return dict(json.loads(_honest()))


def changed(change: Change, key: Ed25519PrivateKey = PUBLISHER) -> Envelope:
    """The honest publication with another payload, signed by its publisher."""
    payload = json.loads(honest()["payload"])
    change(payload)
    return signed.sign(CONTEXT, payload, key)


def with_text(change: Callable[[str], str]) -> Envelope:
    """The same with a payload that no writer of JSON would write."""
    text = change(honest()["payload"])
    if text == honest()["payload"]:
        raise ValueError("nothing has changed")
    key = keys.identity(PUBLISHER.public_key())
    return {"payload": text, "key": key, "signature": _signature(f"{CONTEXT}\n{key}\n{text}")}


def _signature(text: str) -> str:
    return keys.base64url(PUBLISHER.sign(text.encode("utf-8")))


def _replaced(old: str, new: str) -> Envelope:
    return with_text(lambda text: text.replace(old, new, 1))


def _field(**more: Any) -> Envelope:
    return changed(lambda payload: payload.update(more))


def _inside(name: str, **more: Any) -> Envelope:
    return changed(lambda payload: payload[name].update(more))


def _program(change: Change, then: Change = lambda payload: None) -> Envelope:
    def rewrite(payload: dict[str, Any]) -> None:
        program = json.loads(payload["program"])
        change(program)
        payload["program"] = program_text(program)
        then(payload)

    return changed(rewrite)


def _program_of(query: Query) -> Envelope:
    """The honest publication with the program of another plan."""
    return _field(program=program_text(portable(_plan(query))))


def _keep(more: int) -> Envelope:
    return _program(lambda program: program["law"].update(keep=f"{int(program['law']['keep'], 16) + more:032x}"))


def _weaker(change: Change) -> Envelope:
    """A law of eps0 = 4 that the guarantee of the publication states."""
    stronger = portable(_plan(_fruit("grr:eps0=4")))["law"]

    def state(payload: dict[str, Any]) -> None:
        payload["guarantee"]["local_epsilon"] = 4.0
        change(payload)

    return _program(lambda program: program.update(law=stronger), state)


def case(
    reason: str,
    served: Envelope | Sequence[Envelope],
    verdict: str = REFUSED,
    javascript: str = "",
    *,
    withdrawals: Sequence[Envelope] = (),
    seen: Sequence[dict[str, Any]] = (),
    pin: str = "",
    now: int = NOW,
) -> dict[str, Any]:
    """A case: the verdict is of both clients, unless that of JavaScript is another."""
    publications = [served] if isinstance(served, dict) else list(served)
    return {
        "reason": reason,
        "trusted": [keys.line(key).strip() for key in TRUSTED],
        "settings": {"programDigest": pin} if pin else {},
        "seen": list(seen),
        **_served(publications, withdrawals, now),
        "python": verdict,
        "javascript": javascript or verdict,
    }


def _served(publications: Sequence[Envelope], withdrawals: Sequence[Envelope] = (), now: int = NOW) -> dict[str, Any]:
    return {"now": now, "publications": list(publications), "withdrawals": list(withdrawals)}


def _read(envelope: Envelope) -> Publication:
    return Publication.read(envelope, keys.trusted(TRUSTED))


def _pin(envelope: Envelope) -> str:
    return _read(envelope).program_digest


# -- the cases --------------------------------------------------------------------------------------------------------


def _honest_cases() -> dict[str, Any]:
    columns = ("a", "b", "c")
    asked: dict[str, tuple[Query, dict[str, Any]]] = {
        "bits": (_fruit("unary:eps0=2"), {}),
        "subset": (Q.Histogram(column="x", labels=list("abcdefghi"), mechanism="subset:eps0=1,k=3"), {}),
        "hadamard": (_fruit("hadamard:eps0=3"), {}),
        "hash": (_fruit("local-hash:eps0=2"), {}),
        "window": (Q.Mean(column="x", low=0, high=60, mechanism="levels:eps0=3"), {}),
        "table": (Q.Mean(column="x", low=0, high=60, mechanism="gaussian:sigma=1,low=-1,high=1"), {}),
        "one-of": (Q.Mean(column="x", low=0, high=60, mechanism="hybrid:eps0=1"), {}),
        "coordinate": (Q.Mean(column=columns, low=0, high=60, mechanism="harmony:eps0=3"), {}),
        "half-space": (Q.Mean(column=columns, low=0, high=60, mechanism="duchi:eps0=4"), {}),
        "wheel": (Q.SetFrequency(column="x", labels=list("abcd"), size=2, mechanism="wheel:eps0=3"), {}),
        "pick": (Q.SetFrequency(column="x", labels=list("abcd"), size=2, mechanism="sampling-rappor:eps0=3"), {}),
        "pairs": (Q.KeyValue(column="x", keys=["a", "b"], size=2, low=0, high=9, mechanism="pckv-grr:eps0=5"), {}),
        "two-reports": (_fruit("grr:eps0=1"), {"reports_per_user": 2}),
        "smaller-batches": (_fruit(), {"minimum_batch": 2_000}),
    }
    made = {
        f"honest-{name}": case(f"an honest publication: {name}", _published(_plan(query, **more)), ACCEPTED)
        for name, (query, more) in asked.items()
    }
    pin = _pin(honest())
    return made | {
        "honest": case("an honest publication", honest(), ACCEPTED),
        "honest-pinned": case("an honest publication whose program is pinned", honest(), ACCEPTED, pin=pin),
        "honest-wrong-pin": case("the page pins another program", honest(), ACCEPTED, REFUSED, pin="ab" * 32),
        "honest-larger-eps": case("more eps than needed is stated", _inside("guarantee", epsilon=0.5), ACCEPTED),
        "honest-larger-minimum": case("a larger minimum than the plan's", _published(minimum=20_000), ACCEPTED),
        "honest-whole-number": case("a whole number with a point", _field(starts=1_000_000.0), ACCEPTED),
        "honest-two": case("the greatest serial counts", [honest(), _published(serial=4)], ACCEPTED),
    }


def _law_cases() -> dict[str, Any]:
    several, same = (
        _published(_plan(_fruit("pure-dump:messages=2"))),
        _field(program=program_text({**portable(_plan()), "law": {"kind": "same"}})),
    )
    pin, reordered = _pin(honest()), _program(lambda program: program["input"]["labels"].reverse())
    return {
        "law-same": case("the law is replaced by the value itself", same),
        "law-same-pinned": case("the same where the honest program is pinned", same, pin=pin),
        "law-keep-raised": case("the truth is kept more often", _keep(1 << 120)),
        "law-keep-unit": case("a threshold is a unit of 2^-128 larger", _keep(1), REFUSED, ACCEPTED),
        "law-keep-unit-pinned": case("the same where the honest program is pinned", _keep(1), pin=pin),
        "law-labels": case(
            "labels in another order tell nothing more, but count wrongly", reordered, REFUSED, ACCEPTED
        ),
        "law-labels-pinned": case("the same where the honest program is pinned", reordered, pin=pin),
        "law-of-another-plan": case(
            "the program of another plan of as much eps", _program_of(_fruit("unary:eps0=2")), REFUSED, ACCEPTED
        ),
        "law-larger-eps0": case("a law of more eps0, which is stated", _weaker(lambda payload: None)),
        "law-larger-eps0-in-the-plan": case(
            "the same, stated by the plan as well, whose mechanism only Python reads",
            _weaker(lambda payload: payload["plan"]["guarantee"].update(local_epsilon=4.0)),
            REFUSED,
            ACCEPTED,
        ),
        "law-more-labels": case(
            "more values than outputs", _program(lambda p: p["input"]["labels"].extend(["plum", "fig"]))
        ),
        "law-unknown": case("a law of another version", _program(lambda p: p["law"].update(kind="magic"))),
        "law-inherited": case("a law that every object has", _program(lambda p: p["law"].update(kind="toString"))),
        "law-threshold": case("a threshold above 1", _program(lambda p: p["law"].update(keep="2" + 32 * "0"))),
        "law-more-reports": case(
            "more reports than the plan says", _program(lambda p: p.update(reports_per_user=2, slots=2))
        ),
        "law-slots": case("more slots than messages", _program(lambda p: p.update(slots=2))),
        "law-message-bytes": case("another size of messages", _program(lambda p: p.update(message_bytes=2))),
        "law-more-fields": case("an unknown field of the program", _program(lambda p: p.update(more=1))),
        "law-as-data": case("a program that is no text", changed(lambda p: p.update(program=json.loads(p["program"])))),
        "law-duplicate": case(
            "a key twice in the program", _replaced('\\"keep\\",', '\\"keep\\",\\"kind\\":\\"keep\\",')
        ),
        "messages-unpinned": case("several messages, not pinned", several, ACCEPTED, REFUSED),
        "messages-pinned": case("several messages, pinned", several, ACCEPTED, pin=_pin(several)),
        "messages-wrong-pin": case("several messages, another pinned", several, ACCEPTED, REFUSED, pin=pin),
    }


def _program_cases() -> dict[str, Any]:
    def publication(program: dict[str, Any]) -> Envelope:
        return _program(lambda honest: honest.update(program))

    return {
        f"program-{name}": case(f"{reason}: {name}", publication(program))
        for name, (reason, program) in programs().items()
    }


def _terms_cases() -> dict[str, Any]:
    fields: dict[str, Envelope] = {
        "minimum-1": _field(minimum=1),
        "minimum-below": _field(minimum=9_999),
        "minimum-text": _field(minimum="10000"),
        "plan-minimum-1": changed(lambda p: p.update(plan={"minimum": 1}, minimum=1)),
        "plan-without-users": changed(lambda p: [p.update(minimum=1), p["plan"].pop("users")]),
        "plan-more-fields": _inside("plan", more=1),
        "plan-delta": _inside("plan", delta=1e-3),
        "plan-users-true": _inside("plan", users=True, minimum_batch=None),
        "plan-text": _field(plan="fruit"),
        "digest-of-another-plan": _field(digest="ab" * 32),
        "guarantee-lowered": _inside("guarantee", epsilon=0.01),
        "guarantee-local-lowered": _inside("guarantee", local_epsilon=0.5),
        "guarantee-local-raised": _inside("guarantee", local_epsilon=3.0),
        "guarantee-local-inf": _inside("guarantee", local_epsilon="inf"),
        "guarantee-delta": _inside("guarantee", delta=1e-9),
        "guarantee-true": _inside("guarantee", epsilon=True),
        "guarantee-null": _inside("guarantee", epsilon=None),
        "guarantee-negative": _inside("guarantee", epsilon=-1.0),
        "guarantee-more-fields": _inside("guarantee", more=1),
        "guarantee-empty": _field(guarantee={}),
        "analyst-short": _field(analyst={"sealing": "AAAA"}),
        "analyst-not-canonical": _field(analyst={"sealing": "A" * 42 + "B"}),
        "analyst-more-fields": _inside("analyst", more=1),
        "field-more": _field(more=1),
        "field-missing": changed(lambda p: p.pop("dispose")),
        "field-constructor": _field(constructor={"prototype": {"minimum": 1}}),
        "format-other": _field(format="shuffledp manifest"),
        "version-2": _field(version=2),
        "version-text": _field(version="1"),
        "version-true": _field(version=True),
        "serial-true": _field(serial=True),
        "serial-negative": _field(serial=-1),
        "serial-fraction": _field(serial=3.5),
        "length-zero": _field(length=0),
        "length-true": _field(length=True),
        "grace-text": _field(grace="600"),
        "starts-null": _field(starts=None),
        "name-number": _field(name=7),
        "name-empty": _field(name=""),
    }
    made = {name: case(f"a field is not as it must be: {name}", envelope) for name, envelope in fields.items()}
    guarantee = {"epsilon": 0.01}
    lowered = changed(lambda p: [p["guarantee"].update(guarantee), p["plan"]["guarantee"].update(guarantee)])
    edited = changed(lambda p: [p["plan"].update(minimum_batch=1), p.update(minimum=1)])
    return made | {
        "guarantee-lowered-in-the-plan": case(
            "the plan's eps is lowered, too; only Python computes it", lowered, REFUSED, ACCEPTED
        ),
        "plan-edited": case(
            "a plan edited to smaller batches; only Python computes its eps", edited, REFUSED, ACCEPTED
        ),
    }


def _text_cases() -> dict[str, Any]:
    texts: dict[str, Envelope] = {
        "duplicate-name": _replaced('"name":"fruit"', '"name":"fruit","name":"fruit"'),
        "duplicate-minimum": with_text(lambda text: text[:-1] + ',"minimum":1}'),
        "duplicate-escaped": with_text(lambda text: text[:-1] + ',"\\u006dinimum":1}'),
        "duplicate-in-the-plan": _replaced('"users":10000', '"users":10000,"users":10000'),
        "duplicate-in-the-guarantee": _replaced('"guarantee":{"epsilon"', '"guarantee":{"epsilon":0.01,"epsilon"'),
        "proto": with_text(lambda text: text[:-1] + ',"__proto__":{"minimum":1}}'),
        "proto-escaped": with_text(lambda text: text[:-1] + ',"__proto\\u005f_":{"minimum":1}}'),
        "proto-for-a-field": _replaced('"minimum":10000', '"__proto__":{"minimum":1}'),
        "proto-in-the-plan": _replaced('"users":10000', '"__proto__":{"users":1}'),
        "proto-in-the-guarantee": _replaced('"guarantee":{', '"guarantee":{"__proto__":{},'),
        "nan": _replaced('"starts":1000000', '"starts":NaN'),
        "infinity": _replaced('"expires":2000000', '"expires":Infinity'),
        "1e999": _replaced('"expires":2000000', '"expires":1e999'),
        "1e0006": _replaced('"starts":1000000', '"starts":1e0006'),
        "many-digits": _replaced('"starts":1000000', f'"starts":1000000.{"0" * 100}'),
        "leading-zero": _replaced('"starts":1000000', '"starts":01000000'),
        "plus": _replaced('"starts":1000000', '"starts":+1000000'),
        "hexadecimal": _replaced('"starts":1000000', '"starts":0xF4240'),
        "comment": _replaced('"starts":1000000', '"starts":/**/1000000'),
        "single-quotes": _replaced('"format"', "'format'"),
        "trailing-comma": with_text(lambda text: text[:-1] + ",}"),
        "two-values": with_text(lambda text: text + "{}"),
        "byte-order-mark": with_text(lambda text: "\ufeff" + text),
        "no-break-space": with_text(lambda text: "\u00a0" + text),
        "line-feed-in-a-text": _replaced('"name":"fruit"', '"name":"fruit\n"'),
        "half-a-surrogate": _replaced('"user_column":""', '"user_column":"\\ud800"'),
        "too-deep": _replaced('"plan":', f'"more":{"[" * 32}{"]" * 32},"plan":'),
        "list": with_text(lambda text: f"[{text}]"),
        "null": with_text(lambda text: "null"),
        "nothing": with_text(lambda text: ""),
    }
    return {f"text-{name}": case(f"not JSON as it must be: {name}", envelope) for name, envelope in texts.items()}


def _envelope_cases() -> dict[str, Any]:
    made, payload = honest(), honest()["payload"]
    own, second, stranger = (keys.identity(key.public_key()) for key in (PUBLISHER, SECOND, STRANGER))
    signature = made["signature"]
    stray = signature[:-1] + chr(ord(signature[-1]) + 1)  # 86 letters hold 516 bits: the last four say nothing
    envelopes: dict[str, Any] = {
        "context": signed.sign(WITHDRAWAL, json.loads(payload), PUBLISHER),
        "context-without-key": {**made, "signature": _signature(f"{CONTEXT}\n{payload}")},
        "key-of-a-stranger": signed.sign(CONTEXT, json.loads(payload), STRANGER),
        "key-named-trusted": {**signed.sign(CONTEXT, json.loads(payload), STRANGER), "key": own},
        "key-named-second": {**made, "key": second},
        "key-named-stranger": {**made, "key": stranger},
        "key-upper-case": {**made, "key": own.upper()},
        "key-inherited": {**made, "key": "constructor"},
        "signature-padded": {**made, "signature": signature + "=="},
        "signature-stray-bits": {**made, "signature": stray},
        "signature-blank": {**made, "signature": signature + "\n"},
        "signature-short": {**made, "signature": signature[:-2]},
        "signature-missing": {"payload": payload, "key": own},
        "signature-of-another": {**made, "signature": _published(serial=4)["signature"]},
        "payload-changed": {**made, "payload": payload.replace('"serial":3', '"serial":4')},
        "payload-with-a-blank": {**made, "payload": payload + " "},
        "payload-as-data": {**made, "payload": json.loads(payload)},
        "payload-half-a-surrogate": {  # what encoders that replace it would sign
            **{**made, "payload": payload.replace("fruit", "\ud800", 1)},
            "signature": _signature(f"{CONTEXT}\n{own}\n" + payload.replace("fruit", "\ufffd", 1)),
        },
    }
    return {f"envelope-{name}": case(f"not signed as it must be: {name}", one) for name, one in envelopes.items()}


def _state_cases() -> dict[str, Any]:
    made = honest()
    found, newer, same = _read(made), _published(serial=4), _published(grace=601)
    void, of_newer = withdraw(found, PUBLISHER), withdraw(_read(newer), PUBLISHER)
    payload = json.loads(void["payload"])
    by_second = signed.sign(WITHDRAWAL, payload, SECOND)
    other = _published(key=SECOND, serial=9)
    before = [_served([made])]
    return {
        "expired": case("the publication has expired", made, now=2_000_000),
        "last-second": case("it has not expired yet", made, ACCEPTED, now=1_999_999),
        "not-started": case("the publication has not started", made, now=999_999),
        "withdrawn": case("withdrawn by its publisher", made, withdrawals=[void]),
        "withdrawn-before": case("withdrawn before, which is hidden now", made, seen=[_served([], [void])]),
        "withdrawn-after-use": case("withdrawn after it was answered", made, seen=before, withdrawals=[void]),
        "withdrawn-next": case("another publication of the name", newer, ACCEPTED, seen=[_served([made], [void])]),
        "withdrawn-by-another": case("withdrawn by another trusted key", made, ACCEPTED, withdrawals=[by_second]),
        "withdrawn-another": case("another publication is withdrawn", made, ACCEPTED, withdrawals=[of_newer]),
        "withdrawn-forged": case(
            "a withdrawal that is not signed", made, ACCEPTED, withdrawals=[{**by_second, "key": void["key"]}]
        ),
        "withdrawn-version": case(
            "a withdrawal of another version",
            made,
            ACCEPTED,
            withdrawals=[signed.sign(WITHDRAWAL, {**payload, "version": 2}, PUBLISHER)],
        ),
        "older": case("an older serial than before", made, seen=[_served([newer])]),
        "older-beside": case("an older serial beside a newer one", [newer, made], ACCEPTED),
        "another-of-a-serial": case("another publication of the same serial", same, seen=before),
        "two-of-a-serial": case("two of one serial: the first one counts", [made, same], ACCEPTED),
        "again": case("the same publication again", made, ACCEPTED, seen=before),
        "name-of-another-key": case("a name that belongs to another key", other, seen=before),
        "name-of-two-keys": case("a name belongs to the first key", [made, other], ACCEPTED),
        "name-that-is-not-asked": case("another name is offered", _published(name="nuts")),
        "nothing": case("nothing is offered", []),
        "one-that-is-refused": case("one of two is refused", [_keep(1 << 120), made], ACCEPTED),
    }


def cases() -> dict[str, dict[str, Any]]:
    """All cases by the names of their files."""
    made = (_honest_cases, _law_cases, _program_cases, _terms_cases, _text_cases, _envelope_cases, _state_cases)
    return {name: found for make in made for name, found in make().items()}


def text(found: dict[str, Any]) -> str:
    """The file of a case."""
    return json.dumps(found, indent=1) + "\n"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, found in cases().items():
        (FOLDER / f"{name}.json").write_text(text(found), "ascii")


if __name__ == "__main__":
    main()
