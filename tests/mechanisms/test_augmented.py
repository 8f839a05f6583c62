"""The augmented shuffle: the authors' parameters, its error, its noise in every way to run it, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import shuffledp as sdp
from shuffledp.cli import main
from shuffledp.engines.local import Local
from shuffledp.mechanisms.multimessage.dummies import Geometric
from shuffledp.numerics.dummies import BinomialDummies
from shuffledp.numerics.poisson.histogram import PoissonShift
from shuffledp.planning.candidates import Refusal, candidates
from shuffledp.planning.tasks import task_named
from shuffledp.protocol.portable import portable
from shuffledp.randomness.sampling import source
from shuffledp.randomness.whole_numbers import binomial_numbers, geometric_numbers

LAWS = ("poisson", "geometric", "binomial")


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- the authors' parameters: https://github.com/LocalNoiseFreeDP/LocalNoiseFreeDP, delta = 1e-12 -------------------


@pytest.mark.parametrize("eps", [5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 0.2, 0.1])
def test_their_protocol_without_delta_has_exactly_their_eps(eps: float) -> None:
    keep = -math.expm1(-eps / 2.0)
    m = sdp.Augmented(d=10, keep=keep, dummies="geometric", mean=1.0 - keep)
    assert m.added.right == pytest.approx(1.0 / (1.0 + math.exp(eps / 2.0)), rel=1e-12)
    assert sdp.amplify(m, n=10, delta=1e-300).epsilon == pytest.approx(eps, rel=1e-9)


@pytest.mark.parametrize("eps", [5.0, 2.0, 1.0, 0.5, 0.1])
@pytest.mark.parametrize("keep", [1.0, 0.95])
def test_their_two_sided_law_has_their_eps_and_about_half_of_their_delta(eps: float, keep: float) -> None:
    """The mode is the least v with Pr[N = 0] (1 - e^(eps/2) (1-b)) <= delta/2: they charge it in both directions."""
    h, delta = eps / 2.0, 1e-12
    left, right = 1.0 - -math.expm1(-h) / keep, keep / (math.expm1(h) + keep)

    def zero(mode: int) -> float:
        return left**mode / Geometric(left, right, mode)._sums[0]

    mode = next(v for v in range(1, 2000) if zero(v) * (1.0 - math.exp(h) * (1.0 - keep)) <= delta / 2.0)
    theirs = Geometric(left, right, mode)
    m = sdp.Augmented(d=10, keep=keep, dummies="geometric", mean=theirs.mean, tail=zero(mode))
    assert (m.added.mode, m.added.left) == (mode, pytest.approx(left, rel=1e-9))
    assert m.added.variance == pytest.approx(theirs.variance, rel=1e-9)
    found = sdp.amplify(m, n=10, delta=delta)
    assert eps * 0.97 < found.lower <= found.epsilon < eps * (1 + 1e-6)
    assert float(sdp.profile(m, n=10, epsilon=eps * (1 + 1e-9))) < 0.6 * delta


@pytest.mark.parametrize(("eps", "coins", "exact"), [(5.0, 82, 2.2866), (1.0, 974, 0.5879), (0.1, 92973, 0.05625)])
def test_their_binomial_needs_far_fewer_coins_by_exact_accounting(eps: float, coins: int, exact: float) -> None:
    """The numbers of fair coins that their code takes for keep = 1, and the eps that they really give."""
    found = sdp.amplify(sdp.Augmented(d=10, keep=1.0, dummies="binomial", mean=coins / 2.0), n=10, delta=1e-12)
    assert found.epsilon == pytest.approx(exact, rel=1e-3) and found.epsilon < 0.6 * eps


def test_the_laws_have_the_mean_that_is_given() -> None:
    for keep in (1.0, 0.6):
        for mean in (0.3, 2.7, 55.5, 1234.0):
            for word in LAWS:
                added = sdp.Augmented(d=4, keep=keep, dummies=word, mean=mean).added
                below = 1.0 + (1.0 if word == "geometric" else 0.0)  # a mode is a whole number
                assert mean - below <= added.mean <= mean * (1 + 1e-9) or added.mean == pytest.approx(mean, rel=1e-12)
    fair = sdp.Augmented(d=4, keep=1.0, dummies="binomial", mean=12.5).added
    assert isinstance(fair, BinomialDummies) and (fair.size, fair.mean) == (25, 12.5)


def test_more_dummies_are_more_private() -> None:
    for word in ("poisson", "binomial"):
        found = [
            sdp.amplify(f"augmented:d=9,keep=0.8,dummies={word},mean={m}", n=9, delta=1e-6).epsilon
            for m in (20, 40.3, 80, 500)
        ]
        assert sorted(found, reverse=True) == found
    found = [
        sdp.amplify(f"augmented:d=9,keep=0.8,dummies=geometric,mean={m}", n=9, delta=1e-6).epsilon for m in (20, 99)
    ]
    assert found[0] > found[1]


# -- sampling and estimating ------------------------------------------------------------------------------------


def test_numbers_follow_their_laws() -> None:
    src, size = source(seeded(3)), 40_000
    cells = np.arange(12)
    for keep, mean, tail in ((1.0, 5.0, 1e-4), (0.6, 4.5, 1e-3), (0.5, 0.5, 0.1)):
        law = Geometric.of(keep, mean, tail)
        weights = np.where(cells < law.mode, law.left ** (law.mode - cells.clip(max=law.mode)), 0.0)
        weights += np.where(cells >= law.mode, law.right ** (cells - law.mode).clip(min=0), 0.0)
        _follows(law.numbers(src, size), weights / law._sums[0])
    _follows(binomial_numbers(src, 200, Fraction(1, 50), size), stats.binom.pmf(cells, 200, 0.02))
    assert geometric_numbers(src, 0.999999, 2000).mean() == pytest.approx(1e6, rel=0.1)
    assert geometric_numbers(src, 0.9999, 2000, below=3).max() == 2


def _follows(drawn: np.ndarray, law: np.ndarray) -> None:
    counts = np.bincount(np.minimum(drawn, law.size), minlength=law.size + 1)
    expected = np.append(law, max(1.0 - law.sum(), 0.0)) * drawn.size
    likely = expected > 20
    pooled = [np.append(x[likely], x[~likely].sum() + 1e-9) for x in (counts, expected)]
    assert stats.chisquare(*pooled, sum_check=False).pvalue > 1e-4


@pytest.mark.parametrize("keep", [1.0, 0.4])
@pytest.mark.parametrize("word", LAWS)
def test_the_error_and_the_intervals_are_as_predicted(word: str, keep: float) -> None:
    m = sdp.Augmented(d=40, keep=keep, dummies=word, mean=60.0)
    n, runs = 2000, 300
    values = np.arange(n) % 50 % 40  # ten items are held by twice as many users
    truth = np.bincount(values, minlength=40) / n
    rng = seeded(5)
    found = [m.estimate(m.privatize_counts(values, rng=rng)) for _ in range(runs)]
    error = np.array([e.value for e in found]) - truth
    predicted = np.mean([m.variance(n, share) for share in truth])
    assert np.mean(error**2) == pytest.approx(predicted, rel=0.05)
    assert abs(error.mean()) < 4 * math.sqrt(predicted / error.size)
    covered = [np.mean((e.interval()[0] <= truth) & (truth <= e.interval()[1])) for e in found]
    assert 0.93 <= np.mean(covered) <= 0.97
    assert np.mean([e.stderr**2 for e in found]) == pytest.approx(predicted, rel=0.05)


def test_dummies_come_once_however_many_chunks_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    m = sdp.Augmented(d=5, keep=0.5, dummies="poisson", mean=500.0)
    monkeypatch.setattr("shuffledp.mechanisms.randomizer.CHUNK_BYTES", 64 * 100)
    values = np.zeros(1000, dtype=int)
    one, two = (m.privatize(values, rng=seeded(1), threads=k) for k in (1, 2))
    assert np.array_equal(one.data, two.data)
    assert abs(len(one) - (500 + 5 * 500)) < 6 * math.sqrt(250 + 2500)
    further = m._further.privatize_counts(values, rng=seeded(1))
    assert further.batches == 0 and further.counts[1:].sum() == 0


def test_every_batch_has_its_own_dummies() -> None:
    m = sdp.Augmented(d=4, keep=0.9, dummies="binomial", mean=300.0)
    values, rng = np.arange(2000) % 4, seeded(2)
    total = m.tally(m.privatize(values, rng=rng))
    for _ in range(9):
        total = total + m.privatize_counts(values, rng=rng)
    found = m.estimate(total)
    assert total.batches == 10 and np.all(np.abs(found.value - 0.25) < 4.5 * found.stderr)
    one = m.estimate(m.privatize(values, rng=rng))
    assert found.stderr[0] == pytest.approx(one.stderr[0] / math.sqrt(10), rel=0.1)


# -- the collection ---------------------------------------------------------------------------------------------


def a_plan(users: int = 300, **more: object) -> sdp.Plan:
    law = "augmented:keep=0.75,dummies=geometric,mean=40"
    asked = sdp.queries.Histogram(column="fruit", labels=["apple", "pear", "fig"], mechanism=law)
    return sdp.Plan(query=asked, users=users, delta=1e-8, **more)


def fill(shuffler: sdp.Shuffler, users: int) -> None:
    client = sdp.Client(shuffler.plan)
    for i in range(users):
        shuffler.add(client.report(("apple", "pear", "fig", None)[i % 4]))


@pytest.mark.heavy
def test_a_client_sends_its_value_and_the_shuffler_makes_the_noise(tmp_path: Path) -> None:
    plan = a_plan()
    client = sdp.Client(plan)
    assert [client.report(x) for x in ("apple", "pear", "kiwi", None)] == [[b"\0"], [b"\1"], [b"\3"], [b"\3"]]
    shuffler, collector = sdp.Shuffler(plan, rng=seeded(7)), sdp.Collector(plan)
    for _ in range(3):
        fill(shuffler, 300)
        header = shuffler.write(tmp_path / "one.batch")
        assert header.users == 300 and abs(header.messages - (225 + 4 * plan.query.randomizer.added.mean)) < 100
        assert collector.ingest(tmp_path / "one.batch")
    found = collector.estimate()
    assert np.all(np.abs(found.value - 0.25) < 4.5 * found.stderr) and found.n == 900
    collector.save(tmp_path / "state.json")
    again = sdp.Collector.load(tmp_path / "state.json", plan).estimate()
    assert np.array_equal(again.value, found.value)
    assert "without noise: the shuffler" in plan.statement().markdown()
    assert "learns no value" in plan.guarantee.trust and math.isinf(plan.guarantee.local_epsilon)


def test_a_second_attempt_to_release_has_the_same_noise() -> None:
    """Fresh noise at every attempt would be averaged out by whoever sees them all."""
    shuffler = sdp.Shuffler(a_plan())
    fill(shuffler, 300)
    first: list[int] = []

    def attempt() -> None:
        with shuffler.release() as (_, parts):
            first.extend(sorted(b"".join(parts)))
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        attempt()
    assert sorted(b"".join(m.tobytes() for m in shuffler.batch().data)) == first


def test_messages_beyond_memory_are_scattered_with_their_noise(tmp_path: Path) -> None:
    plan = a_plan(users=5000)
    shuffler = sdp.Shuffler(plan, memory=1000, folder=tmp_path, rng=seeded(1))
    data = np.arange(5000, dtype=np.uint8) % 4
    shuffler.add_reports(data, users=5000)
    collector = sdp.Collector(plan)
    collector.ingest(shuffler.batch())
    found = collector.estimate()
    assert np.all(np.abs(found.value - 0.25) < 4.5 * found.stderr)


def test_the_engine_draws_the_dummies_of_a_batch_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    plan = a_plan(users=4000)
    parts = [pa.table({"fruit": ["apple", "pear", "fig", "kiwi"] * 250}) for _ in range(4)]
    data = pa.concat_tables(parts)
    counted = Local().count(plan, data, rng=seeded(3), accept=True)
    assert counted._tally is not None and counted._tally.batches == 1
    assert np.all(np.abs(counted.estimate().value - 0.25) < 4.5 * counted.estimate().stderr)
    header = Local().privatize(plan, data, tmp_path / "reports.parquet", accept=True)
    mean = plan.query.randomizer.added.mean
    assert abs(header.messages - (3000 + 4 * mean)) < 6 * math.sqrt(750 + 4 * mean**2)


REFUSED = [
    (lambda s, b: s.add_batch(b), "a batch to merge must be one without noise of its shuffler, got one of augmented"),
    (lambda s, b: s.add([b"\0", b"\1"]), "a report of this plan must have 1 messages, got 2"),
    (lambda s, b: s.add_reports(b.data[:3], users=2), "a batch of 2 users must hold 2 messages, got 3"),
    (lambda s, b: portable(s.plan), "mechanism must be one whose noise the clients make"),
]


@pytest.mark.parametrize(("act", "sentence"), REFUSED)
def test_what_the_protocol_refuses(act: object, sentence: str) -> None:
    shuffler = sdp.Shuffler(a_plan())
    fill(shuffler, 300)
    batch = shuffler.batch()
    with pytest.raises(sdp.ParameterError, match=sentence):
        act(shuffler, batch)  # type: ignore[operator]


# -- every question -----------------------------------------------------------------------------------------------

BAD = [
    ("augmented:d=4,keep=0,dummies=poisson,mean=3", "keep must"),
    ("augmented:d=4,keep=1,dummies=normal,mean=3", "dummies must be poisson, geometric or binomial, got 'normal'"),
    ("augmented:d=4,keep=1,dummies=poisson,mean=0", "mean must lie in"),
    ("augmented:d=4,keep=1,dummies=poisson,mean=9,tail=1e-9", "tail must be left out with dummies = poisson"),
    ("augmented:d=4,keep=1,dummies=geometric,mean=9,tail=0", "tail must"),
]


@pytest.mark.parametrize(("spec", "sentence"), BAD)
def test_bad_parameters(spec: str, sentence: str) -> None:
    with pytest.raises(sdp.ParameterError, match=sentence):
        sdp.mechanism(spec)


def test_too_many_dummies_are_not_drawn() -> None:
    with pytest.raises(sdp.ParameterError, match="at most 1,000,000,000 dummies to be run, got 1,000,000,000 times 50"):
        sdp.Augmented(d=10**9, keep=1.0, dummies="poisson", mean=50.0).privatize([1, 2])


def test_few_dummies_reveal_everything() -> None:
    for word in LAWS:
        bare = f"augmented:d=4,keep=1,dummies={word},mean=1e-9"
        assert math.isinf(sdp.amplify(bare, n=10, delta=1e-6).epsilon)
        assert float(sdp.profile(bare.replace("keep=1", "keep=0.25"), n=10, epsilon=0.1)) == pytest.approx(
            0.25, rel=0.01
        )


def test_who_drops_out_or_colludes_does_not_matter() -> None:
    m = sdp.Augmented(d=9, keep=0.8, dummies="poisson", mean=90.0)
    alone = sdp.amplify(m, n=1, delta=1e-6).epsilon
    for terms in ({}, {"dropouts": 900}, {"colluding": 999}):
        assert sdp.amplify(m, n=1000, delta=1e-6, **terms).epsilon == alone


def test_several_reports_and_rounds() -> None:
    m = sdp.Augmented(d=9, keep=1.0, dummies="poisson", mean=400.0)
    one, two = (sdp.amplify(m, n=9, delta=1e-6, reports_per_user=k).epsilon for k in (1, 2))
    assert two > 1.9 * one
    with pytest.raises(sdp.BoundNotApplicableError, match="dummies that can be divided"):
        sdp.amplify("augmented:d=9,keep=1,dummies=geometric,mean=99", n=9, delta=1e-6, reports_per_user=2)
    rounds = sdp.Accountant()
    rounds.compose(m, n=9, count=16)
    sixteen = rounds.guarantee(delta=1e-6)
    assert 3.5 * one < sixteen.epsilon < 8 * one and "learns no value" in sixteen.trust
    # sixteen rounds move sixteen counts up and sixteen down: the law of a histogram of as many indices
    same = PoissonShift(mean=400.0, d=64, most=16).epsilon(n=1, delta=1e-6, tol=1e-4, side="lower").epsilon
    assert same <= sixteen.epsilon < same * 1.002


def test_calibrated_to_the_target() -> None:
    for word in LAWS:
        found = sdp.calibrate(f"augmented:d=16,keep=0.9,dummies={word}", n=1000, epsilon=0.8, delta=1e-7)
        spent = sdp.amplify(found, n=1000, delta=1e-7).epsilon
        assert 0.97 * 0.8 < spent <= 0.8


def test_no_certificate() -> None:
    with pytest.raises(sdp.CertificationError, match="use certify=False") as refused:
        sdp.amplify("augmented:d=16,keep=0.9,dummies=poisson,mean=50", n=10, delta=1e-6, certify=True)
    assert "\n" not in str(refused.value)


@pytest.mark.heavy
def test_the_planner_offers_it_only_where_the_shuffler_may_make_the_noise() -> None:
    asked = {"n": 100_000, "d": 32, "epsilon": 1.0, "delta": 1e-8}
    usual = [found for found in candidates(task_named("histogram", {"d": 32}), 100_000) if isinstance(found, Refusal)]
    assert any(no.mechanism == "augmented" and "noise = shuffler" in no.reason for no in usual)
    more = sdp.recommend("histogram", noise="shuffler", **asked)
    assert more.best.name == "augmented (geometric)" and math.isinf(more.best.local_epsilon)
    assert 2.0 < more.choice("poisson-histogram").error / more.best.error < 4.0
    assert any(line.startswith("Trust: users of augmented send their values without noise") for line in more.comparison)
    assert 'noise="shuffler"' in more.to_dict()["python"].replace("'", '"')
    assert "--noise shuffler" in more.to_dict()["command"]
    with pytest.raises(sdp.ParameterError, match="noise must be users or shuffler, got 'nobody'"):
        sdp.recommend("histogram", noise="nobody", **asked)


def test_an_attacker_who_looks_at_one_count() -> None:
    m, rng = sdp.Augmented(d=3, keep=0.5, dummies="geometric", mean=0.5), seeded(1)
    found = sdp.audit(lambda x: m.seen(x, rng=rng), inputs=[0, 1], eps0=math.log(2.0), vectorized=True)
    assert not found.violated and found.lower > 0.6
    claimed = sdp.audit(lambda x: m.seen(x, rng=rng), inputs=[0, 1], eps0=0.5, vectorized=True)
    assert claimed.violated
    with pytest.raises(sdp.ParameterError, match="whose shuffler makes it; pass lambda x"):
        sdp.audit(m, inputs=[0, 1])
    with pytest.raises(sdp.ParameterError, match="item must"):
        m.seen([0], item=3)


@pytest.mark.heavy
def test_on_the_command_line(tmp_path: Path) -> None:
    run, spec = CliRunner(), "augmented:d=16,keep=0.9,dummies=geometric,mean=60"
    found = run.invoke(main, ["amplify", spec, "--n", "1000", "--delta", "1e-8", "--json"])
    assert found.exit_code == 0 and json.loads(found.stdout)["local_epsilon"] == "inf"
    saved = ["plan", "histogram", "--n", "1000", "--d", "4", "--epsilon", "1", "--delta", "1e-8"]
    saved += ["--noise", "shuffler", "--choose", "augmented (geometric)", "--save", str(tmp_path / "plan.json")]
    assert run.invoke(main, saved).exit_code == 0
    (tmp_path / "data.csv").write_text("value\n" + "\n".join(str(i % 4) for i in range(1000)) + "\n")
    pytest.importorskip("pyarrow")
    said = run.invoke(main, ["simulate", str(tmp_path / "plan.json"), str(tmp_path / "data.csv"), "--json"])
    assert said.exit_code == 0, said.output
    answer = json.loads(said.stdout)
    assert answer["rmse"] < 5 * answer["predicted"]


@pytest.mark.parametrize("mean", [1.2, 2.0, 3.0])
def test_a_geometric_number_takes_the_smallest_tail(mean: float) -> None:
    law = sdp.Augmented(d=3, keep=0.5, dummies="geometric", mean=mean, tail=1e-20).added
    assert 0.0 < law.mean <= mean * (1.0 + 1e-9)
