"""One path: an answer passes few functions, and nothing that a question needs is built twice."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import shuffledp as sdp
from shuffledp.accounting import resolve
from shuffledp.mechanisms.categorical.grr import GRR

ROOT = str(Path(sdp.__file__).parent)
SPEC, TERMS = "grr:eps0=2,d=64", {"n": 10**6, "delta": 1e-8}
#: Two analyses, blanket and swap, each with one function for every error that it charges.
FUNCTIONS, FILES = 147, 24
#: The swap bound is made of the datasets, which the lower bound uses too, and of the mass of the blanket.
ONCE = {"_swap": 1, "_blanket": 1, "_constant_datasets": 1}


def entered(ask: Callable[[], object]) -> set[tuple[str, str]]:
    """(file, function) of every function of the library that a call enters."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT):
            seen.add((code.co_filename, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(before)
    return seen


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often GRR's families are built, starting with nothing kept."""
    count: Counter[str] = Counter()

    def counted(name: str) -> None:
        plain = getattr(GRR, name)

        def wrapped(self: GRR) -> object:
            count[name] += 1
            return plain(self)

        monkeypatch.setattr(GRR, name, wrapped)

    for name in ("_swap", "_blanket", "_constant_datasets", "_two_counts"):
        counted(name)
    monkeypatch.setattr(resolve, "_kept", {})
    return count


def test_a_warm_answer_passes_few_functions() -> None:
    ask = lambda: sdp.amplify(SPEC, **TERMS)  # type: ignore[arg-type]  # noqa: E731
    ask()
    seen = entered(ask)
    assert len(seen) <= FUNCTIONS, sorted(seen)
    assert len({file for file, _ in seen}) <= FILES, sorted(seen)


@pytest.mark.parametrize("mechanism", [SPEC, GRR(eps0=2.0, d=64)], ids=["spec", "object"])
def test_amplify_builds_each_family_once(built: Counter[str], mechanism: object) -> None:
    found = sdp.amplify(mechanism, **TERMS)  # type: ignore[arg-type]
    assert built == ONCE
    assert found.lower is not None and found.lower == found.lower and str(found)
    assert built == ONCE


@pytest.mark.heavy
def test_a_spec_is_parsed_and_analyzed_once(built: Counter[str]) -> None:
    first, second = (sdp.amplify(SPEC, n=n, delta=1e-8) for n in (10**4, 10**5))
    assert str(first) and str(second) and built == ONCE
    sdp.batch_table(SPEC, delta=1e-8, n=[100, 1000])
    sdp.profile(SPEC, n=1000, epsilon=[0.1, 0.2])
    sdp.users_needed(SPEC, epsilon=0.5, delta=1e-8)
    assert built == ONCE


@pytest.mark.slow_cases("*-over")
@pytest.mark.parametrize("epsilon", [1.0, 1e-4], ids=["within", "over"])
@pytest.mark.parametrize("missing", [{}, {"dropouts": 0.1, "colluding": 7}], ids=["all", "missing"])
def test_check_builds_each_family_once(built: Counter[str], epsilon: float, missing: dict[str, float]) -> None:
    found = sdp.check(
        {
            "version": 1,
            "population": {"users": 10_000, **missing},
            "target": {"epsilon": epsilon, "delta": 1e-6},
            "rounds": [{"mechanism": SPEC}],
        }
    )
    assert found.method == "amplify" and found.within == (epsilon == 1.0)
    if found.within:  # over budget other settings are tried as well, until one fits
        assert built == ONCE
    alone = sdp.amplify(SPEC, n=10_000, delta=1e-6, **missing)
    assert found.epsilon == alone.epsilon == found.rounds[0].epsilon


@pytest.mark.heavy
def test_the_accountant_builds_each_family_once(built: Counter[str]) -> None:
    accountant = sdp.Accountant().compose(GRR(eps0=2.0, d=64), n=10_000, count=5)
    assert accountant.guarantee(delta=1e-6).lower is not None
    assert built == ONCE


def test_what_may_change_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "_kept", {})
    file = tmp_path / "matrix.csv"
    file.write_text("0.75,0.25\n0.25,0.75\n")
    first = sdp.amplify(f"finite:{file}", n=1000, delta=1e-6).epsilon
    file.write_text("0.6,0.4\n0.4,0.6\n")
    assert sdp.amplify(f"finite:{file}", n=1000, delta=1e-6).epsilon < first
    assert not resolve._kept
    for k in range(3 * resolve._MOST_KEPT):
        resolve.subject_of(f"general:eps0={1 + k}e-3")
    assert 0 < len(resolve._kept) <= resolve._MOST_KEPT
