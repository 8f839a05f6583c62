"""compare and sweep: order, shares, what is marked and what is absent, every format, and every bad input."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from contract.cases import all_cases
from contract.test_bounds import MECHANISMS
from reference.refusals import refused
from reference.repetition import examples, slow
from reference.tolerances import within_tol
from shuffledp._support.delta_rules import delta_at
from shuffledp.accounting.comparison import Comparison, Row
from shuffledp.bounds import BOUNDS

FEW = ["variation-ratio-lower", "constant-dataset-lower", "blanket", "variation-ratio", "general", "local"]
SMALL = {"n": 1000, "delta": 1e-6, "bounds": FEW}
SUBJECTS = {**MECHANISMS, **{str(case): case.mechanism for case in all_cases()}}
#: The quick run takes every kind of bound, and of every mechanism one setting.
FIRST = {*MECHANISMS, *{case.mechanism.name: str(case) for case in reversed(all_cases())}.values()}


# -- compare --------------------------------------------------------------------------------------------------------


@pytest.mark.heavy_cases("planar-cells:d01=4,dmax=4,across=3,up=2,wide=1.7,high=1.2-30")
@pytest.mark.slow_cases(
    "gaussian:sigma=2,low=-*",
    "gaussian:sigma=0.5,low=0,high=1,inputs=3,edges=8-*",
    "*:*-10000",  # all cases of the contract, at which one size is enough
    "general-weak-10000",
    "privset:eps0=3,d=2,s=2,k=2-30",
    "subset:eps0=4,d=6,k=5-30",
    "zeros-10000",
)
@pytest.mark.parametrize("n", [30, 10_000])
@pytest.mark.parametrize("subject", [name if name in FIRST else slow(name) for name in SUBJECTS])
def test_every_bound_of_every_mechanism(subject: str, n: int) -> None:
    """Each bound is a row or has a reason; rows are sorted; no sound upper bound is below a lower one."""
    c = sdp.compare(SUBJECTS[subject], n=n, delta="0.01/n", tol=1e-3)
    assert {row.bound for row in c.rows} | set(c.absent) == set(BOUNDS)
    assert not {row.bound for row in c.rows} & set(c.absent)
    eps = [row.epsilon for row in c.rows]
    assert eps == sorted(eps) and not any(math.isnan(e) for e in eps)
    for why in c.absent.values():
        assert why.endswith(".") and "\n" not in why
    assert c.best is not None
    sound = [row.epsilon for row in c.rows if row.side == "upper" and row.sound]
    assert c.best.epsilon == min(sound)
    if c.lower is not None:
        assert c.lower.epsilon <= min(sound) * (1 + 1e-9)
        assert c.lower.epsilon == max(row.epsilon for row in c.rows if row.side == "lower")
    for row in c.rows:
        assert (row.side, row.sound) == (BOUNDS[row.bound].side, BOUNDS[row.bound].sound)
        if row.side == "upper" and row.sound:
            assert row.saved is not None and 0.0 <= row.saved <= 1.0
            assert row.looseness is None or row.looseness >= -1e-9
    json.loads(c.to_json(), parse_constant=pytest.fail)


def test_rows_are_what_amplify_says() -> None:
    c = sdp.compare("grr:eps0=2,d=16", n=1000, delta=1e-6, bounds=FEW)
    for row in c.rows:
        alone = sdp.amplify("grr:eps0=2,d=16", n=1000, delta=1e-6, bound=row.bound).epsilon
        assert row.epsilon == within_tol(alone)
        assert c[row.bound] is row


def test_shares() -> None:
    c = sdp.compare("grr:eps0=2,d=16", **SMALL)
    assert c.best is not None and c.lower is not None
    for row in c.rows:
        assert row.looseness == pytest.approx(row.epsilon / c.lower.epsilon - 1, abs=1e-12)
        if row.side == "lower":
            assert row.saved is None
        else:
            assert row.saved == pytest.approx(1 - c.best.epsilon / row.epsilon, abs=1e-12)
    assert c.best.saved == 0.0 and c.lower.looseness == 0.0
    alone = sdp.compare("grr:eps0=2,d=16", n=1000, delta=1e-6, bounds=["variation-ratio-published"])
    assert alone.best is None and alone.lower is None and alone.rows[0].saved is None
    assert alone.rows[0].looseness is None


def test_infinite_and_zero_eps_make_no_nan() -> None:
    bare = sdp.compare("variation-ratio:inf,1,inf", n=10, delta=1e-6)
    assert bare.best is not None and bare.best.epsilon == math.inf and bare.best.saved == 0.0
    assert bare.to_dict()["rows"][0]["epsilon"] == "inf"
    assert bare.to_dict()["local_epsilon"] == "inf"
    open_ = sdp.compare("variation-ratio:inf,0.7,4", n=10_000, delta=1e-6)
    assert open_["local"].saved == 1.0 and open_["local"].looseness == math.inf
    nothing = sdp.compare(sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]]), n=10, delta=1e-6)
    assert all(row.epsilon == 0.0 and row.saved in (0.0, None) for row in nothing.rows)
    assert all(row.looseness in (0.0, None) for row in nothing.rows)
    for c in (bare, open_, nothing):
        assert "nan" not in str(c).lower() and "nan" not in c.to_json().lower()


def test_unsound_rows_are_marked_everywhere() -> None:
    """The published reduction of GRR is refuted by a dataset at these terms (its eps is below the lower bound)."""
    c = sdp.compare("grr:eps0=3,d=16", n=1000, delta=1e-5, bounds=[*FEW, "variation-ratio-published"])
    row = c["variation-ratio-published"]
    assert row.kind == "not a bound" and row.looseness is not None and row.looseness < 0
    assert row.saved is not None and row.saved < 0
    assert c.best is not None and c.best.bound == "blanket", "an unsound row must not be the best one"
    for text in (str(c), c.to_html(), c.to_markdown()):
        assert "not a bound" in next(line for line in text.splitlines() if "variation-ratio-published" in line)
    assert "variation-ratio-published claims less: it is refuted here." in str(c)
    assert c.to_dict()["rows"][[r.bound for r in c.rows].index(row.bound)]["sound"] is False


@examples(25)
@given(st.floats(0.05, 6.0), st.integers(2, 64), st.integers(2, 10**7))
def test_shown_digits_are_on_the_safe_side(eps0: float, d: int, n: int) -> None:
    c = sdp.compare(sdp.GRR(eps0=eps0, d=d), n=n, delta=1e-6, bounds=FEW, tol=1e-3)
    for row in c.rows:
        assert float(row.shown) <= row.epsilon if row.side == "lower" else float(row.shown) >= row.epsilon
        assert row.shown in str(c)


def test_delta_rule() -> None:
    c = sdp.compare("general:eps0=1", n=1000, delta=" 0.01 / n ", bounds=["general"])
    assert c.delta == delta_at("0.01/n", 1000)
    for rule in ("0.01/m", "n", "0.01*n", "", "1e-6", "/n", "x/n", "nan/n", "-1/n", "2000/n", "0/n", "1/n/n"):
        refused("^delta must ", sdp.compare, "general:eps0=1", n=1000, delta=rule)


@pytest.mark.parametrize("n", [0, 10.5, "ten", None, True])
def test_bad_n(n: object) -> None:
    refused("^n must ", sdp.compare, "general:eps0=1", n=n, delta=1e-6)


def test_other_bad_input() -> None:
    for delta in (0, 1, None, math.nan, [1e-6]):
        refused("^delta must ", sdp.compare, "general:eps0=1", n=10, delta=delta)
    refused("^tol must ", sdp.compare, "general:eps0=1", n=10, delta=0.1, tol=1)
    refused("^mechanism must ", sdp.compare, 3, n=10, delta=0.1)
    for bounds in ("blanket", 3, b"blanket"[0]):
        refused("^bounds must be a list", sdp.compare, "general:eps0=1", n=10, delta=0.1, bounds=bounds)
    refused("^bounds must name at least one", sdp.compare, "general:eps0=1", n=10, delta=0.1, bounds=[])
    refused("did you mean 'blanket'", sdp.compare, "general:eps0=1", n=10, delta=0.1, bounds=["blankt"])
    refused("^bound must be a name", sdp.compare, "general:eps0=1", n=10, delta=0.1, bounds=[3])
    c = sdp.compare("general:eps0=1", n=10, delta=0.1, bounds=["general", "blanket"])
    refused("did you mean 'general'", c.__getitem__, "genral")
    refused("^bound must be a name", c.__getitem__, ["general"])
    with pytest.raises(sdp.BoundNotApplicableError, match="needs the whole law"):
        _ = c["blanket"]


def test_a_comparison_is_a_collection_of_rows() -> None:
    c = sdp.compare("general:eps0=1", n=100, delta=1e-6, bounds=["general", "local", "blanket"])
    assert "general" in c and "local" in c
    assert "blanket" not in c and "nonsense" not in c and 3 not in c  # absent, unknown, no name
    assert tuple(c) == c.rows and [row.bound for row in c] == ["general", "local"] and len(c) == 2


def test_auto_is_no_row_of_a_comparison() -> None:
    for bounds in (["auto"], ["blanket", "auto"]):
        refused("^bound 'auto' is the best of", sdp.compare, "general:eps0=1", n=10, delta=0.1, bounds=bounds)


def test_auto_is_a_curve_of_a_sweep() -> None:
    s = sdp.sweep("grr:eps0=1,d=8", n=[100, 10_000], delta=1e-6, bounds=["auto", "clone"])
    assert s.bounds == ("auto", "clone") and s.row("auto").kind == "upper"
    alone = [sdp.amplify("grr:eps0=1,d=8", n=n, delta=1e-6).epsilon for n in (100, 10_000)]
    assert s.epsilon("auto").tolist() == pytest.approx(alone, rel=2e-4)
    only = sdp.sweep("variation-ratio:3,0.4,3", n=[100], delta=1e-6, bounds=["auto"])  # one analysis: still auto
    assert only.bounds == ("auto",) and len(s.plot().axes[0].lines) == 2


def test_one_bound_beyond_its_range_does_not_refuse_the_others() -> None:
    """The mixture is proved for at most 1e15 messages; closed forms need no such limit."""
    spec = "cheu-zhilyaev:flip=0.25,d=16,messages=3"
    c = sdp.compare(spec, n=10**15, delta=1e-6, bounds=["blanket", "clone", "general", "local"])
    assert {row.bound for row in c} == {"clone", "general", "local"}
    assert "at most 1e15 messages" in c.absent["blanket"]
    s = sdp.sweep(spec, n=[10**6, 10**15], delta=1e-6, bounds=["blanket", "local"])
    assert s.epsilon("blanket").mask.tolist() == [False, True] and list(s.reasons("blanket")) == [10**15]
    refused("at most 1e15 messages", sdp.compare, spec, n=10**15, delta=1e-6, bounds=["blanket", "balls-formula"])


def test_nothing_applies() -> None:
    c = sdp.compare("general:eps0=1", n=10, delta=0.1, bounds=["blanket"])
    assert c.rows == () and c.best is None and c.lower is None
    assert "blanket: needs the whole law" in str(c) and "best saves" not in str(c)  # no empty table
    assert json.loads(c.to_json())["best"] is None
    assert len(c.to_frame()) == 0


def test_a_round_and_a_repeated_name() -> None:
    c = sdp.compare(
        sdp.ShuffledPair([0.75, 0.25], [0.25, 0.75], [0.25, 0.25]), n=100, delta=1e-6, bounds=["blanket"] * 3
    )
    assert c.mechanism == "round" and len(c.rows) == 1


def test_frozen_and_hashable() -> None:
    c = sdp.compare("general:eps0=1", **SMALL)
    with pytest.raises(dataclasses.FrozenInstanceError):
        c.n = 3  # type: ignore[misc]
    again = sdp.compare("general:eps0=1", **SMALL)
    assert c == again and hash(c) == hash(again)


# -- formats --------------------------------------------------------------------------------------------------------


def hostile() -> Comparison:
    row = Row("<b>x|y</b>", "a & b", 1.0, "upper", True, 0.0, None, '"quoted", <i>source</i>')
    return Comparison("<script>", "d", 5, 1e-6, 1e-4, 1.0, "replace-one", "this", (row,), {"<u>": "<why> & why."})


def test_html_is_escaped() -> None:
    for text in (hostile().to_html(), hostile()._repr_html_()):
        for tag in ("<script", "<b>", "<i>", "<u>", "<why"):
            assert tag not in text
        assert "&lt;script&gt;" in text and "a &amp; b" in text and "&lt;why&gt; &amp; why." in text
    assert hostile().to_html().startswith("<!DOCTYPE html>")


def test_markdown_and_csv_keep_their_cells() -> None:
    assert "| <b>x\\|y</b> |" in hostile().to_markdown()
    line = list(csv.reader(io.StringIO(hostile().to_csv())))[1]
    assert line[0] == "<b>x|y</b>" and line[-1] == '"quoted", <i>source</i>' and line[6] == ""


def test_json_round_trip() -> None:
    c = sdp.compare("grr:eps0=2,d=16", n=1000, delta=1e-6)
    data = json.loads(c.to_json(), parse_constant=pytest.fail)
    assert data == c.to_dict()
    assert [row["bound"] for row in data["rows"]] == [row.bound for row in c.rows]
    assert data["rows"][3]["epsilon"] == c.rows[3].epsilon, "no digit is lost"
    assert data["best"] == "blanket" and data["absent"] == c.absent


def test_frame() -> None:
    c = sdp.compare("grr:eps0=2,d=16", **SMALL)
    frame = c.to_frame()
    assert list(frame["bound"]) == [row.bound for row in c.rows]
    assert frame["epsilon"].tolist() == [row.epsilon for row in c.rows]
    assert frame["saved"].isna().tolist() == [row.side == "lower" for row in c.rows]


def test_text_fits_a_terminal() -> None:
    text = str(sdp.compare("grr:eps0=2,d=16", n=1000, delta=1e-6))
    table = [line for line in text.splitlines() if line.split("  ")[0] in BOUNDS]
    assert len(table) >= 15 and max(map(len, table)) <= 80


@pytest.mark.parametrize("kind", ["comparison", "sweep"])
def test_missing_pandas_is_one_sentence(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = (
        sdp.compare("general:eps0=1", **SMALL)
        if kind == "comparison"
        else sdp.sweep("general:eps0=1", n=[9], delta=0.1, bounds=FEW)
    )
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sdp.ShuffleDPError, match=r"^[^\n]*pip install '\.\[frame\]' in a checkout of shuffledp\.$"):
        made.to_frame()


# -- sweep ----------------------------------------------------------------------------------------------------------


def test_points_are_comparisons() -> None:
    s = sdp.sweep("grr:eps0=1,d=8", n=[100, 1e4], delta="0.01/n", bounds=FEW)
    assert s.variable == "n" and s.values == (100, 10_000) and s.rule == "0.01/n"
    for n, point in zip(s.values, s.points, strict=True):
        assert point == sdp.compare("grr:eps0=1,d=8", n=int(n), delta=delta_at("0.01/n", int(n)), bounds=FEW)
    for name in s.bounds:
        assert s.epsilon(name).tolist() == [point[name].epsilon for point in s.points]
        assert s.ratio(name).tolist() == [1.0 / point[name].epsilon for point in s.points]
    assert "delta = 0.01/n" in s.title and "n = 100 to 10,000" in s.title


def test_a_spec_lets_integers_follow_and_a_mechanism_keeps_them() -> None:
    eps0 = [0.5, 4.0]
    spec = sdp.sweep("subset:d=16", eps0=eps0, n=1000, delta=1e-6, bounds=["blanket"])
    assert [p.mechanism for p in spec.points] == [sdp.mechanism(f"subset:eps0={e},d=16").spec for e in eps0]
    fixed = sdp.sweep(sdp.Subset(eps0=0.5, d=16), eps0=eps0, n=1000, delta=1e-6, bounds=["blanket"])
    k = sdp.Subset(eps0=0.5, d=16).k
    assert [p.mechanism for p in fixed.points] == [sdp.Subset(eps0=e, d=16, k=k).spec for e in eps0]
    assert spec.points[0] == fixed.points[0] and spec.points[1] != fixed.points[1]
    made = sdp.sweep(lambda e: sdp.Subset(eps0=e, d=16), eps0=np.array(eps0), n=1000, delta=1e-6, bounds=["blanket"])
    assert made.points == spec.points
    assert (spec.mechanism, fixed.mechanism, made.mechanism) == ("subset:d=16", f"subset:d=16,k={k}", "subset:d=16")
    assert sdp.sweep("general", eps0=[1.0], n=9, delta=0.1, bounds=["general"]).points[0].mechanism == "general:eps0=1"


def test_one_eps0_may_complete_a_spec() -> None:
    s = sdp.sweep("grr:d=4", eps0=1.0, n=[10, 100], delta=1e-6, bounds=["blanket"])
    assert s.variable == "n" and s.points[0].mechanism == "grr:eps0=1,d=4"


@pytest.mark.parametrize("values", [[1e-8, 1e-4], (1e-8, 1e-4), np.array([1e-8, 1e-4])], ids=["list", "tuple", "array"])
def test_delta_sweep_falls(values: Any) -> None:
    s = sdp.sweep("grr:eps0=1,d=8", n=10_000, delta=values, bounds=FEW)
    assert s.variable == "delta" and s.values == (1e-8, 1e-4)
    for name in set(FEW) - {"local"}:
        assert s.epsilon(name)[0] > s.epsilon(name)[1]
    assert s.local_epsilon.tolist() == [1.0, 1.0]


def test_partly_absent_bounds_are_masked_with_reasons() -> None:
    """clone-closed needs eps0 <= log(n/(16 log(2/delta))): it answers for large n only."""
    s = sdp.sweep("grr:eps0=2,d=8", n=[100, 10**6], delta=1e-6, bounds=["blanket", "clone-closed", "balls-search"])
    eps = s.epsilon("clone-closed")
    assert eps.mask.tolist() == [True, False] and not np.isnan(eps.data).any()
    assert list(s.reasons("clone-closed")) == [100] and "holds for" in s.reasons("clone-closed")[100]
    assert s.ratio("clone-closed").mask.tolist() == [True, False]
    assert s.epsilon("blanket").mask.tolist() == [False, False] and s.reasons("blanket") == {}
    assert list(s.absent) == ["balls-search"] and "balls-search" not in s.bounds
    with pytest.raises(sdp.BoundNotApplicableError, match="balls"):
        s.epsilon("balls-search")
    refused("did you mean 'blanket'", s.epsilon, "blankt")
    refused("^bound must be a name", s.ratio, None)
    data = json.loads(s.to_json(), parse_constant=pytest.fail)
    assert data == s.to_dict()
    assert data["bounds"]["clone-closed"]["epsilon"] == [None, eps[1]]
    assert data["bounds"]["clone-closed"]["reasons"].keys() == {"100"}
    assert s.to_frame()["clone-closed"].isna().tolist() == [True, False]
    lines = list(csv.DictReader(io.StringIO(s.to_csv())))
    assert lines[0]["clone-closed"] == "" and float(lines[1]["clone-closed"]) == eps[1] and lines[1]["n"] == "1000000"


def test_infinite_local_budgets_have_no_ratio() -> None:
    s = sdp.sweep("variation-ratio:inf,0.7,4", n=[10, 10**5], delta=1e-6, bounds=["variation-ratio", "local"])
    assert s.ratio("variation-ratio").mask.all() and np.isinf(s.local_epsilon).all()
    assert json.loads(s.to_json(), parse_constant=pytest.fail)["local_epsilon"] == ["inf", "inf"]
    assert s.summary().texts[0][4] == ""


def test_sweep_texts() -> None:
    s = sdp.sweep("grr:d=8", eps0=[0.5, 1], n=1000, delta=1e-6, bounds=[*FEW, "variation-ratio-published"])
    header, rows = s.table().header, s.table().texts
    assert "variation-ratio-published (not a bound)" in header and "variation-ratio-lower (lower)" in header
    assert [row[0] for row in rows] == ["0.5", "1"] and str(s).count("\n") == 5
    assert ">0.5</td>" in s.to_html() and s._repr_html_() in s.to_html()
    best = s.points[1].best
    assert best is not None and s.summary().texts[1][1:3] == [best.shown, best.bound]
    assert s.to_frame().shape == (2, 4 + len(s.bounds))


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    sdp.sweep("grr:eps0=1,d=4", n=[10, 20, 30], delta=0.1, bounds=["local"], progress=lambda *a: seen.append(a))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_sweep_refuses_before_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "shuffledp.accounting.sweeping.found_together", lambda *a, **k: pytest.fail("computed before checking")
    )
    grr = "grr:eps0=1,d=4"
    refused("^at least one of eps0, n, delta and the parameters", sdp.sweep, grr, n=10, delta=0.1)
    refused("^n must hold 1 to", sdp.sweep, grr, n=[], delta=0.1)
    refused("^n must hold 1 to", sdp.sweep, grr, n=range(1, 20_000), delta=0.1)
    for bad in ([10, 10.5], [10, 0], [10, "x"], [[10, 20]], [10, None], [[1], [1, 2]], [math.nan]):
        refused("^n must ", sdp.sweep, grr, n=bad, delta=0.1)
    for delta in ([0.1, 0.0], [0.1, 1.0], [0.1, None]):
        refused("^delta must ", sdp.sweep, grr, n=10, delta=delta)
    refused("^delta must ", sdp.sweep, grr, n=[10, 20], delta="15/n")
    for eps0 in ([1.0, -1.0], [0.0], [1.0, math.inf], ["x"]):
        refused("^eps0 must ", sdp.sweep, "grr:d=4", eps0=eps0, n=10, delta=0.1)
    refused("^tol must ", sdp.sweep, grr, n=[10], delta=0.1, tol=7)
    refused("unknown bound", sdp.sweep, grr, n=[10], delta=0.1, bounds=["nonsense-name"])
    refused("without eps0 where eps0 is given", sdp.sweep, grr, eps0=[1, 2], n=10, delta=0.1)
    refused("^eps0 must be given once", sdp.sweep, "grr:4", eps0=[1, 2], n=10, delta=0.1)
    refused("^grr needs d", sdp.sweep, "grr", eps0=[1, 2], n=10, delta=0.1)
    refused("^eps0 must be left out", sdp.sweep, "metric-laplace:1,2", eps0=[1, 2], n=10, delta=0.1)
    refused("^eps0 must be left out", sdp.sweep, "finite:matrix.csv", eps0=[1, 2], n=10, delta=0.1)
    refused("^eps0 must be left out", sdp.sweep, sdp.FiniteRandomizer(np.eye(2)), eps0=[1, 2], n=10, delta=0.1)
    refused("^unknown mechanism", sdp.sweep, "gr:d=4", eps0=[1, 2], n=10, delta=0.1)
    for subject in (sdp.GRR, 3, None):
        refused("^mechanism must ", sdp.sweep, subject, eps0=[1, 2], n=10, delta=0.1)
    refused("^mechanism must ", sdp.sweep, lambda e: e, eps0=[1, 2], n=10, delta=0.1)
    refused("^mechanism must ", sdp.sweep, lambda e: e, n=[1, 2], delta=0.1)
