"""What is logged of a stored run, the same for every tracker, and how Weights & Biases and MLflow take it.

Names of metrics, settings and tables are stable. Those of one candidate begin with its key: its name, with ``_`` for
all but letters, digits, ``_``, ``-`` and ``.``, because trackers refuse other characters; the setting ``KEY/name`` has
the name itself. A score is never logged without its spread: ``KEY/mauve`` comes with ``KEY/mauve_low`` and
``KEY/mauve_high``, the bootstrap interval over texts, ``KEY/mauve_sd``, the standard deviation over k-means seeds, and
``KEY/mauve_generations_sd``, that over generations, if there are several. Scores are the published ones, from pairwise
partitions; the table of scores has the joint ones, too. Texts may be private: neither they, nor their words, nor the
report, which quotes them, are logged unless asked for.

The id of the W&B run is the run's key: a second logging resumes it, adds a step with the same names, and replaces its
summary; offline, ``wandb sync`` brings them together. What W&B would collect by itself (the machine, packages, code) is
left out. The MLflow run carries the key as the tag ``mauve_lens.run``; a second logging adds what is not there yet,
such as texts, and leaves the rest: MLflow would append a table to itself.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from mauve_core.analyses import data_frames
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, library_errors, words_of
from mauve_core.base.extras import require
from mauve_core.base.formatting import printable
from mauve_core.figures.by_name import figure
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import Run
from mauve_core.scoring.result import Candidate, Comparison, Source
from mauve_core.texts.metadata import python_values

if TYPE_CHECKING:
    import pandas as pd


DEFAULT_PROJECT = "mauve-lens"


@dataclass(frozen=True)
class Logged:
    """Where a run went.

    Attributes
    ----------
    tracker : str
        For people: ``W&B`` or ``MLflow``.
    project : str
        W&B project or MLflow experiment.
    id : str
        Of the tracker's run.
    where : str
        A URL, or the folder or database on this machine.
    again : bool or None
        Whether the tracker had this run already, and the same run of it was written to; None if it cannot be known
        before a folder is uploaded.
    todo : str
        The command that shows or uploads what was written to this machine; empty for a URL.
    """

    tracker: str
    project: str
    id: str
    where: str
    again: bool | None
    todo: str = ""

    def __str__(self) -> str:
        before = ", which was there already and got what it lacked" if self.again else ""
        todo = f". {self.todo}" if self.todo else ""  # no full stop touches an address
        said = f"Logged to {self.tracker} (project {self.project}, run {self.id}{before}): {self.where}{todo}"
        return printable(said)  # a server may have named the project


def not_taken(tracker: str, error: BaseException, todo: str) -> InputError:
    """The error of a tracker that does not take a run."""
    return InputError(f"The run could not be logged to {tracker}: {words_of(error)}", todo=todo)


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment that the user has not set."""
    unset = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(unset)
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)


@contextmanager
def quiet(*libraries: str) -> Iterator[None]:
    """Silence the warnings and log lines of libraries, once they are imported; errors are raised as ever."""
    levels = {name: logging.getLogger(name).level for name in libraries}
    for name in libraries:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


# Figures that are logged, by their names in ``mauve_core.figures.by_name``; they hold no texts.
FIGURES = ("leaderboard", "frontier")

# Hexadecimal digits of a run's digest in its key.
_DIGEST = 12

# Most characters of a candidate's key.
_MOST_OF_NAME = 100

_OTHERS = re.compile(r"[^\w.-]+")

Setting = str | int | float | bool


@dataclass(frozen=True)
class Tracked:
    """A stored run as trackers take it.

    Attributes
    ----------
    key : str
        The run's id and the beginning of its digest: the same run has the same key everywhere, and another comparison
        stored under the same id has another one.
    name : str
        The run's name, for people.
    settings : mapping of str to str, int, float or bool
        What decides the scores, and what was compared; without what the run does not tell.
    metrics : mapping of str to float
    tables : mapping of str to DataFrame
        Scores, tests of pairs, and each candidate's clusters.
    figures : mapping of str to plotly.graph_objects.Figure
    texts : mapping of str to DataFrame
        For each candidate, its texts and the human ones with their clusters (``texts_KEY``), and the names of the
        clusters (``cluster_names_KEY``); empty unless asked for.
    report : bytes or None
        The report as HTML, which quotes texts; None unless asked for.
    """

    key: str
    name: str
    settings: Mapping[str, Setting]
    metrics: Mapping[str, float]
    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Any]
    texts: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    report: bytes | None = None


