"""Trade-off functions: the least error of the second kind, beta, that a test of level alpha can have.

For a pair of laws T(Q, P)(alpha) is the least 1 - E_P[test] over all tests with E_Q[test] <= alpha.  For every E >= 0

    E_P[test] <= E E_Q[test] + D_E(P || Q),   so   T(Q, P)(alpha) >= 1 - D_E(P || Q) - E alpha,

and the best E attains it (Neyman and Pearson).  D_E(P||Q) = 1 - E + E D_{1/E}(Q||P) turns the terms with E < 1 into
(1 - D_{1/E}(Q||P) - alpha) E.  So with an upper bound delta(eps) on both directions for all neighbors, *any* eps gives
the valid lower values 1 - delta - e^eps alpha and e^-eps (1 - delta - alpha) of every trade-off function
(docs/outputs.md, Proposition 1).

From above a trade-off function is known by one fixed pair: where g(E) <= D_E(P||Q) for *all* E > 0, T(Q, P)(alpha) is
at most the supremum of 1 - g(E) - E alpha.  (A different pair at every E would not do: a test is made for one pair.)
"""

from __future__ import annotations

import numpy as np

from ..ledger import charge
from ..pair import FloatArray
from .profile_curve import Curve

_ROUNDING = 1e-13


@charge("rounding of a trade-off function", "docs/outputs.md, section 2")
def guaranteed(curve: Curve, alpha: FloatArray) -> FloatArray:
    """A beta that no test of level alpha can go below, from upper values of log delta at some eps; rounded down.

    Examples
    --------
    >>> eps = np.linspace(0.0, 1.0, 101)  # randomized response with e^eps0 = e: the corner is at 1/(1 + e)
    >>> with np.errstate(divide="ignore"):
    ...     coin = Curve(eps, np.log(np.maximum((np.e - np.exp(eps)) / (np.e + 1.0), 0.0)))
    >>> guaranteed(coin, np.array([0.0, 0.1, 1 / (1 + np.e), 0.5, 1.0])).round(4).tolist()
    [1.0, 0.7282, 0.2689, 0.1839, 0.0]
    """
    level = alpha.reshape(-1, 1)
    with np.errstate(under="ignore", over="ignore"):
        left = 1.0 - np.exp(curve.log_delta)
        steep = left - np.exp(curve.eps) * level * (1.0 + _ROUNDING)
        flat = np.exp(-curve.eps) * (left - level)
    # the identity above with E = 0 or 1/E = 0 adds nothing but beta >= 0
    found = np.maximum(steep, flat).max(axis=1) - _ROUNDING
    return np.asarray(np.clip(found, 0.0, 1.0).reshape(alpha.shape))


@charge("a trade-off function from above", "docs/outputs.md, section 2")
def reached(eps: FloatArray, lower: FloatArray, alpha: FloatArray) -> FloatArray:
    """A beta that some test of level alpha reaches, by a lower bound on D_E of one fixed pair; rounded up.

    Parameters
    ----------
    eps, lower : rising eps of either sign, and the bound there: linear in E = e^eps between them (so that the supremum
        is at one of them), 1 - E left of the first one, and 0 right of the last one
    alpha : levels in [0, 1]

    Examples
    --------
    >>> eps = np.array([-1.0, 1.0])  # randomized response: the profile is linear between its two losses
    >>> lower = np.array([1.0 - np.exp(-1.0), 0.0])
    >>> reached(eps, lower, np.array([0.0, 0.1, 1 / (1 + np.e), 0.5, 1.0])).round(4).tolist()
    [1.0, 0.7282, 0.2689, 0.1839, 0.0]
    """
    level = alpha.reshape(-1, 1)
    with np.errstate(over="ignore"):
        E = np.exp(eps)
    steep = E * level * (1.0 - _ROUNDING)
    inside = (1.0 - lower * (1.0 - _ROUNDING) - steep).max(axis=1)
    outside = np.maximum(E[0] * (1.0 - level[:, 0]), 1.0 - steep[:, -1])
    found = np.maximum(inside, outside) + _ROUNDING
    return np.where(alpha >= 1.0, 0.0, np.clip(found, 0.0, 1.0).reshape(alpha.shape))
