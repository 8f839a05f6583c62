"""A mechanism and a bound from outside the package: those of docs/extending.md, in every part of the library."""

from __future__ import annotations

import ast
import importlib
import json
import math
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from reference.fractions_oracle import worst_divergence
from reference.tolerances import within_tol
from shuffledp.bounds import registry as bounds
from shuffledp.mechanisms import extension, registry
from shuffledp.mechanisms.known.general import General
from shuffledp.mechanisms.parameters import budget
from shuffledp.numerics.family import PairSet

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"
MECHANISM, USE, NUMERIC, MEAN, BOUND = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
SPEC, PATH = "reluctant:eps0=2,d=8", "survey:Reluctant:eps0=2,d=8"
ASK: dict[str, Any] = {"n": 1000, "delta": 1e-6}


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is registered in a test is forgotten after it."""
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    monkeypatch.setattr(extension, "LOADED", set())
    before = dict(bounds.BOUNDS)
    yield
    bounds.BOUNDS.clear()
    bounds.BOUNDS.update(before)
    for name in ("survey", "dial", "rounded_bound"):
        sys.modules.pop(name, None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with survey.py, in which the test runs; nothing is imported yet."""
    (tmp_path / "survey.py").write_text(MECHANISM)
    (tmp_path / "dial.py").write_text(NUMERIC)
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    return tmp_path


