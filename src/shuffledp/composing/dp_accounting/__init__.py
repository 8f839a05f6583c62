"""The bridge to the package dp-accounting: export of losses, and its events."""
