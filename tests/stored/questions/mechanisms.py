"""Every mechanism of the registry, several settings each."""

from __future__ import annotations

from typing import Any

RING = [[0, 1, 2, 2, 1], [1, 0, 1, 2, 2], [2, 1, 0, 1, 2], [2, 2, 1, 0, 1], [1, 2, 2, 1, 0]]
LINE = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
COIN = [[0.75, 0.25], [0.25, 0.75]]
THREE = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
#: An output that is impossible for one input.
HOLE = [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]]
WIDE = [[0.1, 0.2, 0.05, 0.15, 0.3, 0.2], [0.2, 0.1, 0.15, 0.05, 0.2, 0.3]]
TALL = [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3], [0.35, 0.65], [0.45, 0.55]]

SETTINGS: dict[str, tuple[Any, ...]] = {
    "general": ("general:eps0=0.1", "general:eps0=1", "general:eps0=4"),
    "variation-ratio": (
        "variation-ratio:p=7,beta=0.3,q=7",
        "variation-ratio:p=inf,beta=0.5,q=10",
        "variation-ratio:p=3,beta=0.25,q=40",
    ),
    "finite": tuple({"matrix": rows} for rows in (COIN, THREE, HOLE, WIDE, TALL)),
    "randomized-response": tuple(f"randomized-response:eps0={e}" for e in (0.5, 1, 3)),
    "grr": ("grr:eps0=1,d=2", "grr:eps0=2,d=16", "grr:eps0=5,d=1000"),
    "unary": ("unary:eps0=1,d=2", "unary:eps0=2,d=16", "unary:eps0=6,d=1000"),
    "optimized-unary": ("optimized-unary:eps0=1,d=2", "optimized-unary:eps0=2,d=16", "optimized-unary:eps0=6,d=1000"),
    "subset": ("subset:eps0=1,d=8,k=3", "subset:eps0=2,d=16", "subset:eps0=4,d=1000"),
    "privset": ("privset:eps0=1,d=8,s=2,k=2", "privset:eps0=2,d=64,s=3", "privset:eps0=4,d=500,s=5"),
    "local-hash": ("local-hash:eps0=1,d=8,l=2", "local-hash:eps0=2,d=64", "local-hash:eps0=4,d=1000"),
    "hadamard": ("hadamard:eps0=1,d=4", "hadamard:eps0=2,d=64", "hadamard:eps0=5,d=1000"),
    "wheel": ("wheel:eps0=1,d=8,s=2,w=0.2", "wheel:eps0=2,d=64,s=3", "wheel:eps0=4,d=500,s=5"),
    "sampling-rappor": (
        "sampling-rappor:eps0=1,d=5,s=2",
        "sampling-rappor:eps0=2,d=64,s=4",
        "sampling-rappor:eps0=4,d=200,s=2",
    ),
    "hierarchical-grr": (
        "hierarchical-grr:eps0=1,d=9,branching=3",
        "hierarchical-grr:eps0=2,d=64",
        "hierarchical-grr:eps0=4,d=1024,branching=4",
    ),
    "pckv-grr": ("pckv-grr:eps0=1,d=2,l=1", "pckv-grr:eps0=2,d=64,l=3", "pckv-grr:eps0=4,d=1000,l=10"),
    "laplace": ("laplace:eps0=0.5", "laplace:eps0=2", "laplace:eps0=6"),
    "duchi": ("duchi:eps0=1,dim=2", "duchi:eps0=2,dim=5", "duchi:eps0=4,dim=101"),
    "harmony": ("harmony:eps0=1,dim=2", "harmony:eps0=2,dim=5", "harmony:eps0=4,dim=100"),
    "privunit": ("privunit:eps0=1,dim=5,cap=0.05", "privunit:eps0=2,dim=10", "privunit:eps0=4,dim=200"),
    "metric-general": ("metric-general:d01=0.5,dmax=0.5", "metric-general:d01=1,dmax=3", "metric-general:d01=2,dmax=8"),
    "metric-laplace": ("metric-laplace:d01=1,dmax=1", "metric-laplace:d01=0.3,dmax=2", "metric-laplace:d01=2,dmax=6"),
    "planar-laplace": ("planar-laplace:d01=0.5,dmax=2", "planar-laplace:d01=2,dmax=2", "planar-laplace:d01=1,dmax=5"),
    "exponential-metric": (
        {"distances": LINE, "eps": 0.5},
        {"distances": LINE, "eps": 2.0},
        {"distances": RING, "eps": 1.5},
    ),
    "parallel": (
        {"parallel": [[0.25, "grr:eps0=1,d=2"], [0.75, "grr:eps0=1,d=3"]]},
        {"parallel": [[0.5, "grr:eps0=1,d=3"], [0.5, "grr:eps0=2,d=3"]]},
        {"parallel": [[0.5, "unary:eps0=2,d=8"], [0.3, "subset:eps0=1,d=16,k=4"], [0.2, "general:eps0=0.5"]]},
    ),
    "balcer-cheu": (
        "balcer-cheu:coin=0.3,messages=1",
        "balcer-cheu:coin=0.9,total_messages=5000",
        "balcer-cheu:coin=0.1,poisson=2",
    ),
    "balcer-coin": ("balcer-coin:messages=0.25", "balcer-coin:total_messages=2000", "balcer-coin:poisson=1.5"),
    "cheu-zhilyaev": (
        "cheu-zhilyaev:flip=0.2,d=5,messages=1",
        "cheu-zhilyaev:flip=0.4,d=2,total_messages=10001",
        "cheu-zhilyaev:flip=0.1,d=16,messages=2",
    ),
    "balls-into-bins": (
        "balls-into-bins:d=11,special=2,messages=1",
        "balls-into-bins:d=100,special=5,messages=3",
        "balls-into-bins:d=1000,special=20,total_messages=100000",
    ),
    "pure-dump": ("pure-dump:d=4,messages=1", "pure-dump:d=300,total_messages=90000", "pure-dump:d=16,poisson=2"),
    "mix-dump": (
        "mix-dump:d=2,flip=0.2,messages=1",
        "mix-dump:d=5,flip=0.3,messages=2",
        "mix-dump:d=4,flip=0.1,messages=0",
    ),
}
