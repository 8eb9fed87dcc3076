"""Remedies -> the commands and settings of this machine, as a person may paste them.

Only here a command is written for a person.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.messages.remedies import advice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from livedata.model.problem import Param, Params, Problem, Remedy

    Commands = Mapping[str, Callable[["Subject", Params], str]]


SOURCE_FILE: Final = "source.toml"
DAILY: Final = "0 6 * * *"
GRANT: Final = 1000
"""How many credits a command adds if nothing says how many are missing."""


class Subject(Struct, frozen=True):
    """What a hint is about: its commands name the owner, the dataset and the Run."""

    owner: str = "local"
    dataset: str = ""
    run: str = ""

    def command(self, path: str, *names: str, options: Iterable[str] = ()) -> str:
        """Write ``livedata PATH NAMES`` for a POSIX shell, with the options and the owner."""
        flags = [quoted(option) for option in options]
        # Without it a pasted command would look for the dataset among those of another owner.
        if self.owner != "local":
            flags.append(f"--owner {quoted(self.owner)}")
        words = [quoted(name) for name in names]
        # A dataset may be called "-x". Behind two hyphens nothing is an option, so options stand
        # before them; usually they stand behind the names, where people write them.
        if any(name.startswith("-") for name in names):
            return " ".join(["livedata", path, *flags, "--", *words])
        return " ".join(["livedata", path, *words, *flags])


def quoted(word: str) -> str:
    """Quote a word for the shell; a control character is written out."""
    # A name may come from a site or from another person: pasted, it must stay one word.
    if word.isprintable():
        return quote(word)
    # Of the forms that a shell knows only $'...' reads escapes.
    return f"$'{''.join(_escaped(character) for character in word)}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    # \U ends after eight digits, so a digit that follows in the word is not taken for one of them.
    return character if character.isprintable() else f"\\U{ord(character):08x}"


class Try(Struct, frozen=True):
    """What a person may try: in words without a last point, and its command if it has one."""

    remedy: Remedy
    words: str
    command: str | None

    @property
    def line(self) -> str:
        """Both; the command follows the last colon."""
        return f"{self.words}." if self.command is None else f"{self.words}: {self.command}"


def tries(remedies: Iterable[Remedy], about: Subject) -> list[Try]:
    """Say what a person may try; to mend a source, it is tried as a file."""
    listed = list(remedies)
    mends = any(remedy.code == "revise" for remedy in listed)
    commands = {**_COMMANDS, **_TO_MEND} if mends else _COMMANDS
    return [_try(each, about, commands) for each in listed]


def hints(remedies: Iterable[Remedy], about: Subject) -> list[str]:
    """Say what a person may try, a line each; a command follows the last colon of its line."""
    return [each.line for each in tries(remedies, about)]


def is_of_the_machine(remedy: Remedy) -> bool:
    """Tell whether a remedy changes how livedata is set up; no sentence of a Run says how to."""
    return remedy.code in {*_SETTINGS, *_EXTRAS, "install_browser"}


def machine_hints(problem: Problem | None, about: Subject) -> list[str]:
    """Return the remedies of `problem` that change the set-up of this machine, a line each."""
    remedies = problem.remedies if problem is not None else ()
    return hints(filter(is_of_the_machine, remedies), about)


def hint(remedy: Remedy, about: Subject) -> str:
    """Say one remedy in words, with its command or its settings if it has any."""
    return _try(remedy, about, _COMMANDS).line


def _try(remedy: Remedy, about: Subject, commands: Commands) -> Try:
    return Try(remedy, _words(remedy), _command(remedy, about, commands))


def _words(remedy: Remedy) -> str:
    if remedy.code == "set_option":
        name, value = remedy.params["name"], remedy.params["value"]
        return f"Set {name} = {_toml(value)} in the source"
    if remedy.code in _SETTINGS:
        return f"{advice(remedy)}: {_SETTINGS[remedy.code].format_map(remedy.params)}"
    return advice(remedy)


def _command(remedy: Remedy, about: Subject, commands: Commands) -> str | None:
    if remedy.code in _EXTRAS:
        return install_command(_EXTRAS[remedy.code])
    command = commands.get(remedy.code)
    return None if command is None else command(_named(about, remedy.params), remedy.params)


def _named(about: Subject, params: Params) -> Subject:
    """Return the subject with what the remedy itself names in place of its own."""
    own: dict[str, Any] = {
        name: params[name] for name in ("owner", "dataset", "run") if name in params
    }
    return replace(about, **own)


def _toml(value: Param) -> str:
    """Write a value as a source.toml has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _preview(about: Subject, params: Params) -> str:
    return about.command("preview", about.dataset, options=_pages(params))


def _preview_file(about: Subject, params: Params) -> str:
    trial = about.command("preview", SOURCE_FILE, options=_pages(params))
    # && and not ;: a source that could not be written is no source to try.
    return f"{_source_file(about, params)} && {trial}"


def _pages(params: Params) -> list[str]:
    return ["--pages", str(params["pages"])] if "pages" in params else []


def _source_file(about: Subject, _params: Params) -> str:
    return f"{about.command('dataset source', about.dataset)} > {SOURCE_FILE}"


def _run(about: Subject, _params: Params) -> str:
    return about.command("run", about.dataset)


def _accept(about: Subject, _params: Params) -> str:
    return about.command("runs accept", about.run)


def _grant(about: Subject, params: Params) -> str:
    return about.command("credits grant", str(params.get("credits", GRANT)))


def _clear(about: Subject, params: Params) -> str:
    row, column = str(params["row"]), str(params["column"])
    return about.command("rows edit", about.dataset, row, f"{column}=")


