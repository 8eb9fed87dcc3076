"""API and pages for any WSGI server, such as ``gunicorn livedata.wsgi:app``, without Runs."""

from __future__ import annotations

from livedata import config
from livedata.api import create_app
from livedata.pages import add_pages
from livedata.rules.network.installation import hosts
from livedata.store.database.store import Store

# A WSGI server imports this module in each of its processes: all of them may create the store.
settings = config.load()
store = Store(settings.database_url, read_url=settings.read_url, limits=settings.limits)
store.ensure()
targets = settings.targets
# The server's own name is not known here: LIVEDATA_PUBLIC_URL and LIVEDATA_HOSTS tell it.
names = hosts("", settings.public_url, settings.hosts)
app = create_app(store, targets, settings.timezone, settings.public_url, settings.research, names)
add_pages(app)
