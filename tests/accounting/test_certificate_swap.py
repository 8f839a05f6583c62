"""Certificates of the swap bound: close, fast, of the bound that answers, and no alteration claims more."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference import repetition
from reference.repetition import slow
from shuffledp._support.numbers import exact
from shuffledp.accounting.certificate_steps import MAX_PAIRS, proved
from shuffledp.bounds import BOUNDS
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.swap.family import SwapSet
from shuffledp.numerics.swap.pair import SwapPair

MATRIX = sdp.FiniteRandomizer([[0.5, 0.25, 0.125, 0.125], [0.125, 0.375, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]])
MECHANISMS: list[Any] = [
    "general:eps0=1",
    "general:eps0=4",
    "metric-general:d01=0.5,dmax=1",
    "grr:eps0=1,d=2",
    "grr:eps0=2,d=16",
    "grr:eps0=1,d=3",
    "unary:eps0=1,d=16",
    "subset:eps0=1,d=16",
    "local-hash:eps0=2,d=64",
    MATRIX,
]
REFUSED = (sdp.VerificationError, sdp.ParameterError, sdp.CertificationError)


def certified(mechanism: Any = "general:eps0=1", **terms: Any) -> sdp.Certificate:
    made = sdp.amplify(mechanism, **({"n": 10_000, "delta": 1e-6} | terms), certify=True).certificate
    assert made is not None
    return made


@pytest.mark.slow
@pytest.mark.parametrize("n", [10**4, 10**8, 10**12])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_what_auto_answers_is_proved_within_two_seconds(mechanism: Any, n: int, tmp_path: Path) -> None:
    delta = 0.01 / n
    plain = sdp.amplify(mechanism, n=n, delta=delta)
    start = time.process_time()
    g = sdp.amplify(mechanism, n=n, delta=delta, certify=True)
    assert g.certificate is not None
    g.certificate.write(tmp_path / "proof.json")
    made = time.process_time()
    found = sdp.verify(tmp_path / "proof.json")
    assert made - start < 2.0 and time.process_time() - made < 2.0
    assert g.bound == g.certificate.bound == found.bound == plain.bound
    assert plain.lower is not None and plain.lower <= g.epsilon <= plain.epsilon * 1.001
    assert found.proved_delta <= Fraction(delta) and found == replace(g.certificate, steps=found.steps)
    assert json.loads((tmp_path / "proof.json").read_text()) == g.certificate.to_dict()


@pytest.mark.parametrize("n", [10**4, 10**8, 10**12])
def test_every_victim_pair_of_a_matrix_is_proved(n: int) -> None:
    """Three inputs, four outputs: six ordered pairs among others of three types, those far below by M(c) alone."""
    rows = [np.array(row) for row in ([0.5, 0.25, 0.125, 0.125], [0.125, 0.375, 0.25, 0.25], [0.25] * 4)]
    beta = float(np.min(rows, axis=0).sum())
    members = [SwapPair(tuple(sdp.ShuffledPair(p, q, t) for t in rows), beta) for p, q in permutations(rows, 2)]
    delta = 0.01 / n
    plain = SwapSet(members).epsilon(n=n, delta=delta, tol=1e-4, side="upper").epsilon
    start = time.process_time()
    epsilon, steps = proved(members, n=n, epsilon=plain, delta=delta, tol=1e-4)
    assert plain <= epsilon <= plain * 1.0001 and [step.pair for step in steps] == members
    assert all(step.upper <= Fraction(delta) for step in steps) and {1} < {step.method.nodes for step in steps}
    assert time.process_time() - start < 2.0
    lower = max(PairSet(member.types).epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon for member in members)
    assert lower <= epsilon <= lower * 1.002


@pytest.mark.slow_cases(
    "*-300-1e-200",
    "grr:eps0=5,d=4-300-1e-*",
    "general:eps0=0.5-300-0.01",
    "grr:eps0=5,d=4-300-0.01",
)
@pytest.mark.parametrize("delta", [1e-2, 1e-3, 1e-5, 1e-30, 1e-200])
@pytest.mark.parametrize("n", [2, slow(10), 300, 10**5])
@pytest.mark.parametrize("mechanism", ["grr:eps0=1,d=3", "general:eps0=0.5", "grr:eps0=5,d=4"])
def test_auto_is_proved_at_any_delta(mechanism: str, n: int, delta: float) -> None:
    """The swap sum of a proof may be looser; then another bound is proved where it is smaller."""
    plain = sdp.amplify(mechanism, n=n, delta=delta)
    g = sdp.amplify(mechanism, n=n, delta=delta, certify=True)
    assert g.certificate is not None and plain.lower is not None
    assert plain.lower <= g.epsilon <= plain.epsilon * 1.01 + 1e-9
    assert sdp.verify(g.certificate).proved_delta <= Fraction(delta)


@pytest.mark.parametrize(
    ("mechanism", "bound"), [("grr:eps0=1,d=2", "swap"), ("general:eps0=1", "swap-general"), ("grr:eps0=1,d=4", "swap")]
)
def test_a_named_bound_is_proved(mechanism: str, bound: str) -> None:
    plain = sdp.amplify(mechanism, n=1000, delta=1e-6, bound=bound)
    g = sdp.amplify(mechanism, n=1000, delta=1e-6, bound=bound, certify=True)
    assert g.bound == bound and g.certified and g.certificate is not None and g.certificate.bound == bound
    assert g.epsilon <= plain.epsilon * 1.001
    assert all(isinstance(step.pair, SwapPair) for step in g.certificate.steps)


@pytest.mark.slow_cases(
    "*-5.0-100",
    "0.0001-2.0-20",
    "0.0001-5.0-400",
    "1e-08-0.1-20",
    "1e-08-2.0-100",
    "1e-08-2.0-400",
    "1e-100-0.1-100",
    "1e-100-0.1-20",
    "1e-100-2.0-100",
    "1e-100-2.0-20",
    "1e-100-2.0-400",
    "1e-100-5.0-20",
    "1e-100-5.0-400",
)
@pytest.mark.parametrize("n", [2, 20, 100, 400])
@pytest.mark.parametrize("eps0", [0.1, 2.0, 5.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-8, 1e-100])
def test_few_users_are_proved_up_to_the_local_guarantee(eps0: float, n: int, delta: float) -> None:
    """Near eps0 the abscissa is large, and the values that are not in question are far below 0."""
    plain = sdp.amplify(f"general:eps0={eps0}", n=n, delta=delta, bound="swap-general")
    g = sdp.amplify(f"general:eps0={eps0}", n=n, delta=delta, bound="swap-general", certify=True)
    assert g.certificate is not None and g.epsilon <= plain.epsilon * 1.01 + 1e-9
    assert sdp.verify(g.certificate).proved_delta <= Fraction(delta)


def test_dropouts_are_left_out() -> None:
    g = sdp.amplify("grr:eps0=1,d=2", n=1000, delta=1e-6, dropouts=100, certify=True)
    assert g.bound == "swap" and g.certificate is not None and g.certificate.n == 900 and g.n == 1000
    assert sdp.verify(g.certificate).proved_delta <= g.certificate.delta


def test_the_common_mass_is_that_of_the_mechanism() -> None:
    """A certificate with another one is refused, also in memory and with a hash that fits."""
    from shuffledp.accounting.certificate_claim import law_hash

    honest = certified()
    (step,) = honest.steps
    assert isinstance(step.pair, SwapPair)
    for mass in (1.0, step.pair.common_mass * 1.5, math.nextafter(step.pair.common_mass, 1.0), 0.0):
        other = replace(step, pair=replace(step.pair, common_mass=mass))
        forged = replace(honest, steps=(other,), law_sha256=law_hash((), [other.pair]))
        with pytest.raises(sdp.VerificationError, match="not those of 'general:eps0=1'"):
            sdp.verify(forged)


def test_types_may_not_be_left_out_or_added() -> None:
    honest = certified()
    (step,) = honest.steps
    assert isinstance(step.pair, SwapPair)
    types = step.pair.types
    for other in (types[:-1], types[1:], (*types, types[0]), types[::-1], ()):
        with pytest.raises(REFUSED, match=r"\.$"):
            sdp.verify(replace(honest, steps=(replace(step, pair=replace(step.pair, types=other)),)))
    with pytest.raises(sdp.VerificationError, match="not those of"):
        sdp.verify(replace(honest, steps=()))


def test_a_bare_pair_has_no_types() -> None:
    """Types of one's own choice would prove anything: a victim with equal laws has delta = 0."""
    honest = certified()
    law = sdp.ShuffledPair([0.5, 0.5], [0.5, 0.5], [0.5, 0.5])
    bare = certified(sdp.ShuffledPair([0.9, 0.1], [0.1, 0.9], [0.1, 0.1]), n=100)
    forged = replace(honest.steps[0], pair=SwapPair((law,), 1.0))
    for steps in ((forged,), (*bare.steps, forged)):
        for bound in ("blanket", "swap", "swap-general"):
            with pytest.raises(REFUSED, match=r"\.$"):
                sdp.verify(replace(bare, bound=bound, steps=steps))


