"""livedata: tables from websites that can be trusted tomorrow."""

__version__ = "0.1.0"