def tracked(run: Run, *, texts: bool = False) -> Tracked:
    """Gather what is logged of a run; ``texts`` adds texts, the clusters' names, which are words of them, and the
    report.
    """
    keys = candidate_keys(run.comparison)
    return Tracked(
        key=f"{run.id}-{run.digest[:_DIGEST]}",
        name=run.name,
        settings=_settings(run, keys),
        metrics=_metrics(run.comparison, keys),
        tables=_tables(run, keys),
        figures={name: figure(run.comparison, name) for name in FIGURES},
        texts=_text_tables(run, keys) if texts else {},
        report=html_report(run) if texts else None,
    )


def candidate_keys(comparison: Comparison) -> dict[str, str]:
    """Return, by candidate, what the names of its metrics begin with; ``-2``, ``-3`` ... keep alike ones apart."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for candidate in comparison.candidates:
        plain = _OTHERS.sub("_", candidate.name)[:_MOST_OF_NAME].strip("._-") or "candidate"
        found[candidate.name] = _free(plain, taken)
        taken.add(found[candidate.name].casefold())
    return found


def _free(plain: str, taken: Iterable[str]) -> str:
    key, number = plain, 1
    while key.casefold() in taken:  # two files whose names differ in case alone would be one on some disks
        number += 1
        key = f"{plain}-{number}"
    return key


def numbers_of(candidate: Candidate) -> dict[str, float]:
    """Return every score with its interval and spreads, by the names that trackers get."""
    found: dict[str, float] = {}
    for score, estimate in candidate.scores.items():
        spreads = {"sd": estimate.sd, "generations_sd": estimate.generations_sd}
        found |= {score: estimate.mean, f"{score}_low": estimate.low, f"{score}_high": estimate.high}
        found |= {f"{score}_{spread}": value for spread, value in spreads.items() if value is not None}
    return found


def _metrics(comparison: Comparison, keys: Mapping[str, str]) -> dict[str, float]:
    return {
        f"{keys[candidate.name]}/{name}": value
        for candidate in comparison.candidates
        for name, value in numbers_of(candidate).items()
    }


def _settings(run: Run, keys: Mapping[str, str]) -> dict[str, Setting]:
    comparison = run.comparison
    config, score = comparison.config, comparison.config.score
    found: dict[str, Setting | None] = {
        "run_id": run.id,
        "run_digest": run.digest,
        "created": run.created,
        "mauve_lens_version": dict(comparison.environment.get("versions") or {}).get("mauve-lens"),
        "features_from": config.features_from,
        "normalization": ", ".join(comparison.normalization) or "none",
        **{name: value for name, value in score.as_dict().items() if name != "k"},
        "k": "a tenth of the smaller side" if score.k is None else score.k,
        "smoothing": "none",
        "mauve_star_smoothing": "krichevsky-trofimov",
        "candidates": len(comparison.candidates),
        **_of_encoder(comparison),
        **_of_side(HUMAN, comparison.human),
    }
    for candidate in comparison.candidates:
        found |= _of_candidate(keys[candidate.name], candidate)
    return {name: value for name, value in found.items() if value is not None}


def _of_encoder(comparison: Comparison) -> dict[str, Setting | None]:
    encoder = comparison.config.encoder
    if encoder is None:
        unknown = comparison.config.features_from is None
        return {"encoder": "none, features were given" if unknown else comparison.config.made_by}
    own = encoder.as_dict()
    model = own.pop("model")
    return {
        "encoder": model,
        "encoder_settings_sha256": encoder.digest(),
        **{f"encoder_{k}": v for k, v in own.items()},
    }


def _of_candidate(key: str, candidate: Candidate) -> dict[str, Setting | None]:
    return {**_of_side(key, candidate.source), f"{key}/name": candidate.name, f"{key}/k": candidate.partitions[0].k}


def _of_side(key: str, source: Source) -> dict[str, Setting | None]:
    """Texts and features by their digests; the file without the folders of the machine that read it."""
    return {
        f"{key}/n": source.n,
        f"{key}/generations": source.generations,
        f"{key}/file": source.file_name,
        f"{key}/texts_sha256": source.digest,
        f"{key}/features_key": source.features_key,
    }


def _tables(run: Run, keys: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    scores = data_frames.scores(run.comparison)
    found = {"scores": scores.assign(key=[keys[name] for name in scores["candidate"]])}
    if len(keys) > 1:
        found["pairs"] = data_frames.pairs(run.comparison)
    for name, key in keys.items():
        found[f"clusters_{key}"] = data_frames.clusters(run, name).drop(columns="name")
    return found


def _text_tables(run: Run, keys: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    found = {}
    for name, key in keys.items():
        found[f"texts_{key}"] = data_frames.storable(data_frames.texts(run, name))
        found[f"cluster_names_{key}"] = data_frames.clusters(run, name)[["cluster", "name"]]
    return found


# Unless the user's environment says otherwise, no report of a fault goes to W&B, a program that uses mcp or openai is
# neither traced nor told to install Weave, and a server that does not answer is given up after seconds.
_WANDB_ENVIRONMENT = {"WANDB_ERROR_REPORTING": "false", "WANDB_DISABLE_WEAVE": "true", "WANDB_INIT_TIMEOUT": "20"}

# Most characters of an artifact's name, 128, without the digest of seven that W&B adds for the slash.
_MOST_OF_ARTIFACT = 121

_WANDB_MODES = ("online", "offline")
_WANDB_SETTINGS: dict[str, Any] = {
    "silent": True,
    "console": "off",
    "host": "",
    "disable_git": True,
    "disable_code": True,
    "save_code": False,
    "x_disable_stats": True,
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}

WANDB_WAY_OUT = "Log in with: wandb login; write to a folder with WANDB_MODE=offline; or name another project"


def log_to_wandb(run: Tracked, project: str | None) -> Logged:
    """Log to the W&B project; raises as :func:`mauve_core.reporting.trackers.log_run`."""
    mode = os.environ.get("WANDB_MODE")
    if mode and mode not in _WANDB_MODES:
        raise InputError(
            f"W&B cannot be used with WANDB_MODE={mode}", allowed=", ".join(_WANDB_MODES), todo="Change or unset it"
        )
    with variables(_WANDB_ENVIRONMENT), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import wandb

        with quiet("wandb"):
            values, artifact = (
                _wandb_values(wandb, run),
                _text_artifact(wandb, run),
            )  # what is refused is refused before a run begins
            begun = _begin(wandb, run, project or os.environ.get("WANDB_PROJECT") or DEFAULT_PROJECT)
            return _log_begun(begun, run, values, artifact)


def _refused(error: BaseException) -> InputError:
    return not_taken("W&B", error, WANDB_WAY_OUT)


def _begin(wandb: Any, run: Tracked, project: str) -> Any:
    folder = Path(os.environ.get("WANDB_DIR") or Path.cwd())
    with library_errors(_refused):
        folder.mkdir(parents=True, exist_ok=True)  # W&B itself would write to /tmp, which others read
        return wandb.init(
            project=project,
            id=run.key,
            name=run.name,
            config=dict(run.settings),
            mode=os.environ.get("WANDB_MODE"),  # W&B itself reads its environment only once in a process
            dir=str(folder),
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(**_WANDB_SETTINGS),
        )


def _log_begun(begun: Any, run: Tracked, values: Mapping[str, Any], artifact: Any) -> Logged:
    failed = True
    try:
        with library_errors(_refused):
            begun.log(values)
            if artifact is not None:
                begun.log_artifact(artifact)
        failed = False
    finally:
        begun.finish(exit_code=int(failed))
    if begun.offline:
        folder = str(Path(begun.dir).parent)
        return Logged("W&B", begun.project, run.key, folder, None, f"Upload it with: wandb sync {folder}")
    return Logged("W&B", begun.project, run.key, str(begun.url), bool(begun.resumed))


def _wandb_values(wandb: Any, run: Tracked) -> dict[str, Any]:
    """Metrics, tables and figures: one step of the run's history, whose values the summary keeps."""
    tables = {
        f"tables/{_fitting(run, name)}": _wandb_table(wandb, name, table, wandb.Table.MAX_ROWS)
        for name, table in run.tables.items()
    }
    return {**run.metrics, **tables, **{f"figures/{name}": wandb.Plotly(each) for name, each in run.figures.items()}}


