"""The yardstick for one answer: the sum over counts as one would write it by hand in numpy, vectorized and windowed.

With counts h of n draws, delta(E) = sum_h Mult(h) (U_h - E V_h)_+ / n, U = h.u, V = h.v (numerics/pair.py).  A good
hand-written version sums only the counts that matter at the tolerance: a saddle point says where those are, each axis
is cut four deviations from there, and the most revealing axis starts where the term becomes positive and ends where the
terms have fallen to e^-8.  Newton's method in E then needs three or four sums over the same cells.

Nothing here is proved: windows, search and rounding are cut at the tolerance, not charged to the safe side.  It is
left as it is, so that ratios to it can be compared over time; run ``python -m benchmarks.direct_sum``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

#: Deviations on either side, and e-folds on the revealing axis, that are summed.
_SIDE, _FOLDS = 4.0, 8.0
#: More cells than this take too long.
MOST_CELLS = 3_000_000


class Law(NamedTuple):
    """Ratios of the victim's two laws to what each other message contains, and the masses of that."""

    u: tuple[float, ...]
    v: tuple[float, ...]
    t: tuple[float, ...]


def general(eps0: float) -> Law:
    """The stronger clone: a clone of either input with probability 1/(e+1) each."""
    e = math.exp(eps0)
    return Law((e, 1.0), (1.0, e), (1.0 / (e + 1.0), 1.0 / (e + 1.0)))


def grr(eps0: float, d: int) -> Law:
    """Generalized randomized response over its blanket."""
    e = math.exp(eps0)
    b = 1.0 / (e + d - 1.0)
    return Law((e, 1.0, 1.0), (1.0, e, 1.0), (b, b, (d - 2) * b))


def subset(eps0: float, d: int, k: int) -> Law:
    """Subset selection over its blanket: sets with x0 only, x1 only, both, neither."""
    e = math.exp(eps0)
    one, two = math.comb(d - 2, k - 1), math.comb(d - 2, k - 2) if k > 1 else 0
    none = math.comb(d - 2, k)
    b = 1.0 / (e * math.comb(d - 1, k - 1) + math.comb(d - 1, k))
    return Law((e, 1.0, e, 1.0), (1.0, e, e, 1.0), (one * b, one * b, two * b, none * b))


def variation_ratio(p: float, beta: float, q: float) -> Law:
    """The dominating pair of the variation-ratio reduction."""
    alpha = beta / (p - 1.0)
    rest = 1.0 - alpha - p * alpha
    if rest < 1e-12:
        return Law((q, q / p), (q / p, q), (p * alpha / q,) * 2)
    return Law((q, q / p, q), (q / p, q, q), (p * alpha / q, p * alpha / q, rest / q))


def _start(law: Law, n: int, delta: float) -> tuple[float, float]:
    """E and the tilt c by the saddle-point approximation of delta: where the terms are."""
    u, v, t = law
    log_delta = math.log(delta)
    sigma = math.sqrt(sum(m * (a - b) ** 2 for a, b, m in zip(u, v, t, strict=True)) / n)
    most = max(a / b for a, b in zip(u, v, strict=True))
    excess = min(sigma * math.sqrt(max(2.0 * math.log(sigma / delta) - 4.0, 1.0)), 0.5 * (most - 1.0))
    c = 0.0
    for _ in range(30):
        x = [a - b - excess * b for a, b in zip(u, v, strict=True)]
        if c == 0.0:
            mean, square = (sum(m * y**k for m, y in zip(t, x, strict=True)) for k in (1, 2))
            c = (math.sqrt((n * mean) ** 2 + 8.0 * n * square) - n * mean) / (2.0 * n * square)
        w = [m * math.exp(min(c * y, 300.0)) for m, y in zip(t, x, strict=True)]
        total = 1.0 + sum(w) - sum(t)
        k1 = sum(m * y for m, y in zip(w, x, strict=True)) / total
        k2 = sum(m * y * y for m, y in zip(w, x, strict=True)) / total - k1 * k1
        pull, bend = n * k1 - 2.0 / c, n * k2 + 2.0 / (c * c)
        value = n * math.log(total) - 2.0 * math.log(c) - 0.5 * pull * pull / bend - 0.5 * math.log(6.2832 * bend)
        fall = c * n * sum(m * b for m, b in zip(w, v, strict=True)) / total
        move = (value - math.log(n) - log_delta) / fall
        step = pull / bend
        c = min(max(c - step, 0.3 * c), 3.0 * c)
        new = excess + move
        if not 0.0 < new < most - 1.0:
            new = 0.5 * excess if new <= 0.0 else 0.5 * (excess + most - 1.0)
        if abs(new - excess) < 1e-3 * excess and abs(step) < 0.01 * c:
            return 1.0 + new, c
        excess = new
    return 1.0 + excess, c


def epsilon(law: Law, n: int, delta: float, tol: float = 1e-4) -> float:
    """eps at delta to a relative tolerance; a second time around what was found if the first guess was poor."""
    ratio, c = _start(law, n, delta)
    for _ in range(5):
        found = _newton(law, n, delta, tol, ratio, c)
        if abs(found - ratio) <= 0.01 * (ratio - 1.0):
            break
        ratio = found
    return math.log(found)


