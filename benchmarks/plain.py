"""The mechanisms as one would write them in chunked numpy with its fastest generator (SFC64), reports kept.

Each function privatizes the values, keeps compact reports and returns the support counts of the d items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

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


def laplace(m: sdp.Laplace, values: Array) -> Array:
    rng, chunks = _start(values)
    reports = [(x + rng.laplace(scale=1.0 / m.eps0, size=len(x))).astype(np.float32) for x in chunks]
    return np.array([np.concatenate(reports).sum(dtype=np.float64)])


def cheu_zhilyaev(m: sdp.CheuZhilyaev, values: Array) -> Array:
    """One blanket row per user; rows are shuffled."""
    rng, chunks = _start(values)
    reports = []
    for x in chunks:
        bits = rng.random((2 * len(x), m.d), dtype=np.float32) < m.flip
        bits[np.arange(len(x)), x] ^= True
        reports.append(np.packbits(bits, axis=1))
    rows = np.concatenate(reports)
    rng.shuffle(rows)
    step = 2 * CHUNK
    parts = (rows[i : i + step] for i in range(0, len(rows), step))
    return np.sum([np.unpackbits(r, axis=1, count=m.d).sum(axis=0, dtype=np.int64) for r in parts], axis=0)


def wheel(m: sdp.Wheel, values: Array) -> Array:
    """Polynomials mod 2^31 - 1 by Horner's rule; a point on the arcs by rejection."""
    rng, chunks = _start(values)
    prime, width, terms = 2**31 - 1, int(m.w * (2**31 - 1)), 3 * m.s - 1
    on = m.s * m.w * np.exp(m.eps0) / (m.s * m.w * np.exp(m.eps0) + 1 - m.s * m.w)
    hits = np.zeros(m.d, dtype=np.int64)
    for x in chunks:
        seed = rng.integers(0, prime, (terms, len(x)))

        def place(v: Array | int, seed: Array = seed) -> Array:
            total = np.zeros(seed.shape[1], dtype=np.int64)
            for c in seed[::-1]:
                total = (total + c) * v % prime
            return total

        own = np.stack([place(x[:, i]) for i in range(m.s)])
        wanted = rng.random(len(x)) < on
        y = rng.integers(0, prime, len(x))
        while (bad := np.flatnonzero((((y - own) % prime < width).any(axis=0)) != wanted)).size:
            again = rng.integers(0, prime, bad.size)
            y[bad] = again
            own_bad, wanted_bad = own[:, bad], wanted[bad]
            good = (((again - own_bad) % prime < width).any(axis=0)) == wanted_bad
            if good.all():
                break
        for v in range(m.d):
            hits[v] += np.count_nonzero((y - place(v)) % prime < width)
    return hits


def privunit(m: sdp.PrivUnit, values: Array) -> Array:
    rng, chunks = _start(values)
    half, total = 0.5 * (m.dim - 1), np.zeros(m.dim)
    inside = m.cap * np.exp(m.eps0) / (m.cap * np.exp(m.eps0) + 1 - m.cap)
    for x in chunks:
        cap, u = rng.random(len(x)) < inside, rng.random(len(x))
        along = 2.0 * special.betaincinv(half, half, np.where(cap, 1.0 - m.cap * u, (1.0 - m.cap) * u)) - 1.0
        noise = rng.standard_normal(x.shape)
        noise -= (noise * x).sum(axis=1, keepdims=True) * x
        noise *= (np.sqrt(1.0 - along**2) / np.linalg.norm(noise, axis=1))[:, None]
        total += (noise + along[:, None] * x).astype(np.float32).sum(axis=0)
    return total
