"""Every mechanism of the catalog, small and large: one answer and wide profiles (CPU time)."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper
from typing import Any

import numpy as np

import shuffledp as sdp
from shuffledp.accounting import resolve

USERS, BUDGETS = (10**3, 10**6, 10**9), (0.5, 2, 5)
#: Milliseconds that one answer with its lower bound may take, seconds and MB of a profile.
MOST, PROFILE, MEMORY = 50.0, 2.0, 300.0

#: Specs with {e} for the budget; those of matrices and metric privacy have a benchmark of their own.
SPECS = (
    "general:eps0={e}",
    "randomized-response:eps0={e}",
    *(f"{name}:eps0={{e}},d={d}" for name in ("grr", "unary", "optimized-unary") for d in (16, 10**6)),
    *(f"{name}:eps0={{e}},d={d}" for name in ("subset", "local-hash", "hadamard") for d in (16, 10**6)),
    *(
        f"{name}:eps0={{e}},d={d},s={s}"
        for name in ("privset", "wheel", "sampling-rappor")
        for d, s in ((64, 3), (10**6, 10))
    ),
    *(f"hierarchical-grr:eps0={{e}},d={d},branching={b}" for d, b in ((64, 2), (10**6, 10))),
    *(f"pckv-grr:eps0={{e}},d={d},l={l}" for d, l in ((64, 3), (10**6, 10))),
    "laplace:eps0={e}",
    "window:eps0={e},d=64",
    "poisson-sum:units=10,poisson=3",
    *(f"duchi:eps0={{e}},dim={dim}" for dim in (5, 100)),
    "harmony:eps0={e},dim=100",
    *(f"privunit:eps0={{e}},dim={dim}" for dim in (10, 1000)),
    *(f"balcer-cheu:coin=0.3,{m}" for m in ("messages=2.5", "poisson=2")),
    "balcer-coin:messages=0.25",
    *(f"cheu-zhilyaev:flip=0.25,d=16,{m}" for m in ("messages=1", "messages=2.5")),
    "balls-into-bins:d=1000,special=20,messages=3",
    "pure-dump:d=1000,messages=2.5",
    *(f"mix-dump:d={d},flip=0.3,messages=2.5" for d in (16, 1000)),
    "poisson-histogram:d=1000000,poisson_per_index=10,indices=5",
)
WIDE = (
    "randomized-response:eps0=2",
    "hadamard:eps0=2,d=64",
    "sampling-rappor:eps0=2,d=64,s=4",
    "laplace:eps0=2",
    "duchi:eps0=2,dim=5",
    "harmony:eps0=2,dim=5",
    "privunit:eps0=2,dim=10",
    "pckv-grr:eps0=2,d=64,l=3",
    "cheu-zhilyaev:flip=0.2,d=5,messages=1.5",
)

Row = tuple[str, str, str, bool]


def rows() -> list[Row]:
    """(what, measured, wanted, reached) of every number."""
    return [*_answers(), *_profiles()]


def _forget() -> None:
    """No answer is kept from before, so that the first call of a fresh mechanism is measured."""
    resolve._kept.clear()
    for thing in gc.get_objects():
        if isinstance(thing, _lru_cache_wrapper) and str(getattr(thing, "__module__", "")).startswith("shuffledp"):
            thing.cache_clear()


def _spent(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _instances() -> Iterator[tuple[str, str]]:
    for spec in SPECS:
        for e in BUDGETS if "{e}" in spec else BUDGETS[:1]:
            yield spec.partition(":")[0], spec.format(e=e)


def _answers() -> Iterator[Row]:
    for spec in ("laplace:eps0=1", "cheu-zhilyaev:flip=0.1,d=3,messages=1.5", "privunit:eps0=1,dim=3"):  # imports
        _ = sdp.amplify(spec, n=1000, delta=1e-6).lower
    worst: dict[str, tuple[float, str]] = {}
    for name, spec in _instances():
        for n in USERS:
            _forget()
            m = sdp.mechanism(spec)
            ms = 1e3 * _spent(lambda m=m, n=n: sdp.amplify(m, n=n, delta=0.01 / n).lower)
            worst[name] = max(worst.get(name, (0.0, "")), (ms, f"{spec.partition(':')[2]}, n = {n:.0e}"))
    for name, (ms, where) in worst.items():
        yield f"{name}: slowest answer with its lower bound ({where})", f"{ms:.0f} ms", f"< {MOST:.0f} ms", ms < MOST


def _profiles() -> Iterator[Row]:
    for spec in WIDE:
        m = sdp.mechanism(spec)
        eps = np.linspace(0.0, min(m.local_epsilon, 10.0), 10_000)
        spent = _spent(lambda m=m, eps=eps: sdp.profile(m, n=10**6, epsilon=eps))
        yield f"{spec}: profile of 10,000 points, n = 1e6", f"{spent:.2f} s", f"< {PROFILE:.0f} s", spent < PROFILE
    tracemalloc.start()
    sdp.profile("randomized-response:eps0=2", n=3000, epsilon=np.linspace(0.0, 2.0, 1000))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    yield (
        "randomized-response: peak memory of a profile, n = 3,000",
        f"{peak:.0f} MB",
        f"< {MEMORY:.0f} MB",
        peak < MEMORY,
    )
