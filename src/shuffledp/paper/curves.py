"""Curves: eps of a bound along an axis, a gap where the bound does not apply."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
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
    return best_epsilons(names, [mechanism], n=[n], delta=delta, tol=tol)[0]


def best_epsilons(
    names: Iterable[str], mechanisms: Sequence[Mechanism | None], *, n: Sequence[int], delta: float, tol: float = TOL
) -> list[float | None]:
    """:func:`best_epsilon` of several mechanisms, each with its n, asked together; None where there is none."""
    names, rows = (
        list(names),
        [(None if m is None else Subject(m), Crowd(k)) for m, k in zip(mechanisms, n, strict=True)],
    )
    asked = [resolve(subject, name, crowd) for subject, crowd in rows if subject is not None for name in names]
    found = iter(attempts(asked, delta=[delta] * len(asked), tol=tol))
    out: list[float | None] = []
    for subject, _ in rows:
        finite = []
        for answer in itertools.islice(found, 0 if subject is None else len(names)):
            if isinstance(answer, Answer):
                if math.isfinite(answer.epsilon):
                    finite.append(answer.epsilon)
            elif not isinstance(answer, BoundNotApplicableError):
                raise answer
        out.append(min(finite, default=None))
    return out


def curves(
    series: Iterable[Series], mechanisms: Sequence[Mechanism | None], *, n: int | Sequence[int], delta: float
) -> dict[str, Any]:
    """Curves for results.json: a name, and an eps (or None) for the mechanism at every point of the axis."""
    users = [n] * len(mechanisms) if isinstance(n, int) else n
    return {s.key: s.drawn(best_epsilons(s.bounds, mechanisms, n=users, delta=delta)) for s in series}


def spaced(low: float, high: float, count: int) -> list[float]:
    """``count`` evenly spaced numbers from low to high, rounded to 12 digits so that they read well.

    Examples
    --------
    >>> spaced(0.1, 5.0, 3)
    [0.1, 2.55, 5.0]
    """
    return [float(f"{low + (high - low) * i / (count - 1):.12g}") for i in range(count)]
