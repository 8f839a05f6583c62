"""The contract that every registered mechanism signs: law, sampler, estimator, bounds."""

from __future__ import annotations

import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from contract.cases import Case, all_cases
from reference.fractions_oracle import worst_divergence
from reference.repetition import slow
from shuffledp.bounds import BOUNDS
from shuffledp.mechanisms.randomizer import Randomizer
from shuffledp.protocol.messages import from_bytes, to_bytes

CASES = all_cases()
RUNNABLE = [c for c in CASES if isinstance(c.mechanism, Randomizer)]
ENUMERABLE = [c for c in RUNNABLE if c.enumerable]
SAME_LAW = [c for c in ENUMERABLE if c.same_law]


def each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=str)


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@each(CASES)
def test_spec_pickle_and_frozen(case: Case) -> None:
    m = case.mechanism
    again = sdp.mechanism(m.spec)
    assert again == m and again.spec == m.spec
    assert pickle.loads(pickle.dumps(m)) == m
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.name2 = 1
    field = dataclasses.fields(m)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(m, field, 1)
    assert m.description and m.__doc__


@each(CASES)
def test_at_most_25_public_names_beside_the_parameters(case: Case) -> None:
    names = {name for name in dir(case.mechanism) if not name.startswith("_")}
    assert len(names - {field.name for field in dataclasses.fields(case.mechanism)}) <= 25, sorted(names)


@each(CASES)
def test_families_are_made_once_and_a_copy_makes_its_own(case: Case) -> None:
    m = case.mechanism
    try:
        family = m.law.constant_datasets()
    except sdp.BoundNotApplicableError:
        return
    assert m.law.constant_datasets() is family and pickle.loads(pickle.dumps(m)).law.constant_datasets() is not family


@each(ENUMERABLE)
def test_the_stated_law_is_a_law_and_locally_private(case: Case) -> None:
    rows = case.mechanism.probabilities()
    assert len(rows) == len(case.mechanism.inputs())
    assert np.all(rows >= 0)
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    eps0 = case.mechanism.local_epsilon
    if math.isfinite(eps0):
        top, bottom = rows.max(axis=0), rows.min(axis=0)
        assert np.all(top <= bottom * math.exp(eps0) * (1 + 1e-12))


@each(ENUMERABLE)
def test_the_sampler_follows_the_stated_law(case: Case) -> None:
    m = case.mechanism
    rows, inputs = m.probabilities(), m.inputs()
    size = 20_000
    for i in {0, len(inputs) // 2, len(inputs) - 1}:
        reports = m.privatize(np.array([inputs[i]] * size), rng=seeded(i))
        seen = np.bincount(m._columns(reports.data), minlength=rows.shape[1])
        total = seen.sum()
        likely = rows[i] * total >= 5
        assert not np.any(seen[rows[i] == 0])
        expected = np.append(rows[i][likely], rows[i][~likely].sum()) * total
        observed = np.append(seen[likely], seen[~likely].sum())
        keep = expected > 0
        if keep.sum() > 1:
            assert stats.chisquare(observed[keep], expected[keep], sum_check=False).pvalue > 1e-6


@pytest.mark.slow_cases(
    "*-hash:eps0=1.8,d=5,l=7",
    "25-gaussian:sigma=0.5,low=0,high=1,inputs=3,edges=8",
    "25-gaussian:sigma=2,low=-1,high=3,inputs=5,edges=16",
    "3000-subset:eps0=4,d=6,k=5",
)
@pytest.mark.one_setting
@each(SAME_LAW)
@pytest.mark.parametrize("n", [1, slow(2), 25, 3000])
def test_bounds_equal_those_of_the_matrix(case: Case, n: int) -> None:
    m = case.mechanism
    matrix = sdp.FiniteRandomizer(m.probabilities())
    for delta in (1e-2, 1e-6):
        ours, theirs = (sdp.amplify(x, n=n, delta=delta, bound="blanket") for x in (m, matrix))
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=4e-4, abs=1e-9)
        assert ours.lower == pytest.approx(theirs.lower, rel=4e-4, abs=1e-9)


@each([c for c in ENUMERABLE if c.same_law or c.exact_ratio])
def test_variation_ratio_is_never_below_brute_force(case: Case) -> None:
    ours = case.mechanism.variation_ratio()
    theirs = sdp.FiniteRandomizer(case.mechanism.probabilities()).variation_ratio()
    for name in ("p", "beta", "q"):
        got, truth = getattr(ours, name), getattr(theirs, name)
        assert got >= truth * (1 - 1e-9)
        if case.exact_ratio:
            assert got == pytest.approx(truth, rel=1e-9)


