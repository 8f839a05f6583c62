"""The design review of a recommendation as a self-contained page: it loads nothing from elsewhere."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from .._support.figures import inline_svg
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, as_page
from .._support.text import shortened, visible
from ..accounting.amplification import amplify
from ..accounting.guarantee import OWN_DATA, TRUST
from ..errors import ShuffleDPError
from ..protocol.statement import statement_of
from .candidates import Choice
from .code import command_line, python_code
from .drawing import draw_budgets, draw_recommendation

if TYPE_CHECKING:
    from .recommendation import Recommendation


#: Names of mechanisms do not wrap; wide content scrolls, or shrinks, on a narrow screen.
_STYLE = (
    "td:first-child{white-space:nowrap}table{display:block;overflow-x:auto}svg{max-width:100%;height:auto}"
    "pre{background:#f4f4f4;padding:.6em;overflow-x:auto}"
)
#: Bounds whose proof in ball arithmetic is tried, the smallest first.
_CERTIFIED = ("auto", "blanket", "variation-ratio")


def review_page(found: Recommendation, choice: Choice) -> str:
    """One HTML file: statement, assumptions, ranking, curves, certificate and the code that makes them again."""
    title = f"Design review: {found.task}, {found.n:,} users"
    names, reasons = ([getattr(no, key) for no in found.refused] for key in ("mechanism", "reason"))
    parts = [
        f"<h1>{_text(title)}</h1>",
        _paragraphs(found.statement_of(choice)),
        "<h2>Question</h2>",
        _asked(found, choice).html(),
        "<h2>What must be trusted</h2>",
        _list(_assumptions(found, choice)),
        "<h2>For people who sign</h2>",
        _signed(found, choice),
        "<h2>Ranking</h2>",
        inline_svg(draw_recommendation(found)),
        found.table().html(),
        _list(found.comparison),
        "<h2>How the guarantee depends on users and δ</h2>",
        inline_svg(draw_budgets(found, choice)),
        "<h2>Certificate</h2>",
        _certificate(found, choice),
        "<h2>The same in code</h2>",
        f"<pre>{_text(python_code(found))}</pre><pre>{_text(command_line(found))}</pre>",
        "<h2>Not ranked</h2>",
        Table((Column(head="mechanism", values=names), Column(head="why", values=reasons))).html(),
    ]
    return as_page(title, "\n".join(parts), style=_STYLE)


def _text(text: str) -> str:
    """Escaped; line breaks of code stay."""
    return "\n".join(html.escape(visible(line)) for line in text.split("\n"))


def _paragraphs(*texts: str) -> str:
    return "\n".join(f"<p>{_text(text)}</p>" for text in texts if text)


def _list(texts: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(text)}</li>" for text in texts) + "</ul>"


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else shortened(str(value), 40)


def _asked(found: Recommendation, choice: Choice) -> Table:
    sizes = ", ".join(f"{key} = {_shown(value)}" for key, value in found.question.sizes.items())
    target = f"error of at most {found.error:g}" if found.error is not None else f"eps = {round_down(found.epsilon)}"
    most = (("messages", found.messages), ("bits", found.bits), ("of local eps", found.local_epsilon))
    limits = [f"{value:g} {key}" for key, value in most if value]
    away = f", of whom up to {found.dropouts:,} may be missing" if found.dropouts else ""
    return Table.facts(
        [
            ("task", f"{found.task} ({sizes})" if sizes else found.task),
            ("users", f"{found.n:,}{away}"),
            ("rounds", f"{found.rounds:,}"),
            ("target", f"{target} at delta = {round_up(found.delta, 6)} over all rounds"),
            ("limits per user and round", " and ".join(limits)),
            ("errors are in", found.measure),
            *((f"predicted error, {one.item}", one.text) for one in found.predicted(choice)),
        ]
    )


def _assumptions(found: Recommendation, choice: Choice) -> list[str]:
    local = (
        "If the shuffler fails, nothing remains: a single message can reveal its sender's value."
        if math.isinf(choice.local_epsilon)
        else f"If the shuffler fails, eps0 = {round_up(choice.local_epsilon)} over all rounds remains, to every user."
    )
    counted = f"At least {found.counted:,} honest users send a report in every round; smaller batches are not released."
    rounds = (
        "The guarantee is for one round."
        if found.rounds == 1
        else f"The guarantee is for {found.rounds:,} rounds on the same users, each with fresh randomness; {OWN_DATA}."
    )
    trust = TRUST[:1].upper() + TRUST[1:] + "."
    return [trust, counted, rounds, local, "Errors are predicted, not measured: root mean square over repetitions."]


def _signed(found: Recommendation, choice: Choice) -> str:
    """The statement of the plan, its headings below those of the review."""
    said = statement_of(found.plan(choice), rounds=found.rounds, epsilon=choice.epsilon)
    return said.body().replace("<h2>", "<h3>").replace("</h2>", "</h3>")


def _certificate(found: Recommendation, choice: Choice) -> str:
    """What can be proved in ball arithmetic, for one round."""
    run, said = found.mechanism_of(choice), []
    for bound in _CERTIFIED:
        try:
            proved = amplify(run, n=found.counted, delta=found.delta, bound=bound, certify=True)
        except ShuffleDPError as error:
            said.append(f"Bound {bound}: {error}")
            continue
        if math.isfinite(proved.epsilon):
            return _paragraphs("For one round:" if found.rounds > 1 else "", str(proved))
        said.append(f"Bound {bound}: no finite eps is proved.")
    return _paragraphs("No bound of this mechanism is certified in ball arithmetic.") + _list(said)
