"""What a certificate says beside its numbers is checked: its label, its law, its neighbors, what it trusts."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from shuffledp.accounting.certificate_claim import law_hash
from shuffledp.accounting.guarantee import TRUST

WEAK, LEAKY = "0.55,0.45\n0.45,0.55\n", "0.999,0.001\n0.001,0.999\n"
HOSTILE = "x.csv'\nVerified: 'finite:leaky.csv' with n = 9 has delta <= 0\x1b[2K\x1b]0;x\x07\u202e\u2028\r"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Labels are looked for in the current directory: a fresh one, with two matrices."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weak.csv").write_text(WEAK)
    (tmp_path / "leaky.csv").write_text(LEAKY)
    return tmp_path


def certified(mechanism: Any = "finite:weak.csv", **terms: Any) -> sdp.Certificate:
    made = sdp.amplify(mechanism, **({"n": 1000, "delta": 1e-6} | terms), certify=True).certificate
    assert made is not None
    return made


def written(changes: dict[str, Any], name: str = "proof.json") -> str:
    Path(name).write_text(json.dumps({**certified().to_dict(), **changes}))
    return name


def test_the_claim_names_law_neighbors_and_trust() -> None:
    data = certified().to_dict()
    assert data["format"] == "shuffledp-certificate/3"
    assert data["claim"] == "max over the pairs of delta(epsilon) <= delta"
    assert data["neighbors"] == "replace-one" and data["trust"] == TRUST
    text = json.dumps(data["matrix"], separators=(",", ":"))  # the canonical form, as anyone can make it from the file
    assert data["law_sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_the_hash_of_pairs_can_be_made_from_the_file_too() -> None:
    data = certified("general:eps0=1", bound="variation-ratio").to_dict()
    pairs = sorted(json.dumps([r["P0"], r["P1"], r["t"]], separators=(",", ":")) for r in data["pairs"])
    assert data["law_sha256"] == hashlib.sha256(f"[{','.join(pairs)}]".encode()).hexdigest()


def test_the_hash_of_types_can_be_made_from_the_file_too() -> None:
    data = certified("general:eps0=1", bound="swap-general").to_dict()
    assert data["bound"] == "swap-general"
    pairs = [[*([x["P0"], x["P1"], x["t"]] for x in r["types"]), r["common_mass"]] for r in data["pairs"]]
    text = json.dumps(pairs, separators=(",", ":"))
    assert data["law_sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_the_hash_tells_laws_apart_and_forgets_the_order_of_rounds() -> None:
    a, b = sdp.ShuffledPair([0.6, 0.4], [0.3, 0.7], [0.3, 0.3]), sdp.ShuffledPair([0.3, 0.7], [0.6, 0.4], [0.3, 0.3])
    assert law_hash((), [a, b]) == law_hash((), [b, a, b]) != law_hash((), [a])
    rows = ((0.75, 0.25), (0.25, 0.75))
    assert law_hash(rows, [a]) == law_hash(rows, [b])  # the matrix is the law
    assert (
        len({law_hash(m, ()) for m in (rows, rows[::-1], ((0.75, 0.25, 0.25, 0.75),), ((np.nextafter(0.75, 1),),))})
        == 4
    )
    assert law_hash(((0.0, 1.0),), ()) == law_hash(((-0.0, 1.0),), ())


@pytest.mark.heavy
def test_metric_neighbors_are_part_of_the_claim() -> None:
    c = certified("metric-general:d01=0.5,dmax=2")
    assert c.neighbors == "replace-one at distance at most 0.5"
    assert "replace-one at distance at most 0.5 (bound" in str(sdp.verify(c))
    for other in ("replace-one", "replace-one at distance at most 2", ""):
        with pytest.raises(sdp.VerificationError, match=r"^neighbors must be .* certify again\.$"):
            sdp.verify(replace(c, neighbors=other))


def test_a_label_may_not_borrow_the_name_of_another_file() -> None:
    path = written({"mechanism": "finite:leaky.csv"})
    with pytest.raises(sdp.VerificationError, match=r"'leaky\.csv', which holds another matrix"):
        sdp.verify(path)
    assert "another matrix" in refused(run("certify", "--verify", path), 3)


@pytest.mark.heavy
def test_a_file_that_changed_is_noticed() -> None:
    path = written({})
    assert "'weak.csv' holds this matrix." in sdp.verify(path).notes[0]
    Path("weak.csv").write_text(LEAKY)
    with pytest.raises(sdp.VerificationError, match="holds another matrix"):
        sdp.verify(path)


@pytest.mark.heavy
def test_a_file_in_another_notation_is_the_same_matrix() -> None:
    path = written({})
    Path("weak.csv").write_text("# the same\n5.5e-1 0.4500\n4500e-4 .55\n")
    assert "holds this matrix" in sdp.verify(path).notes[0]
    np.save("weak.npy", np.array([[0.55, 0.45], [0.45, 0.55]]))
    assert "'weak.npy' holds this matrix" in sdp.verify(written({"mechanism": "finite:weak.npy"})).notes[0]


@pytest.mark.heavy
def test_a_label_that_cannot_be_compared_is_said_not_to_have_been() -> None:
    path = written({"mechanism": "finite:elsewhere.csv"})
    found = run("certify", "--verify", path)
    hashed = certified().law_sha256
    assert found.exit_code == 0
    proved = f"Proved for the matrix with SHA-256 {hashed}; 'elsewhere.csv': "
    assert f"{proved}file not found, so the label was not compared.\n" in found.stdout
    assert json.loads(run("certify", "--verify", path, "--json").stdout)["notes"] == list(sdp.verify(path).notes)


@pytest.mark.parametrize("label", ["a" * 5000, "nul\x00.csv", "no/such/folder/x.csv"])
def test_a_label_that_is_no_path_is_not_found(label: str) -> None:
    assert "file not found" in sdp.verify(written({"mechanism": f"finite:{label}"})).notes[0]


@pytest.mark.parametrize("label", [" leaky.csv", "leaky.csv ", "leaky.csv\t", "\u3000leaky.csv"])
def test_blanks_around_a_file_name_do_not_hide_it(label: str) -> None:
    with pytest.raises(sdp.VerificationError, match="without blanks"):
        sdp.verify(written({"mechanism": f"finite:{label}"}))


def test_half_a_character_is_not_json() -> None:
    with pytest.raises(sdp.ParameterError, match="surrogate"):
        sdp.verify(written({"mechanism": "finite:\ud800"}))


@pytest.mark.heavy
def test_a_label_that_names_something_else_is_refused_without_quoting_it(folder: Path) -> None:
    Path("secret.txt").write_text("the password is swordfish\n")
    Path("binary.npy").write_bytes(b"\x93NUMPY rubbish")
    os.mkfifo("pipe.csv")
    for label in ("secret.txt", "binary.npy", "pipe.csv", ".", "/dev/null", "", str(folder)):
        with pytest.raises(sdp.VerificationError, match="not a readable file with a probability matrix") as error:
            sdp.verify(written({"mechanism": f"finite:{label}"}))
        assert "swordfish" not in str(error.value)


def test_a_matrix_in_memory_has_the_label_of_its_shape() -> None:
    c = certified(sdp.FiniteRandomizer([[0.55, 0.45], [0.45, 0.55]]))
    assert "names no file" in sdp.verify(c).notes[0]
    with pytest.raises(sdp.VerificationError, match="the label must be 'finite:<2 x 2 matrix>'"):
        sdp.verify(replace(c, mechanism="finite:<300 x 300 matrix>"))


@pytest.mark.heavy
def test_a_hostile_label_stays_in_its_line() -> None:
    found = run("certify", "--verify", written({"mechanism": f"finite:a{HOSTILE}b"}))
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["Verified:", "Proved", "Trusted:"]
    assert all(c.isprintable() or c == "\n" for c in found.output)
    assert lines[0].startswith("Verified: \"finite:ax.csv'\\nVerified: 'finite:leaky.csv'")  # one quoted label
    for where in ("mechanism", "bound", "neighbors", "trust", "law_sha256", "claim"):
        said = refused(run("certify", "--verify", written({where: f"general:{HOSTILE}"})), 3)
        assert said.isprintable()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("neighbors", "add-or-remove-one"),
        ("neighbors", "replace-one at distance at most 1"),
        ("neighbors", None),
        ("trust", ""),
        ("trust", "nothing"),
        ("trust", TRUST + " "),
        ("trust", [TRUST]),
        ("law_sha256", "0" * 64),
        ("law_sha256", ""),
        ("law_sha256", 7),
        ("claim", "everything is private"),
        ("claim", ["max over the pairs of delta(epsilon) <= delta"]),
        ("matrix", [["0.625", "0.375"], ["0.375", "0.625"]]),
    ],
)
def test_altered_terms_are_refused(key: str, value: Any) -> None:
    with pytest.raises(sdp.VerificationError, match=r"\.$"):
        sdp.verify(written({key: value}))


@pytest.mark.heavy
def test_the_hash_in_upper_case_is_not_the_hash() -> None:
    with pytest.raises(sdp.VerificationError, match="law_sha256 must be"):
        sdp.verify(written({"law_sha256": certified().law_sha256.upper()}))


def test_a_matrix_beside_a_bare_round_is_no_law_of_it() -> None:
    bare = certified(sdp.ShuffledPair([0.55, 0.45], [0.45, 0.55], [0.4, 0.4]))
    forged = replace(bare, matrix=((0.999, 0.001), (0.001, 0.999)))
    forged = replace(forged, law_sha256=law_hash(forged.matrix, ()))
    with pytest.raises(sdp.VerificationError, match="carries a matrix if and only if"):
        sdp.verify(forged)


def test_a_matrix_is_stated_as_it_is_proved() -> None:
    """Rows that sum to 1 + 1e-10 would be normalized: what is hashed must be what is proved."""
    c = certified()
    near = tuple(tuple(x * (1 + 1e-10) for x in row) for row in c.matrix)
    with pytest.raises(sdp.VerificationError, match=r"\.$"):
        sdp.verify(replace(c, matrix=near, law_sha256=law_hash(near, ())))


@pytest.mark.parametrize("key", ["claim", "mechanism", "law_sha256", "neighbors", "trust", "bound", "n", "pairs"])
def test_missing_keys_are_refused(key: str) -> None:
    data = certified().to_dict()
    del data[key]
    Path("short.json").write_text(json.dumps(data))
    with pytest.raises(sdp.ParameterError, match=f"got none named '{key}'"):
        sdp.verify("short.json")


@pytest.mark.parametrize("place", [(), ("pairs", 0), ("pairs", 0, "method")], ids=str)
def test_unknown_keys_are_refused(place: tuple[Any, ...]) -> None:
    data: Any = certified().to_dict()
    at = data
    for key in place:
        at = at[key]
    at["chance"] = 1
    Path("long.json").write_text(json.dumps(data))
    with pytest.raises(sdp.ParameterError, match=r"unknown key in \w+ 'chance'"):
        sdp.verify("long.json")


@pytest.mark.parametrize(
    ("form", "advice"),
    [("shuffledp-certificate/4", "verify it with another version"), ("other/3", "certify again"), (3, "certify again")],
)
def test_other_formats_are_refused(form: Any, advice: str) -> None:
    with pytest.raises(
        sdp.ParameterError, match=f"^certificate must have format 'shuffledp-certificate/3', .*{advice}"
    ):
        sdp.verify(written({"format": form}))
