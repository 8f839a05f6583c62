"""Running the mechanisms: privatize + estimate against plain numpy, memory, and another library."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import shuffledp as sdp

from . import plain
from .rows import Row, cpu, peak

N, D = 1_000_000, 128
WANTED: list[tuple[Any, Callable[..., Any], float]] = [
    (sdp.GRR(eps0=2.0, d=D), plain.grr, 1.0),
    (sdp.Hadamard(eps0=2.0, d=D), plain.hadamard, 1.0),
    (sdp.Unary(eps0=2.0, d=D), plain.unary, 0.7),
    (sdp.LocalHash(eps0=2.0, d=D), plain.local_hash, 0.7),
    (sdp.Subset(eps0=2.0, d=D), plain.subset, 0.7),
]


def speed() -> Iterator[Row]:
    """Against chunked numpy with its fastest generator."""
    values = np.random.default_rng(0).integers(0, D, N)
    for m, reference, wanted in WANTED:
        ours = cpu(lambda m=m: m.estimate(m.privatize(values)), 5)
        theirs = cpu(lambda m=m, reference=reference: reference(m, values), 2)
        yield Row(
            f"{m.spec}: privatize + estimate, n = 1e6, secure, against plain numpy (SFC64)",
            f"{theirs / ours:.2f} ({N / ours / 1e6:.1f}M users per CPU second)",
            f">= {wanted}",
            theirs / ours >= wanted,
        )


def memory() -> Iterator[Row]:
    """Above the input and what is returned."""
    values = np.random.default_rng(0).integers(0, D, N)
    for m, _, _ in WANTED:
        most, reports = peak(lambda m=m: m.privatize(values))
        above = most - reports.data.nbytes / 1e6
        yield Row(f"{m.spec}: memory above input and reports, n = 1e6", f"{above:.0f} MB", "< 100 MB", above < 100)
    wide = np.random.default_rng(0).integers(0, 1024, 100_000)
    for m in (sdp.GRR(eps0=2.0, d=1024), sdp.Unary(eps0=2.0, d=1024), sdp.Subset(eps0=2.0, d=1024)):
        most, _ = peak(lambda m=m: m.privatize_counts(wide))
        yield Row(f"{m.spec}: memory of privatize_counts, n = 1e5", f"{most:.0f} MB", "< 100 MB", most < 100)


def peers() -> Iterator[Row]:
    """Beside other libraries, if the optional group ``bench`` is installed."""
    try:
        response = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    except ImportError:
        yield Row("multi-freq-ldpy", "not installed (pip install '.[bench]')")
        return
    values = np.random.default_rng(0).integers(0, D, 20_000)
    theirs = cpu(lambda: [response.GRR_Client(int(x), D, 2.0) for x in values], 1)
    ours = cpu(lambda: sdp.GRR(eps0=2.0, d=D).privatize(values), 5)
    yield Row("grr client against multi-freq-ldpy, n = 2e4", f"{theirs / ours:,.0f}x faster")


def rows() -> Iterator[Row]:
    """All of them."""
    for part in (speed, memory, peers):
        yield from part()
