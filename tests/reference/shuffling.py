"""A shuffler's directory with a small plan, clients that seal, and a clock: what tests of the service share."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import shuffledp as sdp
from shuffledp.protocol.portable import portable
from shuffledp.shuffler import sealing, signed
from shuffledp.shuffler.folder import ShufflerFolder
from shuffledp.shuffler.keys import base64url
from shuffledp.shuffler.publication import guarantee_of, program_text

START = 1_800_000_000
LENGTH = 1000


@cache
def small_plan(name: str, slots: int) -> sdp.Plan:
    """A plan of three users with messages of one byte."""
    query = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    return sdp.Plan(query=query, users=3, delta=1e-6, name=name, reports_per_user=slots)


@cache
def small_guarantee(name: str, slots: int) -> dict[str, Any]:
    plan = small_plan(name, slots)
    return guarantee_of(plan, portable(plan))


@dataclass
class World:
    """A shuffler's home, a publisher and an analyst of a small plan."""

    folder: Path
    store: str = ""
    size: int = 1
    slots: int = 2
    publisher: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    analyst: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate)

    def __post_init__(self) -> None:
        self.home = ShufflerFolder.make(self.folder, store=self.store)
        raw = self.publisher.public_key().public_bytes_raw()
        (self.home.publishers / "one.pub").write_text(f"ed25519 {base64url(raw)}\n")

    def publish(self, name: str = "fruit", file: str = "", **more: Any) -> bytes:
        """Drop a publication in, and give its digest."""
        plan = small_plan(name, self.slots)
        payload = {
            "format": "shuffledp publication",
            "version": 1,
            "serial": 1,
            "name": name,
            "plan": plan.to_dict(),
            "program": program_text(portable(plan)),
            "minimum": 3,
            "starts": START,
            "length": LENGTH,
            "grace": 50,
            "expires": START + 10**8,
            "dispose": 500,
            "analyst": {"sealing": base64url(self.analyst.public_key().public_bytes_raw())},
            "guarantee": small_guarantee(name, self.slots),
        } | more
        envelope = self.drop(file or f"{name}.json", "shuffledp publication 1", payload)
        return bytes.fromhex(signed.digest("shuffledp publication 1", envelope))

    def withdraw(self, digest: bytes, name: str = "fruit") -> None:
        payload = {"format": "shuffledp withdrawal", "version": 1, "publication": digest.hex(), "name": name}
        self.drop(f"{name}-withdrawn.json", "shuffledp withdrawal 1", payload | {"reason": "an error"})

    def drop(self, file: str, context: str, payload: dict[str, Any]) -> dict[str, Any]:
        envelope = signed.sign(context, payload, self.publisher)
        (self.home.plans_folder / file).write_text(json.dumps(envelope))
        return envelope

    def report(self, digest: bytes, period: int, message: bytes = b"x") -> sealing.Report:
        """One client's report: its message and blanks."""
        public = self.analyst.public_key()
        sealed = (
            sealing.seal(m, size=self.size, public=public, digest=digest, period=period)
            for m in (message, *[None] * (self.slots - 1))
        )
        return sealing.Report(os.urandom(16), b"".join(sealed))


class Clock:
    """The time that a test says it is."""

    def __init__(self, now: float = START + 1.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def until(true: Callable[[], Any], seconds: float = 20) -> Any:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not (found := true()):
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)
    return found
