"""Many answers in one call: CPU time of one answer, and of a sweep of 1,000 points: ``python -m benchmarks.many``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import shuffledp as sdp

from .rows import cpu

ROWS = 1000
#: Microseconds of CPU that one answer may take, by bound, and seconds for a sweep of 1,000 points.
NAMED, AUTO, SWEEP = 60.0, 400.0, 0.1
MECHANISMS = {
    "general:eps0=1": ("variation-ratio", "auto"),
    "grr:eps0=2,d=64": ("blanket", "variation-ratio", "auto"),
    "subset:eps0=2,d=64": ("blanket", "variation-ratio", "auto"),
}
USERS = np.floor(np.geomspace(1e3, 1e9, ROWS))
DELTAS = np.geomspace(1e-14, 1e-4, ROWS)
#: Up to where eps reaches 0 (delta(0) is about 1e-3 here), and from few users on: rows that need other evaluators.
ALL_DELTAS, ALL_USERS = np.geomspace(1e-15, 1e-3, ROWS), np.floor(np.geomspace(1e2, 1e12, ROWS))
BUDGETS = np.linspace(0.1, 5.0, ROWS).tolist()


def rows() -> list[tuple[str, str, str, bool]]:
    """What was measured, the result, what is wanted, and whether it is reached."""
    out = []
    for spec, bounds in MECHANISMS.items():
        for bound in bounds:
            most = AUTO if bound == "auto" else NAMED
            for axis, n, delta in (
                ("n = 1e3 to 1e9", USERS, 1e-8),
                ("n = 1e2 to 1e12", ALL_USERS, 1e-8),
                ("delta = 1e-14 to 1e-4", 10**6, DELTAS),
                ("delta = 1e-15 to 1e-3", 10**6, ALL_DELTAS),
            ):
                each = cpu(lambda: sdp.amplify(spec, n=n, delta=delta, bound=bound), 3) / ROWS * 1e6  # noqa: B023
                out.append(
                    (
                        f"{ROWS:,} answers, {spec}, {bound}, {axis}",
                        f"{each:.0f} us each",
                        f"{most:.0f} us each",
                        each <= most,
                    )
                )
    sizes, targets = USERS.astype(int).tolist(), DELTAS.tolist()
    sweeps: dict[str, Callable[[], object]] = {
        "grr:eps0=2,d=64, blanket, over n": lambda: sdp.sweep(
            "grr:eps0=2,d=64", n=sizes, delta=1e-8, bounds=["blanket"]
        ),
        "subset:eps0=2,d=64, blanket, over delta": lambda: sdp.sweep(
            "subset:eps0=2,d=64", n=10**6, delta=targets, bounds=["blanket"]
        ),
        "general, general, over eps0": lambda: sdp.sweep(
            "general", n=10**6, delta=1e-8, eps0=BUDGETS, bounds=["general"]
        ),
        "grr:d=64, blanket, over eps0": lambda: sdp.sweep(
            "grr:d=64", n=10**6, delta=1e-8, eps0=BUDGETS, bounds=["blanket"]
        ),
    }
    sweeps["subset:d=64, blanket, over eps0"] = lambda: sdp.sweep(
        "subset:d=64", n=10**6, delta=1e-8, eps0=BUDGETS, bounds=["blanket"]
    )
    for what, job in sweeps.items():
        seconds = cpu(job, 3)
        out.append((f"sweep of {ROWS:,} points, {what}", f"{seconds:.3f} s", f"{SWEEP:g} s", seconds <= SWEEP))
    return out


def main() -> None:
    for what, measured, wanted, reached in rows():
        print(f"{'ok  ' if reached else 'MISS'}  {what}: {measured} (wanted {wanted})")


if __name__ == "__main__":
    main()
