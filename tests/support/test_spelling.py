"""American spelling: the other one is understood in specs, commands and files, and named by errors of Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shuffledp as sdp
from reference.commands import run
from shuffledp._support.reading import mapping
from shuffledp.engines.local import Local
from shuffledp.engines.spark import Spark

#: Files that were written before the American spelling.
OLD = Path(__file__).parent.parent / "data" / "british"
ASK: dict[str, Any] = {"n": 1000, "delta": 1e-6}


@pytest.mark.parametrize("spec", ["optimised-unary:eps0=1,d=4", "Optimised_Unary:1,4", "OptimisedUnary:1,4"])
def test_specs(spec: str) -> None:
    assert sdp.mechanism(spec).spec == "optimized-unary:eps0=1,d=4"
    assert sdp.amplify(spec, **ASK) == sdp.amplify("oue:1,4", **ASK)


def test_other_names_of_a_spec() -> None:
    assert sdp.mechanism("randomised-response:eps0=1") == sdp.RandomizedResponse(eps0=1.0)


def test_commands_and_options(tmp_path: Path) -> None:
    plan, data, out = OLD / "plan-1.json", tmp_path / "data.csv", tmp_path / "out.parquet"
    data.write_text("fruit\n" + "apple\npear\n" * 30)
    done = run("privatise", str(plan), str(data), "--out", str(out))
    assert done.exit_code == 0 and out.exists(), done.output
    assert (
        run("audit", "grr:eps0=1,d=3", "--vectorised").stderr == run("audit", "grr:eps0=1,d=3", "--vectorized").stderr
    )
    assert "privatise" not in run("--help").output
    assert "memoized must be False" in run("compose", "--round", "grr:eps0=1,d=4,n=100,memoised=1").stderr


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_a_plan_and_its_batch(tmp_path: Path) -> None:
    plan = sdp.Plan.load(OLD / "plan-1.json")
    assert plan.query.randomizer.spec == "optimized-unary:eps0=2,d=4"
    fresh = sdp.Collector(plan)
    assert fresh.ingest(OLD / "reports-2.batch") and fresh.users
    plan.save(tmp_path / "again.json")  # a plan that was read is not renamed: batches name its digest
    assert sdp.Plan.load(tmp_path / "again.json").digest == plan.digest
    written = sdp.Plan(query=plan.query, users=60, delta=1e-3, name="fruit")
    assert "optimized-unary" in json.dumps(written.to_dict()) and written.digest != plan.digest


@pytest.mark.heavy
def test_a_ledger(tmp_path: Path) -> None:
    account = sdp.Accountant.load(OLD / "ledger-2.json")
    assert account.rounds == 4 and account.neighbors == "replace-one"
    account.save(tmp_path / "ledger.json")
    text = (tmp_path / "ledger.json").read_text()
    assert '"neighbors"' in text and "optimized-unary" in text and "optimised" not in text
    assert sdp.Accountant.load(tmp_path / "ledger.json").epsilon(delta=1e-6) == account.epsilon(delta=1e-6)


@pytest.mark.parametrize("name", ["certificate-3-metric.json", "certificate-3-unary.json"])
def test_a_certificate(name: str) -> None:
    proved = sdp.verify(OLD / name)
    assert proved.proved_delta <= proved.delta and proved.neighbors.startswith("replace-one")
    assert "neighbors" in proved.to_dict()


@pytest.mark.heavy
def test_a_programme() -> None:
    assert sdp.check(OLD / "programme.yaml").within


def test_a_key_in_both_spellings_is_refused() -> None:
    with pytest.raises(sdp.ParameterError, match="neighbors in x must be given once, got two spellings"):
        mapping("x", {"neighbors": 1, "neighbours": 1}, needed=["neighbors"])
    assert mapping("x", {"neighbours": 1}, needed=["neighbors"]) == {"neighbors": 1}


# -- Python -----------------------------------------------------------------------------------------------------------


def results() -> dict[str, Callable[[], Any]]:
    m = sdp.GRR(eps0=1.0, d=4)
    ask = {"n": 100, "delta": 1e-3}
    account = sdp.Accountant()
    account.compose(m, n=100)
    return {
        "Mechanism": lambda: m,
        "Guarantee": lambda: sdp.amplify(m, **ask),
        "Guarantees": lambda: sdp.amplify(m, n=[100, 200], delta=1e-3),
        "BatchTable": lambda: sdp.batch_table(m, delta=1e-3, n=[100, 200]),
        "Comparison": lambda: sdp.compare(m, **ask),
        "MixedGuarantee": lambda: sdp.amplify_mixed([(m, 50), (m, 50)], delta=1e-3),
        "Certificate": lambda: sdp.amplify(m, **ask, certify=True).certificate,
        "Accountant": lambda: account,
        "ComposedGuarantee": lambda: account.guarantee(delta=1e-3),
        "Check": lambda: sdp.check(OLD / "programme.yaml"),
    }


@pytest.mark.heavy_cases("ComposedGuarantee")
@pytest.mark.parametrize("name", list(results()))
def test_an_old_attribute_names_the_new_one(name: str) -> None:
    found = results()[name]()
    assert found.neighbors.startswith("replace-one") and not hasattr(found, "neighbours")
    with pytest.raises(AttributeError, match=r"has no attribute 'neighbours'; it is 'neighbors' now$"):
        _ = found.neighbours
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        _ = found.nonsense


@pytest.mark.parametrize("cls", [Local, Spark])
def test_engines(cls: type) -> None:
    with pytest.raises(AttributeError, match="it is 'privatize' now"):
        _ = object.__new__(cls).privatise


def test_old_names_of_the_package_and_of_arguments() -> None:
    with pytest.raises(AttributeError, match="did you mean 'OptimizedUnary'"):
        _ = sdp.OptimisedUnary  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="it is 'privatize_counts' now"):
        _ = sdp.GRR(eps0=1.0, d=4).privatise_counts  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"'blanket'; it is 'law\.blanket' now"):
        _ = sdp.GRR(eps0=1.0, d=4).blanket  # type: ignore[attr-defined]
    for word, call in (
        ("memoized", lambda: sdp.Accountant().compose("grr:1,4", n=10, memoised=False)),  # type: ignore[call-arg]
        ("vectorized", lambda: sdp.audit("grr:1,4", vectorised=True)),  # type: ignore[call-arg]
        ("neighbors", lambda: sdp.Accountant().compose_event(None, neighbours="x")),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match=f"it is '{word}' now$"):
            call()


# -- what is written here ---------------------------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent.parent
BRITISH = re.compile(
    r"(?:privat|random|optim|vector|memo|general|normal|minim|maxim|recogn|real|organ|summar|initial|serial|categor|"
    r"character|special|synchron|visual|author)is(?:e|ing|ation)|(?:neighb|col|fav|behavi|hon|lab|rum)our|"
    r"centre|metres|\bgrey|catalogue|label(?:led(?!by)|ling)|modell|signall|travell|licence|analys(?:ed|ing)|artefact|"
    r"\b(?:mis)?spelt\b|\bper cent\b|\b(?:after|out|to)wards\b|judgement|fulfil\b|skilful|whilst|learnt",
    re.IGNORECASE,
)
#: Names of others, and words that only look British.
EXCEPT = re.compile(r"aria-labelledby|memoi\[sz\]ed")


def written() -> list[Path]:
    """Every text of the repository, except what this test and the files of before are about."""
    folders = ("src", "tests", "docs", "examples", "benchmarks", "tools", ".ci")
    kinds = {".py", ".md", ".js", ".css", ".html", ".json", ".yaml", ".txt", ".svg"}
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    apart = {"numerics", "data", "__pycache__"}
    own = {"test_spelling.py", "spelling.py", "test_names.py", "names.py"}
    return [*ROOT.glob("*.md"), *(p for p in found if p.name not in own and not apart & {*p.parts})]


@pytest.mark.heavy
def test_prose_and_names_are_american() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word[0]}"
        for path in written()
        for word in BRITISH.finditer(EXCEPT.sub("", path.read_text(encoding="utf-8")))
    ]
    assert not found, found[:20]
