"""Do the reports follow the claimed law?  A chi-square test per input, and outputs that the law rules out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, gammaincc, ndtri  # type: ignore[import-untyped]

from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.randomizer import Randomizer
from .foreign import short
from .layout import Layout, as_table
from .reading import Raw, label

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Cells with fewer expected reports are always pooled.
LEAST_EXPECTED = 20.0
#: Inputs that are listed, and those of a law that is listed.
MOST_LISTED, MOST_ROWS = 10**6, 1000


class Law(NamedTuple):
    """``rows[k]`` is the law of the audited input number ``places[k]``; ``columns`` finds the column of each report."""

    rows: FloatArray
    places: list[int]
    columns: Callable[[Raw], IntArray]


class Verdict(NamedTuple):
    """The p-value over all inputs together (Bonferroni), and the worst disagreement in words."""

    pvalue: float
    words: str


# -- which law --------------------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Two inputs are equal, be they numbers, text, tuples or arrays."""
    try:
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    except (TypeError, ValueError):
        return bool(a == b)


def stated(claimed: Mechanism, inputs: Sequence[Any], outputs: Sequence[Any] | None, own: bool) -> Law | str:
    """The claimed law of these inputs, or why there is none; ``own``: reports come from the mechanism itself."""
    matrix = matrix_of(claimed)
    if matrix is not None and not (own and isinstance(claimed, Randomizer)):
        return _of_matrix(matrix, inputs, outputs)
    if outputs is not None:
        raise ParameterError("outputs must go with a claimed matrix, got another claim; leave outputs out.")
    if not isinstance(claimed, Randomizer):
        return f"{claimed.spec} states no law"
    rows, every = None, listed(claimed)
    if every is not None and len(every) <= MOST_ROWS:
        try:
            rows = claimed.probabilities()
        except ParameterError:  # too many outputs
            rows = None
    if rows is None or every is None:
        return f"{claimed.spec} does not list its law"
    found = [(k, row) for k, x in enumerate(inputs) for row, y in enumerate(every) if same(x, y)]
    if not found:
        return f"none of the inputs is among those whose law {claimed.spec} lists"
    mechanism, layout = claimed, Layout(claimed, every[0])
    columns = (lambda raw: mechanism._columns(np.asarray(raw))) if own else layout.columns
    return Law(rows[[row for _, row in found]], [k for k, _ in found], columns)


def matrix_of(mechanism: object) -> FloatArray | None:
    """The matrix that a mechanism is, None if it is something else."""
    identity = mechanism.law.identity() if isinstance(mechanism, Mechanism) else {}
    return np.asarray(identity["matrix"]) if "matrix" in identity else None


def listed(mechanism: Randomizer) -> list[Any] | None:
    """Every input, unless there are too many or the mechanism does not list them."""
    if getattr(mechanism, "d", 0) > MOST_LISTED:
        return None
    try:
        return mechanism.inputs()
    except ParameterError:
        return None


def _of_matrix(rows: FloatArray, inputs: Sequence[Any], outputs: Sequence[Any] | None) -> Law:
    if len(inputs) != len(rows):
        raise ParameterError(
            f"claimed must have one row per input, got {len(rows)} rows for {len(inputs)} inputs; "
            "give the inputs in the order of the rows."
        )
    if outputs is not None and len(outputs) != rows.shape[1]:
        raise ParameterError(
            f"outputs must name one report per column of claimed, got {len(outputs)} for {rows.shape[1]} columns; "
            "list them in the order of the columns."
        )
    try:
        place = {label(output): k for k, output in enumerate(outputs or ())}
    except TypeError:
        raise ParameterError(
            "outputs must be reports that can be compared, got something unhashable; return tuples."
        ) from None
    if len(place) != len(outputs or ()):
        raise ParameterError("outputs must differ from each other, got one twice; merge its columns of claimed.")

    def columns(raw: Raw) -> IntArray:
        if outputs is not None:
            return np.array([place.get(label(report), -1) for report in raw], dtype=np.int64)
        found = as_table(raw)
        if found.ndim != 1 or found.dtype.kind not in "iub":
            raise ParameterError(
                f"reports must be column numbers of claimed, got {short(raw[0])}; "
                "pass outputs= with the report of every column."
            )
        return found.astype(np.int64)

    return Law(rows, list(range(len(rows))), columns)


