"""The swap sums where a known share of the others is of each class, each with types of its own (swap.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..pair import FloatArray
from .swap import MOST_NODES, log_sums, moduli, raised
from .swap_lines import Line
from .waiting import SUMMING, ULP, Waiting


@np.errstate(all="ignore")
def log_upper_of_classes(
    laws: Sequence[tuple[FloatArray, FloatArray]], shares: Sequence[float], waiting: Waiting, line: Line
) -> float:
    """log U where a share of the others is of each class: A(sum of share max |M| over the types of the class).

    Every class has rows (type, value) of its own, and the line has one row.  The maximum over types is taken node by
    node, which covers all tuples of types.
    """
    c, h, s = float(line.c[0]), float(line.h[0]), float(line.s[0])
    reach = math.sqrt(2.0 * math.log(max(1e7 * s * c * c / h, 10.0))) / s
    nodes = int(min(math.ceil(reach / h), MOST_NODES))
    y = h * np.arange(nodes + 1)
    mean, doubt = np.zeros(nodes + 1), np.zeros(nodes + 1)
    for (x, t), share in zip(laws, shares, strict=True):
        at = moduli(x, t, np.full(len(x), c), np.broadcast_to(y, (len(x), nodes + 1)))
        excess = np.expm1(raised(at.log_modulus, at.modulus, at.doubt).max(axis=0))
        mean, doubt = mean + share * excess, doubt + share * np.abs(excess)
    log_r = np.log1p(mean + ULP * doubt)
    log_r += ULP * np.abs(log_r)
    weight = np.exp(-0.5 * (s * y) ** 2) / (c * c + y * y)
    weight[1:] *= 2.0
    last = nodes * h
    beyond = 2.0 * math.exp(-0.5 * (s * last) ** 2) / (c * c + last * last) * (1.0 + 1.0 / (h * s * s * last))
    size = log_sums(waiting, log_r[None, :])[0]
    total = (weight * np.exp(size - size[0])).sum() * (1.0 + SUMMING) + beyond * (1.0 + 1e-9)
    value = math.log(total) + float(size[0]) + math.log(h / (2.0 * math.pi)) + 0.5 * (s * c) ** 2 + 1e-11
    return value if value == value else math.inf
