"""One law of a few atoms in plain floats: the window of counts or one row of the contour, whatever is faster."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..few_atoms import Few, saddle
from ..pair import FloatArray
from . import contour_row
from .contour import LogBracket
from .few_clones import FEW, MOST_ROWS, NOISY, QUICK_ROWS, RARE, FewClones
from .window import Window
from .window_plan import MOST_DRAWS, Plan, Value

#: Windows serve many eps unless a symbol is sent more often than this, or so many eps have too many counts.
_MANY_CLONES, _MOST_FAILED = 1_000.0, 16
#: What one of many rows of the contour costs, over one alone: most of its nodes are computed, not skipped.
_ROW = 3.0
#: Relative accuracy of a window of counts, which costs little more than a coarser one and serves more often.
_FINE = 5e-4


class InFloats:
    """E[(S)_+]/n of a sum of n copies of X, at one E after another.

    ``few_clones`` gives the evaluator that is preferred where only few, rare symbols matter (few_clones.py).

    Examples
    --------
    >>> coin = InFloats(Few(gap=(2.0, -2.0), v=(1.0, 3.0), t=(0.25, 0.25), rest=0.5), 1000, True, lambda: None)
    >>> found = coin.bracket(0.15, 1e-3)
    >>> found is not None and 0.0 < found.upper - found.lower < 2e-3
    True
    """

    def __init__(self, few: Few, n: int, upper: bool, few_clones: Callable[[], FewClones | None]) -> None:
        self._few, self._n, self._upper, self._few_clones = few, n, upper, few_clones
        self._window: Window | None = None
        self._windowed = True
        #: a guess at the saddle point, 0 if there is none
        self.abscissa = 0.0

    @property
    def sharp(self) -> bool:
        """Whether the last E was in a window of few clones: evaluations there are sharp and cost next to nothing."""
        return self._window is not None and (self._n - 1) * min(self._few.t) < FEW

    def bracket(self, growth: float, rtol: float) -> Value | None:
        """log upper, log lower and the slope in E, at E = 1 + growth; None where neither evaluator applies."""
        try:
            found = self._bracket(growth, rtol)
        except (ArithmeticError, ValueError):  # overflow: the evaluators of arrays cope with it
            return None
        return found if found is not None and found.upper == found.upper else None

    def _bracket(self, growth: float, rtol: float) -> Value | None:
        few, n, window = self._few, self._n, self._window
        if window is not None and window.covers(growth, rtol):
            return window.log_bracket(growth)
        x = few.values(growth)
        if max(x) <= 0.0:
            return Value(-math.inf, -math.inf, 0.0)
        at = saddle(x, few.t, float(n), self.abscissa)
        self.abscissa, self._window = at.c, None
        plan = place = None
        if self._windowed:
            plan = Plan.of(few, n, growth, at, min(rtol, _FINE), upper=self._upper)
        if (plan is None or not plan.small) and min(x) > -(n - 1) * max(x):
            place = contour_row.place(x, few.t, at, n, rtol)
        if plan is not None and (place is None or plan.cost <= place.cost(len(x))):
            window = self._window = Window(few, n, plan)
            return window.log_bracket(growth)
        self._windowed = False  # nor will it be at an eps nearby
        if place is None or self._may_enumerate(x):
            return None
        return contour_row.log_bracket(few, x, n, place)

    def _may_enumerate(self, x: list[float]) -> bool:
        """Whether the symbols that few_clones.py would not enumerate may add so little noise that it is used.

        This is a quick estimate of what it decides itself; either evaluator is sound.
        """
        few, n, rows, top = self._few, self._n, 1.0, max(x)
        if (n - 1) * min(few.t) >= FEW:
            return False
        sizes = [max(abs(g + v), v) for g, v in zip(few.gap, few.v, strict=True)]
        noise = n * sum(m * y * y for y, m in zip(x, few.t, strict=True))
        for j in sorted(range(len(x)), key=sizes.__getitem__, reverse=True):
            mean = n * few.t[j]
            rows *= 0.5 * (mean + 12.0 * math.sqrt(mean) + 20.0)
            if mean >= FEW or rows > (MOST_ROWS if few.t[j] <= RARE else QUICK_ROWS):
                break
            noise -= mean * x[j] * x[j]
        return noise <= (2.0 * NOISY * top) ** 2 and self._few_clones() is not None

    def brackets(self, eps: FloatArray, rtol: FloatArray) -> LogBracket | None:
        """The same at many eps, one window after another (slopes in eps); None where all have too many counts.

        No claim is made (inf) where there are too many, and at the eps below some of these.
        """
        few, n = self._few, self._n
        if n > MOST_DRAWS or n * min(few.t) > _MANY_CLONES:
            return None
        out = LogBracket(np.full(eps.size, np.inf), np.full(eps.size, -np.inf), np.zeros(eps.size))
        window: Window | None = None
        abscissa, failed = 0.0, 0
        for i in np.argsort(-eps, kind="stable").tolist():  # downward: windows reach further down than up
            growth, wanted = math.expm1(eps[i]), float(rtol[i])
            x = few.values(growth)
            if max(x) <= 0.0:
                out.upper[i] = -np.inf
                continue
            try:
                if window is None or not window.covers(growth, wanted):
                    at = saddle(x, few.t, float(n), abscissa)
                    abscissa = at.c
                    plan = Plan.of(few, n, growth, at, wanted, upper=self._upper, many=True)
                    place = contour_row.place(x, few.t, at, n, wanted)
                    if plan is None or (place is not None and plan.cost_of_many > _ROW * place.cost(len(x))):
                        failed += 1
                        if failed > _MOST_FAILED:
                            break  # further down they have more counts
                        continue
                    window = Window(few, n, plan).serve_many()
                found = window.log_bracket(growth)
            except (ArithmeticError, ValueError):
                continue
            if found.upper == found.upper:
                out.upper[i], out.lower[i], out.slope[i] = found.upper, found.lower, found.slope * (1.0 + growth)
        return out
