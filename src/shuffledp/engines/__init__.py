"""Engines: run a plan on columns of data, on one machine or on a cluster, behind one contract (base.py)."""
