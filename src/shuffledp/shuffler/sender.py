"""The client that sends: draws a report once, keeps it, and posts the same bytes until the shuffler has them.

It fails closed: without a publication of a publisher whose key it was given, without a place to remember what it sent,
or outside of the times of the plan, nothing is drawn and nothing is sent.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from .._support.reading import Kind, NotJSONError, parse_json
from .._support.sockets import is_loopback
from ..errors import NotSentError, ParameterError
from ..randomness.program import draw_rows, encoded_bytes
from . import bhttp, ohttp
from .kept import Kept, Record
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
    The law is that of ``portable`` in the publication, drawn from the operating system's randomness; nothing but the
    sealed report leaves the process.

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
        self._kept = Kept(folder)
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
                    known["withdrawn"] = max(known["withdrawn"], void.serial)
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
        with self._kept.known(found.name) as known:
            found.current(self._clock(), newest=known["serial"], withdrawn=known["withdrawn"])
            if found.serial == known["serial"] and known["digest"] not in ("", found.digest):
                raise ParameterError(
                    f"serial {found.serial} of {found.name!r:.60} must be one plan, got another; ask why."
                )
            known.update(serial=found.serial, digest=found.digest)
        return found

    # -- answering --------------------------------------------------------------------------------------------------

    def report(self, publication: object, value: Any = None, *, rows: Sequence[Any] | None = None) -> bool:
        """Answer a publication once in this period: whether the shuffler has the report.

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

    def _drawn(self, found: Publication, period: int, rows: Sequence[Any]) -> Record:
        """A fresh report: every slot sealed on its own, blanks where there is no message, in a random order."""
        messages = _messages(found, rows)
        messages += [None] * (found.portable["slots"] - len(messages))
        secrets.SystemRandom().shuffle(messages)  # that a message is the user's own must not show in its place
        digest = bytes.fromhex(found.digest)
        terms: dict[str, Any] = {"size": found.portable["message_bytes"], "digest": digest, "period": period}
        sealed = b"".join(seal(message, public=found.sealing, **terms) for message in messages)
        body = pack(digest, period, [Report(secrets.token_bytes(ID_BYTES), sealed)])
        return Record(found.digest, period, found.window(period)[1] + found.grace, "kept", body)

    def _send(self, record: Record) -> bool:
        """Send what is kept; whether the shuffler has it now."""
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
        inner = bhttp.Request("POST", "/reports", authority=host, fields=fields, content=body).encode()
        for _ in range(2):
            try:
                config = ohttp.decode_configs(self._get("/ohttp-keys", _MOST_ANSWER))[0]
                sealed, exchange = ohttp.encapsulate(config, inner)
                status, answer = self._post(sealed, ohttp.REQUEST)
                if status == 200:
                    found = bhttp.decode(exchange.open_answer(answer))
                    return (found.status, found.content) if isinstance(found, bhttp.Response) else (502, b"")
            except ParameterError as error:  # not what a gateway answers
                raise NotSentError(str(error)) from None
            if status not in (400, 401, 409):  # else the key was rotated: fetch the new one, once
                break
        return status, answer

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


def _messages(found: Publication, rows: Sequence[Any]) -> list[bytes | None]:
    """What the law gives; a signed one that cannot be run is refused like any other."""
    try:
        if encoded_bytes(found.portable["encoding"]) == found.portable["message_bytes"]:
            return [*draw_rows(found.portable, rows, secrets.token_bytes)]
    except ParameterError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError):
        pass
    raise ParameterError(f"the law of {found.name!r:.60} must be one that can be run, got another; ask its publisher.")


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
