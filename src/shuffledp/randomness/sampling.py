"""Random bits for privacy: secure by default, seeded only when asked.

``source(None)`` is an AES-256 counter keystream under a fresh key from the operating system; it never repeats, not in
a forked process either, and leaves nothing behind that could be replayed.  ``source(generator)`` wraps a numpy
Generator for tests and simulations; reports made with it say that they are not for release.  Work on several threads
takes one source per piece of it (:class:`Streams`).

Every sampler works on integers: probabilities are compared digit by digit with random words, so that
events have their stated probability to within 2^-80, beyond the precision of floats.
"""

from __future__ import annotations

import os
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError

#: Any array, as mechanisms pass them on.
Array = NDArray[Any]

_BLOCK = 1 << 20
_ZEROS = memoryview(bytes(_BLOCK))  # a slice of a view is not copied
_DIGIT_BITS = (8, 8, 64)  # a Bernoulli decision reads a byte; a tie (1 in 256) reads more


class Source(Protocol):
    """Uniform random words; ``for_release`` is True only for the secure one."""

    for_release: bool

    def raw(self, size: int) -> NDArray[np.uint8]:
        """``size`` uniform random bytes."""


#: How many forks lie between the process that imported this and the one that runs it.
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # elsewhere there is no fork
    os.register_at_fork(after_in_child=_count_fork)


class Keystream:
    """AES-256 in counter mode; without a key, under one from the operating system, used once and never stored.

    A forked process has a copy of all that its parent drew: if both went on, two batches would be in one order, and two
    users would have one noise.  So the child takes a fresh key.

    With a ``key`` of 32 bytes, which a seeded generator drew, ``number`` (below 2^64) says which of its streams this
    is: no two of them overlap.  These are repeatable, also in a child, and not for release.
    """

    def __init__(self, key: bytes | None = None, number: int = 0) -> None:
        self.for_release = key is None
        self._begin(os.urandom(32) if key is None else key, number)

    def _begin(self, key: bytes, number: int) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        counter = number.to_bytes(8, "big") + bytes(8)  # the lower half counts the blocks of 16 bytes
        self._stream = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
        self._born = _forks

    def raw(self, size: int) -> NDArray[np.uint8]:
        """The next ``size`` bytes of the keystream."""
        if self._born != _forks and self.for_release:
            self._begin(os.urandom(32), 0)
        out = np.empty(size + 15, dtype=np.uint8)
        view = memoryview(out)  # type: ignore[arg-type]  # update_into asks for up to a block of slack
        done = 0
        while done < size:
            step = min(_BLOCK, size - done)
            done += self._stream.update_into(_ZEROS[:step], view[done:])
        return out[:size]


