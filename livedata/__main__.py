"""``python -m livedata``."""

from livedata.cli import main

main()
