from pathlib import Path

from contract.cases import Case, frequencies
from shuffledp.mechanisms.known.finite import FiniteRandomizer

DATA = Path(__file__).parents[2] / "data"

CASES = [Case(FiniteRandomizer.from_file(DATA / f"matrix-{k}.csv"), frequencies(k)) for k in (2, 3)]
