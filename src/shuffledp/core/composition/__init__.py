"""Composition of privacy losses: profile curves, grids, Renyi divergences."""