class Seeded:
    """A numpy Generator, for tests and simulations."""

    for_release = False

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def raw(self, size: int) -> NDArray[np.uint8]:
        """The next ``size`` bytes of the generator."""
        words = self._generator.integers(0, 2**64, size=(size + 7) // 8, dtype=np.uint64)
        return words.view(np.uint8)[:size]


def source(rng: np.random.Generator | None) -> Source:
    """The secure keystream, or a wrapper of the numpy Generator that was passed."""
    if rng is None:
        return Keystream()
    if isinstance(rng, np.random.Generator):
        return Seeded(rng)
    raise ParameterError(
        f"rng must be None (secure) or a numpy Generator, got {type(rng).__name__}; "
        "pass numpy.random.default_rng(seed)."
    )


def words(src: Source, size: int, bits: int) -> NDArray[np.unsignedinteger]:
    """Uniform unsigned integers of 8, 16, 32 or 64 bits."""
    dtype = np.dtype(f"u{bits // 8}")
    return src.raw(size * dtype.itemsize).view(dtype)


def bernoulli(src: Source, probability: float | Fraction, size: int) -> NDArray[np.bool_]:
    """``size`` independent events of exactly this probability (to within 2^-80).

    The first random byte decides unless it ties with the first base-256 digit of the probability; ties read on.
    """
    digits = _digits(probability)
    if isinstance(digits, bool):
        return np.full(size, digits)
    first = words(src, size, _DIGIT_BITS[0])
    out = first < digits[0]
    if len(digits) == 1:
        return out
    tied = np.flatnonzero(first == digits[0])
    for digit, bits in zip(digits[1:], _DIGIT_BITS[1:], strict=False):
        if not tied.size:
            break
        word = words(src, tied.size, bits)
        out[tied] = word < digit
        tied = tied[word == digit]
    return out


@lru_cache(maxsize=256)
def _digits(probability: float | Fraction) -> bool | list[int]:
    """The digits that decide, up to the last one that is not 0; a truth value for an event that is certain."""
    p = Fraction(probability)
    check.in_range("probability", float(p), low=0.0, high=1.0)
    if p in (0, 1):
        return p == 1
    digits, rest = [], p
    for bits in _DIGIT_BITS:
        digit, rest = divmod(rest * (1 << bits), 1)
        digits.append(digit)
        if rest == 0:
            break
    return digits


def pick(
    chosen: NDArray[np.bool_], one: NDArray[np.unsignedinteger], other: NDArray[np.unsignedinteger]
) -> NDArray[np.unsignedinteger]:
    """``one`` where chosen, else ``other``, of the same dtype: without branches, which random events mislead.

    Examples
    --------
    >>> pick(np.array([True, False]), np.array([7, 7], dtype=np.uint8), np.array([1, 2], dtype=np.uint8)).tolist()
    [7, 2]
    """
    out = other ^ one
    out *= chosen.view(np.uint8)
    out ^= other
    return out


def below(src: Source, bound: int, size: int) -> NDArray[np.unsignedinteger]:
    """``size`` uniform integers in [0, bound), exactly, in the smallest unsigned dtype.

    Words are masked, and drawn again if too large, where that is rare or never; else Lemire's multiply-and-shift with
    rejection (ACM TOMACS 2019).
    """
    if bound < 1 or bound > 2**32:
        raise ParameterError(f"bound must lie in [1, 2^32], got {bound!r}; it is a number of choices.")
    bits = next(b for b in (8, 16, 32) if bound <= 1 << b)
    small = np.dtype(f"u{bits // 8}")
    mask = (1 << (bound - 1).bit_length()) - 1
    if 16 * (mask + 1 - bound) <= mask:
        out = np.asarray(words(src, size, bits) & small.type(mask))
        open_ = np.flatnonzero(out >= small.type(bound)) if bound <= mask else ()
        while len(open_):
            out[open_] = again = words(src, len(open_), bits) & small.type(mask)
            open_ = open_[again >= small.type(bound)]
        return out
    wide = np.dtype(f"u{bits // 4}")
    product = words(src, size, bits).astype(wide) * wide.type(bound)
    reject = (1 << bits) % bound  # low halves below this would be drawn once too often
    bad = np.flatnonzero(product.astype(small) < small.type(reject))  # astype keeps the low half
    while bad.size:
        again = words(src, bad.size, bits).astype(wide) * wide.type(bound)
        product[bad] = again
        bad = bad[again.astype(small) < small.type(reject)]
    return np.asarray((product >> wide.type(bits)).astype(small))


def below_each(src: Source, bounds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One uniform integer below each bound (at most 2^32), exactly: Lemire's method, as in :func:`below`."""
    product = words(src, bounds.size, 32).astype(np.uint64) * bounds
    low, reject = np.uint64(2**32 - 1), np.uint64(2**32) % bounds
    bad = np.flatnonzero((product & low) < reject)
    while bad.size:
        product[bad] = words(src, bad.size, 32).astype(np.uint64) * bounds[bad]
        bad = bad[(product[bad] & low) < reject[bad]]
    return np.asarray(product >> np.uint64(32))


#: Numbers of streams from here on are for the order of reports, those below for the reports themselves.
ORDER = 1 << 63


class Streams:
    """Sources numbered 0, 1, ... below 2^64: keystreams, each under a fresh key from the operating system.

    With a numpy Generator they are under one key of 32 bytes drawn from it, each with a counter range of its own: the
    same state of the generator gives the same streams, and the streams are not for release.

    Examples
    --------
    >>> one, two = (Streams(np.random.default_rng(7)) for _ in range(2))
    >>> bool((one.source(3).raw(16) == two.source(3).raw(16)).all()), one.for_release
    (True, False)
    >>> bool((one.source(3).raw(16) == one.source(4).raw(16)).all())
    False
    """

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self.for_release = rng is None
        self._key = None if rng is None else source(rng).raw(32).tobytes()

    def source(self, number: int) -> Source:
        """The stream of this number, from its beginning; to be asked for once, since a secure one never repeats."""
        return Keystream(self._key, number)
