"""shuffledp: how private is a shuffled data collection?  Soundly, and in milliseconds.

Public names are resolved on first use, so that ``import shuffledp`` loads neither numpy nor scipy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "FiniteRandomizer": "mechanisms.finite",
    "General": "mechanisms.general",
    "VariationRatio": "mechanisms.general",
    "mechanism": "mechanisms.registry",
    "Round": "core.round",
    "amplify": "amplification",
    "profile": "amplification",
    "Guarantee": "guarantee",
    "Certificate": "certificate",
    "verify": "certificate",
    "ShuffleDPError": "errors",
    "ParameterError": "errors",
    "BoundNotApplicableError": "errors",
    "CertificationError": "errors",
    "VerificationError": "errors",
}

__all__ = [
    "BoundNotApplicableError",
    "Certificate",
    "CertificationError",
    "FiniteRandomizer",
    "General",
    "Guarantee",
    "ParameterError",
    "Round",
    "ShuffleDPError",
    "VariationRatio",
    "VerificationError",
    "amplify",
    "mechanism",
    "profile",
    "verify",
]

if TYPE_CHECKING:
    from .amplification import amplify, profile
    from .certificate import Certificate, verify
    from .core.round import Round
    from .errors import (
        BoundNotApplicableError,
        CertificationError,
        ParameterError,
        ShuffleDPError,
        VerificationError,
    )
    from .guarantee import Guarantee
    from .mechanisms.finite import FiniteRandomizer
    from .mechanisms.general import General, VariationRatio
    from .mechanisms.registry import mechanism


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
