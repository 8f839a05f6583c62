"""The figure of an accountant: what the rounds cost together, round after round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from .._support import validation as check
from .._support.canvas import Placing, canvas
from .._support.delta_rules import read
from .._support.figures import CURVE, at_delta
from .._support.numbers import round_down
from .._support.ticks import round_numbers, ticks_at
from ..errors import ParameterError
from .composed_guarantee import rounds_in_words

if TYPE_CHECKING:
    from .._support.canvas import Figure
    from .accountant import Accountant

#: Points of the curve, at most.
_POINTS = 20


def draw_accountant(
    accountant: Accountant, *, delta: float | str, epsilon: float | None = None, **where: Unpack[Placing]
) -> Figure:
    """eps at delta after every round (of many, after round numbers of them and the last), and the budget ``epsilon``.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=4)
    >>> figure = draw_accountant(acc, delta=1e-6, epsilon=0.2)
    >>> figure.axes[0].lines[0].get_xdata().tolist()
    [1, 2, 3, 4]
    """
    if not accountant.rounds:
        raise ParameterError("accountant must hold a round to draw, got none; compose some first.")
    budget = None if epsilon is None else check.inside("epsilon", epsilon)
    at = read(delta).at_largest([entry.n for entry in accountant.entries])
    rounds = np.array(round_numbers(accountant.rounds, _POINTS))
    eps = np.ma.masked_invalid([accountant.first(int(k)).epsilon(delta=at) for k in rounds])
    title = f"ε of {rounds_in_words(accountant.rounds)} over the same users {at_delta(at)}, {accountant.neighbors}"
    with canvas(title, height=(3.0, 3.2), **where) as page:
        axes = page.axes
        axes.plot(rounds, eps, **CURVE, label="ε of the rounds so far")
        if budget is not None:
            axes.axhline(budget, color="#D55E00", linestyle=(0, (5, 1.5)), label=f"budget ε = {round_down(budget)}")
        axes.set_ylim(bottom=0.0)
        axes.set_xlim(left=0.0)
        ticks_at(axes, rounds.tolist(), page.width)
        page.explain("rounds composed", "central ε (smaller is better)")
    return page.figure
