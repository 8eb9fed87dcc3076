from livedata.model.errors import LivedataError as LivedataError
from livedata.python.server import Tables as Tables
from livedata.python.server import connect as connect
from livedata.python.store import open_table
from livedata.python.table import Table as Table

__version__: str
open = open_table  # noqa: A001
