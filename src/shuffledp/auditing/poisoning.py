"""poison: what false users can do to an answer, simulated, and whether a test of consistency notices it.

The attacks are those of Cao, Jia, Gong (USENIX Security 2021): random reports (RPA), the target value randomized as the
mechanism demands (RIA), and the report that moves the answer most (MGA).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from .._support.by_name import by_name
from .._support.json_ready import json_object
from .._support.numbers import round_up
from ..errors import ParameterError
from ..estimation.constraints import FixedSum, Simplex
from ..estimation.estimate import Estimate
from ..mechanisms.base import Mechanism
from ..mechanisms.codecs import Category, Numbers, PackedBits
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.registry import mechanism as parse
from ..mechanisms.values import as_array

ATTACKS = ("maximal-gain", "targeted", "random")
#: Reports of the target among which the one that moves the answer most is looked for.
_POOL = 512
#: Honest reports beside which it is tried: an estimate may need some of every kind.
_BESIDE = 200
#: The test of consistency raises a false alarm in at most about this share of honest collections.
ALARM = 0.01


@dataclass(frozen=True)
class Poisoning:
    """What false users did to one entry of an answer, over several repetitions of the collection.

    Attributes
    ----------
    mechanism, attack : the spec, and what the false users sent
    honest, false : users of each kind
    entry : which entry of the estimate they wanted to raise
    gain, gain_stderr : how far it moved on average, and the standard error of that average
    worst : the most that false reports (or messages) of this number could move it, by the law; inf: without limit
    detected, false_alarms : shares of repetitions in which the answer contradicts what is known about it, with the
        false reports and without them
    repetitions : how often the collection was simulated

    Examples
    --------
    >>> import shuffledp as sdp
    >>> found = sdp.poison("grr:eps0=1,d=4", [0] * 900, false=100, target=3, rng=np.random.default_rng(0))
    >>> 0.2 < found.gain <= found.worst
    True
    """

    mechanism: str
    attack: str
    honest: int
    false: int
    entry: int
    gain: float
    gain_stderr: float
    worst: float
    detected: float
    false_alarms: float
    repetitions: int

    def __str__(self) -> str:
        """In words."""
        worst = "without limit" if math.isinf(self.worst) else f"by {round_up(self.worst, 3)} at most"
        return (
            f"{self.false:,} false beside {self.honest:,} honest users of {self.mechanism} ({self.attack}) moved entry "
            f"{self.entry} by {self.gain:.4g} on average; they could move it {worst}. "
            f"The answer contradicted what is known about it in {100 * self.detected:.0f} % of {self.repetitions} "
            f"collections ({100 * self.false_alarms:.0f} % without false users)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return json_object(vars(self))


@by_name
def poison(
    mechanism: Mechanism | str,
    values: ArrayLike,
    *,
    false: int,
    target: Any,
    attack: str = "maximal-gain",
    entry: int | None = None,
    repetitions: int = 20,
    rng: np.random.Generator | None = None,
) -> Poisoning:
    """Simulate ``false`` users beside the honest ones who hold ``values``, and measure how far an entry moves.

    Parameters
    ----------
    mechanism : mechanism or spec
        Any that can be run.
    values : what the honest users hold, one entry or row each
    false : how many false users there are; each sends one report, or as many messages as an honest one
    target : the value that the false users want to seem common
    attack : "maximal-gain" (the report that raises the entry most, among 512 of the target and the ends of the range of
        numbers), "targeted" (the target, randomized as it should be) or "random" (a random category or row of bits;
        other reports are those of the honest users' values, drawn at random)
    entry : the entry of the estimate that is looked at; by default the target's own, or the only one
    repetitions : how often the collection is simulated

    The test of consistency asks whether the interval of an entry lies outside of the range that is known, or whether
    entries whose sum is known add up to something else, at a level of 1 % for all of them together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = poison("optimized-unary:eps0=1,d=4", [0, 1, 2] * 300, false=60, target=3, attack="targeted", rng=rng)
    >>> round(found.gain, 1), found.attack
    (0.1, 'targeted')
    """
    m = parse(mechanism) if isinstance(mechanism, str) else mechanism
    if not isinstance(m, Randomizer):
        got = m.spec if isinstance(m, Mechanism) else check.shown(m, 60)
        raise ParameterError(f"mechanism must be one that can be run, got {got}; choose a mechanism by its name.")
    check.one_of("attack", attack, ATTACKS)
    many = check.whole("false", false, low=1, high=10**7, hint="it is how many users are false")
    often = check.whole("repetitions", repetitions, low=2, high=10_000, hint="it is how often to simulate")
    source = np.random.default_rng() if rng is None else rng
    held, wanted = as_array("values", values), as_array("target", [target])
    gains, alarms = [], []
    for _ in range(often):
        reports = m.privatize(held, rng=source)
        before = m.estimate(reports)
        place = _place(before, m, target, entry)
        lies = _lies(m, attack, held, wanted, many, place, source)
        after = m.estimate(np.concatenate([reports.data, lies]), users=reports.users + many, for_release=False)
        gains.append(float(after.value.ravel()[place] - before.value.ravel()[place]))
        alarms.append([contradicted(after), contradicted(before)])
        # every false report at most replaces one of as many honest users
        worst = float(after.poisoned(len(lies)).ravel()[place]) if after.influence is not None else math.inf
    detected, raised = np.mean(alarms, axis=0).tolist()
    return Poisoning(
        mechanism=m.spec,
        attack=attack,
        honest=reports.users,
        false=many,
        entry=place,
        gain=float(np.mean(gains)),
        gain_stderr=float(np.std(gains, ddof=1) / math.sqrt(often)),
        worst=worst,
        detected=detected,
        false_alarms=raised,
        repetitions=often,
    )


def _place(estimate: Estimate, m: Randomizer, target: Any, entry: int | None) -> int:
    """The entry that is looked at."""
    size = estimate.value.size
    if entry is None:
        if size == 1:
            return 0
        if not m._takes and m._number_range is None and isinstance(target, int | np.integer):
            return check.whole("target", target, low=0, high=size - 1, hint="it is the value to seem common")
        raise ParameterError(
            f"entry must be given for {m.name}, whose estimate has {size:,} entries, got None; name one of them."
        )
    return check.whole("entry", entry, low=0, high=size - 1, hint="it is a place in the estimate")


def _lies(
    m: Randomizer,
    attack: str,
    held: NDArray[Any],
    wanted: NDArray[Any],
    many: int,
    place: int,
    rng: np.random.Generator,
) -> NDArray[Any]:
    """What the false users send."""
    if attack == "targeted":
        return np.asarray(m.privatize(np.repeat(wanted, many, axis=0), rng=rng).data)
    if attack == "random":
        return _random(m, held, many, rng)
    pool = np.asarray(m.privatize(np.repeat(wanted, _POOL, axis=0), rng=rng).data)
    each = len(pool) / _POOL  # messages of a user
    if isinstance(m.codec, Numbers) and m.codec.dtype.kind in "iu":
        ends = np.iinfo(m.codec.dtype)
        extreme = [np.full(m.codec.shape, end, dtype=m.codec.dtype) for end in (ends.min, ends.max)]
        pool = np.concatenate([pool, np.array(extreme)])
    some = m.privatize(held[:_BESIDE], rng=rng)

    def raised(report: NDArray[Any]) -> float:
        with_it = m.estimate(np.concatenate([some.data, report[None]]), users=some.users + 1, for_release=False)
        return float(with_it.value.ravel()[place])

    best = max(np.unique(pool, axis=0), key=raised)
    return np.repeat(best[None], max(1, round(many * each)), axis=0)


def _random(m: Randomizer, held: NDArray[Any], many: int, rng: np.random.Generator) -> NDArray[Any]:
    """Reports that say nothing: uniform where the form of a report allows it, else of values drawn at random."""
    codec = m.codec
    if m.single_message and isinstance(codec, Category):
        return rng.integers(codec.size, size=many).astype(codec.dtype)
    if m.single_message and isinstance(codec, PackedBits) and codec.ones is None:
        return np.packbits(rng.integers(2, size=(many, codec.width), dtype=np.uint8), axis=1)
    return np.asarray(m.privatize(held[rng.integers(len(held), size=many)], rng=rng).data)


def contradicted(estimate: Estimate) -> bool:
    """Whether an estimate contradicts what is known about the truth, at a level of 1 % for all entries together.

    Examples
    --------
    >>> contradicted(Estimate(value=np.array([0.6, -0.4]), stderr=np.full(2, 0.05), n=100, constraint=Simplex()))
    True
    """
    known = estimate.constraint
    if known is None or not np.all(np.isfinite(estimate.stderr)):
        return False
    level = 1.0 - ALARM / (2.0 * estimate.value.size)
    low, high = estimate.interval(level)
    least, most = known.limits
    outside = bool(np.any(low > most) or np.any(high < least))
    parts = estimate.moments
    if outside or parts is None or not isinstance(known, Simplex | FixedSum):
        return outside
    total, size = (known.total if isinstance(known, FixedSum) else 1), estimate.value.size
    # the sum of all entries: every weight is 1 (estimation/moments.py)
    square = parts.square * size + parts.total * size**2 + (parts.cross * size + parts.own) * total
    spread = math.sqrt(max(square - total**2, 0.0) / parts.reports)
    z = NormalDist().inv_cdf(1.0 - 0.25 * ALARM)
    return abs(float(estimate.value.sum()) - total) > z * spread + 1e-9 * size
