"""The last Runs of a dataset as a strip, by their ends: a list of datasets has hundreds of them."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from livedata.store.browsing.earlier import RunEnd


def strip(runs: Sequence[RunEnd]) -> Markup:
    """The ends of Runs that stand newest first, as links; the oldest comes first."""
    if not runs:
        return Markup('<span class="none">none yet</span>')
    items = "".join(map(_item, reversed(runs)))
    told = f"The last {len(runs)} Runs, the oldest first"
    return Markup(f'<ol class="strip" aria-label="{told}">{items}</ol>')  # noqa: S704  (all ours)


def _item(run: RunEnd) -> str:
    told = f"{run.status}, {run.at[:10]} {run.at[11:16]} UTC"
    return (
        f'<li><a class="end {run.status}" href="/runs/{run.run}" title="{told}">'
        f'<span class="unseen">{told}</span></a></li>'
    )
