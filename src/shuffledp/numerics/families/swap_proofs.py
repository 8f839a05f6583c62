"""Where to sum the swap bound in ball arithmetic; nothing here needs to be trusted, as any choice proves something."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..evaluators import swap
from ..evaluators.certified import MASS_SLACK, PROOF_SLACK, Method
from ..evaluators.certified_swap import MAX_NODES
from ..solve import log_up
from .swap import SwapPair

#: (abscissa over the saddle, dither in tilted deviations) of the lines that are tried, the usual one first.
_LINES = (
    (1.0, 0.01),
    (0.9, 0.01),
    (1.1, 0.01),
    (1.0, 0.05),
    (0.9, 0.1),
    (1.0, 0.1),
    (1.1, 0.1),
    (0.9, 0.2),
    (1.0, 0.2),
)
#: The terms left out are at most about this share of the sum (its logarithm).
_NEGLIGIBLE = 25.0
#: Where M(c) alone proves delta with this much of log delta to spare, no node is needed.
_CRUDE = 0.1


class Proposal(NamedTuple):
    """A method, log of the delta that it is about to prove, and -d(log delta)/d(eps)."""

    method: Method
    log_delta: float
    fall: float


def propose(member: SwapPair, n: int, eps: float, delta: float) -> Proposal:
    """The first line that proves delta at eps, or else the best one."""
    bits = 112 + 2 * n.bit_length()
    shifted = max(eps - float(PROOF_SLACK), 0.0)
    x, t, alone = (part[0] for part in member.laws.at(np.array([shifted]), n))
    with np.errstate(all="ignore"):
        local = math.log(max(float((np.maximum(x, 0.0) * t).sum(axis=1).max() + alone.max()), 1e-320))
        beta = member.common_mass * (1.0 - float(MASS_SLACK))
        if n == 1 or beta <= 0.0 or local <= math.log(delta) - 1e-9:
            return Proposal(Method("local", bits), local, 1.0)
        copies = max(n - 1.0 / beta, 1.0)
        c, height, bend = swap.saddle(x, t, copies)
        worst = int(np.where(np.isfinite(height), height, -np.inf).argmax())
        waiting = swap.Waiting.of(beta, n, math.log(delta))
        waits = int(waiting.last[-1]) + 1
        rest, bare = waiting.log_rest + local, np.log(alone)
        weight = t[worst] * np.exp(c[worst] * x[worst])
        pull = float((weight * member.laws.v[worst]).sum() / (weight.sum() + 1e-300))
        fall = max(math.exp(eps) * float(c[worst]) * copies * pull, 1e-3)
        best: Proposal | None = None
        for scale, dither in _LINES:
            line = swap.line_at(scale * c[[worst]], bend[[worst]], dither)
            every = line.at(np.zeros(len(x), dtype=int))
            crude = np.logaddexp(swap.log_crude(x, t, waiting, every), bare).max()
            enough = np.logaddexp(crude, rest) <= math.log(delta) - _CRUDE
            value = crude if enough else np.logaddexp(swap.log_upper(x, t, waiting, every), bare).max()
            value = float(np.logaddexp(value, rest))
            if best is None or value < best.log_delta:
                c_, s, h = float(line.c[0]), float(line.s[0]), float(line.h[0])
                nodes = 1 if enough else _nodes(x, t, c_, s, h, n - waits)
                best = Proposal(Method("swap", bits, c=c_, s=s, h=h, nodes=nodes, waits=waits), value, fall)
            if value <= math.log(delta):
                break
    return best if best is not None else Proposal(Method("local", bits), local, fall)


def _nodes(x: np.ndarray, t: np.ndarray, c: float, s: float, h: float, fewest: int) -> int:
    """Nodes that leave out next to nothing: those of the Gaussian tail if the dither covers what is beyond pi/range."""
    reach = math.sqrt(2.0 * (_NEGLIGIBLE + max(math.log(s * c * c / h), 0.0))) / s
    live = t > 0.0
    high, low = np.where(live, x, 0.0).max(axis=1), np.where(live, x, 0.0).min(axis=1)
    cliff = math.pi / max(float((high - low).max()), 1e-300)
    weight = t * np.exp(c * x)
    total = weight.sum(axis=1)
    mean = (weight * x).sum(axis=1) / total
    variance = float(((weight * x * x).sum(axis=1) / total - mean * mean).min())
    near = math.sqrt(_NEGLIGIBLE / max((2.0 / math.pi**2) * variance * fewest, 1e-300))
    if cliff >= reach and near < cliff:
        reach = min(reach, near)
    return min(max(math.ceil(reach / h), 1), MAX_NODES)


def cap(members: Sequence[SwapPair]) -> float:
    """The eps from which on the local divergence alone proves delta = 0; inf if there is none."""
    return max((log_up(member.max_ratio) for member in members), default=0.0) + 4.0 * float(PROOF_SLACK)
