"""The k-subset mechanism: report k of the options, more likely a set that contains yours."""

from __future__ import annotations

from dataclasses import dataclass

from ...randomness.sampling import Array, Source
from ..parameters import Free, whole
from ..sets.reported_sets import SetRandomizer, best_k


@dataclass(frozen=True, kw_only=True)
class Subset(SetRandomizer):
    """The k-subset mechanism: report k of the d options (Wang et al., 2016; Ye and Barg, ISIT 2017).

    With e = e^eps0 the report y is a k-subset of [d], e times likelier if it contains the true value: the value is
    included with probability a = ke/(ke+d-k), the other members are uniform without replacement, so another option
    is included with probability b = k(e(k-1)+d-k)/((d-1)(ke+d-k)).

    Parameters
    ----------
    eps0, d : local budget and number of options, as in :class:`~shuffledp.FrequencyOracle`
    k : int in [1, d-1], optional
        Size of a report; by default the one with the smallest mean variance, next to d/(e+1).  k = 1 is GRR.

    Notes
    -----
    Parameters (paper, Table 2): p = q = e, beta = (e-1)k(d-k)/((d-1)(ke+d-k)).  The blanket is the weight of "not
    contained" on every y, since every y misses some option.  All ordered pairs are alike under permutations of the
    options, so one shuffled pair gives the maximum: symbols {y contains x0?} x {y contains x1?}.  The lower bound
    lets the others hold a third value (d >= 3), x0 or x1.  Reports: see :class:`SetRandomizer`.

    Examples
    --------
    >>> Subset(eps0=1.0, d=8).k, Subset(eps0=1.0, d=8).variation_ratio().beta.__round__(4)
    (2, 0.2576)
    """

    name = "subset"
    held = 1
    _in_words = "the k-subset mechanism reporting {k:,} of {d:,} options with eps0 = {eps0}"

    k: int = whole(
        low=1,
        high=lambda m: m.d - 1,
        hint="k of the d options are reported",
        choose=lambda m: best_k(m.eps0, m.d, 1),
        free=Free(2.0, lambda m: 1.0 / m.d),  # the mean error over the options
    )

    @property
    def domain(self) -> int:
        """d."""
        return self.d

    @property
    def _both(self) -> tuple[float, float]:
        """Given whether y contains the option held, its other members are uniform among the other options."""
        k, others = self.k, self.d - 1
        one = self.keep * (k - 1) / others
        pairs = max(others * (others - 1), 1)
        return one, (k - 1) * (self.keep * (k - 2) + self._lost * k) / pairs

    def _randomize(self, values: Array, src: Source) -> Array:
        return self._report(values[None, :], src)
