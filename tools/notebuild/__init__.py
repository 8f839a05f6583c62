"""Builds the note: its numbers, tables and figures from the library, then the PDF by Debian's TeX."""
