"""Very many types as one table: the same pairs and the same laws as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.families.swap_pair import Laws
from shuffledp.numerics.families.type_table import TypeTable
from shuffledp.numerics.pair import ShuffledPair


def _types(seed: int) -> list[ShuffledPair]:
    """Of 2 to 5 symbols."""
    rng = np.random.default_rng(seed)
    laws = (rng.dirichlet(np.ones(size), 3) for size in (3, 5, 2, 4))
    return [ShuffledPair(P0=first, P1=second, t=0.5 * third) for first, second, third in laws]


def test_a_row_is_the_pair_that_it_was_made_of() -> None:
    types = _types(0)
    table = TypeTable.of(types)
    assert len(table) == 4 and table.t.shape == (4, 5)
    for made, given in zip(table.pairs(), types, strict=True):
        for name in ("P0", "P1", "t"):
            assert np.array_equal(getattr(made, name), getattr(given, name))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_laws_are_those_of_single_pairs(seed: int) -> None:
    """X = u - E v of every symbol, with masses that are not above the true ones."""
    types, E = _types(seed), 1.3
    table = TypeTable.of(types)
    found = table.laws
    wanted = Laws.of([pair.shrunk for pair in types])
    for k, pair in enumerate(types):
        size = np.size(pair.t)
        assert np.all(found.t[k, size:] == 0.0) and np.all(found.t[k, :size] <= pair.t)
        assert found.t[k].sum() == pytest.approx(wanted.t[k].sum(), rel=1e-12)
        x = [part.gap - (E - 1.0) * part.v for part in (found, wanted)]
        order = [np.lexsort((part.t[k], x_)) for part, x_ in zip((found, wanted), (row[k] for row in x), strict=True)]
        for own, other in ((found.t[k], wanted.t[k]), (x[0][k] * found.t[k], x[1][k] * wanted.t[k])):
            assert own[order[0]].sum() == pytest.approx(other[order[1]].sum(), rel=1e-9, abs=1e-12)


def test_messages_that_are_sent_now_and_then() -> None:
    table = TypeTable.of(_types(4))
    assert np.array_equal(table.thinned(0.25).t, 0.25 * table.t) and table.thinned(0.25).P0 is table.P0


def test_what_nobody_else_sends_is_set_aside() -> None:
    alone = ShuffledPair(P0=[0.5, 0.25, 0.25], P1=[0.25, 0.5, 0.25], t=[0.0, 0.5, 0.5])
    table = TypeTable.of([alone, alone.swapped()])
    wanted = Laws.of([pair.shrunk for pair in (alone, alone.swapped())])
    assert all(np.array_equal(one, other) for one, other in zip(table.laws[:4], wanted[:4], strict=True))
