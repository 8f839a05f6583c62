"""Deployment files: what they state, what they refuse, and the exit codes of the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import shuffledp as sdp
from reference.places import ROOT
from shuffledp.cli import main
from shuffledp.programme.deployment import FIELDS, deployment

EXAMPLE = ROOT / "examples" / "deployment.yaml"
SHIPPED: dict[str, Any] = {
    "epsilon": 1,
    "delta": "1e-10",
    "reporting_threshold": 1_000_000,
    "poisson_mean": "0.00124512",
    "indices": 18,
    "max_index": 65535,
}


def run(path: Path, *more: str) -> Any:
    return CliRunner().invoke(main, ["deployment", str(path), *more])


def written(tmp_path: Path, **changed: Any) -> Path:
    path = tmp_path / "deployment.yaml"
    path.write_text("".join(f"{key}: {value}\n" for key, value in {**SHIPPED, **changed}.items()), encoding="utf-8")
    return path


@pytest.mark.heavy
def test_the_example_is_the_shipped_report() -> None:
    found = deployment(EXAMPLE)
    assert found == deployment(SHIPPED) and found.met
    assert found.guarantee.epsilon == pytest.approx(0.99815, abs=2e-5) and found.guarantee.n == 1_000_000
    assert found.smallest_mean == pytest.approx(0.0012407, abs=5e-8)
    least = sdp.PoissonHistogram(d=65536, poisson_per_index=found.smallest_mean, indices=18)
    assert 0.9999 <= sdp.amplify(least, n=10**6, delta=1e-10, tol=1e-5).epsilon <= 1.0


@pytest.mark.slow
def test_the_command_and_its_exit_codes(tmp_path: Path) -> None:
    met = run(EXAMPLE)
    assert met.exit_code == 0 and met.stdout.startswith("TARGET MET\n") and "0.00124073" in met.stdout
    missed = run(written(tmp_path, epsilon=0.99))
    assert missed.exit_code == 1 and missed.stdout.startswith("TARGET NOT MET\n")
    plain = json.loads(run(written(tmp_path, epsilon=0.99), "--json").stdout)
    assert plain["met"] is False and plain["guarantee"]["n"] == 10**6 and plain["smallest_mean"] > 0.00124512
    assert set(FIELDS) - {"epsilon"} <= set(plain)
    twice = run(written(tmp_path, reporting_threshold=500_000))
    assert twice.exit_code == 1 and "no analysis" in twice.stdout


@pytest.mark.slow
def test_the_smallest_mean_meets_the_target_of_every_file(tmp_path: Path) -> None:
    for changed in ({"indices": 3, "max_index": 3}, {"epsilon": 0.1}, {"delta": "1e-6", "reporting_threshold": 5000}):
        found = deployment({**SHIPPED, **changed})
        assert not found.met or found.smallest_mean <= found.poisson_mean
        again = deployment({**SHIPPED, **changed, "poisson_mean": found.smallest_mean})
        assert again.met and again.guarantee.epsilon == pytest.approx(found.target_epsilon, rel=1e-4)


@pytest.mark.slow
def test_few_indices_in_all_cost_less() -> None:
    """With max_index + 1 < 2 indices the sets of two devices overlap; from there on it makes no difference."""
    eps = [deployment({**SHIPPED, "max_index": top}).guarantee.epsilon for top in (17, 25, 35, 10**6)]
    assert eps[0] < eps[1] < eps[2] == eps[3]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epsilon": 0}, "epsilon must lie in"),
        ({"delta": 1}, "delta must lie in"),
        ({"delta": "1e-10x"}, "delta must be a number such as"),
        ({"reporting_threshold": 0}, "reporting_threshold must be a whole number of users"),
        ({"reporting_threshold": 1.5}, "reporting_threshold must be a whole number"),
        ({"poisson_mean": -1}, "poisson_mean must lie in"),
        ({"poisson_mean": "nan"}, "poisson_mean must be a number"),
        ({"indices": 0}, "indices must lie in"),
        ({"indices": 4, "max_index": 2}, "indices must lie in"),
        ({"max_index": 0}, "max_index must lie in"),
        ({"max_index": 2**32}, "max_index must lie in"),
        ({"poison_mean": 1}, "did you mean 'poisson_mean'"),
    ],
)
def test_bad_fields_are_refused_in_one_sentence(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    result = run(written(tmp_path, **changed))
    assert result.exit_code == 2 and words in result.stderr
    assert (result.stderr.count("\n") == 1 and result.stderr.endswith(".\n")) or "did you mean" in result.stderr


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_needed(field: str) -> None:
    with pytest.raises(sdp.ParameterError, match=f"the deployment must have the keys .* got none named {field!r}"):
        deployment({key: value for key, value in SHIPPED.items() if key != field})


@pytest.mark.parametrize("content", ["", "[1, 2]", "epsilon", "{", "a: &a [*a]", "\x00"])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "deployment.yaml"
    path.write_text(content, encoding="utf-8")
    result = run(path)
    assert result.exit_code == 2 and result.stderr.startswith("shuffledp: ") and "Traceback" not in result.stderr
    assert run(tmp_path / "none.yaml").exit_code == 2


def test_a_target_out_of_reach_is_said() -> None:
    found = deployment({**SHIPPED, "epsilon": "1e-12", "reporting_threshold": 1})
    assert not found.met and found.smallest_mean is None and "No poisson_mean meets the target" in str(found)