@pytest.fixture
def m(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The mechanism of the page."""
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module("survey").Reluctant(eps0=2.0, d=8)


def said(words: str, call: Callable[[], object], error: type[Exception] = sdp.ParameterError) -> None:
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value)[-1] in ".?"


# -- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_code_of_the_page_runs(m: Any) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(USE, "extending.md, use", "exec"), namespace)
    exec(compile(MEAN, "extending.md, mean", "exec"), namespace)
    exec(compile(BOUND, "extending.md, bound", "exec"), namespace)


def test_the_mechanism_is_short() -> None:
    body = MECHANISM[MECHANISM.index("@register") :]
    assert len([line for line in body.splitlines() if line.strip()]) <= 40


REQUIRED = ["keep", "stray", "beta", "codec", "_blanket", "_constant_datasets", "_randomize"]


@pytest.mark.parametrize("member", REQUIRED)
def test_a_class_that_leaves_out_a_member_is_refused_when_it_is_made(member: str) -> None:
    tree = ast.parse(MECHANISM)
    (cls,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    cls.body = [node for node in cls.body if getattr(node, "name", None) != member]
    said(rf"^Reluctant must define {member} to be", lambda: exec(compile(tree, "x", "exec"), {}), sdp.ExtensionError)


@pytest.mark.parametrize("member", ["_infer", "probabilities"])
def test_other_members_may_be_left_out(member: str) -> None:
    tree = ast.parse(MECHANISM)
    (cls,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    cls.body = [node for node in cls.body if getattr(node, "name", None) != member]
    exec(compile(tree, "x", "exec"), {"__name__": __name__})
    assert sdp.mechanism(SPEC).spec == f"{SPEC},skip=0.1"


def test_the_page_imports_from_one_module() -> None:
    for block in (MECHANISM, NUMERIC, BOUND):
        names = {node.module for node in ast.walk(ast.parse(block)) if isinstance(node, ast.ImportFrom)}
        assert {name for name in names if name and name.startswith("shuffledp")} == {"shuffledp.extend"}
    named = re.findall(r"^\| ((?:`_?[a-z_]+`(?:, )?)+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for member in re.findall(r"`(\w+)`", " ".join(named)):
        assert any(hasattr(cls, member) for cls in (sdp.Mechanism, sdp.Randomizer, sdp.FrequencyOracle)), member


# -- a mechanism on numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_numbers_have_the_law_of_the_points_of_the_grid(
    folder: Path, monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    monkeypatch.syspath_prepend(folder)
    dial = importlib.import_module("dial").Dial(eps0=1.0, bits=bits)
    listed = sdp.GRR(eps0=1.0, d=2**bits + 1)
    for bound in ("blanket", "swap", "variation-ratio", "constant-dataset-lower", "auto"):
        ours, theirs = (sdp.amplify(m, bound=bound, **ASK).epsilon for m in (dial, listed))
        if bound != "auto" or bits:  # GRR on two options has bound "binary"
            assert ours == pytest.approx(theirs, rel=3e-4), bound
    rows = [[Fraction(float(x)) for x in row] for row in dial.probabilities()]
    for delta in (0.3, 0.05, 1e-3):
        g = sdp.amplify(dial, n=3, delta=delta)
        assert float(worst_divergence(rows, 3, Fraction(math.exp(g.epsilon)))) <= delta * (1 + 1e-9)
    assert not sdp.audit(dial, samples=4000, rng=np.random.default_rng(1)).violated
    values = np.random.default_rng(2).uniform(size=50_000)
    found = dial.estimate(dial.privatize(values, rng=np.random.default_rng(3)))
    assert abs(found.value[0] - values.mean()) < 4 * found.stderr[0]


# -- its law ------------------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("*-3")
@pytest.mark.parametrize(("eps0", "d", "n"), [(1.0, 2, 4), (2.0, 3, 3), (0.5, 3, 3)])
def test_never_below_the_truth(m: Any, eps0: float, d: int, n: int) -> None:
    small = type(m)(eps0=eps0, d=d)
    rows = [[Fraction(float(x)) for x in row] for row in small.probabilities()]
    for delta in (0.3, 0.05, 1e-3):
        g = sdp.amplify(small, n=n, delta=delta)
        assert float(worst_divergence(rows, n, Fraction(math.exp(g.epsilon)))) <= delta * (1 + 1e-9)
        if g.lower:
            assert float(worst_divergence(rows, n, Fraction(math.exp(0.999 * g.lower)))) >= delta * (1 - 1e-9)
    matrix = sdp.FiniteRandomizer(small.probabilities())
    ours, listed = (sdp.amplify(x, bound="blanket", **ASK).epsilon for x in (small, matrix))
    assert ours == pytest.approx(listed, rel=3e-4)
    assert small.variation_ratio().beta == pytest.approx(matrix.variation_ratio().beta)


# -- every part of the library --------------------------------------------------------------------------------------


def test_amplify_profile_and_batches(m: Any) -> None:
    g = sdp.amplify(SPEC, **ASK, dropouts=10)
    assert g.lower is not None and 0 < g.lower <= g.epsilon < 2 and g.mechanism == m.spec
    assert sdp.profile(m, n=1000, epsilon=np.array([g.epsilon]))[0] < 1e-6
    assert sdp.batch_table(m, n=[500, 1000], delta=1e-6).epsilons[0] > g.epsilon


@pytest.mark.heavy
def test_its_types_are_derived_from_its_finite_law(m: Any) -> None:
    """The same law as a matrix has the same answer; nobody has to say that types are listed."""
    asked = type(m)(eps0=1.0, d=2)
    matrix = sdp.FiniteRandomizer(asked.probabilities())
    for n in (100, 10_000):
        mine, theirs = (sdp.amplify(x, n=n, delta=1e-6) for x in (asked, matrix))
        assert mine.epsilon == pytest.approx(theirs.epsilon, rel=2e-4) and mine.note == ""
    assert sdp.amplify(asked, n=10_000, delta=1e-6, certify=True).certified


def test_where_they_cannot_be_derived_the_answer_says_so(m: Any) -> None:
    class Unstated(type(m)):  # type: ignore[misc]
        name = "unstated"

        def probabilities(self) -> Any:
            return super(sdp.FrequencyOracle, self).probabilities()

    asked = Unstated(eps0=1.0, d=4)
    found = sdp.amplify(asked, n=10_000, delta=1e-6)
    assert "lists_every_type" in found.note and "lists_every_type" in str(found)
    assert sdp.amplify(asked, n=10_000, delta=1e-6, bound="blanket").note == ""
    assert "lists_every_type" in PAGE.read_text(encoding="utf-8")


def test_compare_and_sweep(m: Any) -> None:
    assert {"blanket", "variation-ratio", "general"} <= {row.bound for row in sdp.compare(SPEC, **ASK)}
    swept = sdp.sweep("reluctant:d=8", eps0=[1.0, 2.0], bounds=["blanket"], **ASK)
    assert swept.points[1].best.epsilon == within_tol(sdp.amplify(m, **ASK).epsilon)
    assert sdp.sweep("survey:Reluctant:d=8", eps0=[2.0], bounds=["blanket"], **ASK).mechanism == "reluctant:d=8"


@pytest.mark.heavy
def test_calibrate_and_users_needed(m: Any) -> None:
    found: Any = sdp.calibrate("reluctant", epsilon=0.3, d=8, skip=0.2, **ASK)
    assert found.skip == 0.2 and 0.2999 < sdp.amplify(found, **ASK).epsilon <= 0.3
    assert sdp.calibrate("survey:Reluctant:d=8,skip=0.2", epsilon=0.3, **ASK) == found
    assert sdp.calibrate(m, epsilon=0.3, **ASK) == type(m)(eps0=sdp.calibrate(m, epsilon=0.3, **ASK).eps0, d=8)  # type: ignore[attr-defined]
    n = sdp.users_needed(m, epsilon=0.3, delta=1e-6)
    assert sdp.amplify(m, n=n, delta=1e-6).epsilon <= 0.3 < sdp.amplify(m, n=n - 1, delta=1e-6).epsilon


def test_parallel(m: Any) -> None:
    both = sdp.Parallel([(0.5, m), (0.5, "grr:eps0=1,d=4")])
    assert sdp.amplify(both, **ASK).epsilon < 2.0
    first, _ = both.estimates(both.privatize([np.arange(2000) % 8, np.arange(2000) % 4]))
    assert abs(first.value[0] - 0.125) < 6 * first.stderr[0]
    same: Any = sdp.calibrate(both, epsilon=0.3, **ASK)
    assert len({query.eps0 for _, query in same.queries}) == 1


@pytest.mark.heavy
def test_mixed_budgets(m: Any) -> None:
    g = sdp.amplify_mixed([(m, 500), ("reluctant:eps0=1,d=8", 500)], delta=1e-6)
    alone = sdp.amplify(m, n=500, delta=1e-6).epsilon
    assert sdp.amplify(m, **ASK).epsilon * 0.8 < g.epsilon < alone
    other = [(m, 500), ("reluctant:eps0=1,d=9", 500)]
    said("same reports", lambda: sdp.amplify_mixed(other, delta=1e-6), sdp.BoundNotApplicableError)


@pytest.mark.heavy
def test_accountant_and_ledger(m: Any, folder: Path) -> None:
    account = sdp.Accountant()
    account.compose(m, n=1000, count=5)
    account.save("ledger.json")
    again = sdp.Accountant.load("ledger.json")
    assert again.epsilon(delta=1e-6) == account.epsilon(delta=1e-6) < 2.0
    registry._REGISTERED.clear()
    said("unknown mechanism 'reluctant'", lambda: sdp.Accountant.load("ledger.json"))


@pytest.mark.heavy
def test_check(m: Any) -> None:
    programme = {
        "version": 1,
        "target": {"epsilon": 3, "delta": 1e-6},
        "population": {"users": 1000},
        "rounds": [{"mechanism": SPEC, "count": 3}],
    }
    assert sdp.check(programme).within
    programme["rounds"] = [{"mechanism": PATH}]
    assert sdp.check(programme).within, "registered already"


def test_audit(m: Any) -> None:
    found = sdp.audit(m, samples=4000, rng=np.random.default_rng(1))
    assert not found.violated and found.law is not None and 0.5 < found.lower < 2.0
    leaky = sdp.audit(m, claimed=type(m)(eps0=1.0, d=8), samples=4000, rng=np.random.default_rng(1))
    assert leaky.violated


def test_certificates(m: Any, folder: Path) -> None:
    g = sdp.amplify(m, **ASK, certify=True)
    assert g.certificate is not None
    g.certificate.write(folder / "proof.json")
    assert sdp.verify(folder / "proof.json").proved_delta <= 1e-6
    registry._REGISTERED.clear()
    said("unknown mechanism", lambda: sdp.verify(folder / "proof.json"), sdp.VerificationError)


def test_an_estimate_of_reports_that_it_never_sends_is_refused(m: Any) -> None:
    said("must be what privatize", lambda: m.estimate(np.array([0, 1, 9])))
    assert len(m.estimate(np.array([0, 1, 8])).value) == 8


# -- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_commands(folder: Path) -> None:
    ask = ("--n", "1000", "--delta", "1e-6")
    for args in (
        ("amplify", PATH, *ask),
        ("compare", PATH, *ask),
        ("calibrate", "survey:Reluctant", "--set", "d=8", "--epsilon", "0.3", *ask),
        ("audit", PATH, "--confidence", "0.999999"),
        ("certify", PATH, *ask, "--out", "proof.json"),
        ("certify", "--verify", "proof.json"),
        ("mechanisms", "--json"),
    ):
        args = tuple(a + ":" if a == "survey:Reluctant" else a for a in args)
        result = run(*args)
        assert result.exit_code == 0, (args, result.output)
    assert json.loads(result.stdout)["reluctant:eps0,d[,skip]"].startswith("Randomized response on d options")


@pytest.mark.heavy
def test_the_command_finds_the_current_directory(folder: Path) -> None:
    """The script that is installed has not the current directory on its path, and -P takes it off."""
    code = "from shuffledp.cli import main; main()"
    args = ["amplify", PATH, "--n", "1000", "--delta", "1e-6", "--json"]
    done = subprocess.run([sys.executable, "-P", "-c", code, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mechanism"] == f"{SPEC},skip=0.1"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("no_such_module:Reluctant:eps0=1", "ModuleNotFoundError"),
        ("survey:Missing:eps0=1", "got none of that name in the module"),
        ("survey:np:eps0=1", "must be given a class derived from"),
        ("broken:Reluctant:eps0=1", "got ZeroDivisionError"),
        ("survey:Reluctant:eps0=1", "reluctant needs d"),
        ("survey:Reluctant:eps0=1,d=1", "d must lie in"),
        ("survey:Reluctant", "unknown mechanism 'survey'"),
    ],
)
def test_bad_class_paths_are_one_sentence(folder: Path, spec: str, words: str) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    assert words in refused(run("amplify", spec, "--n", "1000", "--delta", "1e-6"))


# -- files import nothing ---------------------------------------------------------------------------------------------


def test_a_file_never_imports_code(folder: Path) -> None:
    (folder / "survey.py").write_text(MECHANISM + "\nopen('imported', 'w').close()\n")
    (folder / "queries.yaml").write_text(f"- weight: 1\n  spec: {PATH}\n")
    said("a spec in a file must name a mechanism that is registered", lambda: sdp.mechanism("parallel:queries.yaml"))
    programme = {"version": 1, "target": {"epsilon": 3, "delta": 1e-6}, "rounds": [{"mechanism": PATH, "users": 1000}]}
    (folder / "programme.json").write_text(json.dumps(programme))
    said("a spec in a file", lambda: sdp.check("programme.json"))
    account = sdp.Accountant()
    account.compose("grr:eps0=2,d=8", n=1000)
    account.save("ledger.json")
    ledger = json.loads((folder / "ledger.json").read_text())
    from shuffledp.composing.ledger_file import chain

    (item,) = ledger["rounds"]
    item = {**{key: value for key, value in item.items() if key != "hash"}, "mechanism": {"spec": PATH}}
    hashes = chain([item])
    (folder / "ledger.json").write_text(
        json.dumps({**ledger, "last_hash": hashes[-1], "rounds": [{**item, "hash": hashes[-1]}]})
    )
    said("a spec in a file", lambda: sdp.Accountant.load("ledger.json"))
    proof = sdp.amplify("grr:eps0=2,d=8", **ASK, certify=True).certificate
    assert proof is not None
    (folder / "proof.json").write_text(json.dumps({**proof.to_dict(), "mechanism": PATH}))
    said("a spec in a file", lambda: sdp.verify(folder / "proof.json"), sdp.VerificationError)
    assert not (folder / "imported").exists() and "survey" not in sys.modules
    assert sdp.mechanism(PATH).name == "reluctant" and (folder / "imported").exists()
    assert sdp.amplify("parallel:queries.yaml", **ASK).epsilon < 2.0, "registered now"


# -- plug-ins -------------------------------------------------------------------------------------------------------


@pytest.fixture
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with two plug-ins, one of which is broken."""
    about = folder / "survey-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: survey\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[shuffledp.mechanisms]\nreluctant = survey:Reluctant\n[shuffledp.bounds]\nrounded = rounded_bound:BOUND\n"
    )
    (folder / "rounded_bound.py").write_text(
        BOUND[: BOUND.index("loose =")].replace("\nregister_bound(", "\nBOUND = (")
    )
    monkeypatch.syspath_prepend(folder)
    return about


