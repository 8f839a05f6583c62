"""Answers as rows and in words: one tidy table for every query, in the unit of its question."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.estimation.answer import COLUMNS
from shuffledp.estimation.estimate import Estimate
from shuffledp.queries import Histogram, KeyValue, Location, Marginals, Mean, RangeQuery, VectorMean

N = 400
HISTOGRAM = Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=4")
RANGE = RangeQuery(column="x", low=0, high=8, bins=8, unit="s", mechanism="grr:eps0=4")


def questions() -> dict[str, tuple[Any, list[Any], str, int]]:
    """query, columns, unit of its first entry, number of entries."""
    number = (np.arange(N) % 8).astype(float)
    pairs = [{"tea": 8.0}, {"milk": 2.0}] * (N // 2)
    label = ["a", "b"] * (N // 2)
    return {
        "histogram": (HISTOGRAM, [label], "share of users", 3),
        "range": (RANGE, [number], "share of users", 8),
        "mean": (Mean(column="x", low=0, high=8, unit="min", mechanism="laplace:eps0=4"), [number], "min", 1),
        "vector": (VectorMean(column=("x", "y"), norm=12, unit="m", mechanism="privunit:eps0=4"), [number] * 2, "m", 2),
        "keys": (
            KeyValue(column="x", keys=["tea", "milk"], size=1, low=0, high=10, unit="pt", mechanism="pckv-grr:eps0=4"),
            [pairs],
            "share of users",
            4,
        ),
        "map": (
            Location(column=("x", "y"), west=0, east=8, south=0, north=8, across=2, up=2, eps=1.0),
            [number, number],
            "share of users",
            4,
        ),
        "marginals": (
            Marginals(labels={"x": ["a", "b"], "y": ["a", "b"]}, mechanism="grr:eps0=4"),
            [label, label],
            "share of users",
            9,
        ),
    }


def collected(query: Any, columns: list[Any], *, users: int = N, seeded: bool = False) -> Any:
    rng = np.random.default_rng(1) if seeded else None
    collector = sdp.Collector(sdp.Plan(query=query, users=users, delta=1e-6, name="weekly"))
    collector.ingest_counts(
        "0" * 32, N, query.randomizer.tally(query.randomizer.privatize(query.encode(columns), rng=rng))
    )
    return collector


@pytest.mark.heavy_cases("map")
@pytest.mark.parametrize("name", questions())
def test_every_answer_is_a_tidy_table(name: str) -> None:
    query, columns, unit, size = questions()[name]
    collector = collected(query, columns)
    answer = collector.estimate()
    frame = answer.to_frame(period="2026-W14")
    assert list(frame.columns) == list(COLUMNS) and len(frame) == size
    assert frame["unit"][0] == unit and set(frame["period"]) == {"2026-W14"}
    assert set(frame["question"]) == {query.question} and set(frame["plan"]) == {collector.plan.digest}
    assert set(frame["users"]) == {N} and set(frame["epsilon"]) == {collector.plan.epsilon}
    assert set(frame["delta"]) == {1e-6} and not frame["item"].duplicated().any()
    low, high = answer.interval()
    assert frame["value"].tolist()[: answer.value.size] == answer.value.tolist()
    assert frame["low"].tolist()[: low.size] == low.tolist() and frame["high"].tolist()[: high.size] == high.tolist()
    if name == "keys":
        assert frame["item"].tolist() == ["tea", "milk", "mean of tea", "mean of milk"]
        assert frame["unit"].tolist()[2:] == ["pt", "pt"]
        assert frame["value"].tolist()[2:] == answer.means.value.tolist()
    rows = list(csv.DictReader(io.StringIO(answer.to_csv(period="2026-W14"))))
    assert [float(row["value"]) for row in rows] == frame["value"].tolist()


@pytest.mark.heavy
def test_views_are_answers_of_their_own(tmp_path: Path) -> None:
    columns = [(np.arange(N) % 8).astype(float)]
    answer = collected(RANGE, columns).estimate()
    views = [answer, answer.fitted(), answer.counts(), answer.top(3), answer.counts().top(3), answer.quantiles([0.5])]
    views += [answer.quantiles([0.5, 0.9]), answer.quantiles([0.5], level=0.9), answer.fitted().quantiles([0.5])]
    views += [answer.cdf(), answer.range(0, 4), answer.consistent(), answer.fitted().cdf()]
    asked = [view.provenance.asked for view in views]
    assert len(set(asked)) == len(asked), "no two of them are taken for each other"
    path = tmp_path / "table.csv"
    assert [view.append_to(path, period="1") for view in views] == [True] * len(views)
    assert [view.append_to(path, period="1") for view in views] == [False] * len(views)
    lines = path.read_text("utf-8").count("\n")
    assert lines == 1 + sum(len(view.tidy()) for view in views)
    with pytest.raises(sdp.ParameterError, match=r"^table must hold one answer for each plan and question and period"):
        collected(RANGE, [columns[0][::-1] ** 0]).estimate().append_to(path, period="1")
    assert path.read_text("utf-8").count("\n") == lines and answer.append_to(path, period="2")


def test_only_what_holds_is_claimed() -> None:
    label = [["a", "b"] * (N // 2)]
    early = collected(HISTOGRAM, label, users=2 * N)
    with pytest.raises(sdp.ParameterError, match="every batch must have"):
        early.estimate()
    found = early.estimate(release_early=True).to_frame()
    came = sdp.amplify(early.plan.query.randomizer, n=N, delta=early.plan.delta)
    assert set(found["epsilon"]) == {came.epsilon} and set(found["delta"]) == {came.delta}, "of those who came"
    seeded = collected(HISTOGRAM, label, seeded=True).estimate().to_frame()
    assert set(seeded["epsilon"]) == {math.inf}
    bare = Estimate(value=np.array([0.5]), stderr=np.array([0.1]), n=10)
    assert bare.to_frame()["epsilon"].isna().all() and bare.to_frame()["plan"].tolist() == [""]
    with pytest.raises(sdp.ParameterError, match=r"^answer must come from a plan [^\n]*; ask a Collector for it\.$"):
        bare.append_to("table.csv")


@pytest.mark.heavy
def test_counts_are_shares_times_users() -> None:
    answer = collected(HISTOGRAM, [["a", "b"] * (N // 2)]).estimate()
    found = answer.counts()
    numbers = [(e.value, e.stderr, *e.interval()) for e in (found, answer)]
    assert all(np.allclose(ours, N * theirs, rtol=1e-12) for ours, theirs in zip(*numbers, strict=True))
    assert np.allclose(found.interval(of="population")[1], N * answer.interval(of="population")[1], rtol=1e-12)
    assert found.to_frame()["unit"].tolist() == ["users"] * 3 and found.labels == answer.labels
    assert "number of users" in found.table().text()
    assert found.words() == answer.words(), "the same error in both"
    for name in ("keys", "map"):
        query, columns, *_ = questions()[name]
        answer = collected(query, columns).estimate()
        assert type(answer.counts()) is type(answer) and np.allclose(answer.counts().value, N * answer.value)
    query, columns, *_ = questions()["mean"]
    with pytest.raises(sdp.ParameterError, match=r"^counts must be asked of shares of users, got mean; [^\n]*\.$"):
        collected(query, columns).estimate().counts()
    with pytest.raises(sdp.ParameterError, match="got number of users"):
        found.counts()


def test_words_are_in_the_unit_and_on_the_safe_side() -> None:
    mean = Estimate(
        value=np.array([12.5234]), stderr=np.array([0.0211]), n=100, names=("wait",), unit="min", quantity="mean"
    )
    assert mean.words() == ["wait: 12.52 min, 95 % from 12.48 to 12.57", "The standard error is 0.022 min."]
    text = mean.table().text().splitlines()[-1].split()
    low, high = (float(end[0]) for end in mean.interval())
    assert float(text[3]) <= low and high <= float(text[4]) and float(text[2]) >= 0.0211
    share = Estimate(value=np.full(2, 0.5), stderr=np.array([5.26e-5, 1e-5]), n=1_200_000, quantity="share of users")
    assert share.words() == ["The largest standard error is 64 of 1,200,000 users (0.0053 %)."]
    assert share.consistent("simplex").words()[0].endswith("(0.0053 %), before the step 'simplex'.")
    nothing = Estimate(value=np.zeros(1), stderr=np.full(1, np.inf), n=1, quantity="mean", unit="min", names=("x",))
    assert nothing.words()[0].startswith("x: not estimated") and nothing.words()[1:] == [
        "Not estimated, as no report tells of them: 1 of 1."
    ]
    assert Estimate(value=np.zeros(0), stderr=np.zeros(0), n=0).words() == []


def test_a_mean_of_nobody_is_unknown() -> None:
    query, _, *_ = questions()["keys"]
    answer = query.exact([[{"tea": 8.0}] * 10])
    assert np.isnan(answer.means.value[1]) and answer.to_frame()["value"].isna().tolist() == [False, False, False, True]
    assert "mean of milk: unknown" in answer.words()[1] and "nan" not in answer.table().text()
    assert answer.to_csv().splitlines()[-1].startswith(",,mean of milk,,")


def test_quantiles() -> None:
    answer = collected(RANGE, [(np.arange(N) % 8).astype(float)]).estimate()
    found = answer.quantiles([0.5, 0.995, 0.5])
    assert found.labels == ["p50", "p99.5"] and found.unit == "s" and found.n == N
    assert [tuple(row[1:]) for row in zip(found.labels, found.value, found.low, found.high, strict=True)] == [
        tuple(answer.quantile(share)) for share in (0.5, 0.995)
    ]
    assert found.words()[0].startswith("p50: ") and " s, 95 % from " in found.words()[0]
    assert found.to_frame()["stderr"].isna().all() and found.to_dict()["shares"] == [0.5, 0.995]
    assert "90% from" in answer.quantiles([0.5], level=0.9).table().text()
    assert repr(found).startswith("<Quantiles p50: ")
    assert len(answer.quantiles(0.5).labels) == 1
    for bad, words in (([], "quantiles must be 1 to 1,000 shares, got 0"), ([0.5] * 1001, "quantiles must be 1 to")):
        with pytest.raises(sdp.ParameterError, match=rf"^{words}[^\n]*\.$"):
            answer.quantiles(bad)
    for share in (0.0, 1.0, math.nan, "x"):
        with pytest.raises(sdp.ParameterError, match=r"^quantiles must [^\n]*\.$"):
            answer.quantiles([share])


def test_a_period_is_a_short_text() -> None:
    answer = collected(HISTOGRAM, [["a", "b"] * (N // 2)]).estimate()
    for bad in ("x" * 101, "a\nb", 14):
        with pytest.raises(sdp.ParameterError, match=r"^period must be a short text such as '2026-W14', got [^\n]*\.$"):
            answer.to_frame(period=bad)


def test_a_label_that_no_file_can_hold_is_escaped(tmp_path: Path) -> None:
    query = Histogram(column="x", labels=["\ud800", "b"], mechanism="grr:eps0=4")
    plain = Estimate(value=np.ones(1), stderr=np.ones(1), n=1, names=query.domain.names[:1])
    assert plain.to_frame()["item"].tolist() == ["\\ud800"] and plain.to_csv().encode("utf-8")
