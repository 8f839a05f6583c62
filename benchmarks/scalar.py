"""One answer and wide profiles, as ratios to the hand-written sum: ``python -m benchmarks.scalar``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from functools import partial

import numpy as np

import shuffledp as sdp

from . import direct_sum

#: (what, measured, wanted, reached)
Row = tuple[str, str, str, bool]

_CROWDS = tuple(10**power for power in range(2, 13))
_AUTO = ("general:eps0=1", "grr:eps0=2,d=16", "subset:eps0=2,d=16,k=2")
_PROFILED = (
    "general:eps0=1",
    "grr:eps0=2,d=16",
    "unary:eps0=2,d=16",
    "subset:eps0=2,d=16,k=2",
    "local-hash:eps0=2,d=16",
)
_PROFILE_USERS = (100, 10**4, 10**6, 10**9)
_DELTA = 1e-6
#: A hand-written sum that takes longer than this is not a yardstick any more.
_TOO_SLOW = 0.02


def _best(call: partial[object], rounds: int = 5, group: int = 6) -> float:
    """CPU seconds of one call: the best mean of some groups."""
    call()
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(group):
            call()
        best = min(best, (time.process_time() - start) / group)
    return best


def one_answer() -> list[Row]:
    """A named bound: the worst ratio to the hand-written sum, and the median over all n."""
    worst, where, all_times = 0.0, "", []
    for spec, bound, hand in direct_sum.cases():
        by_hand = True
        for n in _CROWDS:
            own = _best(partial(sdp.amplify, spec, n=n, delta=_DELTA, bound=bound), rounds=3, group=4)
            all_times.append(own)
            if not by_hand:
                continue
            try:
                start = time.process_time()
                hand(n)
                by_hand = time.process_time() - start < _TOO_SLOW
            except MemoryError:
                by_hand = False
            if by_hand:
                own = min(own, _best(partial(sdp.amplify, spec, n=n, delta=_DELTA, bound=bound)))
                ratio = own / _best(partial(hand, n))
                if ratio > worst:
                    worst, where = ratio, f"{spec}, {bound}, n = {n:,}"
    median = 1e3 * statistics.median(all_times)
    return [
        ("one answer over the hand-written sum, worst of all n", f"{worst:.2f}x ({where})", "1.5x", worst <= 1.5),
        ("one answer of a named bound, median over n = 1e2 ... 1e12", f"{median:.2f} ms", "1 ms", median <= 1.0),
    ]


def automatic() -> list[Row]:
    """bound="auto" with its lower bound read."""

    def ask(spec: str, n: int) -> float | None:
        return sdp.amplify(spec, n=n, delta=_DELTA).lower

    rows: list[Row] = []
    for spec in _AUTO:
        times = {n: 1e3 * _best(partial(ask, spec, n), rounds=3, group=2) for n in _CROWDS}
        slowest = max(times, key=times.__getitem__)
        said = f"median {statistics.median(times.values()):.1f} ms, at most {times[slowest]:.1f} ms (n = {slowest:,})"
        rows.append((f"auto and its lower bound, {spec}", said, "3 ms", times[slowest] <= 3.0))
    return rows


def _named(spec: str) -> str:
    return "general" if spec.startswith("general") else "blanket"


def profiles() -> list[Row]:
    """10,000 points, by auto and by a named bound."""
    rows: list[Row] = []
    for spec in _PROFILED:
        for bound in ("auto", _named(spec)):
            times = {}
            for n in _PROFILE_USERS:
                eps = np.linspace(0.0, 1.2 * sdp.amplify(spec, n=n, delta=1e-9).epsilon, 10_000)
                start = time.process_time()
                sdp.profile(spec, n=n, epsilon=eps, bound=bound)
                times[n] = time.process_time() - start
            slowest = max(times, key=times.__getitem__)
            said = f"{times[slowest]:.2f} s (n = {slowest:,}), {times[10**6]:.2f} s (n = 1,000,000)"
            rows.append((f"profile of 10,000 points, {spec}, {bound}", said, "0.2 s", times[slowest] <= 0.2))
    peak = _peak()
    rows.append(("peak memory of all of that", f"{peak:.0f} MB", "300 MB", peak <= 300.0))
    return rows


#: The profiles of one process by themselves: in this one the hand-written sums hold millions of cells.
_ALONE = """
import numpy as np, shuffledp as sdp
for spec, bound in {asked}:
    for n in {users}:
        top = 1.2 * sdp.amplify(spec, n=n, delta=1e-9).epsilon
        sdp.profile(spec, n=n, epsilon=np.linspace(0.0, top, 10_000), bound=bound)
# not ru_maxrss, which a process inherits from the one that started it
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def _peak() -> float:
    """The most memory, in MB, of a process that asks for the same profiles and nothing else."""
    asked = [(spec, bound) for spec in _PROFILED for bound in ("auto", _named(spec))]
    script = _ALONE.format(asked=asked, users=_PROFILE_USERS)
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return int(out) / 1024.0


def rows() -> list[Row]:
    """Everything, in less than a minute."""
    return [*one_answer(), *automatic(), *profiles()]


def main() -> None:
    """Print the rows."""
    for what, measured, wanted, reached in rows():
        print(f"{'ok  ' if reached else 'MISS'} {what}: {measured} (wanted: {wanted})")


if __name__ == "__main__":
    main()
