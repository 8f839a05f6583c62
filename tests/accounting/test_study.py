"""Studies: every answer is that of amplify."""

from __future__ import annotations

import csv
import io
import itertools
import json
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.refusals import refused
from shuffledp.accounting import sweeping
from shuffledp.accounting.study import Study
from shuffledp.accounting.sweeps import Sweep

NAMES = ["auto", "clone", "clone-closed", "variation-ratio-published", "constant-dataset-lower"]
GRID: dict[str, Any] = {"eps0": [1, 2.5], "d": [4, 64], "n": [100, 10_000], "delta": ["0.01/n", 1e-8]}
#: Cheap questions, some of which have no answer.
CHEAP: dict[str, Any] = {"eps0": [0.5, 2], "n": [100, 10**6], "delta": 1e-6, "bounds": ["local", "clone-closed"]}
SPECS = ["grr:d=4", "unary:d=8"]


@pytest.fixture(scope="module")
def study() -> Study:
    made = sdp.sweep(["grr", "subset"], bounds=NAMES, **GRID)
    assert isinstance(made, Study)
    return made


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The questions that are answered one by one, as they are asked."""
    asked: list[tuple[Any, ...]] = []
    resolve = sweeping.resolve

    def counted(subject: Any, *terms: Any) -> Any:
        asked.append((subject.mechanism.spec, *terms))
        return resolve(subject, *terms)

    monkeypatch.setattr(sweeping, "resolve", counted)
    return asked


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_every_answer_is_that_of_amplify(study: Study) -> None:
    wanted = itertools.product(["grr", "subset"], *GRID.values(), NAMES)
    found = [
        (r.value("mechanism"), r.value("eps0"), r.value("d"), r.value("n"), r.value("delta"), r.bound) for r in study
    ]
    assert found == list(wanted) and len(found) == len(study) == 160
    for (name, eps0, d, n, delta, bound), row in zip(found, study, strict=True):
        mechanism = f"{name}:eps0={eps0},d={d}"
        if row.epsilon is None:
            with pytest.raises(sdp.BoundNotApplicableError) as caught:
                sdp.amplify(mechanism, n=n, delta=delta, bound=bound)
            assert row.reason == str(caught.value) != ""
            continue
        alone = sdp.amplify(mechanism, n=n, delta=delta, bound=bound)
        assert row.epsilon == alone.epsilon and row.reason == ""
        assert row.point.analyses[bound] == alone.bound and row.point.notes.get(bound, "") == alone.note
        assert row.point.comparison.local_epsilon == alone.local_epsilon
        assert row.point.comparison.mechanism == alone.mechanism
    assert {row.bound for row in study if row.epsilon is None} == {"clone-closed"}


@pytest.mark.heavy
def test_all_points_may_be_asked_together(study: Study, computed: list[Any]) -> None:
    seen: list[tuple[int, int]] = []
    fast = sdp.sweep(["grr", "subset"], bounds=NAMES, **GRID, batched=True, progress=lambda *at: seen.append(at))
    assert computed == [] and seen == [(i, 32) for i in range(1, 33)]
    for one, other in zip(fast, study, strict=True):
        assert (one.point.mechanism, one.bound, one.reason) == (other.point.mechanism, other.bound, other.reason)
        assert one.epsilon == (None if other.epsilon is None else pytest.approx(other.epsilon, rel=1e-3))
    assert {row.point.analyses["auto"] for row in fast} <= {"swap", "blanket", "binary"}
    terms: dict[str, Any] = {"n": [100, 10_000], "delta": 1e-6, "bounds": ["auto", "swap"]}
    alone = sdp.sweep("grr:1,4", **terms, batched=False)
    assert isinstance(alone, Sweep) and len(computed) == 4
    for name in terms["bounds"]:
        single = [sdp.amplify("grr:1,4", n=n, delta=1e-6, bound=name).epsilon for n in terms["n"]]
        assert alone.epsilon(name).tolist() == single


def test_what_varies_decides_the_kind_of_answer() -> None:
    terms: dict[str, Any] = {"delta": 1e-6, "bounds": ["local"]}
    for found in (
        sdp.sweep("grr:eps0=1,d=4", n=[10, 20], **terms),
        sdp.sweep("grr:d=4", eps0=[1, 2], n=10, **terms),
        sdp.sweep("grr", eps0=1, d=4, n=[10], **terms),
    ):
        assert isinstance(found, Sweep)
    for found in (
        sdp.sweep("grr:d=4", eps0=[1, 2], n=[10, 20], **terms),
        sdp.sweep("grr:eps0=1", d=[4, 8], n=10, **terms),
        sdp.sweep(["grr:eps0=1,d=4"], n=10, **terms),
        sdp.sweep({"mine": "grr:eps0=1,d=4"}, n=[10, 20], **terms),
    ):
        assert isinstance(found, Study)
    assert found.axes == {"mechanism": ("mine",), "n": (10, 20), "delta": (1e-6,), "bound": ("local",)}


@pytest.mark.heavy
def test_specs_objects_and_functions_name_the_same_mechanisms() -> None:
    terms: dict[str, Any] = {"eps0": [0.5, 4.0], "d": [16, 64], "n": 1000, "delta": 1e-6, "bounds": ["auto"]}
    made = sdp.sweep(
        {
            "spec": "subset",
            "object": sdp.Subset(eps0=1.0, d=16),
            "function": lambda e, d: sdp.Subset(eps0=e, d=d),
            "text": lambda eps0, d: f"subset:eps0={eps0},d={d}",
        },
        **terms,
    )
    spec = [row.epsilon for row in made.select(mechanism="spec")]
    assert spec == [row.epsilon for row in made.select(mechanism=["function"])]
    assert spec == [row.epsilon for row in made.select(mechanism="text")]
    kept = sdp.Subset(eps0=1.0, d=16).k  # an object keeps its integers
    assert {p.comparison.mechanism.rpartition("=")[2] for p in made.select(mechanism="object").points} == {str(kept)}
    listed = sdp.sweep(
        [sdp.GRR(eps0=1.0, d=4), lambda e: sdp.Subset(eps0=e, d=8)], eps0=[1, 2], n=9, delta=0.1, bounds=["local"]
    )
    assert listed.axes["mechanism"][0] == "grr:d=4" and listed.axes["mechanism"][1].startswith("subset:d=8")


def test_words_are_values_too() -> None:
    matrix = sdp.FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    pair = sdp.ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
    found = sdp.sweep({"matrix": matrix, "pair": pair}, n=[100], delta=[1e-6, "1e-3/n"], bounds=["blanket"])
    assert found.axes["delta"] == (1e-6, "1e-3/n")
    for row in found:
        mechanism = matrix if row.value("mechanism") == "matrix" else pair
        assert row.epsilon == sdp.amplify(mechanism, n=100, delta=row.value("delta"), bound="blanket").epsilon


def test_selections_and_curves(study: Study) -> None:
    some = study.select(mechanism="subset", d=4, n=[100, 10_000], delta=1e-8, bound=["auto", "clone"])
    assert len(some) == 8 and some.varying == ["eps0", "n", "bound"]
    assert {row.value("d") for row in some} == {4}
    for name, terms in (
        ("eps0", {"n": 100, "delta": 1e-8}),
        ("n", {"eps0": 1, "delta": "0.01/n"}),
        ("delta", {"eps0": 1, "n": 100}),
    ):
        curve = study.select(mechanism="grr", d=4, **terms).to_sweep()
        assert curve.variable == name and set(curve.bounds) <= set(NAMES)
        rows = study.select(mechanism="grr", d=4, bound="auto", **terms).rows
        assert curve.epsilon("auto").tolist() == [row.epsilon for row in rows]
        assert curve.rule == ("0.01/n" if name == "n" else None)
    assert study.select(mechanism="grr", d=4, n=100, delta=1e-8, bound="clone").to_sweep().bounds == ("clone",)
    refused(
        "^a sweep must vary one of eps0, n and delta, got eps0 and d;",
        study.select(mechanism="grr", n=100, delta=1e-8).to_sweep,
    )
    refused(
        "^a sweep must vary one of eps0, n and delta, got d;",
        study.select(mechanism="grr", eps0=1, n=100, delta=1e-8).to_sweep,
    )
    refused("^unknown axis 'epsilon'", study.select, epsilon=1)
    refused(r"^d must be among the values of the study \(4, 64\), got 5;", study.select, d=[4, 5])
    refused(r"^mechanism must be among .*got \[\]|got None", study.select, mechanism=[])
    refused("^bound must be among", study.select, bound="blanket")


def test_the_table_is_tidy(study: Study) -> None:
    frame = study.to_frame()
    assert list(frame["epsilon"].isna()) == [row.epsilon is None for row in study]
    assert frame["epsilon"].dropna().tolist() == [row.epsilon for row in study if row.epsilon is not None]
    assert str(frame["n"].dtype) == "Int64" and set(frame["rule"].dropna()) == {"0.01/n"}
    lines = list(csv.DictReader(io.StringIO(study.to_csv())))
    assert len(lines) == len(study) and float(lines[0]["epsilon"]) == study.rows[0].epsilon
    assert list(lines[0]) == list(study.columns()) == list(frame.columns)
    data = json.loads(study.to_json(), parse_constant=pytest.fail)
    assert data == study.to_dict() and data["axes"]["d"] == [4, 64]
    assert [row["epsilon"] for row in data["rows"]] == [row.epsilon for row in study]
    first = study.table().texts[0]
    assert first[:5] == ["grr", "1", "4", "100", "0.01/n"] and first[-1] in ("swap", "blanket")
    assert repr(study).startswith("<Study of 160 rows: grr, subset, eps0 = 1 to 2.5, d = 4 to 64,")
    assert str(study).count("\n") == 163 and "<td" in study._repr_html_()
    assert max(map(len, study.select(bound=["auto", "clone"]).table().text().splitlines())) <= 80


def test_infinite_budgets_are_written_as_such() -> None:
    found = sdp.sweep(["variation-ratio:inf,0.7,4"], n=[10], delta=1e-6, bounds=["local", "variation-ratio"])
    assert json.loads(found.to_json(), parse_constant=pytest.fail)["rows"][0]["epsilon"] == "inf"


def test_reports_progress() -> None:
    seen: list[tuple[int, int]] = []
    sdp.sweep(SPECS, **CHEAP, progress=lambda *at: seen.append(at))
    assert seen == [(i, 16) for i in range(1, 17)]


def test_bad_input_is_refused_before_anything_is_computed(computed: list[Any]) -> None:
    grid: dict[str, Any] = {"n": [10, 20], "delta": 0.1, "bounds": ["local"]}
    refused("^mechanisms must name at least one", sdp.sweep, [], **grid)
    refused("^mechanisms must be called by a text, got 3;", sdp.sweep, {3: "grr:1,4"}, **grid)
    refused("^mechanisms must be different ones", sdp.sweep, ["grr:1,4", "grr:1,4"], **grid)
    refused("^mechanisms must be different ones", sdp.sweep, [lambda e: "grr:1,4", lambda e: "grr:1,4"], eps0=1, **grid)
    refused("^n must hold every value once, got 10 twice;", sdp.sweep, ["grr:1,4"], n=[10, 10.0], delta=0.1)
    refused("^d must hold every value once, got 4 twice;", sdp.sweep, "grr:1", d=[4, 4], **grid)
    refused("^d must hold 1 to 10,000 values, got 0;", sdp.sweep, "grr:1", d=[], **grid)
    refused("^d must be a number, got True;", sdp.sweep, "grr:eps0=1", d=[True, 4], **grid)
    refused("^d must hold numbers or single words, got '4,eps0=9';", sdp.sweep, "grr:eps0=1", d=["4,eps0=9"], **grid)
    refused("^d must be a number", sdp.sweep, "grr:eps0=1", d=["many"], **grid)
    refused("^d must lie in", sdp.sweep, "grr:eps0=1", d=[4, 1], **grid)
    refused("^d must lie in", sdp.sweep, sdp.GRR(eps0=1.0, d=4), d=[4, 1], **grid)
    refused(r"^q must be a parameter of grr \(eps0, d\), got no such name;", sdp.sweep, "grr:eps0=1", q=[4], **grid)
    refused("did you mean 'bounds'", sdp.sweep, "grr:1,4", bound="auto", n=[1, 2], delta=0.1)
    refused("^mechanism must be a spec without d where d is given", sdp.sweep, "grr:eps0=1,d=4", d=[4, 8], **grid)
    refused("^mechanism must be a function of eps0, d, got one", sdp.sweep, lambda e: "grr:1,4", eps0=1, d=[4], **grid)
    refused("^mechanism must ", sdp.sweep, [3], eps0=[1, 2], **grid)
    refused("^mechanism must ", sdp.sweep, [None], **grid)
    refused("^eps0 must be left out for metric-laplace", sdp.sweep, ["metric-laplace:1,2"], eps0=[1, 2], **grid)
    refused(
        "^the grid must have at most 1,000,000 points, got 4,000,000;",
        sdp.sweep,
        "grr:1,4",
        n=range(1, 2001),
        delta=np.geomspace(0.1, 0.2, 2000),
    )
    refused("^batched must be True, False or None, got 1;", sdp.sweep, "grr:1,4", batched=1, **grid)
    with pytest.raises(sdp.BoundNotApplicableError):
        sdp.sweep("general:eps0=1", n=[10], delta=0.1, bounds=["blanket"]).epsilon("blanket")
    assert computed == []
