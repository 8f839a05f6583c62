"""Places on a map: planar Laplace noise between cells."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special

import shuffledp as sdp
from reference.calibrated import answers, calibrated, repeats, round_trip
from shuffledp.mechanisms.metric import planar_cells
from shuffledp.mechanisms.metric.planar_cells import PlanarCells, _corner
from shuffledp.queries import Location


def town(**changed: Any) -> Location:
    given = {"column": ("x", "y"), "west": -3, "east": 3, "south": 0, "north": 4, "across": 3, "up": 2, "eps": 0.8}
    return Location(**{**given, **changed})


def places(n: int = 2000) -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.normal(1.0, 2.0, size=n), rng.normal(3.0, 1.5, size=n)]


@pytest.mark.heavy
@repeats
def test_unbiased_with_the_right_errors(repeats: int) -> None:
    query, values = town(), places()
    truth = query.exact(values)
    assert truth.value.sum() == pytest.approx(1.0)
    assert truth.value[0] == np.mean((values[0] < -1) & (values[1] < 2))
    calibrated(answers(query, values, repeats, seed=1), truth.value)


def test_the_mass_of_a_rectangle() -> None:
    mass = integrate.dblquad(lambda y, x: math.exp(-math.hypot(x, y)) / (2 * math.pi), 0, 0.7, 0, 2.3, epsabs=1e-12)[0]
    assert float(_corner(np.array(0.7), np.array(-2.3))) == pytest.approx(-mass, abs=1e-11)
    for a in (0.01, 0.3, 5.0):  # the marginal density is x K1(x)/pi
        strip = integrate.quad(lambda x: x * special.k1(x) / (2 * math.pi), 0, a, epsabs=1e-14, limit=300)[0]
        assert float(_corner(np.array(a), np.array(math.inf))) == pytest.approx(strip, abs=2e-9)


@pytest.mark.heavy
def test_each_corner_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def corner(a: Any, b: Any) -> Any:
        asked.append(np.broadcast(a, b).size)
        return _corner(a, b)

    monkeypatch.setattr(planar_cells, "_corner", corner)
    cells = PlanarCells(d01=9.0, dmax=9.0, across=6, up=5, wide=0.7, high=1.1)
    rows = cells._rows
    assert sum(asked) <= (2 * 6 + 2) * (2 * 5 + 2)  # not 30 times 42
    for i, j in ((0, 0), (7, 22), (29, 4)):
        x, y = (0.7 * (j % 6 - i % 6), 1.1 * (j // 6 - i // 6))
        left, right = (-np.inf if j % 6 == 0 else x - 0.35), (np.inf if j % 6 == 5 else x + 0.35)
        low, high = (-np.inf if j // 6 == 0 else y - 0.55), (np.inf if j // 6 == 4 else y + 0.55)
        ends = [(right, high, 1), (left, high, -1), (right, low, -1), (left, low, 1)]
        mass = sum(sign * float(_corner(np.array(a), np.array(b))) for a, b, sign in ends)
        assert rows[i, j] == pytest.approx(mass, abs=1e-13)


@pytest.mark.heavy
def test_the_guarantee_covers_the_middles_of_the_cells() -> None:
    """Neighbors are as far apart as their cells may make them, and everybody else as the map allows."""
    near: Any = town(near=0.5).randomizer
    assert near.d01 == pytest.approx(0.8 * (0.5 + math.hypot(2, 2)), rel=1e-8)
    assert near.dmax == pytest.approx(0.8 * math.hypot(4, 2), rel=1e-8) and near.dmax >= 0.8 * math.hypot(4, 2)
    anywhere: Any = town().randomizer
    assert anywhere.d01 == anywhere.dmax == near.dmax
    rows = anywhere.probabilities()
    assert np.log(rows.max(axis=0) / rows.min(axis=0)).max() <= anywhere.local_epsilon
    few = [sdp.amplify(m, n=10_000, delta=1e-6).epsilon for m in (near, anywhere)]
    assert few[0] <= few[1]
    # by data processing no more than the noisy place itself
    plane = sdp.amplify(sdp.PlanarLaplace(d01=anywhere.d01, dmax=anywhere.dmax), n=10_000, delta=1e-6)
    assert few[1] == pytest.approx(plane.epsilon, rel=1e-9)


def test_every_row_gives_an_input() -> None:
    query = town()
    cells = query.encode([[None, -99, 99, float("nan"), "x", 0], [None, 99, -99, 1, [], float("inf")]])
    assert cells.tolist() == [4, 3, 2, 1, 4, 4]
    assert town(missing=(-3, 0)).encode([[None], [None]]).tolist() == [0]
    query.randomizer.privatize(cells)
    client = sdp.Client(sdp.Plan(query=query, users=1000, delta=1e-6))
    assert {tuple(map(len, client.report(row))) for row in (None, [1, 2], {"x": 1}, ["a", None])} == {(1,)}


@pytest.mark.heavy_cases("{'near'*")
@pytest.mark.parametrize("changed", [{}, {"near": 1.0, "missing": (0, 1), "unit": "m"}], ids=str)
def test_the_plan_file(changed: dict[str, Any]) -> None:
    query = round_trip(town(**changed)).query
    assert query.missing == changed.get("missing") and query.column == ("x", "y")


def test_what_is_refused() -> None:
    for changed, words in (
        ({"column": "x"}, "column must name"),
        ({"west": 5}, "east must be above west"),
        ({"eps": 0}, "eps must"),
        ({"near": 100}, "near must"),
        ({"across": 2000}, "across must"),
        ({"across": 100, "up": 100}, "cells"),
        ({"missing": (99, 0)}, "missing must"),
        ({"missing": (1, 2, 3)}, "missing must be a place"),
        ({"eps": 1e-4}, "wide must"),
    ):
        with pytest.raises(sdp.ParameterError, match=words):
            town(**changed)
    with pytest.raises(sdp.ParameterError, match="dmax must be at least"):
        PlanarCells(d01=1.0, dmax=1.0, across=3, up=1, wide=1.0, high=1.0)


@pytest.mark.heavy
def test_the_map() -> None:
    query, values = town(), places()
    answer: Any = answers(query, values, 1, seed=0)[0]
    assert answer.map.shape == (2, 3) and answer.labels[3] == "-3 to -1 by 2 to 4"
    assert len(answer.plot().axes) == 2 and len(answer.plot(truth=query.exact(values)).axes) == 3  # with color bars
    assert answer.plot().axes[0].get_xlabel() == "east (km)"
    assert len(answer.top(2).plot().axes) == 1
    assert answer.consistent().value.min() >= 0


@pytest.mark.heavy
def test_a_client_loads_no_scipy(tmp_path: Any) -> None:
    sdp.Plan(query=town(), users=1000, delta=1e-6).save(tmp_path / "plan.json")
    code = (
        f"import sys, shuffledp as s; s.Client({str(tmp_path / 'plan.json')!r}).report([1, 2])\n"
        "print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
