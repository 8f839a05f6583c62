"""The task of heavy hitters: strings that many users hold, which nobody can list in advance.

Users draw one of H levels and one of K hash functions (mechanisms/composite/prefix_hash.py, which states the variance);
the shares come from the last level, the n/H users of which report the whole string.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

from .. import queries
from .._support import validation as check
from .._support.units import users_of
from ..calibration.asked import question
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..mechanisms.randomizer import Randomizer
from ..queries.base import Query
from .candidates import Candidate, Refusal, runnable
from .frequency_tasks import ShareTask
from .tasks import Labels, Predicted, Sensitivity

#: The error is stated for this many strings, all equally common.
_STRINGS = 100
#: Buckets that are tried.
_BUCKETS = (2, 4, 8, 16, 32, 64, 128, 256)
#: Standard errors above the threshold from which on a string is found nearly always: all its prefixes must be.
_SURE = 2.5


@dataclass(frozen=True, kw_only=True)
class StringsTask(ShareTask):
    """A string of up to ``length`` bytes per user; the answer is the common ones, and their shares."""

    name: ClassVar[str] = "heavy hitters"
    usual_column: ClassVar[str] = "text"
    has_labels: ClassVar[bool] = False
    measure: ClassVar[str] = "share of users who hold a string, where 100 strings are held by 1 % each"
    error_of: ClassVar[str] = "holders of a string of 1 %"

    length: int
    false_positives: float = 0.05
    most: int = 200

    def __post_init__(self) -> None:
        hint = "it counts the bytes of a string"
        vars(self).update(
            length=check.whole("length", self.length, low=1, high=256, hint=hint),
            false_positives=check.inside("false_positives", self.false_positives, 0.0, 1.0),
            most=check.whole("most", self.most, low=1, high=10_000, hint="it is how many prefixes are kept"),
        )

    @property
    def assumed(self) -> str:
        """How the strings are taken to be spread."""
        return f"{_STRINGS} strings that are equally common"

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """The bytes of a string."""
        return {"byte strings": {"length": self.length}}

    @property
    def sizes(self) -> dict[str, Any]:
        """Without what is as usual."""
        usual = {"false_positives": 0.05, "most": 200}
        return {key: value for key, value in super().sizes.items() if usual.get(key) != value}

    def rows(self, name: str, kind: str, n: int) -> Iterator[Candidate | Refusal]:
        """One row for every number of buckets: the default of the mechanism would change with its budget."""
        for buckets in _BUCKETS:
            row = question(name, n, None, {"length": self.length, "l": buckets})
            yield Candidate(name, row, self.accuracy, runnable, f"l = {buckets}")

    def accuracy(self, mechanism: Mechanism, n: int) -> Accuracy:
        """At the reference; the largest of any string is that of one among many holders of another."""
        m: Any = mechanism
        share = 1.0 / _STRINGS
        even = m._share_variance(n, share, (1.0 - share) * share)
        worst = max(m._share_variance(n, f, (1.0 - f) ** 2) for f in (0.0, 0.5, 1.0))
        return Accuracy(math.sqrt(even), math.sqrt(even), math.sqrt(worst))

    def predicted(
        self, mechanism: Mechanism, variant: str, accuracy: Accuracy, *, n: int, users: int
    ) -> list[Predicted]:
        """The error of a share, and from how many holders on a string is found nearly always."""
        found = super().predicted(mechanism, variant, accuracy, n=n, users=users)
        m: Any = mechanism
        spread = math.sqrt(m._share_variance(n, 0.0, 1.0 / _STRINGS))
        chance = self.false_positives / ((m.levels - 1) * 256**m.step * _STRINGS)
        least = (NormalDist().inv_cdf(1.0 - chance) + _SURE) * spread * users
        return [*found, Predicted("strings are found from", least, "users", users_of(least, users))]

    @property
    def sensitivity(self) -> Sensitivity:
        """Two counts move by one, of strings that are known in advance."""
        return Sensitivity(2.0, math.sqrt(2.0))

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """Strings in one column; hash functions are drawn anew unless the mechanism names some."""
        fresh = (part for part in m.spec.split(",") if not part.startswith("salt="))
        spec = m.spec if getattr(m, "salt", 0) else ",".join(fresh)
        words: dict[str, Any] = {"length": self.length, "false_positives": self.false_positives, "most": self.most}
        return queries.HeavyHitters(column=column, mechanism=spec, **words)
