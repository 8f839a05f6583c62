"""Files of reports come from anywhere: whatever is in one, the answer is its batch or one sentence, soon."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from shuffledp.engines.local import Local
from shuffledp.engines.report_files import read_reports
from shuffledp.errors import ParameterError
from shuffledp.protocol.batch import MAGIC, METADATA, Batch, Header

N = 400


def asked(mechanism: str = "grr:eps0=20", labels: int = 2) -> sdp.Plan:
    query = sdp.queries.Histogram(column="x", labels=list(range(labels)), mechanism=mechanism)
    return sdp.Plan(query=query, users=N, minimum_batch=1, delta=1e-6)


PLAN = asked()
#: Messages of 1,001 bytes.
WIDE = asked("unary:eps0=20", 8000)
LONG = 1001


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("reports")
    PLAN.save(home / "plan.json")
    rows = pa.table({"x": [0, 1, 1, None] * (N // 4), "y": ["u", "v"] * (N // 2)})
    pq.write_table(rows, home / "data.parquet", row_group_size=100, write_page_checksum=True)
    Local().privatize(PLAN, home / "data.parquet", home / "reports.parquet", accept=True)
    return home


def written(path: Path, plan: sdp.Plan, column: Any, groups: int = 1, said: int | None = None, **more: Any) -> Path:
    """The same messages in so many row groups; the header may say otherwise."""
    messages = len(column) * groups if said is None else said
    size = LONG if plan is WIDE else 1
    header = Header(plan.digest, messages, messages, size, True)
    schema = pa.schema([("message", column.type)])
    with pq.ParquetWriter(path, schema, compression="zstd", store_schema=False, **more) as writer:
        writer.add_key_value_metadata({METADATA: header.text()})
        for _ in range(groups):
            writer.write_table(pa.Table.from_arrays([column], schema=schema))
    return path


def test_data_are_not_taken_for_damaged_reports(home: Path) -> None:
    said = refused(run("estimate", str(home / "plan.json"), str(home / "data.parquet")))
    assert "reports must be a file that 'shuffledp privatize' wrote" in said and "damaged" not in said


def zeros(size: int, rows: int) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), rows, [None, pa.py_buffer(bytes(size * rows))])


def coded(rows: int) -> pa.Array:
    """So many equal messages, written once."""
    return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), zeros(LONG, 1))


def constant(path: Path) -> Path:
    return written(path, WIDE, coded(10_000), groups=10)


def lying(path: Path) -> Path:
    """The footer says 100 rows, the pages hold 20,000 (numbers are written doubled, seven bits to a byte)."""
    raw = written(path, WIDE, zeros(LONG, 20_000), said=100, use_dictionary=False).read_bytes()
    start = raw.rindex(b"\x15", 0, raw.index(b"message"))
    said = raw[start:].replace(b"\x16\xc0\xb8\x02", b"\x16\xc8\x81\x00")
    assert said != raw[start:]
    path.write_bytes(raw[:start] + said)
    return path


def row_groups(path: Path) -> Path:
    return written(path, PLAN, zeros(1, 1), groups=2500)


def pages(path: Path) -> Path:
    return written(path, PLAN, zeros(1, 4000), data_page_size=1, write_batch_size=1, use_dictionary=False)


def more_rows(path: Path) -> Path:
    return written(path, PLAN, zeros(1, 4000), said=N)


@pytest.mark.parametrize(
    ("make", "most", "said"),
    [
        (constant, 2**17, "reports must unpack to at most 64 times their size, got 100,000 messages of 1001 bytes"),
        (lying, 2**15, "pages that unpack to more than their messages"),
        (row_groups, 2**19, "more row groups or fields than a batch has"),
        (pages, 2**18, "pages that unpack to more than their messages"),
        (more_rows, 2**12, "reports must hold 400 messages of 1 bytes, got 4,000"),
    ],
)
def test_a_bomb_is_refused_before_it_is_unpacked(
    make: Any, most: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "bomb.parquet")
    assert path.stat().st_size < most
    unpacked: list[int] = []
    for name in ("read_table", "ParquetFile"):
        monkeypatch.setattr(pq, name, lambda *args, **more: unpacked.append(1))
    with pytest.raises(ParameterError, match=said):
        read_reports(path, WIDE if make in (constant, lying) else PLAN)
    assert not unpacked


def test_what_other_writers_make_of_a_batch_is_read(home: Path, tmp_path: Path) -> None:
    found = read_reports(home / "reports.parquet", PLAN)
    table = pq.read_table(home / "reports.parquet")
    settings: list[dict[str, Any]] = [
        {"compression": "none", "row_group_size": 7},
        {"compression": "gzip", "use_dictionary": False, "data_page_version": "2.0"},
        {"compression": "snappy", "data_page_size": 64, "write_batch_size": 64, "write_page_index": True},
    ]
    for i, setting in enumerate(settings):
        pq.write_table(table, tmp_path / f"{i}.parquet", **setting)
        again = read_reports(tmp_path / f"{i}.parquet", PLAN)
        assert again.header == found.header and again.data.tolist() == found.data.tolist()
    wide = written(tmp_path / "wide.parquet", WIDE, coded(100))
    assert read_reports(wide, WIDE).data.shape == (100, LONG)
    assert read_reports(written(tmp_path / "flat.parquet", WIDE, zeros(LONG, 3)), WIDE).data.shape == (3, LONG)


def flipped(good: bytes, number: int) -> list[bytes]:
    chosen, out = random.Random(7), []
    for _ in range(number):
        raw = bytearray(good)
        raw[chosen.randrange(len(raw))] ^= chosen.randrange(1, 256)
        out.append(bytes(raw))
    return out


@pytest.mark.heavy
def test_a_changed_byte_of_a_report_file_is_harmless_or_noticed(home: Path, tmp_path: Path) -> None:
    good, path = (home / "reports.parquet").read_bytes(), tmp_path / "r.parquet"
    wanted, noticed, sentences = read_reports(home / "reports.parquet", PLAN), [], []
    for raw in flipped(good, 300):
        path.write_bytes(raw)
        try:
            found = read_reports(path, PLAN)
        except ParameterError as error:
            noticed.append(raw)
            sentences.append(str(error))
        else:
            assert found.header == wanted.header and found.data.tolist() == wanted.data.tolist()
    assert len(noticed) > 200 and all(text[-1] in ".?" and "\n" not in text for text in sentences)
    for raw in noticed[:10]:
        path.write_bytes(raw)
        refused(run("estimate", str(home / "plan.json"), str(path)))


@pytest.mark.heavy
def test_a_changed_byte_of_a_data_file_is_harmless_or_noticed(home: Path, tmp_path: Path) -> None:
    good, path = (home / "data.parquet").read_bytes(), tmp_path / "d.parquet"
    wanted, noticed, sentences = Local().exact(PLAN, home / "data.parquet").value.tolist(), [], []
    for raw in flipped(good, 300):
        path.write_bytes(raw)
        try:
            found = Local().exact(PLAN, path).value.tolist()
        except ParameterError as error:
            noticed.append(raw)
            sentences.append(str(error))
        else:
            assert found == wanted
    assert len(noticed) > 30 and all(text[-1] in ".?" and "\n" not in text for text in sentences)
    for raw in noticed[:10]:
        path.write_bytes(raw)
        refused(run("privatize", str(home / "plan.json"), str(path), "-o", str(tmp_path / "out.batch")))
        assert sorted(p.name for p in tmp_path.iterdir()) == ["d.parquet"]


def test_a_name_that_is_no_text_is_one_sentence(home: Path, tmp_path: Path) -> None:
    raw = (home / "reports.parquet").read_bytes()
    at = raw.index(b"\x07message")  # of the schema
    (tmp_path / "r.parquet").write_bytes(raw[:at] + b"\x07m\xf3ssage" + raw[at + 8 :])
    assert "reports must be readable" in refused(run("estimate", str(home / "plan.json"), str(tmp_path / "r.parquet")))


@pytest.mark.parametrize("name", ["r.batch", "r.parquet"])
def test_a_pipe_is_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    said: list[str] = []

    def read() -> None:
        try:
            read_reports(tmp_path / name, PLAN)
        except ParameterError as error:
            said.append(str(error))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(30)
    assert said and "a named pipe, not a regular file" in said[0]
    with pytest.raises(ParameterError, match="a named pipe, not a regular file"):
        Local().count(PLAN, (tmp_path / name).rename(tmp_path / "d.csv"))


def test_a_header_that_claims_too_much_takes_no_memory(tmp_path: Path) -> None:
    header = Header(PLAN.digest, 10**15, 10**15, 1, True)
    (tmp_path / "r.batch").write_bytes(MAGIC + header.text().encode() + b"\n" + bytes(100))
    with pytest.raises(ParameterError, match=r"batch must hold 1,000,000,000,000,000 messages .*, got fewer"):
        Batch.read(tmp_path / "r.batch", PLAN)


def test_a_file_that_another_program_wrote_again_has_no_checksum(home: Path, tmp_path: Path) -> None:
    table = pq.read_table(home / "reports.parquet")
    pq.write_table(table, tmp_path / "again.parquet", compression="zstd", write_statistics=False)
    assert b"shuffledp sha256" in pq.read_metadata(home / "reports.parquet").metadata
    assert b"shuffledp sha256" not in pq.read_metadata(tmp_path / "again.parquet").metadata
    assert read_reports(tmp_path / "again.parquet", PLAN).header == read_reports(home / "reports.parquet", PLAN).header