def test_methods_are_not_exchanged() -> None:
    swap, plain = certified(), certified(bound="variation-ratio")
    with pytest.raises(sdp.CertificationError, match="a swap bound is proved by"):
        sdp.verify(replace(swap, steps=(replace(swap.steps[0], method=plain.steps[0].method),)))
    with pytest.raises(sdp.CertificationError, match="a shuffled pair is proved by"):
        sdp.verify(replace(plain, steps=(replace(plain.steps[0], method=swap.steps[0].method),)))


@pytest.mark.parametrize("bound", ["swap", "blanket", "variation-ratio", "general", "auto", "constant-dataset-lower"])
def test_another_bound_is_not_the_one_that_was_proved(bound: str) -> None:
    with pytest.raises(sdp.VerificationError, match=r"\.$"):
        sdp.verify(replace(certified(), bound=bound))


@pytest.mark.parametrize(
    "change",
    [{"nodes": 299_999}, {"nodes": 16_385}, {"waits": 10**15}, {"waits": 10_000}, {"waits": 0}, {"bits": 10**6}],
    ids=str,
)
def test_endless_proofs_are_refused_at_once(change: dict[str, int], tmp_path: Path) -> None:
    data = certified().to_dict()
    data["pairs"][0]["method"] |= change
    (tmp_path / "proof.json").write_text(json.dumps(data))
    start = time.process_time()
    with pytest.raises(REFUSED, match=r"\.$"):
        sdp.verify(tmp_path / "proof.json")
    assert time.process_time() - start < 2.0


