"""Binary sum with biased coins as blanket messages."""

from __future__ import annotations

from dataclasses import dataclass

from ..parameters import real
from .binary_sum import BinarySum


@dataclass(frozen=True, kw_only=True)
class BalcerCheu(BinarySum):
    """Binary sum with biased coins as blanket messages (Balcer, Cheu, ITC 2020).

    A user sends its bit x; a blanket message is 1 with probability c.  The estimate is the fraction of ones,
    (ones - m c)/n with m blanket messages, variance m c(1-c)/n^2 (the original thresholds it, which biases it).

    Parameters
    ----------
    coin : float in (0, 1)
        c, the bias of the coins.
    messages : float >= 0
        Blanket messages per user; or total_messages, their fixed total, or poisson, their mean per user.

    Notes
    -----
    P0 = (1, 0), P1 = (0, 1), t = (1-c, c), both directions; the others' bits are known in the worst case and are
    subtracted, so upper and lower bound agree.  Paper, Table 4: p = inf, beta = 1, q = max(1/c, 1/(1-c)).
    It is a protocol for one bit: a histogram made of it changes two bins when an input changes (compose).

    Examples
    --------
    >>> import shuffledp as sdp
    >>> round(sdp.amplify(BalcerCheu(coin=0.7, total_messages=500), n=100, delta=1e-5).epsilon, 4)
    0.3511
    """

    name = "balcer-cheu"
    _in_words = "the Balcer-Cheu binary sum with coins of bias {coin!r} and {_blanket_words}"

    coin: float = real(low=0.0, high=1.0, low_open=True, high_open=True, hint="coin is the chance of a 1")

    #: Coins that are mostly 0: where messages that are 0 can be left out, few are sent.
    _design = (("coin", 0.25),)
