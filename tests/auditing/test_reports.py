"""Audits read whatever a function returns, and hold it against every kind of claim."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.leaky import WHEEL, response, seeded, step, unary
from shuffledp.auditing import events
from shuffledp.auditing.reading import read

# -- whatever a function returns ---------------------------------------------------------------------------------


def leaky(make: Callable[[int], Any]) -> Callable[[int], Any]:
    """Randomized response with eps0 = 2 between 0 and 1, written in some form."""
    answer = response(2, 2.0)
    return lambda x: make(answer(x))


@pytest.mark.parametrize(
    "make",
    [
        int,
        float,
        bool,
        str,
        np.int8,
        lambda y: np.array(y),
        lambda y: (y,),
        lambda y: ("answer", y),
        lambda y: (1,) * (y + 1),
        lambda y: [y, 1 - y],
        lambda y: [2 * y - 1] * 9,
        lambda y: np.array([[y, 7], [3, 4]]),
        lambda y: {"item", y},
        lambda y: frozenset([y]),
        lambda y: {"yes"} if y else set(),
        lambda y: b"x" * y,
        lambda y: 2**80 + y,
        lambda y: 1 if y else "nothing",
        lambda y: ["a", "b"][:2] if y else ["c", "d"],
        lambda y: complex(0, y),
    ],
)
def test_reports_of_every_kind(make: Callable[[int], Any]) -> None:
    found = sdp.audit(leaky(make), inputs=[0, 1], eps0=2.0, samples=4000)
    assert not found.violated and found.lower > 1.6, str(found)
    assert json.loads(json.dumps(found.to_dict()))["event"] == found.event


@pytest.mark.heavy
def test_vectorized_functions() -> None:
    m = sdp.GRR(eps0=2.0, d=3)
    for function in (
        m.privatize,
        lambda values: np.asarray(m.privatize(values)).tolist(),
        lambda values: np.array([{int(y)} for y in np.asarray(m.privatize(values))], dtype=object),
        lambda values: np.array(["a", "b", "c"])[np.asarray(m.privatize(values))],
    ):
        found = sdp.audit(function, inputs=[0, 1, 2], eps0=2.0, vectorized=True, samples=30_000)
        assert not found.violated and found.lower > 1.8


def test_a_list_that_is_used_again_is_copied() -> None:
    kept, answer = [0], response(2, 1.0)

    def reuse(x: int) -> list[int]:
        kept[0] = answer(x)
        return kept

    assert 0.7 < sdp.audit(reuse, inputs=[0, 1], samples=6000).lower < 1.0


@pytest.mark.slow
def test_messages_of_one_user() -> None:
    m = sdp.MixDump(d=3, flip=0.3, messages=1)
    rng = seeded(5)
    found = sdp.audit(
        lambda x: tuple(sorted(m.privatize(np.array([x]), rng=rng).data.tolist())),
        inputs=[0, 1, 2],
        claimed=m,
        samples=3000,
    )
    assert not found.violated and found.claimed == m.local_epsilon and found.lower > 0.2


def test_rare_items_and_wide_rows() -> None:
    """More items than are told apart, and a leak in one of 3000 bits."""
    rng = seeded(6)
    found = sdp.audit(lambda x: {x, *rng.integers(10, 10**6, size=3).tolist()}, inputs=[1, 2], eps0=1.0, samples=2000)
    assert found.violated and found.event in (
        "the report lacks 1",
        "the report holds 1",
        "the report holds 2",
        "the report lacks 2",
    )

    def wide(values: Any) -> Any:
        bits = rng.random((len(values), 3000)) < 0.5
        bits[:, 1234] = values
        return bits

    found = sdp.audit(wide, inputs=[0, 1], eps0=1.0, samples=800, vectorized=True)
    assert found.violated and "entry 1234" in found.event


def test_overfitting_does_not_hide_a_leak() -> None:
    """Reports that are all different but for one entry: what was seen once is no event."""
    rng, answer = seeded(7), response(2, 1.5)
    found = sdp.audit(lambda x: (answer(x), int(rng.integers(10**9))), inputs=[0, 1], samples=6000)
    assert 1.2 < found.lower < 1.5 and "entry 0" in found.event


# -- claims ----------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_a_claimed_matrix() -> None:
    found = sdp.audit(step(0.4), claimed=WHEEL, samples=4000)
    assert not found.violated and found.claimed == math.inf and found.law is not None and found.law > 0.01
    assert "no finite eps0" in str(found)
    assert found.to_dict()["claimed"] == "inf"
    assert sdp.audit(step(0.3), claimed=WHEEL, samples=4000).refutes_law
    named = sdp.audit(step(0.4, "abc"), claimed=np.array(WHEEL), outputs=["a", "b", "c"], samples=4000)
    assert not named.violated and named.law == found.law  # the same random numbers
    rows = sdp.audit(step(0.4, ([0, 1], [1, 0], [1, 1])), claimed=WHEEL, outputs=[[0, 1], [1, 0], (1, 1)], samples=1000)
    assert not rows.violated


def test_what_the_law_rules_out_settles_it() -> None:
    forth = step(0.999)
    back = sdp.audit(lambda x: (forth(x) + 2) % 3, claimed=WHEEL, samples=4000)
    assert back.law == 0.0 and back.refutes_law and "rules out" in str(back) and "settles" in str(back)
    outside = sdp.audit(step(0.4, (0, 1, 7)), claimed=WHEEL, samples=400)
    assert outside.law == 0.0 and "such as 7" in str(outside)
    unnamed = sdp.audit(step(0.4, "abz"), claimed=WHEEL, outputs=["a", "b", "c"], samples=400)
    assert unnamed.law == 0.0 and "such as 'z'" in str(unnamed)
    assert sdp.audit(response(9, 1.0), claimed="grr:eps0=1,d=4", inputs=[0, 1, 2, 3], samples=400).law == 0.0
    assert sdp.audit(lambda x: 300 + x, claimed="grr:eps0=1,d=4", inputs=[0, 1], samples=400).law == 0.0


@pytest.mark.slow
def test_a_mechanism_claimed_by_a_function_that_writes_it_otherwise() -> None:
    """Rows of bits, sets, and the library's own packing are read; the law is the same."""
    m = sdp.Unary(eps0=2.0, d=6)
    assert sdp.audit(unary(6, 2.0), claimed=m, samples=2000).law > 0.001  # type: ignore[operator]
    assert sdp.audit(unary(6, 2.0, keep=True), claimed=m, samples=2000).refutes_law
    for s, own in ((sdp.Subset(eps0=2.0, d=6, k=2), True), (sdp.Subset(eps0=2.0, d=60, k=2), False)):
        rng = seeded(9)

        def members(x: int, s: Any = s, own: bool = own, rng: Any = rng) -> Any:
            row = s.privatize(np.array([x]), rng=rng).data[0]
            return np.flatnonzero(np.unpackbits(row, count=s.d)).tolist() if own else row.tolist()

        for write in (set, frozenset, lambda y, d=s.d: np.isin(np.arange(d), y)):
            found = sdp.audit(lambda x, w=write, m=members: w(m(x)), claimed=s, inputs=[0, 5], samples=800)
            assert found.law is not None and found.law > 0.001, str(found)
        three = sdp.audit(lambda x, m=members: {*m(x), 3}, claimed=s, inputs=[0, 5], samples=400)
        assert three.law == 0.0
        far = sdp.audit(lambda x, m=members: {m(x)[0], 99}, claimed=s, inputs=[0, 5], samples=400)
        assert far.law == 0.0
    d = sdp.Duchi(eps0=2.0, dim=3)
    rng = seeded(10)
    signs = sdp.audit(
        lambda x: 2 * np.unpackbits(d.privatize(np.array([x]), rng=rng).data[0], count=3).astype(int) - 1,
        claimed=d,
        samples=1500,
    )
    assert signs.law is not None and signs.law > 0.001
    padded = sdp.audit(lambda x: np.array([255], dtype=np.uint8), claimed=d, samples=400)
    assert padded.law == 0.0  # bits beyond the third


