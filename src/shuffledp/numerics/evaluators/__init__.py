"""Evaluators of the divergence of one shuffled pair: exact counts, contour, few clones, ball arithmetic."""
