"""A disk that fails: the kernel answers EIO to whatever this thread writes or syncs from now on.

A filter of seccomp, which needs no rights and cannot be taken back: it is for children that end.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Mapping, Sequence

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22
SECCOMP_MODE_FILTER = 2
ALLOW = 0x7FFF0000
FAIL = 0x00050000 | errno.EIO
LOAD, IF_EQUAL, IF_GREATER, ANSWER = 0x20, 0x15, 0x25, 0x06
CALL, FIRST_ARGUMENT = 0, 16
"""Where the number of a call and its first argument stand in what the kernel shows a filter."""
STDERR = 2
# The numbers of write; and of pwrite64, fsync, fdatasync and ftruncate.
_NUMBERS: Mapping[str, tuple[int, Sequence[int]]] = {
    "x86_64": (1, (18, 74, 75, 77)),
    "aarch64": (64, (68, 82, 83, 46)),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def break_disk() -> None:
    """Let every write to a file and every sync of this thread fail with EIO from now on."""
    write, others = _NUMBERS[platform.machine()]
    # A jump counts the instructions that it leaves out: those behind it are known here.
    instructions = [
        _instruction(LOAD, CALL),
        *(
            _instruction(IF_EQUAL, number, then=len(others) - index + 3)
            for index, number in enumerate(others)
        ),
        _instruction(IF_EQUAL, write, otherwise=2),
        _instruction(LOAD, FIRST_ARGUMENT),
        _instruction(IF_GREATER, STDERR, then=1),
        _instruction(ANSWER, ALLOW),
        _instruction(ANSWER, FAIL),
    ]
    program = _Program(len(instructions), b"".join(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*words):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def _instruction(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
