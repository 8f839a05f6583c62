"""How long a comparison of all bounds and a reproduction of the paper take."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator

import shuffledp as sdp

from .catalog import SPECS
from .rows import Row, at_most, cpu_of_process

#: Mechanisms whose laws take longest: fractions of messages, many input pairs.
HARD = (
    "metric-laplace:d01=2,dmax=6",
    "mix-dump:d=5,flip=0.3,messages=0.5",
    "pure-dump:d=4,messages=1.25",
    "cheu-zhilyaev:flip=0.2,d=5,messages=1.5",
)


def rows() -> Iterator[Row]:
    """Both."""
    specs = [*(spec.format(e=2) for spec in SPECS), *HARD]
    times = {}
    for spec in specs:
        for n in (10**4, 10**6):
            mechanism = sdp.mechanism(spec)
            start = time.process_time()
            sdp.compare(mechanism, n=n, delta=0.01 / n)
            times[spec, n] = time.process_time() - start
    worst = max(times, key=lambda key: times[key])
    middle = sorted(times.values())[len(times) // 2]
    yield Row(
        f"`compare`, all bounds, {len(specs)} mechanisms, n = 1e4 and 1e6",
        f"median {middle * 1e3:.0f} ms, slowest {times[worst] * 1e3:.0f} ms ({worst[0]}, n = {worst[1]:.0e})",
        "< 0.3 s",
        times[worst] < 0.3,
    )
    with tempfile.TemporaryDirectory() as folder:
        given = ["shuffledp", "reproduce", "--out", folder]
        spent = cpu_of_process(f"import sys; sys.argv = {given}; from shuffledp.cli import main; main()", 1)
    yield at_most("`shuffledp reproduce`: figures 1 to 5, table 5, report", spent, 60)
