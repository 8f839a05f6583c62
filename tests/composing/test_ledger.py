"""The ledger file: what goes in comes out, it is never half written, and nothing unchecked is read."""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

import shuffledp as sdp
from reference.commands import run
from shuffledp.composing import ledger_file


def filled() -> sdp.Accountant:
    acc = sdp.Accountant().compose("grr:eps0=1,d=4", n=1000, count=30, name="weekly", participation_limit=7)
    acc.compose(sdp.FiniteRandomizer([[0.7, 0.3], [0.4, 0.6]]), n=50, bound="variation-ratio", reports_per_user=2)
    acc.compose(sdp.ShuffledPair([0.75, 0.25], [0.25, 0.75], [0.25, 0.25]), n=500)
    return acc.compose("variation-ratio:p=inf,beta=0.2,q=9", n=10**6)


@pytest.mark.heavy
def test_round_trip(tmp_path: Path) -> None:
    acc, path = filled(), tmp_path / "ledger.json"
    acc.save(path)
    again = sdp.Accountant.load(path)
    assert [e.to_dict() for e in again.entries] == [e.to_dict() for e in acc.entries]
    assert again.epsilon(delta=1e-5) == acc.epsilon(delta=1e-5)
    assert again.entries[0].name == "weekly" and again.entries[0].cost == 7 and again.entries[1].cost == 2
    again.save(path)  # replaced in place
    assert os.listdir(tmp_path) == ["ledger.json"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.json"
    filled().save(path)
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(sdp.ParameterError, match="No space left"):
        sdp.Accountant.load(path).compose("grr:eps0=1,d=4", n=10).save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["ledger.json"]


def test_rounds_that_others_recorded_are_not_lost(tmp_path: Path) -> None:
    path, round_ = tmp_path / "ledger.json", {"mechanism": "grr:eps0=1,d=4", "n": 1000}
    filled().save(path)
    one, two = sdp.Accountant.load(path), sdp.Accountant.load(path)
    one.compose(**round_).save(path)
    recorded = path.read_bytes()
    changed = r"^path must be a file that has not changed since it was loaded, got '[^\n]*; load it, [^\n]*\.$"
    for late in (two, sdp.Accountant(), filled()):  # the same round, so that both files would look the same
        with pytest.raises(sdp.ParameterError, match=changed):
            late.compose(**round_).save(path)
    assert path.read_bytes() == recorded and os.listdir(tmp_path) == ["ledger.json"]
    one.compose(**round_).save(path)  # what it saved itself, it has seen
    sdp.Accountant.load(path).compose(**round_).save(path)
    assert len(sdp.Accountant.load(path).entries) == 4 + 3


def test_bad_paths(tmp_path: Path) -> None:
    acc = filled()
    for path in ("", 3, None, tmp_path / "no" / "ledger.json"):
        with pytest.raises(sdp.ParameterError, match=r"^path must .*\.$"):
            acc.save(path)  # type: ignore[arg-type]
    for path in (tmp_path / "none.json", tmp_path, 3, None):
        with pytest.raises(sdp.ParameterError, match=r"^ledger must .*\.$"):
            sdp.Accountant.load(path)  # type: ignore[arg-type]


def test_what_has_no_spec_is_not_saved(tmp_path: Path) -> None:
    unnamed = sdp.Parallel([(0.5, sdp.GRR(eps0=1.0, d=3)), (0.5, sdp.GRR(eps0=1.0, d=4))])
    acc = sdp.Accountant().compose(unnamed, n=100)
    assert 0.0 < acc.epsilon(delta=1e-4) < 1.0
    with pytest.raises(sdp.ParameterError, match=r"spec.*\.$"):
        acc.save(tmp_path / "ledger.json")
    assert os.listdir(tmp_path) == []


def spoiled(change: Any) -> str:
    """A ledger with a change in it whose hashes are computed anew."""
    data: Any = {
        "format": ledger_file.FORMAT,
        "neighbors": "replace-one",
        "entries": len(filled().entries),
        "last_hash": "",
        "rounds": [entry.to_dict() for entry in filled().entries],
    }
    data = change(data) or data
    if isinstance(data, str):
        return data
    if isinstance(data["rounds"], list) and all(isinstance(item, dict) for item in data["rounds"]):
        seal(data)
    return json.dumps(data)


def seal(data: Any) -> None:
    """The hashes that belong to the rounds as they are; NaN has none."""
    for item in data["rounds"]:
        item.pop("hash", None)
    with contextlib.suppress(ValueError):
        first, *hashes = ledger_file.chain(data["rounds"])
        data["last_hash"] = [first, *hashes][-1]
        for item, found in zip(data["rounds"], hashes, strict=True):
            item["hash"] = found


def at(number: int, **changes: object) -> Any:
    return lambda data: data["rounds"][number].update(changes)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: " ",
        lambda d: "{",
        lambda d: "[]",
        lambda d: "NaN",
        lambda d: "[" * 100_000,
        lambda d: d.update(format="shuffledp-ledger/1"),
        lambda d: d.update(format="shuffledp-ledger/3"),
        lambda d: d.update(format=None),
        lambda d: d.update(more=1),
        lambda d: d.pop("neighbors") and None,
        lambda d: d.update(neighbors="add-or-remove-one"),
        lambda d: d.update(rounds={}),
        lambda d: d.update(rounds=[3]),
        lambda d: d["rounds"][0].pop("count") and None,
        at(0, more=1),
        at(0, n=0),
        at(0, n=2.5),
        at(0, n="10"),
        at(0, n=None),
        at(0, n=math.nan),
        at(0, count=-1),
        at(0, count=True),
        at(0, bound="blankt"),
        at(0, bound="variation-ratio-published"),
        at(0, bound=None),
        at(0, name=3),
        at(0, participation_limit=0),
        at(0, reports_per_user=0.5),
        at(0, local_epsilon=0.5),
        at(0, local_epsilon="inf"),
        at(3, local_epsilon=1.0),
        at(0, mechanism="grr:eps0=1,d=4"),
        at(0, mechanism={"spec": "grr:eps0=1"}),
        at(0, mechanism={"spec": 3}),
        at(0, mechanism={"spec": "grr:eps0=1,d=4", "matrix": []}),
        at(1, mechanism={"matrix": [[0.7, 0.2], [0.4, 0.6]]}),
        at(1, mechanism={"matrix": "x"}),
        at(2, mechanism={"round": {"P0": [1.0], "P1": [1.0]}}),
        at(2, mechanism={"round": {"P0": [0.5], "P1": [1.0], "t": [1.0]}}),
    ],
)
def test_every_key_is_checked(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "ledger.json"
    path.write_text(spoiled(change), encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match=r"^[^\n]*[.?]$"):
        sdp.Accountant.load(path)


def test_a_changed_matrix_file_is_noticed(tmp_path: Path) -> None:
    """A spec that names a file is read again; the local guarantee must still be the one on record."""
    table = tmp_path / "distances.csv"
    table.write_text("0,1\n1,0\n", encoding="utf-8")
    path = tmp_path / "ledger.json"
    sdp.Accountant().compose(f"exponential-metric:eps=1,{table}", n=100).save(path)
    assert len(sdp.Accountant.load(path).entries) == 1
    table.write_text("0,3\n3,0\n", encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match="has changed"):
        sdp.Accountant.load(path)


def queries(folder: Path) -> tuple[Path, Path]:
    """A file of queries, one of which is a matrix in a file of its own; both weights give one local guarantee."""
    matrix, listed = folder / "matrix.csv", folder / "q.yaml"
    matrix.write_text("0.7,0.3\n0.3,0.7\n", encoding="utf-8")
    spec = f"- weight: 0.5\n  spec: grr:eps0=2,d=4\n- weight: 0.5\n  spec: finite:{matrix}\n"
    listed.write_text(spec, encoding="utf-8")
    return listed, matrix


@pytest.mark.parametrize("which", [0, 1])
def test_a_changed_file_is_refused_though_the_local_guarantee_stays(tmp_path: Path, which: int) -> None:
    files, path = queries(tmp_path), tmp_path / "ledger.json"
    sdp.Accountant().compose(f"parallel:{files[0]}", n=100).save(path)
    assert len(sdp.Accountant.load(path).entries) == 1
    text = files[which].read_text(encoding="utf-8")
    other = text.replace("0.5\n  spec: grr", "0.9\n  spec: grr").replace("0.5\n  spec: fin", "0.1\n  spec: fin")
    files[which].write_text(other.replace("0.7", "0.6").replace("0.3", "0.4"), encoding="utf-8")
    assert files[which].read_text(encoding="utf-8") != text
    assert sdp.mechanism(f"parallel:{files[0]}").local_epsilon == 2.0
    with pytest.raises(sdp.ParameterError, match=r"^round 0 [^\n]*a file that has changed; restore it\.$"):
        sdp.Accountant.load(path)
    files[which].unlink()
    with pytest.raises(sdp.ParameterError, match=r"^round 0 [^\n]*no such file; restore it\.$"):
        sdp.Accountant.load(path)
    files[which].write_text(text, encoding="utf-8")
    assert len(sdp.Accountant.load(path).entries) == 1


def test_a_file_spec_without_its_hashes_is_refused(tmp_path: Path) -> None:
    (listed, matrix), path = queries(tmp_path), tmp_path / "ledger.json"
    sdp.Accountant().compose(f"parallel:{listed}", n=100).save(path)
    whole = json.loads(path.read_text(encoding="utf-8"))
    hashes = whole["rounds"][0]["mechanism"]["files"]
    assert set(hashes) == {str(listed), str(matrix)}
    partly = {str(listed): hashes[str(listed)]}
    for law in ({}, {"files": {}}, {"files": partly}, {"files": list(hashes)}, {"files": {**hashes, "none": None}}):
        whole["rounds"][0]["mechanism"] = {"spec": f"parallel:{listed}", **law}
        seal(whole)
        path.write_text(json.dumps(whole), encoding="utf-8")
        with pytest.raises(sdp.ParameterError, match=r"^round 0 [^\n]*\.$"):
            sdp.Accountant.load(path)


@pytest.mark.slow
def test_a_file_that_changes_between_rounds_is_two_mechanisms(tmp_path: Path) -> None:
    listed, _ = queries(tmp_path)
    acc = sdp.Accountant().compose(f"parallel:{listed}", n=100)
    once, old = acc.epsilon(delta=1e-4), sdp.mechanism(f"parallel:{listed}")
    listed.write_text("- weight: 1\n  spec: grr:eps0=2,d=4\n", encoding="utf-8")
    new = sdp.Accountant().compose(f"parallel:{listed}", n=100)
    both = acc.compose(f"parallel:{listed}", n=100).epsilon(delta=1e-4)
    apart = sdp.Accountant().compose(old, n=100).compose("grr:eps0=2,d=4", n=100).epsilon(delta=1e-4)
    assert new.epsilon(delta=1e-4) != once and both == pytest.approx(apart, rel=1e-6)
    with pytest.raises(sdp.ParameterError, match="does not change"):  # read before the change, composed after it
        sdp.Accountant().compose(old, n=100).save(tmp_path / "ledger.json")


def test_a_metric_ledger_records_its_neighbors(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    acc = sdp.Accountant().compose("metric-general:d01=1,dmax=2", n=100)
    acc.save(path)
    whole = json.loads(path.read_text(encoding="utf-8"))
    assert whole["neighbors"] == acc.neighbors == sdp.Accountant.load(path).neighbors != "replace-one"
    path.write_text(json.dumps({**whole, "neighbors": "replace-one"}), encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match=r"^neighbors of a ledger must be those of its rounds[^\n]*\.$"):
        sdp.Accountant.load(path)
    mixed = [*acc.entries, *filled().entries]
    with pytest.raises(sdp.ParameterError, match="one kind of neighbors"):
        ledger_file.save(mixed, path, set())


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "an empty file"), (b"rounds: 3", "something else"), (b"[NaN]", "something else")]
)
def test_what_is_no_json_is_called_so(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "ledger.json"
    path.write_bytes(content)
    with pytest.raises(sdp.ParameterError, match=rf"^ledger must be JSON, got {words} in [^\n]*\.$"):
        sdp.Accountant.load(path)


def test_an_edited_local_guarantee_is_no_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    path.write_text(spoiled(at(0, local_epsilon=0.5)), encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match="the ledger was edited or comes from another version"):
        sdp.Accountant.load(path)


@pytest.mark.slow_cases("balcer-coin:poisson=3-balcer-coin:poisson=0.75", "poisson-histogram:d=4,po*")
@pytest.mark.parametrize(
    ("spec", "share"),
    [
        ("balcer-coin:total_messages=500", "balcer-coin:total_messages=125"),
        ("pure-dump:d=4,messages=2", "pure-dump:d=4,total_messages=50"),
        ("balcer-coin:poisson=3", "balcer-coin:poisson=0.75"),
        ("poisson-histogram:d=4,poisson_per_index=2", "poisson-histogram:d=4,poisson_per_index=0.5"),
    ],
)
def test_several_reports_share_the_blankets(spec: str, share: str, tmp_path: Path) -> None:
    """Blanket messages are counted per user or in all: r reports among them are not r rounds among as many each."""
    acc = sdp.Accountant().compose(spec, n=100, reports_per_user=4)
    parts = sdp.Accountant().compose(share, n=100, count=4)
    assert acc.epsilon(delta=1e-3) == pytest.approx(parts.epsilon(delta=1e-3), rel=1e-9)
    assert acc.epsilon(delta=1e-3) > sdp.Accountant().compose(spec, n=100, count=4).epsilon(delta=1e-3)
    acc.compose(spec, n=100)  # the same mechanism with one report is another cost
    assert acc.epsilon(delta=1e-3) < sdp.Accountant().compose(share, n=100, count=5).epsilon(delta=1e-3)
    acc.save(tmp_path / "ledger.json")
    assert sdp.Accountant.load(tmp_path / "ledger.json").epsilon(delta=1e-3) == acc.epsilon(delta=1e-3)


def test_blankets_that_cannot_be_shared_are_refused() -> None:
    with pytest.raises(sdp.BoundNotApplicableError, match=r"got messages = 0\.5 .* give poisson"):
        sdp.Accountant().compose("pure-dump:d=4,messages=0.5", n=100, reports_per_user=4)

    class Foreign(sdp.General):
        """Hides its message in a way of its own."""

        name = "foreign-blankets"

        def _among(self, pairs: Any) -> Any:
            return super()._among(pairs)

    with pytest.raises(sdp.ParameterError, match=r"^reports_per_user must be 1 for .* got 4: its blanket .*\.$"):
        sdp.Accountant().compose(Foreign(eps0=1.0), n=100, reports_per_user=4)


# -- the chain of hashes ------------------------------------------------------------------------------------------


def tampered(tmp_path: Path, change: Any) -> str:
    """What is said of a ledger that was changed and whose hashes were not."""
    path = tmp_path / "ledger.json"
    path.unlink(missing_ok=True)
    filled().save(path)
    whole = json.loads(path.read_text(encoding="utf-8"))
    change(whole)
    path.write_text(json.dumps(whole, indent=1), encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match=r"^[^\n]*\.$") as caught:
        sdp.Accountant.load(path)
    return str(caught.value)


@pytest.mark.parametrize("number", range(4))
def test_an_edited_entry_is_noticed(number: int, tmp_path: Path) -> None:
    for key, value in (("n", 999), ("count", 2), ("name", "other"), ("participation_limit", 3)):
        text = tampered(tmp_path, lambda d, k=key, v=value: d["rounds"][number].update({k: v}))
        assert text.startswith(f"round {number} of the ledger must be what was recorded") and "edited" in text


@pytest.mark.parametrize("number", range(3))
def test_a_deleted_entry_is_noticed(number: int, tmp_path: Path) -> None:
    text = tampered(tmp_path, lambda d: d["rounds"].pop(number))
    assert text.startswith(f"round {number} of the ledger must be") and "removed or added" in text


def test_entries_that_changed_places_are_noticed(tmp_path: Path) -> None:
    assert "round 0 of the ledger" in tampered(tmp_path, lambda d: d["rounds"].reverse())
    assert "round 2 of the ledger" in tampered(tmp_path, lambda d: d["rounds"].append(d["rounds"].pop(2)))


def test_a_repeated_entry_is_noticed(tmp_path: Path) -> None:
    assert "round 4 of the ledger" in tampered(tmp_path, lambda d: d["rounds"].append(d["rounds"][-1]))


@pytest.mark.parametrize("kept", range(4))
def test_a_tail_that_was_cut_off_is_noticed(kept: int, tmp_path: Path) -> None:
    text = tampered(tmp_path, lambda d: d.update(rounds=d["rounds"][:kept]))
    assert f"must hold the 4 entries that were recorded, got {kept}" in text
    # whoever also corrects the number must still state a hash that does not fit
    text = tampered(tmp_path, lambda d: d.update(rounds=d["rounds"][:kept], entries=kept))
    assert text.startswith("last_hash must be")


@pytest.mark.parametrize("value", [3, 5, -1, 4.0, "4", None, True, 10**50], ids=repr)
def test_an_edited_number_of_entries_is_noticed(value: Any, tmp_path: Path) -> None:
    assert "entries" in tampered(tmp_path, lambda d: d.update(entries=value))


@pytest.mark.parametrize("value", ["", None, 3, "0" * 64, []], ids=repr)
def test_an_edited_hash_is_noticed(value: Any, tmp_path: Path) -> None:
    assert "last_hash" in tampered(tmp_path, lambda d: d.update(last_hash=value))
    assert "round 1 of the ledger" in tampered(tmp_path, lambda d: d["rounds"][1].update(hash=value))


def test_the_layout_of_the_file_may_change(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    filled().save(path)
    whole = json.loads(path.read_text(encoding="utf-8"))
    turned = {key: whole[key] for key in reversed(whole)}
    turned["rounds"] = [{key: item[key] for key in sorted(item)} for item in whole["rounds"]]
    path.write_text(json.dumps(turned), encoding="utf-8")
    assert len(sdp.Accountant.load(path).entries) == 4


def test_a_ledger_with_a_key_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    filled().save(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"count": 30', '"count": 30, "count": 1'), encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match=r"^a key must be given once, got 'count' twice in [^\n]*\.$"):
        sdp.Accountant.load(path)


def test_a_name_cannot_forge_a_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    sdp.Accountant().compose("grr:eps0=1,d=4", n=10, name="a\nround two: 0 x").save(path)
    assert not [line for line in run("compose", str(path)).stdout.splitlines() if line.lstrip().startswith("round two")]
    with pytest.raises(sdp.ParameterError, match="must be text"):
        sdp.Accountant().compose("grr:eps0=1,d=4", n=10, name="\ud800").save(path)


@pytest.mark.slow
def test_a_long_ledger_is_read_in_seconds(tmp_path: Path) -> None:
    listed, _ = queries(tmp_path)
    entry = ledger_file.make_entry(f"parallel:{listed}", n=1000)
    path = tmp_path / "ledger.json"
    ledger_file.save([entry] * 20_000, path, set())
    start = time.process_time()
    assert len(ledger_file.load(path).entries) == 20_000
    assert time.process_time() - start < 5.0
    with pytest.raises(sdp.ParameterError, match="at most 20,000 entries"):
        ledger_file.save([entry] * 20_001, path, set())
