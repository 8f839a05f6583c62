"""The mechanisms as one would write them in chunked numpy with its fastest generator (SFC64), reports kept.

Each function privatises the values, keeps compact reports and returns the support counts of the d items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp

Array = NDArray[Any]
CHUNK = 20_000


def _start(values: Array, chunk: int = CHUNK) -> tuple[np.random.Generator, Iterator[Array]]:
    return np.random.Generator(np.random.SFC64(1)), (values[i : i + chunk] for i in range(0, len(values), chunk))


def grr(m: sdp.GRR, values: Array) -> Array:
    rng, chunks = _start(values, 100_000)
    keep, reports = float(m.probabilities()[0, 0]), []
    for x in chunks:
        other = rng.integers(0, m.d - 1, len(x))
        other += other >= x
        reports.append(np.where(rng.random(len(x)) < keep, x, other).astype(np.uint8))
    return np.bincount(np.concatenate(reports), minlength=m.d)


def unary(m: sdp.Unary, values: Array) -> Array:
    rng, chunks = _start(values)
    flip, reports = 1.0 / (np.exp(m.eps0 / 2) + 1.0), []
    for x in chunks:
        bits = rng.random((len(x), m.d), dtype=np.float32) < flip
        bits[np.arange(len(x)), x] ^= True
        reports.append(np.packbits(bits, axis=1))
    return np.sum([np.unpackbits(r, axis=1, count=m.d).sum(axis=0, dtype=np.int64) for r in reports], axis=0)


def subset(m: sdp.Subset, values: Array) -> Array:
    rng, chunks = _start(values)
    k, e = int(m.k or 1), np.exp(m.eps0)
    include, reports = k * e / (k * e + m.d - k), []
    for x in chunks:
        keys = rng.random((len(x), m.d), dtype=np.float32)
        keys[np.arange(len(x)), x] = np.where(rng.random(len(x)) < include, -1.0, 2.0)
        reports.append(np.argpartition(keys, k - 1, axis=1)[:, :k].astype(np.uint8))
    return np.sum([np.bincount(r.ravel(), minlength=m.d) for r in reports], axis=0)


def local_hash(m: sdp.LocalHash, values: Array) -> Array:
    rng, chunks = _start(values)
    buckets, prime = int(m.l or 2), 2**31 - 1
    keep = np.exp(m.eps0) / (np.exp(m.eps0) + buckets - 1)
    items, hits = np.arange(m.d), np.zeros(m.d, dtype=np.int64)
    for x in chunks:
        a, b = rng.integers(1, prime, len(x)), rng.integers(0, prime, len(x))
        mine = (a * x + b) % prime % buckets
        other = rng.integers(0, buckets - 1, len(x))
        other += other >= mine
        y = np.where(rng.random(len(x)) < keep, mine, other)
        hits += ((a[:, None] * items + b[:, None]) % prime % buckets == y[:, None]).sum(axis=0)
    return hits


def hadamard(m: sdp.Hadamard, values: Array) -> Array:
    rng, chunks = _start(values, 100_000)
    outputs, size = m.outputs, m.block
    stray, reports = 1.0 / (size // 2 * np.exp(m.eps0) + outputs - size // 2), []
    for x in chunks:
        anywhere, row = rng.integers(0, outputs, len(x)), 1 + x % (size - 1)
        inside = anywhere & (size - 1)
        odd = np.bitwise_count(inside & row) & 1
        own = x // (size - 1) * size + (inside ^ (odd * (row & -row)))
        reports.append(np.where(rng.random(len(x)) < outputs * stray, anywhere, own).astype(np.uint16))
    return np.bincount(np.concatenate(reports), minlength=outputs)
