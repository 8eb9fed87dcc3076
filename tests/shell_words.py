"""What only a person at the machine can use: commands and variables."""

from __future__ import annotations

import re

from livedata.cli.commands import COMMANDS

OF_A_SHELL = re.compile(rf"LIVEDATA_|\blivedata ({'|'.join(COMMANDS)})\b|\bpython3? -m\b|\bpip ")