def _fitting(run: Tracked, name: str) -> str:
    """Return a table's name, cut if it is too long for the artifact that W&B makes of it: ``run-ID-tablesNAME``."""
    most = _MOST_OF_ARTIFACT - len(f"run-{run.key}-tables/")
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return name if len(name) <= most else f"{name[: most - len(digest) - 1]}-{digest}"


def _text_artifact(wandb: Any, run: Tracked) -> Any:
    """An artifact, because W&B keeps more rows in one than in a table of a step; None without texts."""
    if run.report is None:
        return None
    artifact = wandb.Artifact(f"{run.key}-texts", type="mauve-lens-texts")
    for name, table in run.texts.items():
        artifact.add(_wandb_table(wandb, name, table, wandb.Table.MAX_ARTIFACT_ROWS), name)
    with artifact.new_file("report.html", mode="wb") as stream:
        stream.write(run.report)
    return artifact


def _wandb_table(wandb: Any, name: str, table: pd.DataFrame, most: int) -> Any:
    """A table of plain numbers and strings, which W&B shows as such; it would cut one of more rows without a word."""
    if len(table) > most:
        raise InputError(
            f"The table {name} is too long for W&B", allowed=f"up to {most:,} rows", received=f"{len(table):,}"
        )
    columns = [python_values(table[column]) for column in table]
    return wandb.Table(
        columns=[str(column) for column in table], data=[list(row) for row in zip(*columns, strict=True)]
    )


