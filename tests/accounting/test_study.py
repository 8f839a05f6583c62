"""Studies: every answer is that of amplify, by one process or several, from the cache or not, interrupted or not."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import all_cases
from reference.refusals import refused
from shuffledp.accounting import study_answers, study_cache
from shuffledp.accounting.study import Study
from shuffledp.accounting.sweeps import Sweep
from shuffledp.bounds.base import EpsilonFormula
from shuffledp.bounds.registry import BOUNDS

NAMES = ["auto", "clone", "clone-closed", "variation-ratio-published", "constant-dataset-lower"]
GRID: dict[str, Any] = {"eps0": [1, 2.5], "d": [4, 64], "n": [100, 10_000], "delta": ["0.01/n", 1e-8]}
#: Cheap questions, some of which have no answer.
CHEAP: dict[str, Any] = {"eps0": [0.5, 2], "n": [100, 10**6], "delta": 1e-6, "bounds": ["local", "clone-closed"]}
SPECS = ["grr:d=4", "unary:d=8"]


@pytest.fixture(scope="module")
def study() -> Study:
    made = sdp.sweep(["grr", "subset"], bounds=NAMES, **GRID)
    assert isinstance(made, Study)
    return made


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The questions that are answered in this process, as they are asked."""
    asked: list[tuple[Any, ...]] = []
    answer = study_answers._answer

    def counted(subject: Any, *terms: Any) -> Any:
        asked.append((subject.mechanism.spec, *terms))
        return answer(subject, *terms)

    monkeypatch.setattr(study_answers, "_answer", counted)
    return asked


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_every_answer_is_that_of_amplify(study: Study) -> None:
    wanted = itertools.product(["grr", "subset"], *GRID.values(), NAMES)
    found = [
        (r.value("mechanism"), r.value("eps0"), r.value("d"), r.value("n"), r.value("delta"), r.bound) for r in study
    ]
    assert found == list(wanted) and len(found) == len(study) == 160
    for (name, eps0, d, n, delta, bound), row in zip(found, study, strict=True):
        mechanism = f"{name}:eps0={eps0},d={d}"
        if row.epsilon is None:
            with pytest.raises(sdp.BoundNotApplicableError) as caught:
                sdp.amplify(mechanism, n=n, delta=delta, bound=bound)
            assert row.reason == str(caught.value) != ""
            continue
        alone = sdp.amplify(mechanism, n=n, delta=delta, bound=bound)
        assert row.epsilon == alone.epsilon and row.reason == ""
        assert row.point.analyses[bound] == alone.bound and row.point.notes.get(bound, "") == alone.note
        assert row.point.comparison.local_epsilon == alone.local_epsilon
        assert row.point.comparison.mechanism == alone.mechanism
    assert {row.bound for row in study if row.epsilon is None} == {"clone-closed"}


@pytest.mark.heavy
def test_all_points_may_be_asked_together(study: Study, computed: list[Any]) -> None:
    seen: list[tuple[int, int]] = []
    fast = sdp.sweep(["grr", "subset"], bounds=NAMES, **GRID, batched=True, progress=lambda *at: seen.append(at))
    assert computed == [] and seen == [(i, 32) for i in range(1, 33)]
    for one, other in zip(fast, study, strict=True):
        assert (one.point.mechanism, one.bound, one.reason) == (other.point.mechanism, other.bound, other.reason)
        assert one.epsilon == (None if other.epsilon is None else pytest.approx(other.epsilon, rel=1e-3))
    assert {row.point.analyses["auto"] for row in fast} <= {"swap", "blanket", "exact"}
    terms: dict[str, Any] = {"n": [100, 10_000], "delta": 1e-6, "bounds": ["auto", "swap"]}
    alone = sdp.sweep("grr:1,4", **terms, batched=False)
    assert isinstance(alone, Sweep) and len(computed) == 4
    for name in terms["bounds"]:
        single = [sdp.amplify("grr:1,4", n=n, delta=1e-6, bound=name).epsilon for n in terms["n"]]
        assert alone.epsilon(name).tolist() == single


