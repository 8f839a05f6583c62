"""Programs and laws on a machine whose C library, numpy and scipy are a few units in the last place off.

python -m house.perturbed FACTOR < asked.json

reads {"plans": {name: plan}, "specs": [mechanism]} and writes the program or law of each.  Sums are off too: their
order is that of the processor.  What is not off are the four operations, square roots, math.fsum and whole numbers.
"""

from __future__ import annotations

import json
import math
import sys
from types import ModuleType
from typing import Any

import numpy as np
import scipy.special

_MATH = (
    "exp expm1 exp2 log log1p log2 log10 pow lgamma gamma erf erfc sin cos tan asin acos atan sinh cosh tanh hypot cbrt"
)
_NUMPY = (
    "exp expm1 exp2 log log1p log2 log10 power float_power sin cos tan sinh cosh tanh hypot logaddexp geomspace "
    "logspace sum mean prod dot vdot inner matmul tensordot convolve einsum average trapezoid"
)


def perturb(module: ModuleType, names: list[str], factor: float) -> None:
    """Functions whose results that are doubles are multiplied by the factor."""
    for name in names:
        if callable(own := getattr(module, name, None)) and not isinstance(own, type):
            setattr(module, name, _off(own, factor))


def _off(own: Any, factor: float) -> Any:
    def found(*args: Any, **kwargs: Any) -> Any:
        value = own(*args, **kwargs)
        return value * factor if isinstance(value, float) or getattr(value, "dtype", None) == np.float64 else value

    return found


def main(factor: float) -> None:
    perturb(math, _MATH.split(), factor)
    perturb(np, _NUMPY.split(), factor)
    perturb(scipy.special, [name for name in dir(scipy.special) if name[0] != "_"], factor)
    from shuffledp.errors import ParameterError
    from shuffledp.mechanisms.randomizer import Randomizer, portable_law
    from shuffledp.mechanisms.registry import mechanism
    from shuffledp.protocol.plan import Plan
    from shuffledp.protocol.portable import portable

    asked = json.load(sys.stdin)
    found = {name: portable(Plan.from_dict(plan, verify=False)) for name, plan in asked["plans"].items()}
    for spec in asked["specs"]:
        try:
            made = mechanism(spec)
            found[spec] = portable_law(made) if isinstance(made, Randomizer) else None
        except ParameterError:  # no client runs it
            found[spec] = None
    json.dump(found, sys.stdout, default=str)


if __name__ == "__main__":
    main(float(sys.argv[1]))
