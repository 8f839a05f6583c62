"""Every table and number of the note, computed by the library when the note is built."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import shuffledp as sdp
from house import design_numbers, swap_numbers
from house.charges import every_charge
from reference import swap_readings
from shuffledp._support.numbers import round_down, round_up
from shuffledp.paper import errata, speed, tightness

from .latex import commands, escape, number, tabular
from .other_papers import budget as allowed

#: Rows of the tightness table of the seed paper: what is printed against what is true.
_PRINTED = ("randomized response, more than 2 options", "k-subset, k = 2", "Hadamard response", "PrivUnit, cap 1/20")
_PRINTED += ("Wheel, length 1/(2s)", "balls-into-bins, d >= 3s", "pureDUMP, d >= 3")
#: Mechanisms whose types took a proof of their own, and where it is.
_TYPES = (
    ("sampling RAPPOR, $s=6$, $d=64$", "sampling-rappor:eps0=1,d=64,s=6", r"Lemma~\ref{lem:rappor}"),
    ("PrivSet, $s=6$, $d=64$", "privset:eps0=1,d=64,s=6", r"Lemma~\ref{lem:privset}"),
    ("Wheel, $s=2$, $d=64$", "wheel:eps0=1,d=64,s=2", "polygon"),
    ("metric Laplace, $d_{01}=1$, $d_{\\max}=4$", "metric-laplace:d01=1,dmax=4", r"Lemma~\ref{lem:line}"),
    ("PrivUnit, dimension 64", "privunit:eps0=2,dim=64", r"Proposition~\ref{prop:caps}"),
)
_MEANS = ((10_000, 0.1), (10_000, 0.5), (10_000, 1.0), (1_000_000, 0.1), (1_000_000, 1.0))
_POISSON = (8, 16)


def percent(above: float) -> str:
    """A relative excess, rounded up to two digits (three from 100 on)."""
    if math.isnan(above):
        return "--"
    return (r"$<0.001" if above < 1e-3 else "$" + round_up(above, 3 if above >= 99.0 else 2)) + r"\,\%$"


def brackets() -> str:
    """Lower bound, and how far each analysis is above it, at n = 10^4."""
    rows = []
    for title, spec in swap_numbers.MECHANISMS.items():
        row = swap_numbers.measure(title, spec, 10_000)
        name = r"known by $\eps_0$ alone" if spec.startswith("general") else escape(title)
        found = [percent(row.above(curve)) for curve in swap_numbers.CURVES]
        rows.append([name, round_down(row.lower, 5), *found])
    return tabular("lrrrr", ["randomizer", "lower $\\eps$", "swap", "exact blanket", "stronger clone"], rows)


def printed() -> str:
    """The printed value of the seed paper between a concrete dataset and the exact blanket."""
    settings = {"eps0": 3.0, "n": 1000, "delta": 1e-5, "tol": 1e-6}
    found = {row["claim"]: row for row in tightness.table(settings)["rows"]}
    rows = []
    for name in _PRINTED:
        row, eps = found[name], found[name]["epsilon"]
        sides = [round_down(eps["dataset"], 6), round_up(eps["published"], 6), round_up(eps["repaired"], 6)]
        words = escape(name).replace(">=", r"$\ge$")
        rows.append([words, *sides, round_up(eps["blanket"], 6), escape(row["verdict"].split(";")[0])])
    return tabular("lrrrrl", ["row", "dataset", "printed", "repaired", "blanket", "verdict"], rows)


def counterexample() -> str:
    """The ten views of three users of randomized response, and the ten of the printed reduction, in fractions."""
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    keep = {0: (half, quarter, quarter), 1: (quarter, half, quarter), 2: (quarter, quarter, half)}
    printed = (quarter, quarter, half)
    laws = [_views(keep[0], keep[0], keep[2]), _views(keep[1], keep[0], keep[2])]
    laws += [_views(keep[0], printed, printed), _views(keep[1], printed, printed)]
    rows, sums = [], [Fraction(0), Fraction(0)]
    for view in sorted(laws[0], reverse=True):
        cells = [f"$({','.join(map(str, view))})$"]
        for side in (0, 1):
            one, two = laws[2 * side][view], laws[2 * side + 1][view]
            part = max(Fraction(0), one - Fraction(3, 2) * two)
            sums[side] += part
            cells += [str(64 * one), str(64 * two), str(128 * part)]
        rows.append(cells)
    total = ["sum", "64", "64", str(128 * sums[0]), "64", "64", str(128 * sums[1])]
    names = (r"$64\Pr_0$", r"$64\Pr_1$", r"$128\,(\cdot)_+$")
    return tabular("lrrrrrr", ["counts", *names, *names], [*rows, total])


def _views(*laws: Sequence[Fraction]) -> dict[tuple[int, ...], Fraction]:
    """The law of the counts of three symbols, one drawn from each law."""
    found: dict[tuple[int, ...], Fraction] = {}
    for sent in product(range(3), repeat=len(laws)):
        view = tuple(sent.count(symbol) for symbol in range(3))
        chance = math.prod((law[symbol] for law, symbol in zip(laws, sent, strict=True)), start=Fraction(1))
        found[view] = found.get(view, Fraction(0)) + chance
    return found


def types() -> str:
    """Brackets of mechanisms whose types took a lemma."""
    rows = []
    for title, spec, proof in _TYPES:
        answer = sdp.amplify(spec, n=10_000, delta=1e-6)
        lower = answer.lower or math.nan
        rows.append(
            [
                title,
                round_down(lower, 5),
                round_up(answer.epsilon, 5),
                percent(100 * (answer.epsilon / lower - 1)),
                proof,
            ]
        )
    return tabular("lrrrl", ["mechanism", "lower", "upper", "gap", "by"], rows)


def means() -> str:
    """n times the mean square error of a mean in [-1, 1] at the worst data, delta = 1e-8."""
    rows = []
    for n, eps in _MEANS:
        found = [design_numbers.error(curve, n, eps) for curve in design_numbers.CURVES]
        cells = ["--" if math.isnan(value) else f"{value:#.3g}" for value in found]
        rows.append([number(n), f"{eps:g}", *cells, *_poisson(n, eps), f"{design_numbers.least(n, eps):#.3g}"])
    heads = ["$n$", r"$\eps$", "Laplace", "one bit", "levels", "window", "binomial"]
    return tabular("rr" + "r" * 8, [*heads, *(rf"Poisson, ${r}$" for r in _POISSON), "$4/V$"], rows)


def _poisson(n: int, eps: float) -> Iterator[str]:
    for units in _POISSON:
        made: Any = sdp.calibrate("poisson-sum", n=n, epsilon=eps, delta=design_numbers.DELTA, units=units)
        yield f"{made.variance(1):#.3g}"


def seconds(work: Callable[[], object], tries: int = 5) -> float:
    """Processor time, the best of several."""
    best = math.inf
    for _ in range(tries):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def _composed() -> float:
    accountant = sdp.Accountant()
    accountant.compose("grr:eps0=2,d=16", n=10_000, count=100)
    return float(accountant.epsilon(delta=1e-6))


_TIMED: dict[str, Callable[[], object]] = {
    r"$\eps$ of randomized response ($d=16$), $n=10^{4}$": lambda: sdp.amplify("grr:eps0=2,d=16", n=10**4, delta=1e-6),
    r"the same, $n=10^{12}$": lambda: sdp.amplify("grr:eps0=2,d=16", n=10**12, delta=1e-12),
    r"$\eps$ of a randomizer known by $\eps_0$, $n=10^{6}$": lambda: sdp.amplify("general:eps0=2", n=10**6, delta=1e-8),
    r"$\eps$ of Laplace noise (1025 inputs), $n=10^{6}$": lambda: sdp.amplify("laplace:eps0=2", n=10**6, delta=1e-8),
    r"$\delta$ at 1000 values of $\eps$": lambda: sdp.profile(
        "grr:eps0=2,d=16", n=10**4, epsilon=[i / 1000 for i in range(1, 1001)]
    ),
    r"$\eps_0$ that meets a target": lambda: sdp.calibrate("grr:d=16", n=10**4, epsilon=1.0, delta=1e-6),
    r"$n$ that meets a target": lambda: sdp.users_needed("grr:eps0=2,d=16", epsilon=0.1, delta=1e-8),
    "100 rounds composed": _composed,
    "a certificate of the first row": lambda: sdp.amplify("grr:eps0=2,d=16", n=10**4, delta=1e-6, certify=True),
    "a certificate of the third row": lambda: sdp.amplify("general:eps0=2", n=10**6, delta=1e-8, certify=True),
}


def times() -> str:
    """Milliseconds of processor time for questions that an accountant is asked."""
    rows = [[what, f"{1000 * seconds(work):.1f}"] for what, work in _TIMED.items()]
    return tabular("lr", ["question", "ms"], rows)


def certificates() -> str:
    """What floats answer with all errors charged, and what is proved in ball arithmetic."""
    rows = []
    for spec, n, delta in (
        ("grr:eps0=2,d=16", 10**4, 1e-6),
        ("laplace:eps0=1", 10**4, 1e-6),
        ("general:eps0=1", 10**8, 1e-9),
    ):
        found, proved = (sdp.amplify(spec, n=n, delta=delta, certify=certify) for certify in (False, True))
        rows.append(
            [rf"\texttt{{{escape(spec)}}}", number(n), f"$10^{{{round(math.log10(delta))}}}$",
             round_down(found.lower or 0.0, 6), round_up(found.epsilon, 6), round_up(proved.epsilon, 6)]
        )  # fmt: skip
    return tabular("lrrrrr", ["mechanism", "$n$", r"$\delta$", "lower", "floats", "certified"], rows)


def numbers() -> str:
    """Single numbers of the text."""
    case = errata.table({})["entries"][0]
    rows = [swap_numbers.measure(t, s, 10_000) for t, s in swap_numbers.MECHANISMS.items()]
    listed = [row for row in rows if row.title not in swap_numbers.UNLISTED]
    swap, blanket = ([row.above(c) for row in listed if c in row.found] for c in ("swap", "blanket"))
    clone = [row.above("stronger clone") for row in rows]
    small, strong, mixed = (
        sdp.amplify("general:eps0=4", n=1000, delta=1e-6, bound=b).epsilon
        for b in ("swap-general", "general", "constant-dataset-lower")
    )
    holes, lost = swap_readings.without_holes(), swap_readings.nobody_lost()
    ten = sdp.RandomizedResponse(eps0=math.log(10.0))
    worst = float(sdp.profile(ten, n=12, epsilon=0.1, bound="binary"))
    constant = float(
        sdp.profile(sdp.GRR(eps0=ten.eps0, d=2), n=12, epsilon=0.1, bound="constant-dataset-lower", side="lower")
    )
    asked = [seconds20 for _, seconds20, _, _ in speed.PRINTED.values()]
    return commands(
        {
            "HolesTruth": f"{float(holes[0]):.3g}",
            "HolesFormula": f"{float(holes[1]):.4f}",
            "LostTruth": f"{float(lost[0]):.3f}",
            "LostFormula": f"{float(lost[1]):.3f}",
            "MixedAbove": f"{100 * (worst / constant - 1):.0f}",
            "PrintedLeast": f"{min(asked):g}",
            "PrintedMost": f"{max(asked):g}",
            "CounterPrinted": str(case["printed"]),
            "CounterTruth": str(case["truth"]),
            "SwapLeast": round_down(min(swap), 2),
            "SwapMost": round_up(max(swap), 2),
            "ListedCount": str(len(listed)),
            "MechanismCount": str(len(rows)),
            "BlanketMost": round_up(max(blanket), 2),
            "CloneLeast": round_down(min(clone), 3),
            "CloneMost": round_up(max(clone), 3),
            "ChargeCount": str(len(every_charge())),
            "SmallSwap": round_up(small, 3),
            "SmallClone": round_up(strong, 3),
            "SmallLower": round_down(mixed, 3),
            "LibraryVersion": sdp.__version__,
            "BudgetHoeffding": round_down(
                allowed("laplace", "blanket-hoeffding", n=10**5, epsilon=0.1, delta=1e-6) or 0.0, 3
            ),
            "BudgetToday": round_down(allowed("laplace", "auto", n=10**5, epsilon=0.1, delta=1e-6) or 0.0, 3),
        }
    )


#: File -> what writes it.
FILES: dict[str, Callable[[], str]] = {
    "numbers.tex": numbers,
    "table-brackets.tex": brackets,
    "table-counterexample.tex": counterexample,
    "table-printed.tex": printed,
    "table-types.tex": types,
    "table-means.tex": means,
    "table-times.tex": times,
    "table-certificates.tex": certificates,
}
