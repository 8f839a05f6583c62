"""What every mechanism declares: its parameters, what is known of its law, and how it behaves in a deployment.

A mechanism is a frozen keyword-only dataclass in a file of its own.  Its fields are made by ``parameters.py``; this
base validates them, writes the spec, and refuses a class that leaves out something it must state.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import TYPE_CHECKING, Any, ClassVar

from .._support.numbers import round_down
from ..errors import BoundNotApplicableError, ExtensionError, ParameterError
from ..numerics.pair import FloatArray
from .derived import Derived
from .law import Law
from .parameters import declared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..numerics.family import Family
    from ..numerics.pair import ShuffledPair
    from ..numerics.swap.pair import SwapPair
    from .free_setting import FreeSetting, SharedBudget
    from .known.variation_ratio import VariationRatio


class Mechanism(Derived):
    """Base of every local randomizer; subclasses are frozen keyword-only dataclasses with a ``name``.

    A mechanism never changes, so its properties are computed once (derived.py).

    ``name`` is the word of the spec string.  A class with a name must be complete: defining one that
    lacks an abstract member raises an error that names the member.

    Members that begin with an underscore are what a mechanism declares and the library reads; users of a mechanism do
    not need them.  What is declared of its law is asked for through ``law``.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> isinstance(sdp.GRR(eps0=1.0, d=4), sdp.Mechanism)
    True
    """

    name: ClassVar[str]
    #: The template of ``description``: {attribute} shows a float rounded down to six digits, {attribute!r} all of it.
    _in_words: ClassVar[str] = "{spec}"
    #: What a lower bound of this object refers to, in words.
    _lower_scope: ClassVar[str] = "this mechanism"
    #: The pair of the paper's Theorem 4.7 as printed is the exact law of this mechanism (mixDUMP), hence a bound.
    _published_law_exact: ClassVar[bool] = False
    #: _constant_datasets() lists every law that another user may have, for one input pair that stands for all pairs.
    #: None: not stated; answers say so if nothing else leads to the swap bound.
    _lists_every_type: ClassVar[bool | None] = None
    #: Whether a user sends one message; several may be hidden by others' blanket messages.
    single_message: ClassVar[bool] = True
    #: Relabeling the options or bits of a report, whatever the budget, maps any two inputs to any other two.
    _inputs_alike: ClassVar[bool] = False
    #: It is generalized randomized response on its options, under this or another name (Theorem F of docs/designs.md).
    _is_response: ClassVar[bool] = False
    #: What its inputs are, for planning: "options", "bits", "sets", "full sets", "key-values", "numbers", "vectors",
    #: "unit vectors", or other words that no task of the planner has; empty where it cannot be run.
    serves: ClassVar[tuple[str, ...]] = ()
    #: Whether users send their values as they are, and the shuffler makes the noise: nothing remains if it fails.
    _noise_by_shuffler: ClassVar[bool] = False
    #: What its guarantee rests on beside an honest shuffler and honest users, to follow their terms; empty: nothing.
    _trust: ClassVar[str] = ""
    #: Parameters that stand before the file name in a spec that ends in one ("finite:FILE"); None: no file.
    _file_parameters: ClassVar[tuple[str, ...] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            return
        missing = [n for n in dir(cls) if getattr(inspect.getattr_static(cls, n), "__isabstractmethod__", False)]
        if missing:
            raise ExtensionError(
                f"{cls.__name__} must define {', '.join(missing)} to be a mechanism, got a class without them; "
                "add what is missing, or leave out its name if it is a base for others."
            )

    def __post_init__(self) -> None:
        """Check every declared parameter, in order, then what they must satisfy together."""
        for name, parameter in declared(type(self)).items():
            object.__setattr__(self, name, parameter.checked(name, getattr(self, name), self))
        self._check_together()

    def __getstate__(self) -> dict[str, Any]:
        """Its parameters; what is derived from them is made again."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    def _check_together(self) -> None:
        """Refuse parameters that are in range one by one but not together; nothing to do by default."""

    # -- what it is called ------------------------------------------------------------------------------------

    @property
    def spec(self) -> str:
        """The spec string that makes this mechanism again: its parameters, the number of messages last."""
        parameters = declared(type(self))
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}  # type: ignore[arg-type]
        last = [name for name in values if name in parameters and parameters[name].role == "messages"]
        names = [name for name in values if name not in last] + last
        return f"{self.name}:" + ",".join(f"{n}={plain(values[n])}" for n in names if values[n] is not None)

    @property
    def description(self) -> str:
        """The mechanism in words, to follow "all running"."""
        return self._in_words.format_map(_Shown(self))

    @property
    def law(self) -> Law:
        """What is known of its law, for bounds, accountants, certificates and ledgers."""
        return Law(self)

    # -- what is guaranteed without a shuffler ----------------------------------------------------------------

    @property
    def local_epsilon(self) -> float:
        """The eps of one report on its own: the parameter eps0 unless a mechanism says otherwise (it may be inf)."""
        eps0: float | None = getattr(self, "eps0", None)
        if eps0 is None:
            raise BoundNotApplicableError(f"{self.name} does not state its local guarantee; use another bound.")
        return eps0

    @property
    def _crowd_epsilon(self) -> float:
        """log of the largest ratio between two users' reports; in metric privacy more than local_epsilon."""
        return self.local_epsilon

    @property
    def _ratios_both_ways(self) -> bool:
        """Whether crowd_epsilon bounds the ratio of two users' laws both ways, as a local guarantee does."""
        return True

    @property
    def _left_out(self) -> float:
        """Probability that its law, as given, leaves out; bounds count it as an outcome that reveals its user."""
        return 0.0

    @property
    def neighbors(self) -> str:
        """The changes of one user's value that the guarantee covers."""
        return "replace-one"

    # -- what is known of its law -----------------------------------------------------------------------------

    def variation_ratio(self) -> VariationRatio:
        """The parameters (p, beta, q) of the paper's Definition (properties I and II)."""
        raise BoundNotApplicableError(f"{self.name} has no (p, beta, q) parameters; choose another bound.")

    def _blanket(self) -> Family | Sequence[ShuffledPair]:
        """All input pairs over the privacy blanket, listed or as a family: an upper bound that needs the whole law."""
        raise BoundNotApplicableError(
            f"bound 'blanket' needs the whole law of the mechanism and {self.name} does not state one; "
            "use bound='variation-ratio'."
        )

    def _swap(self) -> Family:
        """All input pairs among others of every type, by the swap bound: it needs the law of each type."""
        listed = self._types()
        if listed is None:
            whole = self._whole_matrix()
            if whole is not None:
                from .known.finite import FiniteRandomizer

                return FiniteRandomizer(whole).law.swap()
            raise BoundNotApplicableError(
                f"bound 'swap' needs the laws of all that another user may hold, and {self.name} does not list them; "
                "use bound='auto'."
            )
        from ..numerics.swap.family import SwapSet
        from ..numerics.swap.pair import among

        return SwapSet([among(types, self.law.blanket()) for types in listed])

    @property
    def _binary_budget(self) -> tuple[float, float] | None:
        """eps0, rounded down and up, where this is binary randomized response under another name; None: it is not."""
        return None

    def _binary(self) -> Family:
        """All datasets of binary randomized response."""
        if self._binary_budget is None:
            raise BoundNotApplicableError(
                f"bound 'binary' is for binary randomized response, whatever its name, and {self.name} is another "
                "mechanism; use bound='auto'."
            )
        from ..numerics.binary import BinaryResponse

        return BinaryResponse(*self._binary_budget)

    def _types(self) -> Iterable[Sequence[ShuffledPair]] | None:
        """For each of a few input pairs that stand for all: the pair among every type of other users; None: unknown."""
        from ..numerics.family import EVERY

        return [self.law.constant_datasets().pairs(EVERY) or ()] if self._lists_every_type else None

    def _whole_matrix(self) -> FloatArray | None:
        """The probability matrix of all inputs, where the law is finite, small and known to be complete."""
        return None

    def _constant_datasets(self) -> Family | Sequence[ShuffledPair]:
        """Exact divergences of datasets in which all others hold one value, in the same way: a lower bound."""
        raise BoundNotApplicableError(f"no dataset is known for {self.name}, so it has no lower bound.")

    def _two_counts(self) -> Family:
        """The paper's Theorem 5.1: the same datasets through two counts."""
        raise BoundNotApplicableError(
            f"bound 'variation-ratio-lower' needs the whole law of the mechanism and {self.name} does not state one; "
            "use a mechanism with a known law, such as finite."
        )

    def _among(self, pairs: Sequence[ShuffledPair]) -> Family:
        """These pairs, hidden by the messages of n users of this mechanism: one message each unless overridden."""
        from ..numerics.family import PairSet

        return PairSet(pairs)

    def _blanket_pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The input pairs over the blanket; None if there are too many or the mechanism is analyzed in another way."""
        return self.law.blanket().pairs(most)

    def _dominating_pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """Pairs that dominate every ordered input pair in convex order, in one direction at least; None: not known.

        Of every input pair one and the same listed pair, or its swap, dominates a P0/t - b P1/t for all a, b >= 0, as
        products of laws need (numerics/product.py).  A pair that is its own swap does so if it does at a = 1, b >= 1.
        """
        try:
            return self.law.blanket().pairs(most)
        except BoundNotApplicableError:
            return None

    def _swap_members(self, most: int) -> Sequence[SwapPair] | None:
        """The victim pairs of :meth:`_swap` among all types, where products of them are enough; None: not known.

        Of every input pair and every type the listed ones must contain the law of (P0/t, P1/t), a mixture with it, or
        a mean-preserving spread of it: dominance at a = 1, b = E alone is not enough for the answers of a tuple.
        """
        from ..numerics.swap.family import SwapSet

        family = self.law.swap()
        return family.members(most) if type(family) is SwapSet else None

    def _dataset_pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """Constant datasets as shuffled pairs; None if there are too many or they are analyzed in another way."""
        return self.law.constant_datasets().pairs(most)

    # -- deployments ------------------------------------------------------------------------------------------

    def _other_messages(self, n: int) -> int:
        """Messages that certainly hide the victim's: one from each other user unless overridden."""
        return n - 1

    def _without(self, missing: int, *, n: int) -> Mechanism:
        """The mechanism that the remaining users run if ``missing`` of n users, and their messages, are absent."""
        return self

    def _bundled(self, reports: int, *, n: int) -> Mechanism:
        """One of the ``reports`` separate shuffles into which a batch may be divided where users send several reports.

        Every part holds one report of each of the n users, and its share of the blanket messages, divided by a
        public rule (numerics/composition/sequential.py).  The mechanism itself where each report brings all that hides
        it.
        """
        if reports > 1 and type(self)._among is not Mechanism._among:
            raise ParameterError(
                f"reports_per_user must be 1 for {self.name}, got {reports}: its blanket messages are counted per user "
                "or in all, not per report; run the reports as rounds of their own (count)."
            )
        return self

    def _together(self, classes: Sequence[tuple[Mechanism, int]], missing: int) -> Mechanism | None:
        """Classes of users who differ in how many blanket messages they send: one mechanism for the same batch.

        ``missing`` of them are absent, those who would send most.  None where own messages differ too, or where no
        setting stands for the sum.
        """
        return None

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """min over reports y of w_self(y)/w_victim(y), w the blanket, rounded down; 0 where these users do not help.

        Defined where two mechanisms write the same reports: it says how well users of one class hide
        a victim of another (mixed budgets).
        """
        raise BoundNotApplicableError(
            f"classes must be of one family with the same reports, got {self.spec} and {victim.spec}; "
            "give one mechanism with several budgets, or amplify each on its own."
        )

    # -- settings and identity --------------------------------------------------------------------------------

    @classmethod
    def _free_setting(cls, given: dict[str, Any]) -> FreeSetting | None:
        """The setting that ``given`` leaves open and calibration may choose; None if there is none."""
        from .free_setting import open_setting

        for name, parameter in declared(cls).items():
            if parameter.free is not None:
                free = parameter.free._replace(limits=parameter.free.limits or parameter.limits)
                return open_setting(cls, given, name, whole=parameter.whole, **free._asdict())
        return None

    def _shared_budget(self) -> SharedBudget | None:
        """One budget of all its parts, for a mechanism that is made of others; None: solve for a parameter."""
        return None

    def _identity(self) -> dict[str, Any]:
        """What a ledger or certificate stores to make this mechanism again: its spec, or its law."""
        return {"spec": self.spec}

    def _files(self) -> Iterator[str]:
        """The files that this mechanism was read from."""
        source = getattr(self, "source", "")
        if source:
            yield source


class _Shown(dict[str, Any]):
    """The attributes of a mechanism, for its description."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._of = mechanism

    def __missing__(self, name: str) -> object:
        value = getattr(self._of, name)
        return _Number(value) if isinstance(value, float) else value


class _Number(float):
    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else round_down(self, 6)

    def __repr__(self) -> str:
        return plain(float(self))


def plain(value: object) -> str:
    """A number in the shortest form that reads back to itself; several with colons between them."""
    if isinstance(value, float):
        if math.isinf(value):
            return "inf"
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if isinstance(value, tuple):
        return ":".join(map(plain, value))
    return str(value)
