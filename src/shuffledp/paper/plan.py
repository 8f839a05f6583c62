"""What there is to compute of Wang et al. 2024: one unit of work per panel or table, its settings spelled out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .._support import validation as check
from . import errata, multi, ranges, single, speed, tightness
from .curves import spaced

#: delta of figures 1, 2, 3 and 5 times n: the paper is silent there and uses this in table 5.
DELTA_TIMES_N = 0.01
#: d/s and -log10(delta) of figure 4, where the number of messages follows from both; the paper names neither.
BALLS = ((16, 6), (128, 9))
POINTS = 25

#: What ``only`` takes, and what each part shows.
PARTS = {
    "figure1": "Subset selection",
    "figure2": "Optimal local hash",
    "figure3": "Cheu and Zhilyaev's multi-message histograms",
    "figure4": "Balls into bins",
    "figure5": "Hierarchical range queries (parallel composition)",
    "table5": "Any eps0-LDP randomizer that all users run: eps and time",
    "tightness": 'Upper bounds called "exactly tight"',
    "errata": "Errata, with counter-examples",
}


CITATION = (
    'S. Wang et al., "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened", PVLDB 17(8), 2024, '
    "doi 10.14778/3659437.3659444"
)
CAPTIONS = {
    "figure1": "Above, the paper's axes: higher is more private. Lower bounds limit what any analysis can claim, so "
    "no sound curve lies above them. Below, the same eps against the exact blanket.",
    "figure2": "Every user draws a fresh random hash. The variation-ratio parameters do not know that two "
    "values may collide; the exact blanket does.",
    "figure3": "eps' is what their Claim 3.2 promises, eps what each analysis gives for the same flip probability.",
    "figure4": "eps' is what the authors' formula promises for the number of messages. Their own "
    "numerical search is drawn too.",
    "figure5": "One of H levels per user, randomized response on it. The curve of the authors' program follows from "
    "overwriting beta instead of adding; it is above the lower bounds, so it cannot be right.",
}
#: What the paper leaves open, and what was done about it.
ASSUMPTIONS = (
    "delta = 0.01/n in figures 1, 2, 3 and 5: the paper prints delta for table 5 only; the authors' program uses the "
    "same rule.",
    "Subset selection with k = ceil(d/(e^eps0 + 1)); the library's own default takes the better of the two neighbors. "
    "The authors' program has ceil(d/e^eps0) in one place.",
    "Local hash with l = round(e^eps0 + 1) and a fresh random hash per user; the lower bounds and the exact blanket "
    "are those of that family.",
    'Figures 1, 2: "privacy-blanket, general" is the better of the generic Hoeffding and Bennett bounds; "specific" is '
    "drawn twice, with the mechanism's gamma only (as the wording suggests) and with its exact b and c. Where a bound "
    "does not apply or gives a larger eps, the local guarantee is drawn (ratio 1).",
    "Figures 1, 2: the stronger clone is drawn for one randomizer that all users run, where it is proved; its authors' "
    "errata (arXiv:2208.04591) withdraw the proof for adaptive sequences of randomizers.",
    "Figure 3: one fake row per user (k = 1), the flip probability from Claim 3.2 of Cheu and Zhilyaev; where no flip "
    "probability reaches eps' nothing is drawn. d does not matter as long as it exceeds 2. The paper counts fake rows "
    "only; the exact blanket also uses what the other users' own rows contain of them.",
    "Figure 4: 32 log(2/delta) (d/s)/eps'^2 blanket messages; delta and d/s are not printed, two pairs are shown (d/s "
    "hardly matters).",
    "Figure 5: separate groups of floor(n/H) users at the same delta; levels 0 to H-1 with d/2^h nodes.",
    "Table 5: the printed times are those of the authors' machine (i7-10700KF, Python 3.8), ours of the machine of "
    "this run.",
    "Every eps carries a relative error of at most 1e-4 (table 5 and tightness: 1e-6), upwards for upper bounds and "
    "downwards for lower ones.",
)


@dataclass(frozen=True)
class Unit:
    """One piece of work: its file name, the part it belongs to, a title, and ``work(settings)`` that does it."""

    name: str
    part: str
    title: str
    settings: dict[str, Any]
    work: Callable[[dict[str, Any]], dict[str, Any]]

    def run(self) -> dict[str, Any]:
        """Compute it."""
        return self.work(self.settings)


def units(
    only: tuple[str, ...] = (),
    *,
    points: int = POINTS,
    parts: Mapping[str, str] = PARTS,
    make: Callable[[int], list[Unit]] | None = None,
) -> list[Unit]:
    """The work for these parts (all of them if none is named), with this many points per curve.

    ``parts`` and ``make`` are those of another paper.

    Examples
    --------
    >>> [unit.name for unit in units(("figure4", "table5"))]
    ['figure4-ratio16-delta6', 'figure4-ratio128-delta9', 'table5']
    """
    chosen = {check.one_of("part", name, parts) for name in only} or set(parts)
    count = check.whole("points", points, low=2, high=10_000, hint="it is the number of points of a curve")
    return [unit for unit in (make or figures)(count) if unit.part in chosen]


def figures(points: int) -> list[Unit]:
    """All work of figures 1 to 5, table 5, tightness and errata."""
    local, claimed = spaced(0.1, 5.0, points), spaced(0.01, 1.5, points)
    found = []
    for part, mechanism in (("figure1", "subset"), ("figure2", "local-hash")):
        for n in (10**4, 10**5):
            for d in (16, 128):
                settings = {"mechanism": mechanism, "n": n, "d": d, "delta": DELTA_TIMES_N / n, "x": local}
                found.append(Unit(f"{part}-n{n}-d{d}", part, _users(n, d), settings, single.panel))
    for n in (10**4, 10**5):
        settings = {"n": n, "d": 16, "delta": DELTA_TIMES_N / n, "x": claimed}
        found.append(Unit(f"figure3-n{n}", "figure3", f"n = {n:,}, any d > 2", settings, multi.cheu_panel))
    for ratio, exponent in BALLS:
        settings = {"d": ratio, "special": 1, "delta": float(f"1e-{exponent}"), "x": claimed}
        title = f"d/s = {ratio}, delta = 1e-{exponent}"
        found.append(Unit(f"figure4-ratio{ratio}-delta{exponent}", "figure4", title, settings, multi.balls_panel))
    for n in (10**4, 10**5):
        for d in (64, 2048):
            settings = {"n": n, "d": d, "delta": DELTA_TIMES_N / n, "x": local}
            found.append(Unit(f"figure5-n{n}-d{d}", "figure5", _users(n, d), settings, ranges.panel))
    speed_settings = {"tol": 1e-6, "repeats": 5, "delta_times_n": DELTA_TIMES_N}
    found.append(Unit("table5", "table5", PARTS["table5"], speed_settings, speed.table))
    tight_settings = {"eps0": 3.0, "n": 1000, "delta": 1e-5, "tol": 1e-6}
    found.append(Unit("tightness", "tightness", PARTS["tightness"], tight_settings, tightness.table))
    found.append(Unit("errata", "errata", PARTS["errata"], {}, errata.table))
    return found


def _users(n: int, d: int) -> str:
    return f"n = {n:,}, d = {d}"
