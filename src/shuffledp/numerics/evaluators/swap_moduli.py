"""The moment generating function of a law along a line, and what rounding may have done to it (swap.py)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..pair import FloatArray
from . import swap_nodes
from .waiting import ULP


class Moduli(NamedTuple):
    """M - 1 at every node, what its error may be, |M|, and log |M|."""

    growth: np.ndarray
    doubt: FloatArray
    modulus: FloatArray
    log_modulus: FloatArray


def moduli(x: FloatArray, t: FloatArray, c: FloatArray, y: FloatArray) -> Moduli:
    """M(c + iy), one row per law, at equally spaced y = 0, h, 2h, ..."""
    growth = np.zeros(y.shape, dtype=np.complex128)
    doubt = np.zeros(y.shape)
    if swap_nodes.pays(y.shape[0], y.shape[1], x.shape[1]):
        growth = swap_nodes.growth(x, t, c, y[:, 1], y.shape[1])
        load = t * np.maximum(np.exp(c[:, None] * x), 1.0) * np.abs(x)
        doubt += load.sum(axis=1)[:, None] * (c[:, None] + y)
    else:
        for j in range(x.shape[1]):  # one value at a time: fewer and smaller temporaries
            turn = x[:, j, None] * y
            exponent = c * x[:, j]
            scale = np.exp(exponent)[:, None]
            half = np.sin(0.5 * turn)
            growth.real += t[:, j, None] * (np.expm1(exponent)[:, None] - scale * (2.0 * half * half))
            growth.imag += t[:, j, None] * (scale * np.sin(turn))
            doubt += (t[:, j] * np.maximum(scale[:, 0], 1.0))[:, None] * (np.abs(exponent)[:, None] + np.abs(turn))
    doubt *= ULP * (1.0 + x.shape[1] / 16.0)
    return from_growth(growth, doubt)


def from_growth(growth: np.ndarray, doubt: FloatArray) -> Moduli:
    """M, given M - 1 and its error."""
    excess = 2.0 * growth.real + growth.real**2 + growth.imag**2
    modulus = np.hypot(1.0 + growth.real, growth.imag)
    log_modulus = np.where(
        modulus < 0.5, np.log(np.maximum(modulus, 1e-300)), 0.5 * np.log1p(np.maximum(excess, -0.75))
    )
    return Moduli(growth, doubt, modulus, log_modulus)


def raised(log_modulus: FloatArray, modulus: FloatArray, doubt: FloatArray) -> FloatArray:
    """log(modulus + doubt)."""
    return np.asarray(np.where(modulus < 0.5, np.log(modulus + doubt + 1e-300) + ULP, log_modulus + 2.0 * doubt))
