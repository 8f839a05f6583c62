"""Profiles of 10,000 points, from few users to many, and the memory that they take."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import shuffledp as sdp

from .rows import Row, at_most, compared, cpu, spelled

USERS = (100, 10**3, 10**4, 10**6)
SPECS = ("general:eps0=1", "grr:eps0=2,d=16", "unary:eps0=2,d=16", "subset:eps0=2,d=16,k=2")
POINTS = 10_000


def _bounds(spec: str) -> tuple[str, str]:
    return "auto", "general" if spec.startswith("general") else "blanket"


def catalog() -> Iterator[Row]:
    """By auto and by a named bound, up to beyond the eps of delta = 1e-9."""
    for spec in SPECS:
        for bound in _bounds(spec):
            times = []
            for n in USERS:
                eps = np.linspace(0.0, 1.2 * sdp.amplify(spec, n=n, delta=1e-9).epsilon, POINTS)
                times.append(cpu(partial(sdp.profile, spec, n=n, epsilon=eps, bound=bound), 2))
            each = f" in all; {', '.join(map(spelled, times))}"
            yield compared.row(f"{spec}, {bound}, n = 1e2, 1e3, 1e4, 1e6", sum(times), 1.5, each)


def given_laws() -> Iterator[Row]:
    """Laws that are given as numbers."""
    p = math.exp(3.0)
    laws: dict[str, Any] = {
        "GRR d = 16, eps0 = 3, by its (p, beta, q)": sdp.VariationRatio(p=p, beta=(p - 1) / (p + 15), q=p),
        "a pair of 4 symbols": sdp.ShuffledPair([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.2, 0.1]),
    }
    for name, law in laws.items():
        spent = cpu(partial(sdp.profile, law, n=10**6, epsilon=np.linspace(0.0, 0.3, POINTS), tol=1e-3), 3)
        yield at_most(f"{name}, eps in [0, 0.3], n = 1e6", spent, 1.0)


#: A process that asks for these profiles and nothing else.
_ALONE = """
import numpy as np, shuffledp as sdp
for spec, bound in {asked}:
    for n in {users}:
        top = 1.2 * sdp.amplify(spec, n=n, delta=1e-9).epsilon
        sdp.profile(spec, n=n, epsilon=np.linspace(0.0, top, {points}), bound=bound)
# not ru_maxrss, which a process inherits from the one that started it
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def memory() -> Iterator[Row]:
    """The most memory of a whole process, the interpreter included."""
    asked = [(spec, bound) for spec in SPECS for bound in _bounds(spec)]
    script = _ALONE.format(asked=asked, users=USERS, points=POINTS)
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    most = int(out) / 1024.0
    yield Row("peak memory of a process that asks for all of the catalog's", f"{most:.0f} MB", "<= 300 MB", most <= 300)


def rows() -> Iterator[Row]:
    """All of them."""
    for part in (catalog, given_laws, memory):
        yield from part()
