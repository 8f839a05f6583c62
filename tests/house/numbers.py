"""The tables of numbers of the pages: how each line is computed.

``make tables`` writes them all; a quick test computes a sample of the lines again, a slow one all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import shuffledp as sdp
from house import design_numbers, swap_numbers
from house.typeset import typeset
from reference import swap_readings
from reference.places import ROOT
from shuffledp._support.numbers import round_down, round_up
from shuffledp.mechanisms.base import Mechanism
from shuffledp.mechanisms.registry import find, signatures
from shuffledp.paper import claims
from shuffledp.paper.plan import units
from shuffledp.paper.words import PARTS

DOCS = ROOT / "docs"
Lines = Callable[[], list[str]]


class Numbers(NamedTuple):
    """A table of a page: its columns, how all lines are computed, and how a few of them are."""

    page: Path
    columns: tuple[str, ...]
    lines: Lines
    sample: Lines

    def text(self) -> str:
        """The whole table."""
        return "\n".join([_line(*self.columns), "|" + "---|" * len(self.columns), *self.lines()])


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# -- the mechanisms -----------------------------------------------------------------------------------------------

CROWDS = (10_000, 1_000, 1_000_000)
#: One line per mechanism and eps0; {e} is replaced by it.
SINGLE = (
    "general:eps0={e}",
    "randomized-response:eps0={e}",
    "grr:eps0={e},d=16",
    "unary:eps0={e},d=16",
    "optimized-unary:eps0={e},d=16",
    "subset:eps0={e},d=16",
    "local-hash:eps0={e},d=16",
    "hadamard:eps0={e},d=16",
    "laplace:eps0={e}",
    "duchi:eps0={e},dim=5",
    "harmony:eps0={e},dim=5",
    "privunit:eps0={e},dim=10",
    "privunit:eps0={e},dim=64",
    "sampling-rappor:eps0={e},d=16,s=3",
    "sampling-rappor:eps0={e},d=64,s=12",
    "wheel:eps0={e},d=64,s=2",
    "wheel:eps0={e},d=16,s=3",
    "wheel:eps0={e},d=64,s=4",
    "privset:eps0={e},d=16,s=3",
    "privset:eps0={e},d=64,s=12",
    "pckv-grr:eps0={e},d=16,l=3",
    "hierarchical-grr:eps0={e},d=16",
    "metric-general:d01={e},dmax=4",
    "metric-laplace:d01={e},dmax=4",
    "planar-laplace:d01={e},dmax=4",
    "gaussian:sigma={e}",
    "window:eps0={e}",
    "piecewise:eps0={e}",
    "levels:eps0={e}",
    "hybrid:eps0={e}",
    "window-vector:eps0={e},dim=5",
    "prefix-hash:eps0={e},length=16",
    "joint:<grr:eps0={e},d=16; grr:eps0={e},d=16>",
)
MULTI = (
    "balcer-cheu:coin=0.3,messages=1",
    "balcer-coin:messages=1",
    "cheu-zhilyaev:flip=0.25,d=16,messages=1",
    "balls-into-bins:d=16,special=1,messages=1",
    "pure-dump:d=16,messages=1",
    "mix-dump:d=16,flip=0.3,messages=1",
    "poisson-histogram:d=16,poisson_per_index=0.0625,indices=4",
    "poisson-sum:units=8,poisson=1",
    "augmented:d=16,keep=0.9,dummies=geometric,mean=60",
)
FURTHER = (
    "binomial:flips=8,stretch=2,shape=1,noise=0.5",
    "variation-ratio:p=3,beta=0.5,q=3",
    "planar-cells:d01=1,dmax=5,across=4,up=4,wide=1,high=1",
)
#: Those whose law is read from a file.
MADE: tuple[Mechanism, ...] = (
    sdp.FiniteRandomizer([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]),
    sdp.ExponentialMetric([[0, 1, 2], [1, 0, 1], [2, 1, 0]], eps=2.0),
    sdp.Parallel([(0.5, sdp.GRR(eps0=1.0, d=16)), (0.5, sdp.Unary(eps0=1.0, d=16))]),
)
BRACKETS: tuple[str | Mechanism, ...] = (
    *(spec.format(e=e) for spec in SINGLE for e in (1, 3)),
    *FURTHER,
    *MADE,
    *MULTI,
)
#: From this gap on, in percent, the table says why.
WIDE = 1.0
#: Name -> why eps and its lower bound are more than WIDE apart.
WHY = {
    "wheel": "for $s > 2$ densities off the arcs are split between two values, and the lower bound does not see them",
    "hybrid": "upper: window and bit may come from two numbers; lower: users at -1, 0 and 1 only",
    "planar-laplace": "places and distances are covered by meshes, and eps is that of the worst cell of each",
    "planar-cells": "no datasets are listed; eps is that of planar Laplace noise before it is put into cells",
    "cheu-zhilyaev": "the lower bound looks at two columns of the reports",
    "prefix-hash": "no dataset has a law that is known: it depends on the public functions",
}


def _gap(g: sdp.Guarantee) -> float:
    """How much eps is above the lower bound, in percent; inf where nothing is known."""
    return 100 * (g.epsilon / g.lower - 1) if g.lower and math.isfinite(g.epsilon) else math.inf


def bracket(mechanism: str | Mechanism) -> str:
    """Both ends of eps and how far they are from each other; delta = 0.01/n."""
    first, *others = (sdp.amplify(mechanism, n=n, delta=0.01 / n) for n in CROWDS)
    gaps = [f"{_gap(g):.2f} %" if _gap(g) < math.inf else "" for g in (first, *others)]
    name = first.mechanism if isinstance(mechanism, Mechanism) else mechanism
    ends = ["" if first.lower is None else round_down(first.lower, 5), round_up(first.epsilon, 5)]
    why = WHY[name.partition(":")[0]] if _gap(first) > WIDE else ""  # a gap without a reason is a KeyError
    return _line(f"`{name}`", *ends, *gaps, first.bound, why)


def specs() -> list[str]:
    """Every mechanism with what it is; no numbers."""
    return [_line(f"`{name}:{needs}`", (find(name).__doc__ or "").splitlines()[0]) for name, needs in signatures()]


def joint(eps0: float, questions: int) -> str:
    """k questions shuffled separately and as one tuple, and the lower bound of the tuple."""
    one, delta = sdp.GRR(eps0=eps0, d=4), 1e-6
    rounds = sdp.Accountant().compose(one, n=10_000, count=questions)
    tuples = sdp.amplify(sdp.Joint([one] * questions), n=10_000, delta=delta)
    lower = "" if tuples.lower is None else round_down(tuples.lower, 4)
    found = [round_up(rounds.epsilon(delta=delta), 4), round_up(tuples.epsilon, 4), lower]
    return _line(f"{questions} x `{one.spec}`", *found)


# -- one deployment, and what is false ----------------------------------------------------------------------------


def deployed(indices: int) -> str:
    """The shipped parameters, with so many indices of one device."""
    m = sdp.PoissonHistogram(d=65536, poisson_per_index=0.00124512, indices=indices)
    g = sdp.amplify(m, n=1_000_000, delta=1e-10)
    least = "" if g.lower is None else f" (no analysis can claim less than {round_down(g.lower, 4)})"
    return _line(str(indices), round_up(g.epsilon, 4) + least)


def readings() -> list[str]:
    """Readings of the swap theorems, each with the dataset that refutes it."""

    def found(reading: Callable[[], swap_readings.Reading]) -> str:
        truth, false = map(float, reading())
        return f"truth {round_down(truth, 3)}, formula {round_up(false, 3)}"

    return [
        _line(
            r"holes left out ($\sigma = 0$)",
            r"$R_a = (0.9, 0.1)$, $R_b = (1, 0)$, $E = 1$, $n = 4$, the others all $b$: "
            f"{found(swap_readings.without_holes)}",
        ),
        _line(
            r"nobody is lost ($\beta = 1$)",
            "binary response, $q = 1000$, $n = 5$, $E = 5$, the others $(0,0,0,1)$: "
            f"{found(swap_readings.nobody_lost)}. Over constant datasets: $q = 10$, $n = 12$, $E = 1.01$: "
            f"{found(swap_readings.nobody_lost_over_constant_datasets)}",
        ),
        _line(
            r"the absent users of a coarse grid are free ($\beta = 1 - s + s \beta$)",
            "$s = 1/2$, $g$ and $h$ binary response with $q = 1000$, the rests on two more symbols, $n = 4$, $E = 2$: "
            f"{found(swap_readings.absent_users_are_free)}. The rest depends on the type, so it is no common part",
        ),
        _line(
            "a line of its own for every type",
            r"step 4 compares types at one and the same node: $\max_x \min_c$ is not a bound",
        ),
        _line("the worst dataset is constant", 'see "How sharp it is"'),
    ]


# -- the paper ----------------------------------------------------------------------------------------------------


@cache
def _part(name: str) -> dict[str, Any]:
    """The results of one part of ``shuffledp reproduce``."""
    found = units((name,))
    return {unit.name: {"title": unit.title, "settings": unit.settings, "data": unit.run()} for unit in found}


def judged(parts: tuple[str, ...]) -> list[str]:
    """The claims that these parts decide."""
    found = []
    for claim in claims.judge({part: _part(part) for part in parts}):
        measured = [f"{what}: {value}" for what, value in claim["measured"].items()]
        cells = (claim["says"], claim["place"], "; ".join(measured), claim["verdict"])
        found.append(_line(*map(typeset, cells)))
    return found


def tight(rows: slice) -> list[str]:
    """Which printed bounds are tight; lower bounds rounded down, all others up."""
    found = []
    for row in _part("tightness")["tightness"]["data"]["rows"][rows]:
        eps = row["epsilon"]
        lower = [round_down(eps[key], 6) for key in ("two-counts", "dataset")]
        upper = [round_up(eps[key], 6) for key in ("published", "blanket")]
        test = "" if row["own_test"] else "; fails the paper's own test"
        found.append(_line(row["claim"], *lower, *upper, row["verdict"] + test))
    return found


def wrong() -> list[str]:
    """The errata that have a case with numbers."""
    keys = ("place", "wrong", "case", "printed", "truth", "repair")
    entries = _part("errata")["errata"]["data"]["entries"]
    return [_line(*(typeset(entry[key]) for key in keys)) for entry in entries]


# -- all of them --------------------------------------------------------------------------------------------------

#: Mark -> the table between ``<!-- mark: start`` and ``<!-- mark: end -->``.
TABLES = {
    "specs": Numbers(DOCS / "mechanisms.md", ("spec", "what it is"), specs, specs),
    "brackets": Numbers(
        DOCS / "mechanisms.md",
        ("mechanism", "lower", "eps", "gap", *(f"gap, n = {n:,}" for n in CROWDS[1:]), "bound", "why"),
        lambda: [bracket(spec) for spec in BRACKETS],
        lambda: [bracket(spec) for spec in BRACKETS[::9]],
    ),
    "joint": Numbers(
        DOCS / "mechanisms.md",
        ("questions", "separately shuffled", "one tuple", "one tuple, lower bound"),
        lambda: [joint(e, k) for e in (0.5, 1.0, 2.0) for k in (1, 2, 3, 5)],
        lambda: [joint(1.0, 2)],
    ),
    "swap-numbers": Numbers(
        DOCS / "swap-numbers.md",
        ("mechanism", "n", "lower", *swap_numbers.CURVES),
        swap_numbers.lines,
        lambda: swap_numbers.lines(every=6),
    ),
    "designs": Numbers(
        DOCS / "designs.md",
        ("n", "eps", *design_numbers.CURVES, "floor 4/V", "laplace / best"),
        design_numbers.lines,
        lambda: [design_numbers.line(10_000, 1.0)],
    ),
    "vectors": Numbers(
        DOCS / "designs.md",
        ("n", "eps", "k", *design_numbers.BALL),
        lambda: [design_numbers.vectors(*asked) for asked in design_numbers.VECTORS],
        lambda: [design_numbers.vectors(*asked) for asked in design_numbers.VECTORS[4:5]],
    ),
    "readings": Numbers(DOCS / "swap.md", ("reading", "counterexample"), readings, readings),
    "deployment": Numbers(
        DOCS / "deployment.md",
        ("indices of one device", "eps at delta = 1e-10, n = 1,000,000"),
        lambda: [deployed(18), deployed(1)],
        lambda: [deployed(18)],
    ),
    "claims": Numbers(
        DOCS / "paper.md",
        ("the paper says", "where", "measured", "verdict"),
        lambda: judged(tuple(PARTS)),
        lambda: judged(("errata", "table5", "tightness")),
    ),
    "tightness": Numbers(
        DOCS / "paper.md",
        ("row", "two counts", "best dataset", "as printed", "exact blanket", ""),
        lambda: tight(slice(None)),
        lambda: tight(slice(None)),
    ),
    "errata": Numbers(
        DOCS / "paper.md", ("where", "what is wrong", "a case", "printed", "true", "instead"), wrong, wrong
    ),
}

_NUMBER = re.compile(r"\d+(?:\.(\d+))?(?:e[-+]?\d+)?")


def alike(printed: str, computed: str) -> bool:
    """Whether two texts are the same but for one unit in the last digit of their numbers: machines round differently.

    >>> alike("0.12345 (+0.01 %)", "0.12346 (+0.01 %)"), alike("0.1234", "0.1236"), alike("1 a", "1 b")
    (True, False, False)
    """
    if _NUMBER.sub("0", printed) != _NUMBER.sub("0", computed):
        return False
    pairs = zip(_NUMBER.finditer(printed), _NUMBER.finditer(computed), strict=True)
    return all(
        one[0] == two[0]
        or abs(float(one[0]) - float(two[0])) <= 1.01 * 10.0 ** -min(len(one[1] or ""), len(two[1] or ""))
        for one, two in pairs
    )
