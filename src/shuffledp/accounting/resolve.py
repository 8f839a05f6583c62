"""The one path from a question to its answer: mechanism, bound and crowd are resolved once, then evaluated.

:func:`resolve` gives a :class:`Resolved`: the mechanism as the honest users run it, the bound, its family, how many
users are honest, and the local guarantee that caps every upper bound.  amplify, profile, compare, batch tables,
calibration, programmes and the accountant all ask it.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.numbers import round_up
from ..bounds import BOUNDS, Bound, choose
from ..bounds.base import Numerical, capped, covering
from ..errors import BoundNotApplicableError, ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import mechanism as _parse
from ..numerics.composition.profile_curve import profile
from ..numerics.family import Answer, Family, OneByOne, PairSet, Smallest
from ..numerics.pair import FloatArray, ShuffledPair, Side, both_directions, log_up
from .crowd import Crowd
from .guarantee import Guarantee, absent, count_of, told
from .outputs import About, WithOutputs

if TYPE_CHECKING:
    from .certificate import Certificate
    from .evidence import Evidence

#: What may be passed where a mechanism is expected.
MechanismLike = Mechanism | ShuffledPair | str
#: Lower bounds from datasets in which all others hold one value or, with few users, any: no analysis can beat them.
_DATASETS, _BINARY = BOUNDS["constant-dataset-lower"], BOUNDS["binary"]
#: Probabilities that were left out affect eps if they exceed this share of delta.
_DECIDES = 1e-3
_UNLISTED = "looser, because nothing states what the other users may hold (see docs/extending.md, _lists_every_type)"
#: The most specs whose subjects are kept.
_MOST_KEPT = 64
_kept: dict[str, Subject] = {}


class Subject:
    """A mechanism with its families and its description, each computed once.

    Examples
    --------
    >>> subject = subject_of("grr:eps0=2,d=64")
    >>> subject.bound("auto").name, subject.cap
    ('auto', 2.0)
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._families: dict[Bound, Family] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Subject, (self.mechanism,)

    def bound(self, name: str) -> Bound:
        """The bound of that name; "auto" is the smallest of those that use all that is known (bounds/registry.py)."""
        return self._best if isinstance(name, str) and name == "auto" else choose(name, self.mechanism)[0]

    @cached_property
    def _best(self) -> Bound:
        bound, family = choose("auto", self.mechanism)
        if family is not None:
            self._families[bound] = family
        return bound

    def family(self, bound: Bound) -> Family:
        """The shuffled pairs behind a bound; refused where there are none."""
        found = self._families.get(bound)
        if found is None:
            found = self._families[bound] = bound.family(self.mechanism)
        return found

    @cached_property
    def datasets(self) -> Family:
        """Datasets for lower bounds: those in which all others hold one value, and those of bound 'binary'."""
        constant = self.family(_DATASETS)
        try:
            return Smallest({"constant": constant, "binary": self.family(_BINARY)})
        except BoundNotApplicableError:
            return constant

    @cached_property
    def cap(self) -> float:
        """The local guarantee, which holds whatever the shuffler does."""
        return self.mechanism.local_epsilon

    @cached_property
    def left_out(self) -> float:
        """The probability that the given law leaves out."""
        return self.mechanism.law.left_out

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The fields of a Guarantee that the mechanism alone decides."""
        return {**self.words, "local_epsilon": self.cap}

    @cached_property
    def words(self) -> dict[str, Any]:
        """Those of them that need no local guarantee."""
        asked = self.mechanism
        said = {"mechanism": asked.spec, "description": asked.description, "neighbors": asked.neighbors}
        return {**said, "lower_scope": asked.law.lower_scope}

    def left_of(self, crowd: Crowd) -> Subject:
        """The mechanism as the honest users of a crowd run it, without the messages of the missing."""
        left = self.mechanism
        if not crowd.complete:
            left = left.law.without(crowd.n - crowd.honest, n=crowd.n)
        if crowd.reports_per_user > 1:
            left = left.law.bundled(crowd.reports_per_user, n=crowd.honest)
        return self if left is self.mechanism else Subject(left)


class Resolved(WithOutputs):
    """A mechanism, a bound and a crowd, ready to be asked for eps, delta or whole functions.

    Attributes
    ----------
    asked, left : the mechanism as it was named, and as the honest users run it
    bound : the bound behind the name
    crowd, n : all users, and how many of them are honest

    Examples
    --------
    >>> question = resolve("grr:eps0=2,d=64", "auto", Crowd(1000))
    >>> question.bound.name, question.n, round(question.epsilon(delta=1e-6, tol=1e-4).epsilon, 3)
    ('auto', 1000, 0.125)
    """

    def __init__(self, asked: Subject, left: Subject, bound: Bound, crowd: Crowd) -> None:
        self.asked, self.left, self.bound, self.crowd, self.n = asked, left, bound, crowd, crowd.honest
        self._several = crowd.reports_per_user > 1
        self._shared: Resolved | None = None
        #: whether the answer comes from a family; the local bound of several reports needs none
        self.by_family = isinstance(bound, Numerical) or (self._several and bound.name != "local")

    def __reduce__(self) -> tuple[Any, ...]:
        return resolve, (self.asked, self.bound.name, self.crowd)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism as the honest users run it."""
        return self.left.mechanism

    @cached_property
    def family(self) -> Family:
        """The shuffled pairs of the bound; refused where it claims nothing for so many users."""
        return covering(self.bound, self._among_any, self.mechanism, self.n)

    @cached_property
    def _among_any(self) -> Family:
        """The same, for any number of users."""
        if self._shared is not None:
            return self._shared._among_any
        return self._of_several() if self._several else self.left.family(self.bound)

    def share(self, other: Resolved) -> None:
        """Reuse the families of a question with the same mechanism and bound."""
        if other is not self and not self._several:
            self._shared = other

    def _of_several(self) -> Family:
        """The family of several reports per user, by composition."""
        if self.bound.side == "lower":
            raise BoundNotApplicableError(
                f"bound {self.bound.name!r} is for one report per user, got reports_per_user = "
                f"{self.crowd.reports_per_user:,}; no lower bound is known for several."
            )
        from ..numerics.composition.sequential import Bundle

        one = self.left.family(self.bound) if isinstance(self.bound, Numerical) else _Curve(self.bound, self.mechanism)
        return Bundle(one, reports=self.crowd.reports_per_user, limit=self.left.cap)

    @cached_property
    def datasets(self) -> Family:
        """The shuffled pairs of the lower bound; refused where no dataset is known."""
        if self._several:
            raise BoundNotApplicableError("no lower bound is known for several reports per user.")
        if self._shared is not None:
            return self._shared.datasets
        return self.left.datasets

    @cached_property
    def evidence(self) -> Evidence:
        """What trade-off functions, Renyi divergences and tables are read from; its profiles are sampled once."""
        from .evidence import evidence_of

        return evidence_of(self)

    def _about(self) -> About:
        crowd = self.must_hold("give a trade-off function").crowd
        each = f", {crowd.reports_per_user:,} reports each" if crowd.reports_per_user > 1 else ""
        away = absent(crowd.n, crowd.dropouts, crowd.colluding)
        return About(
            subject=f"{count_of(crowd.n)} of {self.asked.mechanism.spec}{each}{away}",
            n=self.n,
            neighbors=self.asked.mechanism.neighbors,
            trust=crowd.terms()["trust"],
            find=partial(getattr, self, "evidence"),
        )

    def epsilon(self, *, delta: float, tol: float) -> Answer:
        """eps at delta by the bound; an upper bound is at most the local guarantee."""
        if not self.by_family:
            answer = self.bound.epsilon(self.mechanism, n=self.n, delta=delta, tol=tol)
            return self.capped(answer._replace(epsilon=self.cap) if self._several else answer, delta)
        return self.capped(self.family.epsilon(n=self.n, delta=delta, tol=tol, side=self.bound.side), delta)

    def capped(self, answer: Answer, delta: float) -> Answer:
        """An answer at delta, with the name of its bound and its note; an upper one is at most the local guarantee."""
        answer = answer._replace(bound=answer.bound or self.bound.name)
        if self.bound.side == "lower":
            return answer
        return answer._replace(epsilon=min(answer.epsilon, self.cap), note=self._note(delta) or answer.note)

    def _note(self, delta: float) -> str:
        """Why the bound is looser than it could be: something is not known of the mechanism; empty if all is."""
        if self.left.left_out > _DECIDES * delta:
            return (
                f"looser, because the given probabilities leave out up to {round_up(self.left.left_out, 3)}, "
                "which counts as an outcome that reveals its user; write them with all digits"
            )
        families = self.family.families if self.by_family and isinstance(self.family, Smallest) else {}
        if "blanket" in families and "swap" not in families and self.mechanism.law.types_unstated:
            return _UNLISTED
        return ""

    def log_delta(self, eps: FloatArray, *, tol: float) -> FloatArray:
        """log delta(eps) by the bound; -inf exactly where the local guarantee alone gives delta = 0."""
        if not self.by_family and not self._several:
            return self.bound.log_delta(self.mechanism, eps, n=self.n, tol=tol)
        if self.bound.side == "upper" and self.bound.sound:
            return profile(lambda at: self._log_delta(at, tol), eps, tol, "upper")
        return self._log_delta(eps, tol)

    def _log_delta(self, eps: FloatArray, tol: float) -> FloatArray:
        value, below = np.full(eps.shape, -np.inf), ~(eps >= self.cap)  # beyond the cap delta is 0
        if below.any():
            value[below] = self.family.log_delta(eps[below], n=self.n, tol=tol, side=self.bound.side)
        return capped(value, eps, self.cap)

    @property
    def cap(self) -> float:
        """The local guarantee of all reports of one user."""
        return _of_reports(self.left.cap, self.crowd) if self._several else self.left.cap

    def lower(self, *, delta: float, tol: float) -> float | None:
        """An eps that no analysis of this mechanism and crowd can beat; None where nothing is known."""
        try:
            return self.datasets.epsilon(n=self.n, delta=delta, tol=tol, side="lower").epsilon
        except BoundNotApplicableError:
            return None

    def lower_beside(self, epsilon: float, *, delta: float, tol: float) -> float | None:
        """The lower bound to show beside an upper one, never above it."""
        found = self.lower(delta=delta, tol=tol)
        return None if found is None else min(found, epsilon)

    def guarantee(
        self, *, delta: float, tol: float, proved: Answer | None = None, certificate: Certificate | None = None
    ) -> Guarantee:
        """The answer with its terms; its lower bound is computed when it is first read.

        ``proved`` is an answer that replaces that of :meth:`epsilon`, proved by ``certificate``.
        """
        answer = self.epsilon(delta=delta, tol=tol) if proved is None else self.capped(proved, delta)
        known = self.bound.side == "upper" and self.bound.sound
        lower = partial(self.lower_beside, answer.epsilon, delta=delta, tol=tol)
        return Guarantee(
            epsilon=answer.epsilon,
            question=self,
            find_lower=lower if known else partial(told, None),
            delta=delta,
            n=self.crowd.n,
            bound=answer.bound,
            evaluated=answer.evaluated,
            members=answer.members,
            note=answer.note,
            certified=certificate is not None,
            certificate=certificate,
            **self.terms(),
        )

    def terms(self) -> dict[str, Any]:
        """The fields of a Guarantee that do not depend on delta."""
        return {
            "sound": self.bound.sound,
            "kind": self.bound.side,
            "reports_per_user": self.crowd.reports_per_user,
            **self.asked.facts,
            **({"local_epsilon": _of_reports(self.asked.cap, self.crowd)} if self._several else {}),
            **self.crowd.terms(),
            "trust": self.crowd.terms()["trust"] + self.asked.mechanism._trust,
        }

    def must_hold(self, purpose: str) -> Resolved:
        """Itself if the bound is a guarantee; otherwise refuse it for this ``purpose`` (words after "to")."""
        if self.bound.side == "upper" and self.bound.sound:
            return self
        why = "a lower bound" if self.bound.side == "lower" else "not proved"
        raise ParameterError(
            f"bound must be a proved upper bound to {purpose}, got {self.bound.name!r}, which is {why}; "
            "use bound='auto'."
        )


