"""Write a run to Weights & Biases.

The id of the W&B run is the run's key, so that W&B finds it again: a second logging resumes it, adds a step with the
same names, and replaces its summary. Offline, each logging has a folder of its own, and ``wandb sync`` brings them
together. What W&B would collect by itself (the machine, packages, the program's code and its repository) is left out.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mauve_core.base.errors import InputError, library_errors
from mauve_core.reporting.trackers.logged import DEFAULT_PROJECT, Logged, not_taken, quiet, variables
from mauve_core.reporting.trackers.record import Tracked
from mauve_core.texts.metadata import python_values

if TYPE_CHECKING:
    import pandas as pd

# Unless the user's environment says otherwise, no report of a fault goes to W&B, a program that uses mcp or openai is
# neither traced nor told to install Weave, and a server that does not answer is given up after seconds.
_ENVIRONMENT = {"WANDB_ERROR_REPORTING": "false", "WANDB_DISABLE_WEAVE": "true", "WANDB_INIT_TIMEOUT": "20"}

# Most characters of an artifact's name, 128, without the digest of seven that W&B adds for the slash.
_MOST_OF_ARTIFACT = 121

_MODES = ("online", "offline")
_SETTINGS: dict[str, Any] = {
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

WAY_OUT = "Log in with: wandb login; write to a folder with WANDB_MODE=offline; or name another project"


def log(run: Tracked, project: str | None) -> Logged:
    """Log to the W&B project; raises as :func:`mauve_core.reporting.trackers.log_run.log_run`."""
    mode = os.environ.get("WANDB_MODE")
    if mode and mode not in _MODES:
        raise InputError(
            f"W&B cannot be used with WANDB_MODE={mode}", allowed=", ".join(_MODES), todo="Change or unset it"
        )
    with variables(_ENVIRONMENT), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import wandb

        with quiet("wandb"):
            values, artifact = _values(wandb, run), _texts(wandb, run)  # what is refused is refused before a run begins
            begun = _begin(wandb, run, project or os.environ.get("WANDB_PROJECT") or DEFAULT_PROJECT)
            return _log(begun, run, values, artifact)


def _refused(error: BaseException) -> InputError:
    return not_taken("W&B", error, WAY_OUT)


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
            settings=wandb.Settings(**_SETTINGS),
        )


def _log(begun: Any, run: Tracked, values: Mapping[str, Any], artifact: Any) -> Logged:
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


def _values(wandb: Any, run: Tracked) -> dict[str, Any]:
    """Metrics, tables and figures: one step of the run's history, whose values the summary keeps."""
    tables = {
        f"tables/{_fitting(run, name)}": _table(wandb, name, table, wandb.Table.MAX_ROWS)
        for name, table in run.tables.items()
    }
    return {**run.metrics, **tables, **{f"figures/{name}": wandb.Plotly(each) for name, each in run.figures.items()}}


def _fitting(run: Tracked, name: str) -> str:
    """Return a table's name, cut if it is too long for the artifact that W&B makes of it: ``run-ID-tablesNAME``."""
    most = _MOST_OF_ARTIFACT - len(f"run-{run.key}-tables/")
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return name if len(name) <= most else f"{name[: most - len(digest) - 1]}-{digest}"


def _texts(wandb: Any, run: Tracked) -> Any:
    """An artifact, because W&B keeps more rows in one than in a table of a step; None without texts."""
    if run.report is None:
        return None
    artifact = wandb.Artifact(f"{run.key}-texts", type="mauve-lens-texts")
    for name, table in run.texts.items():
        artifact.add(_table(wandb, name, table, wandb.Table.MAX_ARTIFACT_ROWS), name)
    with artifact.new_file("report.html", mode="wb") as stream:
        stream.write(run.report)
    return artifact


def _table(wandb: Any, name: str, table: pd.DataFrame, most: int) -> Any:
    """A table of plain numbers and strings, which W&B shows as such; it would cut one of more rows without a word."""
    if len(table) > most:
        raise InputError(
            f"The table {name} is too long for W&B", allowed=f"up to {most:,} rows", received=f"{len(table):,}"
        )
    columns = [python_values(table[column]) for column in table]
    return wandb.Table(
        columns=[str(column) for column in table], data=[list(row) for row in zip(*columns, strict=True)]
    )
