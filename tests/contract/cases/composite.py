"""Sampled and combined mechanisms: sampling RAPPOR, PCKV-GRR, hierarchical GRR, parallel composition, tuples."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from contract.cases import Case, frequencies
from shuffledp.mechanisms.composite.hierarchical_grr import HierarchicalGRR
from shuffledp.mechanisms.composite.joint import Joint
from shuffledp.mechanisms.composite.parallel import Parallel
from shuffledp.mechanisms.sets.pckv_grr import PCKVGRR
from shuffledp.mechanisms.sets.sampling_rappor import SamplingRappor


def sets(d: int, s: int) -> Any:
    """Users holding every s-subset, the first ones more often."""

    def data(n: int) -> tuple[Any, Any]:
        every = np.array(list(itertools.combinations(range(d), s)))
        which = np.minimum(np.arange(n) % (2 * len(every)), len(every) - 1)
        which[: n // 3] = 0
        values = every[which]
        return values, np.bincount(values.reshape(-1), minlength=d) / n

    return data


def pairs(d: int, l: int) -> Any:
    """Users with 0 to l of d keys and values between -1 and 1."""

    def data(n: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(5)
        keys = np.argsort(rng.random((n, d)) * np.arange(1, d + 1), axis=1)[:, :l].astype(float)
        keys[np.arange(l) >= rng.integers(0, l + 1, size=n)[:, None]] = -1
        held = np.clip(keys * 0.3 + rng.uniform(-1, 0.5, size=keys.shape), -1, 1)
        truth = np.zeros((2, d))
        for k in range(d):
            truth[:, k] = (keys == k).sum() / n, held[keys == k].sum() / n
        return np.stack([keys, held], axis=2), truth

    return data


def nodes(d: int, branching: int) -> Any:
    def data(n: int) -> tuple[Any, Any]:
        values, _ = frequencies(d)(n)
        parts, size = [], 1
        while -(-d // size) > 1:
            parts.append(np.bincount(values // size, minlength=-(-d // size)) / n)
            size *= branching
        return values, np.concatenate(parts)

    return data


def queries(*sizes: int) -> Any:
    def data(n: int) -> tuple[Any, Any]:
        found = [frequencies(d)(n) for d in sizes]
        return [values for values, _ in found], np.concatenate([truth for _, truth in found])

    return data


def parallel(name: str, text: str) -> Parallel:
    """The same path in every process, so that test names agree between workers."""
    path = Path(tempfile.gettempdir()) / f"shuffledp-cases-{name}.yaml"
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)
    return Parallel.from_file(path)


# same_law=False: a matrix of more than 8 inputs or 64 cells tries fewer datasets than these classes do, so its lower
# bound is smaller at n = 2; test_composite.py compares the upper bounds, and the lower ones with every dataset.
CASES = [
    *(
        Case(SamplingRappor(eps0=e, d=d, s=s), sets(d, s), exact_ratio=d >= 2 * s)
        for e, d, s in ((1.0, 2, 1), (1.0, 4, 2), (1.0, 5, 3), (2.0, 5, 1), (2.0, 6, 2), (0.5, 6, 5))
    ),
    *(
        Case(PCKVGRR(eps0=e, d=d, l=l), pairs(d, l), same_law=d == 1)
        for e, d, l in ((1.0, 1, 1), (1.0, 2, 1), (2.0, 3, 1), (0.5, 3, 2))
    ),
    *(
        Case(HierarchicalGRR(eps0=e, d=d, branching=b), nodes(d, b), same_law=d < 8)
        for e, d, b in ((1.0, 4, 2), (2.0, 8, 2), (1.0, 9, 3), (1.0, 5, 2), (1.5, 3, 4))
    ),
    Case(
        parallel("a", "- weight: 0.25\n  spec: grr:eps0=1,d=2\n- weight: 0.75\n  spec: grr:eps0=1,d=3\n"), queries(2, 3)
    ),
    Case(
        parallel("b", "- weight: 1/2\n  spec: grr:eps0=1,d=3\n- weight: 1/2\n  spec: grr:eps0=2,d=3\n"),
        queries(3, 3),
        exact_ratio=False,
        same_law=False,
    ),
    Case(Joint(["grr:eps0=1,d=2"]), queries(2)),
    # beta is that of a union bound: above the total variation of the worst pair of tuples
    Case(Joint(["grr:eps0=1,d=2", "grr:eps0=0.5,d=2"]), queries(2, 2), exact_ratio=False),
    Case(Joint(["grr:eps0=1,d=2", "grr:eps0=1,d=3"]), queries(2, 3), exact_ratio=False),
    # more datasets are tried than for a matrix of this size
    Case(Joint(["unary:eps0=1,d=3", "grr:eps0=2,d=3"]), queries(3, 3), exact_ratio=False, same_law=False),
    Case(
        Joint([*["randomized-response:eps0=1"] * 2, "grr:eps0=1,d=2"]),
        queries(2, 2, 2),
        exact_ratio=False,
        same_law=False,
    ),
]
