"""What quantiles are expected to miss by: it depends on how the numbers are spread, so a shape is assumed.

The error of a quantile is that of the distribution function divided by the density there, and where the density is
small, more than that.  So the answer is simulated: normal noise with the covariance that the mechanism declares on the
nodes of every level, for users who have the reference shape, and the very function that answers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from .._support import validation as check
from .._support.arrays import FloatArray
from .._support.reading import SAMPLE, read_text
from ..errors import ParameterError
from ..mechanisms.composite.tree_levels import TreeLevels
from ..mechanisms.randomizer import Randomizer
from ..queries.quantiles import quantile_place
from ..queries.range_answer import whole_nodes

#: Quantiles that are predicted unless others are asked for.
QUANTILES = (0.5, 0.95, 0.99)
#: Shares of users in bins of equal width; None: the usual shape.
Shape = tuple[float, ...] | None
#: In words.
USUAL = "numbers that fall off exponentially from the lower end, with a mean of about a fifth of the range"
#: Of the usual shape: how fast it falls off over the range.
_FALL = 5.0
#: Bins of a sample, and of a histogram at most.
_BINS, _MOST_BINS = 4096, 10**5
_MOST_QUANTILES = 100
#: Simulated answers, and normal numbers for them, at most.
_ANSWERS, _DRAWS, _FEWEST = 1000, 4_000_000, 64


def checked_quantiles(value: object) -> tuple[float, ...]:
    """Shares strictly between 0 and 1, each once."""
    listed = value if isinstance(value, list | tuple | np.ndarray) else None
    if listed is None or not 1 <= len(listed) <= _MOST_QUANTILES:
        raise ParameterError(
            f"quantiles must be a list of 1 to {_MOST_QUANTILES} shares, got {check.shown(value)}; "
            "write [0.5, 0.95, 0.99]."
        )
    return tuple(check.share("quantiles", share) for share in listed)


def shape_of(value: object, low: float, high: float) -> Shape:
    """Shares of bins of equal width: of a list of weights, or of the numbers in a file, which is read and kept here.

    Examples
    --------
    >>> shape_of([3, 1], 0.0, 60.0)
    (0.75, 0.25)
    """
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        return _of_sample(value, low, high)
    weights = [check.in_range("shape", x, low=0.0, high=1e300, hint="it is a weight") for x in _listed(value)]
    if not 2 <= len(weights) <= _MOST_BINS or sum(weights) <= 0.0:
        raise ParameterError(
            f"shape must be 2 to {_MOST_BINS:,} weights of bins, some of them above 0, got {check.shown(value)}; list "
            "how many users each bin has, or name a file of numbers."
        )
    total = float(np.sum(weights))
    return tuple(weight / total for weight in weights)


def _listed(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple | np.ndarray):
        return value  # type: ignore[return-value,unused-ignore]
    raise ParameterError(
        f"shape must be a list of weights or a file of numbers, got {check.shown(value)}; write shape=[5, 3, 1, 1]."
    )


def _of_sample(path: str | os.PathLike[str], low: float, high: float) -> Shape:
    """The shares of the numbers of a file, one per line; a first line that is no number is the name of the column."""
    lines = [line.strip() for line in read_text(path, SAMPLE).splitlines() if line.strip()]
    numbers = []
    for place, line in enumerate(lines):
        try:
            numbers.append(float(line))
        except ValueError:
            if place:
                raise ParameterError(
                    f"shape must be a file with one number per line, got {check.shown(line)} in line {place + 1} of "
                    f"{os.fspath(path)!r}; correct it."
                ) from None
    found = np.array(numbers)
    found = found[np.isfinite(found)]
    if not found.size:
        raise ParameterError(f"shape must be a file with numbers, got none in {os.fspath(path)!r}; write some.")
    counts, _ = np.histogram(np.clip(found, low, high), bins=_BINS, range=(low, high))
    return tuple((counts / found.size).tolist())


def in_bins(shape: Shape, bins: int) -> FloatArray:
    """The shares of this many bins: a shape is even within each of its own.

    Examples
    --------
    >>> in_bins((0.75, 0.25), 4).tolist(), in_bins((0.4, 0.3, 0.2, 0.1), 2).round(9).tolist()
    ([0.375, 0.375, 0.125, 0.125], [0.7, 0.3])
    """
    ends = np.linspace(0.0, 1.0, bins + 1)
    if shape is None:
        below = np.expm1(-_FALL * ends) / np.expm1(-_FALL)
    else:
        own = np.concatenate([[0.0], np.cumsum(shape)])
        below = np.interp(ends, np.linspace(0.0, 1.0, len(own)), own / own[-1])
    return np.diff(below)


def quantile_errors(tree: TreeLevels, bins: int, shape: Shape, quantiles: Sequence[float], n: int) -> list[float]:
    """The root-mean-square errors of quantiles of n users, as parts of the width of the range."""
    shares = in_bins(shape, bins)
    option = tree.sizes[0] > bins  # users without a number have one more leaf; here everybody has one
    leaves = np.append(shares, 0.0) if option else shares
    ends = np.arange(1, bins + option)
    levels = len(tree.sizes)
    answers = max(_FEWEST, min(_ANSWERS, _DRAWS // (len(leaves) * levels)))
    rng = np.random.default_rng(20_240_607)  # the same noise for every setting: errors then fall as budgets grow
    drawn = _drawn(leaves, levels, n, answers, rng)
    below = np.zeros((answers, len(ends)))
    pairs = np.stack([np.zeros_like(ends), ends], axis=1)
    used = whole_nodes(pairs, tree.sizes, tree.branching)
    for h, (oracle, (first, up, down, last)) in enumerate(zip(tree.oracles, used, strict=True)):
        at = np.arange(0, len(leaves), tree.branching**h)
        nodes = np.add.reduceat(leaves, at)
        estimate = np.add.reduceat(drawn[h], at, axis=1) + _noise(oracle, nodes, n // levels, answers, rng)
        sums = np.concatenate([np.zeros((answers, 1)), np.cumsum(estimate, axis=1)], axis=1)
        below += sums[:, up] - sums[:, first] + sums[:, last] - sums[:, down]
    below = np.concatenate([np.zeros((answers, 1)), below, *([] if option else [np.ones((answers, 1))])], axis=1)
    noise, truth = below.std(axis=0), np.concatenate([[0.0], np.cumsum(shares)])
    whole = np.clip(below[:, -1], 0.0, 1.0) if option else np.ones(answers)
    found = np.array([quantile_place(below, noise, share * whole) for share in quantiles]) / bins
    wanted = np.interp(quantiles, truth, np.linspace(0.0, 1.0, bins + 1))
    return [float(x) for x in np.sqrt(np.mean((found - wanted[:, None]) ** 2, axis=1))]


def _drawn(leaves: FloatArray, levels: int, n: int, answers: int, rng: np.random.Generator) -> list[FloatArray]:
    """The shares among the users who drew each level: n/levels of them, without replacement.

    Independent samples less their mean over the levels, around the truth: shares f of a leaf then have the variance
    f (1-f) (levels-1)/n, and -f (1-f)/n with those of another level.
    """
    if levels == 1:
        return [np.broadcast_to(leaves, (answers, leaves.size))]
    found = rng.multinomial(max(n // levels, 1), leaves, size=(levels, answers)) / max(n // levels, 1)
    return list(found - found.mean(axis=0) + leaves)


def _noise(oracle: Randomizer, shares: FloatArray, n: int, answers: int, rng: np.random.Generator) -> FloatArray:
    """Normal noise with the covariance of the estimated shares.

    For fixed data the variance of a sum of L shares is linear in what its users hold: w0(L) if they hold none of the
    items, w1(L) if all do.  So an entry with share f has the variance v0 + v1 f, and two entries the covariance c0 +
    c1 (f + g): a diagonal D and a matrix of rank two, D^(1/2) (I + Q S Q') D^(1/2), whose root is taken in two
    dimensions.
    """
    one, two = (np.array([float(x)]) for x in (1, 2))
    none, all_ = np.zeros(1), np.ones(1)
    (out1, in1), (out2, in2) = (
        [float(oracle._sum_variance(n, items, share)[0]) for share in (none, all_)] for items in (one, two)
    )
    v0, v1, c0 = out1, in1 - out1, 0.5 * (out2 - 2.0 * out1)
    c1 = 0.5 * (in2 - in1 - v0 - 2.0 * c0)
    diagonal = np.sqrt(np.maximum(v0 - c0 + (v1 - 2.0 * c1) * shares, 1e-300))
    z = rng.standard_normal((answers, shares.size))
    basis, upper = np.linalg.qr(np.stack([np.ones_like(shares), shares], axis=1) / diagonal[:, None])
    size, axes = np.linalg.eigh(upper @ np.array([[c0, c1], [c1, 0.0]]) @ upper.T)
    more = basis @ axes
    stretched = np.sqrt(np.maximum(1.0 + size, 0.0)) - 1.0
    return np.asarray(diagonal * (z + (z @ more * stretched) @ more.T))
