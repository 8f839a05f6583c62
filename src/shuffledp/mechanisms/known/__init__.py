"""Mechanisms given by what is known of them: eps0, (p, beta, q), or a probability matrix."""
