"""The values in a programme or deployment file: numbers as written, names, dates, and the place of an error."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from numbers import Integral

from .._support import validation as valid
from .._support.delta_rules import below, is_rule, read
from .._support.reading import as_written
from ..errors import ParameterError, ShuffleDPError


@contextmanager
def place(where: str) -> Iterator[None]:
    """Errors say where they arose."""
    try:
        yield
    except ShuffleDPError as error:
        raise ParameterError(f"{where}: {error}") from None


def exact(where: str, value: object) -> tuple[Fraction, bool]:
    """A number as it is written, and whether it is written as a count (without a decimal point).

    Examples
    --------
    >>> exact("delta", "1e-8"), exact("users", "1_000_000")
    ((Fraction(1, 100000000), True), (Fraction(1000000, 1), True))
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        if abs(int(value)) > 10**40:  # so large that it would not even be printed
            raise ParameterError(f"{where} must be a number below 1e40, got a larger one; check its digits.")
        return Fraction(int(value)), True
    text = str(value) if isinstance(value, float) else value.strip() if isinstance(value, str) else ""
    number = as_written(text)
    if number is not None:
        return number, not {".", "/"} & set(text)
    raise ParameterError(f"{where} must be a number such as 1_000_000, 0.05 or 1e-8, got {shown(value)}; correct it.")


def whole_number(where: str, value: object) -> int:
    """A whole number as it is written."""
    number, _ = exact(where, value)
    if number.denominator != 1:
        raise ParameterError(f"{where} must be a whole number, got {shown(value)}; round it.")
    return int(number)


def below_written(where: str, value: object) -> tuple[float, float]:
    """The largest float that is not above the number as written (a budget is never rounded up), and the nearest."""
    number, _ = exact(where, value)
    try:
        return below(number), float(number)
    except OverflowError:
        raise ParameterError(f"{where} must be below 1e308, got {shown(value)}; correct it.") from None


def delta_rule(value: object) -> Callable[[int], tuple[float, float]]:
    """The same of delta, as a function of n for a rule such as 0.01/n, which is checked for every n at once."""
    if not is_rule(value):
        found = below_written("target.delta", value)
        with place("target"):
            valid.probability_delta(found[0])
        return lambda n: found
    with place("target"):
        rule = read(value)

    def among(n: int) -> tuple[float, float]:
        number = rule.exact(n)
        return below(number), float(number)

    return among


def one_line(where: str, value: object) -> str | None:
    """A name, or None."""
    if value is not None and not (isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()):
        raise ParameterError(f"{where} must be one line of up to 200 characters, got {shown(value)}; shorten it.")
    return value


def kind(value: object) -> str:
    """What a value is, in the words of the file."""
    if value is None:
        return "nothing"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(value)


def shown(value: object) -> str:
    """A value as an error message shows it, shortened."""
    return valid.shown(value, 40)


# -- dates -----------------------------------------------------------------------------------------------------

#: Days of a unit, or its months.
_DAYS, _MONTHS = {"day": 1, "week": 7}, {"month": 1, "quarter": 3, "year": 12}
UNITS = (*_DAYS, *_MONTHS)
#: Most dates of one programme.
MOST_DATES = 100_000
_STEP = re.compile(rf"(?:([1-9][0-9]{{0,4}}) +)?({'|'.join(UNITS)})(s?)", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


@dataclass(frozen=True)
class Step:
    """A number of days, weeks, months, quarters or years.

    Examples
    --------
    >>> str(Step.read("every", "week")), str(Step.read("every", "2 weeks"))
    ('week', '2 weeks')
    """

    number: int
    unit: str

    @classmethod
    def read(cls, where: str, value: object) -> Step:
        """A unit, or a number of them, as it is written."""
        found = _STEP.fullmatch(value) if isinstance(value, str) else None
        if found is None or bool(found[3]) > (found[1] is not None):
            raise ParameterError(
                f"{where} must be {', '.join(UNITS[:-1])} or {UNITS[-1]}, or a number of them such as 2 weeks, "
                f"got {shown(value)}; write one of these."
            )
        return cls(int(found[1] or 1), found[2])

    def __str__(self) -> str:
        """As it is written."""
        return self.unit if self.number == 1 else f"{self.number} {self.unit}s"

    def after(self, start: date, times: int) -> date | None:
        """The date ``times`` steps after the start; None beyond the year 9999.

        A day that its month does not have is the last day of that month, and the next ones are not moved.

        Examples
        --------
        >>> [str(Step(1, "month").after(date(2024, 1, 31), k)) for k in (1, 2)]
        ['2024-02-29', '2024-03-31']
        """
        try:
            if self.unit in _DAYS:
                return start + timedelta(days=times * self.number * _DAYS[self.unit])
            year, month = divmod(12 * start.year + start.month - 1 + times * self.number * _MONTHS[self.unit], 12)
            return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))
        except (OverflowError, ValueError, calendar.IllegalMonthError):
            return None

    def dates(self, start: date, until: date) -> Iterator[date]:
        """The start and every step after it, up to and including ``until``."""
        times, found = 0, start
        while found <= until:
            yield found
            times += 1
            following = self.after(start, times)
            if following is None:
                return
            found = following

    def period(self, day: date, origin: date) -> str:
        """The period that a day falls into: a calendar one, or one of several units counted from the origin.

        Examples
        --------
        >>> day, origin = date(2026, 12, 31), date(2026, 1, 5)
        >>> [Step(1, unit).period(day, origin) for unit in UNITS]
        ['2026-12-31', '2026-W53', '2026-12', '2026-Q4', '2026']
        >>> Step(13, "week").period(day, origin)
        'from 2026-10-05'
        """
        if self.number > 1:
            return f"from {self._begin(day, origin)}"
        if self.unit == "day":
            return str(day)
        if self.unit == "week":
            year, week, _ = day.isocalendar()
            return f"{year}-W{week:02}"
        names = {"month": f"-{day.month:02}", "quarter": f"-Q{(day.month + 2) // 3}", "year": ""}
        return f"{day.year:04}{names[self.unit]}"

    def _begin(self, day: date, origin: date) -> date:
        """The last beginning of a period, counted from the origin, that is not after the day."""
        if self.unit in _DAYS:
            times = (day - origin).days // (self.number * _DAYS[self.unit])
        else:
            months = 12 * (day.year - origin.year) + day.month - origin.month
            times = months // (self.number * _MONTHS[self.unit])
        begin = self.after(origin, times)
        if begin is not None and begin > day:
            begin = self.after(origin, times - 1)
        return origin if begin is None else begin


def read_date(where: str, value: object) -> date:
    """A date written as 2026-01-05."""
    try:
        if isinstance(value, str) and _DATE.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise ParameterError(f"{where} must be a date such as 2026-01-05, got {shown(value)}; correct it.")
