"""The client that sends: draws a report once, keeps it, and posts the same bytes until the shuffler has them.

It fails closed: without a publication of a publisher whose key it was given, without a place to remember what it sent,
or outside of the times of the plan, nothing is drawn and nothing is sent.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from .._support.files import write_new, write_whole
from .._support.locking import alone_with
from .._support.reading import Kind, NotJSONError, mapping, parse_json, read_json
from .._support.sockets import is_loopback
from ..errors import NotSentError, ParameterError, ShuffleDPError
from ..randomness.program import draw_rows
from . import oblivious_http as ohttp
from .keys import trusted
from .publication import Publication, Withdrawal
from .sealing import ID_BYTES, MEDIA_TYPE, Report, pack, seal

_PLANS = Kind("the list of plans", 2**27, "check the address of the service", "service")
_MOST_ANSWER = 2**16
#: The shuffler will never take this report: too late, or withdrawn.
_GONE = 410
#: The service's own sentence.
_ERROR = re.compile(r'"error": *"([^"\\]{1,300})')


class Sender:
    """One user's reports, from a verified plan to the shuffler's acknowledgment.

    Parameters
    ----------
    folder : where to remember what was drawn and sent; of this user alone, and never restored from a backup
    publishers : whose plans are answered: a folder of .pub files, or a list of such files, or of their lines
    service : address of the shuffler, https://... (http:// on this machine only)
    relay : address of an Oblivious HTTP relay that forwards to the shuffler's /ohttp; the shuffler then sees no address
    mirror : where /plans and /ohttp-keys are read, if not from the service itself: one address that is the same for
        all clients keeps the shuffler from giving a client a key of its own
    plain : post to /reports over TLS, without Oblivious HTTP
    timeout : seconds
    clock : the time, for tests

    Notes
    -----
    The client derives what it runs from the plan, which a publication cannot change, and draws it from the operating
    system's randomness; nothing but the sealed report leaves the process.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> trust = ["ed25519 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]
    >>> with TemporaryDirectory() as folder:
    ...     client = Sender(folder, publishers=trust, service="https://shuffler.example")
    ...     client.resend()  # nothing is kept
    0
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        publishers: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        service: str,
        relay: str | None = None,
        mirror: str | None = None,
        plain: bool = False,
        timeout: float = 30.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._publishers = trusted(publishers)
        if not self._publishers:
            raise ParameterError("publishers must hold at least one public key, got none; pass those you trust.")
        if plain and relay:
            raise ParameterError("plain must be left out with a relay, which forwards Oblivious HTTP only.")
        self._service = _address("service", service)
        self._target = _address("relay", relay) if relay else self._service + ("/reports" if plain else "/ohttp")
        self._mirror = _address("mirror", mirror) if mirror else self._service
        self._plain, self._timeout, self._clock = plain, timeout, clock
        self._kept = ReportFolder(folder)
        self._opener: OpenerDirector = build_opener(_NoRedirect)
        self.refused: list[str] = []

    # -- what is asked ----------------------------------------------------------------------------------------------

    def publications(self) -> list[Publication]:
        """The plans that the service offers and this client trusts, newest serial of each name, at this time.

        Why others were refused, a sentence each, is then in ``refused``.
        """
        raw = self._get("/plans", _PLANS.most_bytes)
        try:
            offered = parse_json(raw.decode("utf-8"), _PLANS, repr(self._mirror))
            publications, withdrawals = list(offered["publications"]), list(offered["withdrawals"])
        except (NotJSONError, UnicodeDecodeError, TypeError, KeyError):
            raise NotSentError(f"{self._mirror}/plans must be a list of plans, got something else; check it.") from None
        for envelope in withdrawals:
            with suppress(ParameterError):  # of another publisher
                void = Withdrawal.read(envelope, self._publishers)
                with self._kept.known(void.name) as known:
                    known["withdrawn"] = sorted({*known["withdrawn"], f"{void.key} {void.publication}"})
        newest: dict[str, Publication] = {}
        self.refused = []
        for envelope in publications:
            try:
                found = self.admitted(envelope)
            except ParameterError as error:
                self.refused.append(str(error))
                continue
            newest[found.name] = found  # an older one is not admitted after it
        return list(newest.values())

    def admitted(self, envelope: object) -> Publication:
        """A publication that this client trusts and may answer now; refused, in one sentence, if not."""
        found = Publication.read(envelope, self._publishers)
        name, serial = f"{found.name!r:.60}", found.serial
        with self._kept.known(found.name) as known:
            if known["key"] not in ("", found.key):
                raise ParameterError(
                    f"publication {name} must be signed by the key of those before, {known['key']}, got one of "
                    f"{found.key}; ask why."
                )
            if f"{found.key} {found.digest}" in known["withdrawn"]:
                raise ParameterError(f"publication {name} must not be withdrawn, got one that is; wait for a new one.")
            if serial < known["serial"]:
                raise ParameterError(
                    f"publication {name} must be the newest, serial {known['serial']}, got {serial}; fetch it."
                )
            if serial == known["serial"] and known["digest"] not in ("", found.digest):
                raise ParameterError(f"serial {serial} of {name} must be one publication, got another; ask why.")
            found.period_at(self._clock())
            known.update(serial=serial, digest=found.digest, key=found.key)
        return found

    # -- answering --------------------------------------------------------------------------------------------------

    def report(self, publication: object, value: Any = None, *, rows: Sequence[Any] | None = None) -> bool:
        """Answer a publication once in this period; return True if the shuffler has the report.

        publication : its name at the service, what :meth:`publications` gave, or its signed envelope
        value : of the column, or a mapping or a list with one entry per column; None: nothing
        rows : in place of a value, those of a user who has several, or none

        A second call in the same period draws nothing: it sends what was kept, or nothing if that was acknowledged
        (True) or came too late (False).  NotSentError: it is kept, and :meth:`resend` tries again.
        """
        found = self._named(publication) if isinstance(publication, str) else publication
        found = self.admitted(found.envelope if isinstance(found, Publication) else found)
        period = found.period_at(self._clock())
        record = self._kept.find(found.digest, period)
        if record is None:
            drawn = self._drawn(found, period, [value] if rows is None else rows)  # one that is refused claims nothing
            self._kept.claim(found.name, found.digest, period, now=self._clock(), until=found.window(period)[1])
            record = self._kept.create(drawn)
        return self._send(record)

    def resend(self) -> int:
        """Send every report that is kept; how many the shuffler took.

        NotSentError if the shuffler did not take one; the others are tried all the same.
        """
        taken, failed = 0, None
        for record in list(self._kept.unsent()):
            try:
                taken += self._send(record)
            except NotSentError as error:
                failed = error
        if failed:
            raise failed
        return taken

    def _named(self, name: str) -> Publication:
        for found in self.publications():
            if found.name == name:
                return found
        why = f" ({self.refused[0].rstrip('.')})" if self.refused else ""
        raise ParameterError(f"publication must be one that is offered and trusted now, got {name!r:.60}{why}; wait.")

    def _drawn(self, found: Publication, period: int, rows: Sequence[Any]) -> KeptReport:
        """A fresh report: every slot sealed on its own, blanks where there is no message, in a random order."""
        messages: list[bytes | None] = [*draw_rows(found.program, rows, secrets.token_bytes)]
        messages += [None] * (found.program["slots"] - len(messages))
        secrets.SystemRandom().shuffle(messages)  # that a message is the user's own must not show in its place
        digest = bytes.fromhex(found.digest)
        terms: dict[str, Any] = {"size": found.program["message_bytes"], "digest": digest, "period": period}
        sealed = b"".join(seal(message, public=found.sealing, **terms) for message in messages)
        body = pack(digest, period, [Report(secrets.token_bytes(ID_BYTES), sealed)])
        return KeptReport(found.digest, period, found.window(period)[1] + found.grace, "kept", body)

    def _send(self, record: KeptReport) -> bool:
        """Send a kept report; return True if the shuffler has it now."""
        if record.state != "kept":
            return record.state == "sent"
        if self._clock() > record.until:
            self._kept.settle(record, "missed")
            return False
        status, answer = self._posted(record.body)
        if status == 200:
            self._kept.settle(record, "sent")
            return True
        if status == _GONE:
            self._kept.settle(record, "missed")
        said = _ERROR.search(answer.decode("utf-8", "replace"))
        why, next_ = f" ({said[1]})" if said else "", "given up" if status == _GONE else "kept: send it again later"
        raise NotSentError(f"the shuffler must acknowledge the report, got status {status}{why}; it is {next_}.")

    # -- the network ------------------------------------------------------------------------------------------------

    def _posted(self, body: bytes) -> tuple[int, bytes]:
        """Status and content of the shuffler's answer."""
        if self._plain:
            return self._post(body, MEDIA_TYPE)
        host, fields = urlsplit(self._service).netloc, ((b"content-type", MEDIA_TYPE.encode("ascii")),)
        inner = ohttp.BinaryRequest("POST", "/reports", authority=host, fields=fields, content=body).encode()
        for _ in range(2):
            try:
                config = ohttp.decode_configs(self._get("/ohttp-keys", _MOST_ANSWER))[0]
                sealed, exchange = ohttp.encapsulate(config, inner)
                status, answer = self._post(sealed, ohttp.REQUEST)
                if status == 200:
                    found = ohttp.decode_message(exchange.open_answer(answer))
                    return (found.status, found.content) if isinstance(found, ohttp.BinaryResponse) else (502, b"")
            except ParameterError as error:  # not what a gateway answers
                raise NotSentError(str(error)) from None
            if status not in (400, 401, 409):  # else the key was rotated: fetch the new one, once
                break
        # a relay cannot end a report: what the shuffler says is in the sealed answer
        return (502 if status == _GONE else status), answer

    def _get(self, path: str, most: int) -> bytes:
        status, answer = self._asked(Request(self._mirror + path), most)
        if status != 200:
            raise NotSentError(f"{self._mirror}{path} must be readable, got status {status}; try again later.")
        return answer

    def _post(self, body: bytes, kind: str) -> tuple[int, bytes]:
        return self._asked(Request(self._target, body, {"Content-Type": kind}, method="POST"), _MOST_ANSWER)

    def _asked(self, request: Request, most: int) -> tuple[int, bytes]:
        request.add_header("User-Agent", "shuffledp")
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return answer.status, answer.read(most + 1)[:most]
        except HTTPError as error:
            with error:
                return error.code, error.read(_MOST_ANSWER)
        except (URLError, OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise NotSentError(
                f"{request.full_url} must answer, got {type(reason).__name__} ({reason!s:.100}); try again later."
            ) from None


class _NoRedirect(HTTPRedirectHandler):
    """A report goes where it was told to, or nowhere."""

    def redirect_request(self, *args: Any, **extra: Any) -> None:
        """None: a redirection is an answer like any other that is not 200."""


def _address(name: str, text: object) -> str:
    """An address without its last slash: TLS, or this machine."""
    parts = urlsplit(text) if isinstance(text, str) else urlsplit("")
    host = parts.hostname or ""
    safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    if not host or not safe or parts.query or parts.fragment:
        raise ParameterError(
            f"{name} must be an address that starts with https:// (http:// on this machine only), got {text!r:.100}; "
            "reports are not sent in the clear."
        )
    return str(text).rstrip("/")


# -- what a client remembers -------------------------------------------------------------------------------------------


_RECORD = Kind("a kept report", 2**22, "do not answer again in this period", "folder")
_SEEN = Kind("the list of seen plans", 2**24, "install the client again with an empty folder", "folder")
_KEYS = ("version", "digest", "period", "until", "state", "body")
_STATES = ("kept", "sent", "missed")
#: What is known of a name that was never seen.
_NONE: dict[str, Any] = {"serial": 0, "digest": "", "key": "", "withdrawn": []}


@dataclass(frozen=True)
class KeptReport:
    """A report of one plan and period.

    Attributes
    ----------
    until : time from which the shuffler takes it no more
    state : "kept" until the shuffler has it, then "sent"; "missed" if it came too late
    body : what is sent, the same bytes every time; erased once it is sent or missed
    """

    digest: str
    period: int
    until: float
    state: str
    body: bytes

    def text(self) -> str:
        """The file."""
        body = base64.b64encode(self.body).decode("ascii")
        return json.dumps({"version": 1, **vars(self), "body": body}) + "\n"


class ReportFolder:
    """The folder of a client's reports.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = ReportFolder(folder)
    ...     first, again = (kept.create(KeptReport(64 * "a", 3, 1e9, "kept", body)) for body in (b"one", b"two"))
    >>> first.body, again.body  # the second one is not kept
    (b'one', b'one')
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _no_state(self.folder, error) from None

    def _path(self, digest: str, period: int) -> Path:
        return self.folder / f"{digest[:32]}-{period}.json"

    def find(self, digest: str, period: int) -> KeptReport | None:
        """The report of this plan and period, if there is one; a damaged file is refused, and nothing is sent."""
        path = self._path(digest, period)
        return _read(path, digest) if os.path.lexists(path) else None

    def unsent(self) -> Iterator[KeptReport]:
        """All reports that the shuffler does not have yet."""
        for path in sorted(self.folder.glob("*-*.json")):
            found = _read(path)
            if found.state == "kept":
                yield found

    def create(self, record: KeptReport) -> KeptReport:
        """Keep a report durably, unless there is one of this plan and period; the one that is kept."""
        path = self._path(record.digest, record.period)
        try:
            with suppress(FileExistsError):
                write_new(path, record.text().encode("ascii"))
        except OSError as error:
            raise _no_state(self.folder, error) from None
        return _read(path, record.digest)

    def settle(self, record: KeptReport, state: str) -> None:
        """Note that a report was sent, or came too late, and erase its body."""
        done = replace(record, state=state, body=b"")
        write_whole(self._path(record.digest, record.period), done.text(), name="folder")

    # -- publications -----------------------------------------------------------------------------------------------

    def claim(self, name: str, digest: str, period: int, *, now: float, until: float) -> None:
        """Before a report is kept: until its period is over, no other plan or period of the name is answered."""
        mine = {"digest": digest, "period": period, "until": until}
        with self.known(name) as known:
            last = mapping("what was answered", known.get("answered", mine), needed=mine)
            if (last["digest"], last["period"]) != (digest, period) and now < last["until"]:
                raise ParameterError(
                    f"publication {name!r:.60} must be the one that this period was answered with, got another; "
                    "answer in the next period."
                )
            known["answered"] = mine

    @contextmanager
    def known(self, name: str) -> Iterator[dict[str, Any]]:
        """The newest publication of a name that was seen, its key, and those that were withdrawn, to be changed.

        What is changed is written down before anything is done with it; after an error nothing is.
        """
        path = self.folder / "publications.json"
        with alone_with(path, name="folder"):
            seen = read_json(path, _SEEN) if path.exists() else {}
            before = json.dumps(seen)
            found: Any = seen.setdefault(name, deepcopy(_NONE)) if isinstance(seen, dict) else None
            mapping("a seen plan", found, needed=_NONE, optional=["answered"])
            yield found
            if json.dumps(seen) != before:
                write_whole(path, json.dumps(seen) + "\n", name="folder")


def _read(path: Path, digest: str | None = None) -> KeptReport:
    found = mapping("a kept report", read_json(path, _RECORD), needed=_KEYS)
    try:
        body = base64.b64decode(found["body"], validate=True)
        made = KeptReport(found["digest"], int(found["period"]), float(found["until"]), found["state"], body)
        whole = found["version"] == 1 and made.state in _STATES and digest in (None, made.digest)
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ParameterError(
            f"a kept report must be one that this client wrote, got something else in {str(path)!r}; nothing is sent "
            "in its period."
        )
    return made


def _no_state(folder: Path, error: OSError) -> ShuffleDPError:
    return ShuffleDPError(
        f"a client must remember what it sent, got a folder where it cannot ({str(folder)!r}: "
        f"{error.strerror or error}); nothing is sent: choose a folder on a disk with links that it may write to."
    )
