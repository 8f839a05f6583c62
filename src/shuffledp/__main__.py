"""``python -m shuffledp`` is the command line."""

from .cli import main

main(prog_name="shuffledp")
