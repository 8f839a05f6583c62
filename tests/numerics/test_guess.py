"""First guesses: near the answer, the same in floats and in arrays, and harmless where they fail."""

from __future__ import annotations

import math

import pytest

from shuffledp.numerics import guess
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.solve import epsilon, pair_limit

COIN = ShuffledPair([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
GRR = ShuffledPair([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25])


@pytest.mark.parametrize("pair", [COIN, GRR], ids=["coin", "grr"])
@pytest.mark.parametrize("n", [100, 10**4, 10**8])
@pytest.mark.parametrize("delta", [1e-3, 1e-8, 1e-100])
def test_near_the_answer(pair: ShuffledPair, n: int, delta: float) -> None:
    found = guess.guess_epsilon(pair.atoms, n, delta, pair_limit(pair))
    true = epsilon([pair], n=n, delta=delta, tol=1e-6, side="upper")
    if 1e-3 * pair_limit(pair) * n**-0.5 < true < 0.9 * pair_limit(pair):
        assert found.epsilon == pytest.approx(true, rel=5e-3)


@pytest.mark.parametrize("n", [50, 10**5, 10**11])
def test_floats_and_arrays_agree(n: int) -> None:
    few = GRR.atoms.few
    assert few is not None
    one = guess._saddle_guess(guess._InFloats(few), n, 1e-7, 5.0)
    other = guess._saddle_guess(guess._InArrays(GRR.atoms), n, 1e-7, 5.0)
    assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("delta", [0.99, 5e-324])
def test_a_failed_guess_is_a_number_in_range(delta: float) -> None:
    for pair in (COIN, ShuffledPair([1.0], [1.0], [0.0]), ShuffledPair([1.0, 0.0], [0.0, 1.0], [1e-200, 1e-200])):
        found = guess.guess_epsilon(pair.atoms, 10, delta, 3.0)
        assert 0.0 < found.epsilon <= 3.0 and math.isfinite(found.slope)
