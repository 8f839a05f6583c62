"""Mechanisms for one of d options."""
