"""The two questions of accounting: which eps for this delta, and which delta for these eps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from .._support.delta_rules import delta_at
from ..bounds import called
from ..errors import ParameterError
from ..numerics.pair import Side
from . import arrays
from .crowd import Crowd
from .guarantee import Guarantee
from .guarantees import Guarantees
from .many import answers, log_deltas, questions
from .resolve import MechanismLike, resolve, subject_of


class _Terms(TypedDict, total=False):
    """What may be said beside the mechanism, n and delta."""

    bound: str
    tol: float
    certify: bool
    dropouts: float | str
    colluding: float | str
    reports_per_user: int


@overload
def amplify(mechanism: MechanismLike, *, n: int, delta: float | str, **terms: Unpack[_Terms]) -> Guarantee: ...
@overload
def amplify(
    mechanism: MechanismLike, *, n: arrays.Several, delta: float | str | arrays.Several, **terms: Unpack[_Terms]
) -> Guarantees: ...
@overload
def amplify(
    mechanism: MechanismLike, *, n: int, delta: Sequence[float] | NDArray[Any], **terms: Unpack[_Terms]
) -> Guarantees: ...
def amplify(
    mechanism: MechanismLike,
    *,
    n: int | arrays.Several,
    delta: float | str | arrays.Several,
    bound: str = "auto",
    tol: float = 1e-4,
    certify: bool = False,
    dropouts: float | str = 0,
    colluding: float | str = 0,
    reports_per_user: int = 1,
) -> Guarantee | Guarantees:
    """The central guarantee of n users who each send a report of ``mechanism``, or several, through a shuffler.

    Parameters
    ----------
    mechanism : a mechanism, its spec string, or a ShuffledPair
    n : number of users, 1 to 1e15, or an array of them
    delta : in (0, 1), or an array, or a rule such as "0.01/n", which is rounded down and gives every n its own delta
    bound : "auto" (the smallest of the swap bound and the exact blanket, or of what eps0 alone gives where the law is
        not known), or a name of ``shuffledp.bounds``
    tol : relative accuracy of eps; the error is always upward
    certify : prove the answer in ball arithmetic; the proof is in ``.certificate`` (for the honest users)
    dropouts, colluding : users of n who may drop out, or work with the adversary, at worst: a whole number, or a
        fraction below 1, rounded up to users; they take their blanket messages with them
    reports_per_user : reports that every user sends into the batch, on values of its own choice, which may be equal;
        blanket messages stay as many per user, or in all, as the mechanism says.  The guarantee is for replacing all
        values of a user, by composition (numerics/composition/sequential.py)

    Returns
    -------
    Guarantee, or Guarantees
        ``epsilon`` satisfies max(D_E(P||Q), D_E(Q||P)) <= delta for all neighboring inputs, E = e^epsilon.  If n or
        delta is an array (or a list), the answers have the shape to which NumPy broadcasts them; they are computed
        together, which takes a small part of the time of single calls.  ``certify`` is for one n and one delta.

    Examples
    --------
    >>> g = amplify("general:eps0=1", n=1_000_000, delta=1e-8)
    >>> round(g.epsilon, 4), round(g.lower, 4)
    (0.0044, 0.0044)
    >>> round(amplify("general:eps0=1", n=1_000_000, delta=1e-8, dropouts=0.5, colluding=1000).epsilon, 4)
    0.0064
    >>> amplify("general:eps0=1", n=[[10_000], [1_000_000]], delta=[1e-6, 1e-8]).epsilon.round(4).tolist()
    [[0.038, 0.0498], [0.0031, 0.0044]]
    """
    subject = subject_of(mechanism)
    tol = check.tolerance(tol)
    who = (dropouts, colluding, reports_per_user)
    if arrays.is_several(n) or arrays.is_several(delta):
        if certify:
            raise ParameterError(
                "certify=True must have one n and one delta, got an array; certify single answers, or leave it out."
            )
        sizes, targets = arrays.users_and_deltas(n, delta)
        flat = sizes.reshape(-1).tolist()
        made = questions(subject, bound, flat, who)
        asked = [made[size] for size in flat]
        return Guarantees.of(asked, answers(asked, delta=targets.reshape(-1), tol=tol), targets, tol)
    n = check.users(n)
    delta = delta_at(delta, n)
    question = resolve(subject, bound, Crowd.of(n, *who))
    if certify:
        from .certificate import certify as prove

        return prove(question, delta=delta, tol=tol)
    return question.guarantee(delta=delta, tol=tol)


def profile(
    mechanism: MechanismLike,
    *,
    n: int | arrays.Several,
    epsilon: ArrayLike,
    bound: str = "auto",
    tol: float = 1e-4,
    side: Side = "upper",
    dropouts: float | str = 0,
    colluding: float | str = 0,
    reports_per_user: int = 1,
) -> NDArray[np.float64]:
    """delta(eps) for every eps: an upper bound (or, with side="lower", a lower bound) on the privacy profile.

    Parameters
    ----------
    mechanism, bound : as in :func:`amplify`
    n : number of users, or an array of them
    epsilon : one number or an array of numbers >= 0
    tol : relative accuracy of delta; the error is always on the safe side
    side : "upper", or "lower" for a delta that no analysis can beat (``bound`` must be "auto" or a lower bound)
    dropouts, colluding, reports_per_user : as in :func:`amplify`

    Returns
    -------
    Array of the shape of ``epsilon``, or of that to which NumPy broadcasts n and epsilon if n is an array: for every n
    and every eps write n as a column.  It is 0 only where delta is exactly 0 (smaller values round up, not down).

    Examples
    --------
    >>> profile("general:eps0=1", n=1000, epsilon=[0.0, 0.1, 1.0]).round(6).tolist()
    [0.014286, 2.6e-05, 0.0]
    """
    subject = subject_of(mechanism)
    tol = check.tolerance(tol)
    check.one_of("side", side, ("upper", "lower"))
    sizes = arrays.users(n) if arrays.is_several(n) else np.array(check.users(n))
    eps = arrays.finite("epsilon", epsilon, "numbers >= 0")
    if sizes.ndim:
        sizes, eps = arrays.broadcast({"n": sizes, "epsilon": eps})
    who = (dropouts, colluding, reports_per_user)
    name = "constant-dataset-lower" if side == "lower" and called(bound) == "auto" else bound
    made = questions(subject, name, sizes.reshape(-1).tolist(), who)
    question = next(iter(made.values()))
    if side != question.bound.side:
        raise ParameterError(
            f"side must be {question.bound.side!r} for bound {bound!r}, got {side!r}; "
            f"pass side={question.bound.side!r} or take bound='auto'."
        )
    flat = eps.reshape(-1)
    if len(made) == 1:
        value = question.log_delta(flat, tol=tol)
    else:
        value = log_deltas([made[size] for size in sizes.reshape(-1).tolist()], flat, tol=tol)
    with np.errstate(under="ignore"):
        out = np.exp(np.minimum(value, 0.0))
    if side == "upper":  # an upper bound may underflow, but upward
        out = np.where((value > -np.inf) & (out < 2.0**-1022), np.nextafter(out, 1.0), out)
    return out.reshape(eps.shape)
