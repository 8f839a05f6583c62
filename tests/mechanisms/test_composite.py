"""Sampling RAPPOR, PCKV-GRR, hierarchical GRR and parallel composition: golden values, dominance, sampling, files."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases.composite import CASES, nodes, pairs, queries, sets
from reference.places import golden
from shuffledp.mechanisms.categorical.grr import GRR
from shuffledp.mechanisms.composite.hierarchical_grr import HierarchicalGRR
from shuffledp.mechanisms.composite.parallel import Parallel
from shuffledp.mechanisms.sets import coin_counts
from shuffledp.mechanisms.sets.pckv_grr import PCKVGRR
from shuffledp.mechanisms.sets.sampling_rappor import SamplingRappor
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import ShuffledPair

GOLDEN = golden("mechanisms.json")
MADE = {
    "sampling_rappor": lambda p: SamplingRappor(eps0=p["eps"], d=p["d"], s=p["s"]),
    "pckv_grr": lambda p: PCKVGRR(eps0=p["eps"], d=p["d"], l=p["l"]),
    "hier_grr": lambda p: HierarchicalGRR(eps0=p["eps"], d=p["d"]),
}
UNLIKE = [c.mechanism for c in CASES if not c.same_law]


def upper(rounds: list[ShuffledPair], n: int, eps: float) -> float:
    return float(PairSet(rounds).log_delta(np.array([eps]), n=n, tol=1e-4, side="upper")[0])


@pytest.mark.parametrize("entry", [e for e in GOLDEN if e["mechanism"] in MADE], ids=lambda e: str(e["params"]))
def test_golden_parameters(entry: dict[str, Any]) -> None:
    m = MADE[entry["mechanism"]](entry["params"])
    found = m.variation_ratio()
    for name in ("p", "beta", "q"):
        assert getattr(found, name) == pytest.approx(float(entry["safe"][name]), rel=1e-9)
        assert getattr(found, name) >= float(entry[name]) * (1 - 1e-9)
    assert m.local_epsilon == pytest.approx(math.log(float(entry["p"])), rel=1e-9)  # here p is exact


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: SamplingRappor(eps0=0.0, d=4, s=2), "eps0"),
        (lambda: SamplingRappor(eps0=1.0, d=4, s=4), "s must lie in"),
        (lambda: SamplingRappor(eps0=1.0, d=4, s=0), "s must lie in"),
        (lambda: SamplingRappor(eps0=1.0, d=1, s=1), "d must lie in"),
        (lambda: SamplingRappor(eps0=1.0, d=4, s=1.5), "s must be a whole number"),
        (lambda: PCKVGRR(eps0=1.0, d=3, l=4), "l must lie in"),
        (lambda: PCKVGRR(eps0=1.0, d=3, l=0), "l must lie in"),
        (lambda: PCKVGRR(eps0=-1.0, d=3, l=1), "eps0"),
        (lambda: HierarchicalGRR(eps0=1.0, d=1), "d must lie in"),
        (lambda: HierarchicalGRR(eps0=1.0, d=8, branching=1), "branching must lie in"),
        (lambda: HierarchicalGRR(eps0=1.0, d=8).level(3), "h must lie in"),
        (lambda: HierarchicalGRR(eps0=1.0, d=10**6).probabilities(), "cells"),
        (lambda: SamplingRappor(eps0=1.0, d=10**6, s=2).probabilities(), "cells"),
        (lambda: PCKVGRR(eps0=1.0, d=10**6, l=2).probabilities(), "cells"),
        (lambda: Parallel([]), "at least one"),
        (lambda: Parallel(3), "pairs"),
        (lambda: Parallel([(0.5, GRR(eps0=1.0, d=2))]), "sum to 1"),
        (lambda: Parallel([(0.0, "grr:1,2"), (1.0, "grr:1,2")]), "weight must lie in"),
        (lambda: Parallel([(1.0, "grrr:1,2")]), "did you mean"),
        (lambda: Parallel([(1.0, 7)]), "mechanisms or specs"),
        (lambda: Parallel([(1.0, Parallel([(1.0, "grr:1,2")]))]), "parallel themselves"),
        (lambda: Parallel([(1.0, "general:1")]).privatize([[0, 1]]), "can be run"),
        (lambda: Parallel([(0.5, "grr:1,2"), (0.5, "grr:1,3")]).privatize([[0, 1], [0]]), "one entry per user"),
        (lambda: Parallel([(0.5, "grr:1,2"), (0.5, "grr:1,3")]).groups(n=1), "1/weight of every query"),
        (lambda: Parallel([(1.0, "grr:1,2")]).tally(np.array([1, 2])), "records"),
        (lambda: Parallel([(1.0, "grr:1,300"), (1e-12, "grr:1,2")]).estimates(
            Parallel([(1.0, "grr:1,300"), (1e-12, "grr:1,2")]).privatize([[0, 1]] * 2)), "collect more"),
        (lambda: SamplingRappor(eps0=1.0, d=5, s=2).privatize([[1, 1]]), "different items"),
        (lambda: SamplingRappor(eps0=1.0, d=5, s=2).privatize([[1, 5]]), "must lie in"),
        (lambda: PCKVGRR(eps0=1.0, d=3, l=2).privatize([[[0, 1.5]]]), "values must lie in"),
        (lambda: PCKVGRR(eps0=1.0, d=3, l=2).privatize([[[3, 0.5]]]), "keys must be whole"),
        (lambda: PCKVGRR(eps0=1.0, d=3, l=2).privatize([[[0, 0.5], [0, 0.1]]]), "differ within a user"),
        (lambda: PCKVGRR(eps0=1.0, d=3, l=2).privatize(([[0]], [[1.0, 2.0]])), "one shape"),
    ],
)  # fmt: skip
def test_one_sentence(make: Any, word: str) -> None:
    with pytest.raises(sdp.ParameterError, match=word) as error:
        make()
    assert "\n" not in str(error.value) and str(error.value).endswith((".", "?"))


# -- bounds -------------------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("hierarchical-grr0", "joint0", "joint1", "pckv-grr1", "pckv-grr2")
@pytest.mark.parametrize("m", UNLIKE, ids=lambda m: m.name)
def test_upper_bounds_are_those_of_the_matrix_and_lower_ones_no_smaller(m: Any) -> None:
    matrix = sdp.FiniteRandomizer(m.probabilities())
    for n, delta in itertools.product((1, 2, 25, 3000), (1e-2, 1e-6)):
        ours, theirs = (sdp.amplify(x, n=n, delta=delta, bound="blanket") for x in (m, matrix))
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=4e-4, abs=1e-9)
        assert ours.lower >= theirs.lower * (1 - 4e-4)


@pytest.mark.heavy
@pytest.mark.slow_cases("HierarchicalGRR(eps0=2.0, d=8, branching=2)")
@pytest.mark.parametrize("m", [PCKVGRR(eps0=0.5, d=2, l=2), HierarchicalGRR(eps0=2.0, d=8)], ids=str)
def test_lower_bounds_are_the_best_of_all_datasets(m: Any) -> None:
    rows = np.unique(m.probabilities(), axis=0)
    every = [ShuffledPair(P0=a, P1=b, t=x) for a, b in itertools.permutations(rows, 2) for x in rows]
    best = PairSet(every).epsilon(n=2, delta=1e-2, tol=1e-4, side="lower").epsilon
    assert m.law.constant_datasets().epsilon(n=2, delta=1e-2, tol=1e-4, side="lower").epsilon == pytest.approx(
        best, rel=2e-4
    )


@pytest.mark.parametrize("n", [2, 7, 500])
def test_sets_that_overlap_less_are_worse(n: int) -> None:
    m = SamplingRappor(eps0=1.5, d=6, s=3)
    rows, inputs = m.probabilities(), m.inputs()
    first = [ShuffledPair(rows[0], rows[inputs.index(x)], rows.min(axis=0)) for x in ((0, 1, 3), (0, 3, 4), (3, 4, 5))]
    for eps in (0.0, 0.02, 0.3):
        found = [upper([r], n, eps) for r in first]
        assert found[0] < found[1] < found[2] == pytest.approx(upper([first[2].swapped()], n, eps), abs=3e-4)


def test_leaves_that_meet_higher_are_worse() -> None:
    rows = HierarchicalGRR(eps0=1.5, d=8).probabilities()
    for n, eps in itertools.product((2, 40), (0.0, 0.05, 0.8)):
        found = [upper([ShuffledPair(rows[0], rows[x], rows.min(axis=0))], n, eps) for x in (1, 2, 4, 7)]
        assert found[0] < found[1] < found[2] == pytest.approx(found[3], abs=3e-4)


def test_the_same_answer_is_never_worse_than_a_pair() -> None:
    """Two unlike matrices: the listed combinations cover those with P0 = P1 in one query."""
    rng = np.random.default_rng(2)
    matrices = [rng.dirichlet(np.ones(3), size=3) for _ in range(2)]
    both = Parallel([(0.3, sdp.FiniteRandomizer(matrices[0])), (0.7, sdp.FiniteRandomizer(matrices[1]))])
    assert len(both.law.blanket().pairs(10**6) or ()) == 36
    omega = np.concatenate([0.3 * matrices[0].min(axis=0), 0.7 * matrices[1].min(axis=0)])
    rows = [np.concatenate([0.3 * a, 0.7 * b]) for a, b in itertools.product(*matrices)]
    every = [ShuffledPair(P0=a, P1=b, t=omega) for a, b in itertools.permutations(rows, 2)]
    for n, eps in ((1, 0.0), (1, 1.0), (3, 0.1), (3, 1.0), (200, 0.1)):
        listed = upper(list(both.law.blanket().pairs(99) or ()), n, eps)
        assert upper(every, n, eps) == pytest.approx(listed, abs=3e-4)


@pytest.mark.heavy
def test_large_sets_are_grouped_on_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(s: int, d: int = 1000, bound: str = "blanket") -> sdp.Guarantee:
        return sdp.amplify(SamplingRappor(eps0=2.0, d=d, s=s), n=10**4, delta=1e-6, bound=bound)

    exact, after = found(30), found(31)  # the numbers of ones of 31 items go to the grid
    assert after.epsilon == pytest.approx(exact.epsilon, rel=0.02)
    assert after.lower == pytest.approx(exact.lower, rel=0.02)
    assert after.epsilon < found(31, bound="variation-ratio").epsilon
    assert found(14, 10**6).epsilon == pytest.approx(found(14, 60).epsilon, rel=2e-4)  # a tail is left out
    for grid in ([*range(0, 26, 2), 27, 30], [0, 4, 6, 8, 10, 13, 30], [0, 30]):
        monkeypatch.setattr(coin_counts, "_grid", lambda size, f, grid=grid: grid)
        coarse = found(30)
        assert exact.epsilon * (1 - 1e-4) <= coarse.epsilon and coarse.lower <= exact.lower * (1 + 1e-4)
        assert grid == [0, 30] or coarse.epsilon <= 1.2 * exact.epsilon
    monkeypatch.undo()
    for m, bound in (
        (SamplingRappor(eps0=2.0, d=10**6, s=300), "blanket"),
        (SamplingRappor(eps0=2.0, d=50, s=30), "swap"),
    ):
        known = sdp.amplify(m, n=10**4, delta=1e-6)  # of many or crowded items little is known
        assert known.lower is None and known.bound == bound


def test_beta_of_sampling_rappor() -> None:
    for s in (1, 2, 40, 3000):  # two-point sums against numpy's binomials
        f = 1 / (math.exp(0.5) + 1)
        step = np.array([f * (1 - f), 1 - 2 * f * (1 - f), f * (1 - f)])
        law = np.array([1.0])
        for _ in range(s):
            law = np.convolve(law, step)
        mean = float(np.abs(np.arange(-s, s + 1)) @ law)
        beta = SamplingRappor(eps0=1.0, d=10 * s, s=s).variation_ratio().beta
        assert beta == pytest.approx((1 - 2 * f) / (2 * s * f * (1 - f)) * mean, rel=1e-9)
    huge = SamplingRappor(eps0=1.0, d=10**7, s=200_000).variation_ratio().beta
    near = SamplingRappor(eps0=1.0, d=10**7, s=100_000).variation_ratio().beta
    assert near / math.sqrt(2) < huge < near  # Cauchy-Schwarz: above the truth, which falls like 1/sqrt(s)


def test_accounting_does_not_depend_on_the_domain() -> None:
    values = [
        sdp.amplify(m, n=10**6, delta=1e-8).epsilon
        for m in (SamplingRappor(eps0=1.0, d=10**6, s=5), SamplingRappor(eps0=1.0, d=100, s=5))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-4)
    wide = [sdp.amplify(PCKVGRR(eps0=1.0, d=d, l=3), n=10**6, delta=1e-8).epsilon for d in (10**6, 100)]
    deep = [sdp.amplify(HierarchicalGRR(eps0=1.0, d=d), n=10**6, delta=1e-8).epsilon for d in (2**20, 64)]
    assert wide[0] < wide[1] and deep[0] < deep[1]


# -- parallel composition -----------------------------------------------------------------------------------------


def test_figure_5() -> None:
    tree = HierarchicalGRR(eps0=1.0, d=64)
    flat = Parallel([(1 / 6, GRR(eps0=1.0, d=64 >> h)) for h in range(6)])
    at = {"n": 10**4, "delta": 1e-6}
    for m in (tree, flat):
        printed = sdp.amplify(m, bound="variation-ratio-published", **at).epsilon
        assert 0.026409214037956976 * (1 - 1e-14) <= printed <= 0.026409214037956976 * (1 + 1e-4)
        assert m.variation_ratio().beta == pytest.approx(0.185583264316034533788394999092, rel=1e-14)
    assert sdp.amplify(flat, **at).epsilon == pytest.approx(sdp.amplify(tree, **at).epsilon, rel=1e-9)
    # over figure 5 the formula saves 5.5-58 % against basic and 65-89 % against separate, worst
    printed = sdp.amplify(tree, bound="variation-ratio-published", **at).epsilon
    basic = sdp.amplify(tree, bound="general", **at).epsilon
    groups = flat.groups(n=at["n"])
    separate = [sdp.amplify(m, n=k, delta=at["delta"], bound="variation-ratio-published").epsilon for k, m in groups]
    assert [k for k, _ in groups] == [1666] * 6
    assert [1 - printed / basic, 1 - printed / max(separate)] == pytest.approx([0.389, 0.766], abs=1e-3)
    assert separate == sorted(separate)


@pytest.mark.heavy
def test_parallel_listing() -> None:
    grr = GRR(eps0=1.0, d=5)
    assert len(Parallel([(0.1, grr)] * 10).law.blanket().pairs(2000) or ()) == 1  # its own swap, all alike
    lopsided = sdp.FiniteRandomizer([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]])
    assert len(Parallel([(0.25, lopsided)] * 4).law.blanket().pairs(2000) or ()) == 5
    mixed = Parallel([((k + 1) / 91, sdp.FiniteRandomizer(lopsided.matrix)) for k in range(13)])
    found = mixed.law.blanket().pairs(2000)  # 2^13 combinations: some fall back to (p, beta, q)
    assert found is not None and len(found) <= 1024
    alone = Parallel([(1.0, grr)])
    one = sdp.amplify(grr, n=100, delta=1e-6).epsilon  # up to the rounding of what all laws have in common
    assert sdp.amplify(alone, n=100, delta=1e-6).epsilon == pytest.approx(one, rel=1e-12)
    same = Parallel([(1.0, sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]]))])
    assert sdp.amplify(same, n=100, delta=1e-6).epsilon == 0.0
    known = Parallel([(0.5, "general:1"), (0.5, grr)])
    some = sdp.amplify(known, n=1000, delta=1e-6)
    assert some.lower is None
    assert some.epsilon < sdp.amplify(known, n=1000, delta=1e-6, bound="general").epsilon


def test_parallel_files(tmp_path: Path) -> None:
    plain = tmp_path / "a.yaml"
    plain.write_text(
        "# two queries\n---\n- weight: 1/3\n  spec: grr:eps0=1,d=4  # small\n\n- spec: 'grr:1,5'\n  weight: 2/3\n"
    )
    listed = tmp_path / "a.json"
    listed.write_text(
        '[{"weight": 0.3333333333333333, "spec": "grr:1,4"}, {"weight": 0.6666666666666666, "spec": "grr:1,5"}]'
    )
    first, second = Parallel.from_file(plain), sdp.mechanism(f"parallel:{listed}")
    assert first == second and hash(first) == hash(second)
    assert "0.333333 of grr:eps0=1,d=4" in first.description
    bad = {
        "weight: 1": "list of queries", "- weight: 1\n  spec: grr:1,2\n  spec: grr:1,3": "'spec' twice",
        "- color: red": "unknown key in entry 0", "- weight: 1\n- : 2": "mistake in line 2",
        "- weight: 1": "none named 'spec'", '{"weight": 1}': "list of queries", "[1]": "keys of spec, weight",
        "- weight: one\n  spec: grr:1,2": "such as 0.25", "": "at least one", "[": "must be YAML or JSON",
        '[{"weight": true, "spec": "grr:1,2"}]': "such as 0.25", f"- weight: 1\n  spec: parallel:{plain}": "parallel",
    }  # fmt: skip
    for text, word in bad.items():
        (tmp_path / "bad.yaml").write_text(text)
        with pytest.raises(sdp.ParameterError, match=word):
            Parallel.from_file(tmp_path / "bad.yaml")
    with pytest.raises(sdp.ParameterError, match="readable"):
        Parallel.from_file(tmp_path / "none.yaml")


def test_queries_of_every_kind_together() -> None:
    n = 40_000
    parts = [
        (GRR(eps0=2.0, d=300), queries(300)(n)[0][0], None),
        (SamplingRappor(eps0=3.0, d=9, s=2), *sets(9, 2)(n)),
        (PCKVGRR(eps0=3.0, d=4, l=2), *pairs(4, 2)(n)),
        (HierarchicalGRR(eps0=3.0, d=8), *nodes(8, 2)(n)),
    ]
    m = Parallel([(w, part[0]) for w, part in zip((0.1, 0.2, 0.3, 0.4), parts, strict=True)])
    reports = m.privatize([part[1] for part in parts], rng=np.random.default_rng(1))
    found = m.estimates(reports)
    again = m.estimate(np.random.default_rng(2).permutation(reports.data))  # plain records
    assert again.value == pytest.approx(np.concatenate([np.ravel(e.value) for e in found]), rel=1e-12)
    assert np.bincount(reports.data["query"]) / n == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.015)
    for estimate, (_, _, truth) in list(zip(found, parts, strict=True))[1:]:
        assert estimate.value.shape == np.shape(truth)
        assert np.all(np.abs(estimate.value - truth) <= 4.5 * estimate.stderr)


def test_estimates_of_key_values() -> None:
    m = PCKVGRR(eps0=4.0, d=3, l=2)
    keys, values = np.array([[0, 2], [0, -1]] * 5000), np.array([[1.0, -0.5], [0.5, 0.0]] * 5000)
    first, again = (
        m.estimate(m.privatize(x, rng=np.random.default_rng(4))) for x in ((keys, values), np.stack([keys, values], 2))
    )
    assert np.array_equal(first.value, again.value) and m.means(first)[[0, 2]] == pytest.approx([0.75, -0.5], abs=0.1)
    assert m.variance(10_000, 0.5) == pytest.approx(float(first.stderr[0, 2]) ** 2, rel=0.1)


def test_variances() -> None:
    for m in (SamplingRappor(eps0=2.0, d=6, s=2), HierarchicalGRR(eps0=2.0, d=6)):
        values = np.tile([[0, 1], [2, 3]], (2000, 1)) if isinstance(m, SamplingRappor) else np.arange(4000) % 2
        est = m.estimate(m.privatize(values, rng=np.random.default_rng(3)))
        assert m.variance(4000, 0.5) == pytest.approx(float(est.stderr[0]) ** 2, rel=0.1)
    lone = HierarchicalGRR(eps0=2.0, d=1024).estimate(np.array([0]))
    assert np.isinf(lone.stderr[-1]) and np.isfinite(lone.stderr[0])


METRIC = Parallel([(0.5, "metric-laplace:d01=0.5,dmax=5"), (0.5, "grr:eps0=0.5,d=4")])


def test_a_metric_query_keeps_its_neighbors() -> None:
    """Its law is bounded for values that are near each other only; "replace-one" alone would claim more."""
    where = "at distance at most 0.5"
    g = sdp.amplify(METRIC, n=1000, delta=1e-6)
    assert g.neighbors == METRIC.neighbors == f"replace-one, {where} in metric-laplace:d01=0.5,dmax=5"
    assert f"{g.neighbors} (bound: blanket)" in str(g)
    alike = Parallel([(0.5, "metric-laplace:d01=0.5,dmax=5"), (0.5, "planar-laplace:d01=0.5,dmax=2")])
    assert alike.neighbors == f"replace-one {where}"
    assert Parallel([(1.0, "grr:eps0=1,d=4")]).neighbors == "replace-one"
    with pytest.raises(sdp.ParameterError, match="neighbors"):
        sdp.Accountant().compose("grr:eps0=1,d=4", n=10).compose(METRIC, n=10)


@pytest.mark.parametrize(
    "bound", ["general", "clone", "blanket-hoeffding-generic", "blanket-bennett-generic", "efmrtt19"]
)
def test_bounds_from_budgets_alone_count_how_far_others_may_be(bound: str) -> None:
    """Other users may hold values dmax away: with d01 in its place these claimed less than a concrete dataset has."""
    assert METRIC.law.pairwise_epsilon == pytest.approx(5.0)
    truth = sdp.amplify(METRIC, n=10_000, delta=1e-6)
    assert truth.lower is not None
    assert sdp.amplify(METRIC, n=10_000, delta=1e-6, bound=bound).epsilon >= truth.lower


@pytest.mark.heavy_cases("1e-20")
@pytest.mark.slow_cases("1e-14")
@pytest.mark.parametrize("delta", [1e-9, 1e-14, 1e-20])
def test_sampling_rappor_does_not_jump_to_the_local_guarantee(delta: float) -> None:
    """Reports with many ones are rare for everybody: they are no reason to give up, at any delta."""
    m = SamplingRappor(eps0=5.0, d=1000, s=20)
    found = [sdp.amplify(m, n=n, delta=delta) for n in (10**4, 10**5, 10**6, 10**8, 10**9, 10**10)]
    assert all(a.epsilon > b.epsilon for a, b in itertools.pairwise(found))
    assert all(g.lower is not None and g.lower <= g.epsilon < 2.0 * g.lower for g in found)
