"""Users with different budgets in one batch: every class of victims hides among the blankets of all classes.

The formula, and why it is sound, is in mixed_bounds.py.

*What is not covered.*  Budgets are public.  A budget that depends on the value it protects leaks by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._support import validation as check
from .._support.delta_rules import delta_at
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, Tabular, count_column, epsilon_column
from .._support.text import visible
from ..errors import BoundNotApplicableError, ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.registry import of_matrix
from ..numerics.family import Asked, epsilons
from .crowd import Crowd
from .guarantee import SAME, absent, at_most
from .mixed_bounds import blanket_candidates, comparable, swap_candidates
from .resolve import MechanismLike, as_mechanism, resolve

OF_ITS_CLASS = "all users of a class run its mechanism"
PUBLIC = "; the budget of every user is public and does not depend on its value"
DRAWN = "; every user draws its budget at random, independently of its value, and keeps it secret"
#: A mixture of laws may have this many cells.
_MOST_CELLS = 10**6


@dataclass(frozen=True)
class ClassGuarantee:
    """What holds for the users of one class.

    ``epsilon`` is never above ``local_epsilon``, which remains if the shuffler fails.
    """

    mechanism: str
    description: str
    users: int
    epsilon: float
    local_epsilon: float


@dataclass(frozen=True)
class MixedGuarantee(Tabular):
    """A shuffled batch of several classes of users is (epsilon, delta)-DP, and better for some classes.

    Attributes
    ----------
    epsilon : the largest over the classes; never too small.
    classes : one :class:`ClassGuarantee` for each class, in the order given.
    delta, n : what was asked; n is the number of all users.
    dropouts, colluding, neighbors, trust : the terms.
    bound : the bound that gives ``epsilon``.
    hidden : whether classes are drawn at random and secret.

    Examples
    --------
    >>> g = amplify_mixed([("grr:eps0=1,d=8", 5000), ("grr:eps0=3,d=8", 5000)], delta=1e-6)
    >>> [round(c.epsilon, 3) for c in g.classes], g.epsilon == g.classes[1].epsilon
    ([0.032, 0.14], True)
    """

    epsilon: float
    delta: float
    n: int
    classes: tuple[ClassGuarantee, ...]
    dropouts: int
    colluding: int
    trust: str
    neighbors: str = "replace-one"
    bound: str = "blanket"
    hidden: bool = False

    def table(self) -> Table:
        """One row per class."""
        rows = self.classes
        columns = (
            Column(name="mechanism", head="mechanism", values=[c.mechanism for c in rows]),
            count_column("users", "users", [c.users for c in rows]),
            epsilon_column("epsilon", "eps", [c.epsilon for c in rows]),
            epsilon_column("local_epsilon", "local eps", [c.local_epsilon for c in rows]),
        )
        return Table(columns, caption=f"{at_most(self.epsilon, self.delta)}, by class", notes=(str(self),))

    def __repr__(self) -> str:
        """One line: the claim for all classes."""
        many = f"{len(self.classes)} class{'' if len(self.classes) == 1 else 'es'}"
        return f"<MixedGuarantee {at_most(self.epsilon, self.delta)}: {self.n:,} users in {many} ({self.bound})>"

    def __str__(self) -> str:
        """One paragraph that a privacy reviewer can paste."""
        parts = "; ".join(
            f"{c.users:,} {'user' if c.users == 1 else 'users'} of {c.description}: "
            + (f"eps = {round_up(c.epsilon)}" if math.isfinite(c.epsilon) else "no finite eps")
            for c in self.classes
        )
        away = absent(self.n, self.dropouts, self.colluding)
        pair = f"({round_up(self.epsilon)}, {round_up(self.delta, 6)})-DP"
        claim = (
            f"is {pair}" if math.isfinite(self.epsilon) else f"has no finite eps at delta = {round_down(self.delta, 6)}"
        )
        return visible(
            f"With n = {self.n:,} users in all{away}, a shuffled batch {claim}, {self.neighbors} "
            f"(bound: {self.bound}), by class: {parts}. Budgets are "
            + ("drawn at random and secret." if self.hidden else "public.")
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        return json_object(asdict(self))


def amplify_mixed(
    classes: Iterable[tuple[MechanismLike, int]],
    *,
    delta: float | str,
    tol: float = 1e-4,
    dropouts: float | str = 0,
    colluding: float | str = 0,
    hidden: bool = False,
) -> MixedGuarantee:
    """The central guarantee of a batch in which classes of users have different budgets.

    Parameters
    ----------
    classes : pairs (mechanism, number of users)
        Mechanisms with the same reports: GRR with the same d, k-subset or PrivSet with the same d and k, unary
        encodings with the same d, Laplace, matrices (:class:`FiniteRandomizer`) with the same outputs, or a mechanism
        of your own that states its ``blanket_ratio`` or lists its ``probabilities``.  Or mechanisms of several messages
        that differ in how many blanket messages a user adds (all Poisson numbers, or all whole ones): users who add
        more hide all others too, so eps is one for all.
    delta : in (0, 1), or a rule such as "0.01/n", where n is the number of all users
    tol : relative accuracy of eps; the error is always upward
    dropouts, colluding : as in :func:`shuffledp.amplify`; in the worst case the missing users are those who would hide
        the victim best
    hidden : False if everybody's class is public; True if every user draws its class at random, with the shares of
        ``classes``, independently of its value, and keeps it to itself: then all run one mixture of the laws

    Returns
    -------
    MixedGuarantee
        For every class v, max(D_E(P||Q), D_E(Q||P)) <= delta at E = e^(its epsilon), over all inputs of all users.

    Notes
    -----
    eps0-LDP alone does not bound the ratio of two users' laws, so ``general`` classes cannot be mixed.  Laplace:
    users with a larger budget than the victim's have thinner tails and do not count.  Unary encodings of many
    options hide each other little: the number of ones distinguishes the classes.

    Examples
    --------
    >>> one = amplify_mixed([("grr:eps0=2,d=8", 400), ("grr:eps0=2,d=8", 600)], delta=1e-6)
    >>> round(one.epsilon, 3)
    0.293
    """
    if not isinstance(hidden, bool):
        raise ParameterError(f"hidden must be True or False, got {hidden!r}; say whether classes are drawn in secret.")
    members = _members(classes)
    n, tol = check.users(sum(size for _, size in members)), check.tolerance(tol)
    delta = delta_at(delta, n)
    crowd = Crowd.of(n, dropouts=dropouts, colluding=colluding)
    sizes: dict[Mechanism, int] = {}
    for mechanism, size in members:
        sizes[mechanism] = sizes.get(mechanism, 0) + size
    one = _mixture(sizes, n) if hidden else _all_messages(sizes, crowd)
    if one is not None:  # what all classes send is what so many users of one mechanism send
        mechanism, users = one
        left = crowd if users == n else Crowd(users)
        answer = resolve(mechanism, "auto", left).guarantee(delta=delta, tol=tol)
        each = {m: (min(answer.epsilon, m.local_epsilon), answer.bound) for m in sizes}
        return _stated(each, answer.bound, members, crowd, delta, hidden)
    strange = [m.spec for m in sizes if not comparable(m)]
    if strange:
        raise BoundNotApplicableError(
            f"every class must have a law that can be compared with others, got {' and '.join(strange)}; give one "
            "mechanism with several budgets, such as grr with the same d, or matrices, or amplify each on its own."
        )
    found = _smallest(sizes, crowd, delta, tol)
    return _stated(found, max(found.values())[1], members, crowd, delta, hidden)


def _stated(
    found: dict[Mechanism, tuple[float, str]],
    bound: str,
    members: list[tuple[Mechanism, int]],
    crowd: Crowd,
    delta: float,
    hidden: bool,
) -> MixedGuarantee:
    """The guarantee of all classes by the eps of each; ``bound`` gave the largest."""
    rows = tuple(ClassGuarantee(m.spec, m.description, size, found[m][0], m.local_epsilon) for m, size in members)
    terms = crowd.terms()
    terms["trust"] = terms["trust"].replace(SAME, OF_ITS_CLASS) + (DRAWN if hidden else PUBLIC)
    worst = max(row.epsilon for row in rows)
    return MixedGuarantee(worst, delta, crowd.n, rows, **terms, bound=bound, hidden=hidden)


def _all_messages(sizes: dict[Mechanism, int], crowd: Crowd) -> tuple[Mechanism, int] | None:
    """What all users who can be counted on send together, where they differ in blanket messages alone."""
    if any(m.single_message for m in sizes):
        return None
    found = next(iter(sizes)).law.together(list(sizes.items()), crowd.n - crowd.honest)
    if found is None:
        raise BoundNotApplicableError(
            "classes of several messages must differ in the number of blanket messages per user alone, all of them "
            f"Poisson or all whole, got {' and '.join(m.spec for m in sizes)}; give poisson for all, or whole messages."
        )
    return found, crowd.honest


def _mixture(sizes: dict[Mechanism, int], n: int) -> tuple[Mechanism, int]:
    """The law of a user who draws its class: the mean of the laws, with the shares of the classes."""
    laws = []
    for m in sizes:
        if not isinstance(m, Randomizer) or not m.single_message:
            raise BoundNotApplicableError(
                f"hidden budgets need the probability matrix of every class, got {m.spec}, which states none; "
                "leave hidden out."
            )
        laws.append(m.probabilities())
    if len({law.shape for law in laws}) > 1 or laws[0].size > _MOST_CELLS:
        raise BoundNotApplicableError(
            f"hidden budgets need matrices of one shape, of at most {_MOST_CELLS:,} cells, got "
            f"{' and '.join(str(law.shape) for law in laws)}; give one mechanism with several budgets."
        )
    mean = sum(law * (size / n) for law, size in zip(laws, sizes.values(), strict=True))
    return of_matrix(mean / np.sum(mean, axis=1, keepdims=True)), n


def _smallest(
    sizes: dict[Mechanism, int], crowd: Crowd, delta: float, tol: float
) -> dict[Mechanism, tuple[float, str]]:
    """For every class the smallest eps and its bound; all bounds of all classes are evaluated together."""
    known = {m: blanket_candidates(m, sizes, crowd, delta) + swap_candidates(m, sizes, crowd, delta) for m in sizes}
    asked = [candidate for candidates in known.values() for candidate in candidates]
    deltas = np.array([candidate.delta for candidate in asked])
    users = np.array([float(candidate.n) for candidate in asked])
    answers = iter(epsilons([candidate.family for candidate in asked], Asked(users, deltas, tol, "upper")))
    found = {}
    for m, candidates in known.items():
        every = [(m.local_epsilon, "blanket")]
        for candidate in candidates:
            eps = next(answers).epsilon
            every.append((eps + candidate.slack if eps > 0.0 else 0.0, candidate.bound))
        found[m] = min(every)
    return found


def _members(classes: object) -> list[tuple[Mechanism, int]]:
    wanted = "classes must be a list of pairs (mechanism, number of users)"
    if not check.is_list(classes):
        raise ParameterError(f"{wanted}, got {type(classes).__name__}; write [('grr:eps0=1,d=8', 1000), ...].")
    members = []
    for item in classes:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise ParameterError(f"{wanted}, got an entry of type {type(item).__name__}; pair each with its number.")
        members.append((as_mechanism(item[0]), check.users(item[1], "the number of users of a class")))
    if not members:
        raise ParameterError(f"{wanted}, got none; name at least one class.")
    return members