@each([c for c in SAME_LAW if c.mechanism.probabilities().shape[1] <= 6])
def test_the_truth_is_inside_the_bracket(case: Case) -> None:
    m = case.mechanism
    rows = [[Fraction(float(x)) for x in row] for row in m.probabilities()][:3]
    for n in (2, 3):
        for eps in (0.1, 0.5 * min(m.local_epsilon, 4.0)):
            truth = float(worst_divergence(rows, n, Fraction(math.exp(eps))))
            assert truth <= float(sdp.profile(m, n=n, epsilon=eps)) * (1 + 1e-9) + 1e-15
            if len(m.inputs()) <= 3:
                assert float(sdp.profile(m, n=n, epsilon=eps, side="lower")) <= truth * (1 + 1e-9) + 1e-15


@each([c for c in CASES if hasattr(c.mechanism, "blanket")])
def test_chain_of_bounds(case: Case) -> None:
    m = case.mechanism
    for n in (10, 10_000):
        best = sdp.amplify(m, n=n, delta=1e-6)
        assert best.lower is None or best.lower <= best.epsilon
        assert best.epsilon <= m.local_epsilon
        try:
            m.variation_ratio()
        except sdp.BoundNotApplicableError:
            continue
        assert best.epsilon <= sdp.amplify(m, n=n, delta=1e-6, bound="variation-ratio").epsilon * (1 + 3e-4)


@pytest.mark.slow
@pytest.mark.slow_cases(
    "gaussian:*",
    "cheu-zhilyaev:flip=0.2,d=5,messages=1.5",
    "duchi:eps0=2,dim=4",
    "duchi:eps0=3,dim=5",
    "grr:eps0=2.5,d=4",
    "harmony:eps0=2,dim=3",
    "harmony:eps0=4,dim=5",
    "joint:<grr:eps0=1,d=2; grr:eps0=0.5,d=2>",
    "joint:<randomized-respon*",
    "joint:<unary:eps0=1,d=3; grr:eps0=2,d=3>",
    "privset:eps0=2,d=5,s=2,k=1",
    "privset:eps0=3,d=100,s=3,k=2",
    "privset:eps0=3,d=2,s=2,k=2",
    "privunit:eps0=2,dim=4,cap=0.7",
    "privunit:eps0=4,dim=20,cap=0.06998131170458755",
    "randomized-response:eps0=3",
    "subset:eps0=1.5,d=8,k=4",
    "subset:eps0=2,d=40,k=2",
    "subset:eps0=2.5,d=4,k=2",
    "subset:eps0=4,d=6,k=5",
    "unary:eps0=2.5,d=4",
)
@pytest.mark.one_setting
@each(CASES)
def test_no_sound_bound_is_below_a_dataset(case: Case) -> None:
    """The lower bound is the exact divergence of a dataset: a bound by name that fell below it would be no bound."""
    m = case.mechanism
    try:
        datasets = m.law.constant_datasets()
    except sdp.BoundNotApplicableError:
        return
    for n in (5, 2000):
        low = datasets.epsilon(n=n, delta=1e-5, tol=1e-4, side="lower").epsilon
        for name in (b.name for b in BOUNDS.values() if b.sound and b.side == "upper"):
            try:
                high = sdp.amplify(m, n=n, delta=1e-5, bound=name).epsilon
            except sdp.BoundNotApplicableError:
                continue
            assert high >= low * (1 - 1e-9), name


@each(RUNNABLE)
def test_the_estimate_is_unbiased_with_right_errors(case: Case) -> None:
    m = case.mechanism
    values, truth = case.data(100_000)
    est = m.estimate(m.privatize(values, rng=seeded(7)))
    assert est.n == 100_000
    assert est.value.shape == np.shape(truth)
    assert np.all(np.abs(est.value - truth) <= 4.5 * est.stderr + 1e-12)
    low, high = est.interval(0.9)
    assert np.all(low <= est.value) and np.all(est.value <= high)


@pytest.mark.slow
@pytest.mark.slow_cases("planar-*", "prefix-*")
@pytest.mark.one_setting
@each(RUNNABLE)
def test_the_standard_error_is_that_of_many_runs(case: Case) -> None:
    m, runs, n = case.mechanism, 150, 400
    values, truth = case.data(n)
    rng = seeded(11)
    estimates = [m.estimate(m.privatize(values, rng=rng)) for _ in range(runs)]
    found = np.array([e.value for e in estimates])
    claimed = np.sqrt(np.mean([e.stderr**2 for e in estimates], axis=0))
    bias = found.mean(axis=0) - truth
    assert np.all(np.abs(bias) <= 5 * claimed / math.sqrt(runs))
    # the relative error of a sample deviation is about 1/sqrt(2 runs); heavy tails allowed for
    assert np.all(found.std(axis=0) <= claimed * (1 + 6 / math.sqrt(runs)))
    assert np.all(found.std(axis=0) >= claimed * (1 - 5 / math.sqrt(runs)))


