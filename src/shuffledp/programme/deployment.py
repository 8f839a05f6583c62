"""A deployment that sends indices among Poisson numbers of fabricated ones: what its parameters guarantee.

The file holds the parameters of one report in the terms of Android's AdServices telemetry (Cobalt); docs/deployment.md
says what its source states and what is inferred.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._support import validation as valid
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.reading import DEPLOYMENT, mapping
from .._support.reading.yaml_text import read_plain
from .._support.text import visible
from ..accounting.amplification import amplify
from ..accounting.guarantee import Guarantee
from ..calibration.questions import calibrate
from ..errors import ImpossibleError
from ..mechanisms.registry import find
from .values import below_written, whole_number

FIELDS = ("epsilon", "delta", "reporting_threshold", "poisson_mean", "indices", "max_index")
#: The mechanism of these deployments.
_WORD = "poisson-histogram"
#: Relative accuracy of eps, and of what the smallest mean reaches.
_TOL = 1e-5


@dataclass(frozen=True)
class Deployment:
    """What the parameters of a deployment guarantee, and the smallest mean with which they would meet their target.

    Attributes
    ----------
    met : the guarantee is at most the target; str() is the statement
    guarantee : of as many distinct contributors as the reporting threshold
    target_epsilon, delta : what the file claims
    reporting_threshold, poisson_mean, indices, max_index : as in the file
    smallest_mean : the smallest poisson_mean that meets the target, checked; None if none does
    """

    met: bool
    guarantee: Guarantee
    target_epsilon: float
    delta: float
    reporting_threshold: int
    poisson_mean: float
    indices: int
    max_index: int
    smallest_mean: float | None

    def __str__(self) -> str:
        """A statement that can be pasted into a privacy review; every number is rounded to the safe side."""
        target = f"({round_down(self.target_epsilon, 12)}, {round_down(self.delta, 12)})"
        lines = [
            "TARGET MET" if self.met else "TARGET NOT MET",
            f"Target: {target}-DP for batches of {self.reporting_threshold:,} distinct contributors or more, each with "
            f"up to {self.indices:,} different indices in 0..{self.max_index:,}.",
            str(self.guarantee),
        ]
        if self.smallest_mean is None:
            lines.append("No poisson_mean meets the target: raise the threshold, epsilon or delta.")
        else:
            held = round_down(self.poisson_mean, 12)
            least = round_up(self.smallest_mean, 6)
            lines.append(f"The smallest poisson_mean that meets the target is {least}; the file has {held}.")
        lines.append(f"Trusted: {self.guarantee.trust}; nothing is released below the threshold.")
        return "\n".join(map(visible, lines))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        numbers = {key: value for key, value in vars(self).items() if key != "guarantee"}
        return {**json_object(numbers), "guarantee": self.guarantee.to_dict(), "statement": str(self)}


def deployment(source: str | os.PathLike[str] | dict[str, Any]) -> Deployment:
    """What a deployment file (YAML or JSON), or a dictionary with its fields, guarantees.

    The fields are ``epsilon`` and ``delta`` (the target), ``reporting_threshold`` (distinct contributors before a batch
    is released), ``poisson_mean`` (fabricated observations per index and device), ``indices`` (the most different
    indices of one device) and ``max_index`` (indices are 0, ..., max_index); all of them must be given.

    Examples
    --------
    >>> found = deployment({"epsilon": 1, "delta": "1e-10", "reporting_threshold": 1_000_000,
    ...                     "poisson_mean": "0.00124512", "indices": 18, "max_index": 65535})
    >>> found.met, round(found.guarantee.epsilon, 4), round(found.smallest_mean, 7)
    (True, 0.9982, 0.0012407)
    """
    data = source if isinstance(source, dict) else read_plain(source, DEPLOYMENT)
    given = mapping("the deployment", data, needed=FIELDS)
    epsilon, shown_epsilon = below_written("epsilon", given["epsilon"])
    valid.inside("epsilon", epsilon, hint="it is the eps that the deployment claims")
    delta, shown_delta = below_written("delta", given["delta"])
    valid.probability_delta(delta)
    n = valid.users(given["reporting_threshold"], "reporting_threshold")
    mean, shown_mean = below_written("poisson_mean", given["poisson_mean"])
    valid.in_range("poisson_mean", mean, low=0.0, high=1e9, hint="it is a mean per index and device")
    hint = "indices are numbered 0, ..., max_index"
    top = valid.whole("max_index", whole_number("max_index", given["max_index"]), low=1, high=2**32 - 1, hint=hint)
    hint = "it is the most different indices of one device, of max_index + 1"
    most = min(top + 1, 10**6)
    indices = valid.whole("indices", whole_number("indices", given["indices"]), low=1, high=most, hint=hint)
    cls: Any = find(_WORD)
    held = cls(d=top + 1, poisson_per_index=mean, indices=indices)
    found = amplify(held, n=n, delta=delta, tol=_TOL)
    smallest = None
    with suppress(ImpossibleError):
        smallest = float(vars(calibrate(held, n=n, epsilon=epsilon, delta=delta, tol=_TOL))["poisson_per_index"])
    met = found.epsilon <= epsilon
    return Deployment(met, found, shown_epsilon, shown_delta, n, shown_mean, indices, top, smallest)
