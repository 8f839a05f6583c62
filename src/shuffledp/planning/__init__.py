"""Choosing a mechanism: every one that fits a task, calibrated, its error and communication predicted, ranked."""
