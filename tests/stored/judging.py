"""What an answer is, and whether a new one is as good as the stored one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: Answers are asked for with this relative accuracy (errors go to the safe side), where a question can say so.
TOL = 1e-6
#: No answer may move to the wrong side by more; a little room for the last digits.
REL = TOL * (1.0 + 1e-3)


@dataclass(frozen=True)
class Number:
    """One number (or several, or a word) of an answer.

    side : "upper": may become smaller, not larger; "lower": the other way round; "exact": neither; "is": the same text
    rel, absolute : how far it may move to the wrong side nevertheless
    """

    side: str
    value: Any
    rel: float = REL
    absolute: Any = 0.0

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = {self.side: _written(self.value)}
        if self.side != "is" and self.rel != REL:
            plain["rel"] = self.rel
        if self.absolute != 0.0:
            plain["absolute"] = self.absolute
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Number:
        side = next(key for key in ("upper", "lower", "exact", "is") if key in plain)
        return cls(side, plain[side], plain.get("rel", REL), plain.get("absolute", 0.0))


def _written(value: Any) -> Any:
    """JSON knows no infinity."""
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return [_written(v) for v in value] if isinstance(value, list) else value


def _numbers(value: Any) -> list[float]:
    return [float(v) for v in value] if isinstance(value, list) else [float(value)]


def moved(old: Number, new: Number) -> list[str]:
    """Why the new answer is not as good as the old one; nothing if it is."""
    if old.side != new.side:
        return [f"was of side {old.side!r}, is now {new.side!r}"]
    if old.side == "is":
        return [] if old.value == new.value else [f"was {old.value!r}, is now {new.value!r}"]
    before, now = _numbers(old.value), _numbers(new.value)
    if len(before) != len(now):
        return [f"was {len(before)} numbers, is now {len(now)}"]
    room = _numbers(old.absolute)
    room = room if len(room) == len(before) else room * len(before)
    return [
        f"was {b!r}, is now {a!r} ({old.side})"
        for b, a, extra in zip(before, now, room, strict=True)
        if not _good(old.side, b, a, extra + old.rel * abs(b) if math.isfinite(b) else 0.0)
    ]


def _good(side: str, before: float, now: float, room: float) -> bool:
    if before == now:
        return True
    above, below = now - before > room, before - now > room
    if math.isnan(now):
        return False
    return not {"upper": above, "lower": below, "exact": above or below}[side]


def contradictions(*answers: dict[str, Number]) -> list[str]:
    """Lower bounds that lie above upper bounds of the same eps: one of the two is wrong."""
    sides = {
        side: [
            (key, low) for found in answers for key, x in found.items() if x.side == side for low in _numbers(x.value)
        ]
        for side in ("lower", "upper")
    }
    return [
        f"{below} >= {low!r} contradicts {above} <= {high!r}"
        for below, low in sides["lower"]
        for above, high in sides["upper"]
        if low > high
    ]
