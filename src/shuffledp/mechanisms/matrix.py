"""Mechanisms whose law is a matrix: everything is derived from it, the bounds, the sampler and the estimate."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParameterError
from ..estimation.constraints import Simplex
from ..estimation.estimate import Estimate
from ..estimation.variance import Variance, share_sampling
from ..numerics.binary import budgets
from ..numerics.datasets import constant_datasets, two_count_datasets
from ..numerics.family import Family, PairSet
from ..numerics.matrix import blanket_pairs, swap_pairs
from ..numerics.pair import FloatArray, ShuffledPair, distinct, log_up
from ..randomness.lookup import AliasTable
from ..randomness.sampling import Array, Source
from ..randomness.thresholds import cuts
from .codecs import Category
from .known.variation_ratio import VariationRatio
from .randomizer import Randomizer
from .values import categories

#: Total variations within rounding of the largest that are summed again exactly.
_FEW_TIES = 256
#: A matrix whose smallest singular value is relatively below this is not inverted.
_SINGULAR = 1e-10
#: Inputs that a sentence names.
_MOST_NAMED = 6
#: Inputs up to which the covariance of the estimate is kept.
_MOST_COVARIANCE = 2000


class MatrixRandomizer(Randomizer):
    """A mechanism with a small finite law: ``_rows[x][y]`` is the probability of output y on input x.

    Upper bounds take the maximum over all ordered input pairs; pairs are discarded only by a sound bound.

    The sampler works on whole numbers.  A row of floats is a law only up to rounding; the sampler divides it by its
    exact sum, so every probability is the accounted one to within a relative 2^-50, which is charged (and an absolute
    2^-128).  Frequencies are estimated by least squares, where an output that is sent more often (if all
    inputs are equally frequent) has a smaller weight (McKenna, Maity, Mazumdar, Miklau, PVLDB 2020): unbiased
    whatever the weights, and the inverse where the matrix is square.
    """

    #: The parameter that defines the law, and the advice if some inputs cannot be distinguished.
    _made_of: ClassVar[str] = "matrix"
    _merge: ClassVar[str] = "merge them into one input"

    @property
    @abstractmethod
    def _rows(self) -> FloatArray:
        """The law: rows = inputs, columns = outputs."""

    @property
    def _law(self) -> FloatArray:
        """As it is accounted for: ``_rows``, unless these leave something out."""
        return self._rows

    # -- its law ----------------------------------------------------------------------------------------------

    @property
    def _worst_ratio(self) -> float:
        """max over outputs of max_x R / min_x R."""
        top, bottom = self._law.max(axis=0), self._law.min(axis=0)
        used = top > 0
        if np.any(bottom[used] == 0):
            return math.inf
        with np.errstate(over="ignore"):  # a ratio beyond the largest double is inf
            ratio = float(np.max(top[used] / bottom[used]))
        # rows that differ by less than the rounding of a ratio do not coincide
        return math.nextafter(1.0, 2.0) if ratio == 1.0 and np.any(top > bottom) else ratio

    @property
    def local_epsilon(self) -> float:
        """log of the largest ratio between two inputs, rounded up."""
        return log_up(self._worst_ratio)

    @property
    def _largest_variation(self) -> float:
        """Largest total variation, correctly rounded: the largest few in floats are summed again exactly."""
        rows = self._law[distinct(self._law)[0]]
        found = [(0.5 * np.abs(rows[i + 1 :] - rows[i]).sum(axis=1), i) for i in range(len(rows) - 1)]
        most = max((float(gaps.max()) for gaps, _ in found), default=0.0)
        ties = [(i, i + 1 + int(j)) for gaps, i in found for j in np.flatnonzero(gaps >= most - 1e-13)]
        if len(ties) <= _FEW_TIES:
            most = max((_variation(rows[i], rows[j]) for i, j in ties), default=0.0)
        # The entries are rounded too, by 2^-53 a row in sum; beside a large beta the evaluator's slack covers it.
        apart = bool(np.any(self._law != self._law[0]))  # perhaps by so little that rows count as alike
        return most + 2.0**-50 if apart and most < 0.125 else most

    def variation_ratio(self) -> VariationRatio:
        """p = q = largest ratio between two inputs, beta = largest total variation."""
        ratio = self._worst_ratio
        if ratio <= 1.0:
            raise ParameterError(
                "matrix must have two different rows for (p, beta, q) to exist, got rows that coincide; "
                "its output says nothing about the input and eps is 0."
            )
        ratio = max(ratio, 1.0 + 2.0**-45)  # a smaller p - 1 is lost when p alpha is rounded; delta rises with p and q
        most = 1.0 if math.isinf(ratio) else (ratio - 1.0) / (ratio + 1.0)
        return VariationRatio(p=ratio, beta=min(self._largest_variation, most), q=ratio)

    def _blanket(self) -> Family:
        """All ordered input pairs over omega_y = min_x R(x)_y."""
        return blanket_pairs(self._law)

    def _swap(self) -> Family:
        """All ordered input pairs among others who hold any input."""
        return swap_pairs(self._law)

    @property
    def _binary_budget(self) -> tuple[float, float] | None:
        """Of a symmetric law on two outputs."""
        if self._law.shape != (2, 2) or np.any(self._law[0] != self._law[1, ::-1]):
            return None
        return budgets(self.local_epsilon) if 0.0 < self.local_epsilon < math.inf else None

    def _constant_datasets(self) -> PairSet:
        """t = R(x*) for the pairs and x* that are easiest to distinguish."""
        return constant_datasets(self._rows)

    def _two_counts(self) -> PairSet:
        """Theorem 5.1 with the six masses of each pair and x*."""
        return two_count_datasets(self._rows)

    def _dominating_pairs(self, most: int) -> list[ShuffledPair] | None:
        """Every ordered pair of rows over the blanket, also where two nearly agree; None if they are too many."""
        rows = self._law[distinct(self._law)[0]]
        if len(rows) * (len(rows) - 1) > most:
            return None
        omega = rows.min(axis=0)
        return [ShuffledPair(P0=a, P1=b, t=omega) for a, b in itertools.permutations(rows, 2)]

    def inputs(self) -> list[int]:
        """0, 1, ..., one per row."""
        return list(range(len(self._rows)))

    def probabilities(self) -> FloatArray:
        """A copy of the matrix."""
        return self._rows.copy()

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """The number of the output."""
        return Category(self._rows.shape[1], scratch=96)

    def _check(self, values: Array) -> Array:
        return categories(values, len(self._rows))

    def _weights(self) -> list[list[int]]:
        """The rows as whole numbers, exactly: every float is a multiple of a power of two."""
        rows = [[entry.as_integer_ratio() for entry in row] for row in self._rows.tolist()]
        unit = max(below for row in rows for _, below in row)
        return [[above * (unit // below) for above, below in row] for row in rows]

    @property
    def _table(self) -> AliasTable:
        return AliasTable(self._weights())

    def _portable_law(self) -> dict[str, Any]:
        return {"kind": "table", "rows": [cuts(row) for row in self._weights()]}

    def _randomize(self, values: Array, src: Source) -> Array:
        return self._table.draw(src, values)

    @property
    def _inverse(self) -> FloatArray:
        """Maps the shares of the outputs to frequencies: A with A R^T = 1, the best such at equal frequencies."""
        shares = self._rows.sum(axis=0)
        scale = np.divide(1.0, np.sqrt(shares), where=shares > 0.0, out=np.zeros_like(shares))
        left, size, right = np.linalg.svd(self._rows * scale, full_matrices=False)
        null = size <= _SINGULAR * size[0]
        if null.any() or len(self._rows) > len(size):
            raise ParameterError(self._alike(left[:, ~null]))
        return np.asarray((left / size) @ right * scale)

    def _alike(self, seen: FloatArray) -> str:
        """Names the inputs that cannot be distinguished; ``seen`` spans the identifiable differences of frequencies."""
        places = np.flatnonzero(1.0 - np.einsum("ij,ij->i", seen, seen) > 1e-6)
        named = [str(x) for x in places[:_MOST_NAMED]]
        more = f" and {len(places) - len(named)} more" if len(places) > len(named) else ""
        same = np.allclose(self._rows[places], self._rows[places[0]], rtol=1e-9, atol=0.0)
        return (
            f"{self._made_of} must distinguish all inputs to estimate their frequencies, got inputs "
            f"{', '.join(named)}{more}, {'which have the same law' if same else 'of which mixtures have the same law'}"
            f"; {self._merge}."
        )

    def _infer(self, counts: Array, users: int) -> Estimate:
        return inverted(counts, users, self._rows, self._inverse)

    def variance(self, n: int, frequencies: ArrayLike | None = None) -> FloatArray:
        """Variance of every estimated frequency (for equal frequencies unless others are given)."""
        count = len(self._rows)
        f = np.full(count, 1.0 / count) if frequencies is None else np.asarray(frequencies, dtype=float)
        return np.asarray((self._inverse**2 @ (f @ self._rows) - f) / n)


def _variation(a: FloatArray, b: FloatArray) -> float:
    """sum over a > b of a - b, in one exact sum."""
    more = a > b
    return math.fsum([*a[more].tolist(), *(-b[more]).tolist()])


def inverted(counts: NDArray[Any], users: int, rows: FloatArray, inverse: FloatArray) -> Estimate:
    """The frequencies ``inverse @ shares``, where ``inverse @ rows.T`` is the identity: unbiased.

    Standard errors come from the law at the nearest valid frequencies: small counts cannot give them.

    Examples
    --------
    >>> rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> inverted(np.array([600, 400]), 1000, rows, np.linalg.inv(rows.T)).value.round(6).tolist()
    [0.7, 0.3]
    """
    value = inverse @ (np.asarray(counts, dtype=np.float64) / users)
    nearest = Simplex().nearest(value)
    # squares[i, x]: mean square of what a report of a user at x adds to the frequency of input i
    squares = inverse**2 @ rows.T
    own, away = np.diag(squares), 1.0 - nearest
    even = (squares.sum(axis=1) - own) / max(len(rows) - 1, 1)  # where nobody seems to be elsewhere
    known = away > 1e-12
    rest = np.where(known, (squares @ nearest - own * nearest) / np.where(known, away, 1.0), even)
    return Estimate(
        value=value,
        stderr=np.sqrt(np.maximum(squares @ nearest - nearest, 0.0) / users),
        n=users,
        covariance=_covariance(nearest, users, rows, inverse) if len(rows) <= _MOST_COVARIANCE else None,
        constraint=Simplex(),
        noise=Variance(rest / users, (own - 1.0 - rest) / users),
        sampling=share_sampling(users),
        grain=np.ptp(inverse, axis=1) / users,
        influence=np.ptp(inverse, axis=1) / users,
    )


def _covariance(frequencies: FloatArray, n: int, rows: FloatArray, inverse: FloatArray) -> FloatArray:
    """[A diag(shares) A^T - diag(frequencies)]/n with A the inverse: users are fixed, reports are random."""
    shares = frequencies @ rows
    return np.asarray(((inverse * shares) @ inverse.T - np.diag(frequencies)) / n)
