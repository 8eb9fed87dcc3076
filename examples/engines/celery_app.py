"""Celery executes the Runs of livedata, each in a process of its own.

CELERY_BROKER_URL=redis://127.0.0.1:6379/0 celery --app celery_app worker --concurrency 4
"""

import subprocess

from celery import Celery

app = Celery("livedata")
# A Run takes seconds or minutes: what waits behind it here, another worker could execute.
app.conf.worker_prefetch_multiplier = 1


@app.task(name="livedata.execute", ignore_result=True)
def execute(run: str) -> int:
    """Execute a Run; the code of its end, which livedata has noted already."""
    # Never again by Celery: a Run that could not begin, or was lost, is handed over again.
    return subprocess.run(["livedata", "execute", run, "--site-free"], check=False).returncode
