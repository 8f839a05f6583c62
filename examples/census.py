"""Ages and two-way marginals of the 1994-95 census: ``python examples/census.py [--full]``."""

from __future__ import annotations

import pyarrow.parquet as pq
from story import console, folder, tell

import shuffledp as sdp

#: The options, named in advance; every other answer is "other".
EDUCATION = [
    "Children",
    "High school graduate",
    "Some college but no degree",
    "Bachelors degree(BA AB BS)",
    "Masters degree(MA MS MEng MEd MSW MBA)",
]
MARITAL = ["Never married", "Married-civilian spouse present", "Divorced", "Widowed"]


def main() -> None:
    """Two questions to the same people, each a round of its own."""
    table = pq.read_table(folder() / "census.parquet")
    users = table.num_rows
    ages = sdp.queries.RangeQuery(
        column="age", low=0, high=96, bins=96, branching=4, mechanism="grr:eps0=3", unit="years"
    )
    answer, truth = tell("ages", "How old are the respondents?", ages, table, users=users)
    for share in (0.1, 0.5, 0.9):
        found, known = answer.fitted().quantile(share), truth.quantile(share)
        interval = f"{found.low:g} to {found.high:g}"
        console.print(f"   {share:.0%} are younger than {found.value:.1f} ({interval}); true {known.value:.1f}")
    cells = sdp.queries.Marginals(
        labels={"sex": ["Female", "Male"], "education": EDUCATION, "marital": MARITAL}, ways=2, mechanism="grr:eps0=4"
    )
    answer, truth = tell("marginals", "Sex, education and marital status, two at a time", cells, table, users=users)
    before, after = answer, answer.fitted()
    errors = [float(((x.value - truth.value) ** 2).mean() ** 0.5) for x in (before, after)]
    console.print(f"   error per cell {errors[0]:.4f}; {errors[1]:.4f} where marginals that overlap are made to agree")


if __name__ == "__main__":
    main()
