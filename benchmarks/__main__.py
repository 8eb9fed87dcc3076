"""All benchmarks, each in a process of its own: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import subprocess
import sys

GROUPS = (
    "run",
    "latency",
    "within",
    "start",
    "apply",
    "size",
    "replay",
    "research",
    "soak",
    "serve",
    "pages",
    "news",
    "moments",
    "shares",
    "workers",
    "scale",
    "postgres",
)


def main() -> None:
    """Measure everything, and exit with 1 if any figure is over its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dlt-python", metavar="PYTHON", help="a Python that has dlt, for goal 3")
    parser.add_argument("--datasette", metavar="PATH", help="the datasette of goal 19")
    options = parser.parse_args()
    over = False
    for group in GROUPS:
        # A process each: peak memory and warm caches of one group must not reach the next.
        command = [sys.executable, "-m", f"benchmarks.{group}"]
        if group == "run" and options.dlt_python:
            command += ["--dlt-python", options.dlt_python]
        if group == "serve" and options.datasette:
            command += ["--datasette", options.datasette]
        over |= subprocess.run(command, check=False).returncode != 0
    sys.exit(over)


if __name__ == "__main__":
    main()
