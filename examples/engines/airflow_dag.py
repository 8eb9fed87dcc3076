"""Airflow runs a dataset of livedata, and after that what needs its table."""

import subprocess
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

IN_PROGRESS = 7


class LivedataOperator(BaseOperator):
    """Executes a Run of a dataset here; it fails if that is not accepted."""

    template_fields = ("dataset", "dataset_owner")

    def __init__(self, *, dataset: str, dataset_owner: str = "local", **kwargs: Any) -> None:
        super().__init__(**{"retries": 3, "retry_delay": timedelta(minutes=1), **kwargs})
        self.dataset, self.dataset_owner = dataset, dataset_owner

    def execute(self, context: Any) -> None:
        """Execute the Run that is open, such as that of a task which was lost, or a new one."""
        self.process = subprocess.Popen(
            ["livedata", "run", self.dataset, "--owner", self.dataset_owner]
        )
        code = self.process.wait()
        if code == IN_PROGRESS:
            raise RuntimeError("Another process executes a Run of it: Airflow tries again.")
        if code:
            raise AirflowFailException(
                f"It was not accepted ({code}): livedata runs list says why."
            )

    def on_kill(self) -> None:
        """Give the Run back to the queue."""
        self.process.terminate()


with DAG("livedata_books", schedule="@daily", catchup=False) as dag:
    LivedataOperator(task_id="books", dataset="books")
