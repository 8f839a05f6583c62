"""How often a property is tried: fewer times in the quick run (``-m "not slow"``) than in the full one."""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import settings

#: Set by conftest.py before the test modules are read.
quick = False


def examples(full: int, few: int | None = None) -> settings:
    """Settings of a hypothesis test: ``full`` examples, in the quick run ``few`` (a third if not said)."""
    return settings(max_examples=(few or max(full // 3, 5)) if quick else full, deadline=None)


def slow(*values: Any) -> ParameterSet:
    """One more case for the full run only."""
    return pytest.param(*values, marks=pytest.mark.slow)
