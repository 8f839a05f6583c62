"""A Guarantee reads as a sentence that claims nothing more than what was proved."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.repetition import examples
from shuffledp.accounting.guarantee import TRUST, round_down, round_up, told

PAIR = re.compile(r"\(([^,()]+), ([^,()]+)\)-DP")


def made(**changes: object) -> sdp.Guarantee:
    if "lower" in changes:
        changes["find_lower"] = partial(told, changes.pop("lower"))
    base = sdp.Guarantee(
        epsilon=0.123456789,
        find_lower=partial(told, 0.12345600001),
        delta=1e-6,
        n=1000,
        mechanism="general:eps0=1",
        description="the same 1-LDP randomizer",
        bound="variation-ratio",
        local_epsilon=1.0,
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def test_the_sentence() -> None:
    text = str(made())
    assert text.startswith("With n = 1,000 users, all running the same 1-LDP randomizer, ")
    for words in ("(0.12346, 1e-06)-DP", "replace-one", "bound: variation-ratio", "than 0.12345", "eps0 = 1 remains."):
        assert words in text
    assert "\n" not in text and text.count("  ") == 0


def test_a_looser_bound_says_why() -> None:
    g = made(note="looser, because outputs were merged")
    assert "The bound is looser, because outputs were merged. If the shuffler fails" in str(g)
    assert "outputs were merged" in g._repr_html_() and g.to_dict()["note"] == g.note
    assert "looser" not in str(made()) and made().note == ""


def test_one_user_is_not_each() -> None:
    text = str(made(n=1))
    assert text.startswith("With n = 1 user, running") and "each" not in text


positive = st.floats(min_value=1e-300, max_value=1e9)


@examples(500)
@given(positive)
def test_decimals_are_rounded_to_the_safe_side(x: float) -> None:
    assert x <= float(round_up(x)) <= x * 1.00011
    assert x * 0.99989 <= float(round_down(x)) <= x
    assert len(re.sub(r"e.*|^0\.0*|\.", "", round_up(x))) <= 7


@pytest.mark.parametrize("x", [9.99999, 0.99999999, 1e-320, 5e-324, 1.0, 0.1, 99999.5, 1e22])
def test_rounding_at_the_edges(x: float) -> None:
    assert float(round_down(x)) <= x <= float(round_up(x))


def test_zero_and_infinity_have_words() -> None:
    assert round_up(0.0) == "0" and round_down(math.inf) == "inf"
    assert "(0, 1e-06)-DP" in str(made(epsilon=0.0, lower=0.0))
    assert "no finite eps" in str(made(epsilon=math.inf, lower=math.inf))
    assert "nothing remains" in str(made(local_epsilon=math.inf))


@examples(300)
@given(st.floats(min_value=1e-9, max_value=50.0), st.floats(min_value=1e-15, max_value=0.9))
def test_the_printed_pair_is_implied_by_the_proved_one(epsilon: float, delta: float) -> None:
    """(eps, delta)-DP implies (eps', delta')-DP only if neither is smaller."""
    match = PAIR.search(str(made(epsilon=epsilon, lower=None, delta=delta)))
    assert match is not None
    assert float(match[1]) >= epsilon
    assert float(match[2]) >= delta


@pytest.mark.parametrize(
    "g",
    [
        made(),
        made(epsilon=math.inf, lower=math.inf, local_epsilon=math.inf),
        made(lower=None),
        made(kind="lower", lower=None),
        made(sound=False, lower=None),
        sdp.amplify("general:eps0=1", n=100, delta=1e-6, certify=True),
        sdp.amplify(sdp.FiniteRandomizer([[0.7, 0.3], [0.3, 0.7]]), n=100, delta=1e-6, certify=True),
    ],
    ids=["plain", "inf", "no lower", "lower", "published", "certified", "certified finite"],
)
def test_dict_pickle_html_and_freezing(g: sdp.Guarantee) -> None:
    text = json.dumps(g.to_dict(), allow_nan=False)
    again = json.loads(text)
    assert again["n"] == g.n and again["neighbors"] == "replace-one" and again["trust"] == TRUST
    assert math.isinf(g.epsilon) == (again["epsilon"] == "inf")
    assert math.isinf(g.epsilon) or again["epsilon"] == g.epsilon
    copy = pickle.loads(pickle.dumps(g))
    assert copy == g and str(copy) == str(g) and copy.certificate == g.certificate
    assert "<table>" in g._repr_html_()
    with pytest.raises(dataclasses.FrozenInstanceError):
        g.epsilon = 0.0  # type: ignore[misc]
    assert hash(g) == hash(copy)


def test_html_escapes_what_comes_from_outside() -> None:
    page = made(mechanism="finite:<script>.csv", description="the <b>randomizer</b> & co")._repr_html_()
    assert "<script>" not in page and "<b>" not in page and "&lt;script&gt;" in page and "&amp; co" in page


def test_kinds_read_differently() -> None:
    lower = str(made(kind="lower", lower=None, bound="variation-ratio-lower"))
    assert "this is a lower bound, not a guarantee" in lower and "-DP," not in lower
    wrong = str(made(sound=False, lower=None, bound="variation-ratio-published"))
    assert "not a proved bound" in wrong and "-DP," not in wrong
    proved = str(made(certified=True))
    assert "proved in ball arithmetic" in proved


def test_trust_is_the_same_everywhere() -> None:
    g = sdp.amplify("general:eps0=1", n=10, delta=0.1)
    assert g.trust == TRUST and "honest" in TRUST and g.neighbors == "replace-one"


@pytest.mark.parametrize("spec", ["general:eps0=1", "metric-general:d01=1,dmax=2", "variation-ratio:p=3,beta=0.4,q=3"])
def test_one_randomizer_for_all_not_one_per_user(spec: str) -> None:
    """With a randomizer of its own for every user there is no amplification at all (docs/swap.md)."""
    g = sdp.amplify(spec, n=1000, delta=1e-6)
    assert ", all running the same " in str(g) and "each running" not in str(g)
    assert "all users run the same mechanism" in g.trust
    assert "1 user, running the same " in str(sdp.amplify(spec, n=1, delta=1e-6))


@pytest.mark.heavy
def test_mixed_users_run_the_mechanism_of_their_class() -> None:
    found = sdp.amplify_mixed([("grr:eps0=1,d=4", 100), ("grr:eps0=2,d=4", 100)], delta=1e-6)
    assert "all users of a class run its mechanism" in found.trust and "the same mechanism" not in found.trust


def lazily(**changes: object) -> sdp.Guarantee:
    return sdp.amplify("grr:eps0=2,d=16", n=1000, delta=1e-6, **changes)  # type: ignore[arg-type]


def test_the_lower_bound_is_found_when_it_is_read() -> None:
    g = lazily()
    assert "lower" not in vars(g) and "lower" in dir(g)
    assert g.lower is not None and 0.0 < g.lower <= g.epsilon
    assert vars(g)["lower"] == g.lower and set(vars(g)) == {*(f.name for f in dataclasses.fields(g)), "lower"}
    with pytest.raises(AttributeError, match="lowest"):
        g.lowest  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    "show",
    [str, lambda g: g._repr_html_(), lambda g: g.to_dict(), pickle.dumps],
    ids=["str", "html", "dict", "pickle"],
)
def test_whatever_shows_it_computes_it(show: object) -> None:
    g = lazily()
    show(g)  # type: ignore[operator]
    assert vars(g)["lower"] == g.lower is not None


def test_comparing_computes_nothing() -> None:
    g = lazily()
    assert g == lazily() and hash(g) == hash(lazily()) and repr(g) and "lower" not in vars(g)


def test_a_lazy_guarantee_is_like_any_other() -> None:
    plain = lazily()
    assert plain.lower is not None
    for copied in (pickle.loads(pickle.dumps(lazily())), copy.copy(lazily()), copy.deepcopy(lazily())):
        assert copied == plain and hash(copied) == hash(plain) and copied.lower == plain.lower
        assert dataclasses.replace(copied, n=7).lower == plain.lower
    assert lazily() == plain and lazily() in {plain} and lazily(dropouts=1) != plain
    other = dataclasses.replace(lazily(), n=7)
    assert other.lower == plain.lower and other.n == 7
    assert list(plain.to_dict())[:3] == ["epsilon", "lower", "delta"] and "find_lower" not in plain.to_dict()
    assert lazily().to_dict() == plain.to_dict() and json.loads(json.dumps(plain.to_dict()))["lower"] == plain.lower


def test_the_lower_bound_never_exceeds_epsilon() -> None:
    g = sdp.amplify("grr:eps0=2,d=16", n=1000, delta=1e-6, tol=0.1)  # both ends are coarse
    assert g.lower is not None and g.lower <= g.epsilon


def test_unsound_and_lower_bounds_have_none() -> None:
    for bound in ("variation-ratio-published", "constant-dataset-lower"):
        assert lazily(bound=bound).lower is None
