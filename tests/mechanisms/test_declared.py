"""What the pages of numbers, metrics, messages and composites declare: roles, ranges, codecs, missing users."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import Case, all_cases
from shuffledp.mechanisms.parameters import declared
from shuffledp.mechanisms.randomizer import Randomizer
from shuffledp.mechanisms.registry import find, names

FOLDERS = ("numeric", "metric", "multimessage", "composite", "known")
OURS = [c for c in all_cases() if type(c.mechanism).__module__.split(".")[2] in FOLDERS]
RUNNABLE = [c for c in OURS if isinstance(c.mechanism, Randomizer)]


@pytest.mark.parametrize("case", RUNNABLE, ids=str)
def test_reports_are_written_as_the_codec_says(case: Case) -> None:
    m = case.mechanism
    if case.mechanism.name == "parallel" and not all(hasattr(part, "dtype") for part in m.codec.parts):
        pytest.skip("a query does not state its codec")
    data = m.privatize(case.data(60)[0], rng=np.random.default_rng(0)).data
    assert data.dtype == m.codec.dtype and data.shape[1:] == m.codec.shape
    assert m.codec.readable(data) and m.codec.scratch >= data[0].nbytes


def test_roles() -> None:
    roles = {word: {name: p.role for name, p in declared(find(word)).items()} for word in names()}
    assert roles["metric-laplace"] == {"d01": "budget", "dmax": "budget"}
    assert roles["exponential-metric"] == {"eps": "budget"}
    assert roles["laplace"] == {"eps0": "budget"}
    settings = dict.fromkeys(("low", "high", "inputs", "edges"), "setting")
    assert roles["gaussian"] == {"sigma": "noise", **settings}
    assert roles["privunit"] == {"eps0": "budget", "dim": "setting", "cap": "setting"}
    numbers = dict.fromkeys(("messages", "total_messages", "poisson"), "messages")
    assert roles["mix-dump"] == {**numbers, "d": "setting", "flip": "flip"}
    assert roles["cheu-zhilyaev"] == {**numbers, "flip": "flip", "d": "setting"}
    settings = dict.fromkeys(("d", "keep", "dummies", "tail"), "setting")
    assert roles["augmented"] == {**settings, "mean": "messages"}
    assert roles["balcer-coin"] == numbers and roles["finite"] == roles["parallel"] == roles["joint"] == {}


@pytest.mark.parametrize("word", names())
def test_files_and_messages_are_declared(word: str) -> None:
    wanted = {"finite": (), "parallel": (), "joint": (), "exponential-metric": ("eps",)}
    assert find(word)._file_parameters == wanted.get(word)
    assert find(word).single_message is (".multimessage." not in find(word).__module__)


def test_ranges_that_depend_on_another_parameter() -> None:
    def limits(word: str, name: str, **given: Any) -> tuple[float, float]:
        return declared(find(word))[name].limits(SimpleNamespace(**given))

    assert limits("mix-dump", "flip", d=5) == (1e-12, 0.8) and limits("cheu-zhilyaev", "flip", d=5) == (0.0, 0.5)
    assert limits("metric-general", "d01", dmax=3.0) == (1e-6, 3.0)
    assert limits("metric-general", "d01", dmax=700) == limits("metric-general", "d01", dmax="x") == (1e-6, 500.0)
    assert limits("planar-laplace", "dmax", d01=2.0) == (2.0, 500.0)
    assert limits("balls-into-bins", "special", d=9) == (1, 4)


# -- missing users ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("total", "n", "missing"), [(1000, 10, 3), (1003, 10, 2), (1003, 10, 5), (7, 10, 9)])
def test_missing_users_take_the_most_messages_that_so_many_can_have(total: int, n: int, missing: int) -> None:
    m = sdp.PureDump(d=4, total_messages=total)
    sent = sorted((total // n + (i < total % n) for i in range(n)), reverse=True)
    left = m.law.without(missing, n=n)
    assert left == sdp.PureDump(d=4, total_messages=sum(sent[missing:]))


def test_numbers_per_user_stay_and_so_does_a_total_if_all_come() -> None:
    for m in (sdp.PureDump(d=4, messages=2.5), sdp.PureDump(d=4, poisson=2.5), sdp.GRR(eps0=1.0, d=4)):
        assert m.law.without(3, n=10) is m
    fixed = sdp.PureDump(d=4, total_messages=10)
    assert fixed.law.without(0, n=10) is fixed


# -- settings and other budgets ------------------------------------------------------------------------------------


def test_the_cap_is_a_free_setting() -> None:
    setting = sdp.PrivUnit._free_setting({"dim": 20})
    assert setting is not None and (setting.low, setting.high, setting.whole) == (2.0**-70, 0.5, False)
    chosen = sdp.PrivUnit(eps0=2.0, dim=20)
    assert setting.start(2.0) == chosen.cap and setting.make(chosen.cap, 2.0) == chosen
    assert setting.error(chosen, 100) == chosen.variance(100)
    assert sdp.PrivUnit._free_setting({"dim": 20, "cap": 0.1}) is None
    assert all(1e-150 <= sdp.PrivUnit(eps0=500.0, dim=d).cap < 0.5 for d in (2, 1000, 10**6))


@pytest.mark.parametrize(("own", "victim"), [(0.5, 1.0), (1.0, 1.0), (1.0, 4.0), (1e-6, 300.0), (2.0, 1.0)])
def test_laplace_noise_of_other_scales(own: float, victim: float) -> None:
    """Against the two blankets on the grid and beyond it, where the larger rate falls faster."""
    a, b = sdp.Laplace(eps0=own), sdp.Laplace(eps0=victim)
    y = np.arange(-3000, 3001)
    reach = np.maximum(np.abs(y), np.abs(y - 1024))
    logs = [math.log(math.tanh(0.5 * m.eps0 / 1024)) - m.eps0 / 1024 * reach for m in (a, b)]
    least = math.exp(min((logs[0] - logs[1]).min(), 700.0))
    ratio = a.law.blanket_ratio(b)
    assert ratio <= least if own <= victim else ratio == 0.0
    assert own > victim or ratio == pytest.approx(least, rel=1e-9)
    with pytest.raises(sdp.BoundNotApplicableError, match="same reports"):
        a.law.blanket_ratio(sdp.GRR(eps0=1.0, d=4))
