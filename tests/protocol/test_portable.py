"""Plans as programs: vectors, inputs, estimates from what they draw, what rounding costs, and what is refused."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from house import vectors
from house.vectors import CASES, FOLDER, READING, TWICE
from shuffledp.engines.columns import as_column
from shuffledp.mechanisms.catalog import CATALOG
from shuffledp.protocol.messages import from_bytes
from shuffledp.protocol.portable import charge, draw, draw_rows, portable, tau
from shuffledp.queries.columns import Written
from shuffledp.randomness.program_input import read_input
from shuffledp.randomness.thresholds import ONE

Q = sdp.queries


def _plan(query: Any, **more: Any) -> sdp.Plan:
    return sdp.Plan(query=query, **{"users": 10_000, "delta": 1e-6, **more})


# -- vectors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_vectors(path: Any) -> None:
    """These random bytes, all of them, give these messages."""
    held = json.loads(path.read_text("utf-8"))
    assert len(held["vectors"]) >= 6
    for vector in held["vectors"]:
        left = bytearray.fromhex(vector["random"])

        def take(count: int, left: bytearray = left) -> bytes:
            found = bytes(left[:count])
            del left[:count]
            assert len(found) == count
            return found

        rows = vector["rows"] if "rows" in vector else [vector["value"]]
        report = draw_rows(held["portable"], rows, take)
        assert [message.hex() for message in report] == vector["report"]
        assert not left
        assert len(report) <= held["portable"]["slots"]
        assert {len(message) for message in report} <= {held["portable"]["message_bytes"]}


def test_there_are_vectors_for_every_mechanism_that_a_plan_can_publish() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {*CASES, *TWICE, *READING}
    refused = {"laplace", "privunit", "prefix-hash", "metric-laplace", "planar-laplace", "planar-cells", "augmented"}
    no_plan = {"general", "variation-ratio", "finite", "metric-general", "exponential-metric", "joint"}
    assert {case[0].randomizer.name for case in CASES.values()} == set(CATALOG) - refused - no_plan


@pytest.mark.parametrize("name", [*CASES, *TWICE, *READING])
def test_the_files_hold_what_plans_give(name: str) -> None:
    """To the last digit, whichever machine wrote them."""
    held = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["portable"]
    assert json.dumps(portable(vectors.plan(name))) == json.dumps(held)


# -- inputs and laws against the query and its estimate ---------------------------------------------------------------

_INPUTS = [
    (
        Q.Histogram(column="x", labels=["a", 3, True, "3"], mechanism="grr:eps0=1"),
        ["a", 3, 3.0, "3", True, 1, None, 3.5],
    ),
    (Q.Histogram(column="x", labels=["a", "b"], other="b", mechanism="grr:eps0=1"), ["a", "b", None, "c"]),
    (
        Q.RangeQuery(column="x", low=-1, high=2, bins=7, mechanism="subset:eps0=1"),
        [-1, 0.4, 2, 99, -5, None, "1.5", "x"],
    ),
    (
        Q.RangeQuery(column="x", low=0, high=3, bins=9, branching=3, missing="option", mechanism="grr:eps0=1"),
        [None, "x", 2.9, 3, 0],
    ),
    (
        Q.Marginals(labels={"x": ["a"], "y": [1, 2], "z": [True, False]}, mechanism="grr:eps0=1"),
        [["a", 2, False], [None, 1, None], ["q", 7, True]],
    ),
    (Q.SetFrequency(column="x", labels=list("abcd"), size=3, mechanism="privset:eps0=1"), [["d", "a"], [], None, "b"]),
    (
        Q.SetFrequency(column="x", labels=list("abcd"), size=3, separator="|", other="z", mechanism="wheel:eps0=1"),
        ["a| d", "q|q", None, ["b", "c", "d"]],
    ),
]


@pytest.mark.parametrize(("query", "values"), _INPUTS)
def test_inputs_are_those_of_the_query(query: Any, values: list[Any]) -> None:
    """Where nothing is drawn, x is what the query gives its mechanism."""
    made = portable(_plan(query))
    many = len(query.columns)
    for value in values:
        row = value if many > 1 else [value]
        found = read_input(made["input"], row, lambda count: pytest.fail("nothing is drawn"))
        coded = query.encode([[entry] for entry in row])
        if made["law"].get("divide") and isinstance(coded, list):
            assert [found // made["law"]["divide"] ** k for k in range(len(coded))] == [int(c[0]) for c in coded]
        elif made["input"]["kind"] == "items":
            dummies = len(query.names) + np.arange(query.size)
            assert found == np.where(coded[0] < 0, dummies, coded[0]).tolist()
        else:
            assert found == ([int(c[0]) for c in coded] if isinstance(coded, list) else coded.tolist()[0])


@pytest.mark.parametrize("name", READING)
def test_clients_engines_and_programs_read_alike(name: str) -> None:
    """What a value is read as, written down: by the program, by the client, and as columns of all kinds."""
    query, cases = READING[name]
    made = portable(vectors.plan(name))
    values, places = [value for value, _ in cases], [place for _, place in cases]
    never = pytest.fail
    assert [read_input(made["input"], [value], lambda count: never("nothing is drawn")) for value in values] == places

    def read(column: Any) -> list[Any]:
        coded = np.asarray(query.encode([column]))
        if made["input"]["kind"] != "items":
            return list(coded.tolist())
        return np.where(coded < 0, len(query.names) + np.arange(query.size), coded).tolist()  # type: ignore[attr-defined]

    assert read(values) == places
    texts, spelled = zip(*[case for case in cases if isinstance(case[0], str)], strict=True)
    assert read(np.array(texts, dtype=object)) == read(np.array(texts)) == list(spelled)
    arrow = pytest.importorskip("pyarrow")
    for kind in (arrow.string(), arrow.large_string()):
        assert read(as_column(arrow.array(texts, kind))) == list(spelled)
    assert read(as_column(arrow.array(texts).dictionary_encode())) == list(spelled)
    if made["input"]["kind"] == "bins":
        assert read([Written(text) for text in texts]) == list(spelled)


def _answered(name: str) -> dict[str, tuple[list[Any], list[float]]]:
    """Values of users, and the answer that they make."""
    if CASES[name][0].kind == "mean":
        columns = len(CASES[name][0].columns)
        return {"mean": ([12.0, 48.0] if columns == 1 else [[12.0] * columns, [48.0] * columns], [30.0] * columns)}
    if CASES[name][0].kind == "histogram":
        labels = CASES[name][0].domain.labels
        first = int(CASES[name][0]._first)
        shares = [0.5, 0.5] + [0.0] * (CASES[name][0].domain.size - 2)
        return {"share": ([labels[0], labels[1]], shares[first:])}
    if CASES[name][0].kind == "sets":
        return {"share": ([["a", "b"], ["a"]], [1.0, 0.5, 0.0, 0.0])}
    return {}


@pytest.mark.parametrize("name", [name for name in CASES if _answered(name)])
def test_what_is_drawn_gives_the_answer(name: str) -> None:
    """Reports that the program draws, in the hands of the mechanism's own estimator, are unbiased."""
    made, query, users = portable(vectors.plan(name)), CASES[name][0], 600
    source = random.Random(name)
    (values, truth), *_ = _answered(name).values()
    messages = [m for i in range(users) for m in draw(made, values[i % len(values)], source.randbytes)]
    m = query.randomizer
    data = from_bytes(m.codec, b"".join(messages))
    found = query.answer(m.tally(data, users=users))
    value = found.value[0] if name == "pckv-grr-columns" else found.value
    if name == "pckv-grr-columns":
        truth = [1.0, 1.0]
        value = found.value
    assert np.all(np.abs(np.ravel(value)[: len(truth)] - truth) < 5.0 * np.ravel(found.stderr)[: len(truth)])


