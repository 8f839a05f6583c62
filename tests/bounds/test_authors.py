"""Bounds of earlier papers against what their authors' programs print."""

from __future__ import annotations

import math

import pytest

import shuffledp as sdp

#: Printed by the authors' program, github.com/BorjaBalle/amplification-by-shuffling, commit 1778a0d, its own solver.
GENERIC = {1000: (0.18315893707541728, 0.31605587719316164), 10**6: (0.004621009303847695, 0.007767310835078603)}
BUDGETS = {
    ("grr", 2, 1e-6): {1000: (0.6486799965128143, 0.6287784906560894), 10**5: (3.450858119862197, 3.4324827150325516)},
    ("grr", 100, 1e-6): {1000: (0.5653476553069324, 1.7448137980290217), 10**5: (2.182006560490813, 4.233212283230245)},
    ("laplace", 0, 1e-6): {
        1000: (0.6348793309863753, 0.6800899906294773),
        10**5: (2.784219313794262, 3.79557740506196),
    },
    ("grr", 14, 3000**-2.0): {3000: (0.8038480624112444, 1.4661852171983578)},
    ("grr", 46, 1e-10): {10**5: (1.9029860706294688, 3.531979398800885)},
}
#: Brackets printed by github.com/apple/ml-shuffling-amplification, commit 993d285, for the clone of 2021, delta = 1e-6:
#: the first by its example, the others with 20 steps of its search, which is rounded up (with 12, visibly so).
CLONES = {
    (10**5, 4.0): (0.1675385583317841, 0.172790550755978),
    (10**4, 1.0): (0.05298960850818592, 0.05547158812239853),
    (10**4, 3.0): (0.31995148465516254, 0.3339733554259478),
}


@pytest.mark.parametrize(("n", "eps0"), CLONES)
def test_the_clone_lies_in_the_bracket_of_its_authors(n: int, eps0: float) -> None:
    low, high = CLONES[n, eps0]
    assert low <= sdp.amplify(sdp.General(eps0=eps0), n=n, delta=1e-6, bound="clone").epsilon <= high


@pytest.mark.parametrize("n", GENERIC)
def test_generic_tails_are_those_of_the_authors(n: int) -> None:
    for bound, printed in zip(("hoeffding", "bennett"), GENERIC[n], strict=True):
        eps = sdp.amplify(sdp.General(eps0=0.5), n=n, delta=1e-6, bound=f"blanket-{bound}-generic").epsilon
        assert printed * (1 - 1e-9) <= eps <= printed * (1 + 2e-4)  # upwards: eps is never too small


@pytest.mark.parametrize(("name", "d", "delta"), BUDGETS)
def test_budgets_are_those_of_the_authors(name: str, d: int, delta: float) -> None:
    fixed = {"d": d} if d else {}
    for n, printed in BUDGETS[name, d, delta].items():
        for bound, value in zip(("hoeffding", "bennett"), printed, strict=True):
            made = sdp.calibrate(name, n=n, epsilon=0.1, delta=delta, bound=f"blanket-{bound}", **fixed)
            assert value * (1 - 2e-4) <= made.local_epsilon <= value * (1 + 1e-9)  # downwards: less budget


def test_the_bound_of_the_shuffle_model_is_that_of_its_authors() -> None:
    eps = sdp.amplify(sdp.General(eps0=0.4999), n=10**4, delta=1e-6, bound="efmrtt19").epsilon
    assert eps == pytest.approx(12.0 * 0.4999 * math.sqrt(math.log(1e6) / 10**4), rel=1e-9)