def _update(*options: str) -> Callable[[Subject, Params], str]:
    return lambda about, _: about.command("dataset update", about.dataset, options=options)


_SETTINGS: Final[Mapping[str, str]] = {
    "use_proxy": 'LIVEDATA_PROXY names one; proxy = "auto" in the source uses it after a refusal',
    "more_page_time": "LIVEDATA_PAGE_SECONDS says how much there is",
    "more_run_time": "LIVEDATA_RUN_SECONDS says how much there is",
    "more_memory": "LIVEDATA_CRAWLER_MEMORY says how much it may hold",
    "allow_host": "LIVEDATA_ALLOW_HOSTS={host}",
    "name_host": "LIVEDATA_ONLY_HOSTS would have to hold {host}",
    "name_site": "--sites of livedata mcp would have to hold {host}",
    "name_proxy": "LIVEDATA_PROXY names it",
    "check_proxy": "LIVEDATA_PROXY names it",
    "check_proxy_credentials": "LIVEDATA_PROXY holds them",
    "name_browser": "LIVEDATA_BROWSER names it",
    "name_model": "LIVEDATA_MODEL=qwen3 and LIVEDATA_MODEL_BASE_URL=http://127.0.0.1:11434/v1",
    "check_model": (
        "LIVEDATA_MODEL_BASE_URL, LIVEDATA_MODEL_API_KEY, and LIVEDATA_MODEL_OUTPUT, of which "
        "livedata research try says what the server understands"
    ),
    "more_a_day": (
        "LIVEDATA_RESEARCH_TOKENS_A_DAY and LIVEDATA_RESEARCH_USD_A_DAY say how much each owner has"
    ),
    "name_search": "LIVEDATA_SEARCH=searxng with LIVEDATA_SEARCH_URL, or LIVEDATA_SEARCH=tavily",
    "name_price": "LIVEDATA_MODEL_PRICE_IN and LIVEDATA_MODEL_PRICE_OUT",
    "more_time": "LIVEDATA_PAGE_SECONDS and LIVEDATA_RUN_SECONDS say how much there is",
}
"""Code of a remedy -> the settings of the person who runs livedata."""

_EXTRAS: Final[Mapping[str, str]] = {
    "install_browser_support": "browser",
    "install_research": "research",
    "install_notify": "notify",
    "install_tables": "tables",
    "install_postgres": "postgres",
    "install_metrics": "metrics",
    "install_mcp": "mcp",
    "install_celery": "celery",
    "install_import": "import",
}
"""Code of a remedy -> the extra of livedata that it installs."""

_COMMANDS: Final[Commands] = {
    "install_browser": lambda *_: (
        f"{quoted(sys.executable)} -m playwright install --with-deps --only-shell chromium"
    ),
    "preview": _preview,
    "compare_source": _preview,
    "revise": lambda about, _: about.command("dataset revise", about.dataset, SOURCE_FILE),
    "show_page": lambda about, _: about.command("runs explain", about.run, options=["--page"]),
    "show_run": lambda about, _: about.command("runs show", about.run),
    "explain": lambda about, _: about.command("runs explain", about.run),
    "run_again": _run,
    "run_later": _run,
    "run_once_changed": _run,
    "run_first": _run,
    "take_up": _run,
    "cancel": lambda about, _: about.command("runs cancel", about.run),
    "confirm_loss": _run,
    "run_less_often": _update("--schedule", DAILY),
    "start_schedule": _update("--status", "active"),
    "accept": _accept,
    "accept_loss": _accept,
    "accept_paid": _accept,
    "grant_credits": _grant,
    "init": lambda *_: "livedata init",
    "check_store": lambda *_: "livedata check",
    "list_datasets": lambda about, _: about.command("dataset list"),
    "list_keys": lambda *_: "livedata key list",
    "list_shares": lambda about, _: about.command("share list"),
    "revoke_share": lambda about, given: about.command("share revoke", str(given["id"])),
    "remove_notice": lambda about, given: about.command("notice remove", str(given["name"])),
    "create_key": lambda about, _: about.command("key create"),
    "create_dataset": lambda about, given: about.command("dataset create", str(given["file"])),
    "suggest_source": lambda about, _: about.command("dataset suggest", about.dataset),
    "pin_source": lambda about, given: about.command(
        "dataset revise", about.dataset, str(given["file"])
    ),
    "export": lambda about, _: about.command("dataset export", about.dataset),
    "clear_cell": _clear,
    "key_of_its_own": _source_file,
    "key_by": _source_file,
}
"""Code of a remedy -> its command."""

_TO_MEND: Final[Commands] = {"preview": _preview_file}
"""The same if the source is to be mended: a person needs it in a file, and tries that file."""


def install_command(extra: str) -> str:
    """The command that brings an extra of livedata to the Python of this process.

    It names the packages and not ``livedata[EXTRA]``: the folder that livedata came from may be
    gone, and on an index anybody could have taken the name.
    """
    # The Python of this process: another one on the PATH would install it where nobody looks.
    python = quote(sys.executable)
    # What uv makes has no pip.
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return " ".join([pip, *map(quote, packages(extra))])


def packages(extra: str) -> list[str]:
    """What an extra asks for, as pip reads it, such as ``playwright<2,>=1.60``."""
    # Imported here: only who lacks a package pays for it.
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    asked = []
    for requirement in map(Requirement, requires("livedata") or ()):
        marker, requirement.marker = requirement.marker, None
        if marker is not None and marker.evaluate({"extra": extra}):
            asked.append(str(requirement))
    return asked
