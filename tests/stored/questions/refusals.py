"""Questions that must be refused: with the right kind of error, now and later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Asked = dict[str, Any]


def questions() -> Iterator[Asked]:
    for n in (0, 1.5, 10**16):
        yield {"ask": "amplify", "mechanism": "general:eps0=1", "n": n, "delta": 1e-6}
    for delta in (0.0, 1.0, -1e-6, 2.0):
        yield {"ask": "amplify", "mechanism": "general:eps0=1", "n": 1000, "delta": delta}
    for spec in (
        "general:eps0=-1",
        "general:eps0=1000",
        "grr:eps0=1,d=1",
        "grr:eps0=1",
        "grr:eps0=1,d=4,k=2",
        "nobody:x=1",
    ):
        yield {"ask": "amplify", "mechanism": spec, "n": 1000, "delta": 1e-6}
    yield {"ask": "amplify", "mechanism": {"matrix": [[0.5, 0.6], [0.5, 0.5]]}, "n": 1000, "delta": 1e-6}
    yield {"ask": "amplify", "mechanism": "general:eps0=1", "n": 1000, "delta": 1e-6, "dropouts": 1000}
    yield {"ask": "profile", "mechanism": "general:eps0=1", "n": 1000, "epsilon": [-0.1]}
    yield {"ask": "amplify_mixed", "classes": [["general:eps0=1", 10], ["general:eps0=2", 10]], "delta": 1e-6}
    yield {"ask": "users_needed", "mechanism": "general:eps0=20", "epsilon": 1e-9, "delta": 1e-9}
    impossible = {"n": 10, "epsilon": 1e-9, "delta": 1e-12, "found": "flip", "side": "upper", "unknown": "flip"}
    yield {"ask": "calibrate", "mechanism": "cheu-zhilyaev:d=16,messages=1", **impossible}
    yield {
        "ask": "Accountant.epsilon",
        "rounds": [{"mechanism": "general:eps0=1", "n": 100, "count": 0}],
        "delta": 1e-6,
    }
    repeated = [{"mechanism": "general:eps0=1", "n": 100, "memoized": True}]
    yield {"ask": "Accountant.epsilon", "rounds": repeated, "delta": 1e-6}
