"""Unbiased estimates with error bars, and what is known of the truth."""