def resolve(mechanism: MechanismLike | Subject, bound: str, crowd: Crowd) -> Resolved:
    """Everything that a question about a mechanism, a bound and a crowd needs, looked up once.

    Examples
    --------
    >>> resolve("general:eps0=1", "auto", Crowd.of(1000, dropouts=0.1)).n
    900
    """
    asked = subject_of(mechanism)
    left = asked.left_of(crowd)
    return Resolved(asked, left, left.bound(bound), crowd)


def subject_of(mechanism: MechanismLike | Subject) -> Subject:
    """The subject of a question, however it was named; those of specs that read no file are kept.

    Mechanisms never change, so one spec may always mean the same object.  A class of somebody else may be registered
    again with another meaning, and a file may be rewritten, so neither is kept.
    """
    if isinstance(mechanism, Subject):
        return mechanism
    if not isinstance(mechanism, str):
        return Subject(as_mechanism(mechanism))
    found = _kept.get(mechanism)
    if found is None:
        found = Subject(_parse(mechanism))
        ours = type(found.mechanism).__module__.startswith(f"{__name__.partition('.')[0]}.")
        if ours and type(found.mechanism)._file_parameters is None and not any(found.mechanism.law.files()):
            if len(_kept) >= _MOST_KEPT:
                _kept.clear()
            _kept[mechanism] = found
    return found


