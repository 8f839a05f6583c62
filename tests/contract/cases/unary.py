from contract.cases import Case, frequencies
from shuffledp.mechanisms.categorical.optimized_unary import OptimizedUnary
from shuffledp.mechanisms.categorical.randomized_response import RandomizedResponse
from shuffledp.mechanisms.categorical.unary import Unary

SIZES = ((1.0, 2), (1.0, 3), (2.5, 4))

CASES = [
    *(Case(Unary(eps0=e, d=d), frequencies(d)) for e, d in SIZES),
    *(Case(OptimizedUnary(eps0=e, d=d), frequencies(d)) for e, d in SIZES),
    # a matrix with more than 64 cells keeps four constant datasets and may miss the best one
    *(Case(cls(eps0=0.5, d=9), frequencies(9), same_law=False) for cls in (Unary, OptimizedUnary)),
    # exact over all datasets: tighter than the blanket of the matrix (tests/numerics/test_mixture.py)
    *(Case(RandomizedResponse(eps0=e), frequencies(2), same_law=False) for e in (0.5, 1.0, 3.0)),
]
