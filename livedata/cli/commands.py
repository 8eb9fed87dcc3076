"""The table of all commands: where each is, and the line of it in the help of its group.

It names them as text, so that help, completion and a wrong usage import nothing of them. A line is
the first sentence of what the command says itself, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Table: TypeAlias = "Mapping[str, tuple[str, str | Table]]"
"""Name -> (help line, `module:name` of the command, or the commands of a group)."""

_DATASET: Table = {
    "create": (
        "Create a dataset from the declaration in SOURCE, a .toml or .json file.",
        "livedata.cli.dataset.declaration:create_dataset",
    ),
    "list": ("List datasets, newest first.", "livedata.cli.dataset.show:list_datasets"),
    "show": (
        "Show dataset D: its state, its columns and its last Run.",
        "livedata.cli.dataset.show:show_dataset",
    ),
    "update": ("Change dataset D: what is not given stays.", "livedata.cli.dataset.update:update"),
    "delete": (
        "Delete dataset D with all its rows and history; the ledger keeps what it cost.",
        "livedata.cli.dataset.update:delete_dataset",
    ),
    "source": (
        "Print what dataset D was declared with, as TOML that create reads back.",
        "livedata.cli.dataset.declaration:print_source",
    ),
    "revise": (
        "Read dataset D by SOURCE from now on; columns may come and go, history stays.",
        "livedata.cli.dataset.declaration:revise_dataset",
    ),
    "suggest": (
        "Propose a source for dataset D, whose page has changed.",
        "spiders.cli.suggest:suggest_source",
    ),
    "test": (
        "Test a source on the pages that livedata preview SOURCE --save DIR has kept.",
        "spiders.cli.source_test:run_test",
    ),
    "export": (
        "Export the rows of dataset D in the order in which Runs found them.",
        "livedata.cli.dataset.export:export",
    ),
    "diff": (
        "Show what became of the table of dataset D between two moments, or up to now.",
        "livedata.cli.dataset.diff:diff",
    ),
    "import": (
        "Import the dataset of an archive that livedata dataset export --archive has written.",
        "livedata.cli.dataset.export:read_archive",
    ),
    "report": (
        "Write a report of dataset D: its table, what changed, and how its numbers developed.",
        "livedata.cli.dataset.report:write_report",
    ),
}

_SCHEMA: Table = {
    "source": (
        "Print the JSON Schema of a source file, by which editors complete and check it.",
        "livedata.cli.lint:print_schema",
    ),
}

_RESEARCH: Table = {
    "plan": ("Let the model plan a table that answers PROMPT.", "livedata.cli.research.plan:plan"),
    "create": (
        "Create a research dataset from a question or from a plan.",
        "livedata.cli.research.create:create",
    ),
    "try": (
        "Ask the model about one page, and print what it understood.",
        "livedata.cli.research.try_model:try_model",
    ),
    "eval": (
        "Measure how well the model fills a table that is known.",
        "livedata.cli.research.evaluate:evaluate",
    ),
    "replay": (
        "Make a Run again from what it recorded, or from a TAPE.",
        "livedata.cli.research.replay:replay_run",
    ),
    "export": (
        "Write Run R, or the last Run of dataset R, as a tape.",
        "livedata.cli.research.replay:export_tape",
    ),
}

_RUNS: Table = {
    "list": (
        "List the recent Runs of dataset D, newest first.",
        "livedata.cli.runs.list:list_runs",
    ),
    "show": (
        "Show Run R, or the last Run of dataset R: its Checks, its pages, and why it ended so.",
        "livedata.cli.runs.show:show_run",
    ),
    "explain": (
        "Say why Run R, or the last Run of dataset R, ended as it did, and what to try next.",
        "livedata.cli.runs.explain:explain",
    ),
    "trace": (
        "Show what Run R, or the last Run of dataset R, did step by step, and how long that took.",
        "livedata.cli.runs.recorded:show_trace",
    ),
    "artifacts": (
        "List what was recorded while Run R, or the last Run of dataset R, was made.",
        "livedata.cli.runs.recorded:print_artifacts",
    ),
    "accept": (
        "Accept the output of held Run R as it stands; it is charged as any accepted Run.",
        "livedata.cli.runs.decision:accept_run",
    ),
    "cancel": (
        "Cancel Run R, or the open Run of dataset R, wherever it is executed: nothing is written.",
        "livedata.cli.runs.decision:cancel_run",
    ),
}

_ROWS: Table = {
    "list": (
        "List the rows of dataset D as they are now, or at WHEN, the latest updated first.",
        "livedata.cli.rows.list:list_rows",
    ),
    "show": (
        "Show a row of dataset D, by its key or id: each cell with where it was read.",
        "livedata.cli.rows.show:show_row",
    ),
    "edit": (
        "Set cells of a row of dataset D by hand; Runs keep what you write.",
        "livedata.cli.rows.edit:edit_row",
    ),
    "reset": (
        "Give cells of a row of dataset D back to the source: its latest value shows again.",
        "livedata.cli.rows.edit:reset_row",
    ),
}

_SHARE: Table = {
    "add": (
        "Print a new address of the table of dataset D, for spreadsheets and programs.",
        "livedata.cli.addresses:add_share",
    ),
    "list": (
        "List the addresses of tables, or of dataset D, without what opens them.",
        "livedata.cli.addresses:list_shares",
    ),
    "revoke": (
        "End an address of a table at once.",
        "livedata.cli.addresses:revoke_share",
    ),
}

_NOTICE: Table = {
    "add": ("Add a notice: whom to tell, and of what.", "livedata.cli.add_notice:add"),
    "list": (
        "List the notices, without secrets and passwords.",
        "livedata.cli.notices:list_notices",
    ),
    "test": (
        "Deliver a message now that says it is a test.",
        "livedata.cli.notices:test_notice",
    ),
    "try": (
        "List what a notice would have told, and tell nobody.",
        "livedata.cli.notices:try_notice",
    ),
    "remove": (
        "Remove a notice, with what still waits to be delivered.",
        "livedata.cli.notices:remove_notice",
    ),
}

_KEY: Table = {
    "create": (
        "Make a key for an owner; this is the only time that it is shown.",
        "livedata.cli.accounts:create_key",
    ),
    "list": (
        "List the keys of everyone, or of --owner, without their secrets.",
        "livedata.cli.accounts:list_keys",
    ),
    "revoke": (
        "End a key at once, named by its id or the beginning or end of it.",
        "livedata.cli.accounts:revoke_key",
    ),
}

_CREDITS: Table = {
    "grant": (
        "Add N credits; a negative N takes some away.",
        "livedata.cli.accounts:grant_credits",
    ),
}

COMMANDS: Table = {
    "demo": ("Show what livedata does, without any set-up or network.", "livedata.cli.demo:demo"),
    "init": ("Look at a page, and write a source.toml for its list.", "spiders.cli.init:init"),
    "import": (
        "Write a source for each address of a list, or of what another tool watches.",
        "livedata.cli.import_sources:import_sources",
    ),
    "preview": (
        "Try a source: what it finds, and what a Run would say.",
        "spiders.cli.preview:preview",
    ),
    "lint": (
        "Judge source files as create would, and warn of what a careful person would question.",
        "livedata.cli.lint:lint",
    ),
    "schema": ("Print the JSON Schema of what livedata reads.", _SCHEMA),
    "dataset": ("Create, list, change and export datasets.", _DATASET),
    "apply": (
        "Make the datasets agree with the sources below DIR.",
        "spiders.cli.apply:apply",
    ),
    "research": ("Make a table from a question, with a model.", _RESEARCH),
    "run": ("Run datasets now.", "spiders.cli.run:run"),
    "execute": (
        "Execute one queued Run, of any owner, for an engine of your own.",
        "spiders.cli.run:execute",
    ),
    "runs": ("Look at Runs, and accept held ones.", _RUNS),
    "rows": ("Look at rows and their evidence, and edit them.", _ROWS),
    "changes": ("Print the history of a dataset, or follow it.", "livedata.cli.changes:changes"),
    "serve": (
        "Serve pages and the HTTP API, follow the schedules, and execute Runs.",
        "livedata.cli.serve:serve",
    ),
    "open": ("Look at the datasets in a browser.", "livedata.cli.open_pages:open_pages"),
    "worker": (
        "Execute Runs and follow the schedules, without the API.",
        "livedata.cli.serve:worker",
    ),
    "mcp": ("Answer agents about your tables.", "livedata.cli.mcp:mcp"),
    "notice": ("Be told of changes and of trouble.", _NOTICE),
    "feed": (
        "Print the address of a feed of a dataset's changes.",
        "livedata.cli.addresses:feed",
    ),
    "share": ("Share tables at addresses, for spreadsheets and programs.", _SHARE),
    "key": ("Create, list and revoke API keys.", _KEY),
    "credits": ("Grant credits.", _CREDITS),
    "usage": (
        "Show the balance and the ledger of the last 30 days.",
        "livedata.cli.accounts:show_usage",
    ),
    "backup": ("Copy the whole store into one file.", "livedata.cli.upkeep:back_up"),
    "check": ("Judge the store, and say what is wrong.", "livedata.cli.upkeep:check_store"),
    "doctor": (
        "Say how the whole is doing, and what needs you.",
        "livedata.cli.doctor:report_state",
    ),
    "prune": ("Delete what is old.", "livedata.cli.upkeep:prune_store"),
}
