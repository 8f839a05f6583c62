"""The law of windows: cells near the input are preferred; its accounting is that of generalized randomized response."""

from __future__ import annotations

from typing import Any

from ..._support.exponentials import LOG2, exp
from ...numerics.family import Family
from ..base import Mechanism
from ..categorical.grr import GRR
from ..local_budget import LocalBudget
from ..parameters import Free, whole

#: Most windows side by side; a report of a number has at most two bytes.
MOST_WINDOWS, _MOST_OUTPUTS = 2**12, 2**16
#: Cells of a window unless they are given: with few windows their steps would be coarse.
_CELLS, _MORE_CELLS, _FEW_WINDOWS = 16, 32, 8
#: Most windows that calibration tries: the best number at eps0 = 18.
_MOST_TRIED = 256


def usual_cells(windows: int) -> int:
    """Cells of a window, given the number of windows side by side."""
    return _MORE_CELLS if windows < _FEW_WINDOWS else _CELLS


def likely_windows(eps0: float) -> int:
    """A good number of windows: 0.65 V^(1/3) at V = 2 e^eps0."""
    return int(min(max(round(0.65 * exp(min(eps0 + LOG2, 50.0) / 3.0)), 3), MOST_WINDOWS))


def windows(*, low: int = 3, hint: str = "a window is 1/d of the outputs") -> Any:
    """The parameter d, which calibration chooses unless it is given."""
    return whole(
        low=low,
        high=MOST_WINDOWS,
        hint=hint,
        choose=lambda m: likely_windows(m.eps0),
        free=Free(1.25, limits=lambda m: (3, _MOST_TRIED), near=4.0),
    )


def window_cells() -> Any:
    """The parameter cells."""
    return whole(
        low=1,
        high=lambda m: _MOST_OUTPUTS // m.d,
        hint="it counts the outputs of a window",
        choose=lambda m: usual_cells(m.d),
    )


class WindowLaw(LocalBudget):
    """d windows of b cells side by side are the L = d b outputs; input i prefers the cells i, ..., i + b - 1.

    P_i(j) is proportional to e^eps0 if i <= j < i + b, else to 1: with probability gamma = d/(e^eps0 + d - 1) the
    report is uniform on all cells, else on the window.  There are L - b + 1 inputs.

    *Every upper bound of GRR(eps0, d) holds for it.*  Let s = e^eps0 t be the high and t the low probability of a cell,
    and X = (P0 - E P1)/R on a cell of another user's law R (or of the blanket, R = t), as in docs/proofs.md.

    1. Windows W0, W1 of the victim that do not overlap: X depends on whether a cell is in W0, in W1 or in neither, and
       on R there.  The law of X is affine in how many cells of the other's window lie in W0 and in W1, two numbers
       whose hull has the corners (0, 0), (b, 0), (0, b): the three types of GRR, of which it is a mixture.
    2. Windows that overlap: every cell of W0 & W1 gets a partner outside of both (L >= 2b), and both cells are compared
       with one in W0 alone and one in W1 alone.  Where R is r on both, X takes s(1-E)/r and t(1-E)/r, against
       (s-Et)/r and (t-Es)/r: the same mean and a half-width (s-t)|1-E|/2r <= (s-t)(1+E)/2r.  Where R is s on the first
       and t on its partner, X is 1-E on both, a constant, against anything of that mean.  Where R is t on the first and
       s on its partner, X takes s(1-E)/t and t(1-E)/s; for E < 1 they lie between (t-Es)/s and (s-Et)/t (first cell
       in W0 alone), for E >= 1 between (t-Es)/t and (s-Et)/s (first cell in W1 alone).  Each is a mean-preserving
       spread; in the swap bound the law of every slot is known, so the choice may depend on it.

    So every divergence is at most that of non-overlapping windows, hence that of GRR's pair and types, at every E: by
    the blanket and by the swap bound, and in compositions.  Over the blanket (R = t) the spread
    holds for a P0 - b P1 with any a, b >= 0; among types the choice depends on E, so that products of swap pairs are
    not covered (_swap_members).  *Every lower bound of GRR holds too*: on d windows side by side the mechanism is GRR,
    whose report is then replaced by a uniform cell of its window.
    """

    _lists_every_type = True

    d: int
    cells: int

    @property
    def _outputs(self) -> int:
        """L = d b."""
        return self.d * self.cells

    @property
    def _response(self) -> GRR:
        return GRR(eps0=self.eps0, d=self.d)

    @property
    def _uniform(self) -> float:
        """gamma."""
        return self.d * self._response.stray

    @property
    def beta(self) -> float:
        """(e-1)/(e+d-1): of windows that do not overlap."""
        return self._response.beta

    def _blanket(self) -> Family:
        return self._response.law.blanket()

    def _constant_datasets(self) -> Family:
        return self._response.law.constant_datasets()

    def _swap_members(self, most: int) -> None:
        """None: which pair dominates an overlap depends on E."""
        return None

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """That of GRR: the blankets are uniform on the same outputs."""
        if isinstance(victim, WindowLaw) and (victim.d, victim.codec) == (self.d, self.codec):
            return self._response._blanket_ratio(victim._response)
        return super()._blanket_ratio(victim)