def _newton(law: Law, n: int, delta: float, tol: float, ratio: float, c: float) -> float:
    """E at delta by Newton's method on the sum in the window of a first guess."""
    kept = [j for j in range(len(law.t)) if law.t[j] > 0.0]
    u, v, t = (np.array([part[j] for j in kept]) for part in law)
    x = u - ratio * v
    lead = int(np.argmax(x))
    w = t * np.exp(c * x)
    w /= 1.0 - t.sum() + w.sum()
    mean, side = n * w, _SIDE * np.sqrt(n * w * (1.0 - w)) + 1.0
    low = np.maximum(np.floor(mean - side), 0.0).astype(int)
    high = np.minimum(np.ceil(mean + side), n).astype(int)
    others = [j for j in range(t.size) if j != lead]
    # the cells of the other axes, then a slab along the revealing one, from where terms become positive
    count, base_u, base_v = np.zeros(1, dtype=int), np.zeros(1), np.zeros(1)
    log_fact = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, n + 1.0)))])
    rest = 1.0 - float(t.sum())
    log_rest = math.log(rest) if rest > 1e-15 else 0.0
    log_p = np.full(1, log_fact[n] - math.log(n))
    for j in others:
        h = np.arange(low[j], high[j] + 1)
        own = h * (math.log(t[j]) - log_rest) - log_fact[h]
        count = np.add.outer(count, h).ravel()
        base_u, base_v = np.add.outer(base_u, h * u[j]).ravel(), np.add.outer(base_v, h * v[j]).ravel()
        log_p = np.add.outer(log_p, own).ravel()
        if count.size > MOST_CELLS:
            raise MemoryError("too many counts")
    floor = 1.0 + (ratio - 1.0) * 0.99
    first = np.maximum(np.floor((floor * base_v - base_u) / (u[lead] - floor * v[lead])), 0.0).astype(int)
    wide = min(int(_FOLDS / (c * x[lead])) + 2, int(high[lead] - low[lead]) + 2)
    if count.size * wide > MOST_CELLS:
        raise MemoryError("too many counts")
    a = first[:, None] + np.arange(wide)
    left = n - count[:, None] - a
    inside = left >= 0
    if not inside.all():
        a, left = np.where(inside, a, 0), np.where(inside, left, 0)
    log_p = log_p[:, None] + a * (math.log(t[lead]) - log_rest) - log_fact[a] - log_fact[left] + n * log_rest
    p = np.where(inside, np.exp(log_p), 0.0)
    if rest <= 1e-15:  # no message is empty: one count is determined by the others
        p = np.where(left == 0, p, 0.0)
    gain, loss = base_u[:, None] + a * u[lead], base_v[:, None] + a * v[lead]
    for _ in range(30):
        term = gain - ratio * loss
        live = p * (term > 0.0)
        value, fall = float(np.einsum("ij,ij->", live, term)), float(np.einsum("ij,ij->", live, loss))  # one thread
        move = value / fall * math.log(value / delta)
        ratio += move
        if abs(move) <= 0.1 * tol * math.log(ratio):
            break
    return ratio


def cases() -> list[tuple[str, str, Callable[[int], float]]]:
    """(spec, bound, the same answer by hand as a function of n), at delta = 1e-6."""
    delta = 1e-6
    out: list[tuple[str, str, Callable[[int], float]]] = []
    for eps0 in (0.5, 1.0, 2.0, 4.0):
        out.append((f"general:eps0={eps0}", "general", lambda n, e=eps0: epsilon(general(e), n, delta)))
    for eps0, d in ((1.0, 4), (2.0, 16), (2.0, 64), (4.0, 64)):
        out.append((f"grr:eps0={eps0},d={d}", "blanket", lambda n, e=eps0, d=d: epsilon(grr(e, d), n, delta)))

        def by_ratio(n: int, e: float = eps0, d: int = d) -> float:
            p = math.exp(e)
            return epsilon(variation_ratio(p, (p - 1.0) / (p + d - 1.0), p), n, delta)

        out.append((f"grr:eps0={eps0},d={d}", "variation-ratio", by_ratio))
    for eps0, d, k in ((1.0, 16, 4), (2.0, 16, 2), (4.0, 64, 1)):
        out.append(
            (
                f"subset:eps0={eps0},d={d},k={k}",
                "blanket",
                lambda n, e=eps0, d=d, k=k: epsilon(subset(e, d, k), n, delta),
            )
        )
    return out


def seconds(call: Callable[[], object], *, budget: float = 0.05) -> float:
    """CPU seconds of one call: the best mean of three groups."""
    call()
    start = time.process_time()
    call()
    count = max(1, min(100, int(budget / max(time.process_time() - start, 1e-6))))
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        for _ in range(count):
            call()
        best = min(best, (time.process_time() - start) / count)
    return best


def main() -> None:
    """Milliseconds per answer by hand, until it takes too long."""
    for spec, bound, hand in cases():
        line = []
        for power in range(2, 9):
            try:
                took = seconds(partial(hand, 10**power), budget=0.02)
            except MemoryError:
                line.append("too many counts")
                break
            line.append(f"{1e3 * took:.2f}")
            if took > 0.1:
                break
        print(f"{spec:28} {bound:16} {' '.join(line)}")


if __name__ == "__main__":
    main()
