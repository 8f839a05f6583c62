"""An augmented shuffle: users send their values as they are; the shuffler leaves some out and adds dummies of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..._support import validation as check
from ...errors import BoundNotApplicableError, ParameterError
from ...estimation.constraints import Simplex
from ...estimation.estimate import Estimate, modeled
from ...estimation.variance import Variance, share_sampling
from ...numerics.dummies import DummyCounts
from ...numerics.family import Family
from ...numerics.pair import FloatArray
from ...randomness.sampling import Array, Source, Streams, bernoulli, source
from ..accuracy import ItemShares
from ..base import Mechanism, plain
from ..codecs import Category
from ..parameters import real, whole, word
from ..reports import Tally
from ..values import categories
from . import dummies as laws
from .raw_messages import ExactCounts

#: Pr[an item has no dummy] of "geometric", unless given.
_TAIL = 1e-15
#: More dummies of all items together are not drawn: they would not fit into memory.
_MOST_DUMMIES = 10**9


@dataclass(frozen=True, kw_only=True)
class Augmented(ItemShares, ExactCounts):
    """An augmented shuffle: plain values, of which the shuffler keeps some, among dummies that it adds of every item.

    A user sends its value without noise, encrypted for the data collector.  The shuffler, who cannot read it, keeps it
    with probability b, adds an independent random number of dummies of every item, and permutes everything.  The
    estimate of a share is (count - m)/(n b) with m the mean number of dummies; its variance among n users is
    f (1-b)/(n b) + s^2/(n b)^2 with s^2 the variance of that number.

    Parameters
    ----------
    d : int >= 2
        Number of items; they are 0, ..., d-1.
    keep : float in (0, 1]
        b, the probability with which the shuffler keeps a value.
    dummies : "poisson", "geometric" or "binomial"
        The law of the number of dummies of an item.
    mean : float in [1e-9, 1e8]
        m, the mean number of dummies of an item in the whole batch: it does not grow with the number of users.
        "geometric" takes at most this mean.
    tail : float in [1e-20, 0.5], 1e-15 if left out
        Of "geometric" alone: the probability that an item has no dummy.  Take it well below delta; a smaller one costs
        more dummies and no accuracy.

    Notes
    -----
    Trust.  The shuffler makes the noise and has to be believed for it; it must not see the values (they are
    encrypted for the collector) and must not work with the collector.  If the shuffler fails, nothing remains:
    ``local_epsilon`` is inf.  In return other users matter neither for privacy (whoever drops out or colludes) nor,
    beyond one count each, for accuracy.

    The protocol and its three dummy counts are those of Murakami, Sei and Eriguchi (arXiv:2504.07362): "binomial" with
    fair coins where 2 m is whole, "geometric" with a mode (mechanisms/multimessage/dummies.py), which with m = 1 - b is
    their protocol without delta.  Exact here: one user moves two independent counts (numerics/dummies.py), so that
    upper and lower bound agree.  (With d = 2 and b < 1 all others hold one of the two items, which may hide more.)

    Examples
    --------
    >>> import shuffledp as sdp
    >>> m = sdp.calibrate("augmented:d=100,keep=1,dummies=geometric", n=10**5, epsilon=1.0, delta=1e-8)
    >>> g = sdp.amplify(m, n=10**5, delta=1e-8)
    >>> g.epsilon <= 1.0, round(m.mean), round(1e5 * m.variance(10**5) ** 0.5, 1)
    (True, 67, 2.8)
    >>> pure = Augmented(d=100, keep=0.5, dummies="geometric", mean=0.5)  # 2 log 2 for every delta
    >>> round(sdp.amplify(pure, n=10, delta=1e-300).epsilon, 4)
    1.3863
    """

    name = "augmented"
    _mean_number = "mean"
    _noise_by_shuffler: ClassVar[bool] = True
    _trust: ClassVar[str] = (
        "; the shuffler leaves out values and adds dummies as stated, learns no value (they are encrypted for the data "
        "collector) and does not work with the data collector"
    )
    serves = ("options",)

    d: int = whole(low=2, high=2**32, hint="d counts the items")
    keep: float = real(low=0.0, high=1.0, low_open=True, hint="it is the share of values that the shuffler keeps")
    dummies: str = word(laws.WORDS, hint="it is the law of the number of dummies of an item")
    mean: float = real(low=1e-9, high=1e8, hint="it is a mean per item, of all users together", role="messages")
    tail: float | None = real(
        low=1e-20,  # far above 2^-80, to which numbers of dummies are drawn
        high=0.5,
        hint="it is the probability that an item has no dummy",
        choose=lambda m: _TAIL if m.dummies == "geometric" else None,
        optional=True,
    )

    def _check_together(self) -> None:
        """Only one of the laws has a tail."""
        if self.tail is not None and self.dummies != "geometric":
            raise ParameterError(
                f"tail must be left out with dummies = {self.dummies}, got {self.tail!r}; it is for geometric."
            )

    @property
    def description(self) -> str:
        """In words."""
        kept = "all values" if self.keep == 1.0 else f"each value with probability {plain(self.keep)}"
        return (
            f"an augmented shuffle of {self.d:,} items whose shuffler keeps {kept} and adds {self.added.words} of "
            f"dummies of every item, {float(f'{self.added.mean:.6g}'):g} on average"
        )

    @property
    def added(self) -> laws.Dummies:
        """The law of the number of dummies of an item: its mean, variance and numbers."""
        return laws.made(self.dummies, keep=self.keep, mean=self.mean, tail=self.tail or _TAIL)

    # -- accounting ---------------------------------------------------------------------------------------

    def _together(self, classes: Sequence[tuple[Mechanism, int]], missing: int) -> None:
        """None: the mean is that of the batch, whoever is in it."""
        return

    def _bundled(self, reports: int, *, n: int) -> Augmented:
        """A part of a batch of several reports per user: every dummy is put into a part at random."""
        if reports > 1 and self.dummies != "poisson":
            raise BoundNotApplicableError(
                f"reports_per_user above 1 needs dummies that can be divided among the reports, got {self.dummies}; "
                "use dummies=poisson, or run the reports as rounds of their own (count)."
            )
        return super()._bundled(reports, n=n)

    def _blanket(self) -> Family:
        """The exact law: two counts, each with one user more or less."""
        return DummyCounts(self.added, keep=self.keep, others_hide=self.d == 2)

    def _two_counts(self) -> Family:
        """Two counts are all that there is."""
        return self.law.blanket()

    # -- running it ---------------------------------------------------------------------------------------

    #: Whether the shuffler's dummies are drawn here: in the first part of a batch.
    _draws: ClassVar[bool] = True

    @property
    def _batches(self) -> int:
        return int(self._draws)

    @property
    def _further(self) -> Augmented:
        """What draws the other parts of a batch, whose dummies are drawn."""
        made = replace(self)
        object.__setattr__(made, "_draws", False)
        return made

    @property
    def codec(self) -> Category:
        """An item."""
        return Category(self.d, scratch=64)

    @property
    def _report_limits(self) -> tuple[int, int | None]:
        """A user sends its value, whatever the shuffler makes of it."""
        return 1, 1

    def _check(self, values: Array) -> Array:
        return categories(values, self.d)

    def _as_sent(self, values: Array, rng: np.random.Generator | None) -> Array:
        """The values themselves."""
        return self._check(self._inputs(values)).astype(self.codec.dtype, copy=False)

    def _at_shuffler(self, data: Array, src: Source, *, first: bool) -> Array:
        """The values that are kept, and with the first of a batch its dummies."""
        kept = self._randomize(data, src)
        return np.concatenate([kept, self._dummies(src)]) if first else kept

    def _run(self, inputs: Any, streams: Streams) -> Callable[[int, slice], Array]:
        """Every chunk is thinned out; the dummies come with the first."""

        def messages(i: int, rows: slice) -> Array:
            return self._at_shuffler(self._check(inputs[rows]), streams.source(i), first=i == 0 and self._draws)

        return messages

    def _randomize(self, values: Array, src: Source) -> Array:
        return values[bernoulli(src, self.keep, len(values))].astype(self.codec.dtype, copy=False)

    def _dummies(self, src: Source) -> Array:
        if self.d * (1.0 + self.mean) > _MOST_DUMMIES:
            raise ParameterError(
                f"d times mean must be at most {_MOST_DUMMIES:,} dummies to be run, got {self.d:,} times "
                f"{plain(self.mean)}; ask about fewer items."
            )
        return np.repeat(np.arange(self.d, dtype=self.codec.dtype), self.added.numbers(src, self.d))

    def _portable_law(self) -> dict[str, Any]:
        raise ParameterError(
            "mechanism must be one whose noise the clients make, for clients in every language and the shuffler's "
            f"service, got {self.name}, whose shuffler makes it; use pure-dump or poisson-histogram, or sdp.Shuffler."
        )

    def _infer(self, counts: Array, users: int) -> Estimate:
        return self._of_batches(counts, users, 1)

    def _infer_tally(self, tally: Tally) -> Estimate:
        """Every batch has its own dummies."""
        return self._of_batches(tally.counts, tally.users, tally.batches)

    def _of_batches(self, counts: Array, users: int, batches: int) -> Estimate:
        grain, added = 1.0 / (users * self.keep), self.added
        noise = Variance(batches * added.variance * grain**2, (1.0 - self.keep) * grain)
        value = (counts - batches * added.mean) * grain
        return modeled(value, users, Simplex(), noise, share_sampling(users), grain=grain, influence=grain)

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated share among n users: f (1-b)/(n b) + s^2/(n b)^2."""
        each = 1.0 / (n * self.keep)
        return self.added.variance * each**2 + frequency * (1.0 - self.keep) * each

    def _sum_variance(self, n: int, items: Array, share: Array) -> FloatArray:
        """Counts of different items are independent."""
        return np.asarray(items * self.variance(n) + share * (self.variance(n, 1.0) - self.variance(n)))

    def seen(self, values: ArrayLike, *, item: int = 0, rng: np.random.Generator | None = None) -> Array:
        """The count of an item in one batch for every value, of a single user who holds it: what an attacker sees.

        Who knows all other users can subtract what they sent; whether this user's item was dropped from the batch is
        all that is left to find out.  For :func:`shuffledp.audit`, which tries to.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> pure, rng = Augmented(d=3, keep=0.5, dummies="geometric", mean=0.5), np.random.default_rng(0)
        >>> found = sdp.audit(lambda x: pure.seen(x, rng=rng), inputs=[0, 1], eps0=np.log(2.0), vectorized=True)
        >>> found.violated, found.lower > 0.6
        (False, True)
        """
        held, src = self._check(self._inputs(values)), source(rng)
        item = check.whole("item", item, low=0, high=self.d - 1, hint="it is the item whose count is seen")
        kept = bernoulli(src, self.keep, len(held)) & (held == item)
        return np.asarray(self.added.numbers(src, len(held)) + kept)

    @classmethod
    def _designs(cls, sizes: Any) -> list[dict[str, Any]]:
        """All values are kept: leaving some out costs accuracy, and buys fewer dummies at the same eps."""
        return [{"d": sizes["d"], "keep": 1.0, "dummies": law} for law in laws.WORDS]
