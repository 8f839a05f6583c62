"""What a shuffler holds between intake and release, and the SQL that both databases share.

A row of a report is its random id and its sealed slots, in a table of its plan and period that is dropped at release;
so is the table of the requests that came, by which one that comes again is known.  The terms of a plan, which are
public, stay: those of its first publication hold for all that follow.
No table has a column for an address, a header, a time or an order; rows are written sorted by their random id.

A period goes open -> closing -> ready -> released, or open -> discarded.  Closing: nothing is added, and the batch has
its id.  Ready: the batch is whole in a hidden directory of its owner, so that renaming it is all that is left to do.
"""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from ..errors import ShuffleDPError
from .sealing import Report

OPEN, CLOSING, READY, RELEASED, DISCARDED = "open", "closing", "ready", "released", "discarded"
#: What becomes of an entry: it is durable (now or since earlier), its request came twice, its period is over.
STORED, REPLAYED, CLOSED = "stored", "replayed", "closed"
MALFORMED, _CONTRIBUTORS = "malformed", "contributors"
#: Rows that are read at once.
_ROWS = 10_000
Place = tuple[bytes, int]  # digest of the plan, and period
Run = Callable[..., Any]


class StoreUnavailableError(ShuffleDPError):
    """The store cannot keep anything at present; nothing of the transaction was stored."""

    def __init__(self, reason: object) -> None:
        self.reason = str(reason).partition("\n")[0][:200]  # the lines that follow may quote a row
        super().__init__("the store cannot be used at present; send the same report again later.")


class Entry(NamedTuple):
    """The reports of one request, and what tells whether it came before: 16 bytes of ``enc``."""

    place: Place
    reports: Sequence[Report]
    seen: bytes | None = None


class Held(NamedTuple):
    """What a store knows of a period."""

    place: Place
    state: str
    batch: str
    owner: str
    contributors: int
    refused: dict[str, int]

    @property
    def finished(self) -> bool:
        """Whether it was released or discarded: then nothing is counted any more."""
        return self.state in (RELEASED, DISCARDED)


