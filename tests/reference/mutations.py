"""Damaged files: a seeded source of mutations, from flipped bytes to numbers that no reader should take."""

from __future__ import annotations

import random
import re

#: Put into a file, or in the place of one of its numbers or words.
NASTY = [
    b"NaN", b"-Infinity", b"Infinity", b"1e-999999999", b"1e999999999", b"-1", b"0", b"1e400", b"5e-324", b"-0.0",
    b"9" * 5000, b"0." + b"3" * 5000, b"1e", b"0x10", b"1_000", b"1__0", b"1/0", b"1/3", b"true", b"null", b'""', b"[]",
    b"{}", b"[" * 3000, b'{"a":' * 3000, b"- " * 3000, b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b'"\\ud800"', b"\\ud800",
    b'"\\U99999999"', "\u0663".encode(), "\uff11".encode(), "\u2028".encode(), "\ufeff".encode(), b"\r", b"\t", b"\n",
    b'"', b"'", b"#", b",", b":", b": ", b"- ", b"&a ", b"*a", b"!!python/object:os.system ", b"!x ", b"%YAML 1." +
    b"1" * 5000, b"---\n", b"? ", b"|\n", b">", b"<<: ", b"inf", b"finite:/dev/zero", b"parallel:/dev/zero", b"10**9",
    b"grr:eps0=1,d=1e15", b"general:eps0=1e-999999999", b'"n": 1, ', b'"count": 1, ', b"version: 1\n", b"weight: 1\n",
    b"(9999999999, 9999999999)", b"'<c16'", b"'|O'", b"'<f2'", b"'<U9'", b"999999999", b"1000000000000000", b"65536",
]  # fmt: skip
_TOKEN = re.compile(rb"[A-Za-z0-9_.+-]+")


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The content with one to four things wrong with it."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = rng.choice((_flip, _cut, _drop, _repeat, _insert, _replace, _replace, _swap))(content, rng)
    return content


def _span(content: bytes, rng: random.Random, most: int = 200) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.randrange(1, most))


def _flip(content: bytes, rng: random.Random) -> bytes:
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 3, 20)) if out else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _drop(content: bytes, rng: random.Random) -> bytes:
    start, end = _span(content, rng)
    return content[:start] + content[end:]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    start, end = _span(content, rng)
    return content[:end] + content[start:end] * rng.choice((1, 1, 2, 50)) + content[end:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(NASTY) + content[at:]


def _replace(content: bytes, rng: random.Random) -> bytes:
    """Another token in the place of one: the notation often stays right, and what it says does not."""
    tokens = list(_TOKEN.finditer(content))
    if not tokens:
        return _insert(content, rng)
    token = rng.choice(tokens)
    other = rng.choice(tokens)[0] if rng.random() < 0.4 else rng.choice(NASTY)
    return content[: token.start()] + other + content[token.end() :]


def _swap(content: bytes, rng: random.Random) -> bytes:
    """Two lines in each other's place."""
    lines = content.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)
