"""The API for any WSGI server: ``gunicorn livedata.wsgi:app``, say. No Runs are executed here."""

from __future__ import annotations

from livedata import config
from livedata.api import create_app
from livedata.rules.network.targets import TargetPolicy
from livedata.store.database.store import Store

settings = config.load()
store = Store(settings.database_url)
store.ensure()
app = create_app(store, TargetPolicy.parse(settings.allow_hosts), settings.timezone)
