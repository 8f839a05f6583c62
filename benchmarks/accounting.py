"""One answer: start-up, against n, against the authors' algorithm; hops, certificates and domains."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType

import shuffledp as sdp

from .conventional import amplify as conventional
from .rows import ALLOWANCE, Row, cpu, cpu_of_process, spelled

SPECS = {
    "general:eps0=1": ("general", "variation-ratio"),
    "grr:eps0=2,d=64": ("blanket", "variation-ratio", "swap"),
    "subset:eps0=2,d=64": ("blanket", "variation-ratio", "swap"),
    "laplace:eps0=2": ("blanket", "variation-ratio"),
}
USERS, DELTA = (100, 10**3, 10**4, 10**6, 10**9, 10**12), 1e-6
#: Seconds of CPU that one warm answer may take: by a named bound, and by auto with its lower bound.
NAMED, AUTO = 0.002 * ALLOWANCE, 0.008 * ALLOWANCE


def rows() -> Iterator[Row]:
    """All of them."""
    for part in (start_up, against_n, hops, against_conventional, certificates, against_domain):
        yield from part()


def start_up() -> Iterator[Row]:
    """A command must not feel slow."""
    base, bare = cpu_of_process("import numpy, scipy.special"), cpu_of_process("pass")
    first = cpu_of_process("import shuffledp as s; s.amplify('general:eps0=1', n=10**6, delta=1e-8)")
    only = cpu_of_process("import shuffledp") - bare
    helped = cpu_of_process("import sys; sys.argv = ['shuffledp', '--help']; from shuffledp.cli import main; main()")
    yield Row("`import shuffledp`, CPU beyond a bare interpreter", f"{only:.3f} s", "< 0.1 s", only < 0.1)
    yield Row("`shuffledp --help`, CPU", f"{helped:.3f} s", "< 0.3 s", helped < 0.3)
    measured = f"{first / base:.2f} ({first:.3f} s, {base:.3f} s CPU)"
    yield Row("first `amplify` with imports / `import numpy, scipy.special`", measured, "<= 1.3", first / base <= 1.3)


def against_n() -> Iterator[Row]:
    """The cost does not grow with n."""
    for spec, bounds in SPECS.items():
        for bound in bounds:
            asked = partial(sdp.amplify, spec, delta=DELTA, bound=bound)
            times = {n: _each(partial(asked, n=n)) for n in USERS}
            yield _times(f"`amplify` {spec}, {bound}", times, NAMED)
    for spec in SPECS:
        times = {n: _each(partial(_bracket, spec, n)) for n in USERS}
        yield _times(f"`amplify` {spec}, auto, with its lower bound", times, AUTO)


def _bracket(spec: str, n: int) -> float | None:
    return sdp.amplify(spec, n=n, delta=DELTA).lower


def _each(call: Callable[[], object], group: int = 4) -> float:
    """CPU seconds of a warm call."""
    call()
    return cpu(lambda: [call() for _ in range(group)], 5) / group


def _times(what: str, times: dict[int, float], most: float) -> Row:
    """The times at all n; each of them must be within the limit."""
    shown = ", ".join(f"1e{math.log10(n):.0f}: {1e3 * t:.2f}" for n, t in times.items()) + " ms"
    return Row(f"{what}, by n", shown, f"<= {spelled(most)} each", max(times.values()) <= most)


def against_conventional() -> Iterator[Row]:
    """The authors' sum over c has fewer terms as eps0 grows, so the ratio falls; our time does not depend on eps0."""
    n, delta = 10**8, 1e-10
    for eps0, wanted in ((1.0, 300), (3.0, 150), (5.0, 60)):
        ask = partial(sdp.amplify, sdp.General(eps0=eps0), n=n, delta=delta, bound="variation-ratio")
        ours, got = cpu(ask, 25), ask().epsilon
        start = time.process_time()
        theirs_eps = conventional(n, eps0, delta)
        theirs = time.process_time() - start
        yield Row(
            f"`amplify`, general eps0 = {eps0:g}, n = 1e8, against the authors' algorithm (20 bisections)",
            f"{theirs / ours:,.0f}x faster ({ours * 1e3:.2f} ms, {theirs:.2f} s; eps {got:.6f}, {theirs_eps:.6f})",
            f">= {wanted}x",
            theirs / ours >= wanted,
        )


def hops() -> Iterator[Row]:
    """How many functions and files one must read to follow a warm answer, and how many calls a calibration makes."""
    functions, files, _ = _entered(lambda: sdp.amplify("grr:eps0=2,d=64", n=10**6, delta=1e-8))
    fits = functions <= 45 and files <= 10
    yield Row("`amplify` grr, warm: functions entered", f"{functions} in {files} files", "<= 45 in <= 10", fits)
    _, _, calls = _entered(lambda: sdp.calibrate("grr", d=64, n=10**6, epsilon=0.1, delta=1e-8))
    yield Row("`calibrate` grr, warm: calls of functions", f"{calls:,}", "<= 600", calls <= 600)


def _entered(ask: Callable[[], object]) -> tuple[int, int, int]:
    """Functions and files of the library that a second call enters, and its calls."""
    ask()
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(Path(sdp.__file__).parent)):
            calls.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return len(set(calls)), len({file for file, _ in calls}), len(calls)


def certificates() -> Iterator[Row]:
    """Made and verified."""
    for k in (4, 6, 8, 10, 12):
        start = time.process_time()
        g = sdp.amplify(sdp.General(eps0=3.0), n=10**k, delta=0.01 / 10**k, certify=True)
        made = time.process_time() - start
        start = time.process_time()
        sdp.verify(g.certificate)  # type: ignore[arg-type]
        checked = time.process_time() - start
        measured = f"made in {made:.2f} s, verified in {checked:.2f} s"
        yield Row(f"certificate at n = 1e{k}", measured, "< 5 s", made + checked < 5)


def against_domain() -> Iterator[Row]:
    """The cost does not grow with the domain."""
    for name in ("grr", "unary", "optimized-unary", "subset", "local-hash", "hadamard"):
        times = {}
        for d in (16, 10**6):
            spec = f"{name}:eps0=2,d={d}"
            sdp.amplify(spec, n=10_000, delta=1e-6)
            times[d] = cpu(lambda spec=spec: sdp.amplify(spec, n=10_000, delta=1e-6))
        ratio = times[10**6] / times[16]
        measured = f"{ratio:.2f} ({times[10**6] * 1e3:.1f} ms)"
        yield Row(f"`amplify` {name}: time at d = 1e6 / time at d = 16", measured, "<= 2", ratio <= 2)
