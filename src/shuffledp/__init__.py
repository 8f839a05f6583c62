"""shuffledp: how private is a shuffled data collection?  Soundly, and in milliseconds.

Public names are resolved on first use, so that ``import shuffledp`` loads neither numpy nor scipy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Accountant": "accountant",
    "ComposedGuarantee": "composed",
    "amplify": "amplification",
    "profile": "amplification",
    "Audit": "auditing.result",
    "audit": "auditing.run",
    "calibrate": "calibration.questions",
    "delta_needed": "calibration.questions",
    "users_needed": "calibration.questions",
    "BatchTable": "batches",
    "batch_table": "batches",
    "Certificate": "certificate",
    "verify": "certificate",
    "Comparison": "comparison",
    "compare": "comparison",
    "Round": "core.round",
    "BoundNotApplicableError": "errors",
    "CertificationError": "errors",
    "ImpossibleError": "errors",
    "ParameterError": "errors",
    "ShuffleDPError": "errors",
    "VerificationError": "errors",
    "Estimate": "estimate",
    "Guarantee": "guarantee",
    "LedgerEntry": "ledger",
    "MixedGuarantee": "heterogeneous",
    "amplify_mixed": "heterogeneous",
    "RandomizedResponse": "mechanisms.binary",
    "ExponentialMetric": "mechanisms.exponential_metric",
    "FiniteRandomizer": "mechanisms.finite",
    "General": "mechanisms.general",
    "VariationRatio": "mechanisms.general",
    "Hadamard": "mechanisms.hadamard",
    "LocalHash": "mechanisms.hashing",
    "HierarchicalGRR": "mechanisms.hierarchy",
    "PCKVGRR": "mechanisms.keyvalue",
    "MetricGeneral": "mechanisms.metric",
    "MetricLaplace": "mechanisms.metric",
    "PlanarLaplace": "mechanisms.metric",
    "BalcerCheu": "mechanisms.multimessage",
    "BalcerCoin": "mechanisms.multimessage",
    "CheuZhilyaev": "mechanisms.multimessage",
    "BallsIntoBins": "mechanisms.multimessage_bins",
    "MixDump": "mechanisms.multimessage_bins",
    "PureDump": "mechanisms.multimessage_bins",
    "Laplace": "mechanisms.numeric",
    "Parallel": "mechanisms.parallel",
    "PrivUnit": "mechanisms.privunit",
    "SamplingRappor": "mechanisms.rappor",
    "mechanism": "mechanisms.registry",
    "GRR": "mechanisms.response",
    "PrivSet": "mechanisms.sets",
    "Subset": "mechanisms.subset",
    "OptimisedUnary": "mechanisms.unary",
    "Unary": "mechanisms.unary",
    "Duchi": "mechanisms.vector",
    "Harmony": "mechanisms.vector",
    "Wheel": "mechanisms.wheel",
    "Check": "programme.result",
    "check": "programme.checking",
    "Sweep": "sweeping",
    "sweep": "sweeping",
}

__all__ = [
    "GRR",
    "PCKVGRR",
    "Accountant",
    "Audit",
    "BalcerCheu",
    "BalcerCoin",
    "BallsIntoBins",
    "BatchTable",
    "BoundNotApplicableError",
    "Certificate",
    "CertificationError",
    "Check",
    "CheuZhilyaev",
    "Comparison",
    "ComposedGuarantee",
    "Duchi",
    "Estimate",
    "ExponentialMetric",
    "FiniteRandomizer",
    "General",
    "Guarantee",
    "Hadamard",
    "Harmony",
    "HierarchicalGRR",
    "ImpossibleError",
    "Laplace",
    "LedgerEntry",
    "LocalHash",
    "MetricGeneral",
    "MetricLaplace",
    "MixDump",
    "MixedGuarantee",
    "OptimisedUnary",
    "Parallel",
    "ParameterError",
    "PlanarLaplace",
    "PrivSet",
    "PrivUnit",
    "PureDump",
    "RandomizedResponse",
    "Round",
    "SamplingRappor",
    "ShuffleDPError",
    "Subset",
    "Sweep",
    "Unary",
    "VariationRatio",
    "VerificationError",
    "Wheel",
    "amplify",
    "amplify_mixed",
    "audit",
    "batch_table",
    "calibrate",
    "check",
    "compare",
    "delta_needed",
    "mechanism",
    "profile",
    "sweep",
    "users_needed",
    "verify",
]

if TYPE_CHECKING:
    from .accountant import Accountant
    from .amplification import amplify, profile
    from .auditing.result import Audit
    from .auditing.run import audit
    from .batches import BatchTable, batch_table
    from .calibration.questions import calibrate, delta_needed, users_needed
    from .certificate import Certificate, verify
    from .comparison import Comparison, compare
    from .composed import ComposedGuarantee
    from .core.round import Round
    from .errors import (
        BoundNotApplicableError,
        CertificationError,
        ImpossibleError,
        ParameterError,
        ShuffleDPError,
        VerificationError,
    )
    from .estimate import Estimate
    from .guarantee import Guarantee
    from .heterogeneous import MixedGuarantee, amplify_mixed
    from .ledger import LedgerEntry
    from .mechanisms.binary import RandomizedResponse
    from .mechanisms.exponential_metric import ExponentialMetric
    from .mechanisms.finite import FiniteRandomizer
    from .mechanisms.general import General, VariationRatio
    from .mechanisms.hadamard import Hadamard
    from .mechanisms.hashing import LocalHash
    from .mechanisms.hierarchy import HierarchicalGRR
    from .mechanisms.keyvalue import PCKVGRR
    from .mechanisms.metric import MetricGeneral, MetricLaplace, PlanarLaplace
    from .mechanisms.multimessage import BalcerCheu, BalcerCoin, CheuZhilyaev
    from .mechanisms.multimessage_bins import BallsIntoBins, MixDump, PureDump
    from .mechanisms.numeric import Laplace
    from .mechanisms.parallel import Parallel
    from .mechanisms.privunit import PrivUnit
    from .mechanisms.rappor import SamplingRappor
    from .mechanisms.registry import mechanism
    from .mechanisms.response import GRR
    from .mechanisms.sets import PrivSet
    from .mechanisms.subset import Subset
    from .mechanisms.unary import OptimisedUnary, Unary
    from .mechanisms.vector import Duchi, Harmony
    from .mechanisms.wheel import Wheel
    from .programme.checking import check
    from .programme.result import Check
    from .sweeping import Sweep, sweep


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    # without an object, the interpreter does not add a guess of its own to the one here
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_hint(name)}", name=name, obj=None)


def _hint(name: str) -> str:
    """ "; did you mean ...?" by the names of the mechanisms in the literature, and by spelling."""
    if name.startswith("_"):
        return ""
    names = importlib.import_module("._names", __name__)
    purpose = names.meant(name)
    words = [name, *(purpose.mechanisms if purpose else ())]
    found = next(filter(None, (names.resolve(word, __all__) for word in words)), None) or names.near(name, __all__)
    return f"; did you mean {found!r}?" if found else ""


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
