"""Makes ``from reference import ...`` work and names the markers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("reference")  # their asserts hold under python -O too


def pytest_configure(config: pytest.Config) -> None:
    from reference import repetition

    repetition.quick = "not slow" in str(config.option.markexpr)
    config.addinivalue_line("markers", "slow: more examples of the same properties; leave out with -m 'not slow'")
