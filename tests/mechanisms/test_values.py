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


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">i2", ">u4", "<i8", ">i8", "<u8"])
def test_categories_of_any_whole_dtype(dtype: str) -> None:
    """Also of other byte orders, and not contiguous."""
    values = np.arange(100, dtype=dtype)[::-3]
    found = categories(values, 100)
    assert found.dtype == np.uint8 and found.tolist() == list(range(99, -1, -3))
    with pytest.raises(ParameterError, match=r"must lie in \[0, 99\), got 99; number the categories from 0"):
        categories(values, 99)
    if np.dtype(dtype).kind == "i":
        with pytest.raises(ParameterError, match="got -1; number the categories from 0"):
            categories(np.array([5, -1, 3], dtype=dtype), 100)
