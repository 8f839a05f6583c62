"""shuffledp: how private is a shuffled data collection?  Soundly, and mostly in milliseconds.

Public names are resolved on first use, so that ``import shuffledp`` loads neither numpy nor scipy.
"""

from __future__ import annotations

import importlib
from typing import Any

from .mechanisms.catalog import CATALOG

__version__ = "0.1.0"

#: Module -> its public names.  All else is made from this table and the catalog of mechanisms: ``__all__``, lazy
#: loading, the reference, and what type checkers read (``__init__.pyi``, written by make tables).
_PUBLIC = {
    "_support.numbers": "round_down round_up",
    "accounting.amplification": "amplify profile",
    "accounting.batches": "BatchTable batch_table",
    "accounting.certificate": "Certificate verify",
    "accounting.comparison": "Comparison compare",
    "accounting.guarantee": "Guarantee",
    "accounting.guarantees": "Guarantees",
    "accounting.mixed": "MixedGuarantee amplify_mixed",
    "accounting.study": "Study",
    "accounting.sweeping": "sweep",
    "accounting.sweeps": "Sweep",
    "accounting.tradeoffs": "TradeOff tradeoff",
    "accounting.two_sides": "PrivacyProfile RenyiCurve renyi",
    "auditing.result": "Audit",
    "auditing.run": "audit",
    "bounds.base": "Bound",
    "bounds.registry": "register_bound",
    "calibration.questions": "calibrate delta_needed users_needed",
    "composing.accountant": "Accountant",
    "composing.composed_guarantee": "ComposedGuarantee",
    "composing.ledger": "LedgerEntry",
    "errors": "BoundNotApplicableError CertificationError ExtensionError ImpossibleError NotSentError ParameterError "
    "ShuffleDPError VerificationError",
    "estimation.estimate": "Estimate",
    "mechanisms.base": "Mechanism",
    "mechanisms.frequency": "FrequencyOracle",
    "mechanisms.randomizer": "Randomizer",
    "mechanisms.registry": "mechanism register",
    "mechanisms.reports": "Reports Tally",
    "numerics.pair": "ShuffledPair",
    "planning.candidates": "Choice",
    "planning.recommendation": "Recommendation",
    "planning.recommending": "recommend",
    "programme.calibrated": "CalibratedProgramme",
    "programme.calibrating": "calibrate_programme",
    "programme.checking": "check",
    "programme.result": "Check",
    "programme.shipped": "CheckedPlans",
    "protocol.batch": "Batch",
    "protocol.client": "Client",
    "protocol.collector": "Collector",
    "protocol.plan": "Plan",
    "protocol.shuffler": "Shuffler",
    "shuffler.sender": "Sender",
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}
_HOME |= {name: f"mechanisms.{module}" for module, name in CATALOG.values()}
_MODULES = ("extend", "queries")
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
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
    found = names.resolve(name, __all__) or names.near(name, __all__)
    return f"; did you mean {found!r}?" if found else ""


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
