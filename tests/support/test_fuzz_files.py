"""Whatever a file holds, reading it ends soon, with an answer or with one sentence."""

from __future__ import annotations

import random
import time
import warnings
from pathlib import Path

import pytest

import shuffledp as sdp
from reference.mutations import mutated
from reference.sample_files import KINDS, command

MOST_SECONDS = 5.0


@pytest.mark.heavy_cases("seeds0-queries")
@pytest.mark.slow_cases("seeds0-array", "seeds0-certificate", "seeds0-programme")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "seeds", [range(300), *(pytest.param(range(i, i + 1175), marks=pytest.mark.slow) for i in range(300, 5000, 1175))]
)
def test_a_damaged_file_is_read_or_refused_in_one_sentence(kind: str, seeds: range, tmp_path: Path) -> None:
    name, made, read = KINDS[kind]
    path = tmp_path / name
    outcomes = {"read": 0, "refused": 0}
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        path.write_bytes(mutated(rng.choice(made()), rng))
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                read(path)
            outcomes["read"] += 1
        except sdp.ShuffleDPError as error:
            said = str(error)
            assert "\n" not in said and said[-1] in ".?" and len(said) < 1000, (seed, said)
            said.encode("utf-8")
            outcomes["refused"] += 1
        except Exception as error:  # the command line would exit with 70
            pytest.fail(f"seed {seed}: {error!r}")
        assert time.process_time() - start < MOST_SECONDS, seed
    assert outcomes["refused"] > len(seeds) / 4 and outcomes["read"] > 0, outcomes


@pytest.mark.heavy
@pytest.mark.slow_cases("answers", "array", "certificate", "ledger", "matrix", "programme", "queries")
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_on_the_command_line(kind: str, tmp_path: Path) -> None:
    name, made, _ = KINDS[kind]
    for seed in range(2):
        rng = random.Random(f"command {kind} {seed}")
        (tmp_path / name).write_bytes(mutated(rng.choice(made()), rng))
        done = command(kind, tmp_path / name)
        assert done.returncode in (0, 1, 2, 3) and "Traceback" not in done.stderr, (seed, done.stderr)
