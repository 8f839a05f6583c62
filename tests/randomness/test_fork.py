"""A forked process repeats nothing that its parent draws: no order, no noise, no id."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.randomness.permutation import permute_by
from shuffledp.randomness.sampling import Streams, source

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

PLAN = sdp.Plan(
    query=sdp.queries.Histogram(column="x", labels=list(range(200)), mechanism="grr:eps0=2"), users=200, delta=1e-6
)


def in_a_child(draw: Callable[[], bytes]) -> bytes:
    """What ``draw`` gives in a forked process; a failure gives nothing."""
    out, into = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other tests leave threads, which the child does not use
        child = os.fork()
    if not child:
        try:
            os.write(into, draw())
        finally:
            os._exit(0)
    os.close(into)
    with open(out, "rb") as stream:
        drawn = stream.read()
    os.waitpid(child, 0)
    return drawn


def of_source() -> Callable[[], bytes]:
    src = source(None)
    src.raw(5)  # already in use
    return lambda: src.raw(32).tobytes()


def of_streams() -> Callable[[], bytes]:
    streams = Streams()
    begun = streams.source(0)
    return lambda: begun.raw(16).tobytes() + streams.source(1).raw(16).tobytes()


def of_order_on_threads() -> Callable[[], bytes]:
    streams, rows = Streams(), np.arange(1 << 18, dtype=np.uint32)

    def draw() -> bytes:
        permute_by(streams, rows, threads=2)
        return rows[:200].tobytes()

    return draw


def of_shuffler(reports: int) -> Callable[[], bytes]:
    shuffler = sdp.Shuffler(PLAN)
    for value in range(reports):
        shuffler.add([bytes([value])])

    def draw() -> bytes:
        for value in range(reports, 200):
            shuffler.add([bytes([value])])
        return shuffler.batch().data.tobytes()

    return draw


def of_client() -> Callable[[], bytes]:
    client = sdp.Client(PLAN)
    client.report(7)
    return lambda: b"".join(client.report(7)[0] for _ in range(100))


def of_mechanism(spec: str) -> Callable[[], bytes]:
    m = sdp.mechanism(spec)
    values = np.zeros(300, dtype=int)
    m.privatize(values)
    return lambda: np.ascontiguousarray(m.privatize(values).shuffled().data).tobytes()[:4000]


MAKERS = {
    "source": of_source,
    "streams": of_streams,
    "order on threads": of_order_on_threads,
    "empty shuffler": lambda: of_shuffler(0),
    "shuffler": lambda: of_shuffler(200),
    "client": of_client,
    "grr": lambda: of_mechanism("grr:eps0=1,d=100"),
    "unary": lambda: of_mechanism("unary:eps0=1,d=100"),
    "poisson-histogram": lambda: of_mechanism("poisson-histogram:d=100,poisson_per_index=3,indices=1"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", MAKERS)
def test_parent_and_children_draw_apart(kind: str) -> None:
    draw = MAKERS[kind]()
    drawn = [in_a_child(draw), in_a_child(draw), in_a_child(lambda: in_a_child(draw)), draw()]
    assert all(drawn) and len(set(drawn)) == 4


def test_a_seeded_source_repeats_also_in_a_child() -> None:
    streams = Streams(np.random.default_rng(3))
    begun = streams.source(0)
    assert in_a_child(lambda: begun.raw(16).tobytes()) == begun.raw(16).tobytes()
