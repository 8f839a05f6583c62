"""The one reader of files: what it opens, how much it takes, and what it refuses before it costs anything."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from reference.sample_files import KINDS, certificates, command, ledgers
from shuffledp._support import validation as check
from shuffledp._support.arrays import reals
from shuffledp._support.reading import (
    CERTIFICATE,
    LEDGER,
    PROGRAMME,
    TABLE,
    as_written,
    json_text,
    mapping,
    parse_json,
    read_bytes,
    tables,
    yaml_text,
)
from shuffledp._support.reading.json_text import NotJSONError
from shuffledp._support.reading.yaml_text import parse_yaml
from shuffledp.cli.audit import parse_inputs
from shuffledp.numerics.proof import pairs as proofs


def said(call: Callable[..., object], *args: Any, **options: Any) -> str:
    """The one sentence of a refusal, which comes at once."""
    start = time.process_time()
    with pytest.raises(sdp.ShuffleDPError) as caught:
        call(*args, **options)
    assert time.process_time() - start < 5.0
    text = str(caught.value)
    assert text[-1] in ".?" and "\n" not in text and len(text) < 1000, text
    return text


# -- what is opened -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_read(kind: str, tmp_path: Path) -> None:
    """A pipe that nobody writes to would be waited for, a device read for ever: neither is opened."""
    name, made, read = KINDS[kind]
    pipe, link = tmp_path / f"pipe-{name}", tmp_path / f"link-{name}"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    assert "a named pipe, not a regular file" in said(read, pipe)
    assert "a named pipe, not a regular file" in said(read, link)
    for device in ("/dev/zero", "/dev/null"):
        assert "a device, not a regular file" in said(read, Path(device))
    # the folder of a programme is one of plans, and only its lock is opened
    assert ("without it" if kind == "programme" else "Is a directory") in said(read, tmp_path)
    assert "No such file" in said(read, tmp_path / "none")
    assert "Too many levels" in said(read, _loop(tmp_path))
    with socket.socket(socket.AF_UNIX) as end:
        os.chdir(tmp_path)  # the path of a socket must be short
        end.bind("socket")
        assert "a socket, not a regular file" in said(read, Path("socket"))
    good = tmp_path / f"good-{name}"
    (tmp_path / name).write_bytes(made()[0])
    good.symlink_to(tmp_path / name)
    read(good)  # a link to a regular file is fine


def _loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    path.write_text("{}")
    path.chmod(0)
    assert "Permission denied" in said(sdp.verify, path)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the opening: the open file is looked at again."""
    regular, pipe = tmp_path / "ledger.json", tmp_path / "pipe"
    regular.write_text("{}")
    os.mkfifo(pipe)
    found = os.stat(regular)
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", lambda path: found)
        done = threading.Timer(30.0, lambda: pipe.open("wb").close())  # would free a reader that waits
        done.start()
        start = time.monotonic()
        text = said(read_bytes, pipe, LEDGER)
        done.cancel()
    assert "a named pipe, not a regular file" in text and time.monotonic() - start < 20.0


@pytest.mark.parametrize("bad", ["", "a\0b", "\ud800", 3, None, [], "x" * 5000], ids=repr)
def test_what_is_no_path(bad: Any) -> None:
    assert said(read_bytes, bad, PROGRAMME).startswith("programme must be a readable file, got ")


