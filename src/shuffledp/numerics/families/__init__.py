"""Families of shuffled pairs over which a maximum is taken."""
