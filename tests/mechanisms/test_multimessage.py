"""Multi-message mechanisms: the whole protocol by brute force, golden values, published ratios, samplers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy import stats

import contract.cases.multimessage  # noqa: F401  (registers the words)
import shuffledp as sdp
from reference.fractions_oracle import _send, hockey_stick
from reference.places import golden
from shuffledp.mechanisms.multimessage.balcer_cheu import BalcerCheu
from shuffledp.mechanisms.multimessage.balcer_coin import BalcerCoin
from shuffledp.mechanisms.multimessage.balls_into_bins import BallsIntoBins
from shuffledp.mechanisms.multimessage.base import MultiMessage
from shuffledp.mechanisms.multimessage.cheu_zhilyaev import CheuZhilyaev
from shuffledp.mechanisms.multimessage.mix_dump import MixDump, _ratios_below
from shuffledp.mechanisms.multimessage.pure_dump import PureDump
from shuffledp.numerics.family import PairSet
from shuffledp.randomness.sampling import source

GOLDEN = golden("mechanisms.json")
MAKE = {
    "balcer2020": lambda p: BalcerCheu(coin=p["coin"], messages=1),
    "balcer2021": lambda p: BalcerCoin(messages=1),
    "cheu2022": lambda p: CheuZhilyaev(flip=p["f"], d=p["d"], messages=1),
    "balls_into_bins": lambda p: BallsIntoBins(d=p["d"], special=p["s"], messages=1),
    "puredump": lambda p: PureDump(d=p["d"], messages=1),
    "mixdump": lambda p: MixDump(d=p["d"], flip=p["f"], messages=1),
}
ENTRIES = [e for e in GOLDEN if e["mechanism"] in MAKE and "input" not in e["params"]]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e['mechanism']}-{e['params']}")
def test_golden(entry: dict) -> None:
    if entry["mechanism"] == "balls_into_bins" and entry["params"]["d"] < 2 * entry["params"]["s"]:
        with pytest.raises(sdp.ParameterError, match="2 \\* special <= d"):
            MAKE[entry["mechanism"]](entry["params"])
        return
    m = MAKE[entry["mechanism"]](entry["params"])
    ours = m.variation_ratio()
    for name in ("p", "beta", "q"):
        got, safe, truth = (float(x) for x in (getattr(ours, name), entry["safe"][name], entry[name]))
        assert got == safe if math.isinf(safe) else got == pytest.approx(safe, rel=1e-9)
        assert got >= truth * (1 - 1e-9)
    assert m.local_epsilon == pytest.approx(math.log(ours.p))


# -- the whole protocol in exact fractions ----------------------------------------------------------------------


def laws(m: MultiMessage) -> tuple[list[list[Fraction]], list[Fraction]]:
    """The law of an own message for every input, and of a blanket message, from the definition."""
    if isinstance(m, CheuZhilyaev):
        f, rows = Fraction(m.flip), list(product((0, 1), repeat=m.d))

        def flipped(origin: list[int]) -> list[Fraction]:
            return [math.prod(f if a != b else 1 - f for a, b in zip(origin, y, strict=True)) for y in rows]

        return [flipped([int(i == x) for i in range(m.d)]) for x in range(m.d)], flipped([0] * m.d)
    if isinstance(m, BalcerCheu | BalcerCoin):
        c = Fraction(getattr(m, "coin", 0.5))
        return [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]], [1 - c, c]
    uniform = [Fraction(1, m.d)] * m.d
    if isinstance(m, BallsIntoBins):
        s = m.special
        return [[Fraction(int(b // s == x), s) for b in range(m.d)] for x in range(m.d // s)], uniform
    f = Fraction(getattr(m, "flip", 0))
    return [[1 - f if y == x else f / (m.d - 1) for y in range(m.d)] for x in range(m.d)], uniform


def truth(m: MultiMessage, n: int, E: Fraction) -> Fraction:
    """The largest divergence of the multiset of all messages, over all pairs and inputs of the others."""
    rows, blanket = laws(m)
    start = {(0,) * len(blanket): Fraction(1)}
    if m.messages is None:
        for _ in range(m.total_messages):
            start = _send(start, blanket, Fraction(0))
    else:
        for _ in range(n):
            for _ in range(math.floor(m.messages)):
                start = _send(start, blanket, Fraction(0))
            part = Fraction(m.messages) - math.floor(m.messages)
            start = _send(start, [part * x for x in blanket], 1 - part)
    worst = Fraction(0)
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        law = start
        for x in others:
            law = _send(law, rows[x], Fraction(0))
        ends = [_send(law, row, Fraction(0)) for row in rows]
        worst = max(worst, *(hockey_stick(ends[a], ends[b], E) for a, b in permutations(range(len(rows)), 2)))
    return worst


SMALL: list[tuple[MultiMessage, int]] = [
    (BalcerCheu(coin=0.25, messages=1), 3),
    (BalcerCheu(coin=0.75, messages=0.5), 3),
    (BalcerCoin(total_messages=4), 2),
    (BallsIntoBins(d=4, special=2, messages=1.5), 2),
    (BallsIntoBins(d=5, special=2, messages=1), 3),
    (PureDump(d=3, messages=1.25), 3),
    (PureDump(d=2, messages=0.75), 3),
    (CheuZhilyaev(flip=0.25, d=2, messages=1), 3),
    (CheuZhilyaev(flip=0.375, d=3, messages=0.5), 2),
    (CheuZhilyaev(flip=0.125, d=2, total_messages=0), 3),
    (MixDump(d=2, flip=0.25, messages=1), 3),
    (MixDump(d=3, flip=0.25, messages=1.5), 2),
    (MixDump(d=3, flip=0.5, messages=0.5), 3),
    (MixDump(d=4, flip=0.125, messages=0), 3),
    (MixDump(d=3, flip=0.125, total_messages=4), 3),
]


@pytest.mark.slow_cases("cheu-zhilyaev:flip=0.375,d=3,messages=0.5-2", "mix-dump:d=2,flip=0.25,messages=1-3")
@pytest.mark.parametrize(("m", "n"), SMALL, ids=lambda x: getattr(x, "spec", x))
def test_the_truth_is_inside_the_bracket(m: MultiMessage, n: int) -> None:
    exact = not isinstance(m, CheuZhilyaev | MixDump)
    for eps in (0.0, 0.25, 0.8):
        true = float(truth(m, n, Fraction(math.exp(eps))))
        upper = float(sdp.profile(m, n=n, epsilon=eps))
        assert true <= upper * (1 + 1e-9)
        assert upper <= float(sdp.profile(m, n=n, epsilon=eps, bound="variation-ratio")) * (1 + 1e-4)
        if isinstance(m, MixDump) and m.d == 2:
            assert sdp.amplify(m, n=n, delta=0.1).lower is None
            continue
        lower = float(sdp.profile(m, n=n, epsilon=eps, side="lower"))
        assert lower <= true * (1 + 1e-9)
        merged = float(sdp.profile(m, n=n, epsilon=eps, bound="variation-ratio-lower", side="lower"))
        assert merged <= true * (1 + 1e-9)
        if exact:
            assert upper == pytest.approx(true, rel=1e-4) and lower == pytest.approx(true, rel=1e-4)


def test_ratio_of_neighboring_probabilities() -> None:
    from shuffledp.numerics.counts import Count

    for scale, slack in ((1, 1.0), (40, 0.02), (400, 0.002)):  # Jensen's loss falls like 1/total
        parts = ((7 * scale, 0.25), (5 * scale, 0.6))
        pmf = np.convolve(*(stats.binom.pmf(np.arange(n + 1), n, p) for n, p in parts))
        middle = round(sum(n * p for n, p in parts))
        totals = np.arange(1, 13) if scale == 1 else np.arange(middle - 30, middle + 30)
        bound, ratio = _ratios_below(Count(0, parts), totals), pmf[totals - 1] / pmf[totals]
        assert np.all(ratio * (1 - slack) <= bound) and np.all(bound <= ratio * (1 + 1e-10))
    assert _ratios_below(Count(0, ((9, 0.3),)), np.array([4])) == pytest.approx(4 * 0.7 / (6 * 0.3))


# -- published numbers ------------------------------------------------------------------------------------------


def test_biased_coins_by_both_bounds() -> None:
    for coin, best, table in ((0.7, 0.351, 0.404), (0.9, 0.636, 0.766)):
        m = BalcerCheu(coin=coin, total_messages=500)
        g = sdp.amplify(m, n=10, delta=1e-5)
        assert g.epsilon == pytest.approx(best, abs=6e-4) and g.lower == pytest.approx(g.epsilon, rel=2e-4)
        assert sdp.amplify(m, n=10, delta=1e-5, bound="variation-ratio").epsilon == pytest.approx(table, abs=6e-4)


@pytest.mark.parametrize(
    ("n", "ratios"),
    [(10**4, {0.5: 7.08, 0.7: 4.93, 1.0: 4.42, 1.5: 4.44}), (10**5, {0.2: 5.32, 0.5: 3.85, 1.0: 3.80, 1.5: 4.02})],
)
def test_cheu_zhilyaev_ratios(n: int, ratios: dict[float, float]) -> None:
    """Blanket rows alone, as many as users, against Claim 3.2 at delta = 0.01/n; own rows only help."""
    for claim, ratio in ratios.items():
        both = 33 / (5 * n) / math.tanh(claim / 2) ** 2 * math.log(400 * n)
        m = CheuZhilyaev(flip=0.5 - math.sqrt(0.25 - both), d=16, messages=1)
        eps = PairSet(m._pairs()).epsilon(n=n + 1, delta=0.01 / n, tol=1e-5, side="upper").epsilon
        assert claim / eps == pytest.approx(ratio, abs=0.006)
    g = sdp.amplify(m, n=n, delta=0.01 / n)
    assert g.lower < g.epsilon < eps


def test_balls_into_bins_ratios() -> None:
    for claim, ratio in {0.1: 4.68, 0.5: 4.14, 1.0: 3.93, 1.5: 3.78}.items():
        total = math.ceil(32 * math.log(2e6) * 1000 / claim**2)
        m = BallsIntoBins(d=3000, special=3, total_messages=total)
        assert claim / sdp.amplify(m, n=10, delta=1e-6).epsilon == pytest.approx(ratio, abs=0.006)


@pytest.mark.parametrize(
    "m",
    [
        BallsIntoBins(d=40, special=4, messages=1.5),
        PureDump(d=10, messages=2.7),
        PureDump(d=10, messages=0.3),
        MixDump(d=10, flip=0.1, messages=1),
        MixDump(d=10, flip=0.4, messages=1.5),
    ],
    ids=lambda m: m.spec,
)
def test_bracket_is_narrow(m: MultiMessage) -> None:
    g = sdp.amplify(m, n=10**4, delta=1e-6)
    assert g.lower <= g.epsilon <= 1.002 * g.lower


@pytest.mark.parametrize("n", [10**9, 10**12])
def test_bracket_is_narrow_for_very_many_users(n: int) -> None:
    """Numbers of messages that are rounded to cells lose nothing between blocks of totals."""
    g = sdp.amplify(MixDump(d=5, flip=0.3, messages=2.5), n=n, delta=1e-12)
    assert g.lower <= g.epsilon <= 1.0003 * g.lower


@pytest.mark.heavy
def test_large_parameters_are_fast() -> None:
    for m in (PureDump(d=10**6, messages=1.5), MixDump(d=10**6, flip=0.5, messages=1)):
        g = sdp.amplify(m, n=10**7, delta=1e-6)
        assert g.lower <= g.epsilon <= 1.01 * g.lower
        assert math.isfinite(sdp.amplify(m, n=10**12, delta=1e-9).epsilon)
    # only d/s matters, and with twice the bins twice the messages are needed
    a, b = (sdp.amplify(PureDump(d=d, total_messages=1000 * d), n=10, delta=1e-6).epsilon for d in (100, 10**6))
    assert a == pytest.approx(b, rel=0.01)


@pytest.mark.heavy
def test_more_messages_and_more_users_hide_better() -> None:
    eps = [sdp.amplify(PureDump(d=5, messages=k), n=100, delta=1e-6).epsilon for k in (0.5, 0.9, 1, 1.1, 2)]
    assert eps == sorted(eps, reverse=True)
    eps = [sdp.amplify(MixDump(d=5, flip=0.2, messages=0.5), n=n, delta=1e-6).epsilon for n in (20, 50, 5000)]
    assert eps == sorted(eps, reverse=True)


# -- running it -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "_n"), SMALL, ids=lambda x: getattr(x, "spec", x))
def test_samplers(m: MultiMessage, _n: int) -> None:
    rows, blanket = laws(m)
    src, size = source(np.random.default_rng(5)), 20_000
    draws = [(m._own(np.full(size, x, dtype=np.uint8), src), row) for x, row in enumerate(rows)]
    for data, law in [*draws, (m._noise(size, src), blanket)]:
        if isinstance(m, CheuZhilyaev):  # rows in the order of product((0, 1), repeat=d)
            data = np.unpackbits(data, axis=1, count=m.d) @ (1 << np.arange(m.d)[::-1])
        seen, want = np.bincount(data, minlength=len(law)), np.array([float(p) for p in law])
        assert not seen[want == 0].any()
        if np.count_nonzero(want) > 1:
            assert stats.chisquare(seen[want > 0], size * want[want > 0]).pvalue > 1e-6


def test_number_of_messages_and_their_order() -> None:
    values, rng = np.zeros(50_000, dtype=int), np.random.default_rng(2)
    sent = len(PureDump(d=1000, messages=2.25).privatize(values, rng=rng)) - 3 * len(values)
    assert abs(sent - 12_500) < 5 * math.sqrt(50_000 * 0.25 * 0.75)
    m = PureDump(d=1000, total_messages=70_001)
    reports = m.privatize(values, rng=rng)
    assert len(reports) == 120_001 and reports.users == 50_000
    ahead = np.count_nonzero(reports.data[:60_000] == 0)
    assert abs(ahead - np.count_nonzero(reports.data == 0) / 2) < 5 * math.sqrt(120_001) / 4
    assert len(BalcerCoin(messages=0).privatize([0, 1], rng=rng)) == 2
    with pytest.raises(sdp.ParameterError, match="pass users=n"):
        m.estimate(reports.data)
    assert m.estimate(reports.data, users=50_000).value == pytest.approx(m.estimate(reports).value)
    with pytest.raises(sdp.ParameterError, match="at least one message per user"):
        m.estimate(reports.data, users=10**6)


def test_variance_and_communication() -> None:
    m = MixDump(d=5, flip=0.2, messages=1.5)
    est = m.estimate(m.privatize(np.arange(10_000) % 2, rng=np.random.default_rng(1)))
    assert est.stderr[3] ** 2 == pytest.approx(m.variance(10_000, 0.0), rel=0.05)
    assert m.messages_per_user == 2.5
    assert BalcerCoin(messages=3).variance(100) == pytest.approx(300 / 4 / 100**2)
    with pytest.raises(sdp.ParameterError, match="depend on n"):
        _ = PureDump(d=4, total_messages=9).messages_per_user


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("balcer-cheu:0.5", "exactly one of messages"),
        ("balcer-cheu:0.5,1,total_messages=3", "exactly one of messages"),
        ("balcer-cheu:0,1", "coin must lie in (0, 1)"),
        ("balcer-cheu:1,1", "coin must lie in (0, 1)"),
        ("balcer-coin:-0.5", "messages must lie in [0"),
        ("balcer-coin:total_messages=1.5", "total_messages must be a whole number"),
        ("cheu-zhilyaev:0.5,4,1", "flip must lie in (0, 0.5)"),
        ("cheu-zhilyaev:0,4,1", "flip must lie in (0, 0.5)"),
        ("cheu-zhilyaev:0.1,1,1", "d must lie in [2"),
        ("balls-into-bins:5,3,1", "special must lie in [1, 2]"),
        ("balls-into-bins:4,4,1", "special must lie in [1, 2]"),
        ("pure-dump:1,1", "d must lie in [2"),
        ("mix-dump:4,0,1", "flip = 0 is pure-dump"),
        ("mix-dump:4,0.75,1", "flip must lie in [1e-12, 0.75), got 0.75; flip = 0 is pure-dump"),
        ("mix-dump:1,0.1,1", "d must lie in [2"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(spec: str, words: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        sdp.mechanism(spec)
    text = str(error.value)
    assert words in text and "\n" not in text and text.endswith(".")


def test_certificates_do_not_count_messages_as_users() -> None:
    with pytest.raises(sdp.CertificationError):
        sdp.amplify(PureDump(d=4, messages=2), n=100, delta=1e-6, certify=True)
    assert "nothing remains" in str(sdp.amplify(PureDump(d=4, messages=2), n=100, delta=1e-6))
