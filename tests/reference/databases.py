"""A PostgreSQL of one's own: a cluster in a temporary directory, reached through a socket in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


class Cluster:
    """Debian's binaries, run as the user postgres where we are root, which PostgreSQL refuses to be."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sdp-pg-"))
        self._as = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        if self._as:
            shutil.chown(self.folder, "postgres", "postgres")
        self.data = self.folder / "data"
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C")
        self._databases = 0
        self.start()

    def _run(self, name: str, *arguments: object) -> None:
        command = [*self._as, str(BINARIES[-1] / name), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=120, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}{done.stdout}")

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c shared_buffers=32MB -c log_statement=none"
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def database(self) -> str:
        """The address of a new empty database."""
        self._databases += 1
        name = f"d{self._databases}"
        self._run("createdb", "-h", self.folder, "-U", "postgres", name)
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