@pytest.mark.parametrize("kind", [CERTIFICATE, LEDGER, PROGRAMME, TABLE], ids=lambda k: k.subject)
def test_a_large_file_is_not_read(kind: Any, tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(kind.most_bytes + 1)  # a hole: it takes no room
    assert f"at most {kind.most_bytes:,} bytes" in said(read_bytes, tmp_path / "large", kind)


def test_a_file_whose_size_is_not_stated_is_read() -> None:
    assert Path("/proc/self/status").stat().st_size == 0
    assert read_bytes("/proc/self/status", PROGRAMME).startswith(b"Name:")


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_strict(kind: str, tmp_path: Path) -> None:
    if kind == "array":
        return
    name, made, read = KINDS[kind]
    for bad in (b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xaf"):
        (tmp_path / name).write_bytes(made()[0] + bad)
        assert "UTF-8" in said(read, tmp_path / name)


@pytest.mark.heavy
@pytest.mark.slow_cases("ledger", "matrix", "programme")
@pytest.mark.parametrize("kind", ["ledger", "matrix", "certificate", "programme"])
def test_devices_and_pipes_on_the_command_line(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    for path in (Path("/dev/zero"), tmp_path / "pipe.npy", tmp_path):
        done = command(kind, path)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
        sentences = ("must be a readable file", "is a directory", "must be a folder with")  # of click, and of plans
        assert any(words in done.stderr for words in sentences), done.stderr


# -- JSON and YAML ------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_depth() -> None:
    most = json_text.MOST_DEPTH
    fine, deep = "[" * most + "]" * most, "[" * (most + 1) + "]" * (most + 1)
    quoted = json.dumps(["[" * 1000, '\\"[[[' * 100])
    for parse in (parse_json, parse_yaml):
        assert parse(quoted, PROGRAMME, "'x'") == json.loads(quoted)
        parse(fine, PROGRAMME, "'x'")
        assert "levels deep, got more" in said(parse, deep, PROGRAMME, "'x'")
        assert "levels deep, got more" in said(parse, "[" * 10**6, PROGRAMME, "'x'")
    assert "levels deep, got more" in said(parse_json, '{"a":' * 10**5, PROGRAMME, "'x'")
    assert "levels deep, got more" in said(parse_yaml, "- " * 10**5, PROGRAMME, "'x'")


def test_a_text_without_an_end_is_looked_through_once() -> None:
    text = "[" * 33 + '"' + '\\"' * 10**6
    start = time.process_time()
    with pytest.raises((NotJSONError, sdp.ParameterError)):
        parse_json(text, LEDGER, "'x'")
    with pytest.raises(NotJSONError):
        parse_json("[]," * 40 + '"' + '\\"' * 10**6 + "\\", LEDGER, "'x'")
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize("number", ["1e-999999999", "1e999999999", "9" * 3_000_000, "0." + "1" * 3_000_000, "1e400"])
def test_numbers_of_astronomical_size(number: str, tmp_path: Path) -> None:
    assert "moderate length and size" in said(parse_json, f'{{"n": {number}}}', LEDGER, "'x'")
    path = tmp_path / "file"
    path.write_text(ledgers()[0].decode().replace('"n": 1000,', f'"n": {number},'))
    said(sdp.Accountant.load, path)
    for key in ('"n": 10000', '"bits": 140', '"epsilon": "0.'):
        text = certificates()[0].decode()
        assert key in text
        path.write_text(text.replace(key, f"{key.split(':')[0]}: {number}" + ', "x": "0.' * key.endswith('"0.')))
        assert said(sdp.verify, path).startswith("certificate must ")
    whole, types = json.loads(certificates()[0]), json.loads(certificates()[3])
    whole["pairs"][0]["t"][0] = types["pairs"][0]["types"][1]["t"][0] = number
    for data in (whole, types):
        path.write_text(json.dumps(data))
        assert said(sdp.verify, path).startswith("certificate must ")
    path.write_text(f"- weight: {number}\n  spec: general:eps0=1\n")
    said(sdp.mechanism, f"parallel:{path}")
    path.write_text(f"version: 1\ntarget: {{epsilon: {number}, delta: 1e-6}}\nrounds: []\n")
    said(sdp.check, path)
    path.write_text(f"{number},0\n0,1\n")
    said(sdp.mechanism, f"finite:{path}")
    if len(number) < 100:
        assert number == "1e400" or as_written(number) is None
    else:
        assert "n must " in said(check.parse_number, "n", number)


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "[-Infinity]", "'a'", "[1,]", "", " ", '"\\ud800"', "[] []", "01"]
)
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(NotJSONError):
        parse_json(text, LEDGER, "'x'")


def test_duplicate_keys_are_refused_in_every_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(ledgers()[0].decode().replace('"count": 30', '"count": 30, "count": 1'))
    assert "got 'count' twice" in said(sdp.Accountant.load, path)
    path.write_text(certificates()[0].decode().replace('"n": ', '"n": 5, "n": '))
    assert "got 'n' twice" in said(sdp.verify, path)
    path.write_text('[{"weight": 1, "spec": "general:eps0=1", "spec": "general:eps0=2"}]')
    assert "got 'spec' twice" in said(sdp.mechanism, f"parallel:{path}")
    path.write_text("- weight: 1\n  weight: 1\n  spec: general:eps0=1\n")
    said(sdp.mechanism, f"parallel:{path}")


def test_unknown_and_missing_keys_are_refused_in_every_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole, types = json.loads(certificates()[0]), json.loads(certificates()[3])
    spots: list[tuple[Any, Any, str]] = [
        *((whole, spot, key) for spot, key in ((whole, "n"), (whole["pairs"][0], "t"))),
        (whole, whole["pairs"][0]["method"], "nodes"),
        *((types, spot, key) for spot, key in ((types["pairs"][0], "types"), (types["pairs"][0], "common_mass"))),
        *((types, types["pairs"][0]["types"][0], key) for key in ("P0", "P1", "t")),
        *((types, types["pairs"][0]["method"], key) for key in ("waits", "c", "s", "h", "nodes", "bits")),
    ]
    for data, spot, key in spots:
        kept = dict(spot)
        for changed, words in (({**kept, "more": 1}, "unknown key"), ({k: kept[k] for k in kept if k != key}, key)):
            spot.clear()
            spot.update(changed)
            path.write_text(json.dumps(data))
            assert words in said(sdp.verify, path)
        spot.clear()
        spot.update(kept)
    path.write_text(json.dumps(whole))
    sdp.verify(path)
    path.write_text('[{"weight": 1, "spec": "general:eps0=1", "name": "x"}]')
    assert "unknown key in entry 0" in said(sdp.mechanism, f"parallel:{path}")
    assert "did you mean 'count'?" in said(mapping, "round 0", {"cuont": 1}, needed=("count",))
    assert "none named 'count'" in said(mapping, "round 0", {}, needed=("count",))


def test_a_file_of_another_kind_is_called_so(tmp_path: Path) -> None:
    ledger, plan = tmp_path / "ledger.json", tmp_path / "plan.json"
    ledger.write_bytes(ledgers()[0])
    plan.write_text('{"version": 1, "users": 100}')
    for call in (sdp.Client, sdp.check, sdp.calibrate_programme):
        assert said(call, ledger).endswith("got a file of format 'shuffledp-ledger/2'; check the path.")
    assert said(sdp.Accountant.load, plan).endswith(f"got another file in {str(plan)!r}; check the path.")
    plan.write_text('{"format": "shuffledp-ledger/9"}')
    assert "got 'shuffledp-ledger/9' in " in said(sdp.Accountant.load, plan)


@pytest.mark.heavy
def test_yaml_does_not_grow() -> None:
    bomb = "a: &a [x,x]\n" + "".join(f"b{i}: &b{i} [*{'a' if not i else f'b{i - 1}'}, 1]\n" for i in range(60))
    assert "aliases" in said(parse_yaml, bomb, PROGRAMME, "'x'")
    assert "tags" in said(parse_yaml, "!!python/object/apply:os.system [echo]", PROGRAMME, "'x'")
    assert "at most 25,000 values" in said(parse_yaml, "[" + "a," * yaml_text.MOST_NODES + "]", PROGRAMME, "'x'")
    for slip in ('"\\U99999999"', "%YAML 1." + "1" * 5000 + "\n---\na", "a: '\x07'"):
        assert "YAML or JSON" in said(parse_yaml, slip, PROGRAMME, "'x'")
    assert "surrogate" in said(parse_yaml, '"\\ud800"', PROGRAMME, "'x'")


LONG = ["#" * 2**20, "a: " + "x" * 2**19, "- a\n" * 90_000, "'" + "a b " * 2**17, "[" + "a, " * 90_000, "a\n" * 2**18]


@pytest.mark.slow_cases('"\'a b a b"', "'########'", "'- a\\\\n- a\\\\n'", "'[a, a, a'", "'a\\\\na\\\\na\\\\na\\\\n'")
@pytest.mark.parametrize("text", LONG, ids=lambda t: repr(t[:8]))
def test_a_long_yaml_file_is_read_in_seconds(text: str) -> None:
    start = time.process_time()
    with contextlib.suppress(sdp.ParameterError):
        parse_yaml(text, PROGRAMME, "'x'")
    assert time.process_time() - start < 5.0


# -- numbers ------------------------------------------------------------------------------------------------------

#: Arabic-Indic, full-width and Devanagari figures, a superscript, a Roman numeral, a minus sign, a decimal separator.
OTHER_SCRIPTS = [
    *("\u0663", "\uff11", "\u0967", "1\u0660", "1e\u0663", "\u0660.\u0665"),
    *("\u00b2", "\u2167", "\u22121", "1\u066b5"),
]


@pytest.mark.parametrize("text", OTHER_SCRIPTS, ids=ascii)
def test_figures_of_other_scripts_are_no_numbers(text: str, tmp_path: Path) -> None:
    assert "n must be a number" in said(check.parse_number, "n", text)
    assert "n must be a number" in said(check.parse_users, text)
    assert as_written(text) is None
    said(sdp.mechanism, f"general:eps0={text}")
    assert "must" in refused(run("amplify", "general:eps0=1", "--n", text, "--delta", "0.1"))
    assert "must" in refused(run("amplify", "general:eps0=1", "--n", "100", "--delta", text))
    path = tmp_path / "file.csv"
    path.write_text(f"{text},0\n0,1\n", encoding="utf-8")
    assert "numbers only" in said(sdp.mechanism, f"finite:{path}")
    path.write_text(f"- weight: {text}5\n  spec: general:eps0=1\n", encoding="utf-8")
    assert "weight must" in said(sdp.mechanism, f"parallel:{path}")
    whole = json.loads(certificates()[0])
    for key in ("epsilon", "delta"):
        path.write_text(json.dumps({**whole, key: text}))
        assert said(sdp.verify, path).startswith("certificate must ")
    for key in ("bits", "nodes", "c"):
        changed = json.loads(certificates()[0])
        changed["pairs"][0]["method"][key] = text
        path.write_text(json.dumps(changed))
        assert said(sdp.verify, path).startswith("certificate must ")
    assert parse_inputs(f"{text},b") == [text.strip(), "b"]


def test_numbers_as_they_are_written() -> None:
    fine = {"1_000": 1000, "1e-8": Fraction(1, 10**8), "1/3": Fraction(1, 3), ".5": Fraction(1, 2), "5.": 5, "-2": -2}
    assert {text: as_written(text) for text in fine} == fine
    for bad in ("", ".", "-", "e5", "1e9999", "9" * 41, "1/0", "1/000", "0x1", "inf", "nan", "1 2", " 1", "1\n", "--1"):
        assert as_written(bad) is None, bad
    assert check.parse_users("1_000_000") == 10**6 and check.parse_number("p", "inf") == float("inf")


# -- tables -------------------------------------------------------------------------------------------------------


def header(text: str, *, version: bytes = b"\x01\x00", data: bytes = b"") -> bytes:
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text))
    return b"\x93NUMPY" + version + size + text.encode("latin-1") + data


