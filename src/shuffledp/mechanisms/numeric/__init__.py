"""Mechanisms for numbers and vectors."""
