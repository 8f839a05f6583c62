"""How far the unbiased estimate of a mechanism is from the truth: what it declares for planning.

All three numbers are root-mean-square errors of one entry of the estimate among n users whose values are fixed: only
the mechanism is random.  They follow from ``variance``, which a frequency mechanism states as a linear function of the
share of users who hold an item; its mean over the items then depends on the data through the mean share alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class Accuracy(NamedTuple):
    """Errors of an estimate, in the units of the mechanism.

    Attributes
    ----------
    worst : per entry (root of the mean square over all entries), the largest over all data
    typical : the same where users are spread evenly over the inputs
    entry : of any single entry, the largest over all data
    """

    worst: float
    typical: float
    entry: float


def of_shares(variance: Callable[[float], float], *, least: float, most: float) -> Accuracy:
    """Of estimated shares, from their variance at a share and from the mean share of an item, ``least`` to ``most``.

    Examples
    --------
    >>> of_shares(lambda f: 1.0 + 3.0 * f, least=0.25, most=0.25)
    Accuracy(worst=1.3228756555322954, typical=1.3228756555322954, entry=2.0)
    """
    worst = max(variance(least), variance(most))
    return Accuracy(math.sqrt(worst), math.sqrt(variance(most)), math.sqrt(max(variance(0.0), variance(1.0))))