def test_claims_without_a_law() -> None:
    general = sdp.audit(response(3, 1.0), inputs=[0, 1, 2], claimed="general:eps0=1", samples=2000)
    assert general.law is None and general.claimed == 1.0 and "states no law" in str(general)
    large = sdp.audit("unary:eps0=1,d=3000", inputs=[0, 2999], samples=400)
    assert large.law is None and "does not list its law" in str(large)
    other = sdp.audit("laplace:eps0=1", inputs=[0.3, 0.7], samples=400)
    assert other.law is None and "none of the inputs" in str(other)
    part = sdp.audit("laplace:eps0=1", inputs=[0.3, 1.0], samples=400)
    assert part.law is not None
    silent = sdp.audit(response(3, 1.0), inputs=[0, 1], samples=400)
    assert silent.claimed is None and silent.law is None and not silent.violated and "No eps0" in str(silent)
    assert sdp.audit("grr:eps0=1,d=3", eps0=0.1, samples=4000).breaks_eps0  # a claim of one's own


def test_a_metric_claim_is_that_of_its_farthest_pair() -> None:
    m = sdp.MetricLaplace(d01=0.5, dmax=4.0)
    found = sdp.audit(m, inputs=[0.0, 4.0], rng=seeded(0))
    assert found.lower > 2.0 > m.local_epsilon and not found.violated


