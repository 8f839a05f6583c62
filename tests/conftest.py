"""Makes ``from reference import ...`` work and names the markers."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("reference")  # their asserts hold under python -O too


def pytest_configure(config: pytest.Config) -> None:
    from reference import repetition

    repetition.quick = "not slow" in str(config.option.markexpr)
    config.addinivalue_line("markers", "spark: needs a Spark cluster; run by make test-spark, where nothing is skipped")
    config.addinivalue_line("markers", "web: drives a browser; run by make test-web, where nothing is skipped")
    config.addinivalue_line("markers", "shuffler: runs the service and its databases; run by make test-shuffler")
    config.addinivalue_line("markers", "slow: more examples of the same properties; leave out with -m 'not slow'")
    config.addinivalue_line("markers", "slow_cases(*ids): cases of a test that are slow; * stands for anything")
    config.addinivalue_line("markers", "heavy: takes a fifth of a second or more; run by make test-heavy")
    config.addinivalue_line("markers", "heavy_cases(*ids): cases of a test that are heavy; * stands for anything")
    config.addinivalue_line("markers", "one_setting: of every mechanism all cases but the first quick one are slow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what ``slow_cases`` and ``heavy_cases`` name, and further settings of a mechanism with ``one_setting``."""
    seen: set[tuple[object, ...]] = set()
    for item in items:
        case = item.name.partition("[")[2].removesuffix("]")
        for kind in ("slow", "heavy"):
            for mark in item.iter_markers(f"{kind}_cases"):
                if any(re.fullmatch(re.escape(one).replace(r"\*", ".*"), case) for one in mark.args):
                    item.add_marker(kind)
        if item.get_closest_marker("one_setting") and not item.get_closest_marker("slow"):
            given = dict(item.callspec.params)  # type: ignore[attr-defined]
            first = (item.nodeid.partition("[")[0], given.pop("case").mechanism.name, *given.values())
            if first in seen:
                item.add_marker("slow")
            seen.add(first)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """A test that needs Spark, a browser or a database and is skipped has failed."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and any(item.get_closest_marker(mark) for mark in ("spark", "web", "shuffler")):
        report.outcome = "failed"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A real cluster: a master, and two workers with an executor of one core each, as processes of this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local-cluster[2,1,1024]")
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "OFF")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.sql.files.maxPartitionBytes", "16k")
            .config("spark.sql.files.openCostInBytes", "0")
            .config("spark.sql.adaptive.coalescePartitions.enabled", "false")
            .getOrCreate()
        )
    yield session
    session.stop()
