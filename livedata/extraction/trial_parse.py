"""Parses the page on stdin, and ends with 0 if that took little time and memory.

It runs as a program of its own, which the kernel ends at its limits: ``parse_budget`` starts it for
a page that may stall the parser. It imports nothing of livedata, so that it starts at once.
"""

from __future__ import annotations

import resource
import signal
import sys

from selectolax.lexbor import LexborHTMLParser, LexborNode

SECONDS = 0.25
"""The CPU time that parsing may take; the largest honest pages take a quarter of it."""
START = 1
"""The CPU time in seconds that all may take, start included."""
MEMORY = 160 << 20
"""The bytes that it may hold; the largest honest pages take a half of it."""
DEPTH = 10_000
"""The elements that may lie in each other: a walk over a tree may take a frame of stack each."""
STRIDE = 100
"""Each element of so many is looked at for its depth."""


def main(most_elements: int) -> bool:
    """Parse stdin; whether the tree is no larger and no deeper than it may be."""
    resource.setrlimit(resource.RLIMIT_CPU, (START, START))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    text = sys.stdin.buffer.read().decode()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal ends the process
    root = LexborHTMLParser(text).root
    if root is None:
        return False
    elements = root.css("*")
    return len(elements) <= most_elements and is_shallow(elements)


def is_shallow(elements: list[LexborNode]) -> bool:
    """Whether none of all elements of a page, in their order, lies much deeper than DEPTH."""
    depths: dict[int, int] = {}
    # An element is one deeper than the one before it at most: so none is missed by over a stride.
    for element in elements[::STRIDE]:
        above: LexborNode | None = element
        passed = []
        while above is not None and above.mem_id not in depths:
            passed.append(above.mem_id)
            above = above.parent
        depth = 0 if above is None else depths[above.mem_id]
        for here in reversed(passed):
            depth += 1
            depths[here] = depth
        if depth > DEPTH:
            return False
    return True


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1])))
