"""Several reports of every user in one batch, by composition.

Let each of n users send k reports into one batch, on values of its own choice, which may coincide.  Suppose that the
batch were shuffled in k parts instead: the first report of every user in the first part, the second ones in the
second, and so on.  Whoever sees the k parts can mix them and has then seen the batch, so that the parts reveal at
least as much.  Each part is a round of n users with one report each, and the randomness of different parts is
independent, so the parts are k rounds over the same users, and their guarantees compose.  Blanket messages are
sent once for all k reports: they are divided among the parts by a public rule that does not look at the values
(``Mechanism.bundled``), and every part counts on its share only.  Counting on all of them in each part would be wrong:
k equal messages move one count by k, which costs as much as k^2 single ones.

No lower bound is claimed: the composition is only an upper bound on what the mixed batch reveals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import BoundNotApplicableError, ParameterError
from .composition import sequential
from .composition.sequential import Kind
from .counts import Count
from .family import Answer, Family, OneByOne
from .pair import FloatArray, Side
from .participation import Split

#: Families with more members than this are sampled at fewer eps.
_FEW = 64
#: Expected clones of a symbol up to which a profile is nearly a polygon.
_FEW_CLONES = 150
#: A profile of one part: log delta at every eps, to a relative accuracy.
Profile = Callable[[FloatArray, float], FloatArray]


def kind_of(
    family: Family, log_delta: Profile, *, n: int, limit: float, once: Callable[[float], float] | None = None
) -> Kind:
    """A profile to be composed, sampled as finely as its family allows; ``limit`` is an eps at which delta is 0."""
    pairs = family.pairs(_FEW)
    clones = [(n - 1) * float(pair.atoms.t.min(initial=np.inf)) for pair in pairs or ()]
    kinked = pairs is not None and all(number < _FEW_CLONES for number in clones)
    return Kind(log_delta, limit, slow=not family.quick, kinked=kinked, once=once)


class Bundle(OneByOne):
    """``reports`` rounds of one family over the same users; ``limit`` is the local guarantee of one report.

    Examples
    --------
    >>> from .family import PairSet
    >>> from .pair import ShuffledPair
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> four = Bundle(coin, reports=4, limit=np.log(3.0))
    >>> [round(f.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 2) for f in (coin, four)]
    [0.17, 0.35]
    """

    def __init__(self, family: Family, *, reports: int, limit: float) -> None:
        self._family, self._reports, self._limit = family, reports, limit

    def _kind(self, n: int, side: Side) -> Kind:
        """One part."""
        if side == "lower":
            raise BoundNotApplicableError(
                "no lower bound is known for several reports per user; ask for the upper side, or for one report."
            )

        def log_delta(eps: FloatArray, tol: float) -> FloatArray:
            value = self._family.log_delta(eps, n=n, tol=tol, side="upper")
            return np.where(eps >= self._limit, -np.inf, np.minimum(value, 0.0))

        return kind_of(self._family, log_delta, n=n, limit=self._limit)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The eps of all parts together."""
        kind = self._kind(n, side)
        if delta < sequential.LEAST_DELTA:
            raise ParameterError(
                f"delta must be at least {sequential.LEAST_DELTA:g} for several reports per user, got {delta!r}; "
                "profiles are not computed below it: use a larger delta."
            )
        return Answer(sequential.epsilon([kind], [self._reports], delta), 1, 1)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta of all parts together, for every eps."""
        kind = self._kind(n, side)
        with np.errstate(divide="ignore"):
            found = [np.log(sequential.delta([kind], [self._reports], float(x))) for x in eps.reshape(-1)]
        return np.array(found).reshape(eps.shape)

    def thinned(self, chance: float) -> Family:
        """Every other user takes part with this probability, with all of its reports or none.

        The parts then share one random number of users, so they are not independent; the number is rounded down.
        """
        return self if chance == 1.0 else Split(self, lambda n: Count(0, ((n - 1, chance),)))
