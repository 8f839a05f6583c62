"""Helpers without a subject of their own: validation, files, tables, text, rules for delta."""
