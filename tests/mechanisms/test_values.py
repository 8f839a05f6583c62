"""Values of users: what may be passed."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.mechanisms.values import as_array, categories


def test_a_module_that_another_thread_is_loading_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    """While numpy.ma is being imported it is listed already, without its class."""
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    assert as_array("values", [1, 2]).tolist() == [1, 2]
    monkeypatch.undo()
    with pytest.raises(ParameterError, match="must not be masked"):
        as_array("values", np.ma.MaskedArray([1, 2], mask=[True, False]))


@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i2", ">i4", "i8", "u1", ">u4"])
@pytest.mark.parametrize("d", [1, 2, 127, 128, 129, 255, 256, 257, 300, 2**15, 2**16 + 1, 10**5, 2**32])
def test_categories_are_those_below_d_in_every_dtype(dtype: str, d: int) -> None:
    """Also where the dtype cannot hold all of them, and its negative numbers look like some of them."""
    kind = np.iinfo(dtype)
    for value in {
        v for v in (kind.min, -129, -128, -2, -1, 0, 1, d - 1, d, d + 1, kind.max) if kind.min <= v <= kind.max
    }:
        given = np.array([0, value], dtype=dtype)
        if 0 <= value < d:
            assert categories(given, d).tolist() == [0, value]
        else:
            with pytest.raises(ParameterError, match=rf"must lie in \[0, {d}\), got {value};"):
                categories(given, d)
