"""shuffledp: how private is a shuffled data collection?  Soundly, and in milliseconds.

Public names are resolved on first use, so that ``import shuffledp`` loads neither numpy nor scipy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Accountant": "composing.accountant",
    "ComposedGuarantee": "composing.composed_guarantee",
    "amplify": "accounting.amplification",
    "profile": "accounting.amplification",
    "Audit": "auditing.result",
    "audit": "auditing.run",
    "calibrate": "calibration.questions",
    "calibrate_programme": "programme.calibrating",
    "CalibratedProgramme": "programme.calibrated",
    "delta_needed": "calibration.questions",
    "users_needed": "calibration.questions",
    "BatchTable": "accounting.batches",
    "batch_table": "accounting.batches",
    "Certificate": "accounting.certificate",
    "verify": "accounting.certificate",
    "Comparison": "accounting.comparison",
    "compare": "accounting.comparison",
    "ShuffledPair": "numerics.pair",
    "BoundNotApplicableError": "errors",
    "CertificationError": "errors",
    "ExtensionError": "errors",
    "ImpossibleError": "errors",
    "ParameterError": "errors",
    "ShuffleDPError": "errors",
    "VerificationError": "errors",
    "Estimate": "estimation.estimate",
    "Guarantee": "accounting.guarantee",
    "Guarantees": "accounting.guarantees",
    "LedgerEntry": "composing.ledger",
    "MixedGuarantee": "accounting.mixed",
    "amplify_mixed": "accounting.mixed",
    "RandomizedResponse": "mechanisms.categorical.randomized_response",
    "ExponentialMetric": "mechanisms.metric.exponential",
    "FiniteRandomizer": "mechanisms.known.finite",
    "General": "mechanisms.known.general",
    "VariationRatio": "mechanisms.known.variation_ratio",
    "Hadamard": "mechanisms.categorical.hadamard",
    "LocalHash": "mechanisms.categorical.local_hash",
    "HierarchicalGRR": "mechanisms.composite.hierarchical_grr",
    "PCKVGRR": "mechanisms.sets.pckv_grr",
    "MetricGeneral": "mechanisms.metric.general",
    "MetricLaplace": "mechanisms.metric.laplace",
    "PlanarCells": "mechanisms.metric.planar_cells",
    "PlanarLaplace": "mechanisms.metric.planar_laplace",
    "BalcerCheu": "mechanisms.multimessage.balcer_cheu",
    "BalcerCoin": "mechanisms.multimessage.balcer_coin",
    "CheuZhilyaev": "mechanisms.multimessage.cheu_zhilyaev",
    "BallsIntoBins": "mechanisms.multimessage.balls_into_bins",
    "MixDump": "mechanisms.multimessage.mix_dump",
    "PoissonHistogram": "mechanisms.multimessage.poisson_histogram",
    "PureDump": "mechanisms.multimessage.pure_dump",
    "Gaussian": "mechanisms.numeric.gaussian",
    "Joint": "mechanisms.composite.joint",
    "Laplace": "mechanisms.numeric.laplace",
    "Parallel": "mechanisms.composite.parallel",
    "PrivUnit": "mechanisms.numeric.privunit",
    "SamplingRappor": "mechanisms.sets.sampling_rappor",
    "mechanism": "mechanisms.registry",
    "register": "mechanisms.registry",
    "Mechanism": "mechanisms.base",
    "Randomizer": "mechanisms.randomizer",
    "FrequencyOracle": "mechanisms.frequency",
    "Reports": "mechanisms.reports",
    "Tally": "mechanisms.reports",
    "Bound": "bounds.base",
    "register_bound": "bounds.registry",
    "GRR": "mechanisms.categorical.grr",
    "PrefixHash": "mechanisms.composite.prefix_hash",
    "PrivSet": "mechanisms.sets.privset",
    "Subset": "mechanisms.categorical.subset",
    "OptimizedUnary": "mechanisms.categorical.optimized_unary",
    "Unary": "mechanisms.categorical.unary",
    "Duchi": "mechanisms.numeric.duchi",
    "Harmony": "mechanisms.numeric.harmony",
    "Wheel": "mechanisms.sets.wheel",
    "Check": "programme.result",
    "check": "programme.checking",
    "Choice": "planning.choice",
    "Recommendation": "planning.recommendation",
    "recommend": "planning.recommending",
    "Plan": "protocol.plan",
    "Client": "protocol.client",
    "Shuffler": "protocol.shuffler",
    "Batch": "protocol.batch",
    "Collector": "protocol.collector",
    "Sweep": "accounting.sweeping",
    "sweep": "accounting.sweeping",
    "round_down": "_support.numbers",
    "round_up": "_support.numbers",
}

__all__ = [
    "GRR",
    "PCKVGRR",
    "Accountant",
    "Audit",
    "BalcerCheu",
    "BalcerCoin",
    "BallsIntoBins",
    "Batch",
    "BatchTable",
    "Bound",
    "BoundNotApplicableError",
    "CalibratedProgramme",
    "Certificate",
    "CertificationError",
    "Check",
    "CheuZhilyaev",
    "Choice",
    "Client",
    "Collector",
    "Comparison",
    "ComposedGuarantee",
    "Duchi",
    "Estimate",
    "ExponentialMetric",
    "ExtensionError",
    "FiniteRandomizer",
    "FrequencyOracle",
    "Gaussian",
    "General",
    "Guarantee",
    "Guarantees",
    "Hadamard",
    "Harmony",
    "HierarchicalGRR",
    "ImpossibleError",
    "Joint",
    "Laplace",
    "LedgerEntry",
    "LocalHash",
    "Mechanism",
    "MetricGeneral",
    "MetricLaplace",
    "MixDump",
    "MixedGuarantee",
    "OptimizedUnary",
    "Parallel",
    "ParameterError",
    "Plan",
    "PlanarCells",
    "PlanarLaplace",
    "PoissonHistogram",
    "PrefixHash",
    "PrivSet",
    "PrivUnit",
    "PureDump",
    "RandomizedResponse",
    "Randomizer",
    "Recommendation",
    "Reports",
    "SamplingRappor",
    "ShuffleDPError",
    "ShuffledPair",
    "Shuffler",
    "Subset",
    "Sweep",
    "Tally",
    "Unary",
    "VariationRatio",
    "VerificationError",
    "Wheel",
    "amplify",
    "amplify_mixed",
    "audit",
    "batch_table",
    "calibrate",
    "calibrate_programme",
    "check",
    "compare",
    "delta_needed",
    "mechanism",
    "profile",
    "recommend",
    "register",
    "register_bound",
    "round_down",
    "round_up",
    "sweep",
    "users_needed",
    "verify",
]

if TYPE_CHECKING:
    from ._support.numbers import round_down, round_up
    from .accounting.amplification import amplify, profile
    from .accounting.batches import BatchTable, batch_table
    from .accounting.certificate import Certificate, verify
    from .accounting.comparison import Comparison, compare
    from .accounting.guarantee import Guarantee
    from .accounting.guarantees import Guarantees
    from .accounting.mixed import MixedGuarantee, amplify_mixed
    from .accounting.sweeping import Sweep, sweep
    from .auditing.result import Audit
    from .auditing.run import audit
    from .bounds.base import Bound
    from .bounds.registry import register_bound
    from .calibration.questions import calibrate, delta_needed, users_needed
    from .composing.accountant import Accountant
    from .composing.composed_guarantee import ComposedGuarantee
    from .composing.ledger import LedgerEntry
    from .errors import (
        BoundNotApplicableError,
        CertificationError,
        ExtensionError,
        ImpossibleError,
        ParameterError,
        ShuffleDPError,
        VerificationError,
    )
    from .estimation.estimate import Estimate
    from .mechanisms.base import Mechanism
    from .mechanisms.categorical.grr import GRR
    from .mechanisms.categorical.hadamard import Hadamard
    from .mechanisms.categorical.local_hash import LocalHash
    from .mechanisms.categorical.optimized_unary import OptimizedUnary
    from .mechanisms.categorical.randomized_response import RandomizedResponse
    from .mechanisms.categorical.subset import Subset
    from .mechanisms.categorical.unary import Unary
    from .mechanisms.composite.hierarchical_grr import HierarchicalGRR
    from .mechanisms.composite.joint import Joint
    from .mechanisms.composite.parallel import Parallel
    from .mechanisms.composite.prefix_hash import PrefixHash
    from .mechanisms.frequency import FrequencyOracle
    from .mechanisms.known.finite import FiniteRandomizer
    from .mechanisms.known.general import General
    from .mechanisms.known.variation_ratio import VariationRatio
    from .mechanisms.metric.exponential import ExponentialMetric
    from .mechanisms.metric.general import MetricGeneral
    from .mechanisms.metric.laplace import MetricLaplace
    from .mechanisms.metric.planar_cells import PlanarCells
    from .mechanisms.metric.planar_laplace import PlanarLaplace
    from .mechanisms.multimessage.balcer_cheu import BalcerCheu
    from .mechanisms.multimessage.balcer_coin import BalcerCoin
    from .mechanisms.multimessage.balls_into_bins import BallsIntoBins
    from .mechanisms.multimessage.cheu_zhilyaev import CheuZhilyaev
    from .mechanisms.multimessage.mix_dump import MixDump
    from .mechanisms.multimessage.poisson_histogram import PoissonHistogram
    from .mechanisms.multimessage.pure_dump import PureDump
    from .mechanisms.numeric.duchi import Duchi
    from .mechanisms.numeric.gaussian import Gaussian
    from .mechanisms.numeric.harmony import Harmony
    from .mechanisms.numeric.laplace import Laplace
    from .mechanisms.numeric.privunit import PrivUnit
    from .mechanisms.randomizer import Randomizer
    from .mechanisms.registry import mechanism, register
    from .mechanisms.reports import Reports, Tally
    from .mechanisms.sets.pckv_grr import PCKVGRR
    from .mechanisms.sets.privset import PrivSet
    from .mechanisms.sets.sampling_rappor import SamplingRappor
    from .mechanisms.sets.wheel import Wheel
    from .numerics.pair import ShuffledPair
    from .planning.choice import Choice
    from .planning.recommendation import Recommendation
    from .planning.recommending import recommend
    from .programme.calibrated import CalibratedProgramme
    from .programme.calibrating import calibrate_programme
    from .programme.checking import check
    from .programme.result import Check
    from .protocol.batch import Batch
    from .protocol.client import Client
    from .protocol.collector import Collector
    from .protocol.plan import Plan
    from .protocol.shuffler import Shuffler

if TYPE_CHECKING:  # a module, not a name of this one
    from . import queries as queries


def __getattr__(name: str) -> Any:
    if name == "queries":
        return importlib.import_module(".queries", __name__)
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
    names = importlib.import_module("._support.names", __name__)
    purpose = names.meant(name)
    words = [name, *(purpose.mechanisms if purpose else ())]
    found = next(filter(None, (names.resolve(word, __all__) for word in words)), None) or names.near(name, __all__)
    return f"; did you mean {found!r}?" if found else ""


def __dir__() -> list[str]:
    return sorted({*__all__, "queries", *(name for name in globals() if name.startswith("__"))})
