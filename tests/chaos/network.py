"""Machines as namespaces of Linux: each has a network, process numbers and a name of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

NEEDED = ("ip", "nsenter", "setpriv", "unshare")
NOWHERE = "02:00:00:00:00:01"
"""The address of no network card: what is sent there is lost without a word."""
# Process 1 of a machine: it lets nothing that has ended stay behind.
_FIRST = (
    "import signal, socket, sys\n"
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    "socket.sethostname(sys.argv[1])\n"
    "print('up', flush=True)\n"
    "while True: signal.pause()\n"
)


class NotAllowed(Exception):
    """This machine has no namespaces to give away."""


@dataclass(frozen=True)
class Machine:
    """A machine with an address in the network of the others."""

    name: str
    address: str
    pid: int
    """That of its first process, as it is seen from outside."""
    space: str
    """What tells its network from others."""

    def enter(self, *, numbered: bool = True) -> Sequence[str]:
        """The words before a command that is to run there; `numbered` with pids of its own."""
        spaces = ("--net", "--uts", *(("--pid", "--mount") if numbered else ()))
        return ("nsenter", "--target", str(self.pid), *spaces, "--")

    def processes(self, *words: str) -> list[int]:
        """Those that run there and have all these words in their command, but its first."""
        return [
            pid
            for pid, line in _commands(self.space).items()
            if _FIRST not in line and all(word in line for word in words)
        ]

    def freeze(self) -> None:
        """Let everything there stand still."""
        for pid in self.processes():
            _send(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let everything go on."""
        # Again and again: who has entered stops itself when it hears that its child was stopped.
        while any(_is_stopped(pid) for pid in self.processes()):
            for pid in self.processes():
                _send(pid, signal.SIGCONT)
            time.sleep(0.02)

    def die(self) -> None:
        """End at once, as if the power was cut: the network knows it no more."""
        for pid in (*self.processes(), self.pid):
            _send(pid, signal.SIGKILL)


class Network:
    """A network of machines, in which this process has the first address, and many more."""

    def __init__(self) -> None:
        self._bridge = f"ld{secrets.token_hex(3)}"
        # Of those that are kept for measurements between networks: no real one has them.
        self._prefix = f"198.18.{secrets.randbelow(256)}."
        self._stack = ExitStack()
        self._count = 0

    def __enter__(self) -> Network:
        _check()
        try:
            self._stack.callback(_try, "ip", "link", "delete", self._bridge)
            _do("ip", "link", "add", self._bridge, "type", "bridge")
            _do("ip", "address", "add", f"{self.own(0)}/24", "dev", self._bridge)
            _do("ip", "link", "set", self._bridge, "up")
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def own(self, number: int) -> str:
        """An address of this process; it is added if it is not the first."""
        address = f"{self._prefix}{100 + number}"
        if number:
            _do("ip", "address", "add", f"{address}/24", "dev", self._bridge)
        return address

    def machine(self, name: str) -> Machine:
        """A new machine."""
        self._count += 1
        pid = self._stack.enter_context(_up(name))
        machine = Machine(
            name, f"{self._prefix}{self._count}", pid, _space_of(Path(f"/proc/{pid}"))
        )
        port = f"{self._bridge}{self._count}"
        _do(
            *("ip", "link", "add", port, "type", "veth"),
            *("peer", "name", "eth0", "netns", str(machine.pid)),
        )
        _do("ip", "link", "set", port, "master", self._bridge, "up")
        within = machine.enter(numbered=False)
        _do(*within, "ip", "address", "add", f"{machine.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _do(*within, "ip", "link", "set", device, "up")
        return machine

    @contextmanager
    def parted(self, one: Machine, others: Sequence[Machine]) -> Iterator[None]:
        """Let nothing come through between a machine and others, in either direction.

        Nobody is told: what is sent is lost, and what is connected hears nothing.
        """
        pairs = [pair for other in others for pair in ((one, other), (other, one))]
        neighbour = ("ip", "neighbour")
        for here, there in pairs:
            way = (there.address, "lladdr", NOWHERE, "dev", "eth0", "nud", "permanent")
            _do(*here.enter(numbered=False), *neighbour, "replace", *way)
        try:
            yield
        finally:
            for here, there in pairs:
                within = here.enter(numbered=False)
                _try(*within, *neighbour, "delete", there.address, "dev", "eth0")


def _check() -> None:
    """Raise NotAllowed if this kernel, or this user, has no namespaces for machines."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        raise NotAllowed(f"there is no program {', '.join(missing)} here")
    if os.geteuid() != 0:
        raise NotAllowed("only root may make networks")
    try:
        with _up("probe") as pid:
            for kind in ("veth", "bridge"):
                _do("nsenter", "--target", str(pid), "--net", "ip", "link", "add", "type", kind)
    except (OSError, RuntimeError, ValueError) as error:
        raise NotAllowed(f"the kernel has no namespaces or bridges for them ({error})") from error


@contextmanager
def _up(name: str) -> Iterator[int]:
    """A machine that is up; the process that is its first."""
    spaces = ("--net", "--pid", "--uts", "--mount", "--mount-proc", "--fork", "--kill-child=KILL")
    command = ("setpriv", "--pdeathsig", "KILL", "unshare", *spaces)
    process = subprocess.Popen(
        [*command, sys.executable, "-c", _FIRST, name],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process.stdout:
        try:
            if process.stdout.readline() != b"up\n":
                raise RuntimeError(f"unshare ended with {process.wait()}")
            [first] = _children(process.pid)
            yield first
        finally:
            process.kill()
            process.wait()


def _children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in children.split()]


def _space_of(process: Path) -> str:
    return str((process / "ns/net").readlink())


def _commands(space: str) -> Mapping[int, str]:
    """The processes in a network, and their commands."""
    found = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and _space_of(folder) == space:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(folder.name)] = line
    return found


def _is_stopped(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def _send(pid: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, what)


def _do(*words: str) -> None:
    """Give a command. Raises RuntimeError with what it said."""
    for _ in range(10):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if not done.returncode:
            return
        # A name that has just been let go is there for a moment longer.
        time.sleep(0.05)
    raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")


def _try(*words: str) -> None:
    subprocess.run(words, capture_output=True, check=False)