def test_what_varies_decides_the_kind_of_answer() -> None:
    terms: dict[str, Any] = {"delta": 1e-6, "bounds": ["local"]}
    for found in (
        sdp.sweep("grr:eps0=1,d=4", n=[10, 20], **terms),
        sdp.sweep("grr:d=4", eps0=[1, 2], n=10, **terms),
        sdp.sweep("grr", eps0=1, d=4, n=[10], **terms),
    ):
        assert isinstance(found, Sweep)
    for found in (
        sdp.sweep("grr:d=4", eps0=[1, 2], n=[10, 20], **terms),
        sdp.sweep("grr:eps0=1", d=[4, 8], n=10, **terms),
        sdp.sweep(["grr:eps0=1,d=4"], n=10, **terms),
        sdp.sweep({"mine": "grr:eps0=1,d=4"}, n=[10, 20], **terms),
    ):
        assert isinstance(found, Study)
    assert found.axes == {"mechanism": ("mine",), "n": (10, 20), "delta": (1e-6,), "bound": ("local",)}


@pytest.mark.heavy
def test_specs_objects_and_functions_name_the_same_mechanisms() -> None:
    terms: dict[str, Any] = {"eps0": [0.5, 4.0], "d": [16, 64], "n": 1000, "delta": 1e-6, "bounds": ["auto"]}
    made = sdp.sweep(
        {
            "spec": "subset",
            "object": sdp.Subset(eps0=1.0, d=16),
            "function": lambda e, d: sdp.Subset(eps0=e, d=d),
            "text": lambda eps0, d: f"subset:eps0={eps0},d={d}",
        },
        **terms,
    )
    spec = [row.epsilon for row in made.select(mechanism="spec")]
    assert spec == [row.epsilon for row in made.select(mechanism=["function"])]
    assert spec == [row.epsilon for row in made.select(mechanism="text")]
    kept = sdp.Subset(eps0=1.0, d=16).k  # an object keeps its integers
    assert {p.comparison.mechanism.rpartition("=")[2] for p in made.select(mechanism="object").points} == {str(kept)}
    listed = sdp.sweep(
        [sdp.GRR(eps0=1.0, d=4), lambda e: sdp.Subset(eps0=e, d=8)], eps0=[1, 2], n=9, delta=0.1, bounds=["local"]
    )
    assert listed.axes["mechanism"][0] == "grr:d=4" and listed.axes["mechanism"][1].startswith("subset:d=8")


def test_words_are_values_too() -> None:
    matrix = sdp.FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    pair = sdp.ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
    found = sdp.sweep({"matrix": matrix, "pair": pair}, n=[100], delta=[1e-6, "1e-3/n"], bounds=["blanket"])
    assert found.axes["delta"] == (1e-6, "1e-3/n")
    for row in found:
        mechanism = matrix if row.value("mechanism") == "matrix" else pair
        assert row.epsilon == sdp.amplify(mechanism, n=100, delta=row.value("delta"), bound="blanket").epsilon


