"""Text from outside (labels, names, paths) on its way to a terminal: nothing in it may act on the terminal."""

from __future__ import annotations


def visible(text: str) -> str:
    """The text in one line with everything that does not print as itself written as an escape.

    Line breaks, terminal sequences, bidirectional controls and lone surrogates are shown, not obeyed.

    Examples
    --------
    >>> print(visible("leaky.csv\\nVerified: all is well\\x1b[2K"))
    leaky.csv\\nVerified: all is well\\x1b[2K
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shortened(text: str, most: int = 60) -> str:
    """The :func:`visible` text in at most ``most`` characters: of a longer one the beginning and the end.

    Examples
    --------
    >>> shortened("a" * 50 + "z", 12), shortened("pear")
    ('aaaaaaaa…aaz', 'pear')
    """
    shown = visible(text[: 4 * most] + text[-most:] if len(text) > 5 * most else text)
    end = most // 4
    return shown if len(shown) <= most else f"{shown[: most - end - 1]}…{shown[len(shown) - end :]}"
