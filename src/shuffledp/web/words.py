"""What an eps means for a person, and what is unusual about a setting, in sentences.

The risk is that of a guess.  Somebody thinks two values of a user equally likely; after the batch the guess is right
with probability at most (e^eps + delta)/(e^eps + 1): with the two errors a, b of any test, a + e^eps b >= 1 - delta and
e^eps a + b >= 1 - delta (Kairouz, Oh, Viswanath, ICML 2015), so (a + b)/2 >= (1 - delta)/(e^eps + 1).
"""

from __future__ import annotations

import math
from fractions import Fraction

from .._support.numbers import round_up
from ..accounting.guarantee import Guarantee

#: eps up to this -> how strong a guarantee is called.
LEVELS = ((0.1, "very strong"), (1.0, "strong"), (3.0, "moderate"), (10.0, "weak"))
_NONE = "hardly any"
_FEW = 100


def level(epsilon: float) -> str:
    """How strong the protection is, in a word or two.

    >>> level(0.05), level(2.0), level(40.0)
    ('very strong', 'moderate', 'hardly any')
    """
    return next((word for limit, word in LEVELS if epsilon <= limit), _NONE)


def guess(epsilon: float, delta: float) -> float:
    """The largest probability of guessing right which of two equally likely values a user holds.

    >>> guess(0.0, 0.0), round(guess(1.0, 1e-6), 4)
    (0.5, 0.7311)
    """
    if epsilon > 700.0:
        return 1.0
    found = 1.0 - (1.0 - delta) / (math.exp(epsilon) + 1.0)
    return min(1.0, found * (1.0 + 1e-15)) if epsilon > 0.0 or delta > 0.0 else 0.5  # round-off goes up


def percent(share: float) -> str:
    """A probability in percent, in four figures, rounded up.

    >>> percent(0.50305), percent(0.500000123), percent(1.0)
    ('50.31 %', '50.01 %', '100 %')
    """
    return f"{round_up(Fraction(share) * 100, 4)} %" if share < 1.0 else "100 %"


def odds(share: float, seen: str) -> str:
    """The risk of a guess, in a sentence.

    >>> odds(0.50305, "the whole batch")
    'Someone who thinks two values of a user equally likely, and then sees the whole batch, can guess the right one at \
most 50.31 % of the time (a coin: 50 %).'
    """
    return (
        f"Someone who thinks two values of a user equally likely, and then sees {seen}, can guess the right one at "
        f"most {percent(share)} of the time (a coin: 50 %)."
    )


def risk(guarantee: Guarantee) -> dict[str, str]:
    """The risk of one user in words: behind the shuffler, and if the shuffler fails."""
    behind = guess(guarantee.epsilon, guarantee.delta)
    alone = guess(guarantee.local_epsilon, 0.0)
    return {
        "level": level(guarantee.epsilon),
        "guess": percent(behind),
        "words": odds(behind, "the whole batch"),
        "local": (
            "If the shuffler fails, nothing protects the user."
            if math.isinf(guarantee.local_epsilon)
            else f"If the shuffler fails and reports can be linked to users, at most {percent(alone)}."
        ),
    }


def warnings(guarantee: Guarantee) -> list[str]:
    """What a reviewer would ask about this setting; most settings have nothing to say here."""
    said = []
    eps, delta, n = guarantee.epsilon, guarantee.delta, guarantee.n
    if math.isinf(eps):
        said.append("No finite eps reaches this delta: an output can reveal who sent it. Add users or noise.")
    elif eps > 10.0:
        said.append(
            f"eps = {round_up(eps, 3)} protects hardly anybody: outputs may be e^{math.ceil(eps)} times as likely."
        )
    if delta * n > 1.0:
        said.append(
            f"delta = {round_up(delta, 3)} is above 1/n: that would permit publishing somebody's value outright; "
            "0.01/n is a common choice."
        )
    if n < _FEW:
        said.append(f"{n:,} user{'s' if n > 1 else ''} are no crowd: shuffling hides little among so few.")
    if 8.0 < guarantee.local_epsilon < math.inf:
        said.append(
            f"Without the shuffler eps0 = {round_up(guarantee.local_epsilon, 3)} remains, which protects hardly "
            "anybody: all rests on the shuffler."
        )
    if guarantee.note:
        said.append(f"The bound is {guarantee.note}.")
    if guarantee.dropouts >= 0.5 * n:
        said.append("Half of the users or more may drop out: ask whether a batch of the rest would be released.")
    return said
