"""Loads the items of a crawl into SQLite with dlt, merged by their key; for a Python that has dlt.

python benchmarks/dlt_load.py items.jsonl folder
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dlt

_, source, folder = sys.argv


def items() -> Iterator[Any]:
    """The items as the spider wrote them."""
    with Path(source).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


pipeline = dlt.pipeline(
    "shop",
    destination=dlt.destinations.sqlalchemy(f"sqlite:///{folder}/shop.db"),
    dataset_name="main",
    pipelines_dir=f"{folder}/pipelines",
)
pipeline.run(dlt.resource(items, name="items", primary_key="sku", write_disposition="merge"))
