"""Publications, withdrawals and keys: what is signed is read, and everything else is refused in one sentence."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import shuffledp as sdp
from shuffledp.errors import ParameterError
from shuffledp.protocol.portable import charge, portable
from shuffledp.shuffler import keys, signed
from shuffledp.shuffler.publication import (
    CONTEXT,
    WITHDRAWAL,
    Publication,
    Withdrawal,
    publish,
    withdraw,
)

PUBLISHER, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in (1, 2))
ANALYST = X25519PrivateKey.from_private_bytes(b"\3" * 32)
TRUSTED = keys.trusted([PUBLISHER.public_key()])
TIMES: dict[str, Any] = {"serial": 3, "starts": 1_000_000, "length": 3600, "expires": 2_000_000, "grace": 600}


@cache
def plan(mechanism: str = "grr:eps0=2", **more: Any) -> sdp.Plan:
    fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism=mechanism)
    return sdp.Plan(query=fruit, **{"users": 10_000, "delta": 1e-6, "name": "fruit", **more})


@cache
def made(**more: Any) -> dict[str, Any]:
    return publish(plan(), PUBLISHER, ANALYST.public_key(), **{**TIMES, **more})


def changed(change: Callable[[dict[str, Any]], object], envelope: dict[str, Any] | None = None) -> dict[str, Any]:
    """The publication with another payload, signed by its publisher."""
    payload = json.loads((envelope or made())["payload"])
    change(payload)
    return signed.sign(CONTEXT, payload, PUBLISHER)


def program(payload: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> None:
    """Change the program in a payload."""
    found = json.loads(payload["program"])
    change(found)
    payload["program"] = json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def refused(run: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        run()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# -- publications -----------------------------------------------------------------------------------------------------


def test_a_publication_is_read_as_it_was_made() -> None:
    found = Publication.read(made(), TRUSTED)
    assert (found.name, found.serial, found.minimum, found.grace) == ("fruit", 3, 10_000, 600)
    assert found.dispose == 7 * 86400
    assert found.plan.digest == plan().digest
    key = keys.identity(PUBLISHER.public_key())
    assert found.digest == hashlib.sha256(f"{CONTEXT}\n{key}\n{made()['payload']}".encode()).hexdigest()
    assert (found.key, found.name) == (key, "fruit")
    assert Publication.with_digest(made(), found.digest) == found
    text = json.loads(made()["payload"])["program"]
    assert found.program == json.loads(text) == json.loads(json.dumps(portable(plan())))
    assert found.program_digest == hashlib.sha256(text.encode()).hexdigest()
    assert (found.slots, found.sealed_bytes) == (1, 50)
    assert found.sealing.public_bytes_raw() == ANALYST.public_key().public_bytes_raw()
    assert found.window(2) == (1_007_200, 1_010_800)
    assert [found.period_at(t) for t in (1_000_000, 1_003_599.9, 1_003_600)] == [0, 0, 1]


def test_a_publication_survives_its_file(tmp_path: Path) -> None:
    signed.save(tmp_path / "fruit.json", made())
    assert Publication.read(signed.read(tmp_path / "fruit.json"), TRUSTED) == Publication.read(made(), TRUSTED)


@pytest.mark.parametrize("field", ["payload", "key", "signature"])
def test_every_byte_of_an_envelope_counts(field: str) -> None:
    envelope = made()
    for at in range(0, len(envelope[field]), 1 + len(envelope[field]) // 40):
        text = envelope[field]
        other = {**envelope, field: text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]}
        with pytest.raises(ParameterError):
            Publication.read(other, TRUSTED)


@pytest.mark.parametrize(
    ("envelope", "words"),
    [
        (lambda: {**made(), "payload": made()["payload"].replace("fruit", "fruits")}, "got one that does not fit"),
        (lambda: {**made(), "signature": "AAAA"}, "must have the signature of its text"),
        (lambda: {**made(), "signature": made()["signature"] + "="}, "must have the signature of its text"),
        (lambda: {**made(), "signature": "\u00e9"}, "must have the signature of its text"),
        (lambda: {**made(), "payload": "\ud800"}, "must be valid Unicode"),
        (
            lambda: signed.sign(CONTEXT, json.loads(made()["payload"]), STRANGER),
            "must be signed by a key that is trusted",
        ),
        (lambda: signed.sign(WITHDRAWAL, json.loads(made()["payload"]), PUBLISHER), "got one that does not fit"),
        (
            lambda: changed(lambda p: p.update(version=2)),
            "version of the publication must be 1, got 2; update shuffledp.",
        ),
        (lambda: changed(lambda p: p.update(version=True)), "version of the publication must be 1, got True"),
        (lambda: changed(lambda p: p.update(format="shuffledp manifest")), "version of the publication must be 1"),
        (lambda: changed(lambda p: p.update(more=1)), "unknown key in publication 'more'"),
        (lambda: changed(lambda p: p.pop("expires")), "got none named 'expires'"),
        *(
            (lambda change=change: changed(lambda p: program(p, change)), "program of the publication must be that")
            for change in (
                lambda made: made["law"].update(keep="f" * 32),
                lambda made: made.update(law={"kind": "same"}),
                lambda made: made["input"]["labels"].reverse(),
                lambda made: made["encoding"].update(bytes=2),
                lambda made: made.pop("law"),
                lambda made: made.update(slots=0),
            )
        ),
        (lambda: changed(lambda p: p.update(program=json.loads(p["program"]))), "program of the publication must be"),
        (lambda: changed(lambda p: p.update(program=p["program"] + " ")), "program of the publication must be"),
        (lambda: changed(lambda p: p["guarantee"].update(epsilon=0.01)), "the guarantee of the publication must be"),
        (lambda: changed(lambda p: p["plan"].update(minimum_batch=1)), "guarantee must be that of the plan"),
        (lambda: changed(lambda p: p["plan"].update(delta=1e-9)), "delta = 1e-06 where the plan has 1e-09"),
        (lambda: changed(lambda p: p.update(length=0)), "length of the publication must"),
        (lambda: changed(lambda p: p.update(serial=-1)), "serial of the publication must"),
        (lambda: changed(lambda p: p.update(minimum=1.5)), "minimum of the publication must"),
        (lambda: changed(lambda p: p.update(minimum=p["minimum"] - 1)), "minimum of the publication must"),
        (lambda: changed(lambda p: p.update(name=7)), "name of the publication must be a line of readable text"),
        (
            lambda: changed(lambda p: p.update(analyst={"sealing": "AA"})),
            "sealing of the analyst must be an X25519 key",
        ),
        (lambda: changed(lambda p: p.update(guarantee={})), "guarantee of the publication must have the keys"),
        (lambda: [made()], "a publication must be a signed document with payload, key, signature, got another"),
        (lambda: {"payload": 1, "key": "", "signature": ""}, "a publication must be a signed document"),
    ],
)
def test_what_is_not_a_publication_of_a_trusted_publisher_is_refused(
    envelope: Callable[[], object], words: str
) -> None:
    refused(lambda: Publication.read(envelope(), TRUSTED), words)


def _text(text: str) -> dict[str, Any]:
    key = keys.identity(PUBLISHER.public_key())
    raw = f"{CONTEXT}\n{key}\n{text}".encode()
    return {"payload": text, "key": key, "signature": keys.base64url(PUBLISHER.sign(raw))}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "a", "name": "b"}', "a key must be given once, got 'name' twice"),
        ("{", "the payload of a publication must be JSON"),
        ("[1]", "the payload of a publication must be a mapping, got list"),
        ("[" * 100 + "]" * 100, "must be nested at most 32 levels deep"),
        ('{"starts": 1e999}', "must hold numbers of moderate length and size"),
        ('{"starts": NaN}', "the payload of a publication must be JSON"),
    ],
)
def test_signed_texts_that_are_not_plain_json_are_refused(text: str, words: str) -> None:
    refused(lambda: Publication.read(_text(text), TRUSTED), words)


def test_documents_that_are_too_large_are_refused(tmp_path: Path) -> None:
    long = {"name": "x" * signed.MOST_BYTES}
    refused(lambda: signed.sign(CONTEXT, long, PUBLISHER), "a signed document must have at most 8,388,608 bytes")
    refused(
        lambda: Publication.read({**made(), "payload": "x" * (signed.MOST_BYTES + 1)}, TRUSTED),
        "a signed document must have at most 8,388,608 bytes",
    )
    (tmp_path / "large.json").write_bytes(b" " * (2 * signed.MOST_BYTES + 1))
    refused(lambda: signed.read(tmp_path / "large.json"), "16,777,216")


def test_an_unknown_context_is_refused() -> None:
    refused(lambda: signed.sign("shuffledp letter 1", {}, PUBLISHER), "context must be one of shuffledp publication 1")


# -- time, serials, withdrawal ----------------------------------------------------------------------------------------


def test_before_and_after_its_time_a_publication_is_refused() -> None:
    found = Publication.read(made(), TRUSTED)
    refused(lambda: found.period_at(999_999), "must have started, got one that has not; check the clock.")
    refused(lambda: found.period_at(2_000_000), "must not have expired, got one that has; fetch a new one.")
    assert found.period_at(1_999_999) == 277


def test_a_withdrawal_voids_one_publication_of_the_key_that_signed_both() -> None:
    found = Publication.read(made(), TRUSTED)
    envelope = withdraw(found, PUBLISHER, reason="wrong labels")
    told = Withdrawal.read(envelope, TRUSTED)
    assert (told.name, told.publication, told.reason) == ("fruit", found.digest, "wrong labels")
    other = Publication.read(made(serial=2), TRUSTED)
    assert [told.voids(one) for one in (found, other)] == [True, False]
    refused(lambda: withdraw(found, STRANGER), "only its publisher can withdraw it")
    both = keys.trusted([PUBLISHER.public_key(), STRANGER.public_key()])
    forged = signed.sign(WITHDRAWAL, json.loads(envelope["payload"]), STRANGER)
    assert not Withdrawal.read(forged, both).voids(found)
    refused(lambda: Withdrawal.read(forged, TRUSTED), "a withdrawal must be signed by a key that is trusted")
    refused(lambda: Withdrawal.read(made(), TRUSTED), "a withdrawal must have the signature of its text")
    refused(lambda: Publication.read(envelope, TRUSTED), "a publication must have the signature of its text")


def test_two_signers_of_one_text_make_two_publications() -> None:
    both = keys.trusted([PUBLISHER.public_key(), STRANGER.public_key()])
    other = Publication.read(signed.sign(CONTEXT, json.loads(made()["payload"]), STRANGER), both)
    assert other.digest != Publication.read(made(), TRUSTED).digest


# -- publishing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"expires": 1_000_000}, "expires must"),
        ({"starts": -1}, "starts must"),
        ({"length": 0}, "length must"),
        ({"grace": 0.5}, "grace must"),
        ({"dispose": 599}, "dispose must"),
        ({"serial": -1}, "serial must"),
        ({"minimum": 9_999}, "minimum must"),
        ({"name": "a\nb"}, "name must be a line of readable text"),
    ],
)
def test_bad_terms_are_refused(more: dict[str, Any], words: str) -> None:
    refused(lambda: made(**more), words)


def test_a_plan_needs_a_name() -> None:
    refused(lambda: publish(plan(name=""), PUBLISHER, ANALYST.public_key(), **TIMES), "name must be a line")


def test_reports_that_do_not_fit_a_request_are_refused() -> None:
    many = publish(plan("pure-dump:messages=15000"), PUBLISHER, ANALYST.public_key(), **TIMES)
    assert Publication.read(many, TRUSTED).slots == 15_001
    labels = [f"{i}" for i in range(400)]
    query = sdp.queries.Histogram(column="x", labels=labels, mechanism="cheu-zhilyaev:flip=0.1,messages=19000")
    big = sdp.Plan(query=query, users=1000, delta=1e-6, name="big")
    refused(lambda: publish(big, PUBLISHER, ANALYST.public_key(), **TIMES), "a sealed report must have at most 1,048,")


@pytest.mark.parametrize("mechanism", ["grr:eps0=2", "pure-dump:poisson=3", "poisson-histogram:poisson_per_index=0.3"])
def test_the_guarantee_is_that_of_what_clients_run(mechanism: str) -> None:
    """eps at what the distance of the laws leaves of delta, not below that of the plan."""
    asked = plan(mechanism)
    found = Publication.read(publish(asked, PUBLISHER, ANALYST.public_key(), **TIMES), TRUSTED)
    stated = found.guarantee
    spent = charge(asked, found.program, users=asked.users, epsilon=stated["epsilon"])
    assert spent <= 0.01 * asked.delta
    assert stated["delta"] == asked.delta
    at = float(sdp.profile(asked.query.randomizer, n=asked.users, epsilon=stated["epsilon"]))
    assert at + spent <= asked.delta
    assert asked.epsilon <= stated["epsilon"] <= asked.epsilon * 1.001 + 1e-5
    assert (stated["local_epsilon"] == "inf") == math.isinf(asked.guarantee.local_epsilon)


def test_an_eps_that_another_platform_computed_is_proved_by_its_delta() -> None:
    """Elsewhere eps and the local eps may differ in the last digits, and eps once more by its rounding up."""
    true = changed(lambda p: None)
    stated = json.loads(true["payload"])["guarantee"]
    other = {"epsilon": math.nextafter(stated["epsilon"], 0.0), "local_epsilon": math.nextafter(2.0, 3.0)}
    found = Publication.read(changed(lambda p: p["guarantee"].update(other)), TRUSTED)
    assert found.guarantee == stated | other
    for false in (
        *({"local_epsilon": 1.9999}, {"local_epsilon": "inf"}, {"delta": 2e-6}, {"epsilon": "0.2"}),
        *({"epsilon": -1.0}, {"epsilon": True}, {"epsilon": 0.5 * stated["epsilon"]}),
    ):
        refused(
            lambda false=false: Publication.read(changed(lambda p: p["guarantee"].update(false)), TRUSTED),
            "the guarantee of the publication must be eps",
        )


def test_a_false_law_or_guarantee_is_found_by_computing_it_again() -> None:
    less = changed(lambda p: p["guarantee"].update(epsilon=p["guarantee"]["epsilon"] * 0.999))
    refused(lambda: Publication.read(less, TRUSTED), "the guarantee of the publication must be eps = 0.10")
    for stated in ({"epsilon": "small"}, {"local_epsilon": 0.5}, {"delta": 1e-9}):
        false = changed(lambda p, stated=stated: p["guarantee"].update(stated))
        refused(
            lambda false=false: Publication.read(false, TRUSTED), "the guarantee of the publication must be eps = 0.10"
        )


def test_an_infinite_eps_is_not_published() -> None:
    none = plan("pure-dump:messages=0", users=2, delta=1e-9)
    refused(
        lambda: publish(none, PUBLISHER, ANALYST.public_key(), **TIMES), "a plan must have a finite eps to be published"
    )


# -- keys -------------------------------------------------------------------------------------------------------------


def test_keys_are_made_once_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "analyst"
    for name, read in (("signing", keys.signing), ("sealing", keys.sealing)):
        path = keys.generate(folder, name)
        assert path.stat().st_mode & 0o777 == 0o600
        word = {"signing": "ed25519", "sealing": "x25519"}[name]
        own = read(path).public_key()
        assert keys.public(folder / f"{name}.pub", word).public_bytes_raw() == own.public_bytes_raw()
        assert (folder / f"{name}.pub").read_text() == keys.line(own)
        refused(lambda name=name: keys.generate(folder, name), "key must be a new file")
    assert list(keys.trusted([folder / "signing.pub"])) == [
        keys.identity(keys.signing(folder / "signing.key").public_key())
    ]


def test_a_key_whose_public_half_was_not_written_is_finished(tmp_path: Path) -> None:
    path = keys.generate(tmp_path, "signing")
    before, line = path.read_bytes(), (tmp_path / "signing.pub").read_text()
    (tmp_path / "signing.pub").unlink()
    keys.generate(tmp_path, "signing")
    assert (path.read_bytes(), (tmp_path / "signing.pub").read_text()) == (before, line)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["signing.key", "signing.pub"]


def test_trusted_keys_of_a_folder_a_file_a_line_and_a_key_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "publisher.pub").write_text(keys.line(PUBLISHER.public_key()))
    ways = [tmp_path, tmp_path / "publisher.pub", [keys.line(PUBLISHER.public_key())], [PUBLISHER.public_key()]]
    assert [list(keys.trusted(way)) for way in ways] == [list(TRUSTED)] * 4
    assert keys.trusted([]) == {}


def test_bad_key_files_are_refused(tmp_path: Path) -> None:
    path = keys.generate(tmp_path, "signing")
    refused(lambda: keys.sealing(path), "key must be a private key for sealing, got another file")
    refused(lambda: keys.signing(tmp_path / "signing.pub"), "key must be readable by its owner alone")
    os.chmod(path, 0o644)
    refused(lambda: keys.signing(path), "key must be readable by its owner alone")
    refused(lambda: keys.signing(tmp_path / "none.key"), "none.key")
    refused(lambda: keys.public(tmp_path / "signing.pub", "x25519"), "a public key must be a line 'x25519 <base64url>'")
    (tmp_path / "bad.pub").write_text("ed25519 AAAA\n")
    refused(lambda: keys.trusted(tmp_path), "a public key must be a line 'ed25519 <base64url>'")
    refused(lambda: keys.generate(tmp_path, "other"), "name must be signing or sealing")
    (tmp_path / "file").write_text("")
    refused(lambda: keys.generate(tmp_path / "file", "signing"), "key must be a file that can be written")


@pytest.mark.parametrize("text", ["AB", "A", "AAAA=", "AA A", "\u00e9", None])
def test_base64url_has_one_spelling(text: Any) -> None:
    with pytest.raises(ValueError, match=r"."):  # "AB" has bits that no byte has
        keys.unbase64url(text)
