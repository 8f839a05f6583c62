"""A shuffler in a directory of its own, and a clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reference.databases import Cluster
from reference.shuffling import Clock, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "shuffler")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> str:
    """Of a store of each kind: "" stands for SQLite."""
    return request.getfixturevalue("cluster").database() if request.param == "postgresql" else ""
