"""Which choice of a ranking becomes the plan: one with a guarantee if the shuffler fails, unless told otherwise."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import shuffledp as sdp


@pytest.fixture(scope="module")
def histogram() -> sdp.Recommendation:
    return sdp.recommend("histogram", n=20_000, d=4, epsilon=1.0, delta=1e-6)


@pytest.mark.heavy
def test_what_is_saved_keeps_a_local_guarantee_unless_told_otherwise(histogram: sdp.Recommendation) -> None:
    assert math.isinf(histogram.best.local_epsilon)  # or this shows nothing
    kept = next(choice for choice in histogram.choices if math.isfinite(choice.local_epsilon))
    assert histogram.to_save() is kept and histogram.plan().query.randomizer.spec == kept.spec
    assert histogram.to_save(allow_no_local=True) is histogram.best
    assert histogram.plan(allow_no_local=True).query.randomizer.spec == histogram.best.spec
    assert histogram.plan(histogram.best.name).query.randomizer.spec == histogram.best.spec  # a name is a decision
    times = kept.error / histogram.best.error
    price = f"its error is {times:.2g} times that of {histogram.best.name}, which has none"
    assert histogram.why(kept).startswith(
        f"{kept.spec}, first in the ranking of those that keep a local guarantee; {price}"
    )
    assert histogram.why(histogram.best).endswith("first in the ranking. If the shuffler fails, nothing remains.")
    assert "as it was named. If the shuffler fails, local eps = " in histogram.why(histogram.choices[-1])
    assert price in histogram.comparison[0] and histogram.comparison[0] in str(histogram)


def test_nothing_is_saved_if_no_choice_keeps_a_guarantee(histogram: sdp.Recommendation) -> None:
    alone = replace(histogram, choices=tuple(c for c in histogram.choices if math.isinf(c.local_epsilon)))
    for refused in (alone.to_save, alone.plan, lambda: alone.report("never.html")):
        with pytest.raises(
            sdp.ParameterError, match="a choice that keeps a guarantee if the shuffler fails must be in"
        ):
            refused()
    assert alone.plan(allow_no_local=True).query.randomizer.spec == alone.best.spec
    assert alone.comparison[0] == "None of these keeps a guarantee if the shuffler fails."
    safe = replace(histogram, choices=tuple(c for c in histogram.choices if math.isfinite(c.local_epsilon)))
    assert safe.to_save() is safe.best and "local guarantee" not in str(safe)


def test_the_price_is_in_eps_where_an_error_was_asked_for(histogram: sdp.Recommendation) -> None:
    first = replace(histogram.best, epsilon=0.5)
    asked_error = replace(histogram, error=1e-3, choices=(first, *histogram.choices[1:]))
    assert f"its epsilon is 2 times that of {first.name}" in asked_error.comparison[0]
