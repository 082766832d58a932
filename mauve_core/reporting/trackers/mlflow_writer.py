"""Write a run to MLflow: a server, a database or a folder, as ``MLFLOW_TRACKING_URI`` says.

The MLflow run carries the run's key as the tag ``mauve_lens.run``, by which it is found again in its experiment. A
second logging adds what is not there yet, such as texts, and leaves the rest: MLflow would append a table to itself.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mauve_core.base.errors import library_errors
from mauve_core.base.extras import require
from mauve_core.reporting.trackers.logged import DEFAULT_PROJECT, Logged, not_taken, quiet, variables
from mauve_core.reporting.trackers.record import Tracked

# Tag that holds a run's key.
TAG = "mauve_lens.run"

WAY_OUT = "Start or name a server, or write to a database: MLFLOW_TRACKING_URI=sqlite:///mlflow.db"

# No statistics of use go to MLflow's makers, a server that does not answer is given up after seconds, not minutes, and
# MLflow prints no address beside ours, unless the user's environment says otherwise.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}

_LIBRARIES = ("mlflow", "alembic")
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
# Parameters that MLflow takes at once; it takes more metrics.
_MOST_PARAMETERS = 100

T = TypeVar("T")


def log(run: Tracked, project: str | None) -> Logged:
    """Log to the MLflow experiment; raises as :func:`mauve_core.reporting.trackers.log_run.log_run`."""
    with variables(_ENVIRONMENT), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mlflow

        uri = mlflow.get_tracking_uri()
        if uri.startswith(_DATABASES):
            require("sqlalchemy")
            require("alembic")
        with (
            quiet(*_LIBRARIES),
            library_errors(lambda error: not_taken("MLflow", _without(uri, error), WAY_OUT)),
        ):
            return _log(mlflow.MlflowClient(tracking_uri=uri), run, project, without_password(uri))


def _without(uri: str, error: BaseException) -> Exception:
    """The error without the password that its words may hold."""
    return ValueError(str(error).replace(uri, without_password(uri)))


def _log(client: Any, run: Tracked, project: str | None, uri: str) -> Logged:
    experiment = _experiment(client, project)
    found = client.search_runs([experiment.experiment_id], f"tags.`{TAG}` = '{run.key}'", max_results=1)
    own = found[0] if found else client.create_run(experiment.experiment_id, tags={TAG: run.key}, run_name=run.name)
    number = own.info.run_id
    ended = "FAILED"
    try:
        _log_numbers(client, own, run)
        _log_artifacts(client, number, run)
        ended = "FINISHED"
    finally:
        client.set_terminated(number, ended)
    if uri.startswith("http"):
        where, todo = f"{uri.rstrip('/')}/#/experiments/{experiment.experiment_id}/runs/{number}", ""
    else:
        where, todo = uri, f"Look at it with the full package (pip install mlflow): mlflow ui --backend-store-uri {uri}"
    return Logged("MLflow", experiment.name, number, where, bool(found), todo)


def _experiment(client: Any, project: str | None) -> Any:
    """The experiment that is named, by the user or the environment; made if there is none of that name."""
    if project is None and (number := os.environ.get("MLFLOW_EXPERIMENT_ID")):
        return client.get_experiment(number)
    name = project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or DEFAULT_PROJECT
    return client.get_experiment_by_name(name) or client.get_experiment(client.create_experiment(name))


def _log_numbers(client: Any, own: Any, run: Tracked) -> None:
    from mlflow.entities import Metric, Param

    made = int(datetime.fromisoformat(str(run.settings["created"])).timestamp() * 1000)
    metrics = [
        Metric(name, value, made, 0) for name, value in run.metrics.items() if own.data.metrics.get(name) != value
    ]
    parameters = [Param(name, str(value)) for name, value in run.settings.items() if name not in own.data.params]
    for batch in _batches(metrics):
        client.log_batch(own.info.run_id, metrics=batch)
    for batch in _batches(parameters):
        client.log_batch(own.info.run_id, params=batch)


def _log_artifacts(client: Any, number: str, run: Tracked) -> None:
    for folder, tables in (("tables", run.tables), ("texts", run.texts)):
        there = {file.path for file in client.list_artifacts(number, folder)} if tables else set()
        for name, table in tables.items():
            if f"{folder}/{name}.json" not in there:
                plain = table.astype(dict.fromkeys(table.select_dtypes(include="str"), object))
                client.log_table(number, plain, f"{folder}/{name}.json")
    for name, figure in run.figures.items():
        client.log_figure(number, figure, f"figures/{name}.html")
    if run.report is not None:
        client.log_text(number, run.report.decode(), "report.html")


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _MOST_PARAMETERS):
        yield items[start : start + _MOST_PARAMETERS]


def without_password(uri: str) -> str:
    """The address without a user's name and password."""
    parts = urlsplit(uri)
    return uri if "@" not in parts.netloc else parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