# -- the result --------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_result() -> None:
    seen: list[tuple[int, int]] = []
    found = sdp.audit(
        "grr:eps0=1,d=20", samples=50_000, rng=seeded(4), progress=lambda done, total: seen.append((done, total))
    )
    assert isinstance(found, sdp.Audit) and dataclasses.is_dataclass(found)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.lower = 0.0  # type: ignore[misc]
    assert seen[-1] == (400_000, 400_000) and sorted(seen) == seen and len(seen) == 24
    assert (found.samples, len(found.inputs), found.listed, found.proved_on) == (50_000, 8, 20, 25_000)
    assert found == sdp.audit("grr:eps0=1,d=20", samples=50_000, rng=seeded(4))
    text = str(found)
    assert "99% confidence" in text and "8 of 20 inputs" in text and "does not contradict" in text and "\n" not in text
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["violated"] is False and plain["pair"] == list(found.pair) and plain["lower"] == found.lower
    quiet = sdp.audit(lambda x: 5, inputs=["a", (1, 2)], samples=400)
    assert quiet.lower == 0.0 and "No event was found" in str(quiet) and quiet.to_dict()["pair"] == ["a", [1, 2]]


@pytest.mark.heavy
def test_a_library_mechanism_draws_from_the_secure_source() -> None:
    first, second = (sdp.audit("laplace:eps0=1", samples=4000) for _ in range(2))
    assert (first.hits, first.event, first.law) != (second.hits, second.event, second.law)


def test_odd_numbers_of_samples() -> None:
    for samples in (400, 401, 402, 403):
        found = sdp.audit("grr:eps0=4,d=2", samples=samples, rng=seeded(samples))
        assert found.proved_on == samples // 2 and 1.0 < found.lower <= 4.0


def test_the_three_parts_are_disjoint_and_cover_all() -> None:
    rows = np.arange(1003)
    parts = [rows[p] for p in (events.ORDER, events.CHOOSE, events.PROVE)]
    assert sorted(np.concatenate(parts)) == rows.tolist()


def test_equal_reports_have_equal_keys() -> None:
    rows = seeded(11).integers(0, 3, size=(2, 3000, 5))
    found = read([rows[0], rows[1]])
    want = np.unique(rows.reshape(-1, 5), axis=0, return_inverse=True)[1].reshape(-1)
    keys = np.concatenate(found.keys)
    assert (
        len(set(zip(want.tolist(), keys.tolist(), strict=True))) == len(set(want.tolist())) == len(set(keys.tolist()))
    )


def test_huge_domains_are_not_listed() -> None:
    for huge in (
        sdp.GRR(eps0=3.0, d=2**32),
        sdp.Parallel([(0.5, sdp.GRR(eps0=3.0, d=2**32)), (0.5, sdp.GRR(eps0=3.0, d=2))]),
    ):
        inputs = [0, 2**31] if isinstance(huge, sdp.GRR) else [(0, 0), (2**31, 1)]
        found = sdp.audit(huge, inputs=inputs, samples=400)
        assert found.law is None and "does not list its law" in found.law_words and not found.violated
