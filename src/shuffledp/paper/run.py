"""Reproduce the paper: compute what is missing, judge, draw, and write one report."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import __version__
from .._support import files as _files
from .._support.optional import require
from ..errors import ParameterError
from . import claims, parts, report
from .plan import POINTS, Unit, units
from .words import ASSUMPTIONS, CAPTIONS, CITATION, PARTS

#: Where results go unless another directory is named.
DEFAULT_OUT = "shuffledp-paper"
_FORMATS = ("pdf", "svg", "png")
_EVERY = "every file of out"


def reproduce(
    out: str | os.PathLike[str] = DEFAULT_OUT,
    *,
    only: Iterable[str] = (),
    points: int = POINTS,
    progress: Callable[[list[Unit]], Iterable[Unit]] | None = None,
) -> dict[str, Any]:
    """Compute the figures and tables of the paper, judge its claims, and write everything to ``out``.

    Every panel or table is one unit of work, stored as its own file in ``out/parts`` when it is done.  A later call,
    also after an interruption, computes only what is missing, damaged, or was made by another version or with
    other settings.  The report covers every part that is whole in ``out``, whenever it was asked for.

    Parameters
    ----------
    out : directory, made if it is missing
        Receives results.json, report.html, the figures (PDF, SVG, PNG) and parts/.
    only : names of parts
        What to compute if it is missing, all by default: figure1, ..., figure5, table5,
        tightness, errata.  A claim is judged if all its parts are there.
    points : int >= 2
        Points per curve.
    progress : function
        Wraps the list of units that have to be computed, for a progress bar.

    Returns
    -------
    dict
        The contents of results.json, with ``files`` (written), ``computed`` and ``reused`` (names of units).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = reproduce(folder, only=["errata"])
    >>> entry = found["results"]["errata"]["errata"]["data"]["entries"][0]
    >>> entry["printed"], entry["truth"], found["claims"][0]["verdict"]
    ('1/32', '5/128', 'does not hold')
    """
    asked = {unit.part for unit in units(only, points=points)}
    folder, everything = _path(out), units(points=points)
    stored = {unit.name: parts.load(folder / "parts", unit) for unit in everything}
    broken = {unit.part for unit in everything if stored[unit.name] is None}
    work = [unit for unit in everything if unit.part in asked or unit.part not in broken]
    drawn = [part for part in dict.fromkeys(unit.part for unit in work) if part.startswith("figure")]
    if drawn:  # before the work, so that a missing package costs nothing
        require("matplotlib", extra="plot", purpose="drawing the figures of the paper")
    missing = [unit for unit in work if stored[unit.name] is None]
    pages = [*(f"{part}.{suffix}" for part in drawn for suffix in _FORMATS), "results.json", "report.html"]
    _make(folder, [*(f"parts/{unit.name}.json" for unit in missing), *pages])
    for unit in progress(missing) if progress else missing:
        stored[unit.name] = parts.store(folder / "parts", unit, unit.run())
    results: claims.Results = {}
    for unit in work:
        data = {"title": unit.title, "settings": unit.settings, "data": stored[unit.name]}
        results.setdefault(unit.part, {})[unit.name] = data
    found: dict[str, Any] = {
        "version": __version__,
        "paper": CITATION,
        "points": points,
        "assumptions": ASSUMPTIONS,
        "titles": {part: PARTS[part] for part in results},
        "claims": claims.judge(results),
        "results": results,
    }
    files = _figures(folder, drawn, results)
    pictures = {part: (folder / f"{part}.svg").read_text(encoding="utf-8") for part in drawn}
    _files.write_whole(folder / "results.json", json.dumps(found, indent=1, allow_nan=False) + "\n", name=_EVERY)
    _files.write_whole(folder / "report.html", report.page(found, pictures, CAPTIONS), name=_EVERY)
    files += [str(folder / "results.json"), str(folder / "report.html")]
    names = [unit.name for unit in missing]
    return {
        **found,
        "files": files,
        "computed": names,
        "reused": [unit.name for unit in work if unit.name not in names],
    }


def _path(out: str | os.PathLike[str]) -> Path:
    """The output directory, not made yet."""
    if not isinstance(out, str | os.PathLike) or not os.fspath(out):
        raise ParameterError(f"out must be the path of a directory, got {out!r}; name one, such as {DEFAULT_OUT!r}.")
    return Path(out)


def _make(folder: Path, names: Iterable[str]) -> None:
    """Make the directory with its place for parts; nothing there may be in the way of the files to come."""
    try:
        (folder / "parts").mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"out must be a directory that can be written, got {str(folder)!r} ({reason}); choose another one."
        ) from None
    for name in names:
        if (folder / name).is_dir():
            raise ParameterError(
                f"out must be a directory where {name} can be a file, got {str(folder)!r} where it is a directory; "
                "remove that or choose another one."
            )


def _figures(folder: Path, drawn: list[str], results: claims.Results) -> list[str]:
    """Draw every figure in three formats."""
    if not drawn:
        return []
    from .._support.figures import save
    from .draw import figure

    files = []
    for part in drawn:
        picture = figure(part, list(results[part].values()))
        for suffix in _FORMATS:
            path = folder / f"{part}.{suffix}"
            save(picture, path)
            files.append(str(path))
    return files
