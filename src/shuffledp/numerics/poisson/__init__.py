"""Poisson counts of fabricated messages that one user raises: several by one each, or one by several."""