@pytest.mark.one_setting
@each(RUNNABLE)
def test_the_estimate_knows_its_constraint_and_its_sampling_variance(case: Case) -> None:
    m = case.mechanism
    values, truth = case.data(3000)
    est = m.estimate(m.privatize(values, rng=seeded(5)))
    truth = np.asarray(truth, dtype=float)
    assert est.constraint is not None and est.noise is not None and est.sampling is not None
    assert est.constraint.nearest(truth) == pytest.approx(truth, abs=1e-9)  # the truth satisfies it
    made = est.consistent()
    assert made.step == "nearest"
    assert np.linalg.norm(made.value - truth) <= np.linalg.norm(est.value - truth) + 1e-9
    for step in {"simplex", "norm-sub"} - set(est.constraint.steps):
        with pytest.raises(sdp.ParameterError, match="call consistent"):
            est.consistent(step)
    (low, high), (lower, higher) = est.interval(0.9), est.interval(0.9, of="population")
    room = 1e-12 + 0.01 * (high - low)  # the middle of a score interval moves with its width
    assert np.all(lower <= low + room) and np.all(high <= higher + room)
    assert np.all(higher - lower >= 0.999 * (high - low))


@pytest.mark.one_setting
@each(RUNNABLE)
def test_a_bare_array_does_not_know_whether_it_may_be_released(case: Case) -> None:
    m = case.mechanism
    values, _ = case.data(500)
    reports = m.privatize(values, rng=seeded(3))
    bare = m.estimate(reports.data, users=500)
    assert bare.for_release is None and bare.origin.startswith("unknown: pass the Reports object")
    assert m.estimate(reports.data, users=500, for_release=True).for_release is True
    said = m.tally(reports.data, users=500, for_release=False)
    unknown = m.tally(reports.data, users=500)
    secure = m.tally(reports.data, users=500, for_release=True)
    assert (said + unknown).for_release is False and (unknown + secure).for_release is None
    assert (secure + secure).for_release is True and m.estimate(unknown).for_release is None
    for known in (reports, said):
        with pytest.raises(sdp.ParameterError, match="for_release must be left out with a"):
            m.estimate(known, for_release=True)
    with pytest.raises(sdp.ParameterError, match="for_release must be True, False or None"):
        m.estimate(reports.data, users=500, for_release="yes")


@each(RUNNABLE)
def test_randomness(case: Case) -> None:
    m = case.mechanism
    values, _ = case.data(500)
    first, again = (m.privatize(values, rng=seeded(3)) for _ in range(2))
    assert np.array_equal(first.data, again.data)
    assert not first.for_release and not m.estimate(first).for_release
    secure = [m.privatize(values) for _ in range(2)]
    assert secure[0].for_release and m.estimate(secure[0]).for_release
    if m.name != "poisson-sum":  # whose messages are all alike
        assert not np.array_equal(secure[0].data, secure[1].data)
    counts = m.privatize_counts(values, rng=seeded(3))
    direct = m.estimate(first)
    assert m.estimate(counts).value == pytest.approx(direct.value, rel=1e-9, abs=1e-12)


@each(RUNNABLE)
def test_what_a_client_sends_has_the_form_of_a_report(case: Case) -> None:
    codec, data = case.mechanism.codec, case.mechanism.privatize(case.data(100)[0], rng=seeded(5)).data
    found = codec.proper(from_bytes(codec, to_bytes(codec, data)))
    assert found.shape == (len(data),) and found.all()


@each(RUNNABLE)
def test_bad_values_are_refused_in_one_sentence(case: Case) -> None:
    for bad in ([], [[["x"]]], np.array(["a"]), np.array([float("nan")]), np.array([-(10**9)])):
        with pytest.raises(sdp.ParameterError) as error:
            case.mechanism.privatize(bad)
        assert "\n" not in str(error.value) and str(error.value).endswith(".")


@each(RUNNABLE)
def test_bad_reports_are_refused_in_one_sentence(case: Case) -> None:
    m = case.mechanism
    values, _ = case.data(50)
    good = m.privatize(values, rng=seeded(1))
    none = [[]] if m._message_limits[0] else []  # where users may send nothing, no message is a batch too
    for bad in (*none, ["x"], np.array([float("nan")]), np.array([[[0]]]), [[1, 2], [3]]):
        with pytest.raises(sdp.ParameterError) as error:
            m.estimate(bad, users=3)
        assert "\n" not in str(error.value) and str(error.value).endswith(".")
    for users in (0, -3, float("nan"), "a", 2.5):
        with pytest.raises(sdp.ParameterError, match="users must"):
            m.estimate(good.data, users=users)
    with pytest.raises(sdp.ParameterError, match="must come from"):
        m.estimate(dataclasses.replace(good, mechanism="another"))
