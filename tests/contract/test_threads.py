"""Every mechanism on several threads: the same reports under a seed, secure by default, in little memory."""

from __future__ import annotations

import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from contract.cases import Case, all_cases
from reference.repetition import slow
from shuffledp.mechanisms import randomizer
from shuffledp.mechanisms.randomizer import Randomizer
from shuffledp.randomness import permutation

RUNNABLE = [c for c in all_cases() if isinstance(c.mechanism, Randomizer)]


def each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [c if k % 3 == 0 else slow(c) for k, c in enumerate(cases)], ids=str)


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomizer, "CHUNK_BYTES", 30_000)
    monkeypatch.setattr(permutation, "_PART", 500)


def same(one: Any, two: Any) -> bool:
    if one.dtype.kind == "O":
        return all(np.array_equal(a, b) for a, b in zip(one.ravel(), two.ravel(), strict=True))
    return np.array_equal(one, two)


@pytest.mark.slow_cases("planar-*")
@pytest.mark.one_setting
@each(RUNNABLE)
@pytest.mark.usefixtures("small_chunks")
def test_reports_do_not_depend_on_the_number_of_threads(case: Case) -> None:
    m: Any = case.mechanism
    values, _ = case.data(4000)
    assert len(m._chunks(4000)) > 3
    runs = [m.privatize(values, rng=seeded(3), threads=k) for k in (1, 2, 3)]
    counts = [m.privatize_counts(values, rng=seeded(3), threads=k) for k in (1, 3)]
    tallies = [m.tally(runs[0], threads=k).counts for k in (1, 2, 3)]
    for run in runs[1:]:
        assert same(runs[0].data, run.data) and run.users == 4000
    for other in (*tallies[1:], *(c.counts for c in counts)):
        assert same(tallies[0], other)
    mixed = [runs[0].shuffled(rng=seeded(1), threads=k).data for k in (1, 2)]
    assert same(*mixed)
    assert not any(t.name.startswith("shuffledp") for t in threading.enumerate())


@pytest.mark.heavy_cases("privunit:eps0=4,dim=20,cap=0.06998131170458755")
@pytest.mark.slow_cases("planar-*")
@pytest.mark.one_setting
@each(RUNNABLE)
@pytest.mark.usefixtures("small_chunks")
def test_secure_reports_of_many_chunks(case: Case) -> None:
    m: Any = case.mechanism
    values, truth = case.data(20_000)
    reports = [m.privatize(values, threads=k) for k in (1, 2)]
    assert all(r.for_release for r in reports) and not np.array_equal(reports[0].data, reports[1].data)
    est = m.estimate(reports[1], threads=2)
    assert est.for_release and np.all(np.abs(est.value - truth) <= 6.0 * est.stderr + 1e-12)


@pytest.mark.slow_cases("planar-laplace:*")
@pytest.mark.one_setting
@each(RUNNABLE)
@pytest.mark.usefixtures("small_chunks")
def test_bad_values_in_a_late_chunk_are_refused(case: Case) -> None:
    """The sentence is that of the first bad chunk, and no thread goes on."""
    m: Any = case.mechanism
    values, _ = case.data(4000)
    if isinstance(values, list | tuple):
        return  # several arrays: covered by the mechanisms that they are made of
    bad = np.asarray(values, dtype=np.float64 if np.asarray(values).dtype.kind == "f" else np.int64).copy()
    bad[-1] = -(10**9)
    for call in (m.privatize, m.privatize_counts):
        with pytest.raises(sdp.ParameterError) as error:
            call(bad, threads=2)
        assert "\n" not in str(error.value)
    assert not any(t.name.startswith("shuffledp") for t in threading.enumerate())


@pytest.mark.usefixtures("small_chunks")
def test_chunks_are_independent_of_each_other() -> None:
    """Equal values everywhere: the reports of two chunks agree as often as independent ones."""
    m = sdp.GRR(eps0=1.0, d=2)
    step = m._chunks(10**6)[0].stop
    data = m.privatize(np.zeros(200 * step, dtype=np.uint8)).data.reshape(200, step)
    one, two = data[:-1].ravel(), data[1:].ravel()
    seen = np.bincount(2 * one + two, minlength=4)
    a = m.keep
    expected = seen.sum() * np.array([a * a, a * (1 - a), a * (1 - a), (1 - a) ** 2])
    assert stats.chisquare(seen, expected, sum_check=False).pvalue > 1e-6


def test_an_interrupt_while_privatizing_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomizer, "CHUNK_BYTES", 10_000)
    real, calls = np.copyto, []

    def interrupted(*args: Any, **given: Any) -> None:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        real(*args, **given)

    monkeypatch.setattr(randomizer.np, "copyto", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        sdp.GRR(eps0=1.0, d=4).privatize(np.zeros(100_000, dtype=int), threads=2)
    assert caught.traceback and not any(t.name.startswith("shuffledp") for t in threading.enumerate())


# -- memory ------------------------------------------------------------------------------------------------------

WIDE = [
    ("grr:eps0=2,d=128", 2_000_000),
    ("unary:eps0=2,d=128", 500_000),
    ("subset:eps0=2,d=128", 500_000),
    ("local-hash:eps0=2,d=128", 500_000),
    ("pure-dump:d=128,messages=1", 1_000_000),
    ("pure-dump:d=128,total_messages=1_000_000", 1_000_000),
    ("cheu-zhilyaev:flip=0.1,d=128,messages=1", 300_000),
]


@pytest.mark.slow_cases("*-1000000", "*-300000", "1-subset:eps0=2,d=128-500000")
@pytest.mark.parametrize(("spec", "users"), WIDE)
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_is_the_reports_and_a_chunk_per_thread(spec: str, users: int, threads: int) -> None:
    m: Any = sdp.mechanism(spec)
    values = np.arange(users) % 128
    m.privatize(values[:100])  # what is imported and cached on first use
    tracemalloc.start()
    try:
        reports = m.privatize(values, threads=threads)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        m.privatize_counts(values, threads=threads)
        counting = tracemalloc.get_traced_memory()[1] - reports.data.nbytes
    finally:
        tracemalloc.stop()
    chunk = 2 * randomizer.CHUNK_BYTES  # one at work, one waiting to be taken
    assert peak < 1.07 * reports.data.nbytes + (1 + threads) * chunk
    assert counting < 0.07 * reports.data.nbytes + (1 + threads) * chunk


@pytest.mark.heavy
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read where Linux shows it")
def test_memory_seen_by_the_system() -> None:
    """In a process of its own: reports of 64 MB, and little more."""
    code = (
        "import numpy as np, shuffledp as sdp\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM')) / 1024\n"
        "m = sdp.Unary(eps0=2.0, d=128)\n"
        "values = np.zeros(4_000_000, dtype=np.uint8)\n"
        "m.privatize(values[:100_000])\n"
        "before = peak()\n"
        "m.privatize(values, threads=2)\n"
        "print(peak() - before)"
    )
    grown = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 50 < grown < 64 * 1.02 + 20
