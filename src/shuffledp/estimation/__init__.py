"""Unbiased estimates with error bars, and what is known about the truth."""
