"""livedata: tables from websites that can be trusted tomorrow."""

__version__ = "1.0.0"
