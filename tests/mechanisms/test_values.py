"""Values of users: what may be passed."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.mechanisms.values import as_array


def test_a_module_that_another_thread_is_loading_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    """While numpy.ma is being imported it is listed already, without its class."""
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    assert as_array("values", [1, 2]).tolist() == [1, 2]
    monkeypatch.undo()
    with pytest.raises(ParameterError, match="must not be masked"):
        as_array("values", np.ma.MaskedArray([1, 2], mask=[True, False]))