class Store(ABC):
    """The statements; a database adds its connections, types and fast inserts.  Everything that returns is durable."""

    #: The type of bytes, what locks a row against a change of it, and what follows the columns of a table that stays,
    #: and of one of reports or requests.
    BYTES, SHARED, TABLE, PASSING = "BLOB", "", "", ""
    #: What makes others wait who make tables, to the end of a transaction.
    LOCK = ""
    #: What the database raises.
    ERRORS: type[Exception]

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._local, self._connections = threading.local(), list[Any]()

    @abstractmethod
    def _connect(self) -> Any:
        """A connection with its settings."""

    @property
    def _connection(self) -> Any:
        """One per thread, made anew once it is broken."""
        mine = self._local.__dict__.get("mine")
        if mine is not None and self._broken(mine):
            self._connections.remove(mine)
            self._local.mine = mine = None
        if mine is None:
            self._local.mine = mine = self._connect()
            self._connections.append(mine)
        return mine

    def _broken(self, connection: Any) -> bool:
        return False

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Whatever the database says is why the store cannot be used."""
        try:
            yield
        except self.ERRORS as error:
            raise self._unavailable(error) from None

    def _unavailable(self, error: Exception) -> StoreUnavailableError:
        return StoreUnavailableError(error)

    def shut(self) -> None:
        """Close what is open, once no thread uses it any more."""
        while self._connections:
            self._connections.pop().close()

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Run]:
        """A durable transaction: its block is given a function that runs SQL, and ends in a commit or a rollback."""

    @abstractmethod
    def _insert_reports(self, run: Run, table: str, reports: Sequence[Report]) -> int:
        """Insert those whose ids are new, and count them."""

    @abstractmethod
    def _insert_seen(self, run: Run, table: str, encs: Sequence[bytes]) -> set[bytes]:
        """Insert those that are new, and name them."""

    @abstractmethod
    def _reading(self, sql: str) -> AbstractContextManager[Any]:
        """A cursor of what a query gives, which is not held in memory."""

    def messages(self, place: Place) -> Iterator[bytes]:
        """The sealed slots of all reports, in no order that means anything, many in a piece."""
        with self._failures(), self._reading(f"SELECT sealed FROM {table_of(place)}") as cursor:
            while rows := cursor.fetchmany(_ROWS):
                yield b"".join(sealed for (sealed,) in rows)

    def alone(self, place: Place) -> AbstractContextManager[bool]:
        """Whether nobody else, on another machine, is releasing this period; for as long as the block runs."""
        return nullcontext(True)

    def tidy(self) -> bool:
        """Erase what is finished; False if others who read it did not let us, so that it is to be tried again."""
        return True

    def _prepare(self) -> None:
        place = f"plan {self.BYTES}, period BIGINT"
        columns = {
            "plans": f"plan {self.BYTES} PRIMARY KEY, terms TEXT NOT NULL",
            "periods": f"{place}, state TEXT NOT NULL, batch TEXT NOT NULL, owner TEXT NOT NULL, "
            "PRIMARY KEY (plan, period)",
            "counts": f"{place}, owner TEXT, what TEXT, n BIGINT NOT NULL, PRIMARY KEY (plan, period, owner, what)",
        }
        with self.transaction() as run:
            self._one_at_a_time(run)
            for name, listed in columns.items():
                run(f"CREATE TABLE IF NOT EXISTS {name} ({listed}) {self.TABLE}")

    def _one_at_a_time(self, run: Run) -> None:
        """Wait for others who make tables."""
        if self.LOCK:
            run(self.LOCK)

    def terms(self, plan: bytes, new: str, *, keep: bool = True) -> str:
        """The terms of the first publication of a plan that any front end kept; ``new`` is kept if there is none."""
        with self.transaction() as run:
            if keep:
                run("INSERT INTO plans VALUES (?, ?) ON CONFLICT DO NOTHING", (plan, new))
            found = run("SELECT terms FROM plans WHERE plan = ?", (plan,)).fetchone()
        return found[0] if found else new

    def add(self, entries: Sequence[Entry], refused: Mapping[tuple[Place, str], int]) -> list[str]:
        """Keep the reports of all entries in one transaction, and count what was refused elsewhere, by reason."""
        with self.transaction() as run:
            return self._add(run, entries, Counter(refused))

    def _add(self, run: Run, entries: Sequence[Entry], counted: Counter[tuple[Place, str]]) -> list[str]:
        # always periods, requests, reports, counts, each in ascending order: so transactions cannot wait in a circle
        states = {place: self._state(run, place, entering=True) for place in sorted({e.place for e in entries})}
        outcomes = [STORED if states[e.place] == OPEN else CLOSED for e in entries]
        new = self._see(
            run, {(e.place, e.seen) for e, o in zip(entries, outcomes, strict=True) if e.seen and o == STORED}
        )
        rows: dict[Place, dict[bytes, Report]] = {}
        for i, entry in enumerate(entries):
            if outcomes[i] == STORED and entry.seen and (entry.place, entry.seen) not in new:
                outcomes[i] = REPLAYED
                counted[entry.place, "replayed"] += 1
            if outcomes[i] == STORED:
                new.discard((entry.place, entry.seen))  # so that the same request in this transaction is a replay
                mine = rows.setdefault(entry.place, {})
                for report in entry.reports:
                    mine.setdefault(report.id, report)
        for place in sorted(rows):
            reports = [rows[place][id] for id in sorted(rows[place])]
            counted[place, _CONTRIBUTORS] += self._insert_reports(run, table_of(place), reports)
        for (place, what), number in sorted(counted.items()):
            # what is malformed came in time: its period may be one that nobody has opened yet
            state = states.get(place) or self._state(run, place, entering=what == MALFORMED)
            if number and state in (OPEN, CLOSING, READY):
                run(
                    "INSERT INTO counts VALUES (?, ?, ?, ?, ?) ON CONFLICT (plan, period, owner, what) "
                    "DO UPDATE SET n = counts.n + excluded.n",
                    (*place, self._owner, what, number),
                )
        return outcomes

    def _see(self, run: Run, requests: set[tuple[Place, bytes]]) -> set[tuple[Place, bytes | None]]:
        """Remember requests with their period: once that has ended they are refused anyway.  Those that are new."""
        new: set[tuple[Place, bytes | None]] = set()
        for place in sorted({place for place, _ in requests}):
            encs = sorted(enc for of, enc in requests if of == place)
            new |= {(place, enc) for enc in self._insert_seen(run, seen_of(place), encs)}
        return new

    def _state(self, run: Run, place: Place, entering: bool = False) -> str | None:
        """The state of a period, which stays so until the transaction ends; where it is new, entering opens it."""
        ask = f"SELECT state FROM periods WHERE plan = ? AND period = ? {self.SHARED}"
        found = run(ask, place).fetchone()
        if not found and entering:
            self._one_at_a_time(run)
            made = run("INSERT INTO periods VALUES (?, ?, ?, '', '') ON CONFLICT DO NOTHING", (*place, OPEN)).rowcount
            if made:
                kind = self.BYTES
                run(f"CREATE TABLE {table_of(place)} (id {kind} PRIMARY KEY, sealed {kind} NOT NULL) {self.PASSING}")
                run(f"CREATE TABLE {seen_of(place)} (id {kind} PRIMARY KEY) {self.PASSING}")
            found = run(ask, place).fetchone()
        return found[0] if found else None

    def held(self) -> list[Held]:
        """All periods that were ever open."""
        with self.transaction() as run:
            periods = run("SELECT plan, period, state, batch, owner FROM periods ORDER BY plan, period").fetchall()
            counts = run("SELECT plan, period, what, SUM(n) FROM counts GROUP BY plan, period, what").fetchall()
        told: dict[Place, dict[str, int]] = {}
        for plan, period, what, number in counts:
            told.setdefault((bytes(plan), period), {})[what] = int(number)
        return [
            Held(place, state, batch, owner, mine.pop(_CONTRIBUTORS, 0), mine)
            for plan, period, state, batch, owner in periods
            for place in [(bytes(plan), period)]
            for mine in [dict(told.get(place, {}))]
        ]

    def close(self, place: Place) -> Held:
        """Let nothing in any more, name the batch and take it over; the second time, only take it over."""
        with self.transaction() as run:
            ask = " WHERE plan = ? AND period = ? AND state = ?"
            fresh = (CLOSING, secrets.token_hex(16), self._owner)
            run(f"UPDATE periods SET state = ?, batch = ?, owner = ? {ask}", (*fresh, *place, OPEN))
            run(f"UPDATE periods SET owner = ? {ask}", (self._owner, *place, CLOSING))
        return next(one for one in self.held() if one.place == place)

    def ready(self, place: Place) -> None:
        """The batch is whole; fails if another has taken it over."""
        self._move(place, READY, "state = 'closing' AND owner = ?", self._owner)

    def finish(self, place: Place, state: str) -> None:
        """Released or discarded: the reports are not needed any more; :meth:`tidy` erases what is left of them."""
        self._move(place, state, "state NOT IN ('released', 'discarded')", drop=True)

    def _move(self, place: Place, state: str, only: str, *more: str, drop: bool = False) -> None:
        with self.transaction() as run:
            change = f"UPDATE periods SET state = ? WHERE plan = ? AND period = ? AND {only}"
            if not run(change, (state, *place, *more)).rowcount:
                raise ShuffleDPError(
                    f"period {place[1]} must be in the hands of one shuffler, got another meanwhile; look at status."
                )
            if drop:
                run("DELETE FROM counts WHERE plan = ? AND period = ?", place)
                self._drop(run, table_of(place))
                self._drop(run, seen_of(place))

    def _drop(self, run: Run, table: str) -> None:
        run(f"DROP TABLE {table}")


def table_of(place: Place) -> str:
    """The table of the reports of a period: letters and digits, and short enough for PostgreSQL.

    Examples
    --------
    >>> table_of((bytes(32), 7))
    'reports_00000000000000000000000000000000_7'
    """
    return f"reports_{place[0].hex()[:32]}_{place[1]:d}"


def seen_of(place: Place) -> str:
    """The table of the requests of a period."""
    return table_of(place).replace("reports", "seen")
