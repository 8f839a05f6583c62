"""Mechanisms of metric privacy."""
