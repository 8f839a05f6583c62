"""Binary sum with fair coins as blanket messages."""

from __future__ import annotations

from dataclasses import dataclass

from .balcer_cheu import BinarySum


@dataclass(frozen=True, kw_only=True)
class BalcerCoin(BinarySum):
    """Binary sum with fair coins as blanket messages (Balcer, Cheu, Joseph, Mao, SODA 2021).

    As :class:`~shuffledp.BalcerCheu` with c = 1/2: estimate (ones - m/2)/n, variance m/(4 n^2).  Paper, Table 4:
    p = inf, beta = 1, q = 2.

    Parameters
    ----------
    messages : float >= 0
        Blanket messages per user; or total_messages, their fixed total, or poisson, their mean per user.

    Examples
    --------
    >>> import numpy as np
    >>> m = BalcerCoin(messages=0.5)
    >>> reports = m.privatize(np.array([0, 1] * 2000), rng=np.random.default_rng(0))
    >>> est = m.estimate(reports)
    >>> bool(abs(est.value[0] - 0.5) < 5 * est.stderr[0]), est.n
    (True, 4000)
    """

    name = "balcer-coin"
    coin = 0.5
    _in_words = "the binary sum of Balcer et al. 2021 with fair coins and {_blanket_words}"
