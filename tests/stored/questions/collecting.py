"""What a mechanism says of itself, and estimates from fixed values and from fixed reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .mechanisms import SETTINGS

Asked = dict[str, Any]

#: A runnable mechanism, and the values of its users.
RUN: tuple[tuple[Any, Asked], ...] = (
    ("randomized-response:eps0=1", {"categories": 2}),
    ("grr:eps0=2,d=16", {"categories": 16}),
    ("unary:eps0=2,d=16", {"categories": 16}),
    ("optimized-unary:eps0=2,d=16", {"categories": 16}),
    ("subset:eps0=1,d=8,k=3", {"categories": 8}),
    ("privset:eps0=1,d=8,s=2,k=2", {"sets": [8, 2]}),
    ("local-hash:eps0=1,d=8,l=2", {"categories": 8}),
    ("hadamard:eps0=2,d=64", {"categories": 64}),
    ("wheel:eps0=1,d=8,s=2,w=0.2", {"sets": [8, 2]}),
    ("sampling-rappor:eps0=1,d=5,s=2", {"sets": [5, 2]}),
    ("hierarchical-grr:eps0=1,d=9,branching=3", {"categories": 9}),
    ("pckv-grr:eps0=2,d=64,l=3", {"keys": [64, 3]}),
    ("laplace:eps0=2", {"numbers": 1.0}),
    ("duchi:eps0=2,dim=5", {"vectors": 5}),
    ("harmony:eps0=2,dim=5", {"vectors": 5}),
    ("privunit:eps0=1,dim=5,cap=0.05", {"directions": 5}),
    ("metric-laplace:d01=0.3,dmax=2", {"numbers": 2.0}),
    ("planar-laplace:d01=0.5,dmax=2", {"disk": 2.0}),
    (SETTINGS["exponential-metric"][2], {"categories": 5}),
    (SETTINGS["parallel"][0], {"several": [2, 3]}),
    ("balcer-cheu:coin=0.3,messages=1", {"categories": 2}),
    ("balcer-coin:messages=0.25", {"categories": 2}),
    ("cheu-zhilyaev:flip=0.2,d=5,messages=1", {"categories": 5}),
    ("balls-into-bins:d=11,special=2,messages=1", {"categories": 5}),
    ("pure-dump:d=4,messages=1", {"categories": 4}),
    ("mix-dump:d=5,flip=0.3,messages=2", {"categories": 5}),
)


def questions() -> Iterator[Asked]:
    for mechanism, values in RUN:
        yield {"ask": "estimate", "mechanism": mechanism, "values": values, "users": 2000, "seed": 7}
    for mechanism, _ in RUN:
        if not isinstance(mechanism, dict) or "parallel" not in mechanism:
            yield {"ask": "variance", "mechanism": mechanism, "n": 1000}
    for name in ("grr", "unary", "optimized-unary", "subset", "privset", "local-hash", "wheel", "sampling-rappor"):
        yield {"ask": "variance", "mechanism": SETTINGS[name][2], "n": 10**6, "frequency": 0.1}
    for settings in SETTINGS.values():
        yield {"ask": "variation_ratio", "mechanism": settings[0]}
    for name in ("grr", "unary", "optimized-unary", "subset", "local-hash", "hadamard", "duchi", "harmony", "laplace"):
        yield {"ask": "probabilities", "mechanism": SETTINGS[name][0]}
    yield {"ask": "reports", "mechanism": "randomized-response:eps0=1", "reports": [0, 1, 1, 1, 0, 1, 1, 0, 1, 1]}
    yield {"ask": "reports", "mechanism": "grr:eps0=1,d=4", "reports": [0, 3, 1, 1, 2, 0, 0, 3, 0, 1, 0, 0]}
    yield {"ask": "reports", "mechanism": "grr:eps0=3,d=4", "reports": [0, 3, 1, 1, 2, 0, 0, 3, 0, 1, 0, 0]}
