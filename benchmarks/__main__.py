"""Every number that the project promises about speed, as a ratio or against its limit, in one run."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import shuffledp as sdp

from . import calibrating, collecting, comparing, composing, odd_questions
from .conventional import amplify as conventional


def best(call: Callable[[], object], repeat: int = 7) -> float:
    """Shortest of several runs, in seconds: the least disturbed by the machine."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def against_conventional(table: Table) -> None:
    """The sum over c has fewer terms as eps0 grows, so the ratio falls; our time does not depend on eps0."""
    n, delta = 10**8, 1e-10
    for eps0 in (1.0, 3.0, 5.0):
        mechanism = sdp.General(eps0=eps0)
        got = sdp.amplify(mechanism, n=n, delta=delta).epsilon
        ours = best(partial(sdp.amplify, mechanism, n=n, delta=delta), 25)
        start = time.perf_counter()
        theirs_eps = conventional(n, eps0, delta)
        theirs = time.perf_counter() - start
        table.add_row(
            f"amplify, eps0 = {eps0:g}, n = 1e8, against a windowed scipy sum",
            f"{theirs / ours:,.0f}x faster ({ours * 1e3:.2f} ms, {theirs:.2f} s)",
            ">= 300x",
            _ok(theirs / ours >= 300),
        )
        table.add_row("   eps of the two (20 bisections)", f"{got:.8f}, {theirs_eps:.8f}", "", "")


def against_n(table: Table) -> None:
    times = {}
    for k in (3, 5, 8, 12, 15):
        times[k] = best(lambda k=k: sdp.amplify(sdp.General(eps0=1.0), n=10**k, delta=0.01 / 10**k), 15)
    shown = ", ".join(f"1e{k}: {t * 1e3:.2f} ms" for k, t in times.items())
    ratio = times[12] / times[5]
    table.add_row("amplify: time against n", shown, "", "")
    table.add_row("amplify: time at 1e12 / time at 1e5", f"{ratio:.2f}", "<= 2", _ok(ratio <= 2))


def profiles(table: Table) -> None:
    p = math.exp(3.0)
    grr = (p - 1) / (p + 15)
    laws: dict[str, object] = {
        "general eps0 = 1 (2 atoms)": sdp.General(eps0=1.0),
        "GRR d = 16 (3 atoms)": sdp.VariationRatio(p=p, beta=grr, q=p),
        "a round of 4 atoms": sdp.ShuffledPair([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.2, 0.1]),
    }
    for name, law in laws.items():
        for top in (0.02, 0.3):
            eps = np.linspace(0.0, top, 10_000)
            spent = best(lambda law=law, eps=eps: sdp.profile(law, n=10**6, epsilon=eps, tol=1e-3), 3)  # type: ignore[arg-type]
            table.add_row(
                f"profile, 10,000 eps in [0, {top}], n = 1e6, {name}", f"{spent:.2f} s", "< 1 s", _ok(spent < 1)
            )


def certificates(table: Table) -> None:
    for k in (4, 6, 8, 10, 12):
        start = time.perf_counter()
        g = sdp.amplify(sdp.General(eps0=3.0), n=10**k, delta=0.01 / 10**k, certify=True)
        made = time.perf_counter() - start
        start = time.perf_counter()
        sdp.verify(g.certificate)  # type: ignore[arg-type]
        checked = time.perf_counter() - start
        table.add_row(
            f"certificate at n = 1e{k}",
            f"made in {made:.2f} s, verified in {checked:.2f} s",
            "< 5 s",
            _ok(made + checked < 5),
        )


def matrices(table: Table) -> None:
    rng = np.random.default_rng(0)
    shapes = {
        "random 2-LDP": rng.random((200, 200)) * (math.e**2 - 1) + 1,
        "geometric": np.exp(-3.0 * np.abs(np.subtract.outer(np.arange(200), np.arange(200))) / 200),
    }
    for name, weights in shapes.items():
        matrix = weights / weights.sum(axis=1, keepdims=True)
        for n in (10**3, 10**6):
            start = time.perf_counter()
            g = sdp.amplify(sdp.FiniteRandomizer(matrix), n=n, delta=0.01 / n, tol=1e-3)
            spent = time.perf_counter() - start
            table.add_row(
                f"200 x 200 matrix ({name}), n = {n:.0e}",
                f"{spent:.2f} s, {g.evaluated:,} of {g.members:,} pairs evaluated",
                "seconds",
                _ok(spent < 10),
            )


def start_up(table: Table) -> None:
    base = _cpu("import numpy, scipy.special")
    bare = _cpu("pass")
    first = _cpu("import shuffledp as s; s.amplify('general:eps0=1', n=10**6, delta=1e-8)")
    only = _cpu("import shuffledp") - bare
    helped = _cpu("import sys; sys.argv = ['shuffledp', '--help']; from shuffledp.cli import main; main()")
    table.add_row("import shuffledp, CPU beyond a bare interpreter", f"{only:.3f} s", "< 0.1 s", _ok(only < 0.1))
    table.add_row("shuffledp --help, CPU", f"{helped:.3f} s", "< 0.3 s", _ok(helped < 0.3))
    table.add_row(
        "first amplify with imports / import numpy, scipy.special",
        f"{first / base:.2f} ({first:.3f} s, {base:.3f} s CPU)",
        "<= 1.3",
        _ok(first / base <= 1.3),
    )


def _cpu(code: str, repeat: int = 7) -> float:
    """CPU seconds of a fresh interpreter running ``code`` (the smallest of several)."""
    probe = f"import os, sys\n{code}\n"
    script = (
        "import resource, subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {probe!r}], stdout=subprocess.DEVNULL)\n"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(u.ru_utime + u.ru_stime)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        for _ in range(repeat)
    ]
    return min(runs)


def _ok(good: bool) -> str:
    return "[green]yes[/]" if good else "[red]NO[/]"


def main() -> int:
    table = Table("what", "measured", "wanted", "held", title="shuffledp benchmarks")
    for part in (start_up, against_n, against_conventional, profiles, certificates, matrices):
        part(table)
    comparing.add_rows(table, _ok)
    collecting.add_rows(table, _ok)
    calibrating.add_rows(table, _ok)
    composing.add_rows(table, _ok)
    odd_questions.add_rows(table, _ok)
    Console(width=150).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
