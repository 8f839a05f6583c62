"""Running the mechanisms: privatise + estimate against plain numpy, memory, and accounting against d."""

from __future__ import annotations

import importlib
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

import shuffledp as sdp

from . import plain

N, D = 1_000_000, 128
WANTED: list[tuple[Any, Callable[..., Any], float]] = [
    (sdp.GRR(eps0=2.0, d=D), plain.grr, 1.0),
    (sdp.Hadamard(eps0=2.0, d=D), plain.hadamard, 1.0),
    (sdp.Unary(eps0=2.0, d=D), plain.unary, 0.7),
    (sdp.LocalHash(eps0=2.0, d=D), plain.local_hash, 0.7),
    (sdp.Subset(eps0=2.0, d=D), plain.subset, 0.7),
]


def _cpu(call: Callable[[], Any], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def _peak(call: Callable[[], Any]) -> tuple[float, Any]:
    """Peak of memory allocated during the call, in MB, and its result."""
    tracemalloc.start()
    result = call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6, result


def speed(table: Table, ok: Callable[[bool], str]) -> None:
    values = np.random.default_rng(0).integers(0, D, N)
    for m, reference, wanted in WANTED:
        ours = _cpu(lambda m=m: m.estimate(m.privatise(values)), 5)
        theirs = _cpu(lambda m=m, reference=reference: reference(m, values), 2)
        table.add_row(
            f"{m.spec}: privatise + estimate, n = 1e6, secure, against plain numpy (SFC64)",
            f"{theirs / ours:.2f} ({N / ours / 1e6:.1f}M users/s)",
            f">= {wanted}",
            ok(theirs / ours >= wanted),
        )


def memory(table: Table, ok: Callable[[bool], str]) -> None:
    values = np.random.default_rng(0).integers(0, D, N)
    for m, _, _ in WANTED:
        peak, reports = _peak(lambda m=m: m.privatise(values))
        above = peak - reports.data.nbytes / 1e6
        row = f"{m.spec}: memory above input and reports, n = 1e6"
        table.add_row(row, f"{above:.0f} MB", "< 100 MB", ok(above < 100))
    wide = np.random.default_rng(0).integers(0, 1024, 100_000)
    for m in (sdp.GRR(eps0=2.0, d=1024), sdp.Unary(eps0=2.0, d=1024), sdp.Subset(eps0=2.0, d=1024)):
        peak, _ = _peak(lambda m=m: m.privatise_counts(wide))
        table.add_row(f"{m.spec}: memory of privatise_counts, n = 1e5", f"{peak:.0f} MB", "< 100 MB", ok(peak < 100))


def accounting(table: Table, ok: Callable[[bool], str]) -> None:
    for name in ("grr", "unary", "optimised-unary", "subset", "local-hash", "hadamard"):
        times = {}
        for d in (16, 10**6):
            spec = f"{name}:eps0=2,d={d}"
            sdp.amplify(spec, n=10_000, delta=1e-6)
            times[d] = _cpu(lambda spec=spec: sdp.amplify(spec, n=10_000, delta=1e-6), 7)
        ratio = times[10**6] / times[16]
        table.add_row(
            f"amplify {name}: time at d = 1e6 / time at d = 16",
            f"{ratio:.2f} ({times[10**6] * 1e3:.1f} ms)",
            "<= 2",
            ok(ratio <= 2),
        )


def peers(table: Table, ok: Callable[[bool], str]) -> None:
    """Beside other libraries, if the optional group ``bench`` is installed."""
    try:
        response = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    except ImportError:
        table.add_row("multi-freq-ldpy", "not installed (pip install shuffledp[bench])", "", "")
        return
    values = np.random.default_rng(0).integers(0, D, 20_000)
    theirs = _cpu(lambda: [response.GRR_Client(int(x), D, 2.0) for x in values], 1)
    ours = _cpu(lambda: sdp.GRR(eps0=2.0, d=D).privatise(values), 5)
    table.add_row("grr client against multi-freq-ldpy, n = 2e4", f"{theirs / ours:,.0f}x faster", "", "")


def add_rows(table: Table, ok: Callable[[bool], str]) -> None:
    for part in (speed, memory, accounting, peers):
        part(table, ok)
