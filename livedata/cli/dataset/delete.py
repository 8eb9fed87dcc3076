"""``dataset delete``: a dataset is deleted with everything in it."""

from __future__ import annotations

import sys

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.messages.controls import escape_controls
from livedata.messages.templates import plural
from livedata.model.dataset import Dataset
from livedata.services import datasets, queries


@click.command("delete")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def delete_dataset(ctx: CommandContext, name: str, yes: bool) -> None:
    """Delete dataset D with all its rows and history; the ledger keeps what it cost."""
    with ctx.writing() as store:
        # Read before it is deleted: the answer is the dataset as it was.
        dataset_id = queries.find_dataset(store, ctx.owner, name)
        dataset = queries.dataset(store, ctx.owner, dataset_id)
        # A site shows what it has today: history that is deleted by mistake cannot be read again.
        if not yes:
            _confirm(f"Delete {escape_controls(dataset['name'])} with {_contents(dataset)}?")
        datasets.remove(store, ctx.owner, dataset_id)
    if ctx.json:
        print_json(dataset)
    else:
        print_text(f"Deleted {dataset['name']}.")


def _contents(dataset: Dataset) -> str:
    count = dataset["rowCount"]
    return f"{plural(count, 'row')} and all {'its' if count == 1 else 'their'} history"


def _confirm(question: str) -> None:
    """Ask, and end the command unless the answer is yes."""
    try:
        # On stderr: stdout may have the JSON that a program reads.
        sure = click.confirm(question, err=True)
    except click.Abort:
        # Ctrl-C and the end of the input leave the cursor behind the question.
        print_message("")
        raise
    if not sure:
        # The Enter of a person ends the line of the question; the answer of a pipe does not.
        if not sys.stdin.isatty():
            print_message("")
        print_message("Nothing was deleted.")
        raise click.exceptions.Exit(1)
