"""A released period on a Spark cluster: opened on the executors, counted and refused as on one machine."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import shuffledp as sdp
from reference.commands import run
from reference.sealed_field import LABELS, Field, bad_rows, plan_of
from shuffledp.shuffler.collect import collect
from shuffledp.shuffler.release import ReleasedBatch

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("mechanism", ["grr:eps0=2", "pure-dump:messages=2"])
def test_spark_counts_what_one_machine_counts(tmp_path: Path, cluster: Any, mechanism: str) -> None:
    field = Field.make(tmp_path, plan_of(mechanism))
    rows = field.reports((LABELS * 75)[:300])
    bad = [*chain.from_iterable(bad_rows(field).values()), field.sealed(None), field.sealed(None)]
    released = ReleasedBatch.read(field.release([*rows, *bad], parts=5), field.publication, field.shufflers)
    found = []
    for how in ({}, {"engine": "spark", "session": cluster}):
        collector = sdp.Collector(field.publication.plan)
        counts, _ = collect(released, field.sealing_key, collector, **how)
        found.append((counts, collector))
    (here, first), (there, second) = found
    assert here == there and here.refused["unopened"] == 5 and here.refused["copied"] == 2
    assert first.users == second.users
    if here.slots == 1:  # where messages were left over, each engine leaves out others
        assert first.estimate().value == pytest.approx(second.estimate().value)


def test_the_command_opens_on_spark(tmp_path: Path, cluster: Any) -> None:
    field = Field.make(tmp_path, plan_of())
    folder = field.release(field.reports((LABELS * 75)[:300]))
    given = ["--publication", "publication.json", "--keys", "analyst", "--shuffler", "shuffler/signing.pub"]
    paths = [str(tmp_path / text) if i % 2 else text for i, text in enumerate(given)]
    answers = [run("collect", str(folder), *paths, "--engine", name) for name in ("local", "spark")]
    assert [answer.exit_code for answer in answers] == [0, 0], answers[1].output
    assert answers[0].stdout == answers[1].stdout
