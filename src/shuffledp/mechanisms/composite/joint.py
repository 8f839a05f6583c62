"""Joint answers: every user answers several questions, and the answers travel as one tuple."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...estimation.estimate import Estimate
from ...randomness.sampling import Array, Source
from ..base import Mechanism
from ..known.variation_ratio import VariationRatio
from ..laws import SLACK
from ..randomizer import portable_law
from ..record_codecs import Tuples
from ..registry import mechanism_in_file
from . import joint_law
from .parallel_law import tells
from .parts import JOINT, Composite, checked_answers, read_answers


@dataclass(frozen=True)
class Joint(Composite):
    """A tuple of answers: question k is answered by M_k, and one report holds all k answers.

    Parameters
    ----------
    answers : sequence of mechanisms or specs
        One for each question, 1 to 32 of them; every mechanism sends one report per user.

    Notes
    -----
    The law of a tuple is the product of the laws of its answers, and so are the blanket and the laws of what others may
    hold.  All pairs of tuples of inputs count: an answer may change or stay the same, and answers may change in
    different directions.  The pairs of the answers that are enough, and how large products are made smaller, are proved
    in ``numerics/product.py`` (for the swap bound in ``joint_law.py``).  Where M_k states no law, or there are more
    than 512 combinations, the whole matrix of a small tuple or the shuffled pair of (p, beta, q) stands for all pairs
    of an answer.  p = prod p_k, q = prod q_k, and 1 - beta >= prod (1 - beta_k).

    A tuple links the answers of a user, so one tuple is less private than k separate shuffles of the answers
    (k rounds: ``Accountant.compose`` of every M_k), which take k times as many messages.  Neither is the other
    with another n: ask both.

    Values: a list with one array per question, or (scalar questions) one array of shape (users, questions).  Questions
    may be functions of one value; the upper bound still holds, but the lower bound need not.  A report is a record
    with the fields q0, q1, ...  The estimate is that of every question, one after the other (:meth:`estimates`
    keeps them separate).

    Examples
    --------
    >>> from shuffledp.mechanisms.categorical.grr import GRR
    >>> both = Joint([GRR(eps0=1.0, d=2), GRR(eps0=0.5, d=4)])
    >>> both.spec, both.local_epsilon
    ('joint:<grr:eps0=1,d=2; grr:eps0=0.5,d=4>', 1.5)
    >>> values = [np.array([0, 1] * 4000), np.array([0, 3] * 4000)]
    >>> first, second = both.estimates(both.privatize(values, rng=np.random.default_rng(0)))
    >>> bool(abs(first.value[0] - 0.5) < 5 * first.stderr[0])
    True
    """

    name = JOINT
    _part, _asked = "answer", "question"
    _file_parameters = ()

    answers: Sequence[Mechanism | str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "answers", checked_answers(self.answers))
        super().__post_init__()

    @classmethod
    def from_file(cls, path: str | Path) -> Joint:
        """Read a list of entries with the key spec from JSON or YAML, or the specs themselves: "<spec; spec>"."""
        text = str(path).strip()
        inline = text.startswith("<") and text.endswith(">")
        specs = [part.strip() for part in text[1:-1].split(";")] if inline else read_answers(Path(path))
        return cls(checked_answers(specs, mechanism_in_file))  # a spec may come from a file, and must import nothing

    @property
    def _mechanisms(self) -> tuple[Mechanism, ...]:
        return self.answers  # type: ignore[return-value]  # checked in __post_init__

    @property
    def spec(self) -> str:
        """joint:<first; second; ...>, whether it was read from a file or not."""
        return f"{self.name}:<{self._words}>"

    @property
    def _words(self) -> str:
        return "; ".join(m.spec for m in self._mechanisms)

    @property
    def description(self) -> str:
        """In words."""
        return f"{len(self._mechanisms)} mechanisms whose answers travel as one tuple ({self._words})"

    @property
    def local_epsilon(self) -> float:
        """The sum of the answers', rounded up."""
        return _sum_up(m.local_epsilon for m in self._mechanisms)

    @property
    def _left_out(self) -> float:
        """By the laws of the answers, together."""
        return math.fsum(m.law.left_out for m in self._mechanisms)

    @property
    def _crowd_epsilon(self) -> float:
        """The sum of the answers': in metric privacy another user may hold a value further away."""
        return _sum_up(m.law.crowd_epsilon for m in self._mechanisms)

    # -- accounting ---------------------------------------------------------------------------------------------

    def variation_ratio(self) -> VariationRatio:
        """(prod p_k, 1 - prod (1 - beta_k), prod q_k), with beta at most (p-1)/(p+1)."""
        telling = [m.variation_ratio() for m in self._mechanisms if tells(m)]
        if not telling:
            raise ParameterError("an answer must depend on its input for (p, beta, q) to exist, got none; eps is 0.")
        room = 1.0 + len(telling) * 2.0**-52
        p, q = (math.prod(getattr(v, key) for v in telling) * room for key in ("p", "q"))
        beta = -math.expm1(math.fsum(math.log1p(-v.beta) if v.beta < 1.0 else -math.inf for v in telling)) * room
        most = min(1.0 if math.isinf(p) else (p - 1.0) / (p + 1.0), q - 1.0)
        return VariationRatio(p=p, beta=min(beta, most), q=q)

    def _blanket(self) -> joint_law.Rounded:
        """All pairs of tuples of inputs over the product of the blankets."""
        return joint_law.blanket(self._mechanisms)

    def _swap(self) -> joint_law.Rounded:
        """All pairs of tuples of inputs among others of every tuple of types (see joint_law.py)."""
        return joint_law.swap(self._mechanisms)

    def _constant_datasets(self) -> joint_law.Subsets:
        """Products of the constant datasets of the answers."""
        return joint_law.constant_datasets(self._mechanisms)

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """The product of the ratios of the answers, as blankets are products."""
        if not isinstance(victim, Joint) or len(victim._mechanisms) != len(self._mechanisms):
            return super()._blanket_ratio(victim)
        pairs = zip(self._mechanisms, victim._mechanisms, strict=True)
        ratios = [1.0 if own == other else own.law.blanket_ratio(other) for own, other in pairs]
        return math.prod(ratios) * (1.0 - SLACK)

    def _remade(self, parts: list[Any]) -> Joint:
        return Joint(parts)

    # -- running it ---------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Tuples:
        """All answers, one field each."""
        return Tuples(tuple(m.codec for m in self._runnable))

    def _portable_law(self) -> dict[str, Any]:
        return {"kind": "all", "laws": [portable_law(m) for m in self._runnable]}

    def _randomize(self, values: Array, src: Source) -> Array:
        return Tuples.packed([m._randomize(values[f"q{k}"], src) for k, m in enumerate(self._runnable)])

    def _tally(self, data: Array) -> Array:
        """The tally of every answer."""
        out = np.zeros(len(self._mechanisms), dtype=object)
        for k, (m, answers) in enumerate(zip(self._runnable, self.codec.answers(data), strict=True)):
            out[k] = m._tally(answers)
        return out

    def _each(self, counts: Array, users: int) -> list[Estimate]:
        return [m._infer(tally, users) for m, tally in zip(self._runnable, counts, strict=True)]

    def inputs(self) -> list[Any]:
        """Every combination of inputs, one per question."""
        parts = [m.inputs() for m in self._runnable]
        self._few_cells(math.prod(map(len, parts)) * math.prod(m.probabilities().shape[1] for m in self._runnable))
        return list(itertools.product(*parts))

    def probabilities(self) -> NDArray[np.float64]:
        """The Kronecker product of the matrices of the answers."""
        self.inputs()
        return joint_law.kronecker([m.probabilities() for m in self._runnable])

    def _columns(self, data: Array) -> NDArray[np.int64]:
        """Columns of the answers as the digits of one number, the first answer highest."""
        out = np.zeros(len(data), dtype=np.int64)
        for m, answers in zip(self._runnable, self.codec.answers(data), strict=True):
            out = out * m.probabilities().shape[1] + m._columns(answers)
        return out


def _sum_up(values: Iterator[float]) -> float:
    """The sum, rounded up unless it is exact."""
    listed = list(values)
    total = math.fsum(listed)
    enough = math.isinf(total) or sum(map(Fraction, listed)) <= Fraction(total)
    return total if enough else math.nextafter(total, math.inf)
