"""Ratios against a strong conventional implementation, measured in one run.  ``make bench`` prints them."""
