"""Curves: eps of a bound along an axis, a gap where the bound does not apply."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..accounting.crowd import Crowd
from ..accounting.many import attempts
from ..accounting.resolve import Subject, resolve
from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..numerics.family import Answer

#: Relative accuracy of every eps in the figures; a hundredth of the thickness of a line.
TOL = 1e-4


class Series(NamedTuple):
    """What a curve is called in results.json and in the legend, and the bounds of which it is the best."""

    key: str
    label: str
    bounds: tuple[str, ...]

    def drawn(self, epsilon: list[float | None]) -> dict[str, Any]:
        """The curve as it is stored."""
        return {"label": self.label, "bounds": list(self.bounds), "epsilon": epsilon}


#: The same names, and in draw.py the same lines, in all figures.
PUBLISHED = Series("published", "variation-ratio, as printed (no bound)", ("variation-ratio-published",))
REPAIRED = Series("repaired", "variation-ratio, repaired", ("variation-ratio",))
BLANKET = Series("blanket", "exact blanket", ("blanket",))
SWAP = Series("swap", "swap bound (later than the paper)", ("swap",))
TWO_COUNTS = Series("two-counts", "lower bound: two counts (Theorem 5.1)", ("variation-ratio-lower",))
DATASET = Series("dataset", "lower bound: best constant dataset", ("constant-dataset-lower",))
CORE = (PUBLISHED, REPAIRED, BLANKET, TWO_COUNTS, DATASET)


def best_epsilon(names: Iterable[str], mechanism: Mechanism, *, n: int, delta: float, tol: float = TOL) -> float | None:
    """The smallest eps that one of these bounds gives; None where none applies or none is finite.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> best_epsilon(["general", "local"], sdp.GRR(eps0=1.0, d=4), n=1, delta=1e-6)
    1.0
    """
    return best_epsilons(names, [mechanism], n=n, delta=delta, tol=tol)[0]


def best_epsilons(
    names: Iterable[str], mechanisms: Sequence[Mechanism], *, n: int, delta: float, tol: float = TOL
) -> list[float | None]:
    """:func:`best_epsilon` of several mechanisms, which are asked together."""
    names, subjects = list(names), [Subject(mechanism) for mechanism in mechanisms]
    asked = [resolve(subject, name, Crowd(n)) for subject in subjects for name in names]
    found = iter(attempts(asked, delta=[delta] * len(asked), tol=tol))
    out: list[float | None] = []
    for _ in subjects:
        finite = []
        for answer in itertools.islice(found, len(names)):
            if isinstance(answer, Answer):
                if math.isfinite(answer.epsilon):
                    finite.append(answer.epsilon)
            elif not isinstance(answer, BoundNotApplicableError):
                raise answer
        out.append(min(finite, default=None))
    return out


def curve(
    series: Series, points: Sequence[float], make: Callable[[float], Mechanism], *, n: int, delta: float
) -> dict[str, Any]:
    """One curve for results.json: its name and an eps (or None) for every point of the axis."""
    return series.drawn(best_epsilons(series.bounds, [make(x) for x in points], n=n, delta=delta))


def spaced(low: float, high: float, count: int) -> list[float]:
    """``count`` evenly spaced numbers from low to high, rounded to 12 digits so that they read well.

    Examples
    --------
    >>> spaced(0.1, 5.0, 3)
    [0.1, 2.55, 5.0]
    """
    return [float(f"{low + (high - low) * i / (count - 1):.12g}") for i in range(count)]