def test_too_many_types_are_refused_at_once(tmp_path: Path) -> None:
    data = certified().to_dict()
    data["pairs"][0]["types"] *= 1000
    (tmp_path / "proof.json").write_text(json.dumps(data))
    with pytest.raises(sdp.ParameterError, match="at most 1,024 types, not 5,000"):
        sdp.verify(tmp_path / "proof.json")


# -- alterations ------------------------------------------------------------------------------------------------------

Document = dict[str, Any]
#: Factors by which a number is made smaller: by a little more than the proof has to spare, or by much.
SMALLER = (0.998, 0.99, 0.9, 0.5, 0.1, 1e-6)


def _scaled(text: str, factor: float) -> str:
    return exact(Fraction(text) * Fraction(factor))


def _smaller_eps(data: Document, source: random.Random) -> None:
    data["epsilon"] = _scaled(data["epsilon"], source.choice(SMALLER))


def _smaller_delta(data: Document, source: random.Random) -> None:
    data["delta"] = _scaled(data["delta"], source.choice(SMALLER) * 0.98)


def _fewer_users(data: Document, source: random.Random) -> None:
    data["n"] = max(int(data["n"] * source.choice(SMALLER) * 0.98), 1)


def _another_law(data: Document, source: random.Random) -> None:
    one = source.choice(source.choice(data["pairs"])["types"])[source.choice(["P0", "P1", "t"])]
    at = source.randrange(len(one))
    value = float(Fraction(one[at]))
    other = source.choice([math.nextafter(value, 0), math.nextafter(value, 1), value / 2, (value + 1) / 2, 0.0, 1.0])
    one[at] = exact(Fraction(other if other != value else 0.375))


def _another_mass(data: Document, source: random.Random) -> None:
    pair = source.choice(data["pairs"])
    value = float(Fraction(pair["common_mass"]))
    other = source.choice([1.0, math.nextafter(value, 1), (1 + value) / 2, source.random(), value / 2])
    pair["common_mass"] = exact(Fraction(other))


def _fewer_types(data: Document, source: random.Random) -> None:
    types = source.choice(data["pairs"])["types"]
    del types[source.randrange(len(types))]


