"""Random bits for privacy: exact sampling on integers, and uniform permutations."""
