"""The curve of the swap bound: one eps and many agree, other lines only help, and useless sums end early."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.mechanisms.known.eps0_vertices import swap_of
from shuffledp.numerics.families import swap_curve
from shuffledp.numerics.families.swap_curve import Curve
from shuffledp.numerics.families.swap_pair import SwapPair


def member(eps0: float) -> SwapPair:
    ((made,),) = [swap_of(eps0, eps0).members(1) or ()]
    return made


@pytest.mark.parametrize("eps0", [0.5, 2.0])
@pytest.mark.parametrize("n", [3, 40, 1_000, 10**6])
def test_one_eps_is_one_of_many(eps0: float, n: int) -> None:
    eps = np.geomspace(0.01, 0.9, 12) * eps0
    many = Curve(member(eps0), n, 1e-4).log_upper(eps)
    one = [float(Curve(member(eps0), n, 1e-4).log_upper(eps[[i]])[0]) for i in range(eps.size)]
    assert many == pytest.approx(one, abs=2e-3)


@pytest.mark.parametrize("n", [30, 100, 500])
def test_other_lines_only_help(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    eps = np.array([0.4])
    whole = float(Curve(member(1.0), n, 1e-4).log_upper(eps)[0])
    monkeypatch.setattr(swap_curve, "OPTIONS", ())
    plain = float(Curve(member(1.0), n, 1e-4).log_upper(eps)[0])
    assert whole <= plain + 1e-6  # chords of A where the nodes are many
    if n == 100:
        assert whole < plain - 0.01


def test_the_best_line_is_kept_nearby_and_sought_again_further_away() -> None:
    curve = Curve(member(1.0), 100, 1e-4)
    curve.log_upper(np.array([0.5]))
    kept = curve._options
    assert len(kept) == 1
    curve.log_upper(np.array([0.501]))
    assert curve._options == kept and curve._chosen_at == 0.5
    curve.log_upper(np.array([0.2]))
    assert curve._chosen_at == 0.2


def test_two_users_have_the_local_guarantee() -> None:
    curve = Curve(member(1.0), 2, 1e-4)
    assert float(curve.log_upper(np.array([0.0]))[0]) == pytest.approx(math.log(math.tanh(0.5)), abs=1e-9)


def test_sums_of_no_use_end_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one type alone puts the bound above the local delta, the others are not summed."""
    cells = 0
    original = swap_curve.swap.log_upper

    def counted(x: np.ndarray, *args: object, **kwargs: object) -> object:
        nonlocal cells
        cells += x.size
        return original(x, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(swap_curve.swap, "log_upper", counted)
    made = sdp.amplify(sdp.SamplingRappor(eps0=20, d=12, s=3), n=3, delta=0.9, bound="swap")
    assert made.lower is not None and made.lower <= made.epsilon == pytest.approx(16.5973, rel=1e-4)
    assert 0 < cells < 20_000
