"""Classes whose batch is that of one mechanism: blanket messages that add up, and budgets drawn in secret."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure, worst_divergence


@pytest.mark.parametrize(
    ("few", "many", "all_"),
    [
        ("pure-dump:d=8,messages=2", "pure-dump:d=8,messages=6", "pure-dump:d=8,messages=4"),
        ("pure-dump:d=8,poisson=2", "pure-dump:d=8,poisson=6", "pure-dump:d=8,poisson=4"),
        ("mix-dump:d=6,flip=0.3,messages=0", "mix-dump:d=6,flip=0.3,messages=2", "mix-dump:d=6,flip=0.3,messages=1"),
        ("balcer-cheu:coin=0.5,messages=3", "balcer-cheu:coin=0.5,messages=1", "balcer-cheu:coin=0.5,messages=2"),
        (
            "poisson-histogram:d=8,poisson_per_index=0.2",
            "poisson-histogram:d=8,poisson_per_index=0.6",
            "poisson-histogram:d=8,poisson_per_index=0.4",
        ),
        ("poisson-sum:units=4,poisson=1", "poisson-sum:units=4,poisson=3", "poisson-sum:units=4,poisson=2"),
    ],
)
def test_the_batch_is_that_of_the_mean(few: str, many: str, all_: str) -> None:
    g = sdp.amplify_mixed([(few, 400), (many, 400)], delta=1e-4)
    one = sdp.amplify(all_, n=800, delta=1e-4)
    assert g.epsilon == pytest.approx(one.epsilon, rel=1e-6) and g.bound == one.bound
    assert [c.epsilon for c in g.classes] == [g.epsilon, g.epsilon] and "public" in g.trust


@pytest.mark.parametrize("kind", ["messages", "poisson"])
def test_the_missing_are_those_who_send_most(kind: str) -> None:
    """Of 200 + 300 users 250 are missing: all who send 9 messages, and 50 of those who send 5."""
    classes = [(f"pure-dump:d=4,{kind}=5", 300), (f"pure-dump:d=4,{kind}=9", 200)]
    for terms in ({"dropouts": 250}, {"dropouts": 100, "colluding": 150}):
        g = sdp.amplify_mixed(classes, delta=1e-4, **terms)
        left = sdp.amplify(f"pure-dump:d=4,{kind}=5", n=250, delta=1e-4)
        assert g.epsilon == pytest.approx(left.epsilon, rel=1e-6) and g.n == 500
    some = sdp.amplify_mixed(classes, delta=1e-4, dropouts=100).epsilon
    assert some < left.epsilon and some == pytest.approx(
        sdp.amplify(f"pure-dump:d=4,{kind}=6", n=400, delta=1e-4).epsilon, rel=1e-6
    )


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_secret_draw_against_all_datasets(n: int) -> None:
    """Every user draws eps0 = 0.5 with probability 1/2, else 2: exactly, over all inputs of all users."""
    classes = [("grr:eps0=0.5,d=2", n), ("grr:eps0=2,d=2", n)]
    laws = [np.asarray(sdp.mechanism(spec).probabilities()) for spec, _ in classes]  # type: ignore[attr-defined]
    exact = [
        [Fraction(a) / 2 + Fraction(b) / 2 for a, b in zip(*rows, strict=True)] for rows in zip(*laws, strict=True)
    ]
    for delta in (0.3, 0.05, 0.01):
        g = sdp.amplify_mixed(classes, delta=delta, hidden=True)
        assert float(worst_divergence(exact, 2 * n, exp_enclosure(g.epsilon)[1])) <= delta * (1 + 1e-9)
    assert g.hidden and "secret" in g.trust and "drawn at random and secret" in str(g)


def test_a_secret_draw_is_better_for_the_larger_budget_and_worse_for_the_smaller() -> None:
    classes = [("grr:eps0=1,d=8", 5000), ("grr:eps0=3,d=8", 5000)]
    public, secret = (sdp.amplify_mixed(classes, delta=1e-6, hidden=hidden) for hidden in (False, True))
    assert public.classes[0].epsilon < secret.epsilon < public.classes[1].epsilon
    away = sdp.amplify_mixed(classes, delta=1e-6, hidden=True, dropouts=1000)
    assert away.epsilon > secret.epsilon


@pytest.mark.parametrize(
    ("classes", "terms", "said"),
    [
        (["pure-dump:d=8,messages=2", "pure-dump:d=8,poisson=2"], {}, "must differ in the number of blanket messages"),
        (["pure-dump:d=8,messages=2", "pure-dump:d=9,messages=2"], {}, "must differ in the number of blanket messages"),
        (["pure-dump:d=8,messages=2.5", "pure-dump:d=8,messages=2"], {}, "all of them Poisson or all whole"),
        (["pure-dump:d=8,messages=2", "grr:eps0=1,d=8"], {}, "must have a law that can be compared"),
        (["pure-dump:d=8,poisson=2", "pure-dump:d=8,poisson=3"], {"hidden": True}, "need the probability matrix"),
        (["grr:eps0=1,d=8", "grr:eps0=1,d=9"], {"hidden": True}, "need matrices of one shape"),
        (["grr:eps0=1,d=8", "grr:eps0=2,d=8"], {"hidden": "yes"}, "hidden must be True or False"),
    ],
)
def test_what_is_refused(classes: list[str], terms: dict[str, object], said: str) -> None:
    with pytest.raises((sdp.ParameterError, sdp.BoundNotApplicableError), match=said):
        sdp.amplify_mixed([(spec, 50) for spec in classes], delta=1e-4, **terms)  # type: ignore[arg-type]
