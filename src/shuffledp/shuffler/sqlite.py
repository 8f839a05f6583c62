"""The store in one file of SQLite: for a shuffler on one machine."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from .sealing import Report
from .store import DISCARDED, RELEASED, Run, Store, StoreUnavailableError, seen_of, table_of

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
        """As the contract says."""
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

    def _insert_reports(self, run: Run, table: str, reports: Sequence[Report]) -> int:
        parts = (reports[i : i + _AT_ONCE] for i in range(0, len(reports), _AT_ONCE))
        return sum(run(_insert(table, len(part), "(?, ?)"), [x for r in part for x in r]).rowcount for part in parts)

    def _insert_seen(self, run: Run, table: str, encs: Sequence[bytes]) -> set[bytes]:
        parts = (encs[i : i + _AT_ONCE] for i in range(0, len(encs), _AT_ONCE))
        return {e for part in parts for (e,) in run(_insert(table, len(part), "(?)") + " RETURNING id", part)}

    def _drop(self, run: Run, table: str) -> None:
        """Later, in :meth:`tidy`: at once it would take as much memory, and as large a log, as there are reports."""

    def tidy(self) -> bool:
        """Erase the reports of finished periods in small steps, and then the log, unless another reads from it."""
        with self.transaction() as run:
            ended = run("SELECT plan, period FROM periods WHERE state IN (?, ?)", (RELEASED, DISCARDED)).fetchall()
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


def _insert(table: str, rows: int, row: str) -> str:
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)} ON CONFLICT DO NOTHING"
