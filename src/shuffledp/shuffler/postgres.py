"""The store in PostgreSQL: for several front ends that take reports in for the same periods."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .._support.optional import require
from .store import PeriodKey, ReceivedReports, Run, Store, StoreUnavailableError

#: How often a transaction that got in the way of another is tried again.
_ATTEMPTS = 5
#: Our advisory locks: the one of who makes tables, and the first number of those of who releases.
_TABLES, _RELEASE = 0x53445001, 0x53445002
_SETTINGS = (
    "synchronous_commit = on",  # a commit that returned is on disk
    "lock_timeout = '20s'",
    "idle_in_transaction_session_timeout = '600s'",  # a front end that hangs must not hold the others up for ever
)


class _AgainError(StoreUnavailableError):
    """The transaction got in the way of another, and may be tried again."""


class PostgresStore(Store):
    """A table per period, dropped at release; until then the order of its rows on disk is that of transactions."""

    BYTES, SHARED, LOCK = "BYTEA", "FOR SHARE", f"SELECT pg_advisory_xact_lock({_TABLES:d})"
    PASSING = "WITH (autovacuum_enabled = off)"  # else pg_statistic keeps some ids and messages beyond the table

    def __init__(self, address: str, owner: str) -> None:
        super().__init__(owner)
        self._psycopg = require("psycopg", extra="shuffler", purpose="a store in PostgreSQL")
        self._address = address
        self.ERRORS, errors = self._psycopg.Error, self._psycopg.errors
        self._again = (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable)
        self._prepare()

    def _connect(self) -> Any:
        made = self._psycopg.connect(self._address, autocommit=True, connect_timeout=5)
        for setting in _SETTINGS:
            made.execute(f"SET {setting}")
        return made

    def _broken(self, connection: Any) -> bool:
        return bool(connection.closed)

    def _unavailable(self, error: Exception) -> StoreUnavailableError:
        return _AgainError(error) if isinstance(error, self._again) else StoreUnavailableError(error)

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        """Run a durable transaction (see :class:`Store`)."""
        with self._failures():
            connection = self._connection

            def run(sql: str, given: Sequence[object] = ()) -> Any:
                return connection.execute(sql.replace("?", "%s"), given)

            with connection.transaction():
                yield run

    def add(self, entries: Sequence[ReceivedReports], refused: Mapping[tuple[PeriodKey, str], int]) -> list[str]:
        """Add entries; retry a transaction that got in the way of another front end."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return super().add(entries, Counter(refused))
            except _AgainError:
                continue
        return super().add(entries, refused)

    def _insert_new(self, run: Run, table: str, rows: Sequence[Sequence[bytes]]) -> set[bytes]:
        columns = [list(column) for column in zip(*rows, strict=True)]
        arrays = ", ".join(["?::bytea[]"] * len(columns))
        sql = f"INSERT INTO {table} SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING RETURNING id"
        return {bytes(id) for (id,) in run(sql, columns).fetchall()} if columns else set()

    @contextmanager
    def _reading(self, sql: str) -> Iterator[Any]:
        connection = self._connection
        with connection.transaction(), connection.cursor("reports", binary=True) as cursor:
            cursor.execute(sql)
            yield cursor

    @contextmanager
    def release_lock(self, place: PeriodKey) -> Iterator[bool]:
        """An advisory lock, which ends with the connection: who has died does not keep it."""
        name = _RELEASE, zlib.crc32(place[0] + place[1].to_bytes(8)) - (1 << 31)
        with self._failures():
            held = self._connection.execute("SELECT pg_try_advisory_lock(%s, %s)", name).fetchone()[0]
        try:
            yield held
        finally:
            if held:
                with self._failures():
                    self._connection.execute("SELECT pg_advisory_unlock(%s, %s)", name)
