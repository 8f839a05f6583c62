"""A fixed set of 300 odd questions: extreme budgets, crowds, deltas and sizes, which nobody asks twice.

Each is a text and a call; nothing is computed before the call, not even the matrix of a question about one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import shuffledp as sdp


@dataclass(frozen=True)
class Question:
    """What is asked, in words, and how."""

    text: str
    ask: Callable[[], Any]


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _asked(function: str, spec: str, **terms: Any) -> Question:
    """A public function of a spec, and its keywords."""
    named = ", ".join(f"{key} = {_number(value)}" for key, value in terms.items())
    return Question(f"{function} {spec}, {named}", lambda: getattr(sdp, function)(spec, **terms))


# -- one batch --------------------------------------------------------------------------------------------------

#: eps0, n, delta
CORNERS = (
    (1e-6, 10**12, 1e-300),
    (0.1, 2, 1e-3),
    (5.0, 10**6, 1e-8),
    (12.0, 10**5, 1e-300),
    (20.0, 10**9, 1e-10),
    (30.0, 10**12, 1e-14),
)
#: Every mechanism with a local budget, in tiny and huge domains.
BUDGETED = (
    "general:eps0={}",
    "randomized-response:eps0={}",
    "grr:eps0={},d=4294967296",
    "unary:eps0={},d=2",
    "unary:eps0={},d=4294967296",
    "optimized-unary:eps0={},d=1000",
    "subset:eps0={},d=1000000",
    "privset:eps0={},d=1000,s=20",
    "local-hash:eps0={},d=4294967296",
    "hadamard:eps0={},d=268435456",
    "wheel:eps0={},d=1000,s=10",
    "sampling-rappor:eps0={},d=1000,s=8",
    "hierarchical-grr:eps0={},d=65536,branching=4",
    "pckv-grr:eps0={},d=1000000,l=30",
    "laplace:eps0={}",
    "duchi:eps0={},dim=1001",
    "harmony:eps0={},dim=100000",
    "privunit:eps0={},dim=1000",
)


def corners() -> Iterator[Question]:
    """Every mechanism at the corners of what is allowed."""
    for template in BUDGETED:
        for eps0, n, delta in CORNERS:
            yield _asked("amplify", template.format(_number(eps0)), n=n, delta=delta)


def single_batches() -> Iterator[Question]:
    """Mechanisms that have no eps0, or sizes of their own."""
    for spec, n, delta in (
        ("general:eps0=30", 1, 0.5),
        ("sampling-rappor:eps0=1e-06,d=64,s=4", 1, 0.5),
        ("metric-laplace:d01=1,dmax=2", 1, 0.5),
        ("pure-dump:d=4,messages=0", 1, 0.5),
        ("privset:eps0=2,d=2000000000,s=10000", 10**6, 1e-8),
        ("privset:eps0=8,d=2000000000,s=10000", 10**9, 1e-10),
        ("privset:eps0=1,d=10,s=9", 1000, 1e-6),
        ("sampling-rappor:eps0=1,d=1000000,s=100", 10**9, 1e-10),
        ("sampling-rappor:eps0=1,d=1024,s=8", 10**9, 1e-11),
        ("sampling-rappor:eps0=4,d=100,s=99", 10**4, 1e-6),
        ("privunit:eps0=2,dim=2", 10**6, 1e-8),
        ("privunit:eps0=2,dim=1000000", 10**6, 1e-8),
        ("privunit:eps0=8,dim=100,cap=1e-06", 10**6, 1e-8),
        ("wheel:eps0=2,d=2147483646,s=1000", 10**6, 1e-8),
        ("hierarchical-grr:eps0=2,d=2147483648,branching=2", 10**6, 1e-8),
        ("pckv-grr:eps0=2,d=1073741824,l=1000000", 10**6, 1e-8),
        ("metric-general:d01=0.001,dmax=30", 10**6, 1e-8),
        ("metric-general:d01=20,dmax=400", 10**12, 1e-14),
        ("metric-laplace:d01=1,dmax=10", 10**6, 1e-8),
        ("metric-laplace:d01=1e-06,dmax=1", 10**6, 1e-8),
        ("metric-laplace:d01=0.1,dmax=30", 10**9, 1e-11),
        ("metric-laplace:d01=20,dmax=20", 1000, 1e-6),
        ("metric-laplace:d01=3,dmax=100", 10**12, 1e-100),
        ("planar-laplace:d01=0.5,dmax=2", 10**6, 1e-8),
        ("planar-laplace:d01=1e-06,dmax=20", 10**9, 1e-11),
        ("variation-ratio:p=inf,beta=0.5,q=10", 10**6, 1e-8),
        ("variation-ratio:p=1.0000001,beta=1e-08,q=1e+12", 10**12, 1e-300),
        ("variation-ratio:p=1e+12,beta=0.999,q=1.5", 1000, 1e-6),
        ("balcer-cheu:coin=0.000001,messages=1", 10**6, 1e-8),
        ("balcer-cheu:coin=0.999,total_messages=1000000000000", 2, 1e-12),
        ("balcer-coin:messages=0.0001", 10**6, 1e-8),
        ("balcer-coin:poisson=1000", 10**9, 1e-100),
        ("cheu-zhilyaev:flip=0.0001,d=1000000,messages=100", 10**6, 1e-8),
        ("cheu-zhilyaev:flip=0.49,d=2,messages=0.001", 10**4, 1e-6),
        ("cheu-zhilyaev:flip=0.1,d=16,poisson=7.5", 10**5, 1e-9),
        ("balls-into-bins:d=1000,special=500,messages=3", 10**5, 1e-9),
        ("balls-into-bins:d=100000,special=1,messages=30", 10**6, 1e-12),
        ("pure-dump:d=2,messages=0.01", 10**5, 1e-8),
        ("pure-dump:d=1000000,poisson=50", 10**6, 1e-8),
        ("pure-dump:d=16,total_messages=100000000000000", 10, 1e-12),
        ("mix-dump:d=1000,flip=0.999,messages=1", 10**6, 1e-8),
        ("mix-dump:d=3,flip=0.000001,poisson=0.3", 10**5, 1e-8),
    ):
        yield _asked("amplify", spec, n=n, delta=delta)
    for bound in ("clone", "variation-ratio-lower", "constant-dataset-lower", "blanket-bennett", "analytic"):
        yield _asked("amplify", "grr:eps0=12,d=1000", n=10**12, delta=1e-100, bound=bound)
    for spec, crowd in (
        ("general:eps0=8", {"dropouts": 0.999999}),
        ("grr:eps0=20,d=16", {"colluding": 10**9 - 2}),
        ("unary:eps0=4,d=100", {"dropouts": 0.999}),
        ("randomized-response:eps0=6", {"dropouts": 0.3}),
        ("laplace:eps0=6", {"colluding": 0.5}),
        ("pure-dump:d=16,messages=2", {"dropouts": 0.5}),
        ("sampling-rappor:eps0=2,d=100,s=5", {"dropouts": 1000}),
    ):
        yield _asked("amplify", spec, n=10**9, delta=1e-11, **crowd)


# -- matrices ---------------------------------------------------------------------------------------------------


def random_matrix(rows: int, columns: int, eps0: float) -> sdp.FiniteRandomizer:
    """Every row on its own, with ratios up to about e^eps0."""
    weights = np.exp(eps0 * np.random.default_rng(rows * 7919 + columns).random((rows, columns)))
    return sdp.FiniteRandomizer(weights / weights.sum(axis=1, keepdims=True))


def dirichlet_matrix(rows: int, columns: int) -> sdp.FiniteRandomizer:
    """Rows without any order, a tenth of each spread evenly."""
    drawn = np.random.default_rng(rows + columns).dirichlet(np.ones(columns), size=rows)
    return sdp.FiniteRandomizer(0.9 * drawn + 0.1 / columns)


def banded_matrix(size: int, eps0: float) -> sdp.FiniteRandomizer:
    """A value, and the further away another is, the less likely it is reported."""
    weights = np.exp(-eps0 * np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / size)
    return sdp.FiniteRandomizer(weights / weights.sum(axis=1, keepdims=True))


def sparse_matrix(size: int) -> sdp.FiniteRandomizer:
    """A value, its two neighbors on a ring, and one symbol of all: most outputs are impossible for most values."""
    square = 0.5 * np.eye(size) + 0.2 * np.roll(np.eye(size), 1, axis=1) + 0.2 * np.roll(np.eye(size), -1, axis=1)
    return sdp.FiniteRandomizer(np.hstack([square, np.full((size, 1), 0.1)]))


def matrices() -> Iterator[Question]:
    """Tall, wide, banded and sparse matrices."""
    for rows, columns, eps0, n in (
        (400, 50, 2.0, 1000),
        (400, 50, 2.0, 10**9),
        (30, 2000, 2.0, 1000),
        (30, 2000, 2.0, 10**6),
        (50, 400, 4.0, 1000),
        (1000, 3, 1.0, 1000),
        (3, 20000, 1.0, 1000),
        (2, 100000, 3.0, 1000),
        (100, 100, 12.0, 10**6),
    ):
        text = f"amplify finite {rows} x {columns}, ratios to e^{eps0:g}, n = {n:g}, delta = {0.01 / n:g}"
        yield Question(
            text,
            lambda r=rows, c=columns, e=eps0, n=n: sdp.amplify(random_matrix(r, c, e), n=n, delta=0.01 / n),  # type: ignore[misc]
        )
    for rows, columns in ((400, 50), (30, 2000)):
        yield Question(
            f"amplify finite {rows} x {columns}, rows from a Dirichlet law, n = 1000, delta = 1e-06",
            lambda r=rows, c=columns: sdp.amplify(dirichlet_matrix(r, c), n=1000, delta=1e-6),  # type: ignore[misc]
        )
    for size, n in ((200, 1000), (200, 10**9), (60, 100)):
        yield Question(
            f"amplify finite {size} x {size}, banded, n = {n:g}",
            lambda s=size, n=n: sdp.amplify(banded_matrix(s, 6.0), n=n, delta=0.01 / n),  # type: ignore[misc]
        )
    for size, n in ((100, 1000), (300, 10**6)):
        yield Question(
            f"amplify finite {size} x {size + 1}, mostly zeros, n = {n:g}",
            lambda s=size, n=n: sdp.amplify(sparse_matrix(s), n=n, delta=0.01 / n),  # type: ignore[misc]
        )
    yield Question(
        "users_needed finite 60 x 60, eps = 0.1",
        lambda: sdp.users_needed(random_matrix(60, 60, 2.0), epsilon=0.1, delta=1e-8),
    )
    yield Question(
        "compose finite 40 x 40, n = 1e5, 50 rounds",
        lambda: sdp.Accountant().compose(random_matrix(40, 40, 2.0), n=10**5, count=50).epsilon(delta=1e-8),
    )
    yield Question(
        "amplify exponential-metric on 150 points of a line, n = 1e4",
        lambda: sdp.amplify(
            sdp.ExponentialMetric(np.abs(np.subtract.outer(np.arange(150.0), np.arange(150.0))), eps=0.2),
            n=10**4,
            delta=1e-8,
        ),
    )


# -- the other way round ------------------------------------------------------------------------------------------


def inverse() -> Iterator[Question]:
    """How many users, which budget, which delta."""
    for spec, epsilon, delta in (
        ("general:eps0=20", 5.0, 1e-8),
        ("general:eps0=20", 0.01, 1e-8),
        ("general:eps0=1e-06", 1e-9, 1e-300),
        ("general:eps0=30", 5.0, "0.01/n"),
        ("grr:eps0=20,d=16", 5.0, "0.01/n"),
        ("grr:eps0=20,d=1000000", 0.1, "0.01/n"),
        ("unary:eps0=20,d=100", 5.0, "0.01/n"),
        ("optimized-unary:eps0=20,d=100", 5.0, 1e-8),
        ("subset:eps0=20,d=64", 1.0, "0.01/n"),
        ("randomized-response:eps0=20", 1.0, 1e-8),
        ("randomized-response:eps0=5", 0.001, 1e-300),
        ("laplace:eps0=20", 5.0, "0.01/n"),
        ("hadamard:eps0=20,d=1024", 5.0, 1e-8),
        ("local-hash:eps0=20,d=1024", 1.0, 1e-8),
        ("privunit:eps0=20,dim=50", 1.0, "0.01/n"),
        ("sampling-rappor:eps0=20,d=64,s=4", 5.0, "0.01/n"),
        ("sampling-rappor:eps0=2,d=64,s=4", 0.01, 1e-12),
        ("metric-laplace:d01=1,dmax=10", 0.1, 1e-8),
        ("metric-laplace:d01=0.1,dmax=5", 0.001, "0.01/n"),
        ("planar-laplace:d01=1,dmax=10", 0.1, 1e-8),
        ("privset:eps0=2,d=2000000000,s=10000", 0.1, 1e-8),
        ("cheu-zhilyaev:flip=0.1,d=16,messages=2", 0.01, 1e-12),
        ("pure-dump:d=1000,messages=10", 0.5, 1e-8),
        ("balls-into-bins:d=100,special=10,messages=5", 0.5, 1e-8),
    ):
        yield _asked("users_needed", spec, epsilon=epsilon, delta=delta)
    for spec, n, epsilon, delta in (
        ("general", 10**9, 5.0, 1e-10),
        ("grr:d=64", 10**9, 5.0, 1e-10),
        ("grr:d=4294967296", 10**12, 10.0, 1e-14),
        ("unary:d=64", 10**9, 5.0, 1e-10),
        ("optimized-unary:d=64", 10**9, 5.0, 1e-10),
        ("subset:d=64", 10**9, 5.0, 1e-10),
        ("subset:d=1000000", 100, 20.0, 1e-3),
        ("local-hash:d=1000000", 10**9, 5.0, 1e-10),
        ("hadamard:d=1024", 10**9, 5.0, 1e-10),
        ("laplace", 10**9, 5.0, 1e-10),
        ("privunit:dim=100", 10**9, 5.0, 1e-10),
        ("privset:d=1000,s=10", 10**9, 5.0, 1e-10),
        ("wheel:d=1000,s=10", 10**9, 5.0, 1e-10),
        ("sampling-rappor:d=1000,s=10", 10**9, 5.0, 1e-10),
        ("pckv-grr:d=1000,l=10", 10**9, 5.0, 1e-10),
        ("hierarchical-grr:d=1024", 10**9, 5.0, 1e-10),
        ("randomized-response", 10**9, 5.0, 1e-10),
        ("randomized-response", 10**6, 1e-4, 1e-100),
        ("metric-laplace:dmax=10", 10**6, 1.0, 1e-8),
        ("general", 2, 1e-8, 1e-3),
        ("duchi:dim=101", 10**12, 1e-5, 1e-14),
        ("balcer-coin:", 10**6, 0.01, 1e-300),
        ("pure-dump:d=1000", 10**6, 0.01, 1e-12),
    ):
        unknown = {"metric-laplace:dmax=10": "d01", "balcer-coin:": "messages", "pure-dump:d=1000": "poisson"}
        known = {"unknown": unknown[spec]} if spec in unknown else {}
        yield _asked("calibrate", spec.rstrip(":"), n=n, epsilon=epsilon, delta=delta, **known)
    for spec, n, epsilon in (
        ("general:eps0=30", 10**12, 1.0),
        ("general:eps0=1", 10**12, 0.001),
        ("unary:eps0=20,d=64", 10**9, 1.0),
        ("metric-laplace:d01=1,dmax=10", 10**6, 0.1),
        ("randomized-response:eps0=3", 10**9, 1e-6),
    ):
        yield _asked("delta_needed", spec, n=n, epsilon=epsilon)


# -- many rounds --------------------------------------------------------------------------------------------------


def _composed(rounds: tuple[tuple[str, int, int], ...]) -> sdp.Accountant:
    account = sdp.Accountant()
    for spec, n, count in rounds:
        account.compose(spec, n=n, count=count)
    return account


def _words(rounds: tuple[tuple[str, int, int], ...]) -> str:
    parts = [f"{count:,} x {spec}, n = {n:g}" for spec, n, count in rounds[:2]]
    return " and ".join(parts) + (f" and {len(rounds) - 2} more" if len(rounds) > 2 else "")


def many_rounds() -> Iterator[Question]:
    """Compositions, short and long, and what still fits."""
    for rounds, delta in (
        ((("unary:eps0=20,d=64", 10**9, 10),), 1e-8),
        ((("unary:eps0=20,d=64", 10**9, 1000),), 1e-12),
        ((("general:eps0=20", 10**9, 10),), 1e-8),
        ((("general:eps0=30", 10**12, 100),), 1e-100),
        ((("general:eps0=1e-06", 10**12, 1_000_000),), 1e-12),
        ((("grr:eps0=2,d=16", 1, 1000),), 1e-6),
        ((("grr:eps0=8,d=1000", 10**6, 365),), 1e-8),
        ((("metric-laplace:d01=1,dmax=10", 10**6, 10),), 1e-8),
        ((("metric-laplace:d01=0.1,dmax=5", 10**9, 1000),), 1e-10),
        ((("planar-laplace:d01=1,dmax=5", 10**6, 10),), 1e-8),
        ((("randomized-response:eps0=2", 10**6, 100),), 1e-8),
        ((("randomized-response:eps0=20", 10**9, 10),), 1e-8),
        ((("laplace:eps0=4", 10**6, 100),), 1e-8),
        ((("sampling-rappor:eps0=2,d=64,s=4", 10**9, 30),), 1e-10),
        ((("pure-dump:d=100,messages=10", 10**5, 30),), 1e-8),
        ((("balls-into-bins:d=100,special=10,messages=20", 10**5, 30),), 1e-6),
        ((("cheu-zhilyaev:flip=0.1,d=16,messages=5", 10**5, 30),), 1e-8),
        ((("privset:eps0=2,d=2000000000,s=10000", 10**6, 10),), 1e-8),
        ((("grr:eps0=2,d=16", 10**6, 100), ("unary:eps0=4,d=64", 10**6, 100), ("laplace:eps0=1", 10**5, 50)), 1e-8),
        (tuple((f"grr:eps0={1 + k / 40:g},d=16", 10**5 + k, 1) for k in range(200)), 1e-8),
        (tuple((f"general:eps0={0.01 * 2**k:g}", 10**9, 3) for k in range(12)), 1e-10),
    ):
        yield Question(
            f"epsilon of {_words(rounds)}, delta = {delta:g}", lambda r=rounds, d=delta: _composed(r).epsilon(delta=d)
        )  # type: ignore[misc]
    for rounds, epsilon in (
        ((("unary:eps0=20,d=64", 10**9, 10),), 1.0),
        ((("grr:eps0=2,d=16", 10**4, 1000),), 0.5),
        ((("metric-laplace:d01=1,dmax=10", 10**6, 10),), 0.1),
    ):
        yield Question(
            f"delta of {_words(rounds)}, eps = {epsilon:g}", lambda r=rounds, e=epsilon: _composed(r).delta(epsilon=e)
        )  # type: ignore[misc]
    for spec, n, epsilon, delta in (
        ("grr:eps0=2,d=16", 10**4, 1.0, 1e-6),
        ("grr:eps0=2,d=16", 10**9, 1.0, 1e-10),
        ("general:eps0=0.1", 10**6, 3.0, 1e-8),
        ("general:eps0=20", 10**12, 1.0, 1e-8),
        ("unary:eps0=4,d=64", 10**6, 1.0, 1e-8),
        ("unary:eps0=20,d=64", 10**9, 5.0, 1e-8),
        ("laplace:eps0=2", 10**5, 2.0, 1e-8),
        ("randomized-response:eps0=2", 10**6, 1.0, 1e-8),
        ("metric-laplace:d01=1,dmax=10", 10**6, 1.0, 1e-8),
        ("sampling-rappor:eps0=2,d=64,s=4", 10**6, 1.0, 1e-8),
        ("pure-dump:d=100,messages=100", 10**5, 5.0, 1e-6),
        ("privset:eps0=2,d=1000,s=20", 10**6, 1.0, 1e-8),
    ):
        yield Question(
            f"remaining {spec}, n = {n:g}, eps = {epsilon:g}, delta = {delta:g}",
            lambda s=spec, n=n, e=epsilon, d=delta: sdp.Accountant().remaining(epsilon=e, delta=d, mechanism=s, n=n),  # type: ignore[misc]
        )
    before = (("grr:eps0=4,d=100", 10**6, 30), ("unary:eps0=2,d=64", 10**6, 30))
    yield Question(
        f"remaining laplace:eps0=1, n = 1e6, after {_words(before)}, eps = 2",
        lambda: _composed(before).remaining(epsilon=2.0, delta=1e-8, mechanism="laplace:eps0=1", n=10**6),
    )
    for spec, n, count in (("unary:eps0=20,d=64", 10**9, 10), ("grr:eps0=2,d=16", 10**6, 1000)):
        yield Question(
            f"guarantee (upper and lower) of {_words(((spec, n, count),))}",
            lambda r=((spec, n, count),): _composed(r).guarantee(delta=1e-8),  # type: ignore[misc]
        )


# -- the rest -------------------------------------------------------------------------------------------------------


def tables() -> Iterator[Question]:
    """Profiles, comparisons, batches, mixtures, certificates, programmes."""
    for spec, n in (("general:eps0=20", 10**9), ("laplace:eps0=12", 10**6), ("unary:eps0=8,d=1000", 10**12)):
        grid = np.linspace(0.0, 3.0, 1000)
        yield Question(f"profile {spec}, n = {n:g}, 1,000 eps", partial(sdp.profile, spec, n=n, epsilon=grid))
    spec = "metric-laplace:d01=1,dmax=10"
    yield Question(
        f"profile {spec}, n = 1e6, 200 eps", partial(sdp.profile, spec, n=10**6, epsilon=np.linspace(0.0, 0.5, 200))
    )
    yield Question(
        "profile randomized-response:eps0=4, n = 1e6, 500 eps",
        partial(sdp.profile, "randomized-response:eps0=4", n=10**6, epsilon=np.linspace(0.0, 1.0, 500)),
    )
    yield _asked("profile", "sampling-rappor:eps0=2,d=64,s=4", n=10**9, epsilon=1e-4, side="lower")
    for spec, n, delta in (
        ("unary:eps0=20,d=64", 10**9, 1e-10),
        ("metric-laplace:d01=1,dmax=10", 10**9, 1e-10),
        ("privset:eps0=2,d=2000000000,s=10000", 10**6, 1e-8),
        ("balls-into-bins:d=1000,special=20,messages=10", 10**6, 1e-8),
        ("privunit:eps0=4,dim=1000", 10**12, 1e-100),
        ("general:eps0=1e-06", 1, 0.5),
    ):
        yield _asked("compare", spec, n=n, delta=delta)
    yield Question(
        "sweep subset:d=64, n = 1e6, eps0 = 0.1 to 20",
        partial(sdp.sweep, "subset:d=64", eps0=np.geomspace(0.1, 20.0, 12), n=10**6, delta=1e-8),
    )
    for spec in ("laplace:eps0=8", "metric-laplace:d01=1,dmax=10"):
        yield _asked("batch_table", spec, delta=1e-8, minimum=10, maximum=10**9)
    for classes in (
        (("grr:eps0=1,d=64", 10**6), ("grr:eps0=12,d=64", 10)),
        (("laplace:eps0=1", 10**5), ("laplace:eps0=8", 10**5)),
        (("unary:eps0=1,d=100", 10**6), ("unary:eps0=4,d=100", 10**6)),
        tuple((f"grr:eps0={0.5 * k:g},d=8", 1000 * k) for k in range(1, 13)),
    ):
        words = " and ".join(f"{users:g} x {spec}" for spec, users in classes[:2])
        more = f" and {len(classes) - 2} more" if len(classes) > 2 else ""
        yield Question(f"amplify_mixed {words}{more}", partial(sdp.amplify_mixed, classes, delta=1e-9))
    for spec, n in (
        ("general:eps0=3", 10**12),
        ("grr:eps0=12,d=1000", 10**9),
        ("laplace:eps0=4", 10**6),
        ("sampling-rappor:eps0=2,d=64,s=4", 10**6),
        ("unary:eps0=20,d=64", 10**9),
    ):
        yield _asked("amplify", spec, n=n, delta=0.01 / n, certify=True)
    several = parallel_terms()
    yield Question("amplify of 12 queries in parallel", lambda: sdp.amplify(sdp.Parallel(several), n=10**6, delta=1e-8))
    programme = {
        "version": 1,
        "population": {"users": 10**6, "dropouts": 0.1, "colluding": 100},
        "target": {"epsilon": 2, "delta": "1e-8"},
        "rounds": [
            {"mechanism": "metric-laplace:d01=1,dmax=10", "count": 10},
        ],
    }
    yield Question("check 10 rounds of metric-laplace", partial(sdp.check, programme))
    mixed = {
        **programme,
        "rounds": [
            {"mechanism": spec, "count": 30} for spec in ("grr:eps0=8,d=100", "unary:eps0=4,d=64", "laplace:eps0=2")
        ],
    }
    yield Question("check 90 rounds of three kinds", partial(sdp.check, mixed))


def parallel_terms() -> list[tuple[float, str]]:
    """Twelve queries of different kinds, each asked of a twelfth of the users."""
    kinds = ("grr:eps0={},d=16", "unary:eps0={},d=8", "laplace:eps0={}", "subset:eps0={},d=32")
    return [(1.0 / 12.0, kinds[k % 4].format(_number(0.5 + 0.5 * k))) for k in range(12)]


def all_questions() -> list[Question]:
    """All of them, in their fixed order."""
    parts = (corners, single_batches, matrices, inverse, many_rounds, tables)
    return [question for part in parts for question in part()]


def shown(answer: Any) -> str:
    """An answer in a few characters."""
    if isinstance(answer, np.ndarray):
        return f"{answer.size} values, largest {_number(float(answer.max()))}"
    if isinstance(answer, sdp.Comparison):
        return "no bound" if answer.best is None else f"eps = {answer.best.epsilon:.6g} ({answer.best.bound})"
    if isinstance(answer, sdp.Sweep):
        return f"{len(answer.points)} comparisons"
    if isinstance(answer, sdp.BatchTable):
        return f"eps = {answer.epsilons[0]:.4g} ... {answer.epsilons[-1]:.4g}"
    if isinstance(answer, int | float):
        return _number(answer) if not isinstance(answer, float) or math.isfinite(answer) else "inf"
    epsilon = getattr(answer, "epsilon", None)
    return f"eps = {epsilon:.6g}" if isinstance(epsilon, float) else str(getattr(answer, "spec", answer))