@pytest.mark.parametrize(
    "name", ["hierarchical-grr", "parallel", "parallel-marginals", "parallel-bits", "pckv-grr", "wheel"]
)
def test_large_laws_agree_with_the_sampler(name: str) -> None:
    """Messages of the program and of ``privatize``, for one value: two samples of one law (chi square)."""
    made, query, users = portable(vectors.plan(name)), CASES[name][0], 3000
    source, value = random.Random(name), CASES[name][1][0]
    own = [message for _ in range(users) for message in draw(made, value, source.randbytes)]
    client, rng = sdp.Client(vectors.plan(name)), np.random.default_rng(5)
    inputs = query.inputs([[entry] * users for entry in query.entries(value)], rng=rng)
    from shuffledp.protocol.messages import to_bytes

    codec = query.randomizer.codec
    other = [bytes(x) for x in to_bytes(codec, query.randomizer.privatize(inputs, rng=rng).data)]
    assert len(client.report(value)[0]) == made["message_bytes"]
    if name == "wheel":  # seeds are nearly all different: the places of the points instead
        tallies = [query.randomizer.tally(from_bytes(codec, b"".join(x)), users=users).counts for x in (own, other)]
        spread = np.sqrt(np.maximum(tallies[0] + tallies[1], 1.0))
        assert np.all(np.abs(tallies[0] - tallies[1]) < 5.0 * spread)
        return
    kinds = sorted({*own, *other})
    table = np.array([[sample.count(kind) for kind in kinds] for sample in (own, other)])
    table = np.column_stack([table[:, table.sum(axis=0) >= 10], table[:, table.sum(axis=0) < 10].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    even = table.sum(axis=0) / 2.0
    excess = ((table - even) ** 2 / even).sum() - (table.shape[1] - 1)
    assert excess < 5.0 * math.sqrt(2.0 * (table.shape[1] - 1)) + 5.0


def test_rows_of_a_user_are_drawn_without_replacement() -> None:
    plan = _plan(Q.Histogram(column="x", labels=list("abc"), mechanism="grr:eps0=50"), reports_per_user=2)
    made = portable(plan)
    assert made["slots"] == 2
    source = random.Random(1)
    pairs = {tuple(m[0] for m in draw_rows(made, ["a", "b", "c"], source.randbytes)) for _ in range(200)}
    assert pairs == {(i, j) for i in range(3) for j in range(3) if i != j}
    assert [m[0] for m in draw_rows(made, [], source.randbytes)] == [3, 3]


def test_a_row_of_the_wrong_length_is_refused_and_an_object_is_read_by_name() -> None:
    made = portable(vectors.plan("duchi"))
    with pytest.raises(
        sdp.ParameterError, match="value must have one entry for each of x, y, z, got list; pass a mapping"
    ):
        draw(made, [1, 2], random.Random(0).randbytes)
    assert draw(made, {"y": 1, "x": 2}, random.Random(0).randbytes) == draw(
        made, [2, 1, None], random.Random(0).randbytes
    )


def test_more_messages_than_slots_are_refused() -> None:
    made = {**portable(vectors.plan("pure-dump")), "slots": 1}
    with pytest.raises(sdp.ParameterError, match="messages must fit 1 slots, got 3"):
        draw(made, "a", random.Random(0).randbytes)


# -- what it costs ----------------------------------------------------------------------------------------------------


def test_laws_of_one_message_cost_next_to_nothing() -> None:
    plan = vectors.plan("unary")
    made = portable(plan)
    assert tau(plan, made) == Fraction(10, ONE)
    assert 0.0 < charge(plan, made, users=10_000, epsilon=1.0) < 1e-32
    assert charge(plan, made, users=10_000, epsilon=701.0) == math.inf


@pytest.mark.parametrize("name", ["pure-dump-poisson", "balcer-coin", "poisson-histogram", "poisson-sum"])
def test_slots_are_as_many_as_delta_can_pay_for(name: str) -> None:
    """The chance that a Poisson number is above the slots, from its sum; one slot fewer would cost too much."""
    from mpmath import mp, mpf

    plan = vectors.plan(name)
    made = portable(plan)
    mean = plan.query._portable()[1]["poisson"]
    most = made["law"]["first"] + len(made["law"]["count"])
    with mp.workdps(60):
        m = mpf(mean.numerator) / mean.denominator
        beyond, fewer = (
            1 - sum(mp.exp(-m) * m**k / mp.factorial(k) for k in range(top + 1)) for top in (most, most - 1)
        )
        cost, less = (float((1 + mp.exp(plan.epsilon)) * plan.users * tail) for tail in (beyond, fewer))
    assert cost <= charge(plan, made, users=plan.users, epsilon=plan.epsilon) <= 0.01 * plan.delta
    assert less > 0.004 * plan.delta


def test_the_distance_bounds_the_truth() -> None:
    """tau of a table is at least the exact distance between thresholds and weights."""
    plan = vectors.plan("binomial")
    made = portable(plan)
    for row, listed in zip(plan.query.randomizer._weights(), made["law"]["rows"], strict=True):
        ends = [Fraction(0), *(Fraction(int(text, 16), ONE) for text in listed), Fraction(1)]
        exact = sum(abs((b - a) - Fraction(w, sum(row))) for a, b, w in zip(ends, ends[1:], row, strict=False)) / 2
        assert exact <= tau(plan, made)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            Q.Mean(column="x", low=0, high=1, mechanism="laplace:eps0=1"),
            "got laplace; use window, binomial or poisson-sum",
        ),
        (
            Q.VectorMean(column=("x", "y"), norm=1, mechanism="privunit:eps0=4"),
            "got privunit; use window-vector, duchi or harmony",
        ),
        (
            Q.HeavyHitters(column="x", length=2, mechanism="prefix-hash:eps0=2,salt=1"),
            "got prefix-hash; use grr, subset or pure-dump on listed options",
        ),
        (
            Q.Location(column=("x", "y"), west=0, east=6, south=0, north=4, across=3, up=2, eps=1.0),
            "got planar-cells; use grr, subset or pure-dump on listed options",
        ),
        (
            Q.SetFrequency(column="x", labels=list("abc"), size=1, together=2, mechanism="privset:eps0=1"),
            "together must be 1 for every client to run it, got 2; ask for items",
        ),
        (Q.Histogram(column="x", labels=[2**60], mechanism="grr:eps0=1"), "labels must be whole numbers below 2"),
        (
            Q.Histogram(column="x", labels=list("ab"), mechanism="poisson-histogram:poisson_per_index=6600"),
            "a report must have at most 20,000 slots, got 2",
        ),
        (
            Q.Mean(column="x", low=0, high=1, mechanism="window:eps0=9,d=4000,cells=16"),
            "a law must list at most 50,000 numbers to be published, got 63,9",
        ),
    ],
)
def test_laws_that_clients_cannot_run_are_refused_in_one_sentence(query: Any, words: str) -> None:
    with pytest.raises(sdp.ParameterError) as caught:
        portable(_plan(query))
    assert words in str(caught.value)
    assert str(caught.value).count("\n") == 0


