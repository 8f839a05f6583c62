"""Spec strings: "name:key=value,..." makes a mechanism, the same in Python, on the command line and in files."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator

from .._support import names as _names
from .._support import validation as check
from .._support.by_name import by_name
from .._support.validation import shown
from ..errors import ParameterError
from .base import Mechanism

#: The word of the spec -> module and class; a module is imported when its word is used.
CATALOGUE: dict[str, tuple[str, str]] = {
    # what is known, not how it is made
    "general": ("known.general", "General"),
    "variation-ratio": ("known.variation_ratio", "VariationRatio"),
    "finite": ("known.finite", "FiniteRandomizer"),
    # Table 2: eps0-LDP randomizers
    "laplace": ("numeric.laplace", "Laplace"),
    "privunit": ("numeric.privunit", "PrivUnit"),
    "grr": ("categorical.grr", "GRR"),
    "randomized-response": ("categorical.randomized_response", "RandomizedResponse"),
    "unary": ("categorical.unary", "Unary"),
    "optimised-unary": ("categorical.optimised_unary", "OptimisedUnary"),
    "subset": ("categorical.subset", "Subset"),
    "local-hash": ("categorical.local_hash", "LocalHash"),
    "hadamard": ("categorical.hadamard", "Hadamard"),
    "sampling-rappor": ("sets.sampling_rappor", "SamplingRappor"),
    "wheel": ("sets.wheel", "Wheel"),
    "duchi": ("numeric.duchi", "Duchi"),
    "harmony": ("numeric.harmony", "Harmony"),
    "privset": ("sets.privset", "PrivSet"),
    "pckv-grr": ("sets.pckv_grr", "PCKVGRR"),
    "hierarchical-grr": ("composite.hierarchical_grr", "HierarchicalGRR"),
    "parallel": ("composite.parallel", "Parallel"),
    # Table 3: metric privacy
    "metric-general": ("metric.general", "MetricGeneral"),
    "metric-laplace": ("metric.laplace", "MetricLaplace"),
    "planar-laplace": ("metric.planar_laplace", "PlanarLaplace"),
    "exponential-metric": ("metric.exponential", "ExponentialMetric"),
    # Table 4: multi-message protocols
    "balcer-cheu": ("multimessage.balcer_cheu", "BalcerCheu"),
    "balcer-coin": ("multimessage.balcer_coin", "BalcerCoin"),
    "cheu-zhilyaev": ("multimessage.cheu_zhilyaev", "CheuZhilyaev"),
    "balls-into-bins": ("multimessage.balls_into_bins", "BallsIntoBins"),
    "pure-dump": ("multimessage.pure_dump", "PureDump"),
    "mix-dump": ("multimessage.mix_dump", "MixDump"),
}
#: Words whose parameter is a file (class method ``from_file``), after these numeric parameters.
FROM_FILE: dict[str, tuple[str, ...]] = {"finite": (), "parallel": (), "exponential-metric": ("eps",)}


def names() -> list[str]:
    """Every word that may start a spec."""
    return sorted(CATALOGUE)


def find(name: str) -> type[Mechanism]:
    """The class behind the word of a spec."""
    module, cls = CATALOGUE[word_of(name)]
    found: type[Mechanism] = getattr(importlib.import_module(f".{module}", __package__), cls)
    return found


def word_of(name: str) -> str:
    """The word of the catalogue for a name in any case, with any hyphens, or for an alias; unknown ones are refused.

    Examples
    --------
    >>> word_of("kRR"), word_of("Local_Hash")
    ('grr', 'local-hash')
    """
    word = _names.resolve(name, CATALOGUE)
    if word is None:
        hint = _names.advice(name, CATALOGUE) or f"'shuffledp mechanisms' lists all {len(CATALOGUE)}."
        raise ParameterError(f"unknown mechanism {name!r}; {hint}")
    return word


def canonical(spec: str) -> str:
    """The spec with the word of the catalogue in front; its parameters are left as they are.

    Examples
    --------
    >>> canonical("OLH: eps0=1,d=9")
    'local-hash: eps0=1,d=9'
    """
    name, colon, rest = spec.partition(":")
    return f"{word_of(name.strip())}{colon}{rest}"


def signatures() -> Iterator[tuple[str, str]]:
    """(name, parameters) of every spec, optional ones in brackets, for help texts and docs."""
    for name in names():
        if name in FROM_FILE:
            yield name, ",".join([*FROM_FILE[name], "file"])
            continue
        needed, optional = _parameters(find(name))
        yield name, (",".join(needed) + "".join(f"[,{x}]" for x in optional)).replace("[,", "[", not needed)


@by_name
def mechanism(spec: str) -> Mechanism:
    """The mechanism named by a spec string.

    Values may be given by name or, in the order of the parameters, without one.  Case and hyphens of the name do not
    matter, and names of the literature are known: krr, oue, sue, rappor, olh, hr, ss.

    Examples
    --------
    >>> mechanism("general:eps0=1")
    General(eps0=1.0)
    >>> mechanism("variation-ratio:3,0.4,3").spec
    'variation-ratio:p=3,beta=0.4,q=3'
    >>> mechanism("kRR:eps0=1,d=4")
    GRR(eps0=1.0, d=4)
    """
    if not isinstance(spec, str):
        raise ParameterError(
            f"spec must be a string like 'general:eps0=1', got {shown(spec)}; write name:key=value,..."
        )
    name, _, rest = spec.partition(":")
    name = word_of(name.strip())
    cls = find(name)
    if name in FROM_FILE:
        return _from_file(name, cls, rest)
    needed, optional = _parameters(cls)
    return cls(**_values(name, rest, needed, optional))


def _from_file(name: str, cls: type[Mechanism], text: str) -> Mechanism:
    """The last parameter is a path and may hold any character; numbers come before it."""
    numeric = list(FROM_FILE[name])
    parts = text.split(",", len(numeric))
    path = parts[-1].strip().removeprefix("file=") if len(parts) > len(numeric) else ""
    if not path:
        usage = ",".join([*(f"{x}=VALUE" for x in numeric), "matrix.csv"])
        raise ParameterError(
            f"{name} needs {', '.join([*numeric, 'a file'])}, got {shown(text)}; write {name}:{usage}."
        )
    values = _values(name, ",".join(parts[:-1]), numeric, [])
    made: Mechanism = cls.from_file(path, **values)  # type: ignore[attr-defined]
    return made


def _parameters(cls: type[Mechanism]) -> tuple[list[str], list[str]]:
    fields = [f for f in dataclasses.fields(cls) if f.init]  # type: ignore[arg-type]
    needed = [f.name for f in fields if f.default is dataclasses.MISSING]
    return needed, [f.name for f in fields if f.default is not dataclasses.MISSING]


def _values(name: str, text: str, needed: list[str], optional: list[str]) -> dict[str, float]:
    """Parse "a=1,b=2" or "1,2"; unknown, repeated and missing parameters are refused."""
    fields = [*needed, *optional]
    values: dict[str, float] = {}
    usage = f"write {name}:" + ",".join(f"{f}=VALUE" for f in needed)
    for position, part in enumerate(p for p in text.split(",") if p.strip()):
        key, equals, value = (x.strip() for x in part.partition("="))
        if not equals:
            if list(values) != fields[:position]:
                raise ParameterError(
                    f"{name} takes values without a name first, got {shown(key)} after a named one; {usage}."
                )
            if position >= len(fields):
                raise ParameterError(f"{name} takes {', '.join(fields)}, got the extra value {shown(key)}; {usage}.")
            key, value = fields[position], key
        elif key not in fields:
            raise ParameterError(f"{name} has no parameter {shown(key)}, it takes {', '.join(fields)}; {usage}.")
        if key in values:
            raise ParameterError(f"{key} must be given once, got it twice in {shown(f'{name}:{text}')}; {usage}.")
        values[key] = check.parse_number(key, value)
    missing = [f for f in needed if f not in values]
    if missing:
        raise ParameterError(f"{name} needs {', '.join(missing)}, got {shown(text) if text else 'nothing'}; {usage}.")
    return values
