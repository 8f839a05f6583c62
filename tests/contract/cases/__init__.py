"""Small instances of every registered mechanism, for the contract suite; one module per family."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A mechanism with small parameters, and data of which the right answer is known.

    ``data(n)`` returns the values of n users and the vector that the estimate should be unbiased for.
    ``exact_ratio``: the class states (p, beta, q) exactly (else only safely, never below brute force).
    ``enumerable``: inputs() and probabilities() exist and are small.
    ``same_law``: blanket and constant datasets agree with FiniteRandomizer(probabilities()) (single-message, finite).
    """

    mechanism: Any
    data: Callable[[int], tuple[Any, Any]]
    exact_ratio: bool = True
    enumerable: bool = True
    same_law: bool = True
    note: str = field(default="", compare=False)

    def __str__(self) -> str:
        return str(self.mechanism.spec)


def frequencies(d: int) -> Callable[[int], tuple[Any, Any]]:
    """Users holding 0..d-1 with frequencies proportional to 1, 2, ..., d."""

    def data(n: int) -> tuple[Any, Any]:
        weights = np.arange(1, d + 1) / (d * (d + 1) / 2)
        values = np.repeat(np.arange(d), np.floor(weights * n).astype(int))
        values = np.concatenate([values, np.full(n - len(values), d - 1)])
        return values, np.bincount(values, minlength=d) / n

    return data


def all_cases() -> list[Case]:
    found: list[Case] = []
    for module in pkgutil.iter_modules(__path__):
        found.extend(importlib.import_module(f"{__name__}.{module.name}").CASES)
    return found
