"""Flights from New York City in 2013, asked six ways: ``python examples/flights.py [--full]``.

Where they went (histogram), how late they left (ranges and quantiles), where on the map (location), which planes flew
most (heavy hitters); and planes as users with several flights: which destinations each served (sets), and how late it
was there (key-value).
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from story import console, folder, tell

import shuffledp as sdp

BUSY = ["ATL", "BOS", "CLT", "DCA", "DTW", "FLL", "LAX", "MCO", "MIA", "ORD", "RDU", "SFO"]
#: New York, and kilometers of one degree there.
LATITUDE, LONGITUDE, DEGREE = 40.7, -74.0, 111.2


def with_places(flights: pa.Table, home: Path) -> pa.Table:
    """Every destination as kilometers east and north of New York, on a flat map."""
    airports = pyarrow.csv.read_csv(home / "airports.csv")
    shrink = math.cos(math.radians(LATITUDE))
    columns = (airports[name].to_pylist() for name in ("faa", "lat", "lon"))
    place = {
        faa: ((lon - LONGITUDE) * DEGREE * shrink, (lat - LATITUDE) * DEGREE)
        for faa, lat, lon in zip(*columns, strict=True)
    }
    spots = [place.get(faa, (None, None)) for faa in flights["dest"].to_pylist()]
    east, north = zip(*spots, strict=True)
    return flights.append_column("east", pa.array(east, pa.float64())).append_column(
        "north", pa.array(north, pa.float64())
    )


def by_plane(flights: pa.Table) -> pa.Table:
    """One row per plane: the destinations it served, and its mean delay at each."""
    served: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for tail, dest, delay in zip(*(flights[c].to_pylist() for c in ("tailnum", "dest", "dep_delay")), strict=True):
        if tail is not None:
            served[tail][dest].append(0 if delay is None else delay)
    lists = [list(where) for where in served.values()]
    delays = [[sum(d) / len(d) for d in where.values()] for where in served.values()]
    return pa.table({"dests": lists, "delays": delays})


def main() -> None:
    """Six questions."""
    home = folder()
    flights = with_places(pq.read_table(home / "flights.parquet"), home)
    users = flights.num_rows

    where = sdp.queries.Histogram(column="dest", labels=BUSY, mechanism="grr:eps0=3")
    tell("destinations", "Where do flights go?", where, flights, users=users)

    late = sdp.queries.RangeQuery(
        column="dep_delay", low=-30, high=226, bins=256, branching=4, missing=0, unit="min", mechanism="grr:eps0=4"
    )
    answer, truth = tell("delays", "How late do they leave?", late, flights, users=users)
    fitted = answer.fitted()
    for share in (0.5, 0.9, 0.99):
        found, known = fitted.quantile(share), truth.quantile(share)
        interval = f"{found.low:g} to {found.high:g}"
        console.print(f"   {share:.0%} leave before {found.value:.0f} min ({interval}); true {known.value:.0f}")

    spots = sdp.queries.Location(
        column=("east", "north"),
        west=-4200,
        east=800,
        south=-2500,
        north=1000,
        across=20,
        up=14,
        eps=0.01,
        near=250,
        missing=(0, 0),
        unit="km",
    )
    tell("map", "Where on the map? (private for moves of up to 250 km)", spots, flights, users=users)

    # no single plane has more than 0.2 % of the flights, too few to stand out; series of planes do
    tails = sdp.queries.HeavyHitters(column="tailnum", length=3, mechanism="prefix-hash:eps0=6")
    tell("planes", "Which series of tail numbers fly most? (found without a list of them)", tails, flights, users=users)

    planes = by_plane(flights)
    served = sdp.queries.SetFrequency(column="dests", labels=BUSY, size=4, mechanism="privset:eps0=4")
    tell(
        "served", "Which destinations does a plane serve? (planes are the users)", served, planes, users=planes.num_rows
    )

    when = sdp.queries.KeyValue(
        column=("dests", "delays"), keys=BUSY, size=4, low=-30, high=90, unit="min", mechanism="pckv-grr:eps0=5"
    )
    tell("plane-delays", "How late is a plane there?", when, planes, users=planes.num_rows)


if __name__ == "__main__":
    main()
