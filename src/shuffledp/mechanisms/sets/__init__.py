"""Mechanisms for sets of items and for keys with values."""
