"""Writes docs/mechanisms.md from the registry and the bracket table: ``python -m benchmarks.docs``."""

from __future__ import annotations

from pathlib import Path

from shuffledp.mechanisms.registry import find, signatures

from . import brackets, joint_answers

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

## Several questions to the same users

Two ways, and two different numbers. *Separately shuffled*: every question is a batch of its own, with a shuffle of its
own; that is one round for each, composed (`Accountant.compose`). *One tuple*: a user's answers travel together, as one
report of `sdp.Joint([first, second])`. Its spec is `joint:<grr:eps0=1,d=4; unary:eps0=1,d=16>` (quote it in a shell),
or `joint:FILE` with a list of `- spec: ...`. The tuple links the answers of a user, so it is less private; it takes one
message instead of k, and shows which answers belong together. eps at n = 10,000, delta = 1e-6:

{joint}

The law of a tuple is the product of the laws of its answers, and so is its blanket. All pairs of tuples of inputs
count, also those in which some answers stay the same: they can be the worst (a test has an example with two answers of
two options and five users). Which pairs of the answers are enough, and how large products are reduced on the safe side,
is proved in `numerics/product.py`. An answer whose law is not known (`general`, `parallel`) is counted by its
(p, beta, q).

## Continuous laws

What is accounted for must be what is released. A continuous law is therefore released in *cells*: edges are fixed in
advance, and a report says only between which two of them the number fell. The law of the cells is a finite matrix, its
guarantee is exact, and reports are drawn from it on whole numbers.

- `sdp.Gaussian(sigma=1.0, low=0.0, high=1.0, inputs=5, edges=16)` rounds a number in [low, high] to a public grid of
  `inputs` points, at random without bias, adds Gaussian noise and releases one of `edges` cells (or of those between
  edges that you list). The probabilities are correct to the last digit, also 30 sigma away. The mean of the users is
  estimated without bias. eps0 is finite but large; it is in every guarantee.
- `sdp.FiniteRandomizer.from_cdf(cdf, inputs=[...], edges=[...])` takes a law of your own, `cdf(x, edges)`. Values are
  the listed inputs, and others are refused: no law was accounted for them. Pass `sf=` (1 - cdf, to full
  relative accuracy) where cells lie in the upper tail; a cell whose probability has lost its digits is refused.

*Why not account for cells and release the number?* Because the number is finer than its cell. Two inputs may give a
cell nearly the same probability while numbers inside it are far likelier under one of them; in an outer cell of
Gaussian noise that ratio has no bound at all, though the ratio of the cells is finite. The eps of the cells would be
claimed for reports that it does not describe. Post-processing goes one way: from the number to the cell.

## Running them

`privatise` takes numpy (or pyarrow) arrays with one entry per user and returns compact reports; `m.estimate(reports)`
is unbiased and has standard errors. Randomness is an AES-CTR keystream unless a seeded `rng=` is passed; then reports
and estimates say `for_release = False`. A bare array does not record how it was made: its estimate says
`for_release = None` (unknown), unless you declare it, `m.estimate(array, for_release=True)`.

Reports are in the order of the users: report i is that of user i. The amplified guarantee does not hold against an
adversary who sees them in this order. `reports.shuffled()` returns them in a uniformly random order (secure, exact, and
with a few MB of memory beyond the copy it returns); pass on only these. The multi-message mechanisms shuffle
themselves: their `privatise` returns the messages of all users in one uniformly random order.

Laplace noise, planar too, is drawn on a public grid with exact integers, and so are the cells of Gaussian noise.
PrivUnit rounds a float computation to a public grid: a mitigation of low-bit attacks, not a proof; its docstring
says so.

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
| Laplace (planar, metric too), Gaussian | (high - mean)(mean - low)/n for numbers in [low, high], an upper bound |

The reports do not show how much the users' numbers differ: hence the upper bound for added noise, and for the second
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
| `laplace`, `gaussian`, `metric-laplace`, `duchi`, `harmony`, binary sums | every entry in the range of the values |
| `privunit`, `planar-laplace` | in the ball of the values |
| `parallel`, `joint` | that of every query or question on its own |
"""


def main() -> None:
    specs = "\n".join(
        f"| `{name}:{needs}` | {(find(name).__doc__ or '').splitlines()[0]} |" for name, needs in signatures()
    )
    page = PAGE.format(specs=specs, brackets=brackets.table(), joint=joint_answers.table())
    Path(__file__).parent.parent.joinpath("docs", "mechanisms.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
