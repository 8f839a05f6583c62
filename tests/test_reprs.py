"""Every result in one line, in a notebook, and as a frame: short, rounded to the private side, and never obeyed."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp

DELTA = 1.23456789e-6
GRR = "grr:eps0=1.23456789,d=16"
PROGRAMME: dict[str, Any] = {
    "version": 1,
    "name": "weekly",
    "target": {"epsilon": 1, "delta": "1e-6"},
    "rounds": [
        {"mechanism": GRR, "users": 1000, "count": 3, "participation_limit": 2},
        {"mechanism": "general:eps0=1", "users": 100},
    ],
}


def everything() -> dict[str, Any]:
    acc = sdp.Accountant().compose(GRR, n=1000, count=3, name="first")
    grr = sdp.GRR(eps0=2.0, d=16)
    estimate = grr.estimate(grr.privatize(np.arange(500) % 16, rng=np.random.default_rng(0)))
    certified = sdp.amplify("general:eps0=1", n=1000, delta=DELTA, certify=True)
    return {
        "guarantee": sdp.amplify(GRR, n=1000, delta=DELTA),
        "lower guarantee": sdp.amplify(GRR, n=1000, delta=DELTA, bound="constant-dataset-lower"),
        "published": sdp.amplify(GRR, n=1000, delta=DELTA, bound="variation-ratio-published"),
        "infinite": sdp.amplify("variation-ratio:inf,1,2", n=2, delta=DELTA),
        "certified": certified,
        "certificate": certified.certificate,
        "mixed": sdp.amplify_mixed([("grr:eps0=1,d=8", 500), ("grr:eps0=3,d=8", 700)], delta=DELTA),
        "composed": acc.guarantee(delta=DELTA),
        "account": acc,
        "comparison": sdp.compare(GRR, n=1000, delta=DELTA),
        "row": sdp.compare(GRR, n=1000, delta=DELTA, bounds=["blanket"]).rows[0],
        "sweep": sdp.sweep(GRR, n=[100, 1000], delta="0.01/n", bounds=["blanket", "clone-closed", "local"]),
        "study": sdp.sweep(
            [GRR, "local-hash:eps0=1.2345,d=16"], n=[100, 1000], delta="0.01/n", bounds=["auto", "blanket"]
        ),
        "study point": sdp.sweep(["grr"], eps0=1, d=16, n=[100], delta="0.01/n", bounds=["auto"]).points[0],
        "study row": sdp.sweep(["grr"], eps0=1, d=16, n=[100], delta="0.01/n", bounds=["auto"]).rows[0],
        "batches": sdp.batch_table(GRR, delta=DELTA, n=[10, 1000]),
        "check": sdp.check(PROGRAMME),
        "checked rounds": sdp.check(PROGRAMME).rounds[0],
        "audit": sdp.audit("grr:eps0=1,d=3", samples=1000, rng=np.random.default_rng(0)),
        "estimate": estimate,
        "consistent": estimate.consistent(),
        "fitted": grr.estimate(grr.privatize(np.arange(500) % 16, rng=np.random.default_rng(0)), method="em"),
    }


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return everything()


def test_every_repr_is_one_short_line(made: dict[str, Any]) -> None:
    for name, result in made.items():
        text = repr(result)
        assert re.fullmatch(rf"<{type(result).__name__}[ :].*>", text), (name, text)
        assert len(text) < 200 and text.isprintable() and "array(" not in text, (name, text)


def test_numbers_are_on_the_private_side(made: dict[str, Any]) -> None:
    for name in ("guarantee", "certified", "mixed", "composed"):
        said = re.search(r"eps <= (\S+) at delta = ([^\s:,]+)", repr(made[name]))
        assert said is not None, repr(made[name])
        assert float(said[1]) >= made[name].epsilon and float(said[2]) >= made[name].delta
    lower = made["lower guarantee"]
    said = re.search(r"eps >= (\S+) at delta = ([^\s:]+):", repr(lower))
    assert said is not None and float(said[1]) <= lower.epsilon and float(said[2]) <= lower.delta
    assert "not a bound" in repr(made["published"]) and "<=" not in repr(made["published"])
    assert "no finite eps at delta = 1.23456e-06" in repr(made["infinite"])
    proof = made["certificate"]
    said = re.search(r"delta <= (\S+) at eps = ([^\s,]+),", repr(proof))
    assert said is not None and float(said[1]) >= proof.proved_delta and float(said[2]) >= proof.epsilon
    found = re.search(r"eps0 >= (\S+) with 99% confidence, claimed 1:", repr(made["audit"]))
    assert found is not None and float(found[1]) <= made["audit"].lower


def test_every_result_has_a_table_for_notebooks(made: dict[str, Any]) -> None:
    for name in made.keys() - {"row", "checked rounds", "study point", "study row"}:
        page = made[name]._repr_html_()
        assert page.startswith("<table>") and page.count("<table>") == page.count("</table>") and "<td" in page, name


def test_frames(made: dict[str, Any]) -> None:
    assert made["account"].to_frame()["count"].tolist() == [3]
    frame = made["check"].to_frame()
    assert frame["epsilon"].tolist() == [entry.epsilon for entry in made["check"].rounds]
    assert frame["participation_limit"].isna().tolist() == [False, True]
    assert made["mixed"].to_frame()["epsilon"].tolist() == [c.epsilon for c in made["mixed"].classes]
    assert made["batches"].to_frame()["epsilon"].tolist() == list(made["batches"].epsilons)
    frame, estimate = made["estimate"].to_frame(), made["estimate"]
    low, high = estimate.interval()
    for name, values in {"value": estimate.value, "stderr": estimate.stderr, "low": low, "high": high}.items():
        assert frame[name].tolist() == values.tolist()
    assert made["consistent"].to_frame()["low"].isna().all(), "the error after a step is not known"


def test_estimates_of_any_shape() -> None:
    from shuffledp.estimation.estimate import Estimate

    table = Estimate(value=np.array([[0.1, 0.2], [0.3, 0.4]]), stderr=np.full((2, 2), 0.1), n=9).table()
    assert table.columns[0].values == ["0,0", "0,1", "1,0", "1,1"]
    one = Estimate(value=np.array(0.25), stderr=np.array(0.125), n=1)
    assert repr(one).startswith("<Estimate 0.25 +- 0.12: 1 item from 1 user, unknown") and len(one.table()) == 1
    none = Estimate(value=np.zeros(2), stderr=np.full(2, math.inf), n=0)
    assert "inf" in repr(none) and "nan" not in none._repr_html_()
    none.plot()
    one.plot()


def test_a_hostile_name_stays_in_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a<b>$x\n\x1b[2K.csv"
    path.write_text("0.75,0.25\n0.25,0.75\n")
    m = sdp.mechanism(f"finite:{path}")
    results = [
        sdp.amplify(m, n=100, delta=1e-6, certify=True),
        sdp.amplify(m, n=100, delta=1e-6, certify=True).certificate,
        sdp.compare(m, n=100, delta=1e-6, bounds=["blanket"]),
        sdp.sweep(m, n=[100], delta=1e-6, bounds=["blanket"]),
        sdp.sweep([m], n=[100, 200], delta=1e-6, bounds=["blanket"]),
        sdp.batch_table(m, delta=1e-6, n=[100]),
        sdp.amplify_mixed([(m, 100)], delta=1e-6),
        sdp.Accountant().compose(m, n=100, name="\x1b[2K"),
    ]
    for result in results:
        assert repr(result).isprintable()
        assert "<b>" not in result._repr_html_()  # type: ignore[union-attr]
        if isinstance(result, sdp.Accountant):
            assert str(result.table()).replace("\n", "").isprintable()
        elif hasattr(result, "plot"):
            result.plot()
