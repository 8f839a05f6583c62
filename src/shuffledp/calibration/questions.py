"""The three questions: which setting, how many users, which delta, for a given central target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._support import validation as check
from .._support.delta_rules import delta_at, read
from .._support.numbers import round_down
from ..accounting.crowd import Crowd, missing
from ..accounting.many import log_deltas
from ..accounting.resolve import MechanismLike, subject_of
from ..accounting.rounds import Rounds, count_of
from ..errors import ImpossibleError, ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..numerics.search import smallest_whole
from .asked import Subject, question
from .search import crossing, together
from .target import Target, in_words, scaled
from .unknowns import Unknown, row_of

_MOST_USERS = 10**15


def calibrate(
    subject: Subject,
    *,
    n: int,
    epsilon: float,
    delta: float | str,
    bound: str = "auto",
    tol: float = 1e-4,
    unknown: str | None = None,
    reports_per_user: int = 1,
    dropouts: float | str = 0,
    colluding: float | str = 0,
    count: int = 1,
    **fixed: Any,
) -> Mechanism:
    """The least noisy setting of a mechanism whose n shuffled reports are (epsilon, delta)-DP.

    With all parameters given but one, that one is found: the *largest* local budget (eps0; eps of exponential-metric;
    d01 or dmax in metric privacy), the *smallest* flip probability or sigma, or the *fewest* blanket messages (messages
    or poisson, a mean per user; with unknown="total_messages" their whole number) such that

        amplify(mechanism, n=n, delta=delta, bound=bound, tol=tol).epsilon <= epsilon

    (with ``count`` rounds, Accountant().compose(mechanism, n=n, count=count).epsilon(delta=delta) <= epsilon).
    This is checked at the returned setting itself.  That eps is also at least epsilon (1 - tol), unless the
    parameter is a whole number, is at the end of its range, or eps jumps there; eps of planar-laplace makes small jumps
    everywhere, and is met to 0.5 %.  eps0 is never below epsilon: the local guarantee holds without any shuffling.

    A setting left to the mechanism (k of subset and privset, l of local-hash, w of wheel, cap of privunit, the blocks
    of hadamard) is chosen as well: for each value eps rises with eps0, and the value whose largest eps0 has the
    smallest predicted error (variance of the estimate, averaged over the items) is frozen in the result.

    Parameters
    ----------
    subject : a name ("grr"), a spec with the unknown left out ("grr:d=64"), a mechanism (its unknown is replaced,
        everything else kept; for a Parallel or Joint that is one eps0 of all its parts), or a function that makes a
        mechanism from one number in [1e-9, 500]; eps must rise with that number, and settings in
        whole numbers must not change with it
    n, delta, bound : as in :func:`~shuffledp.amplify`; the bound must be a guarantee
    epsilon : the target, > 0
    tol : relative accuracy of eps
    unknown : the parameter to solve for, where several could be meant
    reports_per_user, dropouts, colluding : as in :func:`~shuffledp.amplify`
    count : rounds over the same users, which meet the target together, as in :class:`~shuffledp.Accountant`
    fixed : the other parameters of the mechanism

    Raises
    ------
    ImpossibleError
        No setting reaches the target.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> m = calibrate("grr", n=10**6, epsilon=1.0, delta=1e-8, d=64)
    >>> round(m.eps0, 2), 0.9999 <= sdp.amplify(m, n=10**6, delta=1e-8).epsilon <= 1.0
    (9.69, True)
    >>> calibrate("subset:d=64", n=1000, epsilon=0.01, delta=1e-6).k
    30
    >>> round(calibrate("grr", n=10**6, epsilon=1.0, delta=1e-8, d=64, count=13, dropouts=0.03).eps0, 2)
    7.31
    """
    n = check.users(n)
    crowd = Crowd.of(n, dropouts, colluding, reports_per_user)
    target = Target(crowd, _target(epsilon), delta_at(delta, n), bound, check.tolerance(tol), count_of(count))
    return target.loosest(settled(question(subject, n, unknown, fixed), target.single))


def settled(row: Unknown | FreeSetting, target: Target) -> Unknown:
    """The row with the setting that has the smallest predicted error at the target of one round."""
    if isinstance(row, Unknown):
        return row
    return row_of(row, target.setting(row))


def users_needed(
    mechanism: MechanismLike,
    *,
    epsilon: float,
    delta: float | str,
    bound: str = "auto",
    tol: float = 1e-4,
    reports_per_user: int = 1,
    dropouts: float | str = 0,
    colluding: float | str = 0,
    count: int = 1,
) -> int:
    """The smallest number of users whose shuffled reports are (epsilon, delta)-DP, up to 1e15.

    ``amplify(mechanism, n=n, ...).epsilon <= epsilon`` (with ``count`` rounds, the eps of an ``Accountant``) holds at
    the returned n and not at n - 1.  delta(eps) falls with n, so every larger batch is private enough as well.

    Parameters
    ----------
    mechanism, bound, tol, reports_per_user : as in :func:`~shuffledp.amplify`; the bound must be a guarantee
    epsilon : the target, > 0
    delta : a number in (0, 1), or a rule "c/n" with c < 1; then delta shrinks as n grows, and the answer is *a* number
        of users that meets the target while one user fewer does not
    dropouts, colluding : as in :func:`~shuffledp.amplify`; n counts all users who are asked
    count : rounds over the same n users, which meet the target together

    Raises
    ------
    ImpossibleError
        Not even 1e15 users reach the target.

    Examples
    --------
    >>> users_needed("grr:eps0=2,d=64", epsilon=0.1, delta=1e-8)
    2447
    >>> users_needed("grr:eps0=2,d=64", epsilon=0.1, delta=1e-8, dropouts=0.5)
    4894
    """
    subject, epsilon, tol, times = subject_of(mechanism), _target(epsilon), check.tolerance(tol), count_of(count)
    rule = read(delta)
    fewest = _fewest(dropouts, colluding)

    def among(n: int, times: int) -> Rounds:
        crowd = Crowd.of(n, dropouts, colluding, reports_per_user)
        return Rounds(subject, bound, crowd, count=times).must_hold("be solved for")

    among(fewest, times)  # a bound that is not a guarantee is refused first

    def users(u: float) -> int:
        return min(max(round(math.exp(-u)), fewest), _MOST_USERS)

    def excesses(at: list[tuple[int, float]]) -> list[float]:
        """delta of one round against that of the target, for several numbers of users at once."""
        sizes = [users(u) for _, u in at]
        once = [Target(Crowd(n), epsilon, rule.at(n), bound, tol, times).single.epsilon for n in sizes]
        found = log_deltas([among(n, 1).one for n in sizes], np.array(once), tol=1e-3)
        return [scaled(y) - scaled(math.log(rule.at(n))) for y, n in zip(found.tolist(), sizes, strict=True)]

    def reached(n: int) -> float:
        return among(n, times).epsilon(delta=rule.at(n), tol=tol)

    if reached(fewest) <= epsilon:
        return fewest
    # the leading order, as in Target: n = 2 log(1/delta) (2 sinh(eps0/2)/eps)^2
    guess = 30.0 * min(2.0 * math.sinh(0.5 * min(subject.cap, 20.0)) / epsilon, 1e100) ** 2 * times
    low, high = -math.log(_MOST_USERS), -math.log(fewest)
    start = min(max(-math.log(max(guess, 2.0 * fewest)), low), high)
    near = together([crossing(low=low, high=high, start=start, reach=1.0, window=lambda: 0.1 * tol)], excesses)[0]
    start = _MOST_USERS if near is None else users(near.u)
    found = smallest_whole(lambda n: reached(n) - epsilon, low=fewest, high=_MOST_USERS, start=start)
    if found is None:
        raise ImpossibleError(
            f"epsilon = {round_down(epsilon, 6)} cannot be reached by {subject.mechanism.spec}: even 1e15 users leave "
            f"{in_words(reached(_MOST_USERS))}; raise epsilon or delta, or choose a more private setting."
        )
    return found


def _fewest(dropouts: float | str, colluding: float | str) -> int:
    """The smallest n with which at least one user can be counted on."""

    def short(n: int) -> float:
        return 1.0 - (n - missing("dropouts", dropouts, n) - missing("colluding", colluding, n))

    found = smallest_whole(short, low=1, high=_MOST_USERS, start=1)
    if found is None:
        raise ParameterError(
            f"dropouts + colluding must leave at least one honest user of n, got {dropouts!r} + {colluding!r}; "
            "lower them."
        )
    return found


def delta_needed(
    mechanism: MechanismLike,
    *,
    n: int,
    epsilon: float,
    bound: str = "auto",
    tol: float = 1e-4,
    reports_per_user: int = 1,
    dropouts: float | str = 0,
    colluding: float | str = 0,
    count: int = 1,
) -> float:
    """The smallest delta at which n shuffled reports are (epsilon, delta)-DP: the privacy profile, rounded up.

    It is 0 where epsilon is at least the local guarantee.  tol is the relative accuracy of delta, upward (that of one
    round); reports_per_user, dropouts and colluding are those of :func:`~shuffledp.amplify`; ``count``
    rounds over the same users are composed as by :class:`~shuffledp.Accountant`.

    Raises
    ------
    ImpossibleError
        No delta below 1 suffices.

    Examples
    --------
    >>> 1.07e-8 < delta_needed("general:eps0=1", n=10**6, epsilon=0.0044) < 1.08e-8
    True
    >>> delta_needed("general:eps0=1", n=10**6, epsilon=1.0)
    0.0
    """
    subject, n, tol = subject_of(mechanism), check.users(n), check.tolerance(tol)
    epsilon, times = _target(epsilon), count_of(count)
    crowd = Crowd.of(n, dropouts, colluding, reports_per_user)
    value = Rounds(subject, bound, crowd, count=times).must_hold("be solved for").log_delta(epsilon, tol=tol)
    if not value < 0.0:
        rounds = f"{times:,} rounds of " if times > 1 else ""
        raise ImpossibleError(
            f"epsilon = {round_down(epsilon, 6)} is not reached by {rounds}{subject.mechanism.spec} with n = {n:,} "
            "at any delta below 1; raise epsilon, collect from more users or choose a more private setting."
        )
    if value == -math.inf:
        return 0.0
    least = math.exp(value)
    return max(least * (1.0 + 2.0**-50), math.nextafter(least, 1.0))  # subnormal numbers are rounded up too


def _target(epsilon: object) -> float:
    return check.inside("epsilon", epsilon, hint="it is the central eps to be reached")
