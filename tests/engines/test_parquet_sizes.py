"""The sizes that are read here are those that pyarrow reads, and nothing that is no Parquet file is read for long."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.engines.parquet_sizes import Chunk, check_pages, read_footer


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd", "snappy"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_footer_and_pages_are_those_of_pyarrow(
    version: str, compression: str, dictionary: bool, tmp_path: Path
) -> None:
    values = np.random.default_rng(0).integers(0, 256, 5000)
    pq.write_table(
        pa.table({"a column": pa.array(values, mask=values < 5)}, metadata={"key": "value" * 1000}),
        tmp_path / "t.parquet",
        row_group_size=2000,
        compression=compression,
        use_dictionary=dictionary,
        data_page_version=version,
        data_page_size=500,
        write_batch_size=100,
        write_page_checksum=True,
        write_page_index=True,
    )
    wanted = pq.read_metadata(tmp_path / "t.parquet")
    with open(tmp_path / "t.parquet", "rb") as stream:
        found = read_footer(stream, most=10_000)
        assert found.rows == wanted.num_rows and found.entries == wanted.metadata
        for i, chunk in enumerate(found.chunks):
            column = wanted.row_group(i).column(0)
            start = column.dictionary_page_offset if dictionary else column.data_page_offset
            assert chunk == (wanted.row_group(i).num_rows, start, column.total_compressed_size)
            # pages of less than 1,024 bytes count so much; total_uncompressed_size has their headers too
            check_pages(stream, chunk, most=column.total_uncompressed_size + 1024 * 25)
            with pytest.raises(ValueError, match="pages that unpack to more"):
                check_pages(stream, chunk, most=2000)
        with pytest.raises(ValueError, match="more row groups or fields than a batch has"):
            read_footer(stream, most=50)


@pytest.mark.parametrize("seed", range(3))
def test_no_bytes_are_read_for_long_or_fail_otherwise(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    path = tmp_path / "t.parquet"
    for _ in range(300):
        body = bytes(chosen.choices(range(256), k=chosen.randrange(200)))
        nested: Any = chosen.choice([b"", b"\x1c" * 100, b"\x19\xfc\xff\xff\xff\xff\x0f", b"\x19" + b"\x19" * 100])
        raw = b"PAR1" + nested + body
        path.write_bytes(raw + (len(raw) - 4).to_bytes(4, "little") + b"PAR1")
        with open(path, "rb") as stream:
            with pytest.raises(ValueError, match=" "):
                read_footer(stream, most=1000)
            with pytest.raises(ValueError, match=" "):
                check_pages(stream, Chunk(1, 4, len(raw)), most=1 << 16)


@pytest.mark.parametrize(
    "raw", [b"", b"PAR1", b"PAR1" * 2, b"PAR1" + b"\xff" * 4 + b"PAR1", b"PAR1" + bytes(4) + b"PAR"]
)
def test_what_is_no_parquet_file_is_no_footer(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(raw)
    with open(tmp_path / "t.parquet", "rb") as stream, pytest.raises(ValueError, match="no Parquet file"):
        read_footer(stream, most=1000)
