"""One batch: amplify with every mechanism, bound and kind of crowd, profiles, comparisons, tables, certificates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

from .mechanisms import COIN, HOLE, SETTINGS, THREE, WIDE

Asked = dict[str, Any]

CROWDS = (
    (1000, 1e-5),
    (10**5, 1e-7),
    (2, 1e-3),
    (10**8, 1e-10),
    (50, 1e-3),
    (10**12, 1e-12),
    (10**4, 1e-12),
)
BOUNDS = (
    "auto",
    "blanket",
    "variation-ratio",
    "variation-ratio-published",
    "variation-ratio-lower",
    "constant-dataset-lower",
    "analytic",
    "analytic-published",
    "asymptotic",
    "asymptotic-published",
    "general",
    "clone",
    "clone-closed",
    "blanket-hoeffding",
    "blanket-bennett",
    "blanket-hoeffding-gamma",
    "blanket-bennett-gamma",
    "blanket-hoeffding-generic",
    "blanket-bennett-generic",
    "efmrtt19",
    "cheu-zhilyaev",
    "balls-formula",
    "balls-search",
    "local",
)
FEW = ("blanket", "variation-ratio", "general", "clone", "constant-dataset-lower", "local")


def questions() -> Iterator[Asked]:
    yield from _every_mechanism()
    yield from _every_bound()
    yield from _crowds()
    yield from _profiles()
    yield from _tables()
    yield from _mixtures()
    yield from _certificates()


def _every_mechanism() -> Iterator[Asked]:
    crowds = cycle(CROWDS)
    for settings in SETTINGS.values():
        for mechanism in settings:
            for n, delta in islice(crowds, 3):
                yield {"ask": "amplify", "mechanism": mechanism, "n": n, "delta": delta}
    for t in ([0.25, 0.25], [0.05, 0.15]):
        pair = {"P0": [0.75, 0.25], "P1": [0.25, 0.75], "t": t}
        for n, delta in CROWDS[:2]:
            yield {"ask": "amplify", "mechanism": {"pair": pair}, "n": n, "delta": delta}


def _every_bound() -> Iterator[Asked]:
    for mechanism, n, delta in (
        ("grr:eps0=1,d=16", 10**4, 1e-6),
        ("general:eps0=0.4", 10**7, 1e-9),
        ("balls-into-bins:d=100,special=10,messages=20", 10**4, 1e-6),
        ("cheu-zhilyaev:flip=0.1,d=8,messages=3", 10**4, 1e-6),
    ):
        for bound in BOUNDS:
            yield {"ask": "amplify", "mechanism": mechanism, "n": n, "delta": delta, "bound": bound}


def _crowds() -> Iterator[Asked]:
    for mechanism in (
        "general:eps0=1",
        "grr:eps0=2,d=16",
        "randomized-response:eps0=1",
        "subset:eps0=2,d=16,k=4",
        {"matrix": THREE},
        "metric-general:d01=1,dmax=3",
        "pure-dump:d=4,messages=2",
    ):
        for crowd in ({"dropouts": 0.2}, {"colluding": 700, "dropouts": 100}):
            yield {"ask": "amplify", "mechanism": mechanism, "n": 10**4, "delta": 1e-6, **crowd}
    every = {"dropouts": 0.1, "colluding": 0.2}
    for mechanism, bound in (
        ("laplace:eps0=2", "auto"),
        ("unary:eps0=2,d=8", "variation-ratio"),
        ("duchi:eps0=1,dim=3", "clone"),
    ):
        yield {"ask": "amplify", "mechanism": mechanism, "n": 10**5, "delta": 1e-7, "bound": bound, **every}


def _profiles() -> Iterator[Asked]:
    for settings in SETTINGS.values():
        yield {"ask": "profile", "mechanism": settings[0], "n": 2000, "epsilon": [0.0, 0.05, 0.2, 1.0]}
    for name in ("general", "grr", "unary", "subset", "finite", "laplace", "hadamard", "harmony", "pure-dump"):
        yield {"ask": "profile", "mechanism": SETTINGS[name][1], "n": 10**5, "epsilon": [0.01, 0.05], "side": "lower"}
    for bound in ("clone", "general", "analytic", "blanket-bennett-generic", "local"):
        yield {"ask": "profile", "mechanism": "grr:eps0=1,d=4", "n": 10**4, "epsilon": [0.1, 0.5], "bound": bound}
    for mechanism in ("grr:eps0=2,d=16", "general:eps0=4"):
        for n in (10**8, 10**12):
            yield {"ask": "profile", "mechanism": mechanism, "n": n, "epsilon": [1e-5, 1e-4, 1e-3]}
    yield {"ask": "profile", "mechanism": "grr:eps0=2,d=16", "n": 10**4, "epsilon": [0.05, 0.2], "colluding": 0.1}


def _tables() -> Iterator[Asked]:
    for name, settings in SETTINGS.items():
        number = 0 if name in ("mix-dump", "metric-laplace") else 1
        yield {"ask": "compare", "mechanism": settings[number], "n": 10**5, "delta": 1e-7}
    yield {"ask": "compare", "mechanism": "grr:eps0=2,d=16", "n": 10**6, "delta": "0.01/n"}
    for mechanism in ("grr:d=16", "subset:d=16", "unary:d=8", "general", "harmony:dim=3"):
        bounds = ["blanket", "general", "local"] if mechanism != "general" else ["variation-ratio", "clone", "local"]
        eps0 = [0.2, 1.0, 3.0]
        yield {"ask": "sweep", "mechanism": mechanism, "eps0": eps0, "n": 10**4, "delta": 1e-6, "bounds": bounds}
    bounds = ["blanket", "variation-ratio", "constant-dataset-lower"]
    yield {"ask": "sweep", "mechanism": "grr:eps0=1,d=4", "n": [100, 10**4, 10**8], "delta": "0.01/n", "bounds": bounds}
    deltas = [1e-12, 1e-6, 1e-3]
    yield {"ask": "sweep", "mechanism": "unary:eps0=1,d=4", "n": 10**4, "delta": deltas, "bounds": bounds}
    for mechanism, more in (
        ("general:eps0=1", {}),
        ("grr:eps0=2,d=16", {"dropouts": 0.1}),
        ("randomized-response:eps0=2", {"colluding": 5}),
        ("unary:eps0=2,d=16", {"bound": "clone"}),
        ({"matrix": WIDE}, {}),
        ("balcer-coin:messages=1", {}),
    ):
        yield {"ask": "batch_table", "mechanism": mechanism, "delta": 1e-6, "n": [100, 1000, 10**4, 10**6], **more}
    yield {"ask": "batch_table", "mechanism": "laplace:eps0=1", "delta": 1e-6, "minimum": 10**4, "maximum": 10**6}


def _mixtures() -> Iterator[Asked]:
    for classes, more in (
        ([["grr:eps0=1,d=8", 5000], ["grr:eps0=3,d=8", 5000]], {}),
        ([["grr:eps0=1,d=8", 10], ["grr:eps0=3,d=8", 50000], ["grr:eps0=2,d=8", 500]], {}),
        ([["unary:eps0=1,d=4", 3000], ["unary:eps0=2,d=4", 3000]], {}),
        ([["subset:eps0=1,d=16,k=4", 10**5], ["subset:eps0=2,d=16,k=4", 10**5]], {"dropouts": 0.1}),
        ([["laplace:eps0=1", 10**5], ["laplace:eps0=2", 10**5]], {}),
        ([[{"matrix": COIN}, 1000], [{"matrix": [[0.6, 0.4], [0.4, 0.6]]}, 1000]], {}),
        ([["grr:eps0=1,d=8", 5000], ["grr:eps0=3,d=8", 5000]], {"colluding": 100}),
    ):
        yield {"ask": "amplify_mixed", "classes": classes, "delta": 1e-6, **more}


def _certificates() -> Iterator[Asked]:
    for mechanism, n, delta in (
        ("general:eps0=1", 10**4, 1e-6),
        ("general:eps0=3", 10**12, 1e-14),
        ("grr:eps0=2,d=16", 10**6, 1e-8),
        ("randomized-response:eps0=1", 1000, 1e-5),
        ("unary:eps0=2,d=16", 10**5, 1e-7),
        ("subset:eps0=2,d=16", 10**5, 1e-7),
        ("local-hash:eps0=2,d=64", 10**6, 1e-8),
        ("harmony:eps0=2,dim=5", 10**5, 1e-7),
        ("variation-ratio:p=7,beta=0.3,q=7", 10**4, 1e-6),
        ("metric-general:d01=1,dmax=3", 10**5, 1e-7),
        ({"matrix": THREE}, 10**4, 1e-6),
        ({"matrix": HOLE}, 10**4, 1e-6),
    ):
        yield {"ask": "certify", "mechanism": mechanism, "n": n, "delta": delta}
    yield {"ask": "certify", "mechanism": "grr:eps0=1,d=4", "n": 10**4, "delta": 1e-6, "bound": "clone"}
    yield {"ask": "certify", "mechanism": "grr:eps0=1,d=4", "n": 10**4, "delta": 1e-6, "dropouts": 0.2, "colluding": 50}
