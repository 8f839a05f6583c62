"""Files to take away: plan, review, statement, certificate, curves and bounds as CSV, a programme and its plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..accounting.amplification import amplify
from ..accounting.comparison import compare
from ..errors import ParameterError
from . import programmes, ranking
from .curves import POINTS, curve
from .questions import Question


def certificate(given: Mapping[str, str]) -> str:
    """A proof of one round that ``shuffledp certify --verify`` checks again."""
    asked = Question.read(given)
    mechanism, n = asked.remaining()
    found = amplify(mechanism, n=n, delta=asked.at, certify=True).certificate
    if found is None:
        raise ParameterError("no certificate was made; try another delta.")
    return found.to_json()


def curves(given: Mapping[str, str]) -> str:
    """Both curves as one table: what is varied, its value, eps and the lower bound."""
    asked = Question.read(given)
    lines = ["variable,value,epsilon,lower"]
    for over in ("n", "noise"):
        found = curve(asked, over=over, points=POINTS[1])
        for row in zip(found["x"], found["epsilon"], found["lower"], strict=True):
            lines.append(",".join([found["over"], *("" if x is None else repr(x).strip("'") for x in row)]))
    return "\n".join(lines) + "\n"


def bounds(given: Mapping[str, str]) -> str:
    """Every bound, as ``shuffledp compare`` writes it."""
    asked = Question.read(given)
    mechanism, n = asked.remaining()
    return compare(mechanism, n=n, delta=asked.at).to_csv()


#: Name of a file -> how it is made.
FILES: dict[str, Callable[[Mapping[str, str]], str | bytes]] = {
    "plan.json": ranking.plan,
    "report.html": ranking.report,
    "statement.html": ranking.statement_page,
    "certificate.json": certificate,
    "curves.csv": curves,
    "bounds.csv": bounds,
    "programme.yaml": programmes.written,
    "plans.zip": programmes.plans,
    "programme-statement.html": programmes.statement_page,
}
