"""Writes docs/mechanisms.md from the registry and the bracket table: ``python -m benchmarks.docs``."""

from __future__ import annotations

from pathlib import Path

from shuffledp.mechanisms.registry import find, signatures

from .brackets import table

PAGE = """# The mechanisms

Every mechanism is a page in `src/shuffledp/mechanisms/`: its definition in formulas, its law, its sampler and its
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

Where the gap is wide the truth lies between the best constant dataset and the blanket bound; closing it is open
research, not rounding. `randomized-response` is solved over the number of others holding 1. The lower value of
`planar-laplace` is that of its continuous law, computed numerically, and not a proof about the law on the grid.

## Running them

`privatise` takes numpy (or pyarrow) arrays with one entry per user and returns compact reports; `estimate` is unbiased
and has standard errors; `estimate.consistent("simplex")` and `"norm-sub"` are named, biased steps. Randomness is an
AES-CTR keystream unless a seeded `rng=` is passed; then reports and estimates say `for_release = False`.
Laplace noise, planar too, is drawn on a public grid with exact integers. PrivUnit rounds a float computation to a
public grid: a mitigation of low-bit attacks, not a proof; its docstring says so.
"""


def main() -> None:
    specs = "\n".join(
        f"| `{name}:{needs}` | {(find(name).__doc__ or '').splitlines()[0]} |" for name, needs in signatures()
    )
    page = PAGE.format(specs=specs, brackets=table())
    Path(__file__).parent.parent.joinpath("docs", "mechanisms.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
