"""The same formulas in ball arithmetic (Arb): what is computed here is a proof, and none of the floats is trusted."""
