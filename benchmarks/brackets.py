"""The bracket [lower, upper] of every mechanism, as a Markdown table: ``python -m benchmarks.brackets``."""

from __future__ import annotations

import math
import sys

import shuffledp as sdp

CROWDS = (1_000, 10_000, 1_000_000)
#: One line per mechanism; {e} is replaced by eps0.
SINGLE = (
    "general:eps0={e}",
    "randomized-response:eps0={e}",
    "grr:eps0={e},d=16",
    "unary:eps0={e},d=16",
    "optimised-unary:eps0={e},d=16",
    "subset:eps0={e},d=16",
    "local-hash:eps0={e},d=16",
    "hadamard:eps0={e},d=16",
    "laplace:eps0={e}",
    "duchi:eps0={e},dim=5",
    "harmony:eps0={e},dim=5",
    "privunit:eps0={e},dim=10",
    "sampling-rappor:eps0={e},d=16,s=3",
    "wheel:eps0={e},d=16,s=3",
    "privset:eps0={e},d=16,s=3",
    "pckv-grr:eps0={e},d=16,l=3",
    "hierarchical-grr:eps0={e},d=16",
    "metric-general:d01={e},dmax=4",
    "metric-laplace:d01={e},dmax=4",
    "planar-laplace:d01={e},dmax=4",
    "gaussian:sigma={e}",
    "joint:<grr:eps0={e},d=16; grr:eps0={e},d=16>",
)
MULTI = (
    "balcer-cheu:coin=0.3,messages=1",
    "balcer-coin:messages=1",
    "cheu-zhilyaev:flip=0.25,d=16,messages=1",
    "balls-into-bins:d=16,special=1,messages=1",
    "pure-dump:d=16,messages=1",
    "mix-dump:d=16,flip=0.3,messages=1",
    "poisson-histogram:d=16,poisson_per_index=0.0625,indices=4",
)


def row(spec: str) -> str:
    """One Markdown row: eps and, in per cent, how much of it no analysis can remove."""
    cells = []
    for n in CROWDS:
        g = sdp.amplify(spec, n=n, delta=0.01 / n)
        gap = "" if not g.lower or math.isinf(g.epsilon) else f" (+{100 * (g.epsilon / g.lower - 1):.2f} %)"
        cells.append(f"{g.epsilon:.5g}{gap}")
    return f"| `{spec}` | " + " | ".join(cells) + " |"


def table() -> str:
    """The whole table; delta = 0.01/n."""
    lines = [
        "| mechanism | " + " | ".join(f"n = {n:,}" for n in CROWDS) + " |",
        "|---|" + "---|" * len(CROWDS),
    ]
    lines += [row(spec.format(e=e)) for spec in SINGLE for e in (1, 3)]
    lines += [row(spec) for spec in MULTI]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
