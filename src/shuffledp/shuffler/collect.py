"""What the analyst does with a released period: open it, count it once, and know for how many users it speaks.

*Who is counted on.*  Messages are not linked to users, so that a bad message is one of any user.  Whoever sent one did
not run the plan, and hides nobody.  At most as many users sent bad messages as there are bad messages: copies, what
does not open, what no client sends, and blanks beyond those that reports leave free.  The guarantee is for the other
contributors.  A client that lies in the form of a proper report is not found here: ``colluding`` states how many of
these there may be.

*Who is estimated.*  Where every report has k messages, the proper messages are those of their number / k users; up to
k - 1 that are left over are dropped.  Where their number is random, users whose slots were all refused are taken to be
missing, which is the number that a client with nothing but bad messages takes away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from ..engines.base import Advance, quiet
from ..errors import ParameterError
from ..mechanisms.reports import Tally
from ..protocol.collector import Collector
from ..protocol.plan import Plan
from .opening import Job, Opened, counted, open_here, open_on_spark
from .publication import Publication, guarantee_of
from .released import Released


@dataclass(frozen=True)
class Counts:
    """What was found in a released period.

    Attributes
    ----------
    contributors, slots : users by their report ids, and sealed messages of each
    real, blank, refused : proper messages, blanks, and others by reason; together all sealed messages
    """

    contributors: int
    slots: int
    real: int
    blank: int
    refused: dict[str, int]

    def users(self, plan: Plan) -> int:
        """Users for whom the answer is estimated."""
        fewest, most = _limits(plan)
        if fewest == most:
            return self.real // fewest
        present = self.contributors - -(-sum(self.refused.values()) // self.slots)
        return min(present, self.real // fewest) if fewest else present

    def honest(self, plan: Plan) -> int:
        """Contributors who cannot have sent any of the bad messages, at least."""
        free = self.contributors * (self.slots - _limits(plan)[0])
        return max(0, self.contributors - sum(self.refused.values()) - max(0, self.blank - free))


def _limits(plan: Plan) -> tuple[int, int | None]:
    """The fewest and the most messages of a user."""
    fewest, most = plan.query.randomizer._message_limits
    return fewest * plan.reports_per_user, None if most is None else most * plan.reports_per_user


def collect(
    released: Released,
    publication: Publication,
    key: X25519PrivateKey,
    collector: Collector,
    *,
    engine: str = "local",
    session: Any = None,
    progress: Advance = quiet,
) -> tuple[Counts, bool]:
    """Open a released period and count it in a collector of its plan; what was found, and whether it is new there.

    engine : "local" (several processes if there is much to open), or "spark"
    session : that of Spark; the active one unless stated

    Nothing is counted unless every part has the bytes that the shuffler signed, and at least as many contributors as
    the plan's guarantee needs can have sent proper reports.  The plan of the collector then states the guarantee of
    what its clients run, which is charged for as many users as were reached, if these are more than planned.
    """
    if engine not in ("local", "spark"):
        raise ParameterError(f"engine must be 'local' or 'spark', got {engine!r:.40}; choose one of them.")
    plan, slots = collector.plan, int(publication.portable["slots"])
    if plan.digest != publication.digest:
        raise ParameterError("collector must be of the plan of the publication, got another; make a new one.")
    if key.public_key() != publication.sealing:
        raise ParameterError(
            "key must be the one that messages were sealed to, got another; take the analyst's of then."
        )
    released.verify()
    fewest, most = _limits(plan)
    spare = fewest - 1 if fewest == most else 0
    job = Job(publication.plan_text, key.private_bytes_raw(), released.manifest["period"], spare)
    found = (
        open_here(job, released, progress=progress)
        if engine == "local"
        else open_on_spark(job, released, session=session)
    )
    _drop_surplus(plan, found, spare)
    refused = {reason: number for reason, number in sorted(found.refused.items()) if number}
    counts = Counts(released.manifest["contributors"], slots, found.real, found.blank, refused)
    _refuse_few(plan, counts)
    users = counts.users(plan)
    _charge(plan, publication, max(users, *collector.batches.values(), 0))
    tally = Tally(found.counts, plan.query.randomizer.spec, users * plan.reports_per_user, None)
    return counts, collector.ingest_counts(released.manifest["batch"], users, tally)


def _charge(plan: Plan, publication: Publication, users: int) -> None:
    """Let the plan state the guarantee of what this many clients run, whose law costs some of delta."""
    found = guarantee_of(plan, publication.portable, users=users)
    vars(plan)["guarantee"] = replace(plan.guarantee, epsilon=max(plan.epsilon, found["epsilon"]))


def _drop_surplus(plan: Plan, found: Opened, spare: int) -> None:
    """Leave out messages that make up no whole report; the order is random, so it does not matter which."""
    surplus = found.real % (spare + 1)
    if surplus:
        found.counts = found.counts - counted(plan, found.spare[:surplus]).counts
        found.real -= surplus
        found.refused["surplus"] += surplus


def _refuse_few(plan: Plan, counts: Counts) -> None:
    honest = counts.honest(plan)
    if honest < plan.smallest_batch or not counts.real:
        bad = ", ".join(f"{number:,} {reason}" for reason, number in counts.refused.items()) or "none refused"
        raise ParameterError(
            f"at least {plan.smallest_batch:,} contributors must have sent proper reports for the guarantee of this "
            f"plan, got {honest:,} of {counts.contributors:,} who can have ({bad}); nothing is counted: publish with a "
            "larger minimum, which leaves room for broken clients."
        )
