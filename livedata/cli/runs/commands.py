"""The command line of ``runs``: click alone; what a command does is imported when it runs."""

from __future__ import annotations

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options, limit_option


@click.group()
def runs() -> None:
    """Look at Runs, and accept held ones."""


@runs.command()
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@common_options
def trace(ctx: CommandContext, run: str) -> None:
    """Show what Run R, or the last Run of dataset R, did step by step, and how long that took."""
    from livedata.cli.runs.trace import show_trace

    show_trace(ctx, run)


@runs.command()
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@click.argument("artifact", metavar="[ARTIFACT]", required=False)
@common_options
def artifacts(ctx: CommandContext, run: str, artifact: str | None) -> None:
    """List what was recorded while Run R, or the last Run of dataset R, was made.

    With ARTIFACT, an id or the end of one, print that with its body.
    """
    from livedata.cli.runs.artifacts import list_artifacts, show_artifact

    if artifact is None:
        list_artifacts(ctx, run)
    else:
        show_artifact(ctx, run, artifact)


@runs.command()
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@click.option("--page", is_flag=True, help="Print the page that stopped the Run, as it was read.")
@click.option(
    "--screenshot",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write the picture of that page, where a browser made one.",
)
@click.option("--entity", metavar="NAME", help="Say what became of this row or name.")
@click.option("--field", metavar="F", help="With --entity: of this column, by its id or label.")
@click.option("--summary", is_flag=True, help="Sum up what became of all entities.")
@common_options
def explain(
    ctx: CommandContext,
    run: str,
    page: bool,
    screenshot: str | None,
    entity: str | None,
    field: str | None,
    summary: bool,
) -> None:
    """Say why Run R, or the last Run of dataset R, ended as it did, and what to try next.

    What it suggests is for you to judge: nothing is ever changed by it.
    """
    if page or screenshot is not None:
        from livedata.cli.runs.explain import show_page

        show_page(ctx, run, print_markup=page, screenshot=screenshot)
    elif summary or entity is not None or field is not None:
        from livedata.cli.runs.diagnosis import diagnose_run

        diagnose_run(ctx, run, entity=entity, field=field, summary=summary)
    else:
        from livedata.cli.runs.explain import explain_run

        explain_run(ctx, run)


@runs.command("list")
@click.argument("dataset", metavar="D", shell_complete=complete_dataset)
@limit_option(20, 100, "Runs")
@common_options
def list_(ctx: CommandContext, dataset: str, limit: int) -> None:
    """List the recent Runs of dataset D, newest first."""
    from livedata.cli.runs.list import list_runs

    list_runs(ctx, dataset, limit)


@runs.command()
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@common_options
def show(ctx: CommandContext, run: str) -> None:
    """Show Run R, or the last Run of dataset R: its Checks, its pages, and why it ended so."""
    from livedata.cli.runs.show import show_run

    show_run(ctx, run)


@runs.command()
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@common_options
def accept(ctx: CommandContext, run: str) -> None:
    """Accept the output of held Run R as it stands; it is charged as any accepted Run."""
    from livedata.cli.runs.accept import accept_run

    accept_run(ctx, run)
