"""One answer: start-up, against n, against the authors' algorithm; profiles, certificates and domains."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

import shuffledp as sdp

from .conventional import amplify as conventional
from .rows import Row, cpu, cpu_of_process


def rows() -> Iterator[Row]:
    """All of them."""
    for part in (start_up, against_n, against_conventional, profiles, certificates, against_domain):
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
    times = {}
    for k in (3, 5, 8, 12, 15):
        times[k] = cpu(lambda k=k: sdp.amplify(sdp.General(eps0=1.0), n=10**k, delta=0.01 / 10**k), 15)
    yield Row("`amplify`, auto: time against n", ", ".join(f"1e{k}: {t * 1e3:.2f} ms" for k, t in times.items()))
    ratio = times[12] / times[5]
    yield Row("`amplify`, auto: time at 1e12 / time at 1e5", f"{ratio:.2f}", "<= 2", ratio <= 2)


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


def profiles() -> Iterator[Row]:
    """Many eps at once."""
    p = math.exp(3.0)
    laws: dict[str, object] = {
        "general eps0 = 1": sdp.General(eps0=1.0),
        "GRR d = 16, eps0 = 3, by its (p, beta, q)": sdp.VariationRatio(p=p, beta=(p - 1) / (p + 15), q=p),
        "a pair of 4 symbols": sdp.ShuffledPair([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.2, 0.1]),
    }
    for name, law in laws.items():
        for top in (0.02, 0.3):
            eps = np.linspace(0.0, top, 10_000)
            spent = cpu(lambda law=law, eps=eps: sdp.profile(law, n=10**6, epsilon=eps, tol=1e-3), 3)  # type: ignore[arg-type]
            yield Row(f"`profile`, 10,000 eps in [0, {top}], n = 1e6, {name}", f"{spent:.2f} s", "< 1 s", spent < 1)


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
