"""The answer as a page that stands alone: question, figure, table, privacy statement and the plan."""

from __future__ import annotations

import html
import json

from .._support.figures import inline_svg
from .._support.tables import as_page
from .._support.text import visible
from ..estimation.estimate import Estimate
from ..protocol.collector import Collector
from ..queries.quantiles import Quantiles


def answer_page(answer: Estimate | Quantiles, collector: Collector) -> str:
    """One HTML file: nothing in it is loaded from elsewhere, and every text of the plan is escaped."""
    plan = collector.plan
    picture = inline_svg(answer.plot())
    title = plan.name or plan.query.question
    body = (
        f"<h1>{html.escape(visible(title))}</h1>\n"
        f"<p>{html.escape(plan.query.question[:1].upper() + plan.query.question[1:])}, "
        f"from {collector.users:,} users.</p>\n{picture}\n<h2>What is guaranteed</h2>\n"
        f"<p>{html.escape(collector.statement())}</p>\n<h2>Answer</h2>\n{answer.table().html()}\n"
        f"<p>{html.escape(answer.lies(plan.message_word))}</p>\n"
        f"<h2>Plan</h2>\n<pre>{html.escape(json.dumps(plan.to_dict(), indent=2, ensure_ascii=False))}</pre>"
    )
    return as_page(title, body)
