"""Arrays of n and delta: shapes, terms, errors, and that nothing differs from single calls."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure, worst_divergence
from reference.repetition import examples
from shuffledp.accounting import many
from shuffledp.accounting.guarantees import Guarantees

GRR = "grr:eps0=2,d=16"
SIZES = np.unique(np.geomspace(100, 1e9, 30).astype(int))


@pytest.mark.heavy
def test_shapes_follow_numpy() -> None:
    for n, delta, shape in (
        ([100, 200, 300], 1e-6, (3,)),
        (100, [1e-6, 1e-7], (2,)),
        ([[100], [200]], [1e-6, 1e-7, 1e-8], (2, 3)),
        (np.array([100, 1e6]), "0.01/n", (2,)),
        ((500,), 1e-6, (1,)),
        (range(100, 102), 1e-6, (2,)),
    ):
        g = sdp.amplify(GRR, n=n, delta=delta)
        assert isinstance(g, Guarantees)
        assert g.shape == g.epsilon.shape == g.lower.shape == g.n.shape == g.delta.shape == g.bound.shape == shape
        assert len(g) == shape[0] and g.size == np.prod(shape)
        assert [x.shape if isinstance(x, Guarantees) else () for x in g] == [shape[1:]] * shape[0]
    assert isinstance(sdp.amplify(GRR, n=np.int64(100), delta=np.float64(1e-6)), sdp.Guarantee)


@pytest.mark.parametrize("bound", ["auto", "blanket", "general", "clone-closed", "local", "variation-ratio-lower"])
def test_entries_are_the_guarantees_of_single_calls(bound: str) -> None:
    sizes = SIZES[SIZES > 5000]
    g = sdp.amplify(GRR, n=sizes, delta="0.01/n", bound=bound)
    for i in range(0, len(sizes), 5):
        alone = sdp.amplify(GRR, n=int(sizes[i]), delta="0.01/n", bound=bound)
        one = g[i]
        assert one.epsilon == pytest.approx(alone.epsilon, rel=2e-4)
        for name in ("n", "delta", "bound", "mechanism", "description", "local_epsilon", "kind", "sound", "trust"):
            assert getattr(one, name) == getattr(alone, name)
        assert (one.lower is None) == (alone.lower is None)
        if one.lower is not None:
            assert one.lower == pytest.approx(alone.lower, rel=2e-4)
    assert g[-1].n == sizes[-1] and isinstance(g[2:5], Guarantees) and g[2:5].shape == (3,)
    assert g[[0, 2]].n.tolist() == sizes[[0, 2]].tolist()


@pytest.mark.heavy
def test_a_crowd_is_applied_to_every_n() -> None:
    terms = {"dropouts": 0.1, "colluding": 5}
    g = sdp.amplify(GRR, n=SIZES, delta=1e-7, **terms)
    for i in (0, 9, len(SIZES) - 1):
        alone = sdp.amplify(GRR, n=int(SIZES[i]), delta=1e-7, **terms)
        assert g[i].epsilon == pytest.approx(alone.epsilon, rel=2e-4)
        assert (g[i].dropouts, g[i].colluding, g[i].trust) == (alone.dropouts, alone.colluding, alone.trust)
    assert "may drop out" in g.title
    several = sdp.amplify(GRR, n=[1000, 2000], delta=1e-6, reports_per_user=2)
    alone = sdp.amplify(GRR, n=2000, delta=1e-6, reports_per_user=2)
    assert (several[1].epsilon, several.local_epsilon) == (alone.epsilon, alone.local_epsilon)


def test_lower_is_computed_when_it_is_read_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    ours = many.lowers
    monkeypatch.setattr("shuffledp.accounting.guarantees.lowers", lambda *a, **k: calls.append(1) or ours(*a, **k))
    g = sdp.amplify(GRR, n=SIZES, delta=1e-6)
    assert g.epsilon.size == len(SIZES) and repr(g) and not calls
    assert np.all(g.lower <= g.epsilon) and np.all(g.lower > 0.0)
    assert np.all(g.lower >= 0.5 * g.epsilon)
    assert str(g) and g.to_dict() and calls == [1]
    part = sdp.amplify(GRR, n=SIZES, delta=1e-6)[3:5]
    assert part.lower.tolist() == pytest.approx(g.lower[3:5].tolist(), rel=1e-4)
    closed = sdp.amplify(GRR, n=[10**5, 10**6], delta=1e-6, bound="analytic-published")
    assert np.isnan(closed.lower).all() and closed[0].lower is None and not closed.sound
    with pytest.raises(AttributeError):
        g.nothing  # noqa: B018


def test_it_is_frozen_compares_and_travels() -> None:
    g = sdp.amplify(GRR, n=[100, 200], delta=1e-6)
    with pytest.raises(AttributeError):
        g.epsilon = 0.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        g.epsilon[0] = 0.0
    again = pickle.loads(pickle.dumps(g))
    assert again == g and hash(again) == hash(g) and again[0] == g[0] and again[0].lower == g[0].lower
    assert g != sdp.amplify(GRR, n=[100, 201], delta=1e-6) and g != 3
    with pytest.raises(IndexError):
        g[2]
    with pytest.raises(sdp.ParameterError, match=r"^an index must fit the shape"):
        g["a"]


def test_it_shows_itself() -> None:
    g = sdp.amplify(GRR, n=[[1000], [10**6]], delta=[1e-6, 1e-8])
    assert repr(g).startswith("<Guarantees (2, 2): eps <= ") and "1,000 to 1,000,000 users of grr" in repr(g)
    text = str(g)
    assert "1,000,000" in text and "blanket" in text and "replace-one" in text
    assert "<table>" in g._repr_html_() and g.to_markdown().count("\n") == 5
    assert g.to_csv().splitlines()[0] == "n,delta,epsilon,lower,bound"
    ready = json.loads(json.dumps(g.to_dict()))
    assert ready["shape"] == [2, 2] and ready["epsilon"] == g.epsilon.tolist() and ready["mechanism"] == g.mechanism
    frame = pytest.importorskip("pandas") and g.to_frame()
    assert frame["epsilon"].tolist() == g.epsilon.reshape(-1).tolist() and frame["n"].tolist()[-1] == 10**6
    bare = sdp.amplify(sdp.VariationRatio(p=math.inf, beta=1.0, q=math.inf), n=[2, 3], delta=1e-9)
    assert "none" in repr(bare) and bare.to_dict()["epsilon"] == ["inf", "inf"]


@pytest.mark.parametrize(
    ("n", "delta", "said"),
    [
        ([], 1e-6, "n must hold 1 to 1,000,000 numbers, got 0"),
        ([math.nan, 10], 1e-6, "n must hold whole numbers of users between 1 and 1e15, got nan among them"),
        ([10, -1], 1e-6, "got -1 among them"),
        ([10, 10.5], 1e-6, "got 10.5 among them"),
        ([10, 2e15], 1e-6, "got 2000000000000000.0 among them"),
        ([10**30, 10], 1e-6, "n must hold whole numbers of users"),
        (["10", "20"], 1e-6, "n must hold whole numbers of users"),
        ([10, None], 1e-6, "n must hold whole numbers of users"),
        ([True, False], 1e-6, "n must hold whole numbers of users"),
        ([[1, 2], [3]], 1e-6, "n must hold whole numbers of users"),
        ([1 + 2j], 1e-6, "n must hold whole numbers of users"),
        (np.array(5), 1e-6, "n must be a number"),
        (10, [], "delta must hold 1 to 1,000,000 numbers, got 0"),
        (10, [0.0, 0.1], "delta must hold numbers in (0, 1), got 0.0 among them"),
        (10, [0.1, 1.0], "got 1.0 among them"),
        (10, [0.1, math.nan], "got nan among them"),
        (10, ["0.01/n"], "delta must hold numbers in (0, 1)"),
        ([10, 20], "20/n", "delta must lie in (0, 1)"),
        ([10, 20], [0.1, 0.2, 0.3], "n and delta must have shapes that NumPy can broadcast, got (2,) and (3,)"),
        (np.arange(1, 2000)[:, None], np.full(1000, 0.1), "at most 1,000,000 answers together, got 1,999,000"),
        (np.broadcast_to(5, 10**7), 0.1, "n must hold 1 to 1,000,000 numbers, got 10,000,000"),
        (10, np.array(0.1), "delta must be a number"),
    ],
)
def test_bad_arrays_are_refused_in_one_sentence(n: object, delta: object, said: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        sdp.amplify(GRR, n=n, delta=delta)  # type: ignore[call-overload]
    text = str(error.value)
    assert said in text and text.endswith(".") and "\n" not in text and len(text) < 300


def test_what_is_for_one_answer_only() -> None:
    with pytest.raises(sdp.ParameterError, match=r"^certify=True must have one n and one delta"):
        sdp.amplify(GRR, n=[10, 20], delta=1e-6, certify=True)
    for name in ("dropouts", "colluding", "reports_per_user"):
        with pytest.raises(sdp.ParameterError, match=f"^{name} must"):
            sdp.amplify(GRR, n=[10, 20], delta=1e-6, **{name: [1, 1]})  # type: ignore[arg-type]
    with pytest.raises(sdp.BoundNotApplicableError):
        sdp.amplify(GRR, n=[10, 10**6], delta=1e-6, bound="clone-closed")


@pytest.mark.heavy
def test_profiles_of_many_n() -> None:
    eps = np.array([0.0, 0.05, 0.5, 3.0])
    n = SIZES[:, None]
    for bound, side in (("blanket", "upper"), ("auto", "upper"), ("auto", "lower")):
        found = sdp.profile(GRR, n=n, epsilon=eps, bound=bound, side=side)
        assert found.shape == (len(SIZES), 4)
        for i in (0, 7, len(SIZES) - 1):
            alone = sdp.profile(GRR, n=int(SIZES[i]), epsilon=eps, bound=bound, side=side)
            np.testing.assert_allclose(found[i], alone, rtol=3e-4, atol=1e-300)
    line = sdp.profile(GRR, n=SIZES, epsilon=np.full(len(SIZES), 0.05))
    np.testing.assert_allclose(line, [sdp.profile(GRR, n=int(k), epsilon=0.05) for k in SIZES], rtol=3e-4, atol=1e-300)
    assert sdp.profile(GRR, n=[100, 200], epsilon=0.1).shape == (2,)
    with pytest.raises(sdp.ParameterError, match=r"^n and epsilon must have shapes"):
        sdp.profile(GRR, n=[100, 200], epsilon=[0.1, 0.2, 0.3])
    with pytest.raises(sdp.ParameterError, match=r"^n must hold 1 to"):
        sdp.profile(GRR, n=[], epsilon=0.1)


@pytest.mark.heavy
def test_never_below_the_truth_by_brute_force() -> None:
    """All datasets of up to five users, enumerated in fractions."""
    m = sdp.GRR(eps0=1.5, d=3)
    for bound in ("auto", "blanket", "general", "swap", "variation-ratio"):
        g = sdp.amplify(m, n=[[2], [3], [4]], delta=[0.02, 0.1, 0.3], bound=bound)
        for row in g:
            for one in row:
                truth = worst_divergence(m.probabilities().tolist(), one.n, exp_enclosure(one.epsilon)[0])
                assert float(truth) <= one.delta * (1.0 + 1e-12)


@pytest.mark.slow
@examples(12)
@given(st.floats(0.2, 5.0), st.integers(2, 50))
def test_monotone_in_n_and_delta(eps0: float, d: int) -> None:
    n, delta = np.geomspace(2, 1e10, 6).astype(int)[:, None], np.geomspace(1e-12, 1e-2, 4)
    for bound in ("blanket", "auto"):
        eps = sdp.amplify(sdp.GRR(eps0=eps0, d=d), n=n, delta=delta, bound=bound).epsilon
        slack = 1.0 + 3e-4
        assert np.all(eps[1:] <= eps[:-1] * slack) and np.all(eps[:, 1:] <= eps[:, :-1] * slack)
        assert np.all(eps <= eps0)


@pytest.mark.heavy
def test_sweeps_of_many_points_are_comparisons() -> None:
    names = ["blanket", "general", "swap", "clone-closed", "constant-dataset-lower"]
    eps0 = np.linspace(0.3, 4.0, 40).tolist()
    s = sdp.sweep("subset:d=16", eps0=eps0, n=20_000, delta=1e-7, bounds=names)
    for i in (0, 20, 39):
        alone = sdp.compare(f"subset:d=16,eps0={eps0[i]!r}", n=20_000, delta=1e-7, bounds=names)
        assert [r.bound for r in s.points[i].rows] == [r.bound for r in alone.rows]
        for row in alone.rows:
            assert s.points[i][row.bound].epsilon == pytest.approx(row.epsilon, rel=2e-4)
        assert s.points[i].absent == alone.absent and s.points[i].mechanism == alone.mechanism


def test_batch_tables_of_many_sizes() -> None:
    table = sdp.batch_table(GRR, delta="0.01/n", n=SIZES.tolist(), dropouts=0.1)
    for i in (0, 11, len(SIZES) - 1):
        alone = sdp.amplify(GRR, n=int(SIZES[i]), delta="0.01/n", dropouts=0.1)
        assert table.epsilons[i] == pytest.approx(alone.epsilon, rel=2e-4)