def _stated_proof(data: Document, source: random.Random) -> None:
    ends = source.choice(data["pairs"])["proved"]
    if source.random() < 0.5:
        ends[1] = _scaled(ends[1], source.choice([1 - 1e-6, *SMALLER]))
    else:
        ends[0] = _scaled(ends[1], source.choice(SMALLER))


def _another_line(data: Document, source: random.Random) -> None:
    """A stronger claim with any other numbers of the method."""
    _smaller_eps(data, source)
    for pair in data["pairs"]:
        method = pair["method"]
        for key in source.sample(sorted(set(method) - {"kind"}), k=source.randint(1, 3)):
            scaled = method[key] * math.exp(source.gauss(0.0, source.choice([0.1, 1.0, 5.0])))
            method[key] = scaled if isinstance(method[key], float) else min(max(int(scaled), 1), 10**6)


def _another_mechanism(data: Document, source: random.Random) -> None:
    name, _, given = data["mechanism"].partition(":eps0=")
    budget, comma, rest = given.partition(",")
    data["mechanism"] = f"{name}:eps0={float(budget) * source.choice([1.001, 1.5, 3.0])!r}{comma}{rest}"


def _other_text(data: Document, source: random.Random) -> None:
    key = source.choice(["law_sha256", "neighbors", "trust", "claim", "bound"])
    at = source.randrange(len(data[key]))
    data[key] = data[key][:at] + chr(33 + (ord(data[key][at]) - 32) % 90) + data[key][at + 1 :]


ALTERATIONS: tuple[Callable[[Document, random.Random], None], ...] = (
    _smaller_eps,
    _smaller_delta,
    _fewer_users,
    _another_law,
    _another_mass,
    _fewer_types,
    _stated_proof,
    _another_line,
    _another_mechanism,
    _other_text,
)


def _refusal(path: Path) -> str:
    try:
        sdp.verify(path)
    except REFUSED as error:
        return str(error)
    return ""


@pytest.mark.heavy
def test_no_alteration_claims_more(tmp_path: Path) -> None:
    """100 alterations in the quick run, 1,000 in the full one; each file is accepted as it was written."""
    source = random.Random(11)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("general:eps0=1", {}),
        ("general:eps0=3", {"n": 10**8, "delta": 1e-10}),
        ("grr:eps0=1,d=2", {"bound": "swap"}),
        ("grr:eps0=2,d=8", {"n": 10**12, "delta": 1e-14, "bound": "swap"}),
    ]
    honest = [certified(mechanism, **terms).to_dict() for mechanism, terms in asked]
    path = tmp_path / "proof.json"
    for data in honest:
        path.write_text(json.dumps(data))
        sdp.verify(path)
    for i in range(100 if repetition.quick else 1000):
        data = deepcopy(honest[i % len(honest)])
        alter = ALTERATIONS[(i // len(honest)) % len(ALTERATIONS)]
        alter(data, source)
        assert data not in honest
        path.write_text(json.dumps(data))
        assert _refusal(path).endswith("."), f"alteration {i} ({alter.__name__}) of {data['mechanism']} was accepted"


def test_the_matrix_of_a_swap_certificate_is_its_law() -> None:
    """Where a matrix lists its types, other entries or another common mass are another law."""
    family = BOUNDS["blanket"].family(MATRIX)
    assert family.laws(MAX_PAIRS) is not None
    c = certified(MATRIX)
    rows = np.array(c.matrix)
    rows[0, 0], rows[0, 1] = rows[0, 1], rows[0, 0]
    with pytest.raises(sdp.VerificationError, match=r"\.$"):
        sdp.verify(replace(c, matrix=tuple(map(tuple, rows.tolist()))))


@pytest.mark.parametrize(("spec", "n"), [("randomized-response:eps0=1", 5), ("randomized-response:eps0=12", 10**7)])
def test_an_eps_that_more_nodes_do_not_prove_is_raised_by_what_it_lacks(spec: str, n: int) -> None:
    """Steps of a share of tol were not enough in six attempts, each of which took twice as long as the last."""
    plain, found = (sdp.amplify(spec, n=n, delta=0.01, bound="swap", certify=certify) for certify in (False, True))
    assert found.certified and plain.epsilon * (1 - 1e-4) <= found.epsilon <= 1.02 * plain.epsilon  # within tol
