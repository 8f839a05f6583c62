"""How closely two ways to the same answer agree: each is at most tol above the truth and never below it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import shuffledp as sdp

#: The relative accuracy of every question that names none.
TOL: float = inspect.signature(sdp.amplify).parameters["tol"].default


def within_tol(answer: float | list[float]) -> Any:
    """Rows of a table and single calls take different steps, so they agree to the tol that was asked, not exactly."""
    return pytest.approx(answer, rel=TOL, abs=0.0)
