"""Mechanisms whose users send blanket messages beside their own."""
