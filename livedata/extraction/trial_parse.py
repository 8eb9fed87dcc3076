"""Parses the page on stdin, and ends with 0 if that took little time and memory.

It runs as a program of its own, which the kernel ends at its limits: ``parse_budget`` starts it for
a page that may stall the parser. It imports nothing of livedata, so that it starts at once.
"""

from __future__ import annotations

import resource
import sys

from selectolax.lexbor import LexborHTMLParser, LexborNode

SECONDS = 1
"""The CPU time that it may take, start included; the largest honest pages take a tenth of it."""
MEMORY = 160 << 20
"""The bytes that it may hold; the largest honest pages take a half of it."""


DEPTH = 10_000
"""The elements that may lie in each other: a walk over a tree may take a frame of stack each."""


def main(most_elements: int) -> bool:
    """Parse stdin; whether the tree is no larger and no deeper than it may be."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    root = LexborHTMLParser(sys.stdin.buffer.read().decode()).root
    if root is None or len(root.css("*")) > most_elements:
        return False
    return is_shallow(root)


def is_shallow(root: LexborNode) -> bool:
    """Whether no element lies deeper than DEPTH."""
    node: LexborNode | None = root
    depth = 0
    while node is not None and depth <= DEPTH:
        if node.first_child is not None:
            node, depth = node.first_child, depth + 1
            continue
        while node is not None and node.next is None:
            node, depth = node.parent, depth - 1
        node = None if node is None else node.next
    return depth <= DEPTH


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1])))