def test_selections_and_curves(study: Study) -> None:
    some = study.select(mechanism="subset", d=4, n=[100, 10_000], delta=1e-8, bound=["auto", "clone"])
    assert len(some) == 8 and some.varying == ["eps0", "n", "bound"]
    assert {row.value("d") for row in some} == {4}
    for name, terms in (
        ("eps0", {"n": 100, "delta": 1e-8}),
        ("n", {"eps0": 1, "delta": "0.01/n"}),
        ("delta", {"eps0": 1, "n": 100}),
    ):
        curve = study.select(mechanism="grr", d=4, **terms).to_sweep()
        assert curve.variable == name and set(curve.bounds) <= set(NAMES)
        rows = study.select(mechanism="grr", d=4, bound="auto", **terms).rows
        assert curve.epsilon("auto").tolist() == [row.epsilon for row in rows]
        assert curve.rule == ("0.01/n" if name == "n" else None)
    assert study.select(mechanism="grr", d=4, n=100, delta=1e-8, bound="clone").to_sweep().bounds == ("clone",)
    refused(
        "^a sweep must vary one of eps0, n and delta, got eps0 and d;",
        study.select(mechanism="grr", n=100, delta=1e-8).to_sweep,
    )
    refused(
        "^a sweep must vary one of eps0, n and delta, got d;",
        study.select(mechanism="grr", eps0=1, n=100, delta=1e-8).to_sweep,
    )
    refused("^unknown axis 'epsilon'", study.select, epsilon=1)
    refused(r"^d must be among the values of the study \(4, 64\), got 5;", study.select, d=[4, 5])
    refused(r"^mechanism must be among .*got \[\]|got None", study.select, mechanism=[])
    refused("^bound must be among", study.select, bound="blanket")


def test_the_table_is_tidy(study: Study) -> None:
    frame = study.to_frame()
    assert list(frame["epsilon"].isna()) == [row.epsilon is None for row in study]
    assert frame["epsilon"].dropna().tolist() == [row.epsilon for row in study if row.epsilon is not None]
    assert str(frame["n"].dtype) == "Int64" and set(frame["rule"].dropna()) == {"0.01/n"}
    lines = list(csv.DictReader(io.StringIO(study.to_csv())))
    assert len(lines) == len(study) and float(lines[0]["epsilon"]) == study.rows[0].epsilon
    assert list(lines[0]) == list(study.columns()) == list(frame.columns)
    data = json.loads(study.to_json(), parse_constant=pytest.fail)
    assert data == study.to_dict() and data["axes"]["d"] == [4, 64]
    assert [row["epsilon"] for row in data["rows"]] == [row.epsilon for row in study]
    first = study.table().texts[0]
    assert first[:5] == ["grr", "1", "4", "100", "0.01/n"] and first[-1] in ("swap", "blanket")
    assert repr(study).startswith("<Study of 160 rows: grr, subset, eps0 = 1 to 2.5, d = 4 to 64,")
    assert str(study).count("\n") == 163 and "<td" in study._repr_html_()
    assert max(map(len, study.select(bound=["auto", "clone"]).table().text().splitlines())) <= 80


def test_infinite_budgets_are_written_as_such() -> None:
    found = sdp.sweep(["variation-ratio:inf,0.7,4"], n=[10], delta=1e-6, bounds=["local", "variation-ratio"])
    assert json.loads(found.to_json(), parse_constant=pytest.fail)["rows"][0]["epsilon"] == "inf"


def test_reports_progress() -> None:
    seen: list[tuple[int, int]] = []
    sdp.sweep(SPECS, **CHEAP, progress=lambda *at: seen.append(at))
    assert seen == [(i, 16) for i in range(1, 17)]