@dataclass(frozen=True, kw_only=True)
class Otherwise(sdp.GRR):
    """Draws otherwise than GRR and does not say how."""

    name = "otherwise"


def test_the_law_of_a_class_of_ones_own_is_not_guessed() -> None:
    plan = _plan(Q.Histogram(column="x", labels=list("ab"), mechanism=Otherwise(eps0=1.0, d=3)))
    with pytest.raises(sdp.ParameterError, match="must have a finite law, small enough to be listed"):
        portable(plan)


@dataclass(frozen=True, kw_only=True)
class Stated(Otherwise):
    """States its law."""

    name = "stated"

    def _portable_law(self) -> dict[str, Any]:
        return {"kind": "uniform", "size": self.d}


def test_a_law_of_ones_own_is_run() -> None:
    plan = _plan(Q.Histogram(column="x", labels=list("ab"), mechanism=Stated(eps0=1.0, d=3)))
    assert portable(plan)["law"] == {"kind": "uniform", "size": 3}


def test_the_page_shows_what_the_plan_gives() -> None:
    from reference.places import ROOT

    page = (ROOT / "docs" / "shuffler" / "laws.md").read_text("utf-8")
    shown = json.loads(page.partition("```json\n")[2].partition("```")[0])
    fruit = Q.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    assert json.dumps(portable(_plan(fruit))) == json.dumps(shown)