def test_a_plug_in_is_loaded_when_its_name_is_looked_up(installed: Path) -> None:
    sdp.mechanism("grr:eps0=1,d=4")
    assert "survey" not in sys.modules
    assert sdp.mechanism(SPEC).spec == f"{SPEC},skip=0.1"


def test_plug_ins_are_listed(installed: Path) -> None:
    assert "reluctant" in registry.names() and "reluctant" in dict(registry.signatures())


def test_a_broken_plug_in_is_a_warning(installed: Path) -> None:
    with (installed / "entry_points.txt").open("a") as file:
        file.write("[shuffledp.mechanisms]\ngone = no_such_module:X\nwrong = survey:np\n")
    with pytest.warns(UserWarning, match="must load and register") as caught:
        assert "grr" in registry.names()
    assert [str(w.message).split(" of ")[0] for w in caught] == ["plug-in 'gone'", "plug-in 'wrong'"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "reluctant" in registry.names(), "told once"


# -- what register refuses --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Plain(sdp.Mechanism):
    """A mechanism of which only (p, beta, q) is known."""

    name: ClassVar[str] = "plain"
    eps0: float = budget()

    def variation_ratio(self) -> sdp.VariationRatio:
        return General(eps0=self.eps0).variation_ratio()


def test_a_mechanism_by_its_ratio_alone() -> None:
    assert sdp.register(Plain) is Plain and sdp.register(Plain) is Plain, "a cell may be run twice"
    assert sdp.amplify("plain:1", **ASK).epsilon == sdp.amplify("general:1", **ASK).epsilon
    twin = type("Twin", (Plain,), {"name": "pl-ain", "__module__": "elsewhere"})
    said(
        "of its own, got 'pl-ain'",
        lambda: sdp.register(dataclass(frozen=True, kw_only=True)(twin)),
        sdp.ExtensionError,
    )


def frozen(**members: Any) -> Any:
    return dataclass(frozen=True, kw_only=True)(type("Mine", (Plain,), {"name": "mine", **members}))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: 3, "^register must be given a class"),
        (lambda: int, "^register must be given a class"),
        (lambda: type("Mine", (Plain,), {"name": "mine"}), "frozen dataclass"),
        (lambda: frozen(name="grr"), "got 'grr', which is taken"),
        (lambda: frozen(name="kRR"), "lowercase letters"),
        (lambda: frozen(name="krr"), "got 'krr', which is taken"),
        (lambda: frozen(name="round"), "got 'round', which is taken"),
        (lambda: frozen(name=3), "lowercase letters"),
        (lambda: dataclass(frozen=True, kw_only=True)(type("Mine", (Plain,), {})), "got none; write name"),
        (lambda: frozen(__annotations__={"k": int}), "range of every parameter, got k"),
        (lambda: frozen(variation_ratio=sdp.Mechanism.variation_ratio), "must state its law"),
        (
            lambda: dataclass(frozen=True, kw_only=True)(
                type("Mine", (sdp.Mechanism,), {"name": "mine", "_blanket": lambda self: None})
            ),
            "local guarantee",
        ),
        (
            lambda: dataclass(frozen=True)(
                type("Mine", (Plain,), {"name": "mine", "__annotations__": {"k": float}, "k": budget()})
            ),
            "by name, got k",
        ),
    ],
)
def test_what_is_not_a_mechanism_is_refused(make: Callable[[], Any], words: str) -> None:
    said(words, lambda: sdp.register(make()), sdp.ExtensionError)


