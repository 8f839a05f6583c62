"""Victim pairs among types: masses are rounded down, rare symbols that swamp a law are exposed."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.errors import BoundNotApplicableError
from shuffledp.numerics.families.base import PairSet
from shuffledp.numerics.families.swap_pair import Laws, SwapPair, among, common_mass
from shuffledp.numerics.pair import ShuffledPair

ONE = ShuffledPair([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25])
OTHER = ShuffledPair([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5])
BLANKET = ShuffledPair([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25])


def test_the_common_mass_is_rounded_down() -> None:
    made = among([ONE, OTHER], PairSet([BLANKET]))
    assert made.types == (ONE, OTHER) and 0.75 * (1 - 1e-13) < made.common_mass < 0.75
    assert common_mass(BLANKET) == made.common_mass and made.max_ratio == 2.0


def test_types_and_a_blanket_are_needed() -> None:
    for types, blanket in (([], PairSet([BLANKET])), ([ONE], PairSet([]))):
        with pytest.raises(BoundNotApplicableError, match="shuffled pair for every type"):
            among(types, blanket)


def test_others_who_may_be_absent_share_more() -> None:
    thin = SwapPair((ONE,), 0.5).thinned(0.25)
    assert thin.common_mass == 0.875 and float(np.sum(thin.types[0].t)) == 0.25


def test_laws_are_filled_up_and_shrunk() -> None:
    laws = SwapPair((ONE, ShuffledPair([0.5, 0.5], [0.25, 0.75], [0.5, 0.5])), 0.5).laws
    x, t, alone = laws.at(np.array([0.0, 0.2]), 100)
    assert x.shape == t.shape == (2, 2, 3) and not alone.any()
    assert np.all(t.sum(axis=2) < 1.0) and np.all(t.sum(axis=2) > 1.0 - 1e-13)


def test_a_rare_symbol_that_swamps_is_exposed() -> None:
    pair = ShuffledPair([0.5, 0.5], [0.25, 0.75], [2.0**-60, 0.5])
    x, t, alone = Laws.of([pair.shrunk]).at(np.array([0.0]), 1000)
    assert t[0, 0].min() == 0.0 and alone[0, 0] == pytest.approx(0.25)
    assert np.all(x[t == 0.0] == 0.0)


def test_a_message_that_nobody_else_sends_is_alone() -> None:
    pair = ShuffledPair([0.5, 0.5], [0.25, 0.75], [0.0, 0.5])
    assert SwapPair((ONE, pair), 0.5).laws.at(np.array([0.0]), 10)[2][0] == pytest.approx([0.0, 0.25])
    assert SwapPair((ONE,), 0.5, alone=pair).victim is not None and SwapPair((ONE,), 0.5).victim is None
