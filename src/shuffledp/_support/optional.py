"""Packages of an extra: imported where they are used, and missing ones are named with the command that adds them."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ShuffleDPError


def require(package: str, *, extra: str, purpose: str) -> Any:
    """The module ``package``, or one sentence that says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        raise ShuffleDPError(
            f"{purpose} needs {name}, which is not installed; pip install '.[{extra}]' in a checkout of shuffledp."
        ) from None