# -- the test ---------------------------------------------------------------------------------------------------


def compare(law: Law, raw: Sequence[Raw], inputs: Sequence[Any], alpha: float) -> Verdict:
    """Bonferroni over the inputs, to be compared with alpha; a report of probability zero refutes the law."""
    worst = Verdict(1.0, "")
    for row, place in zip(law.rows, law.places, strict=True):
        columns, reports, name = law.columns(raw[place]), raw[place], f"input {short(inputs[place])}"
        outside = (columns < 0) | (columns >= len(row))
        outside[~outside] = row[columns[~outside]] == 0.0
        if outside.any():
            times = f"{int(outside.sum()):,} of {len(columns):,} reports"
            example = short(reports[int(np.argmax(outside))])
            return Verdict(0.0, f"{name} sent what the claimed law rules out in {times}, such as {example}")
        fit = chi_square(np.bincount(columns, minlength=len(row)), row, alpha / len(law.places))
        if fit.pvalue < worst.pvalue:
            at = np.flatnonzero(np.isin(columns, fit.columns))
            one = f"report {short(reports[int(at[0])])}" if at.size else f"the report of column {fit.columns[0]}"
            what = one if len(fit.columns) == 1 else f"one of {len(fit.columns):,} reports such as {one}"
            times = f"{fit.seen:,} times in {len(columns):,}"
            worst = Verdict(
                fit.pvalue, f"{name} sent {what} {times}, where the claimed law expects {fit.expected:,.1f}"
            )
    return Verdict(min(1.0, worst.pvalue * len(law.places)), worst.words)


class Fit(NamedTuple):
    """A p-value, and the cell that disagrees most: its columns, its count and what the law expects."""

    pvalue: float
    columns: IntArray
    seen: int
    expected: float


def chi_square(seen: IntArray, law: FloatArray, alpha: float) -> Fit:
    """Pearson's test, to be compared with alpha; rare cells are pooled with their neighbors.

    A count with mean m exceeds it by z standard deviations about exp(z^3/(6 sqrt m)) times as often as a normal
    variable: from m = z^6/9 on, at the z of alpha, less than twice as often on one side and less on the other; so
    the p-value is doubled.
    Two cells are one binomial count, whose tails are exact.
    """
    n = int(seen.sum())
    cells = _pooled(law * n, max(LEAST_EXPECTED, float(ndtri(0.5 * alpha)) ** 6 / 9.0))
    counts = np.array([seen[c].sum() for c in cells])
    means = np.array([law[c].sum() for c in cells]) * n
    terms = (counts - means) ** 2 / means
    worst = int(np.argmax(terms))
    if len(cells) == 1:
        pvalue = 1.0
    elif len(cells) == 2:
        k, p = int(counts[0]), float(means[0] / n)
        more = float(betainc(k, n - k + 1, p)) if k else 1.0
        less = float(betaincc(k + 1, n - k, p)) if k < n else 1.0
        pvalue = min(1.0, 2.0 * min(more, less))
    else:
        pvalue = min(1.0, 2.0 * float(gammaincc(0.5 * (len(cells) - 1), 0.5 * terms.sum())))
    return Fit(pvalue, cells[worst], int(counts[worst]), float(means[worst]))


def _pooled(expected: FloatArray, least: float) -> list[IntArray]:
    """Columns by themselves where they expect enough, else with the next rare ones; columns never sent are left out."""
    cells = [np.array([k]) for k in np.flatnonzero(expected >= least)]
    open_: list[int] = []
    total = 0.0
    for k in np.flatnonzero((expected > 0.0) & (expected < least)).tolist():
        open_.append(k)
        total += float(expected[k])
        if total >= least:
            cells.append(np.array(open_))
            open_, total = [], 0.0
    if open_ and len(cells) > 1:
        cells[-1] = np.append(cells[-1], open_)
    elif open_:  # two cells may be as uneven as they are
        cells.append(np.array(open_))
    return cells
