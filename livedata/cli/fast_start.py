"""What makes a command start fast; all that is done for that alone stands here.

**Imports wait.** A command is one file with ordinary imports, but its help, its completion and a
wrong usage use click alone. So `load` executes that file with its imports put off until it looks
one of their names up, as the language itself can from Python 3.15 on (PEP 810). That makes
`livedata rows list --help` 56 ms of processor time instead of 115, `livedata preview --help` 59
instead of 561.

A function looks a global name up in its module first, then in the built-in names. Code that `exec`
executes may have built-in names of its own: the dictionary at `__builtins__` of its globals, which
each function keeps that is defined there. In it a name is missed whose import waits. What else
`__builtins__` may be, a module or the dictionary of one, is CPython's own business and read nowhere
here: the names of the language are those of the module `builtins`.

**Ctrl-C ends it** while there is nothing yet that a stop could harm.

**Nothing is collected meanwhile**, since what an import allocates stays: that is 4 of the 32 ms of
click, and 62 of the 400 ms of the crawler.
"""

from __future__ import annotations

import builtins
import gc
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    from typing_extensions import override as override  # for others, too
else:

    def override(method: Any) -> Any:
        """Mark a method for type checkers: the package that has it costs a tenth of `--help`."""
        return method


OURS = {"livedata", "spiders"}


def load(place: str) -> Any:
    """Import what stands at `module:name`. Raises ModuleNotFoundError."""
    module, name = place.split(":")
    with ended_by_ctrl_c(), _uncollected():
        return getattr(sys.modules.get(module) or _executed(module), name)


def folder_of(package: str) -> str | None:
    """Where a package is that is imported by this name, without importing it."""
    from importlib.util import find_spec

    spec = find_spec(package)
    return next(iter(spec.submodule_search_locations or ()), None) if spec else None


def own_folder(package: str) -> str:
    """Where a package of ours is, also if another one of this name stands in front of it."""
    return __file__.removesuffix("livedata/cli/fast_start.py") + package


def _executed(name: str) -> ModuleType:
    # Only a command needs these.
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    # The packages around the module are not imported: that of the crawler imports Scrapy.
    package, *path = name.split(".")
    folder = own_folder(package) if package in OURS else folder_of(package) or package
    file = "/".join([folder, *path]) + ".py"
    loader = SourceFileLoader(name, file)
    spec = spec_from_file_location(name, file, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    built_in = _BuiltIn(vars(module))
    vars(module)["__builtins__"] = built_in
    try:
        code = loader.get_code(name)
    except FileNotFoundError:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name) from None
    assert code is not None
    sys.modules[name] = module
    try:
        exec(code, vars(module), built_in.body)  # noqa: S102  (a file of ours)
    except BaseException:
        del sys.modules[name]
        raise
    around, _, own = name.rpartition(".")
    if around in sys.modules:
        setattr(sys.modules[around], own, module)
    return module


@contextmanager
def _uncollected() -> Iterator[None]:
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            # Modules live as long as the process, so no later collection needs to visit them.
            gc.freeze()
            gc.enable()


class _Later:
    """What `import` gives for a module; and for a name of it, which `from` asks of the former."""

    def __init__(self, module: str, name: str | None = None) -> None:
        self._module, self._name = module, name

    def __getattr__(self, name: str) -> _Later:
        return _Later(self._module, name)

    def __call__(self) -> Any:
        """Import it now."""
        with _uncollected():
            package = self._module.partition(".")[0]
            if package not in sys.modules:
                self._import_alone(package)
            module = __import__(self._module, fromlist=[self._name or "_"])
        return module if self._name is None else getattr(module, self._name)

    @staticmethod
    def _import_alone(package: str) -> None:
        # A package that is imported on the way to a module stands ten frames deeper, and Scrapy's
        # import looks at each frame (spiders/__init__.py).
        with ended_by_ctrl_c():
            __import__(package)


class _BuiltIn(dict[str, Any]):
    """The built-in names of a module, where those are looked up that it has not got yet."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(vars(builtins), __import__=self._import)
        self.names = names
        self.waiting: dict[str, _Later] = {}
        self.body = _Body(self)

    def __missing__(self, name: str) -> Any:
        if name not in self.waiting:
            # One that was made since: by `gettext.install`, say. Else a KeyError makes a NameError.
            return vars(builtins)[name]
        value = self.names[name] = self.waiting[name]()
        return value

    def _import(
        self,
        name: str,
        names: Mapping[str, object] | None = None,
        local: Mapping[str, object] | None = None,
        wanted: Sequence[str] | None = None,
        level: int = 0,
    ) -> Any:
        loaded = sys.modules.get(name)
        here = loaded is not None and all(hasattr(loaded, each) for each in wanted or ())
        # A function imports when it is called; `import a.b` names a, which must have b then.
        if here or local is not self.body or (not wanted and "." in name):
            return __import__(name, names, local, wanted or (), level)
        return _Later(name)


class _Body(dict[str, Any]):
    """Where the body of a module puts its names: into the module, but for those that wait."""

    def __init__(self, built_in: _BuiltIn) -> None:
        super().__init__()
        self._built_in = built_in

    @override
    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, _Later):
            self._built_in.waiting[name] = value
            # A name such as `open` would be found before it is missed.
            self._built_in.pop(name, None)
        else:
            self._built_in.names[name] = value

    @override
    def __delitem__(self, name: str) -> None:
        # As `except ... as error` does at its end.
        if self._built_in.waiting.pop(name, None) is None:
            del self._built_in.names[name]


with _uncollected():
    import click  # noqa: F401  (whoever imports it after this has it)


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the process at once, as it ends other programs, until somebody handles it."""
    # It makes enums of all signals, which `--help` has no use for.
    import signal

    # KeyboardInterrupt would be lost in the middle of an import: Python cleans up its locks in
    # callbacks, and ignores what they raise. A shell says 130 for either.
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # Who ignores it, such as a job in the background of a script, goes on ignoring it.
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