# -- bounds -------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_a_bound_in_every_part(folder: Path) -> None:
    exec(compile(BOUND, "extending.md, bound", "exec"), {})
    exec(compile(BOUND, "extending.md, bound", "exec"), {})  # a cell may be run twice
    assert sdp.compare("general:1.5", bounds=["rounded-budget"], **ASK).best.epsilon > 0
    assert sdp.sweep("general:1.5", n=[100, 1000], delta=1e-6, bounds=["rounded-budget"]).bounds == ("rounded-budget",)
    assert "rounded-budget" in json.loads(run("bounds", "--json").stdout)
    result = run("amplify", "general:1.5", "--n", "1000", "--delta", "1e-6", "--bound", "rounded-budget", "--json")
    assert json.loads(result.stdout)["bound"] == "rounded-budget"
    certified = sdp.amplify("general:1.5", bound="rounded-budget", certify=True, **ASK)
    assert certified.certified and sdp.verify(certified.certificate).proved_delta <= 1e-6  # type: ignore[arg-type]
    account = sdp.Accountant()
    account.compose("general:1.5", n=1000, bound="rounded-budget")
    assert account.epsilon(delta=1e-6) >= sdp.amplify("general:2", **ASK).epsilon * 0.99


def test_a_bound_as_a_plug_in(installed: Path) -> None:
    assert sdp.amplify("general:1.5", bound="rounded-budget", **ASK).bound == "rounded-budget"
    bounds.BOUNDS.pop("rounded-budget")
    extension.LOADED.clear()
    assert "rounded-budget" in [row.bound for row in sdp.compare("general:1.5", **ASK)]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "blanket"}, "'blanket', which is taken"),
        ({"name": "auto"}, "'auto', which is taken"),
        ({"name": "Mine"}, "lowercase letters"),
        ({"side": "both"}, "side 'upper' or 'lower'"),
        ({"sound": 1}, "sound True or False"),
    ],
)
def test_what_is_not_a_bound_is_refused(changed: dict[str, Any], words: str) -> None:
    from shuffledp.bounds import Numerical

    def pairs(m: sdp.Mechanism) -> PairSet:
        return PairSet([m.variation_ratio().pair()])

    given: dict[str, Any] = {"name": "mine", "title": "t", "citation": "c", "needs": "eps0", "pairs": pairs, **changed}
    said(words, lambda: sdp.register_bound(Numerical(**given)), sdp.ExtensionError)


def test_the_public_names_are_there() -> None:
    for name in ("Mechanism", "Randomizer", "FrequencyOracle", "Reports", "Tally", "register", "register_bound"):
        assert name in sdp.__all__ and getattr(sdp, name) is not None
    assert os.path.exists(PAGE)
