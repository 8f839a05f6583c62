"""Joint answers: the law of a tuple against its whole matrix, every dataset, separate shuffles; files and sentences."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from reference.fractions_oracle import worst_divergence
from shuffledp.mechanisms.composite import joint_law
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import ShuffledPair

ASK = {"n": 1000, "delta": 1e-6}


def whole(*answers: Any) -> sdp.FiniteRandomizer:
    """The brute-force product matrix."""
    parts = [sdp.mechanism(m) if isinstance(m, str) else m for m in answers]
    return sdp.FiniteRandomizer(reduce(np.kron, [m.probabilities() for m in parts]))


def lopsided(seed: int, inputs: int, outputs: int) -> sdp.FiniteRandomizer:
    rows = np.random.default_rng(seed).dirichlet(np.ones(outputs), size=inputs)
    return sdp.FiniteRandomizer(0.8 * rows + 0.2 / outputs)


MIXED = [
    ("grr:eps0=1,d=3", "grr:eps0=2,d=4"),
    ("grr:eps0=1,d=2",) * 3,
    ("unary:eps0=1,d=3", "grr:eps0=1,d=3"),
    ("subset:eps0=1,d=5,k=2", "hadamard:eps0=1.3,d=3"),
    ("randomized-response:eps0=2", "optimized-unary:eps0=1,d=3"),
    ("harmony:eps0=1,dim=2", "duchi:eps0=1,dim=2"),
    ("hierarchical-grr:eps0=1,d=4", "grr:eps0=1,d=2"),
    (lopsided(1, 3, 3), lopsided(2, 2, 3)),
    (lopsided(3, 2, 2), "unary:eps0=1,d=2", "grr:eps0=1,d=2"),
    ("sampling-rappor:eps0=1,d=4,s=2", lopsided(4, 3, 2)),
]


# -- the law ----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.slow_cases("finite+finite", "finite+unary+grr", "sampling-rappor+finite")
@pytest.mark.parametrize("answers", MIXED, ids=lambda a: "+".join(str(getattr(m, "spec", m)).split(":")[0] for m in a))
def test_the_bounds_are_those_of_the_product_matrix(answers: Any) -> None:
    joint, matrix = sdp.Joint(answers), whole(*answers)
    for n, delta in itertools.product((1, 2, 25, 3000, 10**6), (1e-2, 1e-6)):
        ours, theirs = (sdp.amplify(m, n=n, delta=delta, bound="blanket") for m in (joint, matrix))
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=4e-4, abs=1e-9)
        if n >= 1000:
            best = sdp.amplify(joint, n=n, delta=delta)
            assert best.lower is not None and best.lower <= best.epsilon <= ours.epsilon * (1 + 1e-9)
        assert joint.local_epsilon == pytest.approx(matrix.local_epsilon, rel=1e-12)
    rows, inputs = joint.probabilities(), joint.inputs()
    assert len(rows) == len(inputs) and np.array_equal(rows, matrix.probabilities())


@pytest.mark.slow_cases("first0-second0", "first1-second1")
@pytest.mark.parametrize(
    ("first", "second"), [(("1", "2"), ("1", "2")), (("1", "2"), ("0.5", "3")), (("2", "3"), ("0.3", "2"))]
)
def test_two_grrs_agree_with_brute_force_over_every_dataset(first: Any, second: Any) -> None:
    answers = [f"grr:eps0={e},d={d}" for e, d in (first, second)]
    joint = sdp.Joint(answers)
    rows = [[Fraction(float(x)) for x in row] for row in joint.probabilities()]
    for n, eps in itertools.product((2, 3) if len(rows) == 4 else (2,), (0.1, 0.7, 0.95 * joint.local_epsilon)):
        truth = float(worst_divergence(rows, n, Fraction(math.exp(eps))))
        assert truth <= float(sdp.profile(joint, n=n, epsilon=eps)) * (1 + 1e-9)
        assert float(sdp.profile(joint, n=n, epsilon=eps, side="lower")) <= truth * (1 + 1e-9) + 1e-15


def test_an_answer_that_stays_the_same_can_be_the_worst() -> None:
    """The first answer singles out the victim, whatever it holds; the second is then read off."""
    first = sdp.FiniteRandomizer([[0.36, 0.64], [0.9, 0.1]])
    second = sdp.FiniteRandomizer([[0.06, 0.94], [0.97, 0.03]])
    omega = np.kron(first.probabilities().min(axis=0), second.probabilities().min(axis=0))
    rows = [np.kron(a, b) for a in first.probabilities() for b in second.probabilities()]

    def largest(places: list[tuple[int, int]]) -> float:
        pairs = [ShuffledPair(P0=rows[i], P1=rows[j], t=omega) for i, j in places]
        return float(PairSet(pairs).log_delta(np.log([5.0]), n=5, tol=1e-7, side="upper")[0])

    both_change = largest([(0, 3), (3, 0), (1, 2), (2, 1)])
    one_stays = largest([(0, 1), (1, 0), (2, 3), (3, 2)])
    assert math.exp(both_change) == pytest.approx(0.7160203, rel=1e-5)
    assert math.exp(one_stays) == pytest.approx(0.7278435, rel=1e-5)
    listed = sdp.Joint([first, second]).law.blanket().log_delta(np.log([5.0]), n=5, tol=1e-7, side="upper")
    assert listed[0] == pytest.approx(one_stays, abs=1e-6)


def test_answers_change_in_different_directions() -> None:
    """x0 and x1 exchanged in one answer only: neither product of the two directions alone covers it."""
    skew = sdp.FiniteRandomizer([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4]])
    listed = sdp.Joint([skew, sdp.FiniteRandomizer([[0.5, 0.5], [0.95, 0.05]])]).law.blanket().pairs(100)
    assert listed is not None and len(listed) == 16  # (two directions + two unchanged)^2


@pytest.mark.slow
def test_many_pairs_are_searched_as_one_matrix_and_then_by_their_ratio() -> None:
    answers = [lopsided(seed, 7, 4) for seed in (1, 2)]
    joint = sdp.Joint(answers)
    assert joint.law.blanket().pairs(10) is None
    assert sdp.amplify(joint, **ASK).epsilon == pytest.approx(sdp.amplify(whole(*answers), **ASK).epsilon, rel=4e-4)
    large = sdp.Joint([lopsided(seed, 20, 4) for seed in (1, 2)])  # 400 inputs: (p, beta, q) of one answer
    found = large.law.blanket().pairs(joint_law.MAX_PAIRS)
    assert found is not None
    alone = sdp.amplify(whole(*large.answers), **ASK)
    assert alone.epsilon * (1 - 1e-9) <= sdp.amplify(large, **ASK).epsilon <= large.local_epsilon


@pytest.mark.heavy
def test_large_products_cost_little_and_stay_above_what_is_exact() -> None:
    """Laplace: 129 symbols each; the product with RR is exact, that of two is put on a grid."""
    pair = sdp.Laplace(eps0=1.0).law.blanket().pairs(1)[0]
    exact = ShuffledPair(*(np.kron(law, law) for law in (pair.P0, pair.P1, pair.t)))
    joint = sdp.Joint(["laplace:1"] * 3)
    (found,) = joint.law.blanket().pairs(1)
    assert np.size(found.t) <= 5000
    two = PairSet([exact]).epsilon(n=10**4, delta=1e-6, tol=1e-6, side="upper").epsilon
    three = sdp.amplify(joint, n=10**4, delta=1e-6, tol=1e-6).epsilon
    assert two == pytest.approx(sdp.amplify(sdp.Joint(["laplace:1"] * 2), n=10**4, delta=1e-6).epsilon, rel=1e-3)
    assert two < three < 2.0 * two


def test_an_answer_that_says_nothing_costs_nothing() -> None:
    flat = sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]])
    assert sdp.amplify(sdp.Joint([flat, flat]), **ASK).epsilon == 0.0
    with pytest.raises(sdp.ParameterError, match="must depend on its input"):
        sdp.Joint([flat]).variation_ratio()
    both = sdp.amplify(sdp.Joint([flat, "grr:1,4"]), **ASK).epsilon
    assert both == pytest.approx(sdp.amplify("grr:1,4", **ASK).epsilon, rel=1e-9)
    assert sdp.amplify(sdp.Joint(["grr:1,4"]), **ASK).epsilon == pytest.approx(both, rel=1e-9)


def test_answers_without_a_law_are_known_by_their_ratio() -> None:
    known = sdp.amplify(sdp.Joint(["general:1", "grr:1,4"]), **ASK)
    assert known.lower is None and known.bound == "blanket"
    assert known.epsilon < sdp.amplify("general:2", **ASK).epsilon
    parallel = sdp.Parallel([(0.5, "grr:1,2"), (0.5, "grr:1,3")])
    assert parallel.law.dominating_pairs(1000) is None  # a pair of it covers no input pair on its own
    mixed = sdp.Joint([parallel, "grr:1,2"])
    matrix = sdp.FiniteRandomizer(np.kron(parallel.probabilities(), sdp.GRR(eps0=1.0, d=2).probabilities()))
    assert sdp.amplify(mixed, **ASK).epsilon >= sdp.amplify(matrix, **ASK).epsilon * (1 - 1e-9)


@pytest.mark.heavy
def test_the_lower_bound_of_many_answers_does_not_vanish() -> None:
    """The product of all 20 distinguishes by outcomes that nobody ever sends; a few answers do better."""
    many = sdp.amplify(sdp.Joint(["grr:0.5,4"] * 20), n=10**4, delta=1e-6)
    few = sdp.amplify(sdp.Joint(["grr:0.5,4"] * 2), n=10**4, delta=1e-6)
    assert many.lower is not None and few.lower is not None
    assert few.lower * (1 - 1e-9) <= many.lower <= many.epsilon


def test_the_ratio_of_blankets_is_a_product() -> None:
    own, other = sdp.Joint(["grr:1,4", "grr:2,4"]), sdp.Joint(["grr:2,4", "grr:2,4"])
    single = sdp.GRR(eps0=1.0, d=4).law.blanket_ratio(sdp.GRR(eps0=2.0, d=4))
    assert single * (1 - 1e-12) <= own.law.blanket_ratio(other) <= single
    mixed = sdp.amplify_mixed([(own, 500), (other, 500)], delta=1e-6)
    assert 0.0 < mixed.epsilon < other.local_epsilon
    with pytest.raises(sdp.BoundNotApplicableError, match="one family"):
        own.law.blanket_ratio(sdp.GRR(eps0=1.0, d=4))
    with pytest.raises(sdp.BoundNotApplicableError, match="one family"):
        own.law.blanket_ratio(sdp.Joint(["grr:1,4"]))


# -- one tuple, or separate shuffles ----------------------------------------------------------------------------------


def separate(rows: list[list[Fraction]], n: int, E: Fraction, count: int) -> Fraction:
    """max over datasets of the divergence of ``count`` shuffles in which all users hold what they held before."""
    worst = Fraction(0)
    outputs = range(len(rows[0]))
    for x0, x1 in itertools.permutations(range(len(rows)), 2):
        for others in itertools.combinations_with_replacement(range(len(rows)), n - 1):
            laws: list[dict[tuple[int, ...], Fraction]] = []
            for victim in (x0, x1):
                law: dict[tuple[int, ...], Fraction] = {}
                for sent in itertools.product(outputs, repeat=n):
                    chance = math.prod(rows[x][y] for x, y in zip((victim, *others), sent, strict=True))
                    key = tuple(sorted(sent))
                    law[key] = law.get(key, Fraction(0)) + chance
                laws.append(law)
            total = Fraction(0)
            for seen in itertools.product(laws[0], repeat=count):
                p, q = (math.prod(law[key] for key in seen) for law in laws)
                total += max(p - E * q, Fraction(0))
            worst = max(worst, total)
    return worst


@pytest.mark.slow_cases("2-3", "2-5")
@pytest.mark.parametrize(("d", "n"), [(2, 2), (2, 3), (2, 5), (3, 2)])
def test_composed_rounds_are_never_below_the_truth_of_separate_shuffles(d: int, n: int) -> None:
    grr = sdp.GRR(eps0=1.0, d=d)
    rows = [[Fraction(float(x)) for x in row] for row in grr.probabilities()]
    acc = sdp.Accountant()
    acc.compose(grr, n=n, count=2)
    for eps in (0.1, 0.6, 1.5):
        truth = float(separate(rows, n, Fraction(math.exp(eps)), 2))
        assert 0.0 < truth <= acc.delta(epsilon=eps) * (1 + 1e-9)


def test_one_tuple_is_less_private_than_separate_shuffles() -> None:
    """The truth at n = 3, and what the library says of both."""
    grr = sdp.GRR(eps0=1.0, d=2)
    rows = [[Fraction(float(x)) for x in row] for row in grr.probabilities()]
    E = Fraction(math.exp(0.6))
    tuples = [[a * b for a in one for b in two] for one in rows for two in rows]
    assert worst_divergence(tuples, 3, E) > separate(rows, 3, E, 2)
    acc = sdp.Accountant()
    acc.compose(grr, n=10**4, count=2)
    joint = sdp.amplify(sdp.Joint([grr, grr]), n=10**4, delta=1e-6)
    assert joint.lower is not None and joint.lower > acc.epsilon(delta=1e-6)


# -- the rest of the library ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_library_knows_tuples(tmp_path: Path) -> None:
    joint = sdp.Joint(["grr:eps0=1,d=3", "unary:eps0=1,d=4"])
    acc = sdp.Accountant()
    acc.compose(joint, n=10**4, count=3)
    assert acc.epsilon(delta=1e-6) > sdp.amplify(joint, n=10**4, delta=1e-6).epsilon
    acc.save(tmp_path / "ledger.json")  # its spec reads back
    assert sdp.Accountant.load(tmp_path / "ledger.json").epsilon(delta=1e-6) == acc.epsilon(delta=1e-6)
    made = sdp.calibrate(joint, n=10**4, epsilon=0.2, delta=1e-6)
    assert made.answers[0].eps0 == made.answers[1].eps0 and made.answers[1].d == 4
    assert 0.199 < sdp.amplify(made, n=10**4, delta=1e-6).epsilon <= 0.2
    certified = sdp.amplify(sdp.Joint(["grr:1,3", "grr:1,2"]), certify=True, n=10**4, delta=1e-6)
    sdp.verify(certified.certificate)
    assert 900 < sdp.users_needed(joint, epsilon=0.2, delta=1e-6) < 1000
    with pytest.raises(sdp.ParameterError, match="parameter to solve"):
        sdp.calibrate(sdp.Joint([lopsided(1, 2, 2)]), n=100, epsilon=0.2, delta=1e-6)


@pytest.mark.heavy
def test_programmes_and_commands_know_tuples(tmp_path: Path) -> None:
    spec = "joint:<grr:eps0=1,d=4; unary:eps0=1,d=8>"
    path = tmp_path / "plan.yaml"
    path.write_text(
        "version: 1\nname: two questions\npopulation: {users: 10000}\ntarget: {epsilon: 1.0, delta: 1e-6}\n"
        f'rounds:\n  - {{name: both, mechanism: "{spec}", count: 3}}\n'
    )
    checked = sdp.check(path)
    acc = sdp.Accountant()
    acc.compose(spec, n=10**4, count=3)
    assert checked.within and checked.epsilon == pytest.approx(acc.epsilon(delta=1e-6), rel=1e-3)
    terms = ("--n", "10000", "--delta", "1e-6")
    said = run("amplify", spec, *terms)
    assert said.exit_code == 0 and "2 mechanisms whose answers travel as one tuple" in said.output
    made = run("calibrate", spec, *terms, "--epsilon", "0.2")
    assert made.exit_code == 0 and made.output.startswith("joint:<grr:eps0=1.8")
    assert refused(run("amplify", "joint:<grr:eps0=1,d=4; oops:1>", *terms)).startswith("shuffledp: unknown mechanism")


def test_local_budgets_add_up_on_the_safe_side() -> None:
    budgets = [0.1, 0.2, 0.3, 0.7]
    joint = sdp.Joint([sdp.General(eps0=e) for e in budgets])
    assert Fraction(joint.local_epsilon) >= sum(map(Fraction, budgets))
    assert joint.local_epsilon == pytest.approx(1.3, rel=1e-15)
    near = sdp.Joint(["metric-laplace:1,3", "grr:1,4"])
    assert near.law.crowd_epsilon > near.local_epsilon == 2.0
    assert "metric-laplace" in near.neighbors and near.neighbors.startswith("replace-one")


def test_answers_of_every_kind_together() -> None:
    n = 20_000
    rng = np.random.default_rng(3)
    joint = sdp.Joint(["grr:2,300", "laplace:2", "unary:3,9", "duchi:2,3"])
    values = [rng.integers(0, 300, n), rng.random(n), rng.integers(0, 9, n), rng.uniform(-1, 1, (n, 3))]
    reports = joint.privatize(values, rng=rng)
    found = joint.estimates(reports)
    truth = [np.bincount(values[0], minlength=300) / n, [values[1].mean()], np.bincount(values[2]) / n]
    for estimate, right in zip(found, [*truth, values[3].mean(axis=0)], strict=True):
        assert np.all(np.abs(estimate.value - right) < 5 * estimate.stderr)
    again = joint.estimate(rng.permutation(reports.data))
    assert again.value == pytest.approx(np.concatenate([np.ravel(e.value) for e in found]), rel=1e-12)
    parts = [joint.tally(joint.privatize([v[:100] for v in values])) for _ in range(2)]
    assert (parts[0] + parts[1]).users == 200


def test_answers_of_one_user_are_independent_given_the_values() -> None:
    joint = sdp.Joint(["grr:1,2", "grr:1,2"])
    data = joint.privatize(np.zeros((40_000, 2), dtype=int), rng=np.random.default_rng(0)).data
    assert abs(np.corrcoef(data["q0"], data["q1"])[0, 1]) < 0.02


def test_specs_and_files(tmp_path: Path) -> None:
    listed, plain = tmp_path / "a.json", tmp_path / "a.yaml"
    listed.write_text('[{"spec": "grr:1,4"}, {"spec": "grr:1,5"}]')
    plain.write_text("# two questions\n- spec: grr:1,4\n- spec: 'grr:eps0=1,d=5'  # the second\n")
    inline = sdp.mechanism("joint:<grr:1,4; grr:1,5>")
    for path in (listed, plain):
        made = sdp.mechanism(f"joint:{path}")
        assert made == inline and made.spec == inline.spec == "joint:<grr:eps0=1,d=4; grr:eps0=1,d=5>"
        assert list(made.law.files()) == []
    assert sdp.mechanism(inline.spec) == inline and hash(sdp.mechanism(inline.spec)) == hash(inline)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: sdp.Joint([]), "1 to 32"),
        (lambda: sdp.Joint(["grr:1,2"] * 33), "1 to 32"),
        (lambda: sdp.Joint(3), "list of mechanisms"),
        (lambda: sdp.Joint("grr:1,2"), "list of mechanisms"),
        (lambda: sdp.Joint([7]), "mechanisms or specs"),
        (lambda: sdp.Joint([sdp.Joint(["grr:1,2"])]), "joint themselves"),
        (lambda: sdp.Joint(["joint:<grr:1,2>"]), "joint themselves"),
        (lambda: sdp.Joint(["pure-dump:d=4,messages=1"]), "one report per user"),
        (lambda: sdp.Joint(["grrr:1,2"]), "did you mean"),
        (lambda: sdp.mechanism("joint:<grr:1,2; >"), "unknown mechanism"),
        (lambda: sdp.mechanism("joint:<no.such:Class:eps0=1>"), "registered"),
        (lambda: sdp.mechanism("joint:"), "needs a file"),
        (lambda: sdp.mechanism("joint:none.yaml"), "readable"),
        (lambda: sdp.Joint(["general:1"]).privatize([[0, 1]]), "can be run"),
        (lambda: sdp.Joint(["grr:1,2", "grr:1,3"]).privatize([[0, 1]]), "one array for each question"),
        (lambda: sdp.Joint(["grr:1,2", "grr:1,3"]).privatize([[0, 1], [0]]), "one entry per user"),
        (lambda: sdp.Joint(["grr:1,2"]).tally(np.array([1, 2])), "records with the fields q0"),
        (lambda: sdp.Joint(["grr:1,2000"] * 2).probabilities(), "cells"),
    ],
)  # fmt: skip
def test_one_sentence(make: Any, word: str) -> None:
    with pytest.raises(sdp.ParameterError, match=word) as error:
        make()
    assert "\n" not in str(error.value) and str(error.value).endswith((".", "?"))


def test_a_file_with_weights_is_one_of_parallel(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("- weight: 1\n  spec: grr:1,4\n")
    with pytest.raises(sdp.ParameterError, match="unknown key in entry 0"):
        sdp.Joint.from_file(path)
