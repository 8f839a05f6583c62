"""How far the swap bound is above the lower bound, mechanism by mechanism, and that auto is never above the others."""

from __future__ import annotations

import pytest

import shuffledp as sdp
from reference.repetition import slow

#: {e} is replaced by eps0.
SPECS = (
    "general:eps0={e}",
    "randomized-response:eps0={e}",
    "unary:eps0={e},d=16",
    "optimized-unary:eps0={e},d=16",
    "subset:eps0={e},d=16",
    "local-hash:eps0={e},d=16",
    "laplace:eps0={e}",
    "duchi:eps0={e},dim=5",
    "harmony:eps0={e},dim=5",
    "sampling-rappor:eps0={e},d=16,s=3",
    "wheel:eps0={e},d=16,s=1",
    "privset:eps0={e},d=16,s=3",
)


def excess(spec: str, n: int) -> float:
    """(eps - lower)/lower at delta = 1e-6."""
    found = sdp.amplify(spec, n=n, delta=1e-6, tol=1e-5)
    assert found.lower is not None and 0.0 < found.lower <= found.epsilon
    return found.epsilon / found.lower - 1.0


@pytest.mark.parametrize("eps0", [1.0, slow(0.5), slow(2.0)])
@pytest.mark.parametrize("spec", SPECS)
def test_a_tenth_of_a_per_cent_among_ten_thousand(spec: str, eps0: float) -> None:
    assert excess(spec.format(e=eps0), 10_000) <= 1e-3


@pytest.mark.parametrize("spec", SPECS)
def test_half_a_per_cent_among_a_thousand(spec: str) -> None:
    assert excess(spec.format(e=1.0), 1_000) <= 5e-3


@pytest.mark.slow_cases("1.0-50-laplace:eps0={e}", "4.0-1000-laplace:eps0={e}")
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("eps0", "n"), [(4.0, 1_000), (1.0, 50), slow(2.0, 10**6)])
def test_auto_is_never_above_what_it_replaces(spec: str, eps0: float, n: int) -> None:
    m = sdp.mechanism(spec.format(e=eps0))
    before = "general" if spec.startswith("general") else "blanket"
    old, new = (sdp.amplify(m, n=n, delta=1e-6, bound=bound, tol=1e-5).epsilon for bound in (before, "auto"))
    assert new <= old * (1 + 1e-4)


@pytest.mark.parametrize("spec", SPECS)
def test_the_swap_bound_is_above_every_constant_dataset(spec: str) -> None:
    m = sdp.mechanism(spec.format(e=1.5))
    bound = "swap-general" if spec.startswith("general") else "swap"
    for n, delta in ((100, 1e-3), (3_000, 1e-8), (10**9, 1e-12)):
        upper, lower = (sdp.amplify(m, n=n, delta=delta, bound=b).epsilon for b in (bound, "constant-dataset-lower"))
        assert upper >= lower
