"""The two questions of accounting: which eps for this delta, and which delta for these eps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _validation as check
from .bounds import find
from .core.evaluate import Side
from .errors import ParameterError
from .guarantee import Guarantee
from .subject import MechanismLike, as_mechanism, make_guarantee


def amplify(
    mechanism: MechanismLike,
    *,
    n: int,
    delta: float,
    bound: str = "auto",
    tol: float = 1e-4,
    certify: bool = False,
) -> Guarantee:
    """The central guarantee of n users who each send one report of ``mechanism`` through a shuffler.

    Parameters
    ----------
    mechanism : a mechanism, its spec string, or a Round
    n : number of users, 1 to 1e15
    delta : in (0, 1)
    bound : "auto" (the exact blanket where the law is known, else variation-ratio), or a name of ``shuffledp.bounds``
    tol : relative accuracy of eps; the error is always upward
    certify : prove the answer in ball arithmetic; the proof is in ``.certificate``

    Returns
    -------
    Guarantee
        ``epsilon`` satisfies max(D_E(P||Q), D_E(Q||P)) <= delta for all neighbouring inputs, E = e^epsilon.

    Examples
    --------
    >>> g = amplify("general:eps0=1", n=1_000_000, delta=1e-8)
    >>> round(g.epsilon, 4), round(g.lower, 4)
    (0.005, 0.0044)
    """
    subject = as_mechanism(mechanism)
    n, delta, tol = check.users(n), check.probability_delta(delta), check.tolerance(tol)
    chosen = find(bound, subject)
    if certify:
        from .certificate import certify as prove

        return prove(subject, n=n, delta=delta, bound=chosen.name, tol=tol)
    answer = chosen.epsilon(subject, n=n, delta=delta, tol=tol)
    return make_guarantee(
        subject,
        chosen,
        n=n,
        delta=delta,
        epsilon=answer.epsilon,
        tol=tol,
        evaluated=answer.evaluated,
        members=answer.members,
    )


def profile(
    mechanism: MechanismLike,
    *,
    n: int,
    epsilon: ArrayLike,
    bound: str = "auto",
    tol: float = 1e-4,
    side: Side = "upper",
) -> NDArray[np.float64]:
    """delta(eps) for every eps: an upper bound (or, with side="lower", a lower bound) on the privacy profile.

    Parameters
    ----------
    mechanism, n, bound : as in :func:`amplify`
    epsilon : one number or an array of numbers >= 0
    tol : relative accuracy of delta; the error is always on the safe side
    side : "upper", or "lower" for what no analysis can go below (``bound`` must be "auto" or a lower bound)

    Returns
    -------
    Array of the shape of ``epsilon``; 0 only where delta is exactly 0 (smaller values round up, not down).

    Examples
    --------
    >>> profile("general:eps0=1", n=1000, epsilon=[0.0, 0.1, 1.0]).round(6).tolist()
    [0.015899, 8.2e-05, 0.0]
    """
    subject = as_mechanism(mechanism)
    n, tol = check.users(n), check.tolerance(tol)
    if side not in ("upper", "lower"):
        raise ParameterError(f"side must be 'upper' or 'lower', got {side!r}; choose one of them.")
    eps = _epsilons(epsilon)
    flat = eps.reshape(-1)
    chosen = find(bound, subject)
    if side != chosen.side and bound != "auto":
        raise ParameterError(
            f"side must be {chosen.side!r} for bound {bound!r}, got {side!r}; "
            f"say side={chosen.side!r} or take bound='auto'."
        )
    if side == "lower" and bound == "auto":
        value = subject.constant_datasets().log_delta(flat, n=n, tol=tol, side="lower")
    else:
        value = chosen.log_delta(subject, flat, n=n, tol=tol)
    with np.errstate(under="ignore"):
        out = np.exp(np.minimum(value, 0.0))
    if side == "upper":  # an upper bound may underflow, but not to 0
        out = np.where((value > -np.inf) & (out == 0.0), 5e-324, out)
    return out.reshape(eps.shape)


def _epsilons(values: ArrayLike) -> NDArray[np.float64]:
    """Finite numbers >= 0, as an array of the same shape."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)) or np.any(array < 0):
        shown = repr(values) if len(repr(values)) < 60 else repr(values)[:57] + "..."
        raise ParameterError(f"epsilon must hold finite numbers >= 0, got {shown}; remove the others.")
    return array.astype(np.float64)
