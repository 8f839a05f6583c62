"""Solving for one unknown: given a central target, the local budget, the messages, the users or delta."""

from .questions import calibrate, delta_needed, users_needed

__all__ = ["calibrate", "delta_needed", "users_needed"]
