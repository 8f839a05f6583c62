"""The trapezoid sum brackets the truth on any line, and each of its charges covers the error it is named after."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import ball_oracle
from reference.asking import Side, log_delta
from reference.fractions_oracle import round_enclosure
from reference.repetition import examples
from reference.rounds import Laws, rounds
from shuffledp.numerics import contour
from shuffledp.numerics.line import saddle, tilt
from shuffledp.numerics.pair import ShuffledPair

GRR = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25])
COIN = ([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])


def on_line(
    laws: tuple[list[float], ...], n: int, eps: float, *, c: float, s: float, h: float, blocks: int
) -> tuple[float, float]:
    """The lower and the upper value of E[(S)_+]/n; c, s and h in units of the saddle and of what it suggests."""
    atoms, users = ShuffledPair(*laws).atoms, np.array([float(n)])
    x, t = atoms.values(np.array([eps])), atoms.t[None, :]
    with np.errstate(all="ignore"):
        at = tilt(x, t, c * saddle(x, t, users))
        usual = contour.place(x, t, users, at, np.array([1e-3]))
        whole = usual._replace(s=s * usual.s, h=h * usual.h, last=np.array([32.0 * blocks - 1.0]))
        low, high = (float(contour.evaluate(whole, upper=upper)[0][0]) for upper in (False, True))
    return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)


@pytest.mark.heavy
@examples(400, 120)
@given(
    laws=rounds(4),
    n=st.integers(1, 10),
    eps=st.sampled_from([0.0, 1e-6, 0.05, 0.5, 1.0, 3.0]),
    c=st.sampled_from([0.2, 0.8, 1.0, 1.3, 4.0]),
    s=st.sampled_from([0.05, 0.5, 1.0, 5.0, 50.0]),
    h=st.sampled_from([0.1, 0.5, 1.0, 2.0, 8.0]),
    blocks=st.sampled_from([1, 2, 8, 60]),
)
def test_any_line_brackets_the_fraction(
    laws: Laws, n: int, eps: float, c: float, s: float, h: float, blocks: int
) -> None:
    atoms = ShuffledPair(*laws).atoms
    if not atoms.t.size or atoms.values(np.array([eps])).max() <= 0.0:
        return
    low, high = on_line(laws, n, eps, c=c, s=s, h=h, blocks=blocks)
    least, most = round_enclosure(*laws, n, eps)
    bare = float(np.maximum(atoms.zero0 - math.exp(eps) * atoms.zero1, 0.0).sum())
    room = 1e-14  # rounding of the law belongs to rows.law_shift: allow it, and nothing else
    assert math.exp(min(high, 50.0)) >= float(most) - bare - room
    assert math.exp(low) <= float(least) - bare + room


@pytest.mark.slow_cases("laws1-120-0.3-abscissa-line3")
@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("unevaluated nodes", {"c": 1.0, "s": 0.05, "h": 1.0, "blocks": 1}),
        ("dither", {"c": 1.0, "s": 60.0, "h": 0.5, "blocks": 8}),
        ("step", {"c": 1.0, "s": 1.0, "h": 6.0, "blocks": 8}),
        ("abscissa", {"c": 2.5, "s": 1.0, "h": 0.5, "blocks": 30}),
    ],
)
@pytest.mark.parametrize(("laws", "n", "eps"), [(COIN, 1000, 0.1), (GRR, 120, 0.3), (COIN, 100, 0.9)])
def test_a_charge_covers_its_error(
    what: str, line: dict[str, float], laws: tuple[list[float], ...], n: int, eps: float
) -> None:
    """On a good line the bracket is narrow; where one thing is bad it is wide, and still holds."""
    truth = float(ball_oracle.log_divergence(*laws, n, eps).mid())
    good = on_line(laws, n, eps, c=1.0, s=0.3, h=0.7, blocks=60)
    bad = on_line(laws, n, eps, **line)  # type: ignore[arg-type]
    assert good[0] - 1e-12 <= truth <= good[1] + 1e-12 and good[1] - good[0] < 2e-3
    assert bad[0] - 1e-12 <= truth <= bad[1] + 1e-12
    assert bad[1] - bad[0] > 2.0 * (good[1] - good[0]), what


BALLS = [
    (COIN, 100, (0.0, 0.01, 0.3, 0.9, 1.09)),
    (COIN, 2000, (0.0, 0.01, 0.1, 0.5, 0.9)),
    (GRR, 120, (0.01, 0.1, 0.5, 0.69)),
    (([0.5, 0.5], [0.0625, 0.9375], [2.0**-7, 0.5]), 1000, (0.1, 0.6, 1.5, 2.0)),
    (([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [2.0**-31, 2.0**-30, 2.0**-31]), 10**10, (0.05, 0.4)),
    (([0.5, 0.5], [0.25, 0.75], [0.25, 0.75]), 5000, (0.001, 0.05, 0.2)),
]


@pytest.mark.slow_cases("*-grid1", "*-grid2", "*-grid4")
@pytest.mark.parametrize(("laws", "n", "grid"), BALLS)
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6])
def test_against_balls(laws: tuple[list[float], ...], n: int, grid: tuple[float, ...], rtol: float) -> None:
    atoms = ShuffledPair(*laws).atoms
    x, count = atoms.values(np.array(grid)), len(grid)
    t, users, wanted = np.tile(atoms.t, (count, 1)), np.full(count, float(n)), np.full(count, rtol)
    low, high = (contour.log_delta(x, t, users, wanted, side)[0] for side in ("lower", "upper"))
    for i, eps in enumerate(grid):
        truth = float(ball_oracle.log_divergence(*laws, n, eps).mid())
        ulp = 1e-13 * (1 + abs(truth))
        assert low[i] - ulp <= truth <= high[i] + ulp
        assert high[i] - low[i] <= (8 * rtol + 1e-8 if eps > 0.0 else 0.1 * math.sqrt(rtol))


@pytest.mark.parametrize(("laws", "n"), [(COIN, 10**4), (COIN, 10**8), (COIN, 10**12), (GRR, 10**6), (GRR, 10**10)])
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6])
def test_as_narrow_as_asked_among_many(laws: tuple[list[float], ...], n: int, rtol: float) -> None:
    sides: tuple[Side, Side] = ("lower", "upper")
    for deviations in (0.5, 3.0, 8.0, 20.0):
        low, high = (log_delta(ShuffledPair(*laws), n, deviations / math.sqrt(n), rtol, side) for side in sides)
        assert low <= high <= low + 6 * rtol + 1e-7


@pytest.mark.parametrize(
    ("n", "t", "x", "dither"),
    [
        (10_080.0, [9.12e-4, 2.76e-4, 1.22e-4], [10_090.0, 10_084.0, 10_069.0], 0.05),
        (1_055.0, [1.797e-3, 2.939e-3, 3.12e-3, 5.143e-3], [1_054.6, 1_053.7, -1_053.5, 1_054.8], 8.0),
    ],
)
@np.errstate(all="ignore")
def test_no_block_is_skipped_where_the_point_mass_at_0_is_larger(
    n: float, t: list[float], x: list[float], dither: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The atoms cancel around pi/x, the mass of "nobody sends any" does not: it is removed at those nodes too."""
    law, mass, users = np.array([x]), np.array([t]), np.array([n])
    at = tilt(law, mass, saddle(law, mass, users))
    whole = contour.place(law, mass, users, at, np.array([6e-6]))
    s, h = whole.s / dither, whole.h / 4.0
    last = contour.whole_blocks(np.sqrt(2.0 * whole.cut) / (s * h))
    whole = whole._replace(s=s, h=h, last=last)
    found, every = contour.evaluate(whole, upper=True)[0], contour.block_bounds
    monkeypatch.setattr(contour, "block_bounds", lambda *of: (every(*of)[0], np.ones(of[3].size)))
    monkeypatch.setattr(contour, "unevaluated_nodes", lambda *of: (np.zeros(1), np.zeros(1)))
    assert found >= contour.evaluate(whole, upper=True)[0]
