"""Binary randomized response: GRR on two options, under the name by which it is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...randomness.sampling import Array
from .grr import GRR


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(GRR):
    """Randomized response to a yes/no question (Warner, JASA 1965), with its exact central guarantee.

    The report is the true bit with probability a = e^eps0/(e^eps0 + 1), else the other one: the mechanism
    ``grr:eps0,d=2``.  The blanket counts only the reports that do not depend on their values; the others hide the
    victim too.  Bound ``binary`` goes through every dataset: every number of others who hold 1.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.

    Notes
    -----
    p = q = e^eps0, beta = tanh(eps0/2).  To leading order in n the blanket's eps is sqrt(2a) times the truth.  What is
    proved, and for which n, is in numerics/binary.py; for more users the swap bound is about equal to the truth.  A
    certificate proves the swap bound.  The estimate holds the frequencies of 0 and of 1.

    Examples
    --------
    >>> import numpy as np
    >>> import shuffledp as sdp
    >>> m = RandomizedResponse(eps0=2.0)
    >>> exact = sdp.amplify(m, n=1000, delta=1e-6).epsilon
    >>> blanket = sdp.amplify(GRR(eps0=2.0, d=2), n=1000, delta=1e-6, bound="blanket").epsilon
    >>> round(exact, 2), round(blanket, 2)
    (0.32, 0.4)
    >>> est = m.estimate(m.privatize(np.array([0, 1, 1, 1] * 1000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[1] - 0.75) < 5 * est.stderr[1])
    True
    """

    name = "randomized-response"
    _in_words = "binary randomized response with eps0 = {eps0}"
    serves = ("bits",)

    d: int = field(default=2, init=False, repr=False)

    def _check(self, values: Array) -> Array:
        return super()._check(values.astype(np.uint8) if values.dtype == np.bool_ else values)