def test_bad_input_is_refused_before_anything_is_computed(computed: list[Any]) -> None:
    grid: dict[str, Any] = {"n": [10, 20], "delta": 0.1, "bounds": ["local"]}
    refused("^mechanisms must name at least one", sdp.sweep, [], **grid)
    refused("^mechanisms must be called by a text, got 3;", sdp.sweep, {3: "grr:1,4"}, **grid)
    refused("^mechanisms must be different ones", sdp.sweep, ["grr:1,4", "grr:1,4"], **grid)
    refused("^mechanisms must be different ones", sdp.sweep, [lambda e: "grr:1,4", lambda e: "grr:1,4"], eps0=1, **grid)
    refused("^n must hold every value once, got 10 twice;", sdp.sweep, ["grr:1,4"], n=[10, 10.0], delta=0.1)
    refused("^d must hold every value once, got 4 twice;", sdp.sweep, "grr:1", d=[4, 4], **grid)
    refused("^d must hold 1 to 10,000 values, got 0;", sdp.sweep, "grr:1", d=[], **grid)
    refused("^d must be a number, got True;", sdp.sweep, "grr:eps0=1", d=[True, 4], **grid)
    refused("^d must hold numbers or single words, got '4,eps0=9';", sdp.sweep, "grr:eps0=1", d=["4,eps0=9"], **grid)
    refused("^d must be a number", sdp.sweep, "grr:eps0=1", d=["many"], **grid)
    refused("^d must lie in", sdp.sweep, "grr:eps0=1", d=[4, 1], **grid)
    refused("^d must lie in", sdp.sweep, sdp.GRR(eps0=1.0, d=4), d=[4, 1], **grid)
    refused(r"^q must be a parameter of grr \(eps0, d\), got no such name;", sdp.sweep, "grr:eps0=1", q=[4], **grid)
    refused("did you mean 'bounds'", sdp.sweep, "grr:1,4", bound="auto", n=[1, 2], delta=0.1)
    refused("^mechanism must be a spec without d where d is given", sdp.sweep, "grr:eps0=1,d=4", d=[4, 8], **grid)
    refused("^mechanism must be a function of eps0, d, got one", sdp.sweep, lambda e: "grr:1,4", eps0=1, d=[4], **grid)
    refused("^mechanism must ", sdp.sweep, [3], eps0=[1, 2], **grid)
    refused("^mechanism must ", sdp.sweep, [None], **grid)
    refused("^eps0 must be left out for metric-laplace", sdp.sweep, ["metric-laplace:1,2"], eps0=[1, 2], **grid)
    refused(
        "^the grid must have at most 1,000,000 points, got 4,000,000;",
        sdp.sweep,
        "grr:1,4",
        n=range(1, 2001),
        delta=np.geomspace(0.1, 0.2, 2000),
    )
    refused("^batched must be True, False or None, got 1;", sdp.sweep, "grr:1,4", batched=1, **grid)
    refused("^batched=True must be without cache", sdp.sweep, "grr:1,4", batched=True, processes=2, **grid)
    refused("^batched=True must be without cache", sdp.sweep, ["grr:1,4"], batched=True, cache="x.jsonl", **grid)
    refused("^processes must lie in", sdp.sweep, "grr:1,4", processes=0, **grid)
    refused("^processes must be a number", sdp.sweep, "grr:1,4", processes="two", **grid)
    for bad in ("", 3, b"x", Path("")):
        refused("^cache must be ", sdp.sweep, "grr:1,4", cache=bad, **grid)
    with pytest.raises(sdp.BoundNotApplicableError):
        sdp.sweep("general:eps0=1", n=[10], delta=0.1, bounds=["blanket"]).epsilon("blanket")
    assert computed == []


# -- the cache --------------------------------------------------------------------------------------------------------


def test_a_cache_answers_again(tmp_path: Path, computed: list[Any]) -> None:
    file = tmp_path / "answers.jsonl"
    fresh = sdp.sweep(SPECS, **CHEAP)
    computed.clear()
    first = sdp.sweep(SPECS, **CHEAP, cache=file)
    assert first == fresh and len(computed) == len(fresh) == 16 and len(set(computed)) == 16
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and len(file.read_text().splitlines()) == 17
    computed.clear()
    seen: list[tuple[int, int]] = []
    assert sdp.sweep(SPECS, **CHEAP, cache=str(file), progress=lambda *at: seen.append(at)) == fresh
    assert computed == [] and seen == [(16, 16)]
    wider = {**CHEAP, "n": [100, 5000, 10**6]}  # what is known is used in another grid
    assert sdp.sweep(SPECS, **wider, cache=file) == sdp.sweep(SPECS, **wider)
    assert len(computed[:8]) == 8 and {asked[1] for asked in computed[:8]} == {5000}
    computed.clear()
    curve = sdp.sweep("grr:d=4", eps0=[0.5, 2], n=100, delta=1e-6, bounds=["local", "clone-closed"], cache=file)
    assert isinstance(curve, Sweep) and computed == [] and curve.epsilon("local").tolist() == [0.5, 2.0]


