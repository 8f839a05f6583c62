"""Certificates: every claim is proved, a file round-trips, and no forged claim is accepted."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from shuffledp.accounting.certificate import Step
from shuffledp.bounds import BOUNDS
from shuffledp.bounds.base import Numerical
from shuffledp.numerics.proof.pairs import choose, prove

TOL = 1e-4
COIN = sdp.FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
OPEN = sdp.FiniteRandomizer([[0.5, 0.4, 0.1, 0.0], [0.0, 0.4, 0.1, 0.5], [0.2, 0.4, 0.2, 0.2]])
SUBJECTS = {
    "general": "general:eps0=1",
    "weak": "general:eps0=4",
    "ratio": "variation-ratio:p=5,beta=0.3,q=7",
    "coin": COIN,
    "round": sdp.ShuffledPair(P0=[0.6, 0.3, 0.1], P1=[0.3, 0.5, 0.2], t=[0.3, 0.3, 0.1]),
}


@pytest.mark.parametrize("n", [1, 100, 10**4, 10**8, 10**12])
@pytest.mark.parametrize("kind", SUBJECTS)
def test_certified_eps_is_proved_and_close(kind: str, n: int, tmp_path: Path) -> None:
    m = SUBJECTS[kind]
    delta = min(0.01 / n, 1e-3)
    plain = sdp.amplify(m, n=n, delta=delta, tol=TOL)
    g = sdp.amplify(m, n=n, delta=delta, tol=TOL, certify=True)
    assert g.certified and g.certificate is not None and plain.lower is not None
    if plain.bound == "binary":  # which has no certificate
        plain = sdp.amplify(m, n=n, delta=delta, tol=TOL, bound=g.bound)
    assert plain.lower is not None and plain.lower <= g.epsilon <= plain.epsilon * (1 + 2 * TOL)
    assert Fraction(g.epsilon) == g.certificate.epsilon and g.certificate.delta == Fraction(delta)
    assert g.certificate.proved_delta <= g.certificate.delta
    path = tmp_path / "proof.json"
    g.certificate.write(path)
    again = sdp.verify(path)
    assert again.epsilon == g.certificate.epsilon and again.proved_delta <= g.certificate.delta
    assert [s.pair for s in again.steps] == [s.pair for s in g.certificate.steps]
    assert sdp.verify(g.certificate).proved_delta == again.proved_delta
    assert json.loads(path.read_text()) == g.certificate.to_dict()


@pytest.mark.heavy
@pytest.mark.parametrize(
    "spec",
    [
        "window:eps0=4,d=5",
        "window-vector:eps0=4,dim=3",
        "piecewise:eps0=3",
        "hybrid:eps0=0.5",
        "hybrid:eps0=4",
        "binomial:flips=4,stretch=1.169,shape=0.3294,noise=0.283,inputs=5",
    ],
)
def test_means_designed_for_the_shuffler_are_certified(spec: str, tmp_path: Path) -> None:
    """By command, and verified by command; an eps that the lower bound rules out is refused."""
    exact, path = sdp.amplify(spec, n=1000, delta=1e-6), str(tmp_path / "proof.json")
    assert run("certify", spec, "--n", "1000", "--delta", "1e-6", "--out", path).exit_code == 0
    data = json.loads(Path(path).read_text())
    assert float(data["epsilon"]) == pytest.approx(exact.epsilon, rel=1e-3) and float(data["epsilon"]) > exact.lower
    assert run("certify", "--verify", path).stdout.startswith("Verified: ")
    Path(path).write_text(json.dumps({**data, "epsilon": f"{exact.lower:.12f}"}))
    assert refused(run("certify", "--verify", path), 3).endswith(".")


@pytest.mark.parametrize("m", [[[0.5, 0.5], [0.5, 0.5]], [[1.0]], [[0.3, 0.7]]], ids=["equal rows", "1x1", "one input"])
def test_a_certificate_of_nothing_still_verifies(m: list[list[float]]) -> None:
    g = sdp.amplify(sdp.FiniteRandomizer(m), n=10, delta=1e-6, certify=True)
    assert g.epsilon == 0.0 and g.certificate is not None
    assert sdp.verify(g.certificate).epsilon == 0


@pytest.mark.parametrize("bound", ["blanket", "variation-ratio", "general"])
def test_matrices_with_zeros(bound: str) -> None:
    if bound != "blanket":
        with pytest.raises(sdp.CertificationError, match="no finite eps"):
            sdp.amplify(OPEN, n=10, delta=1e-3, bound=bound, certify=True)
        return
    g = sdp.amplify(sdp.FiniteRandomizer([[0.5, 0.5, 0.0], [0.3, 0.7, 0.0]]), n=50, delta=1e-3, certify=True)
    assert g.certificate is not None and sdp.verify(g.certificate).proved_delta <= g.delta


@pytest.mark.parametrize("bound", ["variation-ratio-published", "variation-ratio-lower", "local"])
def test_bounds_that_are_no_proof_are_not_certified(bound: str) -> None:
    with pytest.raises(sdp.CertificationError, match=r"\.$"):
        sdp.amplify(COIN, n=10, delta=1e-3, bound=bound, certify=True)


def document(m: Any = COIN, n: int = 1000) -> dict[str, Any]:
    g = sdp.amplify(m, n=n, delta=1e-6, bound="auto" if isinstance(m, str) else "blanket", certify=True)
    assert g.certificate is not None
    return dict(g.certificate.to_dict())


def read(data: object, path: Path) -> sdp.Certificate:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return sdp.verify(path)


def set_at(*keys: Any) -> Callable[[dict[str, Any], Any], None]:
    def change(data: Any, value: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return change


EPS, DELTA, N = set_at("epsilon"), set_at("delta"), set_at("n")


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (EPS, "0.01"),
        (EPS, "0"),
        (EPS, "-1"),
        (DELTA, "1e-9"),
        (DELTA, "0"),
        (DELTA, "-1"),
        (N, 10),
        (N, 999),
        (N, 1),
        (set_at("pairs", 0, "t", 0), "0.5"),
        (set_at("pairs", 0, "P0"), ["0.5", "0.5"]),
        (set_at("pairs", 0, "P0", 0), "0.1"),
        (set_at("pairs"), []),
        (set_at("mechanism"), "general:eps0=5"),
        (set_at("mechanism"), "variation-ratio:p=inf,beta=1,q=inf"),
        (set_at("mechanism"), "nonsense"),
        (set_at("bound"), "swap"),
        (set_at("bound"), "variation-ratio-published"),
        (set_at("bound"), "nonsense"),
        (set_at("matrix"), [["0.9375", "0.0625"], ["0.0625", "0.9375"]]),
        (set_at("matrix"), [["0.5", "0.5"], ["0.5", "0.5"]]),
    ],
    ids=lambda x: repr(x)[:40] if not callable(x) else "",
)
def test_a_stronger_claim_is_refused(change: Callable[[Any, Any], None], value: Any, tmp_path: Path) -> None:
    data = document()
    change(data, value)
    with pytest.raises((sdp.VerificationError, sdp.ParameterError, sdp.CertificationError), match=r"\.$"):
        read(data, tmp_path / "forged.json")


@pytest.mark.slow_cases("{'kind': 'counts', 'bits': 128, 'cap': 1000000000000}")
@pytest.mark.parametrize(
    "method",
    [
        {"kind": "counts", "bits": 128, "cap": 0},
        {"kind": "counts", "bits": 128, "cap": 3},
        {"kind": "counts", "bits": 128, "cap": -1},
        {"kind": "counts", "bits": 128, "cap": -50},
        {"kind": "counts", "bits": 128, "cap": 10**12},
        {"kind": "local", "bits": 128},
        {"kind": "nothing", "bits": 128},
        {"kind": "contour", "bits": 128},
        {"kind": "contour", "bits": 128, "c": 1.0, "s": 1.0, "h": 1.0, "nodes": 0},
        {"kind": "contour", "bits": 128, "c": 1.0, "s": 1.0, "h": 1.0, "nodes": 1},
        {"kind": "contour", "bits": 128, "c": -1.0, "s": 1.0, "h": 1.0, "nodes": 10},
        {"kind": "contour", "bits": 128, "c": 1.0, "s": -1.0, "h": 1.0, "nodes": 10},
        {"kind": "contour", "bits": 128, "c": 1.0, "s": 1.0, "h": -1.0, "nodes": 10},
        {"kind": "contour", "bits": 128, "c": math.inf, "s": 1.0, "h": 1.0, "nodes": 10},
        {"kind": "contour", "bits": 128, "c": math.nan, "s": 1.0, "h": 1.0, "nodes": 10},
        {"kind": "contour", "bits": 128, "c": 1e300, "s": 1e300, "h": 1e300, "nodes": 10},
        {"kind": "contour", "bits": 128, "c": 1e-300, "s": 1e-300, "h": 1e-300, "nodes": 10},
        {"kind": "contour", "bits": 128, "c": 1.0, "s": 1.0, "h": 1.0, "nodes": 10**18},
        {"kind": "contour", "bits": 1, "c": 1.0, "s": 1.0, "h": 1.0, "nodes": 10},
        {"kind": "contour", "bits": 10**9, "c": 1.0, "s": 1.0, "h": 1.0, "nodes": 10},
        {"kind": "contour", "bits": "x", "c": 1.0, "s": 1.0, "h": 1.0, "nodes": 10},
        {},
    ],
    ids=repr,
)
def test_a_foolish_method_proves_nothing_false(method: dict[str, Any], tmp_path: Path) -> None:
    """eps is a fifth of what can be claimed: whatever the method, the claim must not pass."""
    data = document()
    data["epsilon"] = "0.0185"
    data["pairs"][0]["method"] = method
    with pytest.raises((sdp.VerificationError, sdp.ParameterError, sdp.CertificationError), match=r"\.$"):
        read(data, tmp_path / "foolish.json")


NO_PROOF = [k for k, b in BOUNDS.items() if isinstance(b, Numerical) and (b.side == "lower" or not b.sound)]


@pytest.mark.heavy
@pytest.mark.slow_cases("constant-dataset-lower", "variation-ratio-published")
@pytest.mark.parametrize("bound", NO_PROOF)
def test_a_certificate_forged_with_a_bound_that_is_none(bound: str) -> None:
    """The rounds of a lower or an unsound bound prove nothing about the mechanism, however well they are summed."""
    m = sdp.FiniteRandomizer((np.ones((3, 3)) + 19 * np.eye(3)) / 22)
    truth = sdp.amplify(m, n=50, delta=1e-5)
    honest = sdp.amplify(m, n=50, delta=1e-5, certify=True).certificate
    assert honest is not None and truth.lower is not None
    eps = sdp.amplify(m, n=50, delta=1e-5, bound=bound).epsilon * 1.0005
    steps = []
    for r in BOUNDS[bound].family(m).pairs(64) or ():
        method = choose(r, 50, eps, 1e-4)
        proof = prove(r, 50, Fraction(eps), method)
        steps.append(Step(r, method, proof.lower, proof.upper))
    forged = replace(honest, bound=bound, epsilon=Fraction(eps), steps=tuple(steps))
    with pytest.raises(sdp.VerificationError, match=r"\.$"):
        sdp.verify(forged)


@pytest.mark.parametrize("bound", ["analytic", "clone-closed", "blanket-bennett", "efmrtt19"])
def test_a_closed_form_is_not_certified(bound: str) -> None:
    with pytest.raises(sdp.CertificationError, match="is not one that a certificate can prove; use bound='auto'"):
        sdp.amplify("grr:eps0=1,d=8", n=10_000, delta=1e-6, bound=bound, certify=True)


def test_a_matrix_does_not_speak_for_another_mechanism() -> None:
    c = sdp.amplify(sdp.FiniteRandomizer([[0.51, 0.49], [0.49, 0.51]]), n=1000, delta=1e-6, certify=True).certificate
    assert c is not None
    with pytest.raises(sdp.VerificationError, match=r"\.$"):
        sdp.verify(replace(c, mechanism="general:eps0=9"))


@pytest.mark.slow_cases("*-1000-1e-12", "auto-1e-09-2-1e-20")
@pytest.mark.parametrize(("miss", "n", "delta"), [(4e-11, 2, 1e-12), (4e-10, 1000, 1e-12), (1e-9, 2, 1e-20)])
@pytest.mark.parametrize("bound", ["auto", "blanket"])
def test_a_tiny_eps_is_proved(miss: float, n: int, delta: float, bound: str) -> None:
    """The rounding of the law is a large part of it, so that a part of it is not enough to add."""
    m = sdp.FiniteRandomizer([[0.5, 0.5], [0.5 + miss, 0.5 - miss]])
    found = sdp.amplify(m, n=n, delta=delta, bound=bound, certify=True)
    assert found.epsilon <= sdp.amplify(m, n=n, delta=delta, bound=bound).epsilon + 2e-11
    assert sdp.verify(found.certificate).proved_delta <= delta


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        '{"format": "other/1"}',
        '{"format": "shuffledp-certificate/3"}',
        "[" * 100_000,
        "\x00",
    ],
    ids=lambda t: t[:24],
)
def test_malformed_files(text: str, tmp_path: Path) -> None:
    with pytest.raises(sdp.ParameterError, match=r"^certificate must .*\.$"):
        read(text, tmp_path / "bad.json")


@pytest.mark.parametrize("key", ["mechanism", "bound", "n", "epsilon", "delta", "pairs"])
@pytest.mark.parametrize("value", ["gone", None, [], {}, "x", math.nan], ids=repr)
def test_malformed_entries(key: str, value: Any, tmp_path: Path) -> None:
    data = document(n=10)
    data[key] = value
    if value == "gone":
        del data[key]
    with pytest.raises((sdp.ParameterError, sdp.VerificationError, sdp.CertificationError), match=r"\.$"):
        read(data, tmp_path / "bad.json")


COUNTS = {"kind": "counts", "bits": 128, "cap": 3}
WILD = {"kind": "contour", "bits": 128, "c": 1e6, "s": 1e6, "h": 1.0, "nodes": 3}


@pytest.mark.heavy
@pytest.mark.slow_cases("1e12", "wild")
@pytest.mark.parametrize(
    ("n", "method"), [(10**12, COUNTS), (10**400, COUNTS), (10, WILD)], ids=["1e12", "1e400", "wild"]
)
def test_a_proof_that_would_fill_the_memory_is_refused_at_once(n: int, method: dict[str, Any], tmp_path: Path) -> None:
    """(1 - T)^n and e^(s^2 c^2) have exponents of astronomical size: as fractions they would fill the memory."""
    data = document(n=10)
    data["n"] = n
    data["pairs"][0]["method"] = method
    (tmp_path / "huge.json").write_text(json.dumps(data))
    code = (
        "import resource, sys, shuffledp as sdp; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n"
        "try: sdp.verify(sys.argv[1])\n"
        "except sdp.ShuffleDPError as error: print('refused', error)"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "huge.json")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=5, check=False)
    assert done.returncode == 0 and done.stdout.startswith("refused"), done.stderr[-300:]


def test_paths(tmp_path: Path) -> None:
    with pytest.raises(sdp.ParameterError, match="certificate must"):
        sdp.verify(tmp_path / "none.json")
    with pytest.raises(sdp.ParameterError, match="certificate must"):
        sdp.verify(tmp_path)
    with pytest.raises(sdp.ParameterError, match=r"\.$"):
        sdp.verify(123)  # type: ignore[arg-type]
    c = sdp.amplify(COIN, n=10, delta=1e-3, certify=True).certificate
    assert c is not None
    for place in (tmp_path / "no" / "such" / "x.json", tmp_path):
        with pytest.raises(sdp.ParameterError, match=r"\.$"):
            c.write(place)
    assert list(tmp_path.iterdir()) == []


def test_anyone_may_read_the_file(tmp_path: Path) -> None:
    """A certificate is made to be handed on: it has the permissions of any new file, not those of a secret."""
    (tmp_path / "plain").write_text("x")
    c = sdp.amplify(COIN, n=10, delta=1e-3, certify=True).certificate
    assert c is not None
    c.write(tmp_path / "proof.json")
    assert (tmp_path / "proof.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_too_many_laws_is_said() -> None:
    m = sdp.FiniteRandomizer(np.random.default_rng(0).dirichlet(np.ones(17), size=17))
    with pytest.raises(sdp.CertificationError, match=r"at most 256 distinct laws.*; try bound='variation-ratio' or"):
        sdp.amplify(m, n=100, delta=1e-3, bound="swap", certify=True)


@pytest.mark.parametrize(
    "m",
    [
        "cheu-zhilyaev:flip=0.25,d=10,messages=1",
        "mix-dump:d=10,flip=0.1,messages=1",
        sdp.FiniteRandomizer(np.random.default_rng(0).dirichlet(np.full(17, 50.0), size=17)),
    ],
    ids=["cheu-zhilyaev", "mix-dump", "matrix"],
)
def test_where_the_law_is_not_covered_the_best_of_the_weaker_bounds_is_proved(m: Any) -> None:
    found = sdp.amplify(m, n=1000, delta=1e-6, certify=True)
    weaker = [sdp.amplify(m, n=1000, delta=1e-6, bound=b) for b in ("swap-general", "variation-ratio", "general")]
    provable = [one for one in weaker if isinstance(m, sdp.FiniteRandomizer) or one.bound != "variation-ratio"]
    best = min(provable, key=lambda one: one.epsilon)
    assert found.certified and found.certificate is not None and found.bound == best.bound == found.certificate.bound
    assert best.epsilon * (1 - 2e-4) <= found.epsilon <= best.epsilon * (1 + 1e-3)
    assert "looser, because no certificate covers the tightest bound of this mechanism" in str(found)
    assert sdp.verify(found.certificate).epsilon == found.certificate.epsilon


@pytest.mark.heavy_cases("laplace*")
@pytest.mark.parametrize("spec", ["wheel:eps0=1,d=5,s=3,w=0.25", "laplace:eps0=3"])
def test_a_proof_by_the_blanket_says_so_where_no_certificate_covers_the_swap_bound(spec: str) -> None:
    found, best = (sdp.amplify(spec, n=10_000, delta=1e-6, certify=proof) for proof in (True, False))
    assert (found.bound, best.bound) == ("blanket", "swap") and found.epsilon > 1.3 * best.epsilon
    assert "looser, because no certificate covers the tightest bound" in str(found)


def test_a_proof_by_the_swap_bound_is_not_called_looser() -> None:
    found = sdp.amplify("grr:eps0=1,d=2", n=10_000, delta=1e-6, certify=True)
    assert found.bound == "swap" and not found.note


@pytest.mark.parametrize("spec", ["poisson-histogram:d=16,poisson_per_index=0.1", "balcer-coin:messages=0.5"])
def test_a_law_of_another_form_is_refused_without_advice_that_does_not_help(spec: str) -> None:
    with pytest.raises(sdp.CertificationError, match=r"laws of one message, and .* use certify=False: no bound"):
        sdp.amplify(spec, n=300, delta=1e-4, certify=True)


@pytest.mark.parametrize("spec", ["randomized-response:eps0=3", "balcer-coin:messages=0.5"])
def test_a_mechanism_without_rounds_is_not_proved_by_none(spec: str, tmp_path: Path) -> None:
    forged = {
        "format": "shuffledp-certificate/3",
        "claim": "max over the pairs of delta(epsilon) <= delta",
        "mechanism": spec,
        "law_sha256": "",
        "neighbors": "replace-one",
        "trust": "",
        "bound": "blanket",
        "n": 10,
        "epsilon": "0",
        "delta": "1e-30",
        "pairs": [],
    }
    with pytest.raises(sdp.VerificationError, match=r"\.$"):
        read(forged, tmp_path / "empty.json")


def test_a_round_is_proved_in_both_directions() -> None:
    r = sdp.ShuffledPair([0.9, 0.1, 0.0], [0.5, 0.1, 0.4], [0.3, 0.1, 0.05])
    c = sdp.amplify(r, n=200, delta=1e-3, certify=True).certificate
    assert c is not None and len(c.steps) == 2
    sdp.verify(c)
    for step in c.steps:
        with pytest.raises(sdp.VerificationError, match="both directions"):
            sdp.verify(replace(c, steps=(step,)))


@pytest.mark.parametrize(("key", "value"), [("delta", "7"), ("epsilon", "-1"), ("epsilon", "1e999999999")])
def test_numbers_out_of_range_are_refused_at_once(key: str, value: str, tmp_path: Path) -> None:
    data = document(n=10) | {key: value}
    with pytest.raises(sdp.ParameterError, match=r"^certificate must .*\.$"):
        read(data, tmp_path / "wild.json")


@pytest.mark.heavy
def test_threads_prove_what_one_would() -> None:
    def proved(eps0: float) -> Fraction:
        c = sdp.amplify(sdp.General(eps0=eps0), n=10**6, delta=1e-8, certify=True).certificate
        assert c is not None
        return c.proved_delta

    before = flint.ctx.prec
    budgets = [0.5, 1.0, 2.0, 3.0] * 3
    alone = [proved(e) for e in budgets]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(proved, budgets)) == alone
    assert flint.ctx.prec == before


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    c = sdp.amplify(COIN, n=10, delta=1e-3, certify=True).certificate
    assert c is not None
    c.write(link)
    assert link.is_symlink() and target.read_text() == c.to_json()
    with pytest.raises(sdp.ParameterError, match="out must be the path of a file"):
        c.write("")