def as_mechanism(subject: MechanismLike) -> Mechanism:
    """A mechanism from itself, a spec string or a shuffled pair."""
    if isinstance(subject, Mechanism):
        return subject
    if isinstance(subject, str):
        return subject_of(subject).mechanism
    if isinstance(subject, ShuffledPair):
        return _SinglePair(subject)
    got, hint = type(subject).__name__, "see shuffledp.mechanism"
    if isinstance(subject, list | np.ndarray):
        hint = "wrap a matrix as FiniteRandomizer(matrix)"
    elif isinstance(subject, type):
        got, hint = f"the class {subject.__name__}", f"call it with its parameters, {subject.__name__}(...)"
    raise ParameterError(
        f"mechanism must be a mechanism, a spec such as 'general:eps0=1' or a ShuffledPair, got {got}; {hint}."
    )


def _of_reports(local_epsilon: float, crowd: Crowd) -> float:
    """The local guarantee of all reports of one user: basic composition, rounded up."""
    from ..numerics.composition.sequential import basic_composition

    return basic_composition([(local_epsilon, crowd.reports_per_user)])


class _Curve(OneByOne):
    """The curve of a bound without shuffled pairs, as a family to be composed."""

    def __init__(self, bound: Bound, mechanism: Mechanism) -> None:
        self._bound, self._mechanism = bound, mechanism

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """eps by the bound."""
        return self._bound.epsilon(self._mechanism, n=n, delta=delta, tol=tol)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta by the bound."""
        return self._bound.log_delta(self._mechanism, eps, n=n, tol=tol)


class _SinglePair(Mechanism):
    """A shuffled pair that stands for itself: both directions, nothing else known."""

    name = "round"
    _lower_scope = "this shuffled pair"
    _lists_every_type = False

    def __init__(self, pair: ShuffledPair) -> None:
        self._pair, self._family = pair, PairSet(both_directions(pair))
        self._ratio = max(pair.max_ratio, pair.swapped().max_ratio)

    @property
    def _left_out(self) -> float:
        """What the given laws leave out."""
        return self._pair.left_out

    @property
    def _ratios_both_ways(self) -> bool:
        """No: nothing is known of the others' whole laws."""
        return False

    @property
    def local_epsilon(self) -> float:
        """log of the largest ratio, rounded up."""
        return log_up(self._ratio)

    @property
    def _crowd_epsilon(self) -> float:
        """log of the largest ratio to what another message is known to contain: inf where that is nothing."""
        top, t = np.maximum(self._pair.P0, self._pair.P1), np.asarray(self._pair.t)
        sent = top > 0.0
        with np.errstate(divide="ignore", over="ignore"):
            return log_up(float((top[sent] / t[sent]).max()))

    @property
    def spec(self) -> str:
        """A shuffled pair has no spec string."""
        return "round"

    @property
    def description(self) -> str:
        """In words."""
        return "the same mechanism, dominated by the given shuffled pair"

    def _identity(self) -> dict[str, Any]:
        """Its numbers."""
        pair = (self._family.pairs(2) or ())[0]
        return {"round": {key: np.asarray(getattr(pair, key)).tolist() for key in ("P0", "P1", "t")}}

    def _blanket(self) -> Family:
        """The pair itself."""
        return self._family

    def _constant_datasets(self) -> Family:
        """The pair itself: the answer is for this law."""
        return self._family
