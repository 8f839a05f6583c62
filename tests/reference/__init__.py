"""Slow, independent oracles: nothing here imports shuffledp."""
