from contract.cases import Case, frequencies
from shuffledp.mechanisms.categorical.grr import GRR

CASES = [Case(GRR(eps0=e, d=d), frequencies(d)) for e, d in ((1.0, 2), (1.0, 3), (2.5, 4), (0.2, 5))]
