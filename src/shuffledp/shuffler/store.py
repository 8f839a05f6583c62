"""Store reports between intake and release: the SQL that both databases share, and SQLite.

A row of a report is its random id and its sealed slots, in a table of its publication and period that is dropped at
release; so is the table of the requests that came, by which one that comes again is known.
No table has a column for an address, a header, a time or an order; rows are written sorted by their random id.

A period goes open -> closing -> ready -> released, or open -> discarded.  Closing: nothing is added, and the batch has
its id.  Ready: the batch is whole in a hidden directory of its owner, so that renaming it is all that is left to do.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ShuffleDPError
from .sealing import Report

OPEN, CLOSING, READY, RELEASED, DISCARDED = "open", "closing", "ready", "released", "discarded"
#: What becomes of an entry: it is durable (now or since earlier), its request came twice, its period is over.
STORED, REPLAYED, CLOSED = "stored", "replayed", "closed"
MALFORMED, _CONTRIBUTORS = "malformed", "contributors"
#: What is remembered for good: publications, whose periods are released although their files are gone, and withdrawals.
CATALOGS = ("publications", "withdrawals")
#: Rows that are read at once.
_ROWS = 10_000
PeriodKey = tuple[bytes, int]  # digest of the publication, and period
Run = Callable[..., Any]


class StoreUnavailableError(ShuffleDPError):
    """The store cannot keep anything at present; nothing of the transaction was stored."""

    def __init__(self, reason: object) -> None:
        self.reason = str(reason).partition("\n")[0][:200]  # the lines that follow may quote a row
        super().__init__("the store cannot be used at present; send the same report again later.")


class ReceivedReports(NamedTuple):
    """The reports of one request, and what tells whether it came before: 16 bytes of ``enc``."""

    place: PeriodKey
    reports: Sequence[Report]
    seen: bytes | None = None


class PeriodState(NamedTuple):
    """State and counts of a period."""

    place: PeriodKey
    state: str
    batch: str
    owner: str
    contributors: int
    refused: dict[str, int]

    @property
    def finished(self) -> bool:
        """True once it was released or discarded: then nothing is counted any more."""
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
        """Return True if a connection cannot be used any more."""
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
    def _insert_new(self, run: Run, table: str, rows: Sequence[Sequence[bytes]]) -> set[bytes]:
        """Insert the rows whose ids (the first column) are new, and return these ids."""

    @abstractmethod
    def _reading(self, sql: str) -> AbstractContextManager[Any]:
        """A cursor of what a query gives, which is not held in memory."""

    def messages(self, place: PeriodKey) -> Iterator[bytes]:
        """The sealed slots of all reports, in no order that means anything, many in a piece."""
        with self._failures(), self._reading(f"SELECT sealed FROM {table_of(place)}") as cursor:
            while rows := cursor.fetchmany(_ROWS):
                yield b"".join(sealed for (sealed,) in rows)

    def release_lock(self, place: PeriodKey) -> AbstractContextManager[bool]:
        """Hold the lock for releasing a period while the block runs; False if another machine holds it."""
        return nullcontext(True)

    def tidy(self) -> bool:
        """Erase what is finished; False if others who read it did not let us, so that it is to be tried again."""
        return True

    def _one_at_a_time(self, run: Run) -> None:
        """Make others wait who make tables or add publications, to the end of the transaction."""
        if self.LOCK:
            run(self.LOCK)

    def _prepare(self) -> None:
        place = f"publication {self.BYTES}, period BIGINT"
        columns = {
            **dict.fromkeys(CATALOGS, f"publication {self.BYTES} PRIMARY KEY, envelope TEXT NOT NULL"),
            "periods": f"{place}, state TEXT NOT NULL, batch TEXT NOT NULL, owner TEXT NOT NULL, "
            "PRIMARY KEY (publication, period)",
            "counts": f"{place}, owner TEXT, what TEXT, n BIGINT NOT NULL, "
            "PRIMARY KEY (publication, period, owner, what)",
        }
        with self.transaction() as run:
            self._one_at_a_time(run)
            for name, listed in columns.items():
                run(f"CREATE TABLE IF NOT EXISTS {name} ({listed}) {self.TABLE}")

    @contextmanager
    def catalogs(self) -> Iterator[tuple[dict[str, dict[bytes, str]], Callable[[str, bytes, str], None]]]:
        """Read the envelopes of each catalog, by publication, and add to them, alone among front ends."""
        with self.transaction() as run:
            self._one_at_a_time(run)
            rows = {name: run(f"SELECT publication, envelope FROM {name}").fetchall() for name in CATALOGS}

            def add(name: str, digest: bytes, envelope: str) -> None:
                run(f"INSERT INTO {name} VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, envelope))

            yield {name: {bytes(digest): text for digest, text in found} for name, found in rows.items()}, add

    def add(self, entries: Sequence[ReceivedReports], refused: Mapping[tuple[PeriodKey, str], int]) -> list[str]:
        """Keep the reports of all entries in one transaction, and count what was refused elsewhere, by reason."""
        with self.transaction() as run:
            return self._add(run, entries, Counter(refused))

    def _add(self, run: Run, entries: Sequence[ReceivedReports], counted: Counter[tuple[PeriodKey, str]]) -> list[str]:
        """Add in this transaction."""
        # always periods, requests, reports, counts, each in ascending order: so transactions cannot wait in a circle
        states = {place: self._state(run, place, entering=True) for place in sorted({e.place for e in entries})}
        outcomes = [STORED if states[e.place] == OPEN else CLOSED for e in entries]
        new = self._see(
            run, {(e.place, e.seen) for e, o in zip(entries, outcomes, strict=True) if e.seen and o == STORED}
        )
        rows: dict[PeriodKey, dict[bytes, Report]] = {}
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
            counted[place, _CONTRIBUTORS] += len(self._insert_new(run, table_of(place), reports))
        for (place, what), number in sorted(counted.items()):
            # what is malformed came in time: its period may be one that nobody has opened yet
            state = states.get(place) or self._state(run, place, entering=what == MALFORMED)
            if number and state in (OPEN, CLOSING, READY):
                run(
                    "INSERT INTO counts VALUES (?, ?, ?, ?, ?) ON CONFLICT (publication, period, owner, what) "
                    "DO UPDATE SET n = counts.n + excluded.n",
                    (*place, self._owner, what, number),
                )
        return outcomes

    def _see(self, run: Run, requests: set[tuple[PeriodKey, bytes]]) -> set[tuple[PeriodKey, bytes | None]]:
        """Remember requests with their period: once that has ended they are refused anyway.  Those that are new."""
        new: set[tuple[PeriodKey, bytes | None]] = set()
        for place in sorted({place for place, _ in requests}):
            encs = sorted((enc,) for of, enc in requests if of == place)
            new |= {(place, enc) for enc in self._insert_new(run, seen_of(place), encs)}
        return new

    def _state(self, run: Run, place: PeriodKey, entering: bool = False) -> str | None:
        """The state of a period, which stays so until the transaction ends; where it is new, entering opens it."""
        ask = f"SELECT state FROM periods WHERE publication = ? AND period = ? {self.SHARED}"
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

    def periods(self) -> list[PeriodState]:
        """All periods that were ever open."""
        with self.transaction() as run:
            periods = run(
                "SELECT publication, period, state, batch, owner FROM periods ORDER BY publication, period"
            ).fetchall()
            counts = run(
                "SELECT publication, period, what, SUM(n) FROM counts GROUP BY publication, period, what"
            ).fetchall()
        told: dict[PeriodKey, dict[str, int]] = {}
        for plan, period, what, number in counts:
            told.setdefault((bytes(plan), period), {})[what] = int(number)
        return [
            PeriodState(place, state, batch, owner, mine.pop(_CONTRIBUTORS, 0), mine)
            for plan, period, state, batch, owner in periods
            for place in [(bytes(plan), period)]
            for mine in [dict(told.get(place, {}))]
        ]

    def close(self, place: PeriodKey) -> PeriodState:
        """Close the period, name its batch and claim it.  Idempotent: the second call only claims it."""
        with self.transaction() as run:
            ask = " WHERE publication = ? AND period = ? AND state = ?"
            fresh = (CLOSING, secrets.token_hex(16), self._owner)
            run(f"UPDATE periods SET state = ?, batch = ?, owner = ? {ask}", (*fresh, *place, OPEN))
            run(f"UPDATE periods SET owner = ? {ask}", (self._owner, *place, CLOSING))
        return next(one for one in self.periods() if one.place == place)

    def ready(self, place: PeriodKey) -> None:
        """The batch is whole; fails if another has taken it over."""
        self._move(place, READY, "state = 'closing' AND owner = ?", self._owner)

    def finish(self, place: PeriodKey, state: str) -> None:
        """Released or discarded: the reports are not needed any more; :meth:`tidy` erases what is left of them."""
        self._move(place, state, "state NOT IN ('released', 'discarded')", drop=True)

    def _move(self, place: PeriodKey, state: str, only: str, *more: str, drop: bool = False) -> None:
        with self.transaction() as run:
            change = f"UPDATE periods SET state = ? WHERE publication = ? AND period = ? AND {only}"
            if not run(change, (state, *place, *more)).rowcount:
                raise ShuffleDPError(
                    f"period {place[1]} must be in the hands of one shuffler, got another meanwhile; look at status."
                )
            if drop:
                run("DELETE FROM counts WHERE publication = ? AND period = ?", place)
                self._drop(run, table_of(place))
                self._drop(run, seen_of(place))

    def _drop(self, run: Run, table: str) -> None:
        run(f"DROP TABLE {table}")


def table_of(place: PeriodKey) -> str:
    """The table of the reports of a period: letters and digits, and short enough for PostgreSQL.

    Examples
    --------
    >>> table_of((bytes(32), 7))
    'reports_00000000000000000000000000000000_7'
    """
    return f"reports_{place[0].hex()[:32]}_{place[1]:d}"


def seen_of(place: PeriodKey) -> str:
    """The table of the requests of a period."""
    return table_of(place).replace("reports", "seen")


# -- SQLite: a shuffler on one machine ---------------------------------------------------------------------------------


#: Rows of one statement: between two of them this thread gets in the way of the one that answers.
_AT_ONCE = 500
#: Rows that are erased in one transaction, and seconds in between in which reports come in.
_ERASED, _PAUSE = 100_000, 0.005
#: kB of pages that a connection keeps in memory.
_CACHE = 32_768
_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",  # a commit that returned is on disk
    "secure_delete = ON",  # what is deleted is overwritten with zeros
    "temp_store = MEMORY",
    f"cache_size = -{_CACHE}",
    "busy_timeout = 20000",
)


class SqliteStore(Store):
    """Tables WITHOUT ROWID: rows lie in the order of their random ids, and no number tells which came first."""

    TABLE = PASSING = "WITHOUT ROWID"
    ERRORS = sqlite3.Error

    def __init__(self, path: Path, owner: str = "") -> None:
        super().__init__(owner)
        self._path = path
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        except OSError as error:
            raise StoreUnavailableError(error) from None
        self._prepare()

    def _connect(self) -> sqlite3.Connection:
        made = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)  # closed by another thread
        for setting in _SETTINGS:
            made.execute(f"PRAGMA {setting}").fetchall()
        return made

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        """Run a durable transaction."""
        with self._failures():
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection.execute
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:  # SQLite has rolled some back by itself
                    connection.execute("ROLLBACK")

    def _reading(self, sql: str) -> AbstractContextManager[sqlite3.Cursor]:
        return closing(self._connection.execute(sql))

    def _insert_new(self, run: Run, table: str, rows: Sequence[Sequence[bytes]]) -> set[bytes]:
        new: set[bytes] = set()
        for part in (rows[i : i + _AT_ONCE] for i in range(0, len(rows), _AT_ONCE)):
            values = ", ".join([f"({', '.join('?' * len(part[0]))})"] * len(part))
            sql = f"INSERT INTO {table} VALUES {values} ON CONFLICT DO NOTHING RETURNING id"
            new.update(id for (id,) in run(sql, [value for row in part for value in row]))
        return new

    def _drop(self, run: Run, table: str) -> None:
        """Leave it to :meth:`tidy`: at once it would take as much memory, and as large a log, as there are reports."""

    def tidy(self) -> bool:
        """Erase the reports of finished periods in small steps, and then the log, unless another reads from it."""
        with self.transaction() as run:
            ended = run(
                "SELECT publication, period FROM periods WHERE state IN (?, ?)", (RELEASED, DISCARDED)
            ).fetchall()
            there = {name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()}
        # a period that has ended never begins again, so these tables and no others are to go, whatever comes in now
        for table in sorted(there.intersection([*map(table_of, ended), *map(seen_of, ended)])):
            while self._erase_some(table):
                time.sleep(_PAUSE)
        with self._failures():
            return not self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    def _erase_some(self, table: str) -> bool:
        with self.transaction() as run:
            if not run("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                return False  # another was faster
            last = run(f"SELECT id FROM {table} ORDER BY id LIMIT 1 OFFSET {_ERASED:d}").fetchone()
            run(f"DELETE FROM {table} WHERE id <= ?" if last else f"DROP TABLE {table}", last or ())
        return last is not None