# Tag that holds a run's key.
TAG = "mauve_lens.run"

MLFLOW_WAY_OUT = "Start or name a server, or write to a database: MLFLOW_TRACKING_URI=sqlite:///mlflow.db"

# No statistics of use go to MLflow's makers, a server that does not answer is given up after seconds, not minutes, and
# MLflow prints no address beside ours, unless the user's environment says otherwise.
_MLFLOW_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}

_LIBRARIES = ("mlflow", "alembic")
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
# Parameters that MLflow takes at once; it takes more metrics.
_MOST_PARAMETERS = 100

_T = TypeVar("_T")


def log_to_mlflow(run: Tracked, project: str | None) -> Logged:
    """Log to the MLflow experiment; raises as :func:`mauve_core.reporting.trackers.log_run`."""
    with variables(_MLFLOW_ENVIRONMENT), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mlflow

        uri = mlflow.get_tracking_uri()
        if uri.startswith(_DATABASES):
            require("sqlalchemy")
            require("alembic")
        with (
            quiet(*_LIBRARIES),
            library_errors(lambda error: not_taken("MLflow", _without(uri, error), MLFLOW_WAY_OUT)),
        ):
            return _log_with_client(mlflow.MlflowClient(tracking_uri=uri), run, project, without_password(uri))


def _without(uri: str, error: BaseException) -> Exception:
    """The error without the password that its words may hold."""
    return ValueError(str(error).replace(uri, without_password(uri)))


def _log_with_client(client: Any, run: Tracked, project: str | None, uri: str) -> Logged:
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
    for name, drawn in run.figures.items():
        client.log_figure(number, drawn, f"figures/{name}.html")
    if run.report is not None:
        client.log_text(number, run.report.decode(), "report.html")


def _batches(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), _MOST_PARAMETERS):
        yield items[start : start + _MOST_PARAMETERS]


def without_password(uri: str) -> str:
    """The address without a user's name and password."""
    parts = urlsplit(uri)
    return uri if "@" not in parts.netloc else parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