def test_every_term_of_a_question_counts(tmp_path: Path, computed: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    file, terms = tmp_path / "answers.jsonl", {"n": [100], "delta": 1e-6, "bounds": ["local"]}
    sdp.sweep(["grr:1,4"], **terms, cache=file)
    for other, changed in (
        ("grr:1,5", terms),
        ("grr:1,4", {**terms, "n": [101]}),
        ("grr:1,4", {**terms, "delta": 1.0000000000000002e-6}),
        ("grr:1,4", {**terms, "bounds": ["efmrtt19"]}),
        ("grr:1,4", {**terms, "tol": 1e-5}),
    ):
        computed.clear()
        sdp.sweep([other], **changed, cache=file)
        assert len(computed) == 1
    computed.clear()
    monkeypatch.setattr(study_cache, "code", lambda: "another version")
    sdp.sweep(["grr:1,4"], **terms, cache=file)
    assert len(computed) == 1


def test_the_code_is_all_that_decides_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(sdp.__file__).parent
    found = {
        f"{package}/{name}" for package in study_cache._PACKAGES for name, _ in study_cache._sources(root / package)
    }
    assert {
        "numerics/swap/sums.py",
        "mechanisms/categorical/grr.py",
        "bounds/table.py",
        "accounting/resolve.py",
    } <= found
    study_cache.code.cache_clear()
    before = study_cache.code()
    sources = study_cache._sources
    monkeypatch.setattr(
        study_cache, "_sources", lambda folder: [(n, d + b"#" * (n == "grr.py")) for n, d in sources(folder)]
    )
    study_cache.code.cache_clear()
    try:
        assert study_cache.code() != before
    finally:
        study_cache.code.cache_clear()


def test_lines_that_were_cut_off_or_changed_are_not_used(tmp_path: Path, computed: list[Any]) -> None:
    file, fresh = tmp_path / "answers.jsonl", sdp.sweep(SPECS, **CHEAP)
    sdp.sweep(SPECS, **CHEAP, cache=file)
    whole = file.read_bytes()
    last = whole.rstrip(b"\n").rindex(b"\n") + 1
    for end in (last + 1, (last + len(whole)) // 2, len(whole) - 2):
        file.write_bytes(whole[:end])
        computed.clear()
        with pytest.warns(UserWarning, match=r"^cache must hold whole answers, got 1 line in .* computed again\.$"):
            assert sdp.sweep(SPECS, **CHEAP, cache=file) == fresh
        assert len(computed) == 1
        computed.clear()
        with pytest.warns(UserWarning, match="got 1 line"):  # the part of a line stays, and harms nothing
            assert sdp.sweep(SPECS, **CHEAP, cache=file) == fresh
        assert computed == []
    file.write_bytes(whole[:-1])  # only the line break is missing: the answer is whole
    computed.clear()
    assert sdp.sweep(SPECS, **CHEAP, cache=file) == fresh and computed == []
    lines = whole.splitlines(keepends=True)
    for bad in (
        lines[1].replace(b'"epsilon": 0.5', b'"epsilon": 0.4'),
        b"null\n",
        b'{"key": 3}\n',
        b"[" * 5000 + b"\n",
        b"\xff\xfe\n",
        b'{"sum": 1e999}\n',
    ):
        assert bad != lines[1]
        file.write_bytes(b"".join([lines[0], bad, *lines[2:]]))
        computed.clear()
        with pytest.warns(UserWarning, match="got 1 line"):
            assert sdp.sweep(SPECS, **CHEAP, cache=file) == fresh
        assert len(computed) == 1


def test_other_files_are_left_as_they_are(tmp_path: Path) -> None:
    terms: dict[str, Any] = {"n": [10, 20], "delta": 0.1, "bounds": ["local"]}
    for content in (b"", b"epsilon,n\n0.1,10\n", b'{"shuffledp": "cache of answers", "format": 2}\n'):
        file = tmp_path / "results.csv"
        file.write_bytes(content)
        refused(
            "^cache must be a file that a sweep has made, got another in", sdp.sweep, "grr:1,4", cache=file, **terms
        )
        assert file.read_bytes() == content
    refused("^cache must be a readable file, got .*directory", sdp.sweep, "grr:1,4", cache=tmp_path, **terms)
    refused("^cache must be a file that can be written", sdp.sweep, "grr:1,4", cache=tmp_path / "no" / "x", **terms)
    (tmp_path / "loop").symlink_to(tmp_path / "nothing")
    refused("^cache must be a readable file", sdp.sweep, "grr:1,4", cache=tmp_path / "loop", **terms)


@dataclass(frozen=True, kw_only=True)
class Mine(sdp.GRR):
    """Randomized response of somebody else."""

    name = "mine-of-a-study"


def test_code_of_others_is_computed_every_time(
    tmp_path: Path, computed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, own = tmp_path / "answers.jsonl", "^cache and processes are for mechanisms and bounds of the library"
    terms: dict[str, Any] = {"n": [100], "delta": 1e-6}
    joint = sdp.Joint([sdp.GRR(eps0=1.0, d=4), sdp.GRR(eps0=0.5, d=2)])
    sdp.sweep({"joint": joint, "matrix": sdp.FiniteRandomizer(np.eye(2))}, bounds=["local"], cache=file, **terms)
    assert len(file.read_text().splitlines()) == 3  # these are of the library, and can be made again
    for mechanism in (Mine(eps0=1.0, d=4), sdp.Joint([Mine(eps0=1.0, d=4), sdp.GRR(eps0=1.0, d=4)])):
        for processes in (1, 2):
            computed.clear()
            with pytest.warns(UserWarning, match=own):
                sdp.sweep([mechanism], bounds=["local"], cache=file, processes=processes, **terms)
            assert len(computed) == 1
    monkeypatch.setitem(
        BOUNDS,
        "mine",
        EpsilonFormula(name="mine", title="mine", citation="mine", needs="", formula=lambda asked: 0.5),
    )
    with pytest.warns(UserWarning, match=f"{own}.*got bound mine;"):
        found = sdp.sweep(["grr:1,4"], bounds=["local", "mine"], cache=file, **terms)
    assert [row.epsilon for row in found] == pytest.approx([1.0, 0.5])
    assert len(file.read_text().splitlines()) == 4 and "mine" not in file.read_text()


@pytest.mark.slow
def test_every_mechanism_can_be_kept(tmp_path: Path, computed: list[Any]) -> None:
    """All but those that were read from files, which may change."""
    listed = {
        f"{i} {case}": case.mechanism for i, case in enumerate(all_cases()) if not any(case.mechanism.law.files())
    }
    terms: dict[str, Any] = {"n": [60], "delta": 1e-4, "bounds": ["auto", "constant-dataset-lower"]}
    file, fresh = tmp_path / "answers.jsonl", sdp.sweep(listed, **terms)
    assert sdp.sweep(listed, **terms, cache=file) == fresh
    computed.clear()
    assert sdp.sweep(listed, **terms, cache=file) == fresh and computed == []


# -- interrupted, killed, at the same time ----------------------------------------------------------------------------

#: A study that kills itself once some answers are known.
SCRIPT = """
import json, os, signal, sys
import shuffledp as sdp

def progress(done, total):
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    study = sdp.sweep({specs!r}, **{terms!r}, cache=sys.argv[1], processes=int(sys.argv[3]), progress=progress)
    print(study.to_json())
"""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a study in a process of its own: its cache, after how many answers it dies, and its processes."""
    path, started = tmp_path / "study.py", []
    path.write_text(SCRIPT.format(specs=SPECS, terms=CHEAP))

    def start(cache: Path, dies: int = 0, processes: int = 1) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(path), str(cache), str(dies), str(processes)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.heavy
def test_a_killed_study_goes_on(tmp_path: Path, script: Any, computed: list[Any]) -> None:
    file, fresh = tmp_path / "answers.jsonl", sdp.sweep(SPECS, **CHEAP)
    computed.clear()
    assert script(file, dies=5).wait(60) == -signal.SIGKILL
    with file.open("ab") as stream:
        stream.write(b'{"key": "5952b8')  # and it died while it wrote
    with pytest.warns(UserWarning, match="got 1 line"):
        assert sdp.sweep(SPECS, **CHEAP, cache=file) == fresh
    assert len(computed) == 16 - 5


@pytest.mark.heavy
def test_two_at_once_lose_nothing(tmp_path: Path, script: Any, computed: list[Any]) -> None:
    file, fresh = tmp_path / "answers.jsonl", sdp.sweep(SPECS, **CHEAP)
    both = [script(file, processes=processes) for processes in (1, 2)]
    for process in both:
        said, wrong = process.communicate(timeout=120)
        assert json.loads(said) == fresh.to_dict() and wrong == b""
    computed.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sdp.sweep(SPECS, **CHEAP, cache=file) == fresh
    assert computed == []


@pytest.mark.heavy_cases("2")
@pytest.mark.parametrize("processes", [1, 2])
def test_an_interrupt_keeps_what_is_done(tmp_path: Path, computed: list[Any], processes: int) -> None:
    file = tmp_path / "answers.jsonl"

    def stop(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sdp.sweep(SPECS, **CHEAP, cache=file, processes=processes, progress=stop)
    kept = len(file.read_text().splitlines()) - 1
    assert 4 <= kept <= (4 if processes == 1 else 12)  # elsewhere what was begun is finished
    computed.clear()
    assert sdp.sweep(SPECS, **CHEAP, cache=file) == sdp.sweep(SPECS, **CHEAP)
    assert len(computed) == 16 - kept + 16


@pytest.mark.heavy
def test_several_processes_give_the_same(study: Study, computed: list[Any]) -> None:
    assert sdp.sweep(["grr", "subset"], bounds=NAMES, **GRID, processes=2) == study
    assert computed == []  # none here


@pytest.mark.slow
def test_scripts_without_a_guard_are_told(tmp_path: Path) -> None:
    path = tmp_path / "bare.py"
    path.write_text(f"import shuffledp as sdp\nsdp.sweep({SPECS!r}, **{CHEAP!r}, processes=2)\n")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "call sweep below if __name__ == '__main__':" in done.stderr.splitlines()[-1]


def test_as_many_processes_as_cores() -> None:
    assert 1 <= study_answers.process_count(None) <= (os.cpu_count() or 1)


@pytest.mark.parametrize("epsilon", ["nan", -1.0])
def test_a_whole_line_with_an_impossible_eps_is_not_used(tmp_path: Path, epsilon: object) -> None:
    file, terms = tmp_path / "answers.jsonl", {"n": [100], "delta": 1e-6, "bounds": ["local"]}
    fresh = sdp.sweep(["grr:1,4"], **terms, cache=file)
    head, line = file.read_text().splitlines()
    entry = {**json.loads(line), "epsilon": epsilon}
    del entry["sum"]
    file.write_text(f"{head}\n{json.dumps({**entry, 'sum': study_cache._sum(entry)})}\n")
    with pytest.warns(UserWarning, match="^cache must hold whole answers, got 1 line in"):
        assert sdp.sweep(["grr:1,4"], **terms, cache=file) == fresh
