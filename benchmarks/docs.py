"""Writes docs/mechanisms.md from the registry and the bracket table: ``python -m benchmarks.docs``."""

from __future__ import annotations

from pathlib import Path

from shuffledp.mechanisms.registry import find, signatures

from .brackets import table

PAGE = """# The mechanisms

Every mechanism has a file in `src/shuffledp/mechanisms/` with its definition in formulas, its law, its sampler and its
estimator. Make one by class (`sdp.GRR(eps0=2.0, d=64)`) or by spec (`sdp.mechanism("grr:eps0=2,d=64")`, the same on
the command line); optional parameters, in brackets, default to the best value. `m.variation_ratio()` gives the paper's
(p, beta, q); where a printed row is wrong it gives the corrected one (sampling RAPPOR; PrivUnit and Wheel beyond one
half), and where a row makes no sense the parameters are refused (balls-into-bins with fewer than two blocks).
This page is written by `python -m benchmarks.docs`.

| spec | what it is |
|---|---|
{specs}

## How tight the bounds are

eps at delta = 0.01/n and, in brackets, by how much it exceeds the lower bound: no analysis can claim less than that,
so the bracket is what is still open.

{brackets}

Where the gap is wide, the truth lies between the best constant dataset and the blanket bound; the gap is an open
research question, not a rounding error. `randomized-response` is maximised over the number of other users who hold 1.
The lower value of `planar-laplace` is that of its continuous law, computed numerically, and not a proof about the law
on the grid.

## Running them

`privatise` takes numpy (or pyarrow) arrays with one entry per user and returns compact reports; `m.estimate(reports)`
is unbiased and has standard errors. Randomness is an AES-CTR keystream unless a seeded `rng=` is passed; then reports
and estimates say `for_release = False`. A bare array does not record how it was made: its estimate says
`for_release = None` (unknown), unless you declare it, `m.estimate(array, for_release=True)`.

Reports are in the order of the users: report i is that of user i. The amplified guarantee does not hold against an
adversary who sees them in this order. `reports.shuffled()` returns them in a uniformly random order (secure, exact, and
with a few MB of memory beyond the copy it returns); pass on only these. The multi-message mechanisms shuffle
themselves: their `privatise` returns the messages of all users in one uniformly random order.

Laplace noise, planar too, is drawn on a public grid with exact integers. PrivUnit rounds a float computation to a
public grid: a mitigation of low-bit attacks, not a proof; its docstring says so.

### Which interval covers what

`estimate.interval(0.95)` is for every item on its own, and covers one of two things:

| call | covers | source of error |
|---|---|---|
| `interval(0.95)`, `of="users"` | the frequencies (mean, ...) of the users who reported | the privacy noise |
| `interval(0.95, of="population")` | those of the population they were drawn from | the noise and the draw |

At large local budgets the draw is most of the error: an interval of 95 % for the users may cover the population in 86 %
of cases or fewer. `stderr` counts the noise only. What the draw adds to the variance, by kind of estimate:

| estimate | added for a population |
|---|---|
| frequencies, of items in sets and of nodes too; shares of key holders; binary sums | f(1-f)/n, exactly |
| Duchi, Harmony, PrivUnit, sums of values in PCKV | nothing: the variance of the reports contains it |
| Laplace (planar, metric too) | (high - mean)(mean - low)/n for numbers in [low, high], an upper bound |

The reports do not show how much the users' numbers differ: hence the upper bound for Laplace noise, and for the second
row the interval of the users is as wide as that of the population, never too narrow.

The ends solve |value - f| = z sqrt(variance at f) with the variance of the law (a score interval), not with one
estimated from counts that may be 0: rare items stay covered at every local budget. Half a report is added on either
side, more at levels beyond 0.95, because counts are whole and skewed; where few reports are expected, coverage is above
nominal. Ends may lie outside the range of the truth, as values may.

### Making estimates consistent

An estimate stores the constraints that the truth satisfies; `estimate.consistent("nearest")` moves it to the nearest
point (least squares) that satisfies them. This is biased, so compute intervals before. For frequencies of
one item per user there are also `"simplex"`, the same, and `"norm-sub"`; elsewhere these names are refused.

| estimate | constraint |
|---|---|
| frequencies of one item per user, multi-message histograms | entries >= 0, sum 1 |
| `hierarchical-grr` | that on every level, and every node the sum of its children |
| `sampling-rappor`, `wheel` | entries in [0, 1], sum s |
| `privset`, `poisson-histogram` | entries in [0, 1], sum at most s, or at most `indices` |
| `pckv-grr` | shares in [0, 1] with sum at most l, and sums of values no larger than the shares |
| `laplace`, `metric-laplace`, `duchi`, `harmony`, binary sums | every entry in the range of the values |
| `privunit`, `planar-laplace` | in the ball of the values |
| `parallel` | that of every query on its own |
"""


def main() -> None:
    specs = "\n".join(
        f"| `{name}:{needs}` | {(find(name).__doc__ or '').splitlines()[0]} |" for name, needs in signatures()
    )
    page = PAGE.format(specs=specs, brackets=table())
    Path(__file__).parent.parent.joinpath("docs", "mechanisms.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