DOUBLES = np.array([0.75, 0.25, 0.25, 0.75]).tobytes()
PLAIN = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }"


def test_every_plain_array_is_read_as_numpy_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    table = np.array([[4, 2, 0], [1, 5, 0]])
    for kind in ("<f8", ">f8", "<f4", "<f2", "|i1", ">i4", "<u8", "|b1", "<f16"):
        for order in "CF":
            np.save(path, np.array(table, dtype=kind, order=order))  # type: ignore[call-overload]
            assert np.array_equal(tables.read_table(path), np.load(path).astype(float)), (kind, order)
    for text in (PLAIN, '{"shape":(2,2),"fortran_order":False,"descr":"<f8"}', f"  {PLAIN}   \n"):
        for version in (b"\x01\x00", b"\x02\x00"):
            path.write_bytes(header(text, version=version, data=DOUBLES))
            assert tables.read_table(path).tolist() == [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (header(PLAIN.replace("(2, 2)", "(9999999999, 9999999999)")), "at most 4,194,304 numbers"),
        (header(PLAIN.replace("(2, 2)", "(2000, 2000)"), data=DOUBLES), "as many numbers as its header says"),
        (header(PLAIN, data=DOUBLES[:-1]), "as many numbers as its header says"),
        (header(PLAIN, data=DOUBLES * 2), "as many numbers as its header says"),
        (header(PLAIN.replace("(2, 2)", "(2, -2)"), data=DOUBLES), "plain numeric array"),
        (header(PLAIN.replace("'<f8'", "'|O'"), data=DOUBLES), "plain numeric array"),
        (header(PLAIN.replace("'<f8'", "[('a', '<f8')]"), data=DOUBLES), "plain numeric array"),
        (header(PLAIN.replace("'<f8'", "'<f9'"), data=DOUBLES), "plain numeric array"),
        (header(PLAIN.replace("'<f8'", "'<c8'"), data=DOUBLES), "complex"),
        (header(PLAIN.replace(", }", ", 'shape': (2, 2)}"), data=DOUBLES), "plain numeric array"),
        (header("(" * 4000), "plain numeric array"),
        (header("{" + " " * 5000 + "}"), "plain numeric array"),
        (header("__import__('os').abort()", data=DOUBLES), "plain numeric array"),
        (header(PLAIN, version=b"\x03\x00", data=DOUBLES), "plain numeric array"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "plain numeric array"),
        (b"\x93NUMPY", "plain numeric array"),
        (b"PK\x03\x04", "plain numeric array"),
    ],
    ids=lambda x: repr(x)[:30],
)
def test_headers_are_checked_before_anything_is_allocated(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    assert words in said(sdp.mechanism, f"finite:{path}")
    assert words in said(sdp.mechanism, f"exponential-metric:eps=1,{path}")


def test_complex_numbers_are_refused_not_cut(tmp_path: Path) -> None:
    table = np.array([[0.75 + 0.1j, 0.25], [0.25, 0.75]])
    np.save(tmp_path / "a.npy", table)
    assert "complex" in said(sdp.mechanism, f"finite:{tmp_path / 'a.npy'}")
    assert "real numbers" in said(sdp.FiniteRandomizer, table)
    assert "real numbers" in said(sdp.FiniteRandomizer, [list(row) for row in table])
    assert "P0 must" in said(sdp.ShuffledPair, table[0], table[0], [0.1, 0.1])
    said(sdp.ExponentialMetric, table, eps=1.0)


def test_text_is_no_matrix() -> None:
    for bad in ([["0.5", "0.5"]], [["\u0660.\u0665", 0.5]], np.array([["0.5"]], dtype=object), [[10**400]], [[b"1"]]):
        assert "matrix must be a table of real numbers" in said(sdp.FiniteRandomizer, bad)
    assert reals([[Fraction(1, 2), True]]).tolist() == [[0.5, 1.0]]


def test_a_csv_file_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1," * 10 + "\n" + "1\n")
    assert "ragged" in said(sdp.mechanism, f"finite:{path}")
    monkeypatch.setattr(tables, "MOST_CELLS", 8)
    path.write_text("1,0,0\n" * 3)
    assert "at most 8 numbers" in said(sdp.mechanism, f"finite:{path}")
    path.write_text("1e308,1e308\n1e308,1e308\n")
    assert "sum to 1" in said(sdp.mechanism, f"finite:{path}")


def test_distances_of_too_many_points(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.zeros((1001, 1001), dtype=np.int8))
    (tmp_path / "d.npy").write_bytes(stream.getvalue())
    assert "at most 1,000 points" in said(sdp.mechanism, f"exponential-metric:eps=1,{tmp_path / 'd.npy'}")


# -- the work that a certificate asks for -------------------------------------------------------------------------


def changed(which: int, **method: Any) -> str:
    whole = json.loads(certificates()[which])
    whole["pairs"][0]["method"] |= method
    return json.dumps(whole)


@pytest.mark.parametrize(
    "method", [{"nodes": 299_999}, {"bits": 4096}, {"bits": 513}, {"nodes": 10**18}, {"bits": 128.5}, {"nodes": True}]
)
@pytest.mark.parametrize("which", [0, 3], ids=["contour", "swap"])
def test_a_method_that_no_proof_needs(which: int, method: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(changed(which, **method))
    assert "nodes" in said(sdp.verify, tmp_path / "proof.json") or "bits" in str(method)


@pytest.mark.heavy
@pytest.mark.slow_cases("contour")
@pytest.mark.parametrize(("which", "times"), [(0, 2000), (3, 200)], ids=["contour", "swap"])
def test_equal_pairs_are_proved_once(which: int, times: int, tmp_path: Path) -> None:
    whole = json.loads(certificates()[which])
    whole["pairs"] *= times
    (tmp_path / "proof.json").write_text(json.dumps(whole))
    start = time.process_time()
    assert len(sdp.verify(tmp_path / "proof.json").steps) == times
    assert time.process_time() - start < 5.0


@pytest.mark.heavy
@pytest.mark.slow_cases("contour")
@pytest.mark.parametrize(("which", "times"), [(0, 2000), (3, 300)], ids=["contour", "swap"])
def test_many_different_proofs_are_refused(
    which: int, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(certificates()[which])
    first = whole["pairs"][0]
    whole["pairs"] = [{**first, "method": {**first["method"], "h": 1.0 + i}} for i in range(times)]
    (tmp_path / "proof.json").write_text(json.dumps(whole))
    assert f"at most 256 distinct laws, and this one states {times:,}" in said(sdp.verify, tmp_path / "proof.json")
    whole["pairs"] = whole["pairs"][:60]
    (tmp_path / "proof.json").write_text(json.dumps(whole))
    monkeypatch.setattr(proofs, "MAX_WORK", 100_000)
    assert "at most 100,000 steps" in said(sdp.verify, tmp_path / "proof.json")
    with pytest.raises(sdp.CertificationError, match="at most 100,000 steps"):  # nor is such a one written
        sdp.amplify("general:eps0=1", n=10_000, delta=1e-6, tol=1e-7, bound="variation-ratio", certify=True)


def test_thousands_of_symbols_are_no_recursion() -> None:
    law = np.full(3000, 1 / 3000)
    other = np.concatenate([law[:1500] * 1.5, law[:1500] * 0.5])
    round_ = sdp.ShuffledPair(P0=law, P1=other, t=0.5 * law)
    proof = proofs.prove(round_, 10, Fraction(1, 10), proofs.Method("counts", 128, cap=0))
    assert 0 < proof.upper < 2


@pytest.mark.parametrize("cell", ["1e-999999999", "0.0001e-400", "1_0e-1"])
def test_a_cell_that_only_underflows_to_zero_is_refused(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"{cell},1\n0,1\n")
    with pytest.raises(sdp.ParameterError, match="numbers only"):
        sdp.FiniteRandomizer.from_file(path)
