"""Claim by claim: what the paper says, in our words, and what the numbers of this run say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .words import CLAIMS

#: part -> unit -> {"title", "settings", "data"}, as in results.json.
Results = dict[str, dict[str, dict[str, Any]]]

HOLDS, PARTLY, FAILS = "holds", "partly", "does not hold"
#: A figure that the paper calls "about" something is granted five percentage points.
_ABOUT_30, _ABOUT_75 = 0.25, 0.70
#: The baselines as the paper's wording reads (gamma of the mechanism only), and the one with exact b and c.
_DRAWN = ("stronger-clone", "clone", "specific-gamma", "generic", "efmrtt19")
_STRONG = (*_DRAWN, "specific")


class Range(NamedTuple):
    """Smallest and largest value over all panels and points, and the share of points that reach a threshold."""

    low: float
    high: float
    share: float

    @classmethod
    def of(cls, found: list[float], enough: float) -> Range:
        """Of these values, with this threshold."""
        return cls(min(found), max(found), sum(x >= enough for x in found) / len(found))

    def percent(self) -> str:
        """In words, as a percentage."""
        return f"{100 * self.low:.1f} to {100 * self.high:.1f} %"


def savings(panels: Iterable[dict[str, Any]], ours: str, theirs: Sequence[str], enough: float = 0.0) -> Range:
    """1 - eps(ours)/eps(best of theirs) wherever both are known; ``share`` counts the points with at least ``enough``.

    Examples
    --------
    >>> panel = {"data": {"a": {"epsilon": [1.0, 3.0, None]}, "b": {"epsilon": [2.0, 4.0, 5.0]}}}
    >>> savings([panel], "a", ["b"], 0.3)
    Range(low=0.25, high=0.5, share=0.5)
    """
    found = []
    for panel in panels:
        curves = [panel["data"][key]["epsilon"] for key in (ours, *theirs)]
        for mine, *others in zip(*curves, strict=True):
            known = [x for x in others if x is not None]
            if mine is not None and known:
                found.append(1.0 - mine / min(known))
    return Range.of(found, enough)


def against_claim(panels: Iterable[dict[str, Any]], key: str, enough: float = 0.0) -> Range:
    """1 - eps/eps' where eps' is the axis: what the authors of a protocol claim for the same parameters.

    Examples
    --------
    >>> panel = {"settings": {"x": [1.0, 2.0]}, "data": {"a": {"epsilon": [0.25, None]}}}
    >>> against_claim([panel], "a").low
    0.75
    """
    found = [
        1.0 - eps / x
        for panel in panels
        for x, eps in zip(panel["settings"]["x"], panel["data"][key]["epsilon"], strict=True)
        if eps is not None
    ]
    return Range.of(found, enough)


def verdict(share: float, *, whole: float = 0.999) -> str:
    """ "holds" if (nearly) all points support a statement, "partly" if some do.

    Examples
    --------
    >>> verdict(1.0), verdict(0.4), verdict(0.0)
    ('holds', 'partly', 'does not hold')
    """
    return HOLDS if share >= whole else PARTLY if share > 0.0 else FAILS


def claim(name: str, verdict_: str, measured: Mapping[str, str | Range], **numbers: int) -> dict[str, Any]:
    """A claim for results.json: ``measured`` to be read, ``ranges`` [low, high] to be computed with.

    Its words are in words.yaml; ``numbers`` stand in the comment.
    """
    said = CLAIMS[name]
    return {
        "place": said["place"],
        "says": said["says"],
        "verdict": verdict_,
        "measured": {key: value.percent() if isinstance(value, Range) else value for key, value in measured.items()},
        "ranges": {key: [value.low, value.high] for key, value in measured.items() if isinstance(value, Range)},
        "comment": said["comment"].format(**numbers),
    }


def _single(results: Results) -> dict[str, Any]:
    panels = [*results["figure1"].values(), *results["figure2"].values()]
    sound = savings(panels, "blanket", _DRAWN, _ABOUT_30)
    strong = savings(panels, "blanket", _STRONG)
    return claim(
        "single",
        verdict(sound.share),
        {
            "as printed, against the baselines as drawn": savings(panels, "published", _DRAWN),
            "exact blanket (sound), against the same": sound,
            "points where that is 25 % or more": f"{100 * sound.share:.0f} %",
            "as printed, against the privacy blanket with exact b and c too": savings(panels, "published", _STRONG),
            "exact blanket (sound), against the same (with exact b and c)": strong,
            "swap bound (sound, later than the paper), against the baselines as drawn": savings(panels, "swap", _DRAWN),
        },
    )


def _multi(results: Results) -> dict[str, Any]:
    cheu, balls = list(results["figure3"].values()), list(results["figure4"].values())
    found = [against_claim(panels, "blanket", _ABOUT_75) for panels in (cheu, balls)]
    return claim(
        "several",
        verdict(min(r.share for r in found)),
        {
            "Cheu and Zhilyaev, as printed": against_claim(cheu, "published"),
            "Cheu and Zhilyaev, fake rows only (sound)": against_claim(cheu, "rows"),
            "Cheu and Zhilyaev, exact blanket (sound)": found[0],
            "balls into bins (printed = exact here)": found[1],
        },
    )


def _search(results: Results) -> dict[str, Any]:
    found = savings(results["figure4"].values(), "blanket", ["search"], _ABOUT_75)
    small = 1.0 / (1.0 - found.low), 1.0 / (1.0 - found.high)
    return claim(
        "search",
        verdict(found.share),
        {"saved against the authors' numerical search": found, "as a factor": f"{small[0]:.2f} to {small[1]:.2f}"},
    )


def _closed(results: Results) -> dict[str, Any]:
    panels = [*results["figure3"].values(), *results["figure4"].values()]
    analytic = against_claim(panels, "analytic", 0.5)
    loose = against_claim(panels, "asymptotic", 0.0)
    printed = against_claim(panels, "asymptotic-published", 0.0)
    return claim(
        "closed",
        verdict(min(analytic.share, printed.share)),
        {
            "analytic (Theorem 4.2), sound version": analytic,
            "analytic, as in the appendix": against_claim(panels, "analytic-published"),
            "asymptotic (Theorem 4.3), proved version": loose,
            "asymptotic, as printed": printed,
            "points where the printed asymptotic form wins": f"{100 * printed.share:.0f} %",
        },
    )


def _parallel(results: Results) -> dict[str, Any]:
    panels = list(results["figure5"].values())
    formula = savings(panels, "published", ["basic"], _ABOUT_75)
    impossible = savings(panels, "released", ["dataset"], 1e-9)
    return claim(
        "parallel",
        verdict(formula.share),
        {
            "formula of the text, printed law": formula,
            "formula of the text, repaired law (sound)": savings(panels, "repaired", ["basic"]),
            "exact blanket of the composite (sound)": savings(panels, "blanket", ["basic"]),
            "beta as the authors' program sets it": savings(panels, "released", ["basic"]),
            "points where that eps is below the eps of a concrete dataset": f"{100 * impossible.share:.0f} %",
        },
    )


def _separate(results: Results) -> dict[str, Any]:
    panels = list(results["figure5"].values())
    worst = savings(panels, "blanket", ["separate-worst"], 0.8)
    best = savings(panels, "blanket", ["separate-best"], 0.8)
    return claim(
        "separate",
        verdict(min(worst.share, best.share)) if best.share else (PARTLY if worst.share else FAILS),
        {
            "exact blanket (sound), against the worst separate level": worst,
            "exact blanket (sound), against the best separate level": best,
            "the program's beta, against its own worst level (n/H^2 users)": savings(
                panels, "released", ["released-worst"]
            ),
            "the program's beta, against the best level": savings(panels, "released", ["separate-best"]),
        },
    )


def _speed(results: Results) -> dict[str, Any]:
    rows = [row for row in results["table5"]["table5"]["data"]["rows"] if row["n"] == 10**8]
    slow = [row["T20"]["seconds"] for row in rows]
    fast = [row["T10"]["seconds"] for row in rows]
    high = [row["T10"]["above"] for row in rows]
    return claim(
        "speed",
        HOLDS if max(slow) < 10 else PARTLY if max(fast) < 10 else FAILS,
        {
            "printed times, T = 20": f"{min(slow):g} to {max(slow):g} s",
            "printed times, T = 10": f"{min(fast):g} to {max(fast):g} s",
            "printed eps for T = 10 is too high by": f"{100 * min(high):.1f} to {100 * max(high):.0f} %",
        },
    )


def _tight(results: Results) -> dict[str, Any]:
    rows = results["tightness"]["tightness"]["data"]["rows"]
    kinds = {kind: [r["claim"] for r in rows if r["verdict"] == kind] for kind in ("tight", "not a bound", "not tight")}
    left = [r["claim"] for r in rows if r["verdict"] == "open"]
    return claim(
        "tight",
        verdict(len(kinds["tight"]) / len(rows)),
        {
            "tight": "; ".join(kinds["tight"]) or "none",
            "printed value below a concrete dataset (not a bound)": "; ".join(kinds["not a bound"]) or "none",
            "printed value above the exact blanket (not tight)": "; ".join(kinds["not tight"]) or "none",
            "reached by no known dataset": "; ".join(left) or "none",
        },
    )


def _sound(results: Results) -> dict[str, Any]:
    entries = results["errata"]["errata"]["data"]["entries"]
    exact = [e for e in entries if e["exact"]]
    first = entries[0]
    return claim(
        "sound",
        HOLDS if first["truth_value"] <= first["printed_value"] else FAILS,
        {"printed, true value": f"{first['printed']}, {first['truth']} ({first['case']})"},
        exact=len(exact),
        entries=len(entries),
    )


_NEEDS = (
    (_sound, ("errata",)),
    (_single, ("figure1", "figure2")),
    (_multi, ("figure3", "figure4")),
    (_search, ("figure4",)),
    (_closed, ("figure3", "figure4")),
    (_parallel, ("figure5",)),
    (_separate, ("figure5",)),
    (_speed, ("table5",)),
    (_tight, ("tightness",)),
)


def judge(results: Results) -> list[dict[str, Any]]:
    """Every claim whose parts are there."""
    return [judged(results) for judged, needs in _NEEDS if all(part in results for part in needs)]


def ratio(x: float, eps: float | None) -> float | None:
    """log2 of the amplification ratio x/eps, as on the paper's axes.

    Examples
    --------
    >>> ratio(1.0, 0.25), ratio(1.0, None)
    (2.0, None)
    """
    return None if eps is None or eps <= 0.0 else math.log2(x / eps)
